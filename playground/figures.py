"""Arrays as Plotly figures: plain dicts, which draw faster than validated objects.

Row 0 is on top, tokens are tick texts on integer axes (as axis values, repeated words would
merge and "2020-01-01" would become a date), and colours are those of the board.
"""

import html
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from attention_core.arrays import FloatArray
from playground import palette
from playground.palette import Theme

Figure = dict[str, Any]

CONFIG = {
    "displaylogo": False,
    "modeBarButtonsToRemove": ["select2d", "lasso2d", "zoom2d", "pan2d", "autoScale2d"],
    "toImageButtonOptions": {"format": "png", "filename": "attention", "scale": 3},
}

_GAP = 0.06  # between panels, as a share of the width


@dataclass(frozen=True, eq=False, slots=True)
class Panel:
    """One heatmap of a figure."""

    title: str
    values: FloatArray  # (rows, columns), finite
    rows: Sequence[str]
    columns: Sequence[str]
    row_title: str
    column_title: str
    are_weights: bool = False  # a fixed scale from 0 to 1, rather than one centred on 0


def heatmaps(panels: Sequence[Panel], theme: Theme) -> Figure:
    """Heatmaps side by side with their numbers in the cells."""
    width = (1 - _GAP * (len(panels) - 1)) / len(panels)
    tallest = max(len(panel.rows) for panel in panels)
    layout: dict[str, Any] = {
        "height": 170 + 44 * tallest,
        "margin": {"l": 10, "r": 10, "t": 50, "b": 10},
        "annotations": [],
        "font": {"size": 16},
    }
    data = []
    for index, panel in enumerate(panels):
        axes = "" if index == 0 else str(index + 1)
        left = index * (width + _GAP)
        data.append(_heatmap(panel, axes, theme))
        layout["annotations"].append(_title(panel.title, left + width / 2))
        layout[f"xaxis{axes}"] = {
            **_axis(panel.columns, panel.column_title),
            "domain": [left, min(1.0, left + width)],
            "anchor": f"y{axes}",
        }
        layout[f"yaxis{axes}"] = {
            **_axis(panel.rows, panel.row_title),
            "showticklabels": panel.rows != panels[max(0, index - 1)].rows or index == 0,
            "autorange": "reversed",
            "anchor": f"x{axes}",
        }
    return {"data": data, "layout": layout}


def _heatmap(panel: Panel, axes: str, theme: Theme) -> dict[str, Any]:
    reach = float(np.abs(panel.values).max()) or 1.0
    stops = (palette.SEQUENTIAL if panel.are_weights else palette.DIVERGING)[theme]
    return {
        "type": "heatmap",
        "z": panel.values.tolist(),
        "zmin": 0.0 if panel.are_weights else -reach,
        "zmax": 1.0 if panel.are_weights else reach,
        "colorscale": [[i / (len(stops) - 1), stop] for i, stop in enumerate(stops)],
        "showscale": False,
        "texttemplate": "%{z:.3f}" if len(panel.columns) <= 6 else "%{z:.2f}",
        "hovertemplate": "%{z:.6f}<extra></extra>",
        "xgap": 2,
        "ygap": 2,
        "xaxis": f"x{axes}",
        "yaxis": f"y{axes}",
    }


def _axis(labels: Sequence[str], title: str) -> dict[str, Any]:
    return {
        "title": {"text": html.escape(title, quote=False)},
        "tickmode": "array",
        "tickvals": list(range(len(labels))),
        "ticktext": [_shown(label) for label in labels],
        "showgrid": False,
        "zeroline": False,
        "automargin": True,
    }


def _title(text: str, x: float) -> dict[str, Any]:
    place = {"x": x, "y": 1.0, "xref": "paper", "yref": "paper"}
    anchors = {"xanchor": "center", "yanchor": "bottom", "showarrow": False, "yshift": 8}
    return {"text": text, "font": {"size": 18}, **place, **anchors}


def _shown(label: str) -> str:
    """A learner's text as Plotly shows it letter by letter, cut where it would crowd."""
    short = label if len(label) <= 14 else f"{label[:13]}…"
    return html.escape(short, quote=False)

"""Arrays as Plotly figures, as plain dicts.

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

_WIDE = 6  # columns; more are unreadable in half the width
_ROW = 44  # pixels
_FRAME = 170  # pixels around the rows of a panel: title, labels, axis title
_GAP = 0.06  # between panels, as a share of the width
_STACK_GAP = 0.13  # and of the height


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
    """Heatmaps with their numbers in the cells: side by side, or below each other if wide."""
    are_stacked = any(len(panel.columns) > _WIDE for panel in panels)
    heights = [_ROW * len(panel.rows) for panel in panels]
    height = _FRAME * (len(panels) if are_stacked else 1)
    height += sum(heights) if are_stacked else max(heights)
    layout: dict[str, Any] = {
        "height": height,
        "margin": {"l": 10, "r": 10, "t": 50, "b": 10},
        "annotations": [],
        "font": {"size": 16},
    }
    data = []
    for index, panel in enumerate(panels):
        axes = "" if index == 0 else str(index + 1)
        across, down = _domains(index, len(panels), are_stacked)
        shares_rows = not are_stacked and index > 0 and panel.rows == panels[index - 1].rows
        data.append(_heatmap(panel, axes, theme))
        layout["annotations"].append(_title(panel.title, sum(across) / 2, down[1]))
        layout[f"xaxis{axes}"] = {
            **_axis(panel.columns, panel.column_title),
            "domain": across,
            "anchor": f"y{axes}",
        }
        layout[f"yaxis{axes}"] = {
            **_axis(panel.rows, panel.row_title),
            "domain": down,
            "showticklabels": not shares_rows,
            "autorange": "reversed",
            "anchor": f"x{axes}",
        }
    return {"data": data, "layout": layout}


def _domains(index: int, n_panels: int, are_stacked: bool) -> tuple[list[float], list[float]]:
    """Which part of the figure a panel takes, from left to right and from bottom to top."""
    gap = _STACK_GAP if are_stacked else _GAP
    size = (1 - gap * (n_panels - 1)) / n_panels
    place = n_panels - 1 - index if are_stacked else index  # plotly counts from the bottom
    start = place * (size + gap)
    part = [start, min(1.0, start + size)]
    return ([0.0, 1.0], part) if are_stacked else (part, [0.0, 1.0])


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
        "texttemplate": "%{z:.3f}",
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


def _title(text: str, x: float, y: float) -> dict[str, Any]:
    place = {"x": x, "y": y, "xref": "paper", "yref": "paper"}
    anchors = {"xanchor": "center", "yanchor": "bottom", "showarrow": False, "yshift": 8}
    return {"text": text, "font": {"size": 18}, **place, **anchors}


def _shown(label: str) -> str:
    """A learner's text as Plotly shows it letter by letter, cut where it would crowd."""
    short = label if len(label) <= 14 else f"{label[:13]}…"
    return html.escape(short, quote=False)

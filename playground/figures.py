"""Arrays as Plotly figures, as plain dicts.

Row 0 is on top, tokens are tick texts on integer axes (as axis values, repeated words would
merge and "2020-01-01" would become a date), and colours are those of the board.
"""

import html
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from attention_core.arrays import BoolArray, FloatArray
from playground import palette
from playground.palette import Theme

Figure = dict[str, Any]

ImageFormat: TypeAlias = Literal["png", "svg"]

_WIDE = 6  # columns; more are unreadable in half the width
_ROW = 44  # pixels
_FRAME = 170  # pixels around the rows of a panel: title, labels, axis title
_GAP = 0.06  # between panels, as a share of the width
_STACK_GAP = 140  # pixels between panels below each other: ticks, axis title, title
_ABOVE, _BELOW = 50, 10  # pixels of margin
_BUTTONS = 30  # pixels of Plotly's own, where they would lie over the title
_CHART_FRAME = 130  # pixels around the rows of a chart
_CHART_ROW = 36
_LEAST_CHART = 200
_NAMES = 100  # pixels right of the curves, for their names
_MOST_TICKS = 8  # on the axis of the layers
INK: dict[Theme, str] = {"light": "#1a1d26", "dark": "#ffffff"}
GRID: dict[Theme, str] = {"light": "#d9dde6", "dark": "#3a4152"}
CLEAR = "rgba(0,0,0,0)"
_BLANK = "\u00a0"
FONT = "Source Sans, sans-serif"  # that of the page


@dataclass(frozen=True, eq=False, slots=True)
class Panel:
    """One heatmap of a figure."""

    title: str
    values: FloatArray | npt.NDArray[np.int_]  # (rows, columns), finite
    rows: Sequence[str]
    columns: Sequence[str]
    row_title: str
    column_title: str
    are_weights: bool = False  # a fixed scale from 0 to 1, rather than one centred on 0


def config(image_format: ImageFormat = "png") -> dict[str, Any]:
    """How Plotly's own buttons behave; its camera saves this kind of picture."""
    return {
        "displaylogo": False,
        "modeBarButtonsToRemove": ["select2d", "lasso2d", "zoom2d", "pan2d", "autoScale2d"],
        "toImageButtonOptions": {"format": image_format, "filename": "attention", "scale": 3},
    }


def heatmaps(panels: Sequence[Panel], theme: Theme, *, is_narrow: bool = False) -> Figure:
    """Heatmaps with their numbers in the cells: side by side, or below each other if wide.

    Args:
        panels: The heatmaps.
        theme: Whose colours.
        is_narrow: Whether the screen has no room for two of them, nor for numbers in many columns:
            these are read where one points.
    """
    are_stacked = is_narrow or any(len(panel.columns) > _WIDE for panel in panels)
    heights = [_ROW * len(panel.rows) for panel in panels]
    height = _FRAME * (len(panels) if are_stacked else 1)
    height += sum(heights) if are_stacked else max(heights)
    above = _ABOVE + (_BUTTONS if is_narrow else 0)
    gap = _STACK_GAP / (height - above - _BELOW) if are_stacked else _GAP
    layout: dict[str, Any] = {
        "height": height,
        "margin": {"l": 10, "r": 10, "t": above, "b": _BELOW},
        "annotations": [],
        "font": {"size": 16, "color": INK[theme], "family": FONT},
        "paper_bgcolor": CLEAR,
        "plot_bgcolor": CLEAR,
        "modebar": {"bgcolor": CLEAR, "color": INK[theme]},
    }
    data: list[dict[str, Any]] = []
    light: list[dict[str, Any]] = []  # drawn over all else
    for index, panel in enumerate(panels):
        axes = "" if index == 0 else str(index + 1)
        across, down = _domains(index, len(panels), gap, are_stacked=are_stacked)
        shares_rows = not are_stacked and index > 0 and panel.rows == panels[index - 1].rows
        for traces, trace in zip((data, light), _heatmap(panel, axes, theme), strict=True):
            if is_narrow and len(panel.columns) > _WIDE:
                del trace["texttemplate"]  # Plotly would write the numbers too small to be read
            traces.append(trace)
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
    return {"data": data + light, "layout": layout}


@dataclass(frozen=True, eq=False, slots=True)
class Curves:
    """Two curves over the layers, from layer 1 on; one may end before the other."""

    title: str
    lines: tuple[tuple[str, Sequence[float]], tuple[str, Sequence[float]]]  # name, heights 0 to 1
    ringed: Sequence[float]  # heights of the learner's own layers
    layer_title: str
    height_title: str


def arrival(panel: Panel, theme: Theme) -> Figure:
    """After how many layers each row heard from each column: the fewer, the stronger the colour.

    Args:
        panel: Whole numbers; -1 for never, which has no colour.
        theme: Whose colours.
    """
    stops = palette.SEQUENTIAL[theme][:3]  # fainter than the ink on them
    has_heard = panel.values >= 0
    strongest = int(panel.values.max()) + 1
    heatmap = {
        "type": "heatmap",
        "z": np.where(has_heard, strongest - panel.values, 0).tolist(),
        "zmin": 0,
        "zmax": max(strongest, 1),
        "colorscale": [[i / (len(stops) - 1), stop] for i, stop in enumerate(stops)],
        "showscale": False,
        "text": np.where(has_heard, panel.values.astype(str), "–").tolist(),
        "texttemplate": "%{text}",
        "textfont": {"color": INK[theme]},
        "hoverinfo": "skip",
        "xgap": 2,
        "ygap": 2,
    }
    layout = _chart(panel.title, _CHART_ROW * len(panel.rows), theme)
    layout["xaxis"] = _plain_axis(theme) | _axis(panel.columns, panel.column_title)
    layout["yaxis"] = _plain_axis(theme) | _axis(panel.rows, panel.row_title)
    layout["yaxis"]["autorange"] = "reversed"
    return {"data": [heatmap], "layout": layout}


def curves(chart: Curves, theme: Theme) -> Figure:
    """Two named curves over the layers, with rings on the learner's own."""
    colours = palette.DIVERGING[theme][-1], palette.DIVERGING[theme][0]
    n_depths = len(chart.ringed)
    layout = _chart(chart.title, _LEAST_CHART, theme)
    layout["annotations"] += _names(chart, colours)
    layout["margin"]["r"] = _NAMES
    layout["xaxis"] = _plain_axis(theme) | {
        "title": {"text": chart.layer_title},
        "range": [1 - 0.08 * n_depths, n_depths],
        "tick0": 1,
        "dtick": -(-n_depths // _MOST_TICKS),  # rounded up: whole layers only
        "showgrid": False,
    }
    layout["yaxis"] = _plain_axis(theme) | {
        "title": {"text": chart.height_title},
        "range": [-0.2, 1.2],
        "tickvals": [0, 0.5, 1],
    }
    lines = [
        _over_layers(
            heights,
            mode="lines+markers",
            line={"color": colour, "width": 3},
            marker={"color": colour, "size": 7},
            hovertemplate="%{y:.6f}<extra></extra>",
        )
        for (_, heights), colour in zip(chart.lines, colours, strict=True)
    ]
    ring = {"symbol": "circle-open", "size": 15, "color": INK[theme], "line": {"width": 1.5}}
    rings = _over_layers(chart.ringed, mode="markers", marker=ring, hoverinfo="skip")
    return {"data": [*lines, rings], "layout": layout}


def _over_layers(heights: Sequence[float], **more: Any) -> dict[str, Any]:
    places = {"x": list(range(1, len(heights) + 1)), "y": list(heights)}
    return {"type": "scatter", **places, "cliponaxis": False, **more}


def _chart(title: str, inner: int, theme: Theme) -> dict[str, Any]:
    """The layout of a chart with colours of its own, and so many pixels between its axes."""
    place = {"x": 0, "xref": "paper", "y": 1, "yref": "paper"}
    anchors = {"xanchor": "left", "yanchor": "bottom", "showarrow": False, "yshift": 8}
    return {
        "height": _CHART_FRAME + max(inner, _LEAST_CHART),
        "margin": {"l": 10, "r": 10, "t": 40, "b": 10},
        "font": {"size": 15, "color": INK[theme], "family": FONT},
        "paper_bgcolor": CLEAR,
        "plot_bgcolor": CLEAR,
        "showlegend": False,
        "modebar": {"bgcolor": CLEAR, "color": INK[theme]},
        "annotations": [{"text": title, "font": {"size": 17}, **place, **anchors}],
    }


def _plain_axis(theme: Theme) -> dict[str, Any]:
    grid = {"gridcolor": GRID[theme], "zeroline": False, "showline": False}
    return {**grid, "ticks": "", "automargin": True, "fixedrange": True}


def _names(chart: Curves, colours: Sequence[str]) -> list[dict[str, Any]]:
    """Each curve's name right of its end, the upper one higher and the lower one lower."""
    ends = [heights[-1] for _, heights in chart.lines]
    upper = int(ends[1] > ends[0])
    return [
        {
            "text": name,
            "font": {"color": colours[index]},
            "x": len(heights),
            "y": heights[-1],
            "xanchor": "left",
            "xshift": 10,
            "yanchor": "bottom" if index == upper else "top",
            "showarrow": False,
        }
        for index, (name, heights) in enumerate(chart.lines)
    ]


def _domains(
    index: int, n_panels: int, gap: float, *, are_stacked: bool
) -> tuple[list[float], list[float]]:
    """Which part of the figure a panel takes, from left to right and from bottom to top."""
    size = (1 - gap * (n_panels - 1)) / n_panels
    place = n_panels - 1 - index if are_stacked else index  # plotly counts from the bottom
    start = place * (size + gap)
    part = [start, min(1.0, start + size)]
    return ([0.0, 1.0], part) if are_stacked else (part, [0.0, 1.0])


def _heatmap(panel: Panel, axes: str, theme: Theme) -> tuple[dict[str, Any], dict[str, Any]]:
    """A heatmap with its dark numbers, and one without colours for the light ones.

    Plotly writes all numbers of a heatmap in one colour, or in the dark grey or white that it
    picks for each, whose contrast goes down to 3.1:1.
    """
    reach = float(np.abs(panel.values).max()) or 1.0
    low, high = (0.0, 1.0) if panel.are_weights else (-reach, reach)
    stops = (palette.SEQUENTIAL if panel.are_weights else palette.DIVERGING)[theme]
    is_dark = palette.takes_dark_ink((panel.values - low) / (high - low), stops)
    shared = {
        "type": "heatmap",
        "z": panel.values.tolist(),
        "zmin": low,
        "zmax": high,
        "showscale": False,
        "texttemplate": "%{text}",
        "xgap": 2,
        "ygap": 2,
        "xaxis": f"x{axes}",
        "yaxis": f"y{axes}",
    }
    dark = {
        "colorscale": [[i / (len(stops) - 1), stop] for i, stop in enumerate(stops)],
        "text": _numbers(panel.values, is_dark),
        "textfont": {"color": palette.DARK_INK},
        "hovertemplate": "%{z:.6f}<extra></extra>",
    }
    light = {
        "colorscale": [[0, CLEAR], [1, CLEAR]],
        "text": _numbers(panel.values, ~is_dark),
        "textfont": {"color": palette.LIGHT_INK},
        "hoverinfo": "skip",
    }
    return shared | dark, shared | light


def _numbers(values: npt.NDArray[Any], are_written: BoolArray) -> list[list[str]]:
    """The numbers of one ink; as many blanks for the others, or Plotly sizes the inks unlike."""
    texts = [[f"{value:z.3f}".replace("-", "−") for value in row] for row in values.tolist()]
    return [
        [text if is_written else _BLANK * len(text) for text, is_written in zip(*row, strict=True)]
        for row in zip(texts, are_written.tolist(), strict=True)
    ]


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

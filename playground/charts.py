"""Curves, bars and large heatmaps as panels of one Plotly figure, as plain dicts.

One figure with several panels draws several times sooner than several figures. Colours are those
of the palette; row 0 of a heatmap is on top.
"""

import html
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from playground import palette
from playground.figures import CLEAR, FONT, GRID, INK, Figure
from playground.palette import Theme

Shape: TypeAlias = Literal["line", "dashed", "points", "steps", "bars"]

_HEIGHT = 260  # pixels of a panel
_FRAME = 110  # pixels around its plot: title, ticks, title of the axis
_GAP = 0.1  # between panels, as a share of the width
_LEGEND = 40  # pixels
_BUTTONS = 30  # pixels of Plotly's own, above a legend that is as wide as the screen


@dataclass(frozen=True, eq=False, slots=True)
class Line:
    """Some values over others; those of one name have one entry in the legend."""

    name: str
    x: Sequence[float] | Sequence[str] | npt.NDArray[Any]
    y: Sequence[float | None] | npt.NDArray[Any]  # None and what is not finite are left out
    colour: int = 0  # which of the palette's
    shape: Shape = "line"


@dataclass(frozen=True, eq=False, slots=True)
class Chart:
    """A panel of lines."""

    title: str
    x_title: str
    y_title: str
    lines: Sequence[Line]
    is_x_log: bool = False
    is_y_log: bool = False
    y_range: tuple[float, float] | None = None  # as values, also where the axis is logarithmic
    x_range: tuple[float, float] | None = None  # as values; of an axis that is not logarithmic
    x_marks: Sequence[float] = ()  # vertical lines: where something happens
    x_names: Sequence[str] = ()  # of the places 0, 1, 2, ...: texts on the axis itself would merge


@dataclass(frozen=True, eq=False, slots=True)
class Map:
    """A panel with a large heatmap: colours alone, numbers where one points."""

    title: str
    values: npt.NDArray[Any]  # (rows, columns); what is not finite has no colour
    x_title: str
    y_title: str
    are_weights: bool = False  # from 0 to 1, rather than signed and centred on 0
    rows: Sequence[str] = ()  # names of the rows; counted from 0 where there are none
    columns: Sequence[str] = ()
    reach: float | None = None  # the size at which a signed colour is full, if not its largest


Panel: TypeAlias = Chart | Map


def figure(panels: Sequence[Panel], theme: Theme, *, n_columns: int = 2) -> Figure:
    """All panels in rows of `n_columns`, with one legend above where there are several names."""
    n_columns = min(n_columns, len(panels))
    n_rows = -(-len(panels) // n_columns)
    data: list[dict[str, Any]] = []
    layout: dict[str, Any] = {
        "height": n_rows * (_HEIGHT + _FRAME) + _LEGEND,
        "margin": {"l": 10, "r": 10, "t": 40 + _LEGEND, "b": 10},
        "font": {"size": 15, "color": INK[theme], "family": FONT},
        "paper_bgcolor": CLEAR,
        "plot_bgcolor": CLEAR,
        "modebar": {"bgcolor": CLEAR, "color": INK[theme]},
        "bargap": 0.05,
        "annotations": [],
        "shapes": [],
    }
    named: set[str] = set()
    for index, panel in enumerate(panels):
        axes = "" if index == 0 else str(index + 1)
        across, down = _place(index, n_rows, n_columns)
        layout["annotations"].append(_title(panel.title, across, down, theme))
        x, y = _axes(panel, theme)
        layout[f"xaxis{axes}"] = x | {"domain": across, "anchor": f"y{axes}"}
        layout[f"yaxis{axes}"] = y | {"domain": down, "anchor": f"x{axes}"}
        if isinstance(panel, Map):
            data.append(_heatmap(panel, axes, theme))
            continue
        for line in panel.lines:
            data.append(_line(line, axes, theme, is_named=line.name not in named))
            named.add(line.name)
        layout["shapes"] += [_mark(place, axes, theme) for place in panel.x_marks]
    layout["showlegend"] = len(named) > 1
    if named:
        place = {"x": 0, "xanchor": "left", "y": 1, "yanchor": "bottom", "yref": "paper"}
        layout["legend"] = {"orientation": "h", "bgcolor": CLEAR, **place}
        layout["legend"]["y"] = 1 + 34 / (n_rows * (_HEIGHT + _FRAME))
    return {"data": data, "layout": layout}


def stacked(drawn: Figure) -> Figure:
    """The same panels below each other, for a screen that has no room beside them: a phone's."""
    layout = dict(drawn["layout"])
    starts = [axis["domain"][0] for name, axis in layout.items() if name.startswith("xaxis")]
    n_panels, n_rows = len(starts), starts.count(0)
    layout["annotations"] = [*layout["annotations"]]
    for index, title in enumerate(layout["annotations"][:n_panels]):
        axes = "" if index == 0 else str(index + 1)
        across, down = _place(index, n_panels, 1)
        layout[f"xaxis{axes}"] = layout[f"xaxis{axes}"] | {"domain": across}
        layout[f"yaxis{axes}"] = layout[f"yaxis{axes}"] | {"domain": down}
        layout["annotations"][index] = title | {"x": across[0], "y": down[1]}
    layout["height"] += (n_panels - n_rows) * (_HEIGHT + _FRAME) + _BUTTONS
    layout["margin"] = layout["margin"] | {"t": layout["margin"]["t"] + _BUTTONS}
    if "legend" in layout:  # as far above the plots as before, though they are higher now
        above = (layout["legend"]["y"] - 1) * n_rows / n_panels
        layout["legend"] = layout["legend"] | {"y": 1 + above}
    return {**drawn, "layout": layout}


def _place(index: int, n_rows: int, n_columns: int) -> tuple[list[float], list[float]]:
    """Which part of the figure a panel takes, from left to right and from bottom to top."""
    row, column = divmod(index, n_columns)
    width = (1 - _GAP * (n_columns - 1)) / n_columns
    left = column * (width + _GAP)
    gap = _FRAME / (n_rows * (_HEIGHT + _FRAME))
    height = (1 - gap * (n_rows - 1)) / n_rows
    bottom = (n_rows - 1 - row) * (height + gap)
    return [left, min(1.0, left + width)], [bottom, min(1.0, bottom + height)]


def _line(line: Line, axes: str, theme: Theme, *, is_named: bool) -> dict[str, Any]:
    colours = palette.CATEGORICAL[theme]
    colour = colours[line.colour % len(colours)]
    trace: dict[str, Any] = {
        "name": html.escape(line.name, quote=False),
        "legendgroup": line.name,
        "showlegend": is_named,
        "x": _listed(line.x),
        "y": _listed(line.y),
        "xaxis": f"x{axes}",
        "yaxis": f"y{axes}",
        "hovertemplate": "%{x}: %{y:.4g}<extra></extra>",
    }
    if line.shape == "bars":
        return trace | {"type": "bar", "marker": {"color": colour, "opacity": 0.75}}
    stroke: dict[str, Any] = {"color": colour, "width": 3}
    if line.shape == "dashed":
        stroke |= {"dash": "dash", "width": 2}
    if line.shape == "steps":
        stroke |= {"shape": "hvh"}
    mode = "markers" if line.shape == "points" else "lines"
    marker = {"color": colour, "size": 8}
    return trace | {"type": "scatter", "mode": mode, "line": stroke, "marker": marker}


def _heatmap(panel: Map, axes: str, theme: Theme) -> dict[str, Any]:
    values = np.asarray(panel.values, dtype=np.float64)
    finite = np.abs(values[np.isfinite(values)])
    reach = panel.reach or float(finite.max(initial=0.0)) or 1.0
    stops = (palette.SEQUENTIAL if panel.are_weights else palette.DIVERGING)[theme]
    return {
        "type": "heatmap",
        "z": [_listed(row) for row in values],
        "zmin": 0.0 if panel.are_weights else -reach,
        "zmax": 1.0 if panel.are_weights else reach,
        "colorscale": [[i / (len(stops) - 1), stop] for i, stop in enumerate(stops)],
        "showscale": False,
        "hoverongaps": False,
        "hovertemplate": "%{y}, %{x}: %{z:.4g}<extra></extra>",
        "xaxis": f"x{axes}",
        "yaxis": f"y{axes}",
    }


def _axes(panel: Panel, theme: Theme) -> tuple[dict[str, Any], dict[str, Any]]:
    plain = {
        "gridcolor": GRID[theme],
        "zeroline": False,
        "automargin": True,
        "fixedrange": True,
    }
    # Else it may stand as far down as the title of the panel below.
    below = {"text": html.escape(panel.x_title, quote=False), "standoff": 8}
    x: dict[str, Any] = plain | {"title": below}
    y: dict[str, Any] = plain | {"title": {"text": html.escape(panel.y_title, quote=False)}}
    if isinstance(panel, Map):
        y["autorange"] = "reversed"
        for axis, names in ((x, panel.columns), (y, panel.rows)):
            axis["showgrid"] = False
            axis |= _named(names)
        return x, y
    x |= _named(panel.x_names)
    if panel.is_x_log:
        x |= {"type": "log", "dtick": 1, "exponentformat": "power"}
    if panel.is_y_log:
        y |= {"type": "log", "nticks": 4, "exponentformat": "power"}  # few, or 2 and 5 crowd in
    if panel.x_range:
        x["range"] = [*panel.x_range]
    if panel.y_range:
        low, high = panel.y_range
        y["range"] = (
            [float(np.log10(low)), float(np.log10(high))] if panel.is_y_log else [low, high]
        )
    return x, y


def _named(names: Sequence[str]) -> dict[str, Any]:
    """An axis that has these names at 0, 1, 2, ..., if there are any."""
    if not names:
        return {}
    ticks = [html.escape(name[:14], quote=False) for name in names]
    return {"tickmode": "array", "tickvals": [*range(len(names))], "ticktext": ticks}


def _title(text: str, across: list[float], down: list[float], theme: Theme) -> dict[str, Any]:
    return {
        "text": html.escape(text, quote=False),
        "x": across[0],
        "y": down[1],
        "xref": "paper",
        "yref": "paper",
        "xanchor": "left",
        "yanchor": "bottom",
        "yshift": 6,
        "showarrow": False,
        "font": {"size": 17, "color": INK[theme]},
    }


def _mark(place: float, axes: str, theme: Theme) -> dict[str, Any]:
    return {
        "type": "line",
        "x0": place,
        "x1": place,
        "y0": 0,
        "y1": 1,
        "xref": f"x{axes}",
        "yref": f"y{axes} domain",
        "line": {"color": INK[theme], "width": 1.5, "dash": "dot"},
    }


def _listed(values: Any) -> list[Any]:
    """A list for JSON, in which what is not finite is None."""
    plain = values.tolist() if isinstance(values, np.ndarray) else list(values)
    return [
        None if isinstance(value, float) and not np.isfinite(value) else value for value in plain
    ]

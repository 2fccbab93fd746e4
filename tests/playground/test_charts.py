"""Charts show the values they are given, in one figure, texts letter by letter."""

import json
from itertools import pairwise

import numpy as np
import plotly.graph_objects as go
import pytest

from playground import charts, palette
from playground.charts import Chart, Line, Map
from tests.playground.test_palette import channels, contrast, luminance

BACKGROUND = {"light": "#ffffff", "dark": "#14171f"}

every_theme = pytest.mark.parametrize("theme", ["light", "dark"])


def chart(*lines, **more):
    lines = lines or (Line("a", [1, 10], [2.0, 3.0]),)
    return Chart("title", "x", "y", lines, **more)


EVERY_KIND = [
    chart(
        Line("line", [1, 10], [2.0, 3.0]),
        Line("dashed", [1, 10], [2.0, 3.0], 1, "dashed"),
        Line("points", [1, 10], [2.0, 3.0], 2, "points"),
        Line("steps", [1, 10], [2.0, 3.0], 3, "steps"),
        Line("bars", [1, 10], [2.0, 3.0], 4, "bars"),
        is_x_log=True,
        is_y_log=True,
        y_range=(0.1, 100),
        x_marks=(5,),
    ),
    Map("map", np.array([[1.0, -2.0], [np.nan, np.inf]]), "x", "y", rows=("a", "b")),
    chart(),
]


@every_theme
@pytest.mark.parametrize("n_columns", [1, 2, 3])
def test_plotly_accepts_every_kind_of_panel_and_json_too(theme, n_columns):
    figure = charts.figure(EVERY_KIND, theme, n_columns=n_columns)

    checked = go.Figure(figure)

    assert len(checked.data) == 7
    json.dumps(figure, allow_nan=False)


@pytest.mark.parametrize("n_panels", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("n_columns", [1, 2])
def test_panels_never_overlap_and_stay_inside(n_panels, n_columns):
    layout = charts.figure([chart()] * n_panels, "light", n_columns=n_columns)["layout"]

    names = [str(i) if i > 1 else "" for i in range(1, n_panels + 1)]
    places = [(layout[f"xaxis{n}"]["domain"], layout[f"yaxis{n}"]["domain"]) for n in names]
    for index, (across, down) in enumerate(places):
        assert 0 <= across[0] < across[1] <= 1
        assert 0 <= down[0] < down[1] <= 1
        for other_across, other_down in places[:index]:
            is_beside = across[0] >= other_across[1] or across[1] <= other_across[0]
            is_below = down[1] <= other_down[0]
            assert is_beside or is_below


def test_values_are_written_as_they_are_and_what_is_not_finite_is_left_out():
    line = Line("a", np.array([1.0, 2.0, 3.0]), np.array([0.5, np.inf, np.nan]))
    values = np.array([[1.5, -np.inf]])

    curve, heatmap = charts.figure([chart(line), Map("m", values, "x", "y")], "light")["data"]

    assert (curve["x"], curve["y"]) == ([1.0, 2.0, 3.0], [0.5, None, None])
    assert heatmap["z"] == [[1.5, None]]
    assert (heatmap["zmin"], heatmap["zmax"]) == (-1.5, 1.5)


def test_weights_have_a_fixed_scale_and_zeros_one_at_all():
    weights = Map("m", np.array([[0.1, 0.2]]), "x", "y", are_weights=True)
    zeros = Map("m", np.zeros((2, 2)), "x", "y")

    first, second = charts.figure([weights, zeros], "dark")["data"]

    assert (first["zmin"], first["zmax"]) == (0, 1)
    assert (second["zmin"], second["zmax"]) == (-1, 1)


def test_the_first_row_of_a_map_is_on_top_and_names_stand_at_whole_places():
    names = ("2020-01-01", "the", "the")
    figure = charts.figure([Map("m", np.eye(3), "x", "y", rows=names)], "light")

    axis = figure["layout"]["yaxis"]
    assert axis["autorange"] == "reversed"
    assert (axis["tickvals"], axis["ticktext"]) == ([0, 1, 2], list(names))
    assert "y" not in figure["data"][0]


def test_names_of_places_stand_below_them_though_two_are_alike():
    named = chart(Line("a", [0, 1, 2], [2.0, 3.0, 1.0], 0, "bars"), x_names=("the", "<b>", "the"))

    figure = charts.figure([named], "light")

    axis = figure["layout"]["xaxis"]
    assert axis["tickvals"] == [0, 1, 2]
    assert axis["ticktext"] == ["the", "&lt;b&gt;", "the"]
    assert figure["data"][0]["x"] == [0, 1, 2]


def test_a_logarithmic_axis_gets_the_range_in_powers_of_ten():
    layout = charts.figure([chart(is_y_log=True, y_range=(0.01, 1000))], "light")["layout"]

    assert layout["yaxis"]["range"] == [-2, 3]


def test_the_scale_of_a_logarithmic_height_is_powers_of_ten_alone_where_it_is_tall():
    x, y = [1, 10], [1e-5, 1.0]

    layout = charts.figure([chart(Line("a", x, y), is_y_log=True)], "light")["layout"]

    assert layout["yaxis"]["nticks"] <= 5  # with more, plotly writes 2 and 5 in between


def test_a_name_stands_once_in_the_legend_and_one_name_alone_needs_none():
    twice = charts.figure([chart(Line("a", [1], [1]), Line("b", [1], [1]))] * 2, "light")
    once = charts.figure([chart()], "light")

    assert [trace["showlegend"] for trace in twice["data"]] == [True, True, False, False]
    assert twice["layout"]["showlegend"]
    assert not once["layout"]["showlegend"]


def test_texts_are_shown_letter_by_letter():
    hostile = "<b>x</b>"
    panel = Chart(hostile, hostile, hostile, [Line(hostile, [1], [1]), Line("b", [1], [1])])
    heat = Map(hostile, np.eye(1), hostile, hostile, rows=(hostile,), columns=(hostile,))

    figure = charts.figure([panel, heat], "light")

    for trace in figure["data"]:
        trace.pop("legendgroup", None)  # never shown
    assert hostile not in json.dumps(figure)
    assert "&lt;b&gt;" in json.dumps(figure)


@every_theme
def test_lines_stand_out_from_the_page(theme):
    page = luminance(channels(BACKGROUND[theme]))

    for colour in palette.CATEGORICAL[theme]:
        assert contrast(luminance(channels(colour)), page) >= 3
    assert len(set(palette.CATEGORICAL[theme])) == 8


@pytest.mark.parametrize("n_panels", [1, 2, 3, 4])
def test_on_a_phone_panels_have_the_whole_width_and_their_own_height_below_each_other(n_panels):
    lines = Line("a", [1], [2.0]), Line("b", [1], [3.0])
    beside = charts.figure([chart(*lines)] * n_panels, "light")

    below = charts.stacked(beside)

    go.Figure(below)
    layout, names = below["layout"], ["", "2", "3", "4"][:n_panels]
    assert [layout[f"xaxis{name}"]["domain"] for name in names] == [[0, 1]] * n_panels
    downs = [layout[f"yaxis{name}"]["domain"] for name in names]
    assert all(one[0] > other[1] for one, other in pairwise(downs))
    assert [title["y"] for title in layout["annotations"]] == [down[1] for down in downs]
    assert [title["x"] for title in layout["annotations"]] == [0] * n_panels
    assert plot_height(layout, "") == pytest.approx(plot_height(beside["layout"], ""), rel=0.15)
    assert pixels_above(layout) == pytest.approx(pixels_above(beside["layout"]), rel=0.15)
    more = layout["height"] - beside["layout"]["height"]
    assert more >= layout["margin"]["t"] - beside["layout"]["margin"]["t"] > 0
    assert beside == charts.figure([chart(*lines)] * n_panels, "light")  # it is not written into


def inner(layout):
    return layout["height"] - layout["margin"]["t"] - layout["margin"]["b"]


def plot_height(layout, name):
    low, high = layout[f"yaxis{name}"]["domain"]
    return (high - low) * inner(layout)


def pixels_above(layout):
    """How far the legend stands above the plots."""
    return (layout["legend"]["y"] - 1) * inner(layout)

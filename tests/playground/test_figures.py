"""Figures show the arrays they are given, first token on top, texts letter by letter."""

import json
from dataclasses import replace

import numpy as np
import plotly.graph_objects as go
import pytest

from attention_core import Experiment
from playground import figures, palette
from playground.figures import Panel
from playground.pipeline import axis_labels, pipeline
from tests.playground.experiments import every_setting

TOKENS = ["我", "喜欢", "苹果"]
VALUES = np.array([[0.25, 0.75], [1.0, 0.0], [0.5, 0.5]])


def panel(values=VALUES, rows=TOKENS, columns=("a", "b"), **more):
    return Panel("weights", np.asarray(values), rows, columns, "from", "to", **more)


def pair(experiment):
    """The two panels that the Playground shows."""
    matrices = {m.id: m for m in pipeline(experiment, experiment.trace(), 0)}
    labels = axis_labels(experiment)
    return [
        panel(m.values, labels[m.rows], labels[m.columns], are_weights=m.are_weights)
        for m in (matrices["weights"], matrices["output"])
    ]


def draw(*panels, theme="light"):
    return figures.heatmaps(panels, theme)


@every_setting
def test_plotly_accepts_the_figure_of_every_setting(experiment):
    figure = draw(*pair(experiment))

    checked = go.Figure(figure)

    assert [trace.type for trace in checked.data] == ["heatmap", "heatmap"]


@pytest.mark.parametrize("n_panels", [1, 2, 3, 8])
def test_panels_stand_side_by_side_and_never_overlap(n_panels):
    layout = go.Figure(draw(*[panel()] * n_panels)).layout

    domains = [layout[f"xaxis{i or ''}"].domain for i in [0, *range(2, n_panels + 1)]]
    edges = [edge for domain in domains for edge in domain]
    assert edges == sorted(edges)
    assert edges[0] == 0
    assert edges[-1] == pytest.approx(1)
    for domain, title in zip(domains, layout.annotations, strict=True):
        assert title.x == pytest.approx(sum(domain) / 2)


def test_each_heatmap_has_axes_of_its_own():
    figure = draw(panel(), panel(columns=("c", "d")))

    assert [(d["xaxis"], d["yaxis"]) for d in figure["data"]] == [("x", "y"), ("x2", "y2")]
    assert figure["layout"]["xaxis"]["ticktext"] == ["a", "b"]
    assert figure["layout"]["xaxis2"]["ticktext"] == ["c", "d"]
    assert figure["layout"]["xaxis2"]["anchor"] == "y2"
    assert figure["layout"]["yaxis2"]["anchor"] == "x2"


def test_the_first_token_stands_on_top():
    figure = draw(panel(), panel())

    assert figure["data"][0]["z"][0] == [0.25, 0.75]
    for axis in ("yaxis", "yaxis2"):
        assert figure["layout"][axis]["autorange"] == "reversed"
        assert figure["layout"][axis]["ticktext"][0] == "我"
        assert figure["layout"][axis]["tickvals"][0] == 0
    assert "autorange" not in figure["layout"]["xaxis"]


@pytest.mark.parametrize(
    "tokens",
    [["the", "cat", "the"], ["1", "2", "10"], ["2020-01-01", "2020-01-02", "1e3"], ["", " ", "0"]],
)
def test_tokens_stay_texts_on_integer_places(tokens):
    axis = draw(panel(rows=tokens))["layout"]["yaxis"]

    assert axis["tickmode"] == "array"
    assert axis["tickvals"] == [0, 1, 2]
    assert axis["ticktext"] == tokens
    assert all(type(place) is int for place in axis["tickvals"])


@pytest.mark.parametrize(
    ("token", "shown"),
    [
        ("<b>x</b>", "&lt;b&gt;x&lt;/b&gt;"),
        ("&amp;", "&amp;amp;"),
        ("<br>", "&lt;br&gt;"),
        ('"q"', '"q"'),
        ("exactly14chars", "exactly14chars"),
        ("fifteen letters", "fifteen lette…"),
        ("<<<<<<<<<<<<<<<<", "&lt;" * 13 + "…"),
    ],
)
def test_a_token_is_shown_letter_by_letter_and_cut_where_it_would_crowd(token, shown):
    layout = draw(panel([[1.0]], [token], [token]))["layout"]

    assert layout["xaxis"]["ticktext"] == layout["yaxis"]["ticktext"] == [shown]


@pytest.mark.parametrize("largest", [1.0, 0.3, 1e-9])
def test_weights_have_one_fixed_scale_from_0_to_1(largest):
    (heatmap,) = draw(panel(VALUES * largest, are_weights=True))["data"]

    assert (heatmap["zmin"], heatmap["zmax"]) == (0, 1)


@pytest.mark.parametrize(
    ("values", "reach"), [([[-3.0, 1.0]], 3), ([[0.5, 2.0]], 2), ([[-0.25]], 0.25)]
)
def test_signed_numbers_have_a_scale_centred_on_0(values, reach):
    (heatmap,) = draw(panel(values, ["a"]))["data"]

    assert (heatmap["zmin"], heatmap["zmax"]) == (-reach, reach)


def test_an_output_of_zeros_has_a_scale_too():
    (heatmap,) = draw(panel(np.zeros((3, 2))))["data"]

    assert (heatmap["zmin"], heatmap["zmax"]) == (-1, 1)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_colours_are_those_of_the_board(theme):
    weights, signed = draw(panel(are_weights=True), panel(), theme=theme)["data"]

    assert [colour for _, colour in weights["colorscale"]] == list(palette.SEQUENTIAL[theme])
    assert [colour for _, colour in signed["colorscale"]] == list(palette.DIVERGING[theme])
    assert signed["colorscale"][3] == [0.5, palette.DIVERGING[theme][3]]
    for heatmap in (weights, signed):
        places = [place for place, _ in heatmap["colorscale"]]
        assert places == sorted(places)
        assert (places[0], places[-1]) == (0, 1)


def test_numbers_stand_in_the_cells_and_in_full_when_pointed_at():
    (heatmap,) = draw(panel())["data"]

    assert heatmap["texttemplate"] == "%{z:.3f}"
    assert heatmap["hovertemplate"].startswith("%{z:.6f}")


@pytest.mark.parametrize(("n_columns", "are_stacked"), [(6, False), (7, True)])
def test_wide_panels_stand_below_each_other_the_first_on_top(n_columns, are_stacked):
    wide = panel(np.ones((3, n_columns)), columns=["c"] * n_columns)

    layout = draw(wide, panel())["layout"]

    if are_stacked:
        assert layout["xaxis"]["domain"] == layout["xaxis2"]["domain"] == [0.0, 1.0]
        assert layout["yaxis"]["domain"][0] > layout["yaxis2"]["domain"][1]
        assert layout["yaxis2"]["showticklabels"]
    else:
        assert layout["yaxis"]["domain"] == layout["yaxis2"]["domain"] == [0.0, 1.0]
        assert layout["xaxis"]["domain"][1] < layout["xaxis2"]["domain"][0]


def test_tokens_are_not_written_twice_beside_panels_of_the_same_rows():
    layout = draw(panel(), panel(), panel(rows=["x", "y", "z"]))["layout"]

    shown = [layout[axis]["showticklabels"] for axis in ("yaxis", "yaxis2", "yaxis3")]

    assert shown == [True, False, True]


def test_the_height_is_fixed_by_the_tallest_panel():
    short, tall = panel([[1.0]], ["a"], ["b"]), panel(np.ones((12, 1)), ["a"] * 12, ["b"])

    heights = [draw(*panels)["layout"]["height"] for panels in ([short], [tall], [short, tall])]

    assert heights[0] < heights[1] == heights[2]


@every_setting
def test_a_figure_is_plain_data_that_json_can_hold(experiment):
    figure = draw(*pair(experiment))

    text = json.dumps(figure, allow_nan=False)

    assert json.loads(text) == figure
    assert all(type(number) is float for row in figure["data"][0]["z"] for number in row)


def test_an_experiment_in_which_nobody_may_attend_is_drawn():
    mask = replace(Experiment.from_preset().mask, kinds=("padding",), n_padding=3)
    experiment = replace(Experiment.from_preset(), mask=mask)

    weights, output = draw(*pair(experiment))["data"]

    assert weights["z"] == [[0.0] * 3] * 3
    assert output["z"] == [[0.0] * 2] * 3


def test_what_is_shown_is_what_was_given():
    experiment = Experiment.from_preset("previous_token")
    steps = experiment.trace().attention

    weights, output = draw(*pair(experiment))["data"]

    np.testing.assert_array_equal(weights["z"], steps.head(0).weights)
    np.testing.assert_array_equal(output["z"], steps.output)

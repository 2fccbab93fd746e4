"""Figures show the arrays they are given, first token on top, texts letter by letter."""

import json
from dataclasses import replace

import numpy as np
import plotly.graph_objects as go
import pytest

from attention_core import Experiment
from playground import figures, palette
from playground.figures import Curves, Panel
from playground.pipeline import axis_labels, pipeline
from tests.playground.experiments import every_setting
from tests.playground.test_palette import channels, contrast, interpolated, luminance

TOKENS = ["我", "喜欢", "苹果"]
BLANK = "\u00a0"
VALUES = np.array([[0.25, 0.75], [1.0, 0.0], [0.5, 0.5]])


every_panel_theme = pytest.mark.parametrize(
    ("are_weights", "theme"), [(a, t) for a in (False, True) for t in ("light", "dark")]
)


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


def coloured(figure):
    """The heatmaps of a figure, without those over them that hold the light numbers."""
    return figure["data"][: len(figure["data"]) // 2]


@every_setting
def test_plotly_accepts_the_figure_of_every_setting(experiment):
    figure = draw(*pair(experiment))

    checked = go.Figure(figure)

    assert [trace.type for trace in checked.data] == ["heatmap"] * 4


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

    assert [(d["xaxis"], d["yaxis"]) for d in figure["data"]] == [("x", "y"), ("x2", "y2")] * 2
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
    (heatmap,) = coloured(draw(panel(VALUES * largest, are_weights=True)))

    assert (heatmap["zmin"], heatmap["zmax"]) == (0, 1)


@pytest.mark.parametrize(
    ("values", "reach"), [([[-3.0, 1.0]], 3), ([[0.5, 2.0]], 2), ([[-0.25]], 0.25)]
)
def test_signed_numbers_have_a_scale_centred_on_0(values, reach):
    (heatmap,) = coloured(draw(panel(values, ["a"])))

    assert (heatmap["zmin"], heatmap["zmax"]) == (-reach, reach)


def test_an_output_of_zeros_has_a_scale_too():
    (heatmap,) = coloured(draw(panel(np.zeros((3, 2)))))

    assert (heatmap["zmin"], heatmap["zmax"]) == (-1, 1)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_colours_are_those_of_the_board(theme):
    weights, signed = coloured(draw(panel(are_weights=True), panel(), theme=theme))

    assert [colour for _, colour in weights["colorscale"]] == list(palette.SEQUENTIAL[theme])
    assert [colour for _, colour in signed["colorscale"]] == list(palette.DIVERGING[theme])
    assert signed["colorscale"][3] == [0.5, palette.DIVERGING[theme][3]]
    for heatmap in (weights, signed):
        places = [place for place, _ in heatmap["colorscale"]]
        assert places == sorted(places)
        assert (places[0], places[-1]) == (0, 1)


def test_numbers_stand_in_the_cells_and_in_full_when_pointed_at():
    heatmap, light = draw(panel([[0.12345, -2.0, -0.0001]], ["a"], "abc"))["data"]

    assert heatmap["text"] == [["0.123", BLANK * 6, "0.000"]]
    assert light["text"] == [[BLANK * 5, "−2.000", BLANK * 5]]
    assert heatmap["texttemplate"] == light["texttemplate"] == "%{text}"
    assert heatmap["hovertemplate"].startswith("%{z:.6f}")
    assert light["hoverinfo"] == "skip"
    assert {colour for _, colour in light["colorscale"]} == {"rgba(0,0,0,0)"}


@every_panel_theme
def test_every_number_is_written_once_in_an_ink_that_stands_out(are_weights, theme):
    values = np.linspace(0 if are_weights else -3, 1 if are_weights else 3, 201).reshape(3, 67)
    drawn = draw(panel(values, columns=["c"] * 67, are_weights=are_weights), theme=theme)
    colours = interpolated([colour for _, colour in coloured(drawn)[0]["colorscale"]], 201)

    inks = np.full(values.shape, None, dtype=object)
    for trace in drawn["data"]:
        for place, text in np.ndenumerate(trace["text"]):
            if not text.isspace():
                assert inks[place] is None
                assert float(text.replace("−", "-")) == pytest.approx(values[place], abs=5e-4)
                inks[place] = trace["textfont"]["color"]

    ink = luminance([channels(colour) for colour in inks.ravel()])
    assert contrast(luminance(colours), ink).min() >= 4.5


def test_both_inks_give_plotly_texts_of_the_same_lengths_so_that_their_size_is_one():
    rng = np.random.default_rng(0)
    dark, light = draw(panel(rng.normal(size=(3, 2)) * 1000))["data"]

    lengths = [[[len(text) for text in row] for row in trace["text"]] for trace in (dark, light)]

    assert lengths[0] == lengths[1]
    assert dark["text"] != light["text"]


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


@pytest.mark.parametrize(("n_columns", "has_numbers"), [(6, True), (7, False)])
def test_on_a_phone_panels_stand_below_each_other_and_many_columns_have_no_numbers(
    n_columns, has_numbers
):
    panels = [panel(np.ones((3, n_columns)), columns=["c"] * n_columns), panel()]

    figure = figures.heatmaps(panels, "light", is_narrow=True)

    layout, wide = go.Figure(figure).layout, [t for t in figure["data"] if t["xaxis"] == "x"]
    assert layout.xaxis.domain == layout.xaxis2.domain == (0, 1)
    pixels = layout.height - layout.margin.t - layout.margin.b
    between = (layout.yaxis.domain[0] - layout.yaxis2.domain[1]) * pixels
    assert between == pytest.approx(140)  # for the names and titles between them
    assert ["texttemplate" in trace for trace in wide] == [has_numbers] * 2
    assert all("texttemplate" in trace for trace in figure["data"] if trace not in wide)
    assert any("hovertemplate" in trace for trace in wide)


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

    weights, output = coloured(draw(*pair(experiment)))

    assert weights["z"] == [[0.0] * 3] * 3
    assert output["z"] == [[0.0] * 2] * 3


def test_what_is_shown_is_what_was_given():
    experiment = Experiment.from_preset("previous_token")
    steps = experiment.trace().attention

    weights, output = coloured(draw(*pair(experiment)))

    np.testing.assert_array_equal(weights["z"], steps.head(0).weights)
    np.testing.assert_array_equal(output["z"], steps.output)


# --- charts of the layers

every_theme = pytest.mark.parametrize("theme", ["light", "dark"])
ARRIVAL = np.array([[0, 2, -1], [1, 0, 1], [-1, 3, 0]])


def arrive(values=ARRIVAL, rows=TOKENS, theme="light"):
    return figures.arrival(panel(values, rows, rows), theme)


def curve(one=(0.9, 0.8, 0.7), other=(0.9, 0.4, 0.1), ringed=(0.9, 0.8, 0.5), theme="light"):
    lines = (("with", one), ("without", other))
    return figures.curves(Curves("spread", lines, ringed, "layer", "height"), theme)


@every_theme
@pytest.mark.parametrize("draw_one", [arrive, curve])
def test_plotly_accepts_the_charts_and_json_can_hold_them(draw_one, theme):
    figure = draw_one(theme=theme)

    assert go.Figure(figure).to_plotly_json()["layout"]["height"] == figure["layout"]["height"]
    assert json.loads(json.dumps(figure, allow_nan=False)) == figure
    assert draw_one(theme=theme) == figure


def test_every_cell_says_after_how_many_layers_and_a_dash_says_never():
    (heatmap,) = arrive()["data"]

    assert heatmap["text"] == [["0", "2", "–"], ["1", "0", "1"], ["–", "3", "0"]]
    assert heatmap["texttemplate"] == "%{text}"


def test_the_fewer_layers_the_stronger_the_colour_and_never_has_none():
    (heatmap,) = arrive()["data"]

    assert heatmap["z"] == [[4, 2, 0], [3, 4, 3], [0, 1, 4]]
    assert (heatmap["zmin"], heatmap["zmax"]) == (0, 4)
    assert heatmap["colorscale"][0] == [0, palette.SEQUENTIAL["light"][0]]


def test_where_nobody_heard_anybody_there_is_a_chart_too():
    (heatmap,) = arrive(np.full((2, 2), -1), ["a", "b"])["data"]

    assert heatmap["z"] == [[0, 0], [0, 0]]
    assert heatmap["zmax"] > heatmap["zmin"]
    assert heatmap["text"] == [["–", "–"]] * 2


def test_the_tokens_of_the_layers_are_shown_letter_by_letter_first_one_on_top():
    layout = arrive(rows=["<b>x</b>", "2020-01-01", "2020-01-01"])["layout"]

    for axis in (layout["xaxis"], layout["yaxis"]):
        assert axis["ticktext"] == ["&lt;b&gt;x&lt;/b&gt;", "2020-01-01", "2020-01-01"]
        assert axis["tickvals"] == [0, 1, 2]
    assert layout["yaxis"]["autorange"] == "reversed"
    assert "autorange" not in layout["xaxis"]


def test_curves_begin_at_layer_1_and_one_may_end_early():
    one, other, rings = curve(one=(0.9, 0.8))["data"]

    assert (one["x"], one["y"]) == ([1, 2], [0.9, 0.8])
    assert (other["x"], other["y"]) == ([1, 2, 3], [0.9, 0.4, 0.1])
    assert (rings["x"], rings["y"]) == ([1, 2, 3], [0.9, 0.8, 0.5])
    assert rings["mode"] == "markers"
    assert rings["marker"]["symbol"] == "circle-open"


@pytest.mark.parametrize(
    ("one", "other", "upper"),
    [((0.9, 0.8), (0.9, 0.1), 0), ((0.9, 0.1), (0.9, 0.8), 1), ((0.9, 0.5), (0.9, 0.5), 0)],
)
def test_each_curve_has_its_name_at_its_end_in_its_colour_and_no_two_collide(one, other, upper):
    figure = curve(one, other, one)

    _, *names = figure["layout"]["annotations"]
    assert [name["text"] for name in names] == ["with", "without"]
    for name, line in zip(names, figure["data"], strict=False):
        assert (name["x"], name["y"]) == (line["x"][-1], line["y"][-1])
        assert name["font"]["color"] == line["line"]["color"] == line["marker"]["color"]
    assert names[upper]["yanchor"] == "bottom"
    assert names[1 - upper]["yanchor"] == "top"


@pytest.mark.parametrize("n_depths", [2, 7, 8, 9, 17, 200])
def test_the_axis_of_the_layers_has_few_ticks_and_whole_ones(n_depths):
    heights = [0.5] * n_depths

    axis = curve(heights, heights, heights)["layout"]["xaxis"]

    assert axis["tick0"] == 1
    assert type(axis["dtick"]) is int
    assert 1 <= n_depths / axis["dtick"] <= 8
    assert axis["range"][0] < 1
    assert axis["range"][1] == n_depths


@every_theme
def test_all_that_is_written_in_the_charts_stands_out(theme):
    ink = luminance(channels(arrive(theme=theme)["layout"]["font"]["color"]))
    (heatmap,) = arrive(theme=theme)["data"]
    colours = luminance(interpolated([colour for _, colour in heatmap["colorscale"]]))
    page = luminance(channels(palette.SEQUENTIAL[theme][0]))

    assert heatmap["textfont"]["color"] == arrive(theme=theme)["layout"]["font"]["color"]
    assert contrast(colours, ink).min() >= 4.5
    _, *names = curve(theme=theme)["layout"]["annotations"]
    for name in names:
        assert contrast(page, luminance(channels(name["font"]["color"]))) >= 4.5
    assert len({name["font"]["color"] for name in names}) == 2


def test_the_height_of_a_chart_is_fixed_by_its_rows_alone():
    short, tall = arrive(), arrive(np.zeros((12, 12), dtype=int), ["a"] * 12)

    assert short["layout"]["height"] == curve()["layout"]["height"]
    assert tall["layout"]["height"] > short["layout"]["height"]
    assert (
        curve([0.5] * 50, [0.5] * 50, [0.5] * 50)["layout"]["height"]
        == (curve()["layout"]["height"])
    )

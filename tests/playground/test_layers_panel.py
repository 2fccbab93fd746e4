"""The panel of the layers: it stacks what the core stacks, and says only what the core found."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from streamlit.testing.v1 import AppTest

from attention_core import Experiment, Mask, from_plain, to_plain
from attention_core.errors import RangeError
from attention_core.experiment import MAX_VALUE
from attention_core.stack import Layer, replayed, spread, stack_trace, stacked
from playground import layers, link
from playground.texts import LANGUAGES, Texts
from tests.playground.experiments import experiments

every_language = pytest.mark.parametrize("language", LANGUAGES)
WINDOW = Mask(("window",), before=1, after=1)


def script():
    import streamlit as st

    from attention_core import Experiment
    from playground import layers, session
    from playground.texts import Texts

    session.start()
    st.button("undo", on_click=session.undo)
    st.button("redo", on_click=session.redo)
    for name, change in {
        "type": lambda e: e.with_cell("X", (0, 0), 7.0),
        "W_O": lambda e: e.with_output_projection(True),
        "d_k": lambda e: e.resized(d_k=2),
        "weight": lambda e: e.with_cell("W_V", (0, 0, 0), 0.5),
        "preset": lambda _: Experiment.from_preset("apple"),
    }.items():
        st.button(name, on_click=session.apply, args=(change,))
    notice = session.pop_notice()
    st.text(notice and notice["error"])
    layers.panel(Texts(session.language()))


class Panel:
    """One learner's session with this panel alone."""

    def __init__(self, experiment, language="en", theme="light"):
        self.test = AppTest.from_function(script, default_timeout=30)
        self.test.context.update(locale="en-US", theme=theme)
        self.test.query_params.update(e=link.encode(experiment), lang=language)
        self.test.session_state[layers.SECTION_KEY] = True
        self.test.run()
        self.t = Texts(language)

    def press(self, name):
        label = self.t(f"layers.{name}") if name in ("plain", "residual") else name
        self._button(label).click().run()
        assert not self.test.exception
        return self

    def _button(self, label):
        (button,) = [button for button in self.test.button if button.label == label]
        return button

    def is_open(self):
        """Whether a layer can be added."""
        plain, residual = (self._button(self.t(f"layers.{n}")) for n in ("plain", "residual"))
        assert plain.disabled == residual.disabled
        return not plain.disabled

    @property
    def experiment(self):
        return from_plain(json.loads(self.test.session_state["work"]["text"]))

    @property
    def place(self):
        return self.test.markdown[0].value

    @property
    def texts(self):
        return [markdown.value for markdown in self.test.markdown[1:]]

    @property
    def specs(self):
        return [chart.proto.spec for chart in self.test.get("plotly_chart")]

    @property
    def charts(self):
        return [json.loads(spec) for spec in self.specs]

    @property
    def refusal(self):
        return self.test.text[0].value


def windowed(n_tokens=5, **changes):
    start = Experiment.from_preset("random", seed=3).resized(n_tokens=n_tokens)
    return replace(start, mask=WINDOW, **changes)


def run(experiment, residuals):
    kept = []
    for is_residual in residuals:
        kept.append(Layer(experiment, is_residual))
        experiment = stacked(experiment, is_residual=is_residual)
    return kept, experiment


def traces(experiment, residuals):
    """What the panel tells about: the layers as they were run, always and never with X added."""
    kept, last = run(experiment, residuals)
    return [
        stack_trace(kept, last),
        *(stack_trace(*replayed(kept, last, is_residual=on)) for on in (True, False)),
    ]


def told(experiment, residuals, language="en"):
    names = experiment.tokens
    return layers.sentences(Texts(language), names, *traces(experiment, residuals))


def numbers(sentence):
    return [float(n.replace(",", "")) for n in re.findall(r"\d[\d,]*(?:\.\d+)?", sentence)]


# --- going deeper


@every_language
def test_the_first_layer_has_two_buttons_and_nothing_heavy(language):
    panel = Panel(windowed(), language)

    assert panel.test.expander[0].label == panel.t("layers.title")
    assert panel.place == panel.t("layers.first")
    assert panel.is_open()
    assert panel.texts == []
    assert panel.charts == []


@pytest.mark.parametrize("name", ["plain", "residual"])
def test_a_button_makes_of_the_output_what_the_core_makes_of_it(name):
    panel = Panel(windowed()).press(name)

    expected = stacked(windowed(), is_residual=name == "residual")
    assert to_plain(panel.experiment) == to_plain(expected)


@every_language
def test_each_layer_says_which_it_is_and_where_its_x_comes_from(language):
    panel = Panel(windowed(), language).press("plain").press("residual")

    assert panel.place == panel.t("layers.from_residual", layer=3, before=2)
    assert panel.press("plain").place == panel.t("layers.from_plain", layer=4, before=3)


def test_undo_goes_back_a_layer_and_redo_forth():
    panel = Panel(windowed()).press("plain").press("residual")
    third = panel.specs

    panel.press("undo")
    assert panel.place == panel.t("layers.from_plain", layer=2, before=1)
    assert panel.press("undo").place == panel.t("layers.first")
    assert to_plain(panel.experiment) == to_plain(windowed())
    assert panel.press("redo").press("redo").specs == third


def test_an_x_typed_by_hand_begins_anew_and_undo_brings_the_layers_back():
    panel = Panel(windowed()).press("plain").press("type")

    assert panel.place == panel.t("layers.first")
    assert panel.charts == []
    assert panel.press("undo").place == panel.t("layers.from_plain", layer=2, before=1)
    assert panel.press("type").press("residual").place == (
        panel.t("layers.from_residual", layer=2, before=1)
    )


def test_another_preset_begins_anew():
    panel = Panel(windowed()).press("plain").press("preset")

    assert panel.place == panel.t("layers.first")


def test_numbers_that_outgrow_an_experiment_are_refused_and_nothing_changes():
    tall = replace(windowed(), X=np.full((5, 4), MAX_VALUE))
    panel = Panel(tall).press("residual")

    assert panel.refusal == "RangeError"
    assert panel.place == panel.t("layers.first")
    assert to_plain(panel.experiment) == to_plain(tall)


# --- widths


@every_language
def test_a_width_that_does_not_fit_is_explained_with_its_numbers(language):
    wide = windowed().resized(n_heads=3, d_k=2)

    panel = Panel(wide, language)

    assert not panel.is_open()
    (sentence,) = panel.texts
    assert numbers(sentence) == [3, 2, 6, 4, 4, 2, 2]
    assert "W_O" in sentence
    assert panel.place == panel.t("layers.first")


@pytest.mark.parametrize("way_out", ["W_O", "d_k"])
def test_each_way_out_that_is_named_is_one(way_out):
    panel = Panel(windowed().resized(n_heads=2, d_k=3))
    (sentence,) = panel.texts
    assert numbers(sentence)[-2:] == [2, 2]

    panel.press(way_out)

    assert panel.is_open()
    assert panel.texts == []


def test_a_width_that_stops_fitting_later_leaves_what_was_found():
    panel = Panel(windowed()).press("plain").press("d_k")

    assert not panel.is_open()
    assert len(panel.texts) == 2
    assert len(panel.charts) == 2


# --- charts


@every_language
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_charts_hold_what_the_core_found(language, theme):
    panel = Panel(windowed(), language, theme)
    for name in ("residual", "plain", "residual"):
        panel.press(name)

    trace, always, never = traces(windowed(), [True, False, True])
    heatmap, spreads = panel.charts
    expected = np.where(trace.arrival < 0, "–", trace.arrival.astype(str))
    assert heatmap["data"][0]["text"] == expected.tolist()
    assert heatmap["layout"]["yaxis"]["ticktext"] == list(windowed().tokens)
    heights = [line["y"] for line in spreads["data"]]
    for shown, wanted in zip(heights, (always, never, trace), strict=True):
        np.testing.assert_array_equal(shown, wanted.spread)
    assert heights[0] != heights[1]
    names = [note["text"] for note in spreads["layout"]["annotations"]]
    assert names == [panel.t(f"layers.{key}") for key in ("spread", "always", "never")]


def test_charts_stay_byte_by_byte_the_same_while_their_layers_do():
    panel = Panel(windowed()).press("plain")
    before = panel.specs

    panel.press("weight")

    assert panel.specs == before
    assert panel.press("plain").specs != before


def test_a_curve_that_outgrows_an_experiment_ends_and_a_sentence_says_where():
    eye = np.eye(2)[None]
    X = np.full((2, 2), MAX_VALUE / 5)  # doubled by every layer with the residual
    panel = Panel(Experiment(("a", "b"), X, 0 * eye, eye, eye))
    for _ in range(4):
        panel.press("plain")

    assert [len(line["y"]) for line in panel.charts[1]["data"]] == [3, 5, 5]
    assert panel.t("layers.always_ended", layer=3, limit="1,000,000") in panel.texts[0]
    assert panel.t("layers.never_reached", value="0.000") in panel.texts[0]


# --- sentences


def test_the_sentences_of_a_window_by_hand():
    assert told(windowed(6), [False] * 3)[:2] == [
        "Token 3 (brown) has heard from 6 of 6 tokens, token 1 (the) only from 4.",
        "Layer 1 heard at most 1 back and 1 ahead; 3 layers in a row hear 3 back and 3 ahead.",
    ]


def test_the_sentences_of_one_layer_do_not_speak_of_several():
    assert told(windowed(6), [False])[:2] == [
        "Token 2 (quick) has heard from 3 of 6 tokens, token 1 (the) only from 2.",
        "Layer 1 heard at most 1 back and 1 ahead.",
    ]


def test_where_a_layer_reaches_everything_there_is_no_window_to_speak_of():
    open_to_all = replace(windowed(), mask=Mask())

    assert told(open_to_all, [True] * 2)[0] == (
        "Every token has heard from all 5 tokens, from the last of them in layer 1."
    )
    assert len(told(open_to_all, [True] * 2)) == 4


def test_a_window_that_has_reached_everything_says_when():
    assert told(windowed(), [True] * 5)[0] == (
        "Every token has heard from all 5 tokens, from the last of them in layer 4."
    )


def test_tokens_that_heard_equally_many_are_told_together():
    alone = replace(windowed(), mask=Mask(("window",), before=0, after=0))

    assert told(alone, [True])[0] == "Every token has heard from 1 of 5 tokens."


def test_of_a_single_token_only_the_spread_is_told():
    assert told(windowed(1), [True]) == [
        "How different the rows of X are, from 0 (all alike) to 1: 0.000 in layer 1, "
        "0.000 in layer 2.",
        "Had X been added in every layer: 0.000.",
        "Had X never been added: 0.000.",
    ]


def test_what_is_not_quite_0_is_never_told_as_0():
    nearly = told(replace(windowed(), mask=Mask()), [False] * 6)

    assert nearly[-1] == "Had X never been added: < 0.001."


@every_language
def test_names_of_tokens_are_shown_letter_by_letter(language):
    hostile = windowed().with_token_renamed(0, "*a* $b$").with_token_renamed(1, ":red[c]")

    sentence = told(hostile, [True], language)[0]

    assert r"\*a\* \$b\$" in sentence  # the one that heard least
    assert r"\:red\[c\]" in sentence  # and the one that heard most


@settings(max_examples=40, deadline=None)
@given(
    experiments(), st.lists(st.booleans(), min_size=1, max_size=4), st.sampled_from(["en", "zh"])
)
def test_every_number_in_a_sentence_is_one_of_the_arrays(experiment, residuals, language):
    fitting = experiment.with_output_projection(True)
    experiment = replace(fitting, tokens=tuple("abcdefghijkl"[: fitting.n_tokens]))
    try:
        trace, always, never = traces(experiment, residuals)
    except RangeError:
        assume(False)
    n_tokens, depth = experiment.n_tokens, len(residuals) + 1

    *heard, differ, with_X, without_X = told(experiment, residuals, language)

    known = {0, 1}  # the ends of the scale
    assert set(numbers(differ)) <= known | {
        depth,
        *(0.001 if 0 < s < 0.001 else round(s, 3) for s in map(spread, trace.X[[0, -1]])),
    }
    for sentence, other in ((with_X, always), (without_X, never)):
        last = spread(other.X[-1])
        ended = [other.n_depths, MAX_VALUE]
        reached = [0.001 if 0 < last < 0.001 else pytest.approx(last, abs=6e-4)]
        assert numbers(sentence) == (reached if other.n_depths == depth else ended)
    counts = [int(row.sum()) for row in trace.reach[-1]]
    if n_tokens == 1:
        assert heard == []
        return
    found = numbers(heard[0])
    if min(counts) == n_tokens:
        assert sorted(found) == sorted([n_tokens, trace.arrival.max()])
    elif min(counts) == max(counts):
        assert sorted(found) == sorted([n_tokens, counts[0]])
    else:
        places = [counts.index(max(counts)) + 1, counts.index(min(counts)) + 1]
        assert sorted(found) == sorted([n_tokens, max(counts), min(counts), *places])
    rows, columns = np.indices((n_tokens, n_tokens))
    furthest = [
        [int(max(0, (gap * reach).max())) for gap in (rows - columns, columns - rows)]
        for reach in (trace.reach[1], trace.reach[-1])
    ]
    if trace.reach[1].all():
        assert len(heard) == 1
    elif depth == 2:
        assert numbers(heard[1]) == [1, *furthest[0]]
    else:
        assert numbers(heard[1]) == [1, *furthest[0], depth - 1, *furthest[1]]


@every_language
def test_every_sentence_changes_with_what_it_tells(language):
    causal = replace(windowed(), mask=Mask(("causal", "window"), before=1))

    one = told(windowed(), [True, False, True], language)
    two = told(causal, [True, False, True, True], language)

    assert len(one) == len(two) == 5
    assert all(a != b for a, b in zip(one, two, strict=True))

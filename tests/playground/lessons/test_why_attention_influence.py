"""The step on influence: its curves, table and sentences are what was measured."""

import re

import numpy as np
import pytest

from attention_core.neural.influence import Curve, Influence, influence
from playground.jobs import View
from playground.lessons import why_influence
from playground.lessons.why_influence import Settings
from playground.texts import LANGUAGES, Texts

EN = Texts("en")
SETTINGS = Settings(8, 8, 30)
NAMES = {"rnn": "RNN", "gru": "GRU", "lstm": "LSTM"}

every_language = pytest.mark.parametrize("language", LANGUAGES)


@pytest.fixture(scope="module")
def found():
    return influence(*SETTINGS)


def of_means(**means):
    """An influence with these means over the tokens."""
    curves = {
        model: Curve(np.array(mean), np.array(mean) / 2, 2 * np.array(mean), mean.count(0))
        for model, mean in means.items()
    }
    return Influence(len(means["rnn"]), 8, 30, curves)


# In attention, 4 and 2 before the last one, which has 8 times their mean, √8.
BY_HAND = of_means(
    rnn=[0.25, 0.5, 1.0],
    gru=[2.0, 2.0, 2.0],
    lstm=[9.0, 1.0, 1.0],
    attention=[4.0, 2.0, 8 * 8**0.5],
)
LOST = of_means(
    rnn=[0.0, 1e-300, 1.0], gru=[0.1, 0.5, 1.0], lstm=[0.1, 0.5, 1.0], attention=[0.2, 0.2, 0.4]
)


def view(status="done", **more):
    return View("why_attention.influence", status, **more)


def numbers(text):
    plain = text.replace("−", "-").replace(",", "")
    return [float(number) for number in re.findall(r"-?\d+(?:\.\d+)?(?:e-?\d+)?", plain)]


# --- before anything is measured


@every_language
def test_what_is_known_counts_the_steps(language):
    t = Texts(language)

    press, known = why_influence.known(t, Settings(64, 8, 30))

    assert t("why_attention.influence.measure") in press
    assert numbers(known) == [64, 63]


def test_a_result_is_kept_by_its_settings_alone():
    keys = {
        why_influence.key(Settings(*of)) for of in [(8, 8, 30), (16, 8, 30), (8, 16, 30), (8, 8, 9)]
    }

    assert len(keys) == 4
    assert why_influence.key(Settings(8, 8, 30)) in keys


def test_the_work_measures_what_is_set():
    told = []

    found = why_influence.work(SETTINGS)(lambda done, shown=None: told.append((done, shown)))

    assert (found.length, found.width, found.n_seeds) == SETTINGS
    assert len(told) == 30
    assert told[9][1].n_seeds == 10


def test_what_a_job_found_goes_before_what_it_told():
    assert why_influence.measured(None) is None
    assert why_influence.measured(view("waiting")) is None
    assert why_influence.measured(view("stopped", shown=BY_HAND)) is BY_HAND
    assert why_influence.measured(view(shown=LOST, result=BY_HAND)) is BY_HAND


def test_every_choice_can_be_measured():
    choices = {id: options for id, _, options, _, _ in why_influence.inputs(EN)}

    for id, options in choices.items():
        for number, name in options.items():
            found = influence(**{"length": 2, "width": 1, "n_seeds": 1} | {id: number})

            assert getattr(found, id) == number == int(name)
    assert {id: start in choices[id] for id, _, _, start, _ in why_influence.inputs(EN)} == {
        "length": True,
        "width": True,
        "n_seeds": True,
    }


# --- the figure and the table


def test_each_model_has_its_mean_and_quartiles_over_the_distance_to_the_end(found):
    figure = why_influence.curves(EN, found, "light")

    lines = iter(figure["data"])
    for model in ("rnn", "gru", "lstm", "attention"):
        curve = found.curves[model]
        for expected, dash in ((curve.mean, None), (curve.lower, "dash"), (curve.upper, "dash")):
            line = next(lines)
            assert line["name"] == why_influence.names(EN)[model]
            assert line["x"] == [7, 6, 5, 4, 3, 2, 1, 0]
            assert line["y"] == expected.tolist()
            assert line["line"].get("dash") == dash
    assert next(lines, None) is None
    assert figure["layout"]["yaxis"]["type"] == "log"
    assert sum(line["showlegend"] for line in figure["data"]) == 4


def test_what_is_0_is_left_out_of_a_logarithmic_axis():
    figure = why_influence.curves(EN, LOST, "light")

    assert figure["data"][0]["y"] == [None, 1e-300, 1]


@every_language
def test_the_table_lists_both_ends_their_ratio_and_what_each_step_leaves(language):
    t = Texts(language)

    table = why_influence.table(t, BY_HAND)

    attention = t("why_attention.influence.attention")
    assert list(table.values()) == [
        ["RNN", "GRU", "LSTM", attention],
        ["1", "2", "1", "22.6"],
        ["0.25", "2", "9", "4"],
        ["0.25", "1", "9", "0.177"],
        ["×\u00a00.5", "×\u00a01", "×\u00a03", "—"],
    ]


def test_the_table_says_where_float64_ends():
    table = why_influence.table(EN, LOST)

    first, ratio, step = list(table.values())[2:]
    assert first[0] == ratio[0] == step[0] == EN("why_attention.influence.zero")


# --- the sentences


@every_language
def test_the_shares_that_are_left_are_told_from_the_largest(language):
    t = Texts(language)

    left, *_ = why_influence.influence_found(t, BY_HAND, Settings(3, 8, 30), view())

    assert numbers(left) == [3, 8, 30, 9, 1, 0.25, 0.177]
    attention = t("why_attention.influence.attention")
    places = [left.index(name) for name in ("LSTM", "GRU", "RNN", attention)]
    assert places == sorted(places)


@every_language
def test_how_level_each_is_and_what_asking_adds_are_told(language):
    _, level, asks = why_influence.influence_found(
        Texts(language), BY_HAND, Settings(3, 8, 30), view()
    )

    # Before the last: attention 4 and 2, RNN 0.25 and 0.5, GRU 2 and 2, LSTM 9 and 1.
    assert numbers(level) == [2, 2, 2, 1, 9]
    assert numbers(asks) == [8]


@every_language
def test_the_sentences_are_what_is_measured(language, found):
    left, level, asks = why_influence.influence_found(Texts(language), found, SETTINGS, view())

    means = {model: curve.mean for model, curve in found.curves.items()}
    ratios = sorted((mean[0] / mean[-1] for mean in means.values()), reverse=True)
    assert numbers(left) == [8, 8, 30, *(pytest.approx(ratio, rel=1e-2) for ratio in ratios)]
    spreads = {model: mean[:-1].max() / mean[:-1].min() for model, mean in means.items()}
    order = [spreads[model] for model in ("attention", "rnn", "gru", "lstm")]
    assert numbers(level) == [7, *(pytest.approx(spread, rel=1e-2) for spread in order)]
    attention = means["attention"]
    times = attention[-1] / np.prod(attention[:-1]) ** (1 / 7)
    assert numbers(asks) == [pytest.approx(times, rel=1e-2)]


@every_language
def test_numbers_that_float64_cannot_hold_are_told(language):
    t = Texts(language)

    left, level, _, lost = why_influence.influence_found(t, LOST, Settings(3, 8, 30), view())

    assert t("why_attention.influence.zero") in left
    assert "∞" in level
    assert lost == t("why_attention.influence.lost", count=1)


@pytest.mark.parametrize(
    ("settings", "status", "is_other"),
    [
        (Settings(3, 8, 30), "done", False),
        (Settings(16, 8, 30), "done", True),
        (Settings(3, 16, 30), "done", True),
        (Settings(3, 8, 100), "done", True),
        (Settings(3, 8, 100), "stopped", False),  # it has told of 30 of them
        (Settings(3, 8, 100), "running", False),
        (Settings(16, 8, 100), "running", True),
    ],
)
def test_it_is_told_when_the_settings_have_moved_on(settings, status, is_other):
    said = why_influence.influence_found(EN, BY_HAND, settings, view(status))

    assert (EN("why_attention.influence.other") in said) == is_other


def test_with_the_settings_at_the_start_relays_forget_and_attention_is_level():
    # What the step asks to be found out; fewer seeds than there, so that it takes no time.
    found = influence(32, 16, 30)

    for model in NAMES:
        mean = found.curves[model].mean
        assert mean[0] < 1e-5 * mean[-1]
        assert (mean[:-4] < mean[4:]).all()
    before = found.curves["attention"].mean[:-1]
    assert before.max() < 4 * before.min()

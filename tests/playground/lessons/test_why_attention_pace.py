"""What the step on the price of waiting shows and says, of times that are made up here."""

import json
import re

import plotly.graph_objects as go
import pytest

from attention_core.pace import MOST_RUNS, WAYS, Pace, Timing, multiply_adds
from playground.jobs import StoppedError
from playground.lessons import why_pace
from playground.texts import LANGUAGES, Texts

T = Texts("en")
COUNTS = (16, 64, 1024)

every_language = pytest.mark.parametrize("language", LANGUAGES)


def pace(seconds, *, d_model=64, precision="float64", gap=2e-15):
    """Timings that take `seconds(way, n)` each."""
    timings = [
        Timing(way, n, seconds(way, n), multiply_adds(way, n, d_model))
        for n in COUNTS
        for way in WAYS
    ]
    return Pace(d_model, precision, tuple(timings), tuple((n, gap) for n in COUNTS))


def short_wins(way, n):
    """Attention is quicker up to 64 tokens."""
    return {"steps": n * 1e-5, "product": n * 2e-6, "attention": n * n * 1e-7}[way]


def test_the_sentences_are_those_of_the_longest_sequence():
    took, waiting, attended, verdict = why_pace.found(T, pace(short_wins), 64)

    steps, product, attention = (short_wins(way, 1024) for way in WAYS)
    assert took == (
        f"For 1,024 tokens: {1000 * steps:.3g}\u00a0ms step by step, "
        f"{1000 * product:.3g}\u00a0ms in one product, 105\u00a0ms for attention."
    )
    assert f"took {steps / product:.3g} times as long as the one product" in waiting
    assert "differ from theirs by at most 2.00\u00a0×\u00a010⁻¹⁵" in waiting
    ratio = (3 * 1024 * 64**2 + 2 * 1024**2 * 64) / (2 * 1024 * 64**2)
    assert attended == (
        f"Attention has {ratio:.3g} times the multiply-adds and took {attention / steps:.3g} "
        "times as long."
    )
    assert verdict.endswith("for these numbers of tokens alone: 16, 64.")


@pytest.mark.parametrize(
    ("factor", "key"),
    [(0.5, "why_attention.pace.always"), (1.0, "why_attention.pace.never"), (3.0, None)],
)
def test_that_attention_is_quicker_is_said_only_where_it_was(factor, key):
    def seconds(way, n):
        return factor * 1e-3 if way == "attention" else 1e-3

    verdict = why_pace.found(T, pace(seconds), 64)[-1]

    assert verdict == T(key or "why_attention.pace.never")


def test_a_longer_time_of_the_product_is_told_as_it_is():
    def seconds(way, n):
        return 4e-3 if way == "product" else 1e-3

    waiting = why_pace.found(T, pace(seconds), 64)[1]

    assert "took 0.25 times as long as the one product" in waiting


@every_language
def test_before_it_is_measured_the_counts_are_told_and_drawn(language):
    t = Texts(language)

    on_paper, not_yet = why_pace.found(t, None, 64)
    drawn = why_pace.figure(t, None, 64, "light")

    assert not_yet == t("why_attention.pace.not_yet")
    assert "8.39\u00a0×\u00a010⁶" in on_paper
    assert "1.47\u00a0×\u00a010⁸" in on_paper
    assert re.search(r"\b17\.5\b", on_paper)
    assert drawn["layout"]["yaxis"]["title"]["text"] == t("why_attention.pace.axis_counts")
    for way, line in zip(WAYS, drawn["data"], strict=True):
        assert line["y"] == [multiply_adds(way, n, 64) for n in line["x"]]
    assert why_pace.alt(t, None) != why_pace.alt(t, pace(short_wins))


@every_language
def test_the_times_are_drawn_in_milliseconds_as_lines_and_points(language):
    t = Texts(language)

    drawn = why_pace.figure(t, pace(short_wins), 64, "dark")

    json.dumps(drawn, allow_nan=False)
    go.Figure(drawn)  # refuses what Plotly does not know
    assert drawn["layout"]["yaxis"]["title"]["text"] == t("why_attention.pace.axis")
    assert [drawn["layout"][axis]["type"] for axis in ("xaxis", "yaxis")] == ["log", "log"]
    names = why_pace.way_names(t)
    for way in WAYS:
        shown = [trace for trace in drawn["data"] if trace["name"] == names[way]]
        assert [trace["mode"] for trace in shown] == ["lines", "markers"]
        for trace in shown:
            assert trace["x"] == list(COUNTS)
            assert trace["y"] == pytest.approx([1000 * short_wins(way, n) for n in COUNTS])


def test_a_result_counts_only_for_its_own_settings():
    measured = pace(short_wins, d_model=16, precision="float32")

    assert why_pace.fitting(measured, 16, "float32") is measured
    assert why_pace.fitting(measured, 64, "float32") is None
    assert why_pace.fitting(measured, 16, "float64") is None
    assert why_pace.fitting(None, 16, "float32") is None


def test_how_often_it_is_run_is_told():
    assert f"up to {MOST_RUNS} runs" in why_pace.assumed(T)


def test_the_work_measures_all_three_and_tells_how_far_it_is():
    told = []

    measured = why_pace.work(16, "float32")(lambda done, shown=None: told.append(done))

    assert why_pace.fitting(measured, 16, "float32") is measured
    assert [each.n_tokens for each in measured.of("steps")] == list(why_pace.N_TOKENS)
    assert told == sorted(told)
    assert len(told) > 100
    assert measured.gaps[-1][1] < 1e-5


def test_the_work_ends_where_it_is_not_wanted_any_more():
    def tell(done, shown=None):
        if done > 0.01:
            raise StoppedError

    with pytest.raises(StoppedError):
        why_pace.work(16, "float64")(tell)

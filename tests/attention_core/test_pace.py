"""Steps, one product and attention: the numbers of others, and times of a clock that is set."""

import re
import time

import numpy as np
import pytest
import torch

from attention_core import dense_attention
from attention_core import pace as module
from attention_core.errors import ChoiceError, RangeError
from attention_core.pace import (
    ENOUGH,
    MOST_RUNS,
    PRECISIONS,
    WAYS,
    at_once,
    attention,
    measure_pace,
    multiply_adds,
    recurrent,
)


class Clock:
    """Stands still but while a way runs, which then takes as long as it is told."""

    def __init__(self, monkeypatch, seconds):
        self.now, self.calls = 0.0, []
        for way, name in zip(WAYS, ("recurrent", "at_once", "attention"), strict=True):
            real = getattr(module, name)
            monkeypatch.setattr(module, name, self.taking(way, real, seconds))

    def taking(self, way, real, seconds):
        def run(*given):
            self.calls.append((way, len(given[0])))
            self.now += seconds(way, len(given[0]), len(self.calls))
            return real(*given)

        return run

    def __call__(self):
        return self.now


def measured(counts=(2, 4), **more):
    settings = {"d_model": 3, "precision": "float64", "rng": np.random.default_rng(0)}
    return measure_pace(counts, **settings | more)


def drawn(rows, columns, dtype="float64", seed=0):
    return np.random.default_rng(seed).normal(size=(rows, columns)).astype(dtype)


# --- the three ways


def test_two_steps_by_hand():
    X = np.array([[0.5], [-1.0]])
    W, U = np.array([[2.0]]), np.array([[3.0]])

    states = recurrent(X, W, U)

    first = np.tanh(1.0)
    np.testing.assert_allclose(states, [[first], [np.tanh(-2.0 + 3.0 * first)]], rtol=1e-15)


def test_the_steps_are_those_of_pytorch():
    X, W, U = drawn(6, 4), drawn(4, 4, seed=1), drawn(4, 4, seed=2)
    cell = torch.nn.RNN(4, 4, bias=False, dtype=torch.float64)
    with torch.no_grad():
        cell.weight_ih_l0.copy_(torch.tensor(W.T))
        cell.weight_hh_l0.copy_(torch.tensor(U.T))
        expected = cell(torch.tensor(X))[0].numpy()

    np.testing.assert_allclose(recurrent(X, W, U), expected, rtol=1e-12)


@pytest.mark.parametrize("dtype", PRECISIONS)
def test_one_product_gives_the_states_that_it_was_given(dtype):
    X, W, U = drawn(5, 3, dtype), drawn(3, 3, dtype, 1), drawn(3, 3, dtype, 2)
    states = recurrent(X, W, U)
    before = np.vstack([np.zeros((1, 3), dtype), states[:-1]])

    again = at_once(np.hstack([X, before]), np.vstack([W, U]))

    assert states.dtype == again.dtype == dtype
    np.testing.assert_allclose(again, states, rtol=1e-5 if dtype == "float32" else 1e-13)


@pytest.mark.parametrize("dtype", PRECISIONS)
def test_attention_is_the_apps_own_in_its_precision(dtype):
    X, *weights = (drawn(n, 4, dtype, n) for n in (7, 4, 4, 4))
    kept = [each.copy() for each in (X, *weights)]

    output = attention(X, *weights)

    assert output.dtype == dtype
    expected = dense_attention(*(X.astype(float) @ W.astype(float) for W in weights))
    np.testing.assert_allclose(output, expected, rtol=2e-4 if dtype == "float32" else 1e-12)
    for each, before in zip((X, *weights), kept, strict=True):
        np.testing.assert_array_equal(each, before)


def test_scores_of_thousands_need_the_shift_before_exp():
    X = np.array([[100.0, 0.0], [0.0, 100.0]])

    output = attention(X, np.eye(2), np.eye(2), np.eye(2))

    np.testing.assert_allclose(output, X)


# --- counts


def test_the_product_takes_as_many_multiply_adds_as_the_steps_and_its_shapes_say_so():
    n, d = 5, 3
    inputs, weights = drawn(n, 2 * d), drawn(2 * d, d)

    assert multiply_adds("product", n, d) == inputs.size * weights.shape[1]
    assert multiply_adds("steps", n, d) == multiply_adds("product", n, d) == 90
    assert multiply_adds("attention", n, d) == 3 * n * d * d + 2 * n * n * d


def test_a_way_that_is_not_there_is_named():
    message = r"^way must be one of steps, product, attention, got 'cnn'$"

    with pytest.raises(ChoiceError, match=message):
        multiply_adds("cnn", 2, 2)


# --- times


def test_every_way_is_run_with_every_number_of_tokens():
    pace = measured()

    assert [(each.n_tokens, each.way) for each in pace.timings] == [
        (n, way) for n in (2, 4) for way in WAYS
    ]
    assert [each.n_tokens for each in pace.of("product")] == [2, 4]
    assert all(each.seconds > 0 for each in pace.timings)
    assert [each.multiply_adds for each in pace.of("attention")] == [
        multiply_adds("attention", n, 3) for n in (2, 4)
    ]


def test_the_quickest_of_all_runs_counts(monkeypatch):
    clock = Clock(monkeypatch, lambda way, n, call: 0.001 * n + 0.0001 * (call % 7))

    pace = measured(clock=clock)

    n_calls = {way: sum(each == (way, 4) for each in clock.calls) for way in WAYS}
    assert min(n_calls.values()) >= MOST_RUNS
    for timing in pace.timings:
        assert timing.seconds == pytest.approx(0.001 * timing.n_tokens, rel=1e-9)


def test_what_has_run_for_long_enough_is_left_alone_and_the_others_go_on(monkeypatch):
    clock = Clock(monkeypatch, lambda way, n, call: 0.6 * ENOUGH if way == "steps" else 0.0)

    measured((4,), clock=clock)

    timed = clock.calls[2:]  # the first two make the states, and see what the product gives
    assert timed.count(("steps", 4)) == 2
    assert timed.count(("product", 4)) == timed.count(("attention", 4)) == MOST_RUNS


def test_the_ways_take_turns(monkeypatch):
    clock = Clock(monkeypatch, lambda way, n, call: 0.0)

    measured((4,), clock=clock)

    assert [way for way, _ in clock.calls[2:]] == list(WAYS) * MOST_RUNS


def test_what_is_too_quick_for_the_clock_takes_its_smallest_time():
    pace = measured(clock=lambda: 0.0)

    assert {each.seconds for each in pace.timings} == {
        time.get_clock_info("perf_counter").resolution
    }


def test_the_gap_is_that_of_the_two_results(monkeypatch):
    monkeypatch.setattr(module, "at_once", lambda *given: at_once(*given) + 0.25)

    shifted = measured()

    assert [n for n, _ in shifted.gaps] == [2, 4]
    assert [gap for _, gap in shifted.gaps] == pytest.approx([0.25, 0.25])
    monkeypatch.undo()
    assert all(gap < 1e-14 for _, gap in measured().gaps)
    assert all(gap < 1e-5 for _, gap in measured(precision="float32").gaps)


@pytest.mark.parametrize("precision", PRECISIONS)
def test_all_is_computed_in_the_precision(monkeypatch, precision):
    types = set()
    for name in ("recurrent", "at_once", "attention"):
        real = getattr(module, name)

        def noting(*given, real=real):
            result = real(*given)
            types.update({str(each.dtype) for each in (*given, result)})
            return result

        monkeypatch.setattr(module, name, noting)

    measured(precision=precision)

    assert types == {precision}


def test_progress_rises_from_nothing_and_is_told_before_each_run():
    told = []

    measured((2, 6), tell=told.append)

    assert told[0] == 0
    assert told == sorted(told)
    assert len(told) == 2 * len(WAYS) * MOST_RUNS
    assert told[len(told) // 2] == pytest.approx(2 / 8)
    assert told[-1] < 1


def test_who_is_told_may_end_it():
    def stop(done):
        if done > 0.5:
            raise InterruptedError

    with pytest.raises(InterruptedError):
        measured(tell=stop)


def test_a_precision_that_is_not_there_is_named():
    message = r"^precision must be one of float64, float32, got 'float16'$"

    with pytest.raises(ChoiceError, match=message):
        measured(precision="float16")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"d_model": 0}, "d_model must lie between 1 and inf, got 0"),
        ({"counts": (2, 0)}, "n_tokens must lie between 1 and inf, got 0"),
    ],
)
def test_a_count_below_one_is_refused(settings, message):
    with pytest.raises(RangeError, match=f"^{re.escape(message)}$"):
        measured(**settings)

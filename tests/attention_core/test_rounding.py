"""How far rounding can move the numbers of an experiment."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings

from attention_core import Experiment, Mask
from attention_core.rounding import FLOATS, bounds, sizes
from tests.playground.experiments import SETTINGS, experiments

NAMES = ("Q", "K", "V", "weights", "head_outputs", "output")


def in_float32(e):
    """The steps of the trace once more, every number of them in float32, in NumPy."""
    trace = e.trace()
    inputs = e.X.astype(np.float32)
    if trace.positions is not None:
        inputs = inputs + trace.positions.astype(np.float32)
    Q, K, V = (inputs @ getattr(e, name).astype(np.float32) for name in ("W_Q", "W_K", "W_V"))
    scale = np.float32(1 / np.sqrt(e.d_k) if e.is_scaled else 1)
    scores = Q @ K.swapaxes(-1, -2) * scale
    if trace.bias is not None:
        scores = scores + trace.bias.astype(np.float32)
    allowed = trace.attention.heads.allowed
    is_empty = ~allowed.any(axis=-1, keepdims=True)
    scores = np.where(allowed, scores, np.float32(-np.inf))
    largest = np.where(is_empty, np.float32(0), scores.max(axis=-1, keepdims=True))
    exponentials = np.exp(scores - largest)
    weights = exponentials / np.where(is_empty, np.float32(1), exponentials.sum(-1, keepdims=True))
    heads = weights @ V
    side_by_side = heads.swapaxes(0, 1).reshape(e.n_tokens, -1)
    output = side_by_side if e.W_O is None else side_by_side @ e.W_O.astype(np.float32)
    assert output.dtype == np.float32
    return dict(zip(NAMES, (Q, K, V, weights, heads, output), strict=True))


def of_trace(trace):
    heads = trace.attention.heads
    return dict(
        zip(NAMES, (heads.Q, heads.K, heads.V, heads.weights, heads.output), strict=False)
    ) | {"output": trace.attention.output}


def assert_within(e):
    trace = e.trace()
    exact, most = of_trace(trace), bounds(e, trace, "float32")
    for name, values in in_float32(e).items():
        gap = np.abs(values.astype(np.float64) - exact[name])
        assert (gap <= getattr(most, name)).all(), name


def test_a_single_product_by_hand():
    # 1 token of 1 column: Q is X W_Q, and 1 + 5 roundings of u = 2^-24 or 2^-53 are counted.
    e = Experiment(("a",), np.array([[3.0]]), *(np.full((1, 1, 1), 2.0),) * 3)

    most = bounds(e, e.trace(), "float32")

    u, v = 2.0**-24, 2.0**-53
    expected = 6 * (6 * u / (1 - 6 * u) + 6 * v / (1 - 6 * v))
    np.testing.assert_allclose(most.Q, [[[expected]]], rtol=1e-12)
    assert most.weights[0, 0, 0] < 1e-6  # one key: however far the score moves, its weight is 1


@pytest.mark.parametrize("encoding", [name for name in SETTINGS if name != "rotary"])
def test_the_same_steps_in_float32_stay_within_under_every_setting(encoding):
    for e in SETTINGS[encoding]:
        assert_within(e)


@settings(max_examples=150)
@given(experiments())
def test_the_same_steps_in_float32_stay_within_on_any_experiment(e):
    with np.errstate(under="ignore"):
        assert_within(replace(e, encoding="none"))


def test_the_bounds_hold_for_exact_fractions():
    # The trace itself is rounded: beside exact arithmetic, up to the exponential.
    e = Experiment.from_preset("random", seed=3).resized(n_tokens=3, d_model=4, d_k=2, n_heads=1)

    most = bounds(e, e.trace(), "float64")

    Q = e.trace().attention.heads.Q[0]
    for i in range(3):
        for j in range(2):
            terms = (Fraction(e.X[i, k]) * Fraction(e.W_Q[0, k, j]) for k in range(4))
            assert abs(Fraction(Q[i, j]) - sum(terms)) <= most.Q[0, i, j] / 2


def test_the_bounds_are_tight_enough_to_notice_an_error():
    # A W_Q that is off by a millionth gives weights beyond what float64 explains, not float32.
    e = Experiment.from_preset("cat")
    other = replace(e, W_Q=e.W_Q * (1 + 1e-6))
    gap = np.abs(other.trace().attention.heads.weights - e.trace().attention.heads.weights)

    tight, loose = (bounds(e, e.trace(), precision).weights for precision in FLOATS)

    assert (gap > tight).any()
    assert (gap <= loose).all()
    assert loose.max() < 1e-3


def test_scores_that_are_too_large_for_the_precision_may_move_a_weight_all_the_way():
    # Two keys with one score of 1e10: in float32, such numbers lie 1024 apart.
    one = np.eye(2)[None]
    e = Experiment(("a", "b"), np.full((2, 2), 1e5), W_Q=one, W_K=one, W_V=one)

    most = bounds(e, e.trace(), "float32")

    np.testing.assert_allclose(e.trace().attention.heads.weights, 0.5)
    assert most.weights.min() > 0.49
    assert np.isfinite(most.output).all()


def test_what_is_masked_is_0_and_an_empty_row_gives_0():
    e = replace(Experiment.from_preset("cat"), mask=Mask(("padding",), n_padding=12))

    most = bounds(e, e.trace(), "float32")

    assert not most.weights.any()
    assert not most.head_outputs.any()


def test_without_any_number_only_the_smallest_ones_are_left():
    e = Experiment.from_preset("cat")
    e = replace(e, X=0 * e.X)

    most = bounds(e, e.trace(), "float32")

    assert most.Q.max() < 1e-40
    assert most.weights.max() < 1e-6


def test_positions_that_take_the_vectors_back_leave_the_rounding_of_both():
    # X + P is about 1e-9; in float32 it is off by 1e-8, as X is.
    e = replace(Experiment.from_preset("random"), encoding="sinusoidal")
    e = replace(e, X=1e-9 - e.trace().positions)

    assert_within(e)


@pytest.mark.parametrize(("of_X", "of_W"), [(1e-30, 1e-30), (1.0, 1e-42), (1e-42, 1.0)])
def test_numbers_that_vanish_in_float32_are_within_as_well(of_X, of_W):
    e = Experiment.from_preset("random").with_output_projection(True)
    weights = {name: of_W * getattr(e, name) for name in ("W_Q", "W_K", "W_V", "W_O")}
    e = replace(e, X=of_X * e.X, **weights)

    assert e.trace().attention.heads.Q.any()
    assert_within(e)


@pytest.mark.parametrize("encoding", ["none", "alibi", "sinusoidal", "rotary"])
def test_the_sizes_are_those_of_the_numbers_where_nothing_cancels_out(encoding):
    e = replace(Experiment.from_preset("random"), encoding=encoding).with_output_projection(True)
    e = replace(e, **{name: np.abs(getattr(e, name)) for name in ("X", "W_Q", "W_K", "W_V", "W_O")})
    attention = e.trace().attention

    of = sizes(e, e.trace())

    if encoding == "none":
        np.testing.assert_allclose(of.scores, attention.heads.biased_scores)
        np.testing.assert_allclose(of.output, attention.output)
    assert (of.scores >= np.abs(attention.heads.biased_scores) * (1 - 1e-12)).all()
    assert (of.output >= np.abs(attention.output) * (1 - 1e-12)).all()


def test_what_cancels_out_still_counts_in_the_sizes():
    def of_one(number):
        return np.full((1, 2, 1), number)

    X = np.array([[3.0, -3.0]])
    e = Experiment(("a",), X, of_one(1.0), of_one(2.0), of_one(5.0), is_scaled=False)
    assert not e.trace().attention.output.any()

    of = sizes(e, e.trace())

    assert (of.scores.item(), of.output.item()) == (6 * 12, 30)

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attention_core import Experiment, Mask
from attention_core.cache import (
    KeyValueCache,
    growth,
    n_multiply_adds,
    n_multiply_adds_cached,
    next_token,
)
from attention_core.errors import RangeError, ShapeError
from attention_core.presets import ENCODINGS

COUNTS = st.integers(0, 6)


def experiment(n_tokens=4, encoding="none", n_heads=1, is_scaled=True):
    start = Experiment.from_preset("random", seed=5)
    start = start.resized(n_tokens=n_tokens, d_k=3, n_heads=n_heads)
    return replace(start, encoding=encoding, is_scaled=is_scaled)


# the cache itself


def test_the_next_token_by_hand():
    # Query 1; the key in the cache is 0, its own ln 3; values 10 and 20: weights 1/4 and 3/4.
    cache = KeyValueCache(np.array([[0.0]]), np.array([[10.0]]))
    x, W_Q, W_K, W_V = [[1.0, np.log(3)]], [[1.0], [0]], [[0.0], [1]], [[20.0], [0]]

    trace, grown = next_token(np.array(x), cache, *map(np.array, (W_Q, W_K, W_V)))

    np.testing.assert_allclose(trace.weights, [[0.25, 0.75]])
    np.testing.assert_allclose(trace.output, [[17.5]])
    np.testing.assert_allclose(grown.K, [[0], [np.log(3)]])
    np.testing.assert_allclose(grown.V, [[10], [20]])


def test_a_cache_grows_by_one_token_and_keeps_the_old_one():
    empty = KeyValueCache.empty(2, 3)

    grown = empty.with_token(np.ones((1, 2)), np.zeros((1, 3)))

    assert (empty.n_tokens, grown.n_tokens) == (0, 1)
    assert (grown.K.shape, grown.V.shape) == ((1, 2), (1, 3))


@pytest.mark.parametrize(
    ("k", "v", "message"),
    [
        (np.ones((1, 3)), np.ones((1, 3)), r"k must have shape (1, 2), got (1, 3)"),
        (np.ones((2, 2)), np.ones((1, 3)), r"k must have shape (1, 2), got (2, 2)"),
        (np.ones((1, 2)), np.ones((1, 2)), r"v must have shape (1, 3), got (1, 2)"),
    ],
)
def test_a_key_or_value_of_another_shape_is_refused(k, v, message):
    with pytest.raises(ShapeError) as caught:
        KeyValueCache.empty(2, 3).with_token(k, v)

    assert str(caught.value) == message


def test_more_than_one_token_at_once_is_refused():
    with pytest.raises(ShapeError) as caught:
        next_token(np.ones((2, 1)), KeyValueCache.empty(1, 1), *[np.ones((1, 1))] * 3)

    assert str(caught.value) == "x must have shape (1, 1), got (2, 1)"


# growth


@given(st.integers(1, 12), st.sampled_from(ENCODINGS), st.integers(1, 2), st.booleans(), st.data())
def test_a_row_from_the_cache_is_that_of_the_full_computation(n, encoding, n_heads, scaled, data):
    e = experiment(n, encoding, n_heads, scaled)
    head = data.draw(st.integers(0, n_heads - 1))

    g = growth(e, head, is_causal=True)

    np.testing.assert_allclose(g.new.output[0], g.after.output[-1], atol=1e-12)
    np.testing.assert_allclose(g.grown.K, g.after.K, atol=1e-12)
    np.testing.assert_allclose(g.grown.V, g.after.V, atol=1e-12)
    np.testing.assert_array_equal(g.grown.K[:-1], g.cache.K)
    np.testing.assert_array_equal(g.grown.V[:-1], g.cache.V)


@given(st.integers(1, 12), st.sampled_from(ENCODINGS))
def test_under_a_causal_mask_no_earlier_row_moves(n, encoding):
    g = growth(experiment(n, encoding), 0, is_causal=True)

    assert g.moved_by.shape == (len(g.tokens) - 1,)
    assert (g.moved_by <= g.rounding).all()


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_without_a_mask_every_earlier_row_moves(encoding):
    g = growth(experiment(4, encoding), 0, is_causal=False)

    assert (g.moved_by > g.rounding).all()
    expected = np.abs(g.after.output[:-1] - g.before.output).max(axis=-1)
    np.testing.assert_array_equal(g.moved_by, expected)


def test_the_new_token_is_the_one_that_the_experiment_would_add():
    e = experiment(4)

    g = growth(e, 0, is_causal=False)

    added = e.with_token_added()
    assert g.tokens == added.tokens
    np.testing.assert_array_equal(g.after.output, added.trace().attention.head(0).output)
    np.testing.assert_array_equal(g.before.output, e.trace().attention.head(0).output)


def test_of_12_tokens_the_last_one_plays_the_new_one():
    e = experiment(12)

    g = growth(e, 0, is_causal=True)

    assert g.tokens == e.tokens
    assert g.before.output.shape == (11, 3)


def test_the_mask_of_the_experiment_plays_no_part():
    masked = replace(experiment(), mask=Mask(("padding", "painted"), painted=((0, 0, False),)))

    expected = growth(experiment(), 0, is_causal=True).after.output
    np.testing.assert_array_equal(growth(masked, 0, is_causal=True).after.output, expected)


def test_all_numbers_of_the_earlier_keys_and_values_are_reused():
    assert growth(experiment(4), 0, is_causal=True).n_reused == 4 * (3 + 3)


# counts


def counted(n_queries, n_keys, n_projected, d_model, d_k, d_v):
    """Every multiplication that is added to something, one by one."""
    count = 0

    def product(rows, inner, columns):
        nonlocal count
        for _ in range(rows):
            for _ in range(columns):
                for _ in range(inner):
                    count += 1

    product(n_queries, d_model, d_k)  # Q
    product(n_projected, d_model, d_k)  # K
    product(n_projected, d_model, d_v)  # V
    product(n_queries, d_k, n_keys)  # Q Kᵀ
    product(n_queries, n_keys, d_v)  # weights V
    return count


def test_the_counts_by_hand():
    # 2 tokens of width 3, d_k 1, d_v 2: Q 6, K 6, V 12, scores 4, mix 8; the last row alone
    # 3 + 3 + 6 + 2 + 4.
    assert n_multiply_adds(2, 3, 1, 2) == 36
    assert n_multiply_adds_cached(2, 3, 1, 2) == 18


@given(COUNTS, COUNTS, COUNTS, COUNTS)
def test_the_counts_are_those_of_counting(n, d_model, d_k, d_v):
    assert n_multiply_adds(n, d_model, d_k, d_v) == counted(n, n, n, d_model, d_k, d_v)
    assert n_multiply_adds_cached(n, d_model, d_k, d_v) == counted(1, n, 1, d_model, d_k, d_v)


@pytest.mark.parametrize("count", [n_multiply_adds, n_multiply_adds_cached])
def test_a_negative_count_is_refused(count):
    with pytest.raises(RangeError) as caught:
        count(1, 2, -1, 3)

    assert str(caught.value) == "d_k must lie between 0 and inf, got -1"

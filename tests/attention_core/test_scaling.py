from fractions import Fraction

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from attention_core.errors import RangeError, ShapeError
from attention_core.scaling import (
    DEAD,
    jacobian_norm,
    multiplied,
    query_gradient_norm,
    sample,
    top_tenth,
)
from attention_core.softmax import entropy, softmax, softmax_jacobian

ROWS = arrays(
    np.float64,
    st.tuples(st.integers(1, 3), st.integers(1, 6)),
    elements=st.floats(-30, 30),
)


# jacobian_norm


def test_the_norm_by_hand():
    # The Jacobian of (1/4, 3/4) is 3/16 · [[1, -1], [-1, 1]], whose norm is 2 · 3/16.
    np.testing.assert_allclose(jacobian_norm([1 / 4, 3 / 4]), 3 / 8, rtol=1e-15)


@given(ROWS)
def test_the_norm_is_that_of_the_matrix_that_is_not_built(scores):
    weights = softmax(scores)

    expected = np.linalg.norm(softmax_jacobian(weights), axis=(-2, -1))

    np.testing.assert_allclose(jacobian_norm(weights), expected, rtol=1e-7, atol=1e-15)


@given(st.lists(st.integers(0, 50), min_size=2, max_size=6).filter(any))
def test_the_norm_of_fractions_is_exact(counts):
    w = [Fraction(count, sum(counts)) for count in counts]
    square = sum((w[j] * ((j == k) - w[k])) ** 2 for j in range(len(w)) for k in range(len(w)))

    norm = jacobian_norm([float(weight) for weight in w])

    np.testing.assert_allclose(norm**2, float(square), rtol=1e-13, atol=0)


@pytest.mark.parametrize("small", [1e-9, 1e-12, 1e-17, 1e-170, 1e-300])
def test_a_nearly_one_hot_row_keeps_its_norm_where_the_plain_form_loses_it(small):
    # With two keys ‖J‖ = 2 w (1 - w), here 2 · small up to a share of `small`.
    weights = np.array([1 - small, small])
    w2, w3 = (weights**2).sum(), (weights**3).sum()

    plain = w2 - 2 * w3 + w2**2

    assert not np.isclose(np.sqrt(max(plain, 0)), 2 * small, rtol=0.01, atol=0)
    np.testing.assert_allclose(jacobian_norm(weights), 2 * small, rtol=1e-8)


@pytest.mark.parametrize("weights", [[1.0], [0.0, 1.0, 0.0], [0.0, 0.0]])
def test_what_cannot_move_has_norm_0(weights):
    assert jacobian_norm(weights) == 0


@pytest.mark.parametrize("n", [2, 3, 16])
def test_the_norm_of_a_uniform_row(n):
    np.testing.assert_allclose(jacobian_norm(np.full(n, 1 / n)), np.sqrt(n - 1) / n, rtol=1e-14)


def test_every_row_has_its_norm():
    assert jacobian_norm(np.full((4, 2, 3), 1 / 3)).shape == (4, 2)


# multiplied


def test_scores_times_a_factor_by_hand():
    scores = np.array([[1.0, -2.0], [-np.inf, 0.5]])

    times = multiplied(scores, 3.0)

    np.testing.assert_array_equal(times, [[3.0, -6.0], [-np.inf, 1.5]])
    np.testing.assert_array_equal(scores, [[1.0, -2.0], [-np.inf, 0.5]])


def test_factor_0_leaves_a_forbidden_score_forbidden():
    # -inf · 0 would be NaN
    times = multiplied([[-np.inf, 4.0, -7.0]], 0.0)

    np.testing.assert_array_equal(softmax(times), [[0.0, 0.5, 0.5]])


@given(ROWS, st.floats(0.01, 100))
def test_a_factor_is_one_over_the_temperature(scores, factor):
    expected = torch.softmax(torch.from_numpy(scores) / (1 / factor), dim=-1).numpy()

    np.testing.assert_allclose(
        softmax(multiplied(scores, factor)), expected, rtol=1e-9, atol=1e-300
    )


@pytest.mark.parametrize("factor", [-1.0, np.inf, np.nan])
def test_a_factor_is_finite_and_not_negative(factor):
    with pytest.raises(RangeError, match=r"factor must lie between 0 and inf, got"):
        multiplied([1.0], factor)


# query_gradient_norm


def test_the_gradient_agrees_with_autograd():
    rng = np.random.default_rng(0)
    Q, K = rng.standard_normal((2, 5, 3)), rng.standard_normal((2, 4, 3))
    weights = softmax(Q @ np.swapaxes(K, -1, -2) * 0.7)

    def row(batch):
        keys = torch.from_numpy(K[batch])
        return lambda q: torch.softmax(0.7 * keys @ q, dim=-1)

    expected = [
        [
            torch.autograd.functional.jacobian(row(batch), torch.from_numpy(q)).norm().item()
            for q in Q[batch]
        ]
        for batch in range(2)
    ]

    norms = query_gradient_norm(weights, K, scale=0.7)

    np.testing.assert_allclose(norms, expected, rtol=1e-12)


def test_the_gradient_by_hand():
    # Keys 0 and 2 with equal weights: w'(q) = ±scale · w₁ w₂ · (2 - 0), here ±3/2.
    norm = query_gradient_norm([[1 / 2, 1 / 2]], [[0.0], [2.0]], scale=3.0)

    np.testing.assert_allclose(norm, [3 / 2 * np.sqrt(2)], rtol=1e-15)


def test_equal_keys_give_no_gradient():
    norm = query_gradient_norm([[0.3, 0.7]], [[0.1, 0.7], [0.1, 0.7]], scale=1.0)

    np.testing.assert_allclose(norm, [0.0], atol=1e-8)


def test_keys_have_the_shape_of_the_weights():
    with pytest.raises(ShapeError, match=r"K must have shape \(2, d_k\), got \(3, 4\)"):
        query_gradient_norm(np.ones((1, 2)), np.ones((3, 4)), scale=1.0)
    with pytest.raises(ShapeError, match=r"K must have shape \(5, 2, 4\), got \(6, 2, 4\)"):
        query_gradient_norm(np.ones((5, 1, 2)), np.ones((6, 2, 4)), scale=1.0)


# top_tenth


@pytest.mark.parametrize(
    ("values", "share"),
    [
        ([1] * 10, 0.1),
        ([0, 0, 3, 0, 0, 0, 0, 0, 0, 1], 0.75),
        ([1] * 9 + [2, 3], 5 / 14),  # eleven: two of them
        ([5], 1),
        ([0, 0], 0),
    ],
)
def test_the_largest_tenth_by_hand(values, share):
    assert top_tenth(values) == pytest.approx(share, abs=1e-15)


# sample


def drawn_by_hand(d_k, n_sequences, scale, seed=0):
    """The same queries and keys, measured row by row with the matrices that `sample` avoids."""
    rng = np.random.default_rng(seed)
    Q, K = (rng.standard_normal((n_sequences, 16, d_k)) for _ in "QK")
    scores = np.einsum("bqd,bkd->bqk", Q, K) * scale
    weights = softmax(scores)
    jacobians = softmax_jacobian(weights)
    norms = np.linalg.norm(jacobians, axis=(-2, -1))
    gradients = np.linalg.norm(scale * jacobians @ K[:, None], axis=(-2, -1))
    return scores, weights, norms, gradients


@pytest.mark.parametrize("d_k", [1, 7, 64])
def test_a_sample_measures_its_rows(d_k):
    found = sample(np.random.default_rng(0), d_k, 5)

    for of, scale in ((found.unscaled, 1.0), (found.scaled, 1 / np.sqrt(d_k))):
        scores, weights, norms, gradients = drawn_by_hand(d_k, 5, scale)
        expected = {
            "variance": np.mean(scores**2) - np.mean(scores) ** 2,
            "mean_largest": np.mean(np.max(weights, axis=-1)),
            "mean_entropy": np.mean(entropy(weights)),
            "mean_jacobian": np.mean(norms),
            "median_jacobian": np.median(norms),
            "dead_share": np.count_nonzero(norms < DEAD) / 80,
            "mean_gradient": np.mean(gradients),
            "top_share": np.sort(gradients.ravel())[-8:].sum() / gradients.sum(),
        }
        for name, value in expected.items():
            np.testing.assert_allclose(getattr(of, name), value, rtol=1e-9, err_msg=name)
    assert (found.d_k, found.n_rows, found.n_keys) == (d_k, 80, 16)


def test_both_histograms_count_the_scores_in_the_same_bins():
    found = sample(np.random.default_rng(3), 9, 20)

    width = found.bins[1] - found.bins[0]
    for of, scale in ((found.unscaled, 1.0), (found.scaled, 1 / 3)):
        scores = drawn_by_hand(9, 20, scale, seed=3)[0].ravel()
        for middle, density in zip(found.bins, of.density, strict=True):
            inside = np.abs(scores - middle) < width / 2
            assert density * width == pytest.approx(inside.mean(), abs=1e-12)
    assert found.scaled.density.sum() * width == pytest.approx(1)


@pytest.mark.parametrize("d_k", [1, 16, 256])
def test_the_variance_is_d_k_and_1_with_scaling(d_k):
    found = sample(np.random.default_rng(1), d_k, 200)

    assert found.unscaled.variance == pytest.approx(d_k, rel=0.1)
    assert found.scaled.variance == pytest.approx(1, rel=0.1)


def test_at_512_half_of_the_rows_stop_learning_without_scaling_and_none_with_it():
    found = sample(np.random.default_rng(0), 512, 1024)

    assert found.unscaled.dead_share == pytest.approx(0.53, abs=0.02)
    assert found.unscaled.median_jacobian == pytest.approx(0.0006, abs=0.0002)
    assert found.scaled.dead_share == 0
    assert found.scaled.median_jacobian > 0.3
    assert found.unscaled.mean_gradient > found.scaled.mean_gradient  # a few rows carry it
    assert found.unscaled.top_share > 0.5


def test_the_same_generator_gives_the_same_sample():
    first, second = (sample(np.random.default_rng(5), 8, 3) for _ in range(2))

    assert first.unscaled.variance == second.unscaled.variance
    np.testing.assert_array_equal(first.scaled.density, second.scaled.density)


@pytest.mark.parametrize(
    ("counts", "message"),
    [
        ({"d_k": 0, "n_sequences": 1}, "d_k must lie between 1 and inf, got 0"),
        ({"d_k": 1, "n_sequences": 0}, "n_sequences must lie between 1 and inf, got 0"),
        (
            {"d_k": 1, "n_sequences": 1, "n_tokens": 1},
            "n_tokens must lie between 2 and inf, got 1",
        ),
    ],
)
def test_a_count_that_is_too_small_is_named(counts, message):
    with pytest.raises(RangeError) as caught:
        sample(np.random.default_rng(0), **counts)

    assert str(caught.value) == message

"""Gradients of one number of the output: by hand, by differences, and where they die."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from attention_core import Experiment, Mask, softmax, softmax_jacobian
from attention_core.errors import RangeError
from attention_core.neural.gradients import at_width, gradients, quotients

SEVERAL = Experiment.from_preset("random").resized(n_tokens=4, d_model=3, d_k=2, n_heads=2)
PROJECTED = SEVERAL.with_output_projection(True)
CAUSAL = replace(PROJECTED, mask=Mask(("causal",)))
EMPTY_ROW = PROJECTED.with_painted([(1, key) for key in range(4)], False)
LARGEST = Experiment.from_preset("random").resized(n_tokens=12, d_model=8, d_k=8, n_heads=8)
SMALLEST = Experiment.from_preset("random").resized(n_tokens=1, d_model=1, d_k=1, n_heads=1)
ODD = replace(SEVERAL.resized(d_k=3), encoding="rotary")
REPEATED = Experiment.from_preset("repeated")
ZERO = replace(PROJECTED, X=np.zeros_like(PROJECTED.X))
ENCODED = [replace(PROJECTED, encoding=kind) for kind in ("sinusoidal", "learned", "alibi")]
UNSCALED = replace(CAUSAL, is_scaled=False, encoding="alibi")
ALL = [SEVERAL, PROJECTED, CAUSAL, EMPTY_ROW, LARGEST, SMALLEST, ODD, REPEATED, ZERO, UNSCALED]
NAMES = ("X", "W_Q", "W_K", "W_V")

every_experiment = pytest.mark.parametrize("e", [*ALL, *ENCODED])


def cells(e):
    """The first and the last cell of the output, with the first and the last head."""
    n_rows, n_columns = e.trace().attention.output.shape
    return [(0, 0, 0), (n_rows - 1, n_columns - 1, e.n_heads - 1)]


# --- one number of the output


def test_a_softmax_jacobian_by_hand():
    # One feature, weights of 1, unscaled: o = Σ w_j x_j with w = softmax(x_0 x). So
    #   ∂o/∂W_V = Σ w_j x_j,    ∂o/∂W_Q = ∂o/∂W_K = Σ_jk x_j J_jk (x_0 x_k)
    x, one = np.array([1.0, 2.0, -1.0]), np.ones((1, 1, 1))
    e = Experiment(("a", "b", "c"), x[:, None], one, one, one, is_scaled=False)

    slopes = gradients(e, 0, 0, 0)

    w = softmax(x[0] * x)
    J = softmax_jacobian(w)
    np.testing.assert_allclose(slopes.W_V, [[w @ x]])
    np.testing.assert_allclose(slopes.W_Q, [[x @ J @ (x[0] * x)]])
    np.testing.assert_allclose(slopes.W_K, slopes.W_Q)
    # x_k moves its value, w_k, and its own score; x_0 moves all scores as the query, too.
    of_X = w + x[0] * (J @ x) + np.array([x @ J @ x, 0, 0])
    np.testing.assert_allclose(slopes.X[:, 0], of_X)


def test_two_equal_keys_by_hand():
    # X = 0, so both weights stay 1/2, and only values move the output: o = (x_0 + x_1) / 2.
    one = np.ones((1, 1, 1))
    e = Experiment(("a", "b"), np.zeros((2, 1)), one, one, one)

    slopes = gradients(e, 1, 0, 0)

    assert slopes.X.tolist() == [[0.5], [0.5]]
    assert [getattr(slopes, name).tolist() for name in NAMES[1:]] == [[[0.0]]] * 3


@every_experiment
def test_pytorchs_gradients_are_the_differences_of_the_numpy_core(e):
    for token, feature, head in cells(e):
        ours, theirs = (of(e, token, feature, head) for of in (gradients, quotients))

        largest = max(1.0, *(np.abs(getattr(ours, name)).max() for name in NAMES))
        for name in NAMES:
            one, other = getattr(ours, name), getattr(theirs, name)
            assert one.shape == other.shape == getattr(e, name).shape[-2:]
            np.testing.assert_allclose(one, other, rtol=0, atol=1e-9 * largest, err_msg=name)


def test_differences_of_one_cell_at_a_time_are_the_same():
    # All cells of all matrices go through one attention; here each goes through its own.
    token, feature, head = 2, 1, 1
    at_once = quotients(CAUSAL, token, feature, head)

    def output(e):
        return e.trace().attention.output[token, feature]

    for name in NAMES:
        place = () if name == "X" else (head,)
        for cell in np.ndindex(getattr(at_once, name).shape):
            value, step = getattr(CAUSAL, name)[(*place, *cell)], 1e-5
            low, high = (
                output(CAUSAL.with_cell(name, (*place, *cell), value + s)) for s in (-step, step)
            )
            np.testing.assert_allclose(
                getattr(at_once, name)[cell], (high - low) / (2 * step), rtol=0, atol=1e-8
            )


def test_pytorchs_own_attention_has_the_same_gradients():
    X, W_Q, W_K, W_V = (torch.tensor(getattr(SEVERAL, name), requires_grad=True) for name in NAMES)
    output = F.scaled_dot_product_attention(X @ W_Q, X @ W_K, X @ W_V)  # (heads, tokens, d_k)
    expected = torch.autograd.grad(output[1, 3, 0], (X, W_Q, W_K, W_V))

    slopes = gradients(SEVERAL, 3, 2, 1)  # the first column of the second head

    np.testing.assert_allclose(slopes.X, expected[0], rtol=0, atol=1e-14)
    for name, W in zip(NAMES[1:], expected[1:], strict=True):
        np.testing.assert_allclose(getattr(slopes, name), W[1], rtol=0, atol=1e-14)


@pytest.mark.parametrize("of", [gradients, quotients])
def test_what_a_mask_hides_has_no_influence(of):
    slopes = of(CAUSAL, 1, 0, 0)

    assert slopes.X[:2].all()
    assert not slopes.X[2:].any()


@pytest.mark.parametrize("of", [gradients, quotients])
def test_a_row_without_keys_depends_on_nothing_and_is_no_nan(of):
    slopes = of(EMPTY_ROW, 1, 0, 0)

    assert not any(getattr(slopes, name).any() for name in NAMES)
    assert all(np.isfinite(getattr(of(EMPTY_ROW, 0, 0, 0), name)).all() for name in NAMES)


@pytest.mark.parametrize("of", [gradients, quotients])
def test_without_W_O_a_column_depends_on_its_own_head_alone(of):
    other = of(SEVERAL, 0, 0, 1)

    assert not any(getattr(other, name).any() for name in NAMES[1:])
    assert of(SEVERAL, 0, 2, 1).W_V.any()


@pytest.mark.parametrize("of", [gradients, quotients])
def test_a_single_token_has_nothing_to_choose(of):
    slopes = of(SMALLEST, 0, 0, 0)

    assert slopes.W_Q.tolist() == slopes.W_K.tolist() == [[0.0]]
    np.testing.assert_allclose(slopes.W_V, SMALLEST.X)


def test_large_numbers_get_a_larger_step():
    # With a step of 1e-5 all digits of the difference would be lost beside 1e6.
    e = replace(PROJECTED, W_V=1e6 * PROJECTED.W_V)

    ours, theirs = gradients(e, 0, 0, 0), quotients(e, 0, 0, 0)

    np.testing.assert_allclose(ours.W_V, theirs.W_V, rtol=0, atol=1e-9)


@pytest.mark.parametrize("of", [gradients, quotients])
def test_a_cell_that_is_not_there_is_named(of):
    with pytest.raises(RangeError, match="token must lie between 0 and 3, got 4"):
        of(PROJECTED, 4, 0, 0)
    with pytest.raises(RangeError, match="feature must lie between 0 and 2, got 3"):
        of(PROJECTED, 0, 3, 0)
    with pytest.raises(RangeError, match="feature must lie between 0 and 3, got -1"):
        of(SEVERAL, 0, -1, 0)
    with pytest.raises(RangeError, match="head must lie between 0 and 1, got 2"):
        of(PROJECTED, 0, 0, 2)


def test_the_arguments_are_not_written_into():
    before = {name: getattr(PROJECTED, name).copy() for name in NAMES}

    gradients(PROJECTED, 0, 0, 0).X[:] = 7.0
    quotients(PROJECTED, 0, 0, 0).X[:] = 7.0

    for name, values in before.items():
        np.testing.assert_array_equal(getattr(PROJECTED, name), values)


# --- wider heads


def test_at_width_1_scaling_changes_nothing():
    width = at_width(1, 0, n_samples=20)

    assert width.unscaled == width.scaled


def test_each_head_has_the_gradients_that_it_has_alone():
    # The same draws as in `at_width`, each head by itself through PyTorch's own attention.
    d_k, seed, n_samples, n_tokens, d_model = 8, 3, 7, 5, 4
    rng = np.random.default_rng([seed, d_k])
    X = torch.tensor(rng.standard_normal((n_samples, n_tokens, d_model)))
    drawn = rng.standard_normal((3, n_samples, d_model, d_k)) / np.sqrt(d_model)
    rows, columns = rng.integers(n_tokens, size=n_samples), rng.integers(d_k, size=n_samples)
    norms, largest = [], []
    for index in range(n_samples):
        W = [torch.tensor(each[index], requires_grad=True) for each in drawn]
        Q, K, V = (X[index] @ each for each in W)
        output = F.scaled_dot_product_attention(Q, K, V, scale=1.0)
        slopes = torch.autograd.grad(output[rows[index], columns[index]], W)
        norms.append([float(torch.linalg.norm(slope)) for slope in slopes])
        row = torch.softmax(Q[rows[index]] @ K.T, dim=0)
        largest.append(row.max().item())

    width = at_width(d_k, seed, n_samples=n_samples, n_tokens=n_tokens, d_model=d_model).unscaled

    medians = np.median(norms, axis=0)
    np.testing.assert_allclose([width.W_Q, width.W_K, width.W_V], medians, rtol=1e-12)
    np.testing.assert_allclose(width.mean_largest, np.mean(largest), rtol=1e-12)


def test_without_scaling_wide_heads_stop_learning_where_to_look_but_not_what_to_take():
    narrow, wide = at_width(16, 0), at_width(512, 0)

    assert wide.unscaled.W_Q < 0.2 * narrow.unscaled.W_Q
    assert wide.unscaled.W_K < 0.2 * narrow.unscaled.W_K
    assert wide.unscaled.W_V > narrow.unscaled.W_V
    assert wide.unscaled.mean_largest > 0.85
    assert 0.5 < wide.scaled.W_Q / narrow.scaled.W_Q < 2


def test_a_single_token_gives_gradients_of_exactly_0_and_they_are_counted():
    width = at_width(4, 0, n_samples=9, n_tokens=1)

    assert (width.unscaled.W_Q, width.unscaled.n_zeros, width.scaled.n_zeros) == (0.0, 9, 9)
    assert width.unscaled.mean_largest == 1.0


def test_the_same_seed_gives_the_same_heads_and_another_one_others():
    assert at_width(4, 5, n_samples=9) == at_width(4, 5, n_samples=9)
    assert at_width(4, 5, n_samples=9) != at_width(4, 6, n_samples=9)


@pytest.mark.parametrize("name", ["d_k", "n_samples", "n_tokens", "d_model"])
def test_a_count_that_is_too_small_is_named(name):
    sizes = {"d_k": 2, "n_samples": 2, "n_tokens": 2, "d_model": 2} | {name: 0}

    with pytest.raises(RangeError, match=f"{name} must lie between 1 and inf, got 0"):
        at_width(sizes.pop("d_k"), 0, **sizes)


def test_a_seed_below_0_is_named():
    with pytest.raises(RangeError, match="seed must lie between 0 and inf, got -1"):
        at_width(2, -1)

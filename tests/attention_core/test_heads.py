"""How a width is shared among heads: counts, shapes, the classic fault, and shared keys."""

import math
import re

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from attention_core import Experiment, merge_heads, split_heads
from attention_core.errors import DivisibilityError, RangeError, ShapeError
from attention_core.heads import (
    cache_per_token,
    divisors,
    fused_projection,
    misviewed_attention,
    n_parameters,
    origins,
    pooled,
    shape_steps,
    viewed_as_heads,
)

RNG = np.random.default_rng(3)


# --- counts


def test_the_divisors_of_512_are_its_powers_of_two():
    assert divisors(512) == (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)
    assert divisors(7) == (1, 7)
    assert divisors(1) == (1,)


@pytest.mark.parametrize("width", range(1, 60))
def test_a_width_can_be_cut_by_each_divisor_and_by_no_other_count(width):
    fused = np.zeros((1, width))
    for count in range(1, width + 1):
        if count in divisors(width):
            assert split_heads(fused, count).shape == (count, 1, width // count)
        else:
            with pytest.raises(DivisibilityError):
                split_heads(fused, count)


def test_the_parameters_stay_the_same_however_the_width_is_cut():
    counts = {n_parameters(512, h, 512 // h, has_W_O=True) for h in divisors(512)}

    assert counts == {4 * 512 * 512}
    assert n_parameters(512, 8, 64, has_W_O=False) == 3 * 512 * 512


@pytest.mark.parametrize(("n_heads", "has_W_O"), [(1, True), (2, False), (4, True)])
def test_the_parameters_are_those_that_an_experiment_holds(n_heads, has_W_O):
    e = Experiment.from_preset("random").resized(d_model=4, d_k=3, n_heads=n_heads)
    e = e.with_output_projection(has_W_O)

    held = sum(W.size for W in (e.W_Q, e.W_K, e.W_V, e.W_O) if W is not None)

    assert n_parameters(4, n_heads, 3, has_W_O=has_W_O) == held


def test_the_cache_holds_a_key_and_a_value_for_each_shared_head():
    # Llama 2 70B: 8 key/value heads of 128 instead of 64, an eighth of the cache.
    assert cache_per_token(8, 128) == 2048
    assert cache_per_token(64, 128) == 8 * 2048


# --- one product for all heads


def test_one_wide_product_by_hand():
    X = np.array([[1.0, 2.0]])
    W = np.array([[[1.0], [0.0]], [[0.0], [10.0]]])  # head 1 takes column 1, head 2 ten times 2

    np.testing.assert_array_equal(fused_projection(X, W), [[1.0, 20.0]])


@pytest.mark.parametrize("n_heads", [1, 2, 3])
def test_one_wide_product_holds_that_of_each_head(n_heads):
    X, W = RNG.normal(size=(5, 4)), RNG.normal(size=(n_heads, 4, 2))

    wide = fused_projection(X, W)

    assert wide.shape == (5, n_heads * 2)
    np.testing.assert_allclose(split_heads(wide, n_heads), X @ W, rtol=0, atol=1e-14)


def test_a_product_of_other_widths_names_the_argument():
    with pytest.raises(ShapeError, match=re.escape("X must have shape (n_tokens, 3), got (2, 4)")):
        fused_projection(np.zeros((2, 4)), np.zeros((1, 3, 2)))


# --- shapes


@pytest.mark.parametrize("sizes", [(1, 1, 1, 1), (2, 5, 12, 3), (3, 4, 8, 8), (2, 7, 6, 1)])
def test_the_shapes_are_those_that_pytorch_gives(sizes):
    batch, n_tokens, width, n_heads = sizes
    d_k = width // n_heads
    X, W = torch.randn(batch, n_tokens, width), torch.randn(width, width)
    projected = X @ W
    viewed = projected.view(batch, n_tokens, n_heads, d_k)
    Q = viewed.transpose(1, 2)
    scores = Q @ Q.transpose(-2, -1)
    weights = (scores / d_k**0.5).softmax(dim=-1)
    heads = weights @ Q
    back = heads.transpose(1, 2)
    merged = back.reshape(batch, n_tokens, width)
    output = merged @ W
    arrays = [X, projected, viewed, Q, scores, weights, heads, back, merged, output]

    steps = shape_steps(*sizes)

    assert [step.shape for step in steps] == [tuple(array.shape) for array in arrays]
    assert [step.name for step in steps][:4] == ["input", "projection", "view", "transpose"]


def test_large_sizes_are_exact():
    steps = {step.name: step for step in shape_steps(4096, 100_000, 16_384, 512)}

    assert math.prod(steps["scores"].shape) == 4096 * 512 * 100_000**2


@pytest.mark.parametrize("name", ["batch", "n_tokens", "width", "n_heads"])
def test_a_size_below_one_is_named(name):
    sizes = {"batch": 2, "n_tokens": 2, "width": 2, "n_heads": 2} | {name: 0}

    with pytest.raises(RangeError, match=f"{name} must lie between 1 and inf, got 0"):
        shape_steps(**sizes)


def test_a_width_that_cannot_be_cut_is_named():
    message = "width must be a multiple of n_heads, got 512 and 7"

    with pytest.raises(DivisibilityError, match=message):
        shape_steps(1, 1, 512, 7)


# --- the classic fault


def test_the_view_alone_by_hand():
    # Two tokens, two heads of one column: the view puts token 1 into head 1, token 2 into head 2.
    fused = np.array([[1.0, 2.0], [3.0, 4.0]])

    assert viewed_as_heads(fused, 2).tolist() == [[[1.0], [2.0]], [[3.0], [4.0]]]
    assert split_heads(fused, 2).tolist() == [[[1.0], [3.0]], [[2.0], [4.0]]]


@pytest.mark.parametrize("n_heads", [1, 2, 3, 6])
def test_the_view_alone_is_what_pytorch_gives(n_heads):
    fused = RNG.normal(size=(5, 6))

    ours = viewed_as_heads(fused, n_heads)

    theirs = torch.tensor(fused).view(n_heads, 5, 6 // n_heads)
    np.testing.assert_array_equal(ours, theirs.numpy())


@pytest.mark.parametrize(("n", "width", "n_heads"), [(5, 6, 3), (1, 4, 2), (4, 4, 1)])
def test_origins_tell_where_each_number_stood(n, width, n_heads):
    fused = RNG.normal(size=(n, width))

    places = origins(n, width, n_heads)

    found = fused[places[..., 0], places[..., 1]]
    np.testing.assert_array_equal(found, viewed_as_heads(fused, n_heads))
    assert len({tuple(place) for place in places.reshape(-1, 2)}) == n * width


def test_one_head_or_one_token_hides_the_fault():
    fused = RNG.normal(size=(4, 6))

    np.testing.assert_array_equal(viewed_as_heads(fused, 1), split_heads(fused, 1))
    np.testing.assert_array_equal(viewed_as_heads(fused[:1], 3), split_heads(fused[:1], 3))


def test_errors_of_the_view():
    with pytest.raises(DivisibilityError, match="width must be a multiple of n_heads, got 4 and 3"):
        viewed_as_heads(np.zeros((2, 4)), 3)
    with pytest.raises(RangeError, match="n_heads must lie between 1 and inf, got 0"):
        viewed_as_heads(np.zeros((2, 4)), 0)
    with pytest.raises(ShapeError, match=re.escape("fused must have shape (n, width)")):
        viewed_as_heads(np.zeros((1, 2, 4)), 2)


@pytest.mark.parametrize("has_W_O", [True, False])
def test_attention_with_the_fault_is_what_pytorch_gives(has_W_O):
    e = Experiment.from_preset("random").resized(n_tokens=5, d_model=4, d_k=2, n_heads=2)
    e = e.with_output_projection(has_W_O)
    attention = e.trace().attention

    heads, output = misviewed_attention(attention)

    X = torch.tensor(e.X)
    Q, K, V = ((X @ torch.tensor(merge_heads(W))).view(2, 5, 2) for W in (e.W_Q, e.W_K, e.W_V))
    mixed = F.scaled_dot_product_attention(Q, K, V)
    merged = mixed.transpose(0, 1).reshape(5, 4)
    expected = merged @ torch.tensor(e.W_O) if has_W_O else merged
    np.testing.assert_allclose(heads.output, mixed, rtol=0, atol=1e-12)
    np.testing.assert_allclose(output, expected, rtol=0, atol=1e-12)
    assert np.abs(output - attention.output).max() > 0.01


# --- shared keys and values


def test_shared_weights_are_the_mean_of_their_group_by_hand():
    W = np.array([[[1.0]], [[3.0]], [[10.0]], [[30.0]]])

    assert pooled(W, 2).tolist() == [[[2.0]], [[20.0]]]
    assert pooled(W, 1).tolist() == [[[11.0]]]
    np.testing.assert_array_equal(pooled(W, 4), W)


@pytest.mark.parametrize("n_kv_heads", [1, 2, 4])
def test_shared_keys_are_those_of_pytorchs_grouped_queries(n_kv_heads):
    e = Experiment.from_preset("random").resized(n_tokens=6, d_model=8, d_k=2, n_heads=4)

    trace = e.trace(n_kv_heads=n_kv_heads)

    X = torch.tensor(e.X)
    Q = X @ torch.tensor(e.W_Q)
    K, V = (X @ torch.tensor(pooled(W, n_kv_heads)) for W in (e.W_K, e.W_V))
    expected = F.scaled_dot_product_attention(Q[None], K[None], V[None], enable_gqa=True)[0]
    np.testing.assert_allclose(trace.attention.head_outputs, expected, rtol=0, atol=1e-12)


def test_a_pair_for_each_head_is_the_experiment_itself():
    e = Experiment.from_preset("random").resized(n_heads=4)

    own, same = e.trace(), e.trace(n_kv_heads=4)

    np.testing.assert_array_equal(own.attention.output, same.attention.output)


def test_heads_that_are_alike_lose_nothing_by_sharing():
    e = Experiment.from_preset("random").resized(d_model=4, d_k=2, n_heads=2)
    alike = {name: np.stack([getattr(e, name)[0]] * 2) for name in ("W_K", "W_V")}
    e = Experiment(e.tokens, e.X, e.W_Q, **alike)

    moved = e.trace(n_kv_heads=1).attention.output - e.trace().attention.output

    assert np.abs(moved).max() == 0.0


def test_errors_of_sharing():
    W = np.zeros((4, 2, 2))

    with pytest.raises(DivisibilityError, match="n_heads must be a multiple of n_kv_heads"):
        pooled(W, 3)
    with pytest.raises(RangeError, match="n_kv_heads must lie between 1 and inf, got 0"):
        pooled(W, 0)
    with pytest.raises(ShapeError, match=re.escape("W must have shape (n_heads, d_model, d_k)")):
        pooled(np.zeros((2, 2)), 1)


# --- cutting an experiment's width


@pytest.fixture
def wide():
    return Experiment.from_preset("random").resized(n_tokens=5, d_model=8, d_k=2, n_heads=4)


@pytest.mark.parametrize("n_heads", [1, 2, 4, 8])
def test_another_cut_keeps_every_projection(wide, n_heads):
    cut = wide.with_heads(n_heads)

    assert (cut.n_heads, cut.d_k) == (n_heads, 8 // n_heads)
    for name in ("W_Q", "W_K", "W_V"):
        np.testing.assert_array_equal(
            merge_heads(getattr(cut, name)), merge_heads(getattr(wide, name))
        )


def test_a_cut_and_back_gives_the_same_heads(wide):
    back = wide.with_heads(1).with_heads(8).with_heads(4)

    np.testing.assert_array_equal(back.W_K, wide.W_K)


def test_heads_that_do_not_fill_the_width_are_resized():
    e = Experiment.from_preset("random").resized(d_model=4, d_k=3, n_heads=1)

    cut = e.with_heads(2)

    np.testing.assert_array_equal(cut.W_Q, e.resized(n_heads=2, d_k=2).W_Q)


def test_a_count_that_does_not_divide_the_width_is_refused(wide):
    with pytest.raises(
        DivisibilityError, match="d_model must be a multiple of n_heads, got 8 and 3"
    ):
        wide.with_heads(3)
    with pytest.raises(RangeError, match="n_heads must lie between 1 and 8, got 0"):
        wide.with_heads(0)


def test_the_sum_of_some_heads_by_hand_and_of_all_is_the_output(wide):
    attention = wide.with_output_projection(True).trace().attention

    some = attention.sum_of([0, 2])

    np.testing.assert_array_equal(some, attention.contributions[0] + attention.contributions[2])
    assert not attention.sum_of([]).any()
    np.testing.assert_allclose(attention.sum_of(range(4)), attention.output, rtol=0, atol=1e-14)

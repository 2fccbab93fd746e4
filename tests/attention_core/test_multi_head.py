from dataclasses import FrozenInstanceError, fields
from functools import partial

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from attention_core.attention import AttentionTrace, self_attention
from attention_core.errors import (
    AttentionError,
    ChoiceError,
    DivisibilityError,
    DtypeError,
    EmptyRowError,
    RangeError,
    ShapeError,
)
from attention_core.masks import causal, padding
from attention_core.multi_head import (
    MultiHeadTrace,
    merge_heads,
    multi_head_attention,
    split_heads,
)
from attention_core.positions import alibi_bias, alibi_slopes, rotary


def random_heads(
    *leading, n_tokens=4, d_model=6, n_heads=4, n_kv_heads=4, d_k=3, d_v=2, d_out=5, seed=0
):
    """X, W_Q, W_K, W_V, W_O."""
    rng = np.random.default_rng(seed)
    shapes = [
        (*leading, n_tokens, d_model),
        (n_heads, d_model, d_k),
        (n_kv_heads, d_model, d_k),
        (n_kv_heads, d_model, d_v),
        (n_heads * d_v, d_out),
    ]
    return [rng.normal(size=shape) for shape in shapes]


@st.composite
def multi_head_calls(draw):
    """All arguments of a call, and what PyTorch makes of its heads."""
    leading = tuple(draw(st.lists(st.integers(1, 2), max_size=2)))
    n_tokens, d_model, d_k, d_v, n_kv_heads, group = (draw(st.integers(1, 3)) for _ in range(6))
    n_heads = n_kv_heads * group
    arguments = random_heads(
        *leading,
        n_tokens=n_tokens,
        d_model=d_model,
        n_heads=n_heads,
        n_kv_heads=n_kv_heads,
        d_k=d_k,
        d_v=d_v,
        seed=draw(st.integers(0, 2**32 - 1)),
    )
    fewer_axes = st.sampled_from([(*leading, n_heads), (n_heads,), ()])
    size = (n_tokens, n_tokens)
    allowed = draw(st.none() | arrays(np.bool_, (*draw(fewer_axes), *size)))
    bias = draw(
        st.none() | arrays(np.float64, (*draw(fewer_axes), *size), elements=st.floats(-9, 9))
    )
    scale = draw(st.none() | st.floats(-3, 3))
    return arguments, {"allowed": allowed, "bias": bias, "scale": scale}


def pytorch_heads(X, W_Q, W_K, W_V, *, allowed, bias, scale):
    """(..., n_heads, n_tokens, d_v), the grouping done by PyTorch."""
    *leading, n_tokens, _ = X.shape
    X, W_Q, W_K, W_V = (torch.from_numpy(array) for array in (X, W_Q, W_K, W_V))
    Q, K, V = (X.reshape(-1, 1, *X.shape[-2:]) @ W for W in (W_Q, W_K, W_V))
    mask = np.zeros((n_tokens, n_tokens)) if bias is None else bias
    mask = mask if allowed is None else np.where(allowed, mask, -np.inf)
    mask = np.broadcast_to(mask, (*leading, len(W_Q), n_tokens, n_tokens)).copy()
    heads = F.scaled_dot_product_attention(
        Q,
        K,
        V,
        attn_mask=torch.from_numpy(mask).reshape(*Q.shape[:2], n_tokens, n_tokens),
        scale=scale,
        enable_gqa=True,
    )
    return heads.reshape(*leading, *heads.shape[1:]).numpy()


# multi_head_attention


def test_two_heads_by_hand():
    # Token 1 is (ln 3, 0), token 2 is (0, ln 2). All d are 1, so the scale is 1.
    # Head 1: all queries 1, keys ln 3 and 0: weights 3/4 and 1/4 on values ln 3 and 0.
    # Head 2: all queries 1, keys 0 and ln 2: weights 1/3 and 2/3 on values 0 and ln 2.
    X = np.array([[np.log(3), 0.0, 1.0], [0.0, np.log(2), 1.0]])
    W_Q = np.array([[[0.0], [0.0], [1.0]], [[0.0], [0.0], [1.0]]])
    W_K = np.array([[[1.0], [0.0], [0.0]], [[0.0], [1.0], [0.0]]])
    W_O = np.array([[1.0, 0.0], [1.0, 10.0]])
    first, second = 3 / 4 * np.log(3), 2 / 3 * np.log(2)

    trace = multi_head_attention(X, W_Q, W_K, W_K, W_O)

    np.testing.assert_allclose(trace.heads.weights[0], [[3 / 4, 1 / 4]] * 2, rtol=1e-14)
    np.testing.assert_allclose(trace.heads.weights[1], [[1 / 3, 2 / 3]] * 2, rtol=1e-14)
    np.testing.assert_allclose(trace.concatenated, [[first, second]] * 2, rtol=1e-14)
    np.testing.assert_allclose(trace.output, [[first + second, 10 * second]] * 2, rtol=1e-14)


@settings(max_examples=150)
@given(multi_head_calls())
def test_heads_and_output_agree_with_pytorch(call):
    (X, W_Q, W_K, W_V, W_O), options = call
    heads = pytorch_heads(X, W_Q, W_K, W_V, **options)
    concatenated = np.concatenate(np.moveaxis(heads, -3, 0), axis=-1)

    trace = multi_head_attention(X, W_Q, W_K, W_V, W_O, **options, empty_rows="zeros")

    np.testing.assert_allclose(trace.head_outputs, heads, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(trace.output, concatenated @ W_O, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("is_masked", [False, True])
def test_output_agrees_with_the_multi_head_module_of_pytorch(is_masked):
    n_heads, d = 2, 3
    rng = np.random.default_rng(5)
    X = rng.normal(size=(4, 6))
    fused = {name: rng.normal(size=(6, 6)) for name in ("W_Q", "W_K", "W_V", "W_O")}
    module = torch.nn.MultiheadAttention(6, n_heads, bias=False, dtype=torch.float64)
    with torch.no_grad():
        in_projection = np.concatenate([fused[name].T for name in ("W_Q", "W_K", "W_V")])
        module.in_proj_weight.copy_(torch.from_numpy(in_projection))
        module.out_proj.weight.copy_(torch.from_numpy(fused["W_O"].T))
    tokens = torch.from_numpy(X)
    allowed = causal(4) if is_masked else np.ones((4, 4), dtype=bool)
    with torch.no_grad():
        output, weights = module(
            tokens,
            tokens,
            tokens,
            attn_mask=torch.from_numpy(~allowed),  # True = blocked in this module
            average_attn_weights=False,
        )

    heads = (split_heads(fused[name], n_heads) for name in ("W_Q", "W_K", "W_V"))
    trace = multi_head_attention(X, *heads, fused["W_O"], allowed=allowed)

    assert trace.heads.Q.shape == (n_heads, 4, d)
    np.testing.assert_allclose(trace.heads.weights, weights.numpy(), rtol=1e-10, atol=1e-15)
    np.testing.assert_allclose(trace.output, output.numpy(), rtol=1e-10)


def test_each_head_is_one_self_attention():
    X, W_Q, W_K, W_V, _ = random_heads()
    bias = np.random.default_rng(6).normal(size=(4, 4, 4))
    allowed = causal(4)

    trace = multi_head_attention(X, W_Q, W_K, W_V, allowed=allowed, bias=bias, scale=0.3)

    for h in range(4):
        alone = self_attention(X, W_Q[h], W_K[h], W_V[h], allowed=allowed, bias=bias[h], scale=0.3)
        for field in fields(AttentionTrace):
            np.testing.assert_allclose(
                getattr(trace.head(h), field.name), getattr(alone, field.name), rtol=1e-13
            )


def test_one_head_without_W_O_is_self_attention():
    X, W_Q, W_K, W_V, _ = random_heads(n_heads=1, n_kv_heads=1)

    trace = multi_head_attention(X, W_Q, W_K, W_V)

    alone = self_attention(X, W_Q[0], W_K[0], W_V[0])
    np.testing.assert_allclose(trace.output, alone.output, rtol=1e-14)


def test_heads_stand_side_by_side_in_their_order():
    trace = multi_head_attention(*random_heads())

    expected = np.concatenate([trace.head_outputs[h] for h in range(4)], axis=-1)
    np.testing.assert_array_equal(trace.concatenated, expected)


@given(multi_head_calls())
def test_contributions_sum_to_the_output(call):
    arguments, options = call

    trace = multi_head_attention(*arguments, **options, empty_rows="zeros")

    np.testing.assert_allclose(
        trace.contributions.sum(axis=-3), trace.output, rtol=1e-12, atol=1e-12
    )


def test_a_contribution_is_a_head_through_its_own_rows_of_W_O():
    *arguments, W_O = random_heads(d_v=2)

    trace = multi_head_attention(*arguments, W_O)

    for h in range(4):
        expected = trace.head_outputs[h] @ W_O[2 * h : 2 * h + 2]
        np.testing.assert_allclose(trace.contributions[h], expected, rtol=1e-14)


def test_without_W_O_the_concatenated_heads_are_the_output():
    X, W_Q, W_K, W_V, _ = random_heads(2)

    trace = multi_head_attention(X, W_Q, W_K, W_V)

    assert trace.W_O is None
    np.testing.assert_array_equal(trace.output, trace.concatenated)
    np.testing.assert_array_equal(trace.contributions.sum(axis=-3), trace.output)


def test_permuting_tokens_permutes_outputs():
    X, *weights = random_heads()
    permutation = [2, 0, 3, 1]

    permuted = multi_head_attention(X[permutation], *weights).output

    expected = multi_head_attention(X, *weights).output[permutation]
    np.testing.assert_allclose(permuted, expected, rtol=1e-12)


def test_permuting_heads_with_their_rows_of_W_O_changes_no_output():
    X, W_Q, W_K, W_V, W_O = random_heads(d_v=2)
    permutation = [2, 0, 3, 1]
    blocks = W_O.reshape(4, 2, 5)[permutation].reshape(8, 5)

    permuted = multi_head_attention(X, W_Q[permutation], W_K[permutation], W_V[permutation], blocks)

    expected = multi_head_attention(X, W_Q, W_K, W_V, W_O).output
    np.testing.assert_allclose(permuted.output, expected, rtol=1e-12)


def test_batch_items_are_separate_calls():
    X, *weights = random_heads(2, 3)

    output = multi_head_attention(X, *weights).output

    for batch in np.ndindex(2, 3):
        alone = multi_head_attention(X[batch], *weights).output
        np.testing.assert_allclose(output[batch], alone, rtol=1e-13)


def test_padding_per_batch_item_needs_an_axis_for_the_heads():
    X, *weights = random_heads(2)
    is_token = np.array([[True, True, True, False], [True, True, False, False]])

    trace = multi_head_attention(X, *weights, allowed=padding(is_token)[:, None])

    np.testing.assert_array_equal(trace.heads.weights.any(axis=(1, 2)), is_token)


def test_each_head_has_its_own_bias():
    X, *weights = random_heads()
    bias = alibi_bias(4, 4, alibi_slopes(4))

    trace = multi_head_attention(X, *weights, bias=bias)

    difference = trace.heads.biased_scores - trace.heads.scaled_scores
    np.testing.assert_allclose(difference, bias, rtol=1e-12, atol=1e-14)


def test_scores_are_divided_by_the_root_of_d_k_per_head():
    trace = multi_head_attention(*random_heads(d_model=6, d_k=3, d_v=2))

    np.testing.assert_allclose(
        trace.heads.scaled_scores, trace.heads.scores / np.sqrt(3), rtol=1e-14
    )


@pytest.mark.parametrize("poison", [1e10, np.nan])
def test_a_masked_token_reaches_only_its_own_row(poison):
    X, *weights = random_heads()
    allowed = padding([True, True, True, False])
    clean = multi_head_attention(X, *weights, allowed=allowed).output
    X[3] = poison

    poisoned = multi_head_attention(X, *weights, allowed=allowed).output

    np.testing.assert_array_equal(poisoned[:3], clean[:3])
    assert (poisoned[3] != clean[3]).all()


# Grouped queries


@pytest.mark.parametrize(("n_heads", "n_kv_heads"), [(4, 4), (4, 2), (6, 2), (6, 3), (4, 1)])
def test_grouped_queries_are_the_same_as_repeated_weights(n_heads, n_kv_heads):
    X, W_Q, W_K, W_V, W_O = random_heads(2, n_heads=n_heads, n_kv_heads=n_kv_heads)
    group = n_heads // n_kv_heads
    repeated_K = np.stack([W_K[h // group] for h in range(n_heads)])
    repeated_V = np.stack([W_V[h // group] for h in range(n_heads)])

    grouped = multi_head_attention(X, W_Q, W_K, W_V, W_O)

    ungrouped = multi_head_attention(X, W_Q, repeated_K, repeated_V, W_O)
    np.testing.assert_allclose(grouped.output, ungrouped.output, rtol=1e-13)
    assert grouped.heads.K.shape == grouped.projected_K.shape == (2, n_heads, 4, 3)
    assert grouped.heads.V.shape == (2, n_heads, 4, 2)


def test_query_head_h_uses_key_head_h_divided_by_the_group():
    # The key and value of head 0 are all 0, those of head 1 are all 1.
    X, W_Q = np.ones((2, 1)), np.ones((6, 1, 1))
    W_KV = np.array([[[0.0]], [[1.0]]])

    trace = multi_head_attention(X, W_Q, W_KV, W_KV)

    np.testing.assert_array_equal(trace.heads.K[:, 0, 0], [0, 0, 0, 1, 1, 1])
    np.testing.assert_array_equal(trace.heads.V[:, 0, 0], [0, 0, 0, 1, 1, 1])


# Rotation


def test_rotation_turns_queries_and_keys_and_nothing_else():
    X, W_Q, W_K, W_V, W_O = random_heads(n_kv_heads=2)

    trace = multi_head_attention(X, W_Q, W_K, W_V, W_O, rotate=rotary)

    plain = multi_head_attention(X, W_Q, W_K, W_V, W_O)
    np.testing.assert_array_equal(trace.projected_Q, plain.heads.Q)
    np.testing.assert_array_equal(trace.projected_K, plain.heads.K)
    np.testing.assert_array_equal(trace.heads.Q, rotary(trace.projected_Q))
    np.testing.assert_array_equal(trace.heads.K, rotary(trace.projected_K))
    np.testing.assert_array_equal(trace.heads.V, plain.heads.V)
    assert (trace.heads.Q[:, 1:, :2] != plain.heads.Q[:, 1:, :2]).all()


def test_rotated_output_agrees_with_rotated_queries_and_keys_in_pytorch():
    X, W_Q, W_K, W_V, W_O = random_heads(2)
    Q, K, V = (
        torch.from_numpy(array[:, None]) @ torch.from_numpy(W)
        for array, W in [(X, W_Q), (X, W_K), (X, W_V)]
    )
    rotated = [torch.from_numpy(rotary(array.numpy())) for array in (Q, K)]
    heads = F.scaled_dot_product_attention(*rotated, V).numpy()

    trace = multi_head_attention(X, W_Q, W_K, W_V, W_O, rotate=rotary)

    np.testing.assert_allclose(trace.head_outputs, heads, rtol=1e-11)


def test_a_common_offset_of_the_rotation_changes_no_output():
    arguments = random_heads()

    shifted = multi_head_attention(*arguments, rotate=partial(rotary, offset=1000))

    expected = multi_head_attention(*arguments, rotate=rotary).output
    np.testing.assert_allclose(shifted.output, expected, rtol=1e-9)


def test_rotation_breaks_permutation_equivariance():
    X, *weights = random_heads()

    reversed_output = multi_head_attention(X[::-1], *weights, rotate=rotary).output

    expected = multi_head_attention(X, *weights, rotate=rotary).output[::-1]
    assert np.abs(reversed_output - expected).max() > 0.01


# The trace


def test_the_trace_names_every_step_in_the_order_of_computation():
    assert [field.name for field in fields(MultiHeadTrace)] == [
        "X",
        "W_Q",
        "W_K",
        "W_V",
        "W_O",
        "projected_Q",
        "projected_K",
        "heads",
        "concatenated",
        "contributions",
        "output",
    ]


def test_each_step_follows_from_the_step_before():
    X, W_Q, W_K, W_V, W_O = arguments = random_heads(n_kv_heads=2)

    trace = multi_head_attention(*arguments)

    exact = {"rtol": 1e-13}
    for step, argument in zip(("X", "W_Q", "W_K", "W_V", "W_O"), arguments, strict=True):
        np.testing.assert_array_equal(getattr(trace, step), argument)
    for h in range(4):
        np.testing.assert_allclose(trace.projected_Q[h], X @ W_Q[h], **exact)
        np.testing.assert_allclose(trace.projected_K[h], X @ W_K[h // 2], **exact)
        np.testing.assert_allclose(trace.heads.V[h], X @ W_V[h // 2], **exact)
    np.testing.assert_array_equal(trace.heads.Q, trace.projected_Q)
    np.testing.assert_array_equal(trace.heads.K, trace.projected_K)
    np.testing.assert_array_equal(trace.concatenated, merge_heads(trace.heads.output))
    np.testing.assert_allclose(trace.output, trace.concatenated @ W_O, **exact)


@pytest.mark.parametrize("step", [field.name for field in fields(MultiHeadTrace)])
def test_no_step_of_the_trace_can_be_replaced(step):
    trace = multi_head_attention(*random_heads())

    with pytest.raises(FrozenInstanceError):
        setattr(trace, step, None)


@given(multi_head_calls())
def test_every_step_has_its_shape(call):
    (X, W_Q, W_K, W_V, W_O), options = call
    *leading, n_tokens, _ = X.shape
    n_heads, d_k, d_v, d_out = len(W_Q), W_K.shape[-1], W_V.shape[-1], W_O.shape[-1]

    trace = multi_head_attention(X, W_Q, W_K, W_V, W_O, **options, empty_rows="zeros")

    assert trace.projected_Q.shape == (*leading, n_heads, n_tokens, d_k)
    assert trace.projected_K.shape == (*leading, n_heads, n_tokens, d_k)
    assert trace.heads.weights.shape == (*leading, n_heads, n_tokens, n_tokens)
    assert trace.head_outputs.shape == (*leading, n_heads, n_tokens, d_v)
    assert trace.concatenated.shape == (*leading, n_tokens, n_heads * d_v)
    assert trace.contributions.shape == (*leading, n_heads, n_tokens, d_out)
    assert trace.output.shape == (*leading, n_tokens, d_out)


def test_head_outputs_are_the_outputs_of_the_heads():
    trace = multi_head_attention(*random_heads())

    assert trace.head_outputs is trace.heads.output


def test_arguments_are_not_written_into():
    arguments = random_heads(n_kv_heads=2)
    for array in arguments:
        array.setflags(write=False)  # writing into one would raise

    multi_head_attention(*arguments, rotate=rotary)

    for array, original in zip(arguments, random_heads(n_kv_heads=2), strict=True):
        np.testing.assert_array_equal(array, original)


# split_heads and merge_heads


def test_split_by_hand():
    fused = [[0, 1, 2, 3], [4, 5, 6, 7]]

    np.testing.assert_array_equal(split_heads(fused, 2), [[[0, 1], [4, 5]], [[2, 3], [6, 7]]])


def test_merge_by_hand():
    per_head = [[[0, 1], [4, 5]], [[2, 3], [6, 7]]]

    np.testing.assert_array_equal(merge_heads(per_head), [[0, 1, 2, 3], [4, 5, 6, 7]])


@given(st.integers(1, 4), array_shapes(min_dims=2, max_dims=4, max_side=3))
def test_merge_undoes_split(n_heads, shape):
    *leading, n, d = shape
    fused = np.arange(np.prod(shape) * n_heads, dtype=float).reshape(*leading, n, n_heads * d)

    per_head = split_heads(fused, n_heads)

    assert per_head.shape == (*leading, n_heads, n, d)
    np.testing.assert_array_equal(merge_heads(per_head), fused)


@given(array_shapes(min_dims=3, max_dims=5, max_side=3))
def test_split_undoes_merge(shape):
    per_head = np.arange(np.prod(shape), dtype=float).reshape(shape)

    np.testing.assert_array_equal(split_heads(merge_heads(per_head), shape[-3]), per_head)


def test_splitting_weights_or_activations_comes_to_the_same():
    rng = np.random.default_rng(8)
    X, W = rng.normal(size=(2, 4, 6)), rng.normal(size=(6, 9))

    activations = split_heads(X @ W, 3)

    np.testing.assert_allclose(X[:, None] @ split_heads(W, 3), activations, rtol=1e-12)


# Errors


@pytest.mark.parametrize(
    ("place", "shape", "message"),
    [
        (0, (6,), "X must have shape (n_tokens, d_model), got (6,)"),
        (1, (6, 3), "W_Q must have shape (n_heads, 6, d_k), got (6, 3)"),
        (1, (4, 5, 3), "W_Q must have shape (n_heads, 6, d_k), got (4, 5, 3)"),
        (2, (4, 6, 2), "W_K must have shape (n_kv_heads, 6, 3), got (4, 6, 2)"),
        (2, (4, 5, 3), "W_K must have shape (n_kv_heads, 6, 3), got (4, 5, 3)"),
        (3, (2, 6, 2), "W_V must have shape (4, 6, d_v), got (2, 6, 2)"),
        (3, (4, 5, 2), "W_V must have shape (4, 6, d_v), got (4, 5, 2)"),
        (4, (7, 5), "W_O must have shape (8, d_out), got (7, 5)"),
    ],
)
def test_a_wrong_shape_names_the_argument(place, shape, message):
    arguments = random_heads()
    arguments[place] = np.ones(shape)

    with pytest.raises(ShapeError) as caught:
        multi_head_attention(*arguments)

    assert str(caught.value) == message


@pytest.mark.parametrize(("place", "name"), list(enumerate(["X", "W_Q", "W_K", "W_V", "W_O"])))
def test_a_wrong_kind_of_value_names_the_argument(place, name):
    arguments = random_heads()
    arguments[place] = arguments[place] * 1j

    with pytest.raises(DtypeError) as caught:
        multi_head_attention(*arguments)

    assert str(caught.value) == f"{name} must hold real numbers, got complex128"


@pytest.mark.parametrize("n_kv_heads", [0, 3, 8])
def test_query_heads_are_a_multiple_of_key_heads(n_kv_heads):
    arguments = random_heads(n_heads=4, n_kv_heads=n_kv_heads)

    with pytest.raises(DivisibilityError) as caught:
        multi_head_attention(*arguments)

    assert str(caught.value) == f"n_heads must be a multiple of n_kv_heads, got 4 and {n_kv_heads}"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"bias": np.zeros((3, 4, 4))},
            "bias must have shape (4, 4, 4), got (3, 4, 4)",
        ),
        (
            {"allowed": np.ones((3, 3), dtype=bool)},
            "allowed must have shape (4, 4, 4), got (3, 3)",
        ),
    ],
)
def test_a_mask_or_bias_of_the_wrong_shape_is_named(options, message):
    with pytest.raises(ShapeError) as caught:
        multi_head_attention(*random_heads(), **options)

    assert str(caught.value) == message


def test_a_query_without_a_key_is_refused_by_head_and_row():
    allowed = np.ones((4, 4, 4), dtype=bool)
    allowed[2, 1] = False

    with pytest.raises(EmptyRowError) as caught:
        multi_head_attention(*random_heads(), allowed=allowed)

    assert str(caught.value) == "softmax needs at least one score above -inf in rows (2, 1)"


def test_an_unknown_way_with_empty_rows_is_refused():
    with pytest.raises(ChoiceError) as caught:
        multi_head_attention(*random_heads(), empty_rows="nan")

    assert str(caught.value) == "empty_rows must be one of raise, zeros, got 'nan'"


@pytest.mark.parametrize("n_heads", [0, -2])
def test_split_needs_at_least_one_head(n_heads):
    with pytest.raises(RangeError) as caught:
        split_heads(np.ones((2, 4)), n_heads)

    assert str(caught.value) == f"n_heads must lie between 1 and inf, got {n_heads}"


def test_split_needs_a_width_that_the_heads_divide():
    with pytest.raises(DivisibilityError) as caught:
        split_heads(np.ones((2, 4)), 3)

    assert str(caught.value) == "width must be a multiple of n_heads, got 4 and 3"


def test_split_needs_two_axes():
    with pytest.raises(ShapeError) as caught:
        split_heads(np.ones(4), 2)

    assert str(caught.value) == "fused must have shape (n, width), got (4,)"


def test_merge_needs_three_axes():
    with pytest.raises(ShapeError) as caught:
        merge_heads(np.ones((2, 4)))

    assert str(caught.value) == "per_head must have shape (n_heads, n, d), got (2, 4)"


@pytest.mark.parametrize(
    ("function", "name"), [(partial(split_heads, n_heads=1), "fused"), (merge_heads, "per_head")]
)
def test_heads_hold_real_numbers(function, name):
    with pytest.raises(DtypeError) as caught:
        function(np.ones((1, 2, 2)) * 1j)

    assert str(caught.value) == f"{name} must hold real numbers, got complex128"


def test_values_without_features_give_an_output_of_zeros():
    trace = multi_head_attention(*random_heads(d_v=0))

    np.testing.assert_array_equal(trace.output, np.zeros((4, 5)))


def test_no_query_heads_are_refused():
    with pytest.raises(AttentionError):
        multi_head_attention(*random_heads(n_heads=0, n_kv_heads=1))

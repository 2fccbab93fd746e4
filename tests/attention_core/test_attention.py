import math
from dataclasses import FrozenInstanceError, fields
from fractions import Fraction

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from attention_core.attention import (
    AttentionTrace,
    scaled_dot_product_attention,
    self_attention,
)
from attention_core.errors import (
    ChoiceError,
    DtypeError,
    EmptyRowError,
    NotFiniteError,
    RangeError,
    ShapeError,
)
from attention_core.masks import causal

# The example the whole playground opens with.
X = np.array([[1.0, 0.0], [1.0, 1.0], [0.1, 1.0]])
W_Q = np.eye(2)
W_K = np.ones((2, 2))
W_V = np.array([[1.0, 0.0], [1.0, 1.0]])


def random_qkv(*leading, n_q=3, n_k=5, d_k=4, d_v=2, seed=0):
    rng = np.random.default_rng(seed)
    return (
        rng.normal(size=(*leading, n_q, d_k)),
        rng.normal(size=(*leading, n_k, d_k)),
        rng.normal(size=(*leading, n_k, d_v)),
    )


def attention_by_loops(Q, K, V, allowed, bias, scale):
    """One query, one key, one feature at a time, without NumPy's broadcasting or its exp."""
    output = []
    for i, query in enumerate(Q):
        weight = [
            math.exp(sum(q * k for q, k in zip(query, key, strict=True)) * scale + bias[i][j])
            if allowed[i][j]
            else 0.0
            for j, key in enumerate(K)
        ]
        output.append(
            [
                sum(w * value[feature] for w, value in zip(weight, V, strict=True)) / sum(weight)
                for feature in range(len(V[0]))
            ]
        )
    return output


def pytorch_output(Q, K, V, *, allowed, bias, scale):
    leading = np.broadcast_shapes(Q.shape[:-2], K.shape[:-2], V.shape[:-2])
    mask = allowed
    if bias is not None:
        mask = bias if allowed is None else np.where(allowed, bias, -np.inf)
    if mask is not None:
        mask = torch.tensor(np.broadcast_to(mask, (*leading, Q.shape[-2], K.shape[-2])).copy())
    Q, K, V = (
        torch.tensor(np.broadcast_to(array, (*leading, *array.shape[-2:])).copy())
        for array in (Q, K, V)
    )
    return F.scaled_dot_product_attention(Q, K, V, attn_mask=mask, scale=scale).numpy()


@st.composite
def attention_calls(draw):
    """Q, K, V and options of any legal shape, the largest score as large as `peak` if it can be."""
    leading = tuple(draw(st.lists(st.integers(1, 3), max_size=2)))
    n_q, n_k, d_k, d_v = (draw(st.integers(1, 5)) for _ in range(4))
    fewer_axes = st.sampled_from([leading, leading[1:], (1,) * len(leading)])

    def array(shape, low, high):
        return draw(arrays(np.float64, shape, elements=st.floats(low, high)))

    Q = array((*leading, n_q, d_k), -5, 5)
    K = array((*draw(fewer_axes), n_k, d_k), -5, 5)
    V = array((*draw(fewer_axes), n_k, d_v), -10, 10)
    scale = draw(st.none() | st.floats(-3, 3))
    peak = draw(st.sampled_from([1.0, 30.0, 1e3]))
    multiplier = 1 / math.sqrt(d_k) if scale is None else scale
    largest = np.abs(Q @ np.swapaxes(K, -1, -2) * multiplier).max()
    if largest > 1:
        Q = Q * (peak / largest)

    bias = allowed = None
    if draw(st.booleans()):
        bias = array((*draw(fewer_axes), n_q, n_k), -5, 5)
        bias[draw(arrays(np.bool_, bias.shape))] = -np.inf
    if draw(st.booleans()):
        rows = draw(st.sampled_from([n_q, 1]))
        allowed = draw(arrays(np.bool_, (*draw(fewer_axes), rows, n_k)))
    return Q, K, V, {"allowed": allowed, "bias": bias, "scale": scale}


# The reference example


def test_reference_queries_keys_and_values_by_hand():
    trace = self_attention(X, W_Q, W_K, W_V)

    np.testing.assert_array_equal(trace.Q, [[1.0, 0.0], [1.0, 1.0], [0.1, 1.0]])
    np.testing.assert_allclose(trace.K, [[1.0, 1.0], [2.0, 2.0], [1.1, 1.1]], rtol=1e-15)
    np.testing.assert_allclose(trace.V, [[1.0, 0.0], [2.0, 1.0], [1.1, 1.0]], rtol=1e-15)


def test_reference_scores_by_hand():
    scores = np.array([[1.0, 2.0, 1.1], [2.0, 4.0, 2.2], [1.1, 2.2, 1.21]])

    trace = self_attention(X, W_Q, W_K, W_V)

    np.testing.assert_allclose(trace.scores, scores, rtol=1e-15)
    np.testing.assert_allclose(trace.scaled_scores, scores / 1.4142135623730951, rtol=1e-15)
    np.testing.assert_array_equal(trace.biased_scores, trace.scaled_scores)
    np.testing.assert_array_equal(trace.allowed, np.ones((3, 3), dtype=bool))
    np.testing.assert_array_equal(trace.masked_scores, trace.scaled_scores)


def test_reference_weights_by_hand():
    trace = self_attention(X, W_Q, W_K, W_V)

    # Second row: e^1.4142 = 4.1133, e^2.8284 = 16.9188, e^1.5556 = 4.7381, sum 25.7701.
    np.testing.assert_array_equal(
        trace.weights.round(4),
        [
            [0.2438, 0.4945, 0.2617],
            [0.1596, 0.6565, 0.1839],
            [0.2349, 0.5113, 0.2539],
        ],
    )


def test_reference_output_by_hand():
    trace = self_attention(X, W_Q, W_K, W_V)

    # First row: 0.2438 (1, 0) + 0.4945 (2, 1) + 0.2617 (1.1, 1).
    np.testing.assert_array_equal(
        trace.output.round(4),
        [[1.5207, 0.7562], [1.6749, 0.8404], [1.5366, 0.7651]],
    )


def test_two_tokens_by_hand():
    # One query on the first key: scores (1, 0), unscaled, so weights are (e, 1) / (e + 1).
    Q, K, V = np.array([[1.0, 0.0]]), np.eye(2), np.array([[10.0], [20.0]])

    trace = scaled_dot_product_attention(Q, K, V, scale=1.0)

    e = np.e
    np.testing.assert_allclose(trace.weights, [[e / (e + 1), 1 / (e + 1)]], rtol=1e-15)
    np.testing.assert_allclose(trace.output, [[(10 * e + 20) / (e + 1)]], rtol=1e-15)


def test_logarithms_of_whole_numbers_give_exact_fractions():
    # Scores ln 1, ln 2, ln 5: weights 1/8, 2/8, 5/8 on the values 3, 5, 7.
    exact = Fraction(1, 8) * 3 + Fraction(2, 8) * 5 + Fraction(5, 8) * 7
    Q, V = np.log([[1.0, 2.0, 5.0]]), np.array([[3.0], [5.0], [7.0]])

    trace = scaled_dot_product_attention(Q, np.eye(3), V, scale=1)

    np.testing.assert_allclose(trace.output, [[float(exact)]], rtol=1e-14)


# Oracles


@settings(max_examples=300)
@given(attention_calls())
def test_output_agrees_with_pytorch(call):
    Q, K, V, options = call
    expected = pytorch_output(Q, K, V, **options)

    trace = scaled_dot_product_attention(Q, K, V, **options, empty_rows="zeros")

    np.testing.assert_allclose(trace.output, expected, rtol=1e-9, atol=1e-10)


@given(attention_calls())
def test_weights_agree_with_pytorch(call):
    # With the identity as values, the output of PyTorch is its weights.
    Q, K, _, options = call
    V = np.eye(K.shape[-2])
    expected = pytorch_output(Q, K, V, **options)

    trace = scaled_dot_product_attention(Q, K, V, **options, empty_rows="zeros")

    np.testing.assert_allclose(trace.weights, expected, rtol=1e-9, atol=1e-15)


def test_output_agrees_with_loops_in_plain_python():
    Q, K, V = random_qkv()
    bias = np.linspace(-1, 1, 15).reshape(3, 5)
    allowed = causal(3, 5, offset=1)
    expected = attention_by_loops(Q.tolist(), K.tolist(), V.tolist(), allowed, bias, 0.7)

    trace = scaled_dot_product_attention(Q, K, V, allowed=allowed, bias=bias, scale=0.7)

    np.testing.assert_allclose(trace.output, expected, rtol=1e-13)


@pytest.mark.parametrize("n_k", [3, 5, 7])
def test_the_causal_mask_means_what_pytorch_means_by_is_causal(n_k):
    Q, K, V = random_qkv(n_q=5, n_k=n_k)
    expected = F.scaled_dot_product_attention(
        *(torch.from_numpy(array) for array in (Q, K, V)), is_causal=True
    )

    trace = scaled_dot_product_attention(Q, K, V, allowed=causal(5, n_k))

    np.testing.assert_allclose(trace.output, expected.numpy(), rtol=1e-12)


def test_self_attention_agrees_with_pytorch_on_the_projections():
    rng = np.random.default_rng(1)
    X, W_Q, W_K, W_V = (rng.normal(size=s) for s in [(2, 4, 6), (6, 3), (6, 3), (6, 5)])
    Q, K, V = (torch.from_numpy(X) @ torch.from_numpy(W) for W in (W_Q, W_K, W_V))

    trace = self_attention(X, W_Q, W_K, W_V)

    expected = F.scaled_dot_product_attention(Q, K, V).numpy()
    np.testing.assert_allclose(trace.output, expected, rtol=1e-12)


# Laws


@given(attention_calls())
def test_rows_of_weights_sum_to_1_or_to_0_where_nothing_is_allowed(call):
    Q, K, V, options = call

    trace = scaled_dot_product_attention(Q, K, V, **options, empty_rows="zeros")

    assert ((trace.weights >= 0) & (trace.weights <= 1)).all()
    wanted = trace.allowed.any(axis=-1).astype(float)
    np.testing.assert_allclose(trace.weights.sum(axis=-1), wanted, rtol=1e-14)


@given(attention_calls())
def test_what_is_not_allowed_gets_exactly_no_weight(call):
    Q, K, V, options = call

    trace = scaled_dot_product_attention(Q, K, V, **options, empty_rows="zeros")

    np.testing.assert_array_equal(trace.weights[~trace.allowed], 0.0)


@given(attention_calls())
def test_output_lies_among_the_values(call):
    Q, K, V, _ = call

    output = scaled_dot_product_attention(Q, K, V).output

    assert (output <= V.max(axis=-2, keepdims=True) + 1e-12).all()
    assert (output >= V.min(axis=-2, keepdims=True) - 1e-12).all()


def test_the_future_gets_weight_0():
    Q, K, V = random_qkv(n_q=5)

    weights = scaled_dot_product_attention(Q, K, V, allowed=causal(5)).weights

    np.testing.assert_array_equal(np.triu(weights, k=1), np.zeros((5, 5)))
    assert (np.tril(weights) > 0).sum() == 15


def test_a_changed_future_leaves_the_past_as_it_was():
    Q, K, V = random_qkv(n_q=5)
    before = scaled_dot_product_attention(Q, K, V, allowed=causal(5)).output
    K[3:], V[3:] = 9.0, -9.0

    after = scaled_dot_product_attention(Q, K, V, allowed=causal(5)).output

    np.testing.assert_array_equal(after[:3], before[:3])
    assert (after[3:] != before[3:]).all()


def test_equal_keys_give_the_mean_of_the_values():
    Q, K, V = random_qkv()
    K[:] = K[0]

    output = scaled_dot_product_attention(Q, K, V).output

    np.testing.assert_allclose(output, np.tile(V.mean(axis=0), (3, 1)), rtol=1e-14)


def test_permuting_queries_permutes_outputs():
    Q, K, V = random_qkv()
    permutation = [2, 0, 1]

    permuted = scaled_dot_product_attention(Q[permutation], K, V).output

    expected = scaled_dot_product_attention(Q, K, V).output[permutation]
    np.testing.assert_allclose(permuted, expected, rtol=1e-14)


def test_permuting_keys_with_their_values_changes_no_output():
    Q, K, V = random_qkv()
    permutation = [3, 0, 4, 1, 2]

    permuted = scaled_dot_product_attention(Q, K[permutation], V[permutation]).output

    np.testing.assert_allclose(permuted, scaled_dot_product_attention(Q, K, V).output, rtol=1e-13)


@given(st.permutations(range(5)))
def test_self_attention_is_permutation_equivariant(permutation):
    rng = np.random.default_rng(2)
    X, W_Q, W_K, W_V = (rng.normal(size=s) for s in [(5, 4), (4, 3), (4, 3), (4, 2)])

    permuted = self_attention(X[permutation], W_Q, W_K, W_V).output

    expected = self_attention(X, W_Q, W_K, W_V).output[permutation]
    np.testing.assert_allclose(permuted, expected, rtol=1e-12)


def test_a_causal_mask_breaks_permutation_equivariance():
    allowed = causal(3)

    reversed_output = self_attention(X[::-1], W_Q, W_K, W_V, allowed=allowed).output

    expected = self_attention(X, W_Q, W_K, W_V, allowed=allowed).output[::-1]
    assert np.abs(reversed_output - expected).max() > 0.1


def test_leading_axes_are_separate_calls():
    Q, K, V = random_qkv(2, 3)

    output = scaled_dot_product_attention(Q, K, V).output

    for batch in range(2):
        for head in range(3):
            alone = scaled_dot_product_attention(Q[batch, head], K[batch, head], V[batch, head])
            np.testing.assert_allclose(output[batch, head], alone.output, rtol=1e-14)


def test_queries_without_leading_axes_are_shared_by_all():
    _, K, V = random_qkv(2)
    Q = random_qkv(seed=7)[0]

    output = scaled_dot_product_attention(Q, K, V).output

    for item in range(2):
        alone = scaled_dot_product_attention(Q, K[item], V[item])
        np.testing.assert_allclose(output[item], alone.output, rtol=1e-14)


# Scale


@pytest.mark.parametrize("d_k", [1, 2, 7, 64])
def test_scores_are_divided_by_the_root_of_d_k(d_k):
    Q, K, V = random_qkv(d_k=d_k)

    trace = scaled_dot_product_attention(Q, K, V)

    np.testing.assert_allclose(trace.scaled_scores * math.sqrt(d_k), trace.scores, rtol=1e-15)


def test_d_model_plays_no_part_in_the_scale():
    rng = np.random.default_rng(3)
    X, W_Q, W_K, W_V = (rng.normal(size=s) for s in [(3, 16), (16, 4), (16, 4), (16, 9)])

    trace = self_attention(X, W_Q, W_K, W_V)

    np.testing.assert_allclose(trace.scaled_scores, trace.scores / 2, rtol=1e-15)


def test_scale_multiplies_the_scores():
    Q, K, V = random_qkv()

    trace = scaled_dot_product_attention(Q, K, V, scale=3)

    np.testing.assert_array_equal(trace.scaled_scores, trace.scores * 3)


def test_a_scale_of_0_weighs_all_keys_alike():
    Q, K, V = random_qkv()

    trace = scaled_dot_product_attention(Q, K, V, scale=0)

    np.testing.assert_array_equal(trace.weights, np.full((3, 5), 1 / 5))


# Masks and biases


def test_a_mask_is_not_a_very_low_score():
    # Filled with 0 or -1e9, the forbidden first key would win over the score of -1e10.
    Q, K, V = np.array([[1.0]]), np.array([[0.0], [-1e10]]), np.array([[1.0], [2.0]])

    trace = scaled_dot_product_attention(Q, K, V, allowed=[[False, True]])

    np.testing.assert_array_equal(trace.masked_scores, [[-np.inf, -1e10]])
    np.testing.assert_array_equal(trace.weights, [[0.0, 1.0]])
    np.testing.assert_array_equal(trace.output, [[2.0]])


@pytest.mark.parametrize("poison", [1e10, np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("where", ["key", "value", "key and value"])
def test_what_stands_at_a_masked_place_changes_nothing(poison, where):
    Q, K, V = random_qkv()
    allowed = np.array([True, True, False, True, False])
    clean = scaled_dot_product_attention(Q, K, V, allowed=allowed)
    if "key" in where:
        K[~allowed] = poison
    if "value" in where:
        V[~allowed] = poison

    poisoned = scaled_dot_product_attention(Q, K, V, allowed=allowed)

    np.testing.assert_array_equal(poisoned.weights, clean.weights)
    np.testing.assert_array_equal(poisoned.output, clean.output)


@pytest.mark.parametrize("poison", [1e10, np.nan, np.inf, -np.inf])
def test_a_bias_of_minus_infinity_hides_a_value_as_a_mask_does(poison):
    Q, K, V = random_qkv()
    bias = np.zeros((3, 5))
    bias[:, 2] = -np.inf
    clean = scaled_dot_product_attention(Q, K, V, bias=bias)
    V[2] = poison

    poisoned = scaled_dot_product_attention(Q, K, V, bias=bias)

    np.testing.assert_array_equal(poisoned.output, clean.output)


@pytest.mark.parametrize(
    "poison",
    [
        1e10,
        np.nan,
        np.inf,
    ],
)
def test_a_bias_of_minus_infinity_hides_a_key_as_a_mask_does(poison):
    Q, K, V = np.ones((1, 2)), np.eye(2), np.eye(2)
    bias = np.array([[0.0, -np.inf]])
    K[1] = poison

    trace = scaled_dot_product_attention(Q, K, V, bias=bias)

    np.testing.assert_array_equal(trace.allowed, [[True, False]])
    np.testing.assert_array_equal(trace.output, [[1.0, 0.0]])


@pytest.mark.parametrize("poison", [np.nan, np.inf, -np.inf])
def test_a_value_that_is_not_finite_reaches_only_who_may_see_it(poison):
    Q, K, V = random_qkv(n_q=5)
    clean = scaled_dot_product_attention(Q, K, V, allowed=causal(5)).output
    V[3, 0] = poison

    output = scaled_dot_product_attention(Q, K, V, allowed=causal(5)).output

    np.testing.assert_array_equal(output[:3], clean[:3])
    np.testing.assert_array_equal(output[3:, 0], [poison, poison])
    np.testing.assert_allclose(output[3:, 1], clean[3:, 1], rtol=1e-14)


def test_a_seen_infinity_is_not_spoiled_by_a_hidden_nan():
    Q, K, V = np.ones((1, 2)), np.eye(2), np.array([[np.inf], [np.nan]])

    trace = scaled_dot_product_attention(Q, K, V, allowed=[[True, False]])

    np.testing.assert_array_equal(trace.output, [[np.inf]])


def test_a_value_that_is_not_finite_stays_in_its_batch_item():
    Q, K, V = random_qkv(2)
    V[1, 0, 0] = np.nan

    output = scaled_dot_product_attention(Q, K, V).output

    assert np.isfinite(output[0]).all()
    np.testing.assert_array_equal(np.isnan(output[1]), [[True, False]] * 3)


def test_nan_in_a_query_stays_in_its_row():
    Q, K, V = random_qkv()
    Q[1, 0] = np.nan

    output = scaled_dot_product_attention(Q, K, V).output

    np.testing.assert_array_equal(np.isnan(output), [[False] * 2, [True] * 2, [False] * 2])


def test_scores_of_1000_are_computed_exactly():
    Q, K, V = np.array([[1000.0]]), np.array([[1.0], [1.0]]), np.array([[1.0], [3.0]])

    trace = scaled_dot_product_attention(Q, K, V)

    np.testing.assert_array_equal(trace.output, [[2.0]])


def test_bias_is_added_after_the_scale():
    Q, K, V = random_qkv()
    bias = np.arange(15.0).reshape(3, 5)

    trace = scaled_dot_product_attention(Q, K, V, bias=bias, scale=0.5)

    np.testing.assert_allclose(trace.biased_scores, trace.scores * 0.5 + bias, rtol=1e-15)


def test_a_bias_common_to_a_row_changes_no_weight():
    Q, K, V = random_qkv()
    bias = np.repeat([[1.0], [-20.0], [300.0]], 5, axis=1)

    weights = scaled_dot_product_attention(Q, K, V, bias=bias).weights

    np.testing.assert_allclose(weights, scaled_dot_product_attention(Q, K, V).weights, rtol=1e-12)


def test_a_bias_of_minus_infinity_is_a_mask():
    Q, K, V = random_qkv(n_q=5)
    bias = np.where(causal(5), 0.0, -np.inf)

    biased = scaled_dot_product_attention(Q, K, V, bias=bias)

    masked = scaled_dot_product_attention(Q, K, V, allowed=causal(5))
    np.testing.assert_array_equal(biased.allowed, masked.allowed)
    np.testing.assert_array_equal(biased.weights, masked.weights)


def test_mask_and_bias_forbid_together():
    Q, K, V = random_qkv(n_q=1, n_k=3)

    trace = scaled_dot_product_attention(
        Q, K, V, allowed=[[True, True, False]], bias=[[-np.inf, 0.0, 0.0]]
    )

    np.testing.assert_array_equal(trace.allowed, [[False, True, False]])
    np.testing.assert_array_equal(trace.weights, [[0.0, 1.0, 0.0]])


@pytest.mark.parametrize("shape", [(), (5,), (1, 5), (3, 1), (2, 1, 1), (2, 3, 5)])
def test_a_mask_broadcasts(shape):
    Q, K, V = random_qkv(2)

    trace = scaled_dot_product_attention(Q, K, V, allowed=np.ones(shape, dtype=bool))

    assert trace.allowed.shape == (2, 3, 5)


# Empty rows and empty axes


def test_a_query_without_a_key_is_refused_with_its_index():
    Q, K, V = random_qkv(2)
    allowed = np.ones((2, 3, 5), dtype=bool)
    allowed[1, 2] = False

    with pytest.raises(EmptyRowError) as caught:
        scaled_dot_product_attention(Q, K, V, allowed=allowed)

    assert caught.value.rows == ((1, 2),)
    assert str(caught.value) == "softmax needs at least one score above -inf in rows (1, 2)"


def test_a_query_without_a_key_gets_zeros_on_request_and_the_others_do_not_notice():
    Q, K, V = random_qkv()
    allowed = np.array([[True] * 5, [False] * 5, [True] * 5])

    trace = scaled_dot_product_attention(Q, K, V, allowed=allowed, empty_rows="zeros")

    everyone = scaled_dot_product_attention(Q, K, V)
    np.testing.assert_array_equal(trace.weights[1], np.zeros(5))
    np.testing.assert_array_equal(trace.output[1], np.zeros(2))
    np.testing.assert_array_equal(trace.output[[0, 2]], everyone.output[[0, 2]])


def test_a_query_without_a_key_gets_zeros_even_of_values_that_are_not_finite():
    Q, K, V = random_qkv()
    V[:] = [[np.nan, np.inf]]

    trace = scaled_dot_product_attention(
        Q, K, V, allowed=np.zeros((3, 5), dtype=bool), empty_rows="zeros"
    )

    np.testing.assert_array_equal(trace.output, np.zeros((3, 2)))


def test_without_keys_every_query_is_refused():
    Q, K, V = random_qkv(n_q=2, n_k=0)

    with pytest.raises(EmptyRowError) as caught:
        scaled_dot_product_attention(Q, K, V)

    assert str(caught.value) == "softmax needs at least one score above -inf in rows (0,), (1,)"


def test_without_keys_every_query_gets_zeros_on_request():
    Q, K, V = random_qkv(n_q=2, n_k=0)

    trace = scaled_dot_product_attention(Q, K, V, empty_rows="zeros")

    assert trace.weights.shape == (2, 0)
    np.testing.assert_array_equal(trace.output, np.zeros((2, 2)))


@pytest.mark.parametrize("leading", [(), (0,)])
def test_without_queries_there_is_no_output(leading):
    Q, K, V = random_qkv(*leading, n_q=0)

    assert scaled_dot_product_attention(Q, K, V).output.shape == (*leading, 0, 2)


@pytest.mark.parametrize("empty_rows", ["raise", "zeros"])
def test_an_empty_sequence_has_an_empty_output(empty_rows):
    Q, K, V = random_qkv(n_q=0, n_k=0)

    trace = scaled_dot_product_attention(Q, K, V, empty_rows=empty_rows)

    assert trace.output.shape == (0, 2)


# The trace


def test_the_trace_names_every_step_in_the_order_of_computation():
    assert [field.name for field in fields(AttentionTrace)] == [
        "Q",
        "K",
        "V",
        "scores",
        "scaled_scores",
        "biased_scores",
        "allowed",
        "masked_scores",
        "weights",
        "output",
    ]


def test_each_step_follows_from_the_step_before():
    Q, K, V = random_qkv(2)
    bias = np.linspace(-1, 1, 15).reshape(3, 5)
    allowed = causal(3, 5)

    trace = scaled_dot_product_attention(Q, K, V, allowed=allowed, bias=bias, scale=0.3)

    exponentials = np.exp(trace.masked_scores)
    exact = {"rtol": 1e-13}
    np.testing.assert_allclose(trace.scores, np.einsum("bqd,bkd->bqk", trace.Q, trace.K), **exact)
    np.testing.assert_allclose(trace.scaled_scores, trace.scores * 0.3, **exact)
    np.testing.assert_allclose(trace.biased_scores, trace.scaled_scores + bias, **exact)
    np.testing.assert_array_equal(trace.allowed, [allowed, allowed])
    np.testing.assert_array_equal(
        trace.masked_scores[allowed[None].repeat(2, 0)], trace.biased_scores[trace.allowed]
    )
    assert np.isneginf(trace.masked_scores[~trace.allowed]).all()
    np.testing.assert_allclose(
        trace.weights, exponentials / exponentials.sum(axis=-1, keepdims=True), **exact
    )
    np.testing.assert_allclose(
        trace.output, np.einsum("bqk,bkv->bqv", trace.weights, trace.V), **exact
    )


@pytest.mark.parametrize("step", [field.name for field in fields(AttentionTrace)])
def test_no_step_of_the_trace_can_be_replaced(step):
    trace = self_attention(X, W_Q, W_K, W_V)

    with pytest.raises(FrozenInstanceError):
        setattr(trace, step, None)


@given(attention_calls())
def test_every_step_has_its_full_shape(call):
    Q, K, V, options = call
    *leading, n_q, d_k = Q.shape
    n_k, d_v = V.shape[-2:]

    trace = scaled_dot_product_attention(Q, K, V, **options, empty_rows="zeros")

    assert trace.Q.shape == (*leading, n_q, d_k)
    assert trace.K.shape == (*leading, n_k, d_k)
    assert trace.V.shape == (*leading, n_k, d_v)
    assert trace.output.shape == (*leading, n_q, d_v)
    steps = ["scores", "scaled_scores", "biased_scores", "allowed", "masked_scores", "weights"]
    for step in steps:
        assert getattr(trace, step).shape == (*leading, n_q, n_k)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"allowed": causal(3, 5)},
        {"bias": np.zeros((3, 5))},
        {"bias": np.zeros((3, 5)), "allowed": causal(3, 5)},
    ],
    ids=lambda options: " and ".join(options) or "plain",
)
def test_every_step_has_its_full_shape_when_values_alone_have_leading_axes(options):
    Q, K, _ = random_qkv()
    V = random_qkv(2)[2]

    trace = scaled_dot_product_attention(Q, K, V, **options)

    for field in fields(AttentionTrace):
        assert getattr(trace, field.name).shape[:-2] == (2,)


@pytest.mark.parametrize("index", [0, 1, -1])
def test_at_gives_all_steps_of_one_entry_of_the_last_leading_axis(index):
    trace = scaled_dot_product_attention(*random_qkv(2, 3))

    one = trace.at(index)

    for field in fields(AttentionTrace):
        np.testing.assert_array_equal(
            getattr(one, field.name), getattr(trace, field.name)[:, index], strict=True
        )


def test_arguments_are_not_written_into():
    arguments = [*random_qkv(), np.zeros((3, 5)), causal(3, 5)]
    for array in arguments:
        array.setflags(write=False)  # writing into one would raise
    Q, K, V, bias, allowed = arguments

    scaled_dot_product_attention(Q, K, V, bias=bias, allowed=allowed)

    for array, original in zip((Q, K, V), random_qkv(), strict=True):
        np.testing.assert_array_equal(array, original)


def test_the_trace_gives_no_way_to_write_into_the_arguments():
    trace = scaled_dot_product_attention(*random_qkv())

    for array in (trace.Q, trace.K, trace.V):
        with pytest.raises(ValueError, match="read-only"):
            array[0, 0] = 0.0


@pytest.mark.parametrize("dtype", [np.int64, np.float16, np.float32])
def test_every_step_is_computed_in_float64(dtype):
    Q, K, V = (array.astype(dtype) for array in (np.eye(2) * 3, np.eye(2), np.eye(2)))

    trace = scaled_dot_product_attention(Q, K, V)

    exact = scaled_dot_product_attention(np.eye(2) * 3, np.eye(2), np.eye(2))
    assert trace.output.dtype == np.float64
    np.testing.assert_array_equal(trace.output, exact.output)


# self_attention


def test_self_attention_projects_and_attends():
    rng = np.random.default_rng(4)
    X, W_Q, W_K, W_V = (rng.normal(size=s) for s in [(3, 4), (4, 2), (4, 2), (4, 5)])
    options = {"allowed": causal(3, offset=-1), "bias": rng.normal(size=(3, 3)), "scale": 0.4}

    trace = self_attention(X, W_Q, W_K, W_V, **options, empty_rows="zeros")

    expected = scaled_dot_product_attention(
        X @ W_Q, X @ W_K, X @ W_V, **options, empty_rows="zeros"
    )
    for field in fields(AttentionTrace):
        np.testing.assert_array_equal(getattr(trace, field.name), getattr(expected, field.name))


def test_a_masked_token_of_nan_reaches_only_its_own_row():
    X_poisoned = np.array([*X[:2], [np.nan, np.nan]])
    allowed = np.array([True, True, False])

    poisoned = self_attention(X_poisoned, W_Q, W_K, W_V, allowed=allowed).output

    clean = self_attention(X, W_Q, W_K, W_V, allowed=allowed).output
    np.testing.assert_array_equal(poisoned[:2], clean[:2])
    assert np.isnan(poisoned[2]).all()


def test_a_masked_token_of_infinity_gives_no_warning():
    X_poisoned = np.array([*X[:2], [np.inf, 0.0]])
    allowed = np.array([True, True, False])

    poisoned = self_attention(X_poisoned, W_Q, W_K, W_V, allowed=allowed).output

    clean = self_attention(X, W_Q, W_K, W_V, allowed=allowed).output
    np.testing.assert_array_equal(poisoned[:2], clean[:2])


# Errors


@pytest.mark.parametrize(
    ("shapes", "message"),
    [
        ([(4,), (5, 4), (5, 2)], "Q must have shape (n_q, d_k), got (4,)"),
        ([(3, 4), (5, 3), (5, 2)], "K must have shape (n_k, 4), got (5, 3)"),
        ([(3, 4), (4,), (5, 2)], "K must have shape (n_k, 4), got (4,)"),
        ([(3, 4), (5, 4), (6, 2)], "V must have shape (5, d_v), got (6, 2)"),
        ([(3, 4), (5, 4), (5,)], "V must have shape (5, d_v), got (5,)"),
        ([(2, 3, 4), (3, 5, 4), (5, 2)], "K must have shape (2, 5, 4), got (3, 5, 4)"),
        ([(2, 3, 4), (5, 4), (3, 5, 2)], "V must have shape (2, 5, 2), got (3, 5, 2)"),
        ([(3, 4), (2, 5, 4), (3, 5, 2)], "V must have shape (2, 5, 2), got (3, 5, 2)"),
    ],
)
def test_a_wrong_shape_names_the_argument(shapes, message):
    Q, K, V = (np.ones(shape) for shape in shapes)

    with pytest.raises(ShapeError) as caught:
        scaled_dot_product_attention(Q, K, V)

    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"bias": np.zeros((5, 3))},
            "bias must have shape (3, 5), got (5, 3)",
        ),
        (
            {"bias": np.zeros((2, 3, 5))},
            "bias must have shape (3, 5), got (2, 3, 5)",
        ),
        (
            {"allowed": np.ones((5, 3), dtype=bool)},
            "allowed must have shape (3, 5), got (5, 3)",
        ),
        (
            {"allowed": np.ones((1, 3, 5), dtype=bool)},
            "allowed must have shape (3, 5), got (1, 3, 5)",
        ),
    ],
)
def test_a_mask_or_bias_of_the_wrong_shape_is_named(options, message):
    with pytest.raises(ShapeError) as caught:
        scaled_dot_product_attention(*random_qkv(), **options)

    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("Q", "Q must hold real numbers, got complex128"),
        ("K", "K must hold real numbers, got complex128"),
        ("V", "V must hold real numbers, got complex128"),
        ("bias", "bias must hold real numbers, got complex128"),
        ("allowed", "allowed must hold booleans (True = may attend), got complex128"),
    ],
)
def test_a_wrong_kind_of_value_names_the_argument(name, message):
    arguments = {"Q": np.eye(2), "K": np.eye(2), "V": np.eye(2), name: np.eye(2) * 1j}

    with pytest.raises(DtypeError) as caught:
        scaled_dot_product_attention(**arguments)

    assert str(caught.value) == message


def test_a_mask_of_ones_and_zeros_is_refused():
    with pytest.raises(DtypeError) as caught:
        scaled_dot_product_attention(*random_qkv(), allowed=np.ones((3, 5), dtype=int))

    assert str(caught.value) == "allowed must hold booleans (True = may attend), got int64"


@pytest.mark.parametrize("scale", [np.nan, np.inf, -np.inf])
def test_a_scale_that_is_not_finite_is_refused(scale):
    with pytest.raises(NotFiniteError) as caught:
        scaled_dot_product_attention(*random_qkv(), scale=scale)

    assert str(caught.value) == "scale must be finite, but is not at index ()"


def test_queries_without_features_are_refused():
    with pytest.raises(RangeError) as caught:
        scaled_dot_product_attention(*random_qkv(d_k=0))

    assert str(caught.value) == "d_k must lie between 1 and inf, got 0"


def test_an_unknown_way_with_empty_rows_is_refused():
    with pytest.raises(ChoiceError) as caught:
        scaled_dot_product_attention(*random_qkv(), empty_rows="nan")

    assert str(caught.value) == "empty_rows must be one of raise, zeros, got 'nan'"


@pytest.mark.parametrize(
    ("name", "shape", "message"),
    [
        ("X", (2,), "X must have shape (n_tokens, d_model), got (2,)"),
        ("W_Q", (3, 2), "W_Q must have shape (2, d_k), got (3, 2)"),
        ("W_K", (3, 2), "W_K must have shape (2, 2), got (3, 2)"),
        ("W_K", (2, 3), "W_K must have shape (2, 2), got (2, 3)"),
        ("W_V", (3, 2), "W_V must have shape (2, d_v), got (3, 2)"),
    ],
)
def test_a_projection_of_the_wrong_shape_is_named(name, shape, message):
    arguments = {"X": X, "W_Q": W_Q, "W_K": W_K, "W_V": W_V, name: np.ones(shape)}

    with pytest.raises(ShapeError) as caught:
        self_attention(**arguments)

    assert str(caught.value) == message


@pytest.mark.parametrize("name", ["X", "W_Q", "W_K", "W_V"])
def test_a_projection_holds_real_numbers(name):
    arguments = {"X": X, "W_Q": W_Q, "W_K": W_K, "W_V": W_V, name: np.eye(2) * 1j}

    with pytest.raises(DtypeError) as caught:
        self_attention(**arguments)

    assert str(caught.value) == f"{name} must hold real numbers, got complex128"


def test_leading_axes_that_do_not_fit_name_the_projection():
    with pytest.raises(ShapeError, match="W_Q must have shape"):
        self_attention(np.ones((2, 3, 2)), np.ones((3, 2, 2)), W_K, W_V)

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from attention_core.attention import scaled_dot_product_attention
from attention_core.errors import ChoiceError, DtypeError, RangeError, ShapeError
from attention_core.positions import (
    PAIRINGS,
    alibi_bias,
    alibi_slopes,
    learned,
    rotary,
    rotation,
    sinusoidal,
)

pairings = pytest.mark.parametrize("pairing", PAIRINGS)


def vectors(min_d_k=1, max_d_k=7):
    shape = st.tuples(st.integers(1, 4), st.integers(min_d_k, max_d_k))
    return arrays(np.float64, shape, elements=st.floats(-10, 10))


# sinusoidal


def test_sinusoidal_by_hand():
    # d_model 4 and base 100: frequencies 1 and 1/10.
    table = sinusoidal(3, 4, base=100)

    sin, cos = math.sin, math.cos
    expected = [
        [0, 1, 0, 1],
        [sin(1), cos(1), sin(0.1), cos(0.1)],
        [sin(2), cos(2), sin(0.2), cos(0.2)],
    ]
    np.testing.assert_allclose(table, expected, rtol=1e-14)


@given(st.integers(1, 20), st.integers(1, 17), st.floats(2, 1e5))
def test_sinusoidal_agrees_with_loops(n_positions, d_model, base):
    expected = [
        [
            (math.cos if column % 2 else math.sin)(position / base ** (2 * (column // 2) / d_model))
            for column in range(d_model)
        ]
        for position in range(n_positions)
    ]

    table = sinusoidal(n_positions, d_model, base=base)

    np.testing.assert_allclose(table, expected, atol=1e-13)


def test_the_base_is_10000_unless_told():
    np.testing.assert_array_equal(sinusoidal(5, 6), sinusoidal(5, 6, base=10_000))


@pytest.mark.parametrize("d_model", [1, 2, 5, 8])
def test_position_0_is_0_1_0_1(d_model):
    np.testing.assert_array_equal(sinusoidal(1, d_model)[0], np.arange(d_model) % 2)


def test_the_last_sine_of_an_odd_width_has_no_cosine():
    # d_model 3 and base 1000: frequencies 1 and 1000^(-2/3) = 1/100.
    table = sinusoidal(2, 3, base=1000)

    np.testing.assert_allclose(table[1], [math.sin(1), math.cos(1), math.sin(0.01)], rtol=1e-14)


@given(st.integers(1, 8), st.integers(0, 30), st.integers(0, 30), st.integers(0, 30))
def test_the_product_of_two_positions_depends_on_their_distance_alone(half, p, q, shift):
    table = sinusoidal(61, 2 * half)

    shifted = table[p + shift] @ table[q + shift]

    np.testing.assert_allclose(shifted, table[p] @ table[q], atol=1e-12)


@pytest.mark.parametrize(
    ("counts", "message"),
    [
        ((0, 4), "n_positions must lie between 1 and inf, got 0"),
        ((3, 0), "d_model must lie between 1 and inf, got 0"),
        ((-3, 4), "n_positions must lie between 1 and inf, got -3"),
    ],
)
def test_a_table_has_at_least_one_row_and_column(counts, message):
    for build in (sinusoidal, lambda *counts: learned(*counts, np.random.default_rng(0))):
        with pytest.raises(RangeError) as caught:
            build(*counts)

        assert str(caught.value) == message


# learned


def test_learned_draws_normal_numbers_of_the_given_scale():
    expected = 0.1 * np.random.default_rng(3).standard_normal((4, 6))

    np.testing.assert_array_equal(learned(4, 6, np.random.default_rng(3), scale=0.1), expected)


def test_the_same_seed_gives_the_same_table():
    first, second = (learned(4, 6, np.random.default_rng(5)) for _ in range(2))

    np.testing.assert_array_equal(first, second)


def test_one_generator_gives_two_tables():
    rng = np.random.default_rng(5)

    assert (learned(4, 6, rng) != learned(4, 6, rng)).all()


def test_learned_entries_have_mean_0_and_deviation_one_half_unless_told():
    table = learned(200, 200, np.random.default_rng(0))

    np.testing.assert_allclose(table.mean(), 0.0, atol=0.01)
    np.testing.assert_allclose(table.std(), 0.5, atol=0.01)


# rotary


def test_rotary_by_hand():
    # d_k 4 and base 100: the pairs turn by 1 and by 1/10 per position.
    rotated = rotary(np.tile([1.0, 0.0, 0.0, 1.0], (3, 1)), base=100)

    sin, cos = math.sin, math.cos
    expected = [
        [1, 0, 0, 1],
        [cos(1), sin(1), -sin(0.1), cos(0.1)],
        [cos(2), sin(2), -sin(0.2), cos(0.2)],
    ]
    np.testing.assert_allclose(rotated, expected, rtol=1e-14, atol=0)


def test_half_split_pairs_the_first_half_with_the_second():
    # Features 0 and 2 turn by 1 per position, features 1 and 3 by 1/10.
    rotated = rotary([[1.0, 0.0, 0.0, 1.0]], offset=1, pairing="half_split", base=100)

    sin, cos = math.sin, math.cos
    np.testing.assert_allclose(rotated, [[cos(1), -sin(0.1), sin(1), cos(0.1)]], rtol=1e-14)


@given(vectors(), st.integers(-50, 50), st.floats(2, 1e5))
def test_interleaved_agrees_with_complex_multiplication(features, offset, base):
    n_pairs = features.shape[-1] // 2
    expected = features.copy()
    for token, i in np.ndindex(len(features), n_pairs):
        turn = np.exp(1j * (token + offset) * base ** (-2 * i / (2 * n_pairs)))
        turned = complex(features[token, 2 * i], features[token, 2 * i + 1]) * turn
        expected[token, 2 * i : 2 * i + 2] = turned.real, turned.imag

    rotated = rotary(features, offset=offset, base=base)

    np.testing.assert_allclose(rotated, expected, atol=1e-11)


def test_half_split_agrees_with_the_published_code_of_llama():
    x = np.random.default_rng(0).normal(size=(2, 5, 6))
    tokens = torch.from_numpy(x)
    inverse_frequencies = 1.0 / (10_000 ** (torch.arange(0, 6, 2, dtype=torch.float64) / 6))
    angles = torch.outer(torch.arange(5, dtype=torch.float64), inverse_frequencies)
    angles = torch.cat((angles, angles), dim=-1)
    rotated_half = torch.cat((-tokens[..., 3:], tokens[..., :3]), dim=-1)
    expected = tokens * angles.cos() + rotated_half * angles.sin()

    rotated = rotary(x, pairing="half_split")

    np.testing.assert_allclose(rotated, expected.numpy(), rtol=1e-12)


@pairings
@given(
    q=arrays(np.float64, (1, 5), elements=st.floats(-10, 10)),
    k=arrays(np.float64, (1, 5), elements=st.floats(-10, 10)),
    positions=st.tuples(st.integers(0, 100), st.integers(0, 100)),
    shift=st.integers(-10_000, 10_000),
)
def test_the_score_depends_on_the_distance_alone(pairing, q, k, positions, shift):
    def score(i, j):
        query = rotary(q, offset=i, pairing=pairing)
        key = rotary(k, offset=j, pairing=pairing)
        return (query @ key.T).item()

    i, j = positions

    np.testing.assert_allclose(score(i + shift, j + shift), score(i, j), rtol=0, atol=1e-8)


@pairings
def test_the_score_does_depend_on_the_distance(pairing):
    vector = np.ones((1, 4))

    scores = [(vector @ rotary(vector, offset=i, pairing=pairing).T).item() for i in range(3)]

    assert scores[0] > scores[1] + 0.1 > scores[2] + 0.2


@pairings
@given(features=vectors(), offset=st.integers(-10_000, 10_000))
def test_rotation_preserves_length(pairing, features, offset):
    rotated = rotary(features, offset=offset, pairing=pairing)

    lengths = np.linalg.norm(features, axis=-1)
    np.testing.assert_allclose(np.linalg.norm(rotated, axis=-1), lengths, rtol=1e-13, atol=1e-150)


@given(features=vectors(), offset=st.integers(-100, 100))
def test_the_pairings_differ_by_a_permutation_of_features(features, offset):
    d_k = features.shape[-1]
    paired = 2 * (d_k // 2)
    permutation = [*range(0, paired, 2), *range(1, paired, 2), *range(paired, d_k)]

    half_split = rotary(features[:, permutation], offset=offset, pairing="half_split")

    interleaved = rotary(features, offset=offset)
    np.testing.assert_array_equal(half_split, interleaved[:, permutation])


@pairings
def test_position_0_is_not_turned(pairing):
    x = np.random.default_rng(1).normal(size=(1, 5))

    np.testing.assert_array_equal(rotary(x, pairing=pairing), x)


@pairings
@pytest.mark.parametrize("offset", [1, 7])
def test_offset_is_the_position_of_the_first_token(pairing, offset):
    x = np.random.default_rng(1).normal(size=(offset + 3, 4))

    later = rotary(x[offset:], offset=offset, pairing=pairing)

    np.testing.assert_array_equal(later, rotary(x, pairing=pairing)[offset:])


@pairings
def test_the_opposite_positions_turn_back(pairing):
    x = np.random.default_rng(1).normal(size=(1, 6))

    back = rotary(rotary(x, offset=5, pairing=pairing), offset=-5, pairing=pairing)

    np.testing.assert_allclose(back, x, rtol=1e-14)


@pairings
def test_the_last_feature_of_an_odd_width_stays(pairing):
    x = np.random.default_rng(1).normal(size=(4, 5))

    rotated = rotary(x, pairing=pairing)

    np.testing.assert_array_equal(rotated[:, 4], x[:, 4])
    assert (rotated[1:, :4] != x[1:, :4]).all()


@pairings
def test_a_single_feature_has_nothing_to_turn_with(pairing):
    np.testing.assert_array_equal(rotary([[3.0], [4.0]], pairing=pairing), [[3.0], [4.0]])


@pairings
def test_leading_axes_turn_alike(pairing):
    x = np.random.default_rng(2).normal(size=(2, 3, 4, 6))

    rotated = rotary(x, pairing=pairing)

    np.testing.assert_array_equal(rotated[1, 2], rotary(x[1, 2], pairing=pairing))


def test_rotary_does_not_write_into_its_argument():
    x = np.ones((3, 4))
    x.setflags(write=False)  # writing into it would raise

    rotary(x)

    np.testing.assert_array_equal(x, np.ones((3, 4)))


def test_an_unknown_pairing_is_refused():
    with pytest.raises(ChoiceError) as caught:
        rotary(np.ones((2, 4)), pairing="odd")

    assert str(caught.value) == "pairing must be one of interleaved, half_split, got 'odd'"


def test_a_lone_vector_has_no_position():
    with pytest.raises(ShapeError) as caught:
        rotary(np.ones(4))

    assert str(caught.value) == "vectors must have shape (n_tokens, d_k), got (4,)"


def test_vectors_hold_real_numbers():
    with pytest.raises(DtypeError) as caught:
        rotary(np.ones((2, 4), dtype=complex))

    assert str(caught.value) == "vectors must hold real numbers, got complex128"


# alibi


def published_slopes(n):
    """The recursion of the authors (ofirpress/attention_with_linear_biases)."""

    def power_of_2(n):
        start = 2 ** (-(2 ** -(math.log2(n) - 3)))
        return [start * start**i for i in range(n)]

    if math.log2(n).is_integer():
        return power_of_2(n)
    closest = 2 ** math.floor(math.log2(n))
    return power_of_2(closest) + published_slopes(2 * closest)[0::2][: n - closest]


def test_the_slopes_of_8_heads_halve():
    halves = [1 / 2, 1 / 4, 1 / 8, 1 / 16, 1 / 32, 1 / 64, 1 / 128, 1 / 256]

    np.testing.assert_array_equal(alibi_slopes(8), halves)


def test_the_slopes_of_12_heads_are_those_of_8_and_4_of_16():
    # Every second slope of 16 heads: 2^-0.5, 2^-1.5, 2^-2.5, 2^-3.5.
    slopes = alibi_slopes(12)

    np.testing.assert_array_equal(slopes[:8], alibi_slopes(8))
    np.testing.assert_allclose(slopes[8:] ** 2, [1 / 2, 1 / 8, 1 / 32, 1 / 128], rtol=1e-14)


@pytest.mark.parametrize("n_heads", [*range(1, 34), 40, 100, 112, 128])
def test_the_slopes_are_those_of_the_published_recursion(n_heads):
    slopes = alibi_slopes(n_heads)

    assert slopes.shape == (n_heads,)
    np.testing.assert_allclose(slopes, published_slopes(n_heads), rtol=1e-12)


@given(st.integers(1, 200))
def test_slopes_are_positive_and_distinct(n_heads):
    slopes = alibi_slopes(n_heads)

    assert ((slopes > 0) & (slopes < 1)).all()
    assert len(set(slopes.tolist())) == n_heads


@pytest.mark.parametrize("n_heads", [0, -1])
def test_slopes_need_a_head(n_heads):
    with pytest.raises(RangeError) as caught:
        alibi_slopes(n_heads)

    assert str(caught.value) == f"n_heads must lie between 1 and inf, got {n_heads}"


def test_the_number_of_heads_may_come_from_numpy():
    np.testing.assert_array_equal(alibi_slopes(np.int64(12)), alibi_slopes(12))


def test_alibi_bias_by_hand():
    bias = alibi_bias(2, 3, [0.5, 2.0])

    np.testing.assert_array_equal(
        bias,
        [
            [[0.0, -0.5, -1.0], [-0.5, 0.0, -0.5]],
            [[0.0, -2.0, -4.0], [-2.0, 0.0, -2.0]],
        ],
    )


@given(st.integers(1, 5), st.integers(1, 5), st.integers(1, 5))
def test_alibi_bias_agrees_with_loops(n_q, n_k, n_heads):
    slopes = alibi_slopes(n_heads)
    expected = [[[-slope * abs(i - j) for j in range(n_k)] for i in range(n_q)] for slope in slopes]

    np.testing.assert_array_equal(alibi_bias(n_q, n_k, slopes), expected)


def test_the_diagonal_is_0_and_not_minus_0():
    bias = alibi_bias(3, 3, [0.5])

    np.testing.assert_array_equal(np.diagonal(bias[0]), np.zeros(3))
    assert not np.signbit(np.diagonal(bias[0])).any()


def test_alibi_weighs_the_nearer_of_equal_keys_more():
    Q, K, V = np.ones((1, 2)), np.ones((5, 2)), np.eye(5)

    trace = scaled_dot_product_attention(Q, K, V, bias=alibi_bias(1, 5, alibi_slopes(1))[0])

    assert (np.diff(trace.weights[0]) < 0).all()


def test_a_bias_with_slopes_0_is_nothing():
    np.testing.assert_array_equal(alibi_bias(2, 3, [0.0]), np.zeros((1, 2, 3)))


@pytest.mark.parametrize(
    ("counts", "message"),
    [
        ((0, 2), "n_q must lie between 1 and inf, got 0"),
        ((2, 0), "n_k must lie between 1 and inf, got 0"),
    ],
)
def test_alibi_bias_needs_a_query_and_a_key(counts, message):
    with pytest.raises(RangeError) as caught:
        alibi_bias(*counts, [1.0])

    assert str(caught.value) == message


def test_a_lone_slope_is_refused():
    with pytest.raises(ShapeError) as caught:
        alibi_bias(2, 2, 1.0)

    assert str(caught.value) == "slopes must have shape (n_heads,), got ()"


def test_slopes_of_two_axes_are_refused():
    with pytest.raises(ShapeError) as caught:
        alibi_bias(2, 2, [[1.0]])

    assert str(caught.value) == "slopes must have shape (n_heads,), got (1, 1)"


def test_slopes_hold_real_numbers():
    with pytest.raises(DtypeError) as caught:
        alibi_bias(2, 2, [1j])

    assert str(caught.value) == "slopes must hold real numbers, got complex128"


def test_the_turns_of_two_pairs_by_hand():
    cos, sin = rotation(2, 2, offset=3, base=100.0)

    angles = np.array([[3, 0.3], [4, 0.4]])  # 100^0 and 100^(-1/2) per place
    np.testing.assert_allclose(cos, np.cos(angles), rtol=1e-15)
    np.testing.assert_allclose(sin, np.sin(angles), rtol=1e-15)
    assert [turn.shape for turn in rotation(3, 0)] == [(3, 0), (3, 0)]

from fractions import Fraction

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from attention_core.errors import DtypeError, EmptyRowError, ShapeError
from attention_core.softmax import (
    entropy,
    naive_softmax,
    softmax,
    softmax_jacobian,
    softmax_or_zeros,
    softmax_trace,
)

SHAPES = array_shapes(min_dims=1, max_dims=3, max_side=6)
SCORES = arrays(np.float64, SHAPES, elements=st.floats(-1e3, 1e3))
SMALL_SCORES = arrays(np.float64, SHAPES, elements=st.floats(-20, 20))


def read_only(value):
    array = np.array(value)
    array.setflags(write=False)
    return array


# softmax


def test_two_scores_by_hand():
    # exp(0) : exp(ln 3) = 1 : 3
    weights = softmax([0.0, np.log(3)])

    np.testing.assert_allclose(weights, [1 / 4, 3 / 4], rtol=1e-15)


def test_each_row_is_its_own_distribution():
    weights = softmax([[0.0, np.log(3)], [np.log(9), 0.0]])

    np.testing.assert_allclose(weights, [[1 / 4, 3 / 4], [9 / 10, 1 / 10]], rtol=1e-15)


@given(st.lists(st.integers(1, 1000), min_size=1, max_size=8))
def test_logarithms_of_whole_numbers_give_exact_fractions(counts):
    exact = [Fraction(count, sum(counts)) for count in counts]

    weights = softmax(np.log(counts))

    np.testing.assert_allclose(weights, [float(part) for part in exact], rtol=1e-13)


@given(SCORES)
def test_softmax_agrees_with_pytorch(scores):
    expected = torch.softmax(torch.from_numpy(scores), dim=-1).numpy()

    np.testing.assert_allclose(softmax(scores), expected, rtol=1e-13, atol=0)


@given(SCORES)
def test_weights_lie_between_0_and_1_and_rows_sum_to_1(scores):
    weights = softmax(scores)

    assert ((weights >= 0) & (weights <= 1)).all()
    np.testing.assert_allclose(weights.sum(axis=-1), 1.0, rtol=1e-14)


@given(SCORES, st.floats(-1e3, 1e3))
def test_adding_a_constant_to_a_row_changes_nothing(scores, constant):
    shifted = softmax(scores + constant)

    np.testing.assert_allclose(shifted, softmax(scores), rtol=1e-11, atol=1e-300)


@given(SCORES, st.randoms(use_true_random=False))
def test_permuting_scores_permutes_weights(scores, random):
    permutation = random.sample(range(scores.shape[-1]), scores.shape[-1])

    permuted = softmax(scores[..., permutation])

    np.testing.assert_allclose(permuted, softmax(scores)[..., permutation], rtol=1e-14)


@given(SCORES)
def test_a_higher_score_never_gets_less_weight(scores):
    order = np.argsort(scores, axis=-1)

    ordered = np.take_along_axis(softmax(scores), order, axis=-1)

    assert (np.diff(ordered, axis=-1) >= 0).all()


def test_scores_of_1000_overflow_without_the_shift_and_not_with_it():
    scores = np.array([1000.0, 1000.0 + np.log(3)])

    assert np.isnan(naive_softmax(scores)).all()
    np.testing.assert_allclose(softmax(scores), [1 / 4, 3 / 4], rtol=1e-12)


def test_scores_of_minus_1000_underflow_without_the_shift_and_not_with_it():
    scores = np.array([-1000.0, -1000.0 + np.log(3)])

    assert np.isnan(naive_softmax(scores)).all()
    np.testing.assert_allclose(softmax(scores), [1 / 4, 3 / 4], rtol=1e-12)


def test_the_shift_is_each_rows_own_maximum():
    # One maximum for the whole array would underflow the second row to 0/0.
    weights = softmax([[1000.0, 1000.0], [-1000.0, -1000.0]])

    np.testing.assert_array_equal(weights, [[0.5, 0.5], [0.5, 0.5]])


def test_a_score_of_minus_infinity_gets_exactly_no_weight():
    weights = softmax([-np.inf, 0.0, -np.inf, 0.0])

    np.testing.assert_array_equal(weights, [0.0, 0.5, 0.0, 0.5])


@pytest.mark.parametrize("wrong", [np.nan, np.inf])
def test_a_row_with_nan_or_infinity_is_nan_and_alone_in_it(wrong):
    weights = softmax([[1.0, wrong], [0.0, np.log(3)]])

    assert np.isnan(weights[0]).all()
    np.testing.assert_allclose(weights[1], [1 / 4, 3 / 4], rtol=1e-15)


@pytest.mark.parametrize("dtype", [np.int64, np.float16, np.float32])
def test_softmax_computes_in_float64(dtype):
    weights = softmax(np.array([0, 12], dtype=dtype))

    assert weights.dtype == np.float64
    np.testing.assert_allclose(weights[0], 1 / (1 + np.exp(12.0)), rtol=1e-14)


def test_a_row_of_minus_infinity_is_refused_with_its_index():
    scores = np.zeros((2, 3, 4))
    scores[1, 2] = -np.inf

    with pytest.raises(EmptyRowError) as caught:
        softmax(scores)

    assert caught.value.rows == ((1, 2),)
    assert str(caught.value) == "softmax needs at least one score above -inf in rows (1, 2)"


def test_rows_without_any_score_are_refused():
    with pytest.raises(EmptyRowError) as caught:
        softmax(np.zeros((2, 0)))

    assert str(caught.value) == "softmax needs at least one score above -inf in rows (0,), (1,)"


def test_no_rows_give_no_weights():
    assert softmax(np.zeros((0, 3))).shape == (0, 3)


def test_no_rows_of_no_scores_give_no_weights():
    assert softmax(np.zeros((0, 0))).shape == (0, 0)


def test_scores_as_far_apart_as_float64_allows_give_no_warning():
    weights = softmax([-1.7e308, 1.7e308])

    np.testing.assert_array_equal(weights, [0.0, 1.0])


@pytest.mark.parametrize(
    ("function", "name"),
    [
        (softmax, "scores"),
        (softmax_trace, "scores"),
        (entropy, "weights"),
        (softmax_jacobian, "weights"),
    ],
)
def test_a_lone_number_is_no_row(function, name):
    with pytest.raises(ShapeError) as caught:
        function(1.0)

    assert str(caught.value) == f"{name} must have shape (n,), got ()"


@pytest.mark.parametrize(
    ("function", "name"),
    [
        (softmax, "scores"),
        (softmax_trace, "scores"),
        (entropy, "weights"),
        (softmax_jacobian, "weights"),
    ],
)
@pytest.mark.parametrize(("row", "dtype"), [([True], "bool"), ([1j], "complex128")])
def test_a_row_holds_real_numbers(function, name, row, dtype):
    with pytest.raises(DtypeError) as caught:
        function(row)

    assert str(caught.value) == f"{name} must hold real numbers, got {dtype}"


@pytest.mark.parametrize(
    "function", [softmax, softmax_trace, naive_softmax, entropy, softmax_jacobian]
)
def test_the_argument_is_not_written_into(function):
    argument = read_only([[0.25, 0.75], [1.0, 0.0]])

    function(argument)

    np.testing.assert_array_equal(argument, [[0.25, 0.75], [1.0, 0.0]])


# softmax_or_zeros


def test_a_row_of_minus_infinity_gets_weights_of_0_and_the_others_theirs():
    weights = softmax_or_zeros([[-np.inf, -np.inf], [0.0, np.log(3)], [5.0, -np.inf]])

    np.testing.assert_allclose(weights, [[0, 0], [1 / 4, 3 / 4], [1, 0]], rtol=1e-15)


@given(SCORES)
def test_where_no_row_is_empty_it_is_softmax(scores):
    np.testing.assert_array_equal(softmax_or_zeros(scores), softmax(scores))


def test_rows_without_any_score_get_no_weights():
    assert softmax_or_zeros(np.zeros((2, 0))).shape == (2, 0)


# softmax_trace


def test_every_step_by_hand():
    # exp(ln 2 - ln 4) = 1/2, exp(ln 4 - ln 4) = 1; each row has a maximum and a total of its own
    trace = softmax_trace([[np.log(2), np.log(4)], [0.0, -np.inf]])

    np.testing.assert_allclose(trace.maximum, [[np.log(4)], [0]], rtol=1e-15)
    np.testing.assert_allclose(trace.shifted, [[-np.log(2), 0], [0, -np.inf]], rtol=1e-15)
    np.testing.assert_allclose(trace.exponentials, [[1 / 2, 1], [1, 0]], rtol=1e-15)
    np.testing.assert_allclose(trace.total, [[3 / 2], [1]], rtol=1e-15)
    np.testing.assert_allclose(trace.weights, [[1 / 3, 2 / 3], [1, 0]], rtol=1e-15)


@given(st.lists(st.integers(1, 1000), min_size=1, max_size=8))
def test_the_steps_of_logarithms_are_exact_fractions(counts):
    exponentials = [Fraction(count, max(counts)) for count in counts]

    trace = softmax_trace(np.log(counts))

    np.testing.assert_allclose(trace.exponentials, list(map(float, exponentials)), rtol=1e-13)
    np.testing.assert_allclose(trace.total, [float(sum(exponentials))], rtol=1e-13)


@given(SCORES)
def test_every_step_agrees_with_pytorch(scores):
    rows = torch.from_numpy(scores)
    maximum = rows.amax(dim=-1, keepdim=True)
    exponentials = (rows - maximum).exp()

    trace = softmax_trace(scores)

    np.testing.assert_array_equal(trace.maximum, maximum)
    np.testing.assert_array_equal(trace.shifted, rows - maximum)
    np.testing.assert_allclose(trace.exponentials, exponentials, rtol=1e-14)
    np.testing.assert_allclose(trace.total, exponentials.sum(dim=-1, keepdim=True), rtol=1e-14)
    np.testing.assert_allclose(trace.weights, torch.softmax(rows, dim=-1), rtol=1e-13)


@given(SCORES)
def test_each_step_is_made_of_the_one_before_and_the_last_one_is_softmax(scores):
    trace = softmax_trace(scores)

    np.testing.assert_array_equal(trace.shifted, scores - trace.maximum)
    assert (trace.shifted.max(axis=-1) == 0).all()
    np.testing.assert_array_equal(trace.exponentials, np.exp(trace.shifted))
    assert trace.total.shape == trace.maximum.shape == (*scores.shape[:-1], 1)
    np.testing.assert_array_equal(trace.weights, trace.exponentials / trace.total)
    np.testing.assert_array_equal(softmax(scores), trace.weights)


@pytest.mark.parametrize("score", [1000.0, -1000.0, 1.7e308])
def test_exponentials_neither_overflow_nor_vanish_where_those_of_the_naive_form_do(score):
    with np.errstate(over="ignore"):
        assert np.exp(score) in (0, np.inf)

    trace = softmax_trace([score, score])

    assert trace.exponentials.tolist() == [1, 1]
    assert trace.total.tolist() == [2]


def test_no_step_is_taken_in_a_row_without_any_score():
    with pytest.raises(EmptyRowError) as caught:
        softmax_trace([[0.0, 1.0], [-np.inf, -np.inf]])

    assert str(caught.value) == "softmax needs at least one score above -inf in rows (1,)"


# naive_softmax


def test_two_scores_by_hand_without_the_shift():
    weights = naive_softmax(np.array([[0.0, np.log(3)]]))

    np.testing.assert_allclose(weights, [[1 / 4, 3 / 4]], rtol=1e-15)


@given(SMALL_SCORES)
def test_small_scores_need_no_shift(scores):
    np.testing.assert_allclose(naive_softmax(scores), softmax(scores), rtol=1e-13)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_the_naive_form_keeps_its_dtype(dtype):
    assert naive_softmax(np.array([1.0, 2.0], dtype=dtype)).dtype == dtype


@pytest.mark.parametrize(
    ("dtype", "threshold"), [(np.float16, 11.0899), (np.float32, 88.7228), (np.float64, 709.7827)]
)
def test_the_naive_form_overflows_at_the_threshold_of_its_dtype(dtype, threshold):
    below = naive_softmax(np.array([threshold - 0.01, 0.0], dtype=dtype))
    above = naive_softmax(np.array([threshold + 0.01, 0.0], dtype=dtype))

    np.testing.assert_allclose(below[0], 1.0, rtol=1e-3)
    assert np.isnan(above[0])


@pytest.mark.parametrize(
    ("dtype", "score"), [(np.float16, -18.0), (np.float32, -105.0), (np.float64, -750.0)]
)
def test_the_naive_form_underflows_to_0_over_0(dtype, score):
    weights = naive_softmax(np.array([score, score], dtype=dtype))

    assert np.isnan(weights).all()


# entropy


def test_entropy_by_hand():
    # -(1/2 ln 1/2 + 2 · 1/4 ln 1/4) = 1/2 ln 2 + ln 2
    np.testing.assert_allclose(entropy([1 / 2, 1 / 4, 1 / 4]), 1.5 * np.log(2), rtol=1e-15)


@given(SMALL_SCORES)
def test_entropy_agrees_with_pytorch(scores):
    weights = softmax(scores)
    expected = torch.special.entr(torch.from_numpy(weights)).sum(dim=-1).numpy()

    np.testing.assert_allclose(entropy(weights), expected, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("n", [1, 2, 5])
def test_the_entropy_of_one_hot_is_0_and_not_minus_0(n):
    spread = entropy(np.eye(n))

    np.testing.assert_array_equal(spread, np.zeros(n))
    assert not np.signbit(spread).any()


@pytest.mark.parametrize("n", [1, 2, 3, 10, 1000])
def test_the_entropy_of_uniform_is_ln_n(n):
    np.testing.assert_allclose(entropy(np.full(n, 1 / n)), np.log(n), rtol=1e-13, atol=1e-15)


@given(SCORES)
def test_entropy_lies_between_0_and_ln_n(scores):
    spread = entropy(softmax(scores))

    assert (spread >= 0).all()
    assert (spread <= np.log(scores.shape[-1]) + 1e-12).all()


@given(SMALL_SCORES, SMALL_SCORES)
def test_entropies_of_independent_choices_add_up(first, second):
    p, q = softmax(first.ravel()), softmax(second.ravel())

    together = entropy(np.outer(p, q).ravel())

    np.testing.assert_allclose(together, entropy(p) + entropy(q), rtol=1e-11, atol=1e-12)


def test_a_weight_of_0_breaks_the_textbook_entropy_and_not_ours():
    weights = np.array([0.5, 0.0, 0.5])

    with np.errstate(divide="ignore", invalid="ignore"):
        textbook = -(weights * np.log(weights)).sum()

    assert np.isnan(textbook)
    np.testing.assert_allclose(entropy(weights), np.log(2), rtol=1e-15)


def test_the_entropy_of_nan_weights_is_nan():
    assert np.isnan(entropy([np.nan, np.nan]))


def test_entropy_measures_each_row():
    assert entropy(np.full((4, 2, 3), 1 / 3)).shape == (4, 2)


# softmax_jacobian


def test_jacobian_by_hand():
    # 1/4 - 1/16 on the diagonal for the first, 3/4 - 9/16 for the second, -3/16 elsewhere
    jacobian = softmax_jacobian([1 / 4, 3 / 4])

    np.testing.assert_allclose(jacobian, [[3 / 16, -3 / 16], [-3 / 16, 3 / 16]], rtol=1e-15)


@given(arrays(np.float64, st.integers(1, 6), elements=st.floats(-20, 20)))
def test_jacobian_agrees_with_autograd(scores):
    def row(values):
        return torch.softmax(values, dim=-1)

    expected = torch.autograd.functional.jacobian(row, torch.from_numpy(scores)).numpy()

    np.testing.assert_allclose(softmax_jacobian(softmax(scores)), expected, rtol=1e-9, atol=1e-15)


def test_jacobian_predicts_a_small_step():
    scores = np.array([0.3, -1.2, 2.0])
    step = 1e-4 * np.array([1.0, -2.0, 0.5])

    change = softmax(scores + step) - softmax(scores - step)

    np.testing.assert_allclose(2 * softmax_jacobian(softmax(scores)) @ step, change, rtol=1e-6)


@given(SCORES)
def test_jacobian_is_symmetric_and_its_rows_sum_to_0(scores):
    jacobian = softmax_jacobian(softmax(scores))

    np.testing.assert_array_equal(jacobian, np.swapaxes(jacobian, -1, -2))
    np.testing.assert_allclose(jacobian.sum(axis=-1), 0.0, atol=1e-15)


def test_one_hot_weights_do_not_move():
    np.testing.assert_array_equal(softmax_jacobian([0.0, 1.0, 0.0]), np.zeros((3, 3)))


def test_each_row_has_its_own_jacobian():
    weights = softmax(np.arange(24.0).reshape(2, 3, 4) % 5)

    jacobian = softmax_jacobian(weights)

    assert jacobian.shape == (2, 3, 4, 4)
    np.testing.assert_array_equal(jacobian[1, 2], softmax_jacobian(weights[1, 2]))

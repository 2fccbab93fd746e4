import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from attention_core.errors import ChoiceError, EmptyRowError, ShapeError
from attention_core.precision import (
    PRECISIONS,
    are_wrong,
    first_fault,
    largest_exponent,
    least_exponent,
    log_of_largest,
    softmax_in,
)
from attention_core.softmax import naive_softmax, softmax

every_precision = pytest.mark.parametrize("precision", PRECISIONS)
SCORES = st.lists(st.floats(-5, 5), min_size=1, max_size=6)
DIGITS = {"float16": 0.02, "float32": 1e-5, "float64": 1e-13}


# softmax_in


def test_every_step_of_the_textbook_form_by_hand():
    trace = softmax_in([0.0, np.log(3), -np.inf], "float64", is_shifted=False)

    assert [step for step, _ in trace.steps()] == ["scores", "exponentials", "total", "weights"]
    np.testing.assert_allclose(trace.exponentials, [1, 3, 0], rtol=1e-15)
    np.testing.assert_allclose(trace.total, [4], rtol=1e-15)
    np.testing.assert_allclose(trace.weights, [1 / 4, 3 / 4, 0], rtol=1e-15)


def test_every_step_of_the_shifted_form_by_hand():
    trace = softmax_in([0.0, np.log(3), -np.inf], "float64", is_shifted=True, offset=1000.0)

    steps = dict(trace.steps())
    assert list(steps) == ["scores", "maximum", "shifted", "exponentials", "total", "weights"]
    np.testing.assert_allclose(steps["maximum"], [1000 + np.log(3)], rtol=1e-15)
    np.testing.assert_allclose(steps["shifted"], [-np.log(3), 0, -np.inf], rtol=1e-12)
    np.testing.assert_allclose(steps["exponentials"], [1 / 3, 1, 0], rtol=1e-12)
    np.testing.assert_allclose(steps["total"], [4 / 3], rtol=1e-12)
    np.testing.assert_allclose(steps["weights"], [1 / 4, 3 / 4, 0], rtol=1e-12)


@every_precision
@pytest.mark.parametrize("is_shifted", [False, True])
def test_every_step_keeps_the_type(precision, is_shifted):
    trace = softmax_in([1.0, -2.0], precision, offset=3.0, is_shifted=is_shifted)

    assert {values.dtype for _, values in trace.steps()} == {np.dtype(precision)}


@every_precision
@given(scores=SCORES)
def test_small_scores_need_no_shift(precision, scores):
    for is_shifted in (False, True):
        trace = softmax_in(scores, precision, is_shifted=is_shifted)

        assert first_fault(trace, scores) is None
        np.testing.assert_allclose(trace.weights, softmax(scores), atol=DIGITS[precision])


@given(st.lists(st.floats(-300, 300), min_size=1, max_size=6))
def test_the_textbook_form_is_naive_softmax(scores):
    trace = softmax_in(scores, "float32", is_shifted=False)

    np.testing.assert_array_equal(trace.weights, naive_softmax(np.array(scores, np.float32)))


@given(SCORES)
def test_both_forms_agree_with_pytorch_in_single_precision(scores):
    rows = torch.tensor(scores, dtype=torch.float32)
    exponentials = rows.exp()

    textbook, shifted = (softmax_in(scores, "float32", is_shifted=how) for how in (False, True))

    np.testing.assert_allclose(textbook.weights, exponentials / exponentials.sum(), rtol=1e-5)
    np.testing.assert_allclose(shifted.weights, torch.softmax(rows, dim=-1), rtol=1e-5)


@every_precision
@given(scores=SCORES, offset=st.sampled_from([-1000, -750, 12, 89, 710, 1000]))
def test_the_shifted_form_gives_numbers_where_the_textbook_form_breaks(precision, scores, offset):
    weights = softmax_in(scores, precision, offset=offset, is_shifted=True).weights

    assert np.isfinite(weights).all()
    assert weights.astype(np.float64).sum() == pytest.approx(1, abs=DIGITS[precision])


def test_the_offset_is_added_in_the_type_itself():
    # At 1000, neighbours in float16 are half apart. 0.25001 is 0.25 there, and 1000.25 is a tie,
    # which goes to 1000; 1000.25001, added in float64, would go to 1000.5.
    trace = softmax_in([0.25001], "float16", offset=1000.0, is_shifted=True)

    assert trace.scores.tolist() == [1000.0]


def test_a_row_without_any_score_is_refused():
    with pytest.raises(EmptyRowError):
        softmax_in([-np.inf, -np.inf], "float16", is_shifted=True)


def test_only_one_row_is_taken():
    with pytest.raises(ShapeError, match=r"scores must have shape \(n,\), got \(1, 2\)"):
        softmax_in([[0.0, 1.0]], "float16", is_shifted=True)


@pytest.mark.parametrize(
    "function",
    [
        lambda name: softmax_in([0.0], name, is_shifted=True),
        largest_exponent,
        least_exponent,
        log_of_largest,
    ],
)
def test_an_unknown_type_is_refused(function):
    with pytest.raises(ChoiceError) as caught:
        function("float8")

    assert str(caught.value) == ("precision must be one of float16, float32, float64, got 'float8'")


# are_wrong, first_fault


@pytest.mark.parametrize(
    ("scores", "precision", "offset", "fault"),
    [
        ([0.0, 1.0], "float16", 0, None),
        ([0.0, 1.0], "float16", 12, ("exponentials", math.inf)),
        ([0.0, 1.0], "float32", 89, ("exponentials", math.inf)),
        ([0.0, 1.0], "float64", 710, ("exponentials", math.inf)),
        ([0.0, 1.0], "float64", -750, ("exponentials", 0.0)),
        ([10.9, 10.9], "float16", 0, ("total", math.inf)),  # 2 · 54176 is above 65504
        ([0.0, -30.0], "float16", 0, ("exponentials", 0.0)),
        ([1e6, 0.0], "float16", 0, ("scores", math.inf)),
        ([-np.inf, 0.0], "float16", 0, None),  # forbidden: -inf and 0 are right
    ],
)
def test_the_first_step_that_goes_wrong_in_the_textbook_form(scores, precision, offset, fault):
    trace = softmax_in(scores, precision, offset=offset, is_shifted=False)

    assert first_fault(trace, scores) == fault


def test_the_shifted_form_goes_wrong_where_the_scores_themselves_do():
    trace = softmax_in([1e6, 0.0], "float16", is_shifted=True)

    assert first_fault(trace, [1e6, 0.0]) == ("scores", math.inf)
    assert np.isnan(trace.weights).any()


def test_a_score_that_is_minus_infinity_by_rounding_is_wrong():
    trace = softmax_in([-1e6, 0.0], "float16", is_shifted=True)

    assert first_fault(trace, [-1e6, 0.0]) == ("scores", -math.inf)


def test_a_forbidden_key_is_wrong_only_where_it_turns_to_nan():
    scores = np.array([-np.inf, -20.0])
    trace = softmax_in(scores, "float16", is_shifted=False)  # 0 / 0

    assert are_wrong("scores", trace.scores, scores).tolist() == [False, False]
    assert are_wrong("exponentials", trace.exponentials, scores).tolist() == [False, True]
    assert are_wrong("total", trace.total, scores).tolist() == [True]
    assert are_wrong("weights", trace.weights, scores).tolist() == [True, True]


# thresholds


@pytest.mark.parametrize(
    ("precision", "largest", "least"),
    [("float16", 11.09, -17.33), ("float32", 88.72, -103.97), ("float64", 709.78, -745.13)],
)
def test_the_thresholds_are_those_that_are_known(precision, largest, least):
    assert largest_exponent(precision) == pytest.approx(largest, abs=0.005)
    assert least_exponent(precision) == pytest.approx(least, abs=0.005)


@every_precision
def test_the_next_number_is_beyond_the_threshold(precision):
    dtype = np.dtype(precision).type
    largest, least = dtype(largest_exponent(precision)), dtype(least_exponent(precision))

    with np.errstate(all="ignore"):
        assert np.isfinite(np.exp(largest))
        assert np.isinf(np.exp(np.nextafter(largest, dtype(np.inf))))
        assert np.exp(least) > 0
        assert np.exp(np.nextafter(least, dtype(-np.inf))) == 0


@every_precision
def test_the_threshold_lies_at_the_logarithm_of_the_largest_number(precision):
    logarithm = math.log(float(np.finfo(precision).max))
    spacing = float(np.spacing(np.dtype(precision).type(logarithm)))

    assert log_of_largest(precision) == pytest.approx(logarithm, rel=1e-15)
    assert abs(largest_exponent(precision) - logarithm) <= spacing

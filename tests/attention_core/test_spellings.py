import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from attention_core.errors import ChoiceError, DtypeError, ShapeError
from attention_core.masks import causal
from attention_core.softmax import softmax
from attention_core.spellings import (
    LARGE,
    PRECISIONS,
    SPELLINGS,
    largest_gap,
    masked,
    plain_softmax,
    rounded,
    row_kind,
    spacing,
    stored,
)

every_precision = pytest.mark.parametrize("precision", PRECISIONS)
every_spelling = pytest.mark.parametrize("spelling", SPELLINGS)

SCORES = np.array([[0.5, 1.0, 2.0], [1.5, -1.0, 0.25], [0.75, 3.0, 1.0]])
EMPTIED = causal(3)
EMPTIED[2] = False
INF = np.inf


def test_the_three_spellings_by_hand():
    boolean, additive, finite = (masked(SCORES, causal(3), s, "float64") for s in SPELLINGS)

    np.testing.assert_array_equal(boolean, [[0.5, -INF, -INF], [1.5, -1, -INF], [0.75, 3, 1]])
    np.testing.assert_array_equal(additive, boolean)
    np.testing.assert_array_equal(finite[0], [0.5, 1 - 1e9, 2 - 1e9])


@every_precision
@every_spelling
def test_pytorch_gives_the_same_scores_and_weights(spelling, precision):
    dtype = getattr(torch, precision)
    scores, allowed = torch.tensor(SCORES, dtype=dtype), torch.tensor(EMPTIED)
    if spelling == "boolean":
        expected = scores.masked_fill(~allowed, -INF)
    else:
        forbids = -INF if spelling == "additive" or precision == "float16" else LARGE
        expected = scores + torch.where(allowed, 0.0, forbids).to(dtype)

    got = masked(SCORES, EMPTIED, spelling, precision)

    assert got.dtype == np.dtype(precision)
    np.testing.assert_array_equal(got, expected.numpy())
    tolerance = 2e-3 if precision == "float16" else 1e-6
    weights = torch.softmax(expected, dim=-1).numpy()
    np.testing.assert_allclose(plain_softmax(got), weights, rtol=tolerance, atol=tolerance)


@every_precision
@every_spelling
def test_what_a_row_without_a_key_becomes(spelling, precision):
    """-inf everywhere is 0/0; -1e9 leaves what rounding left of the scores."""
    weights = plain_softmax(masked(SCORES, EMPTIED, spelling, precision))

    unmasked = plain_softmax(rounded(SCORES, precision))
    kinds = {"float64": "unmasked", "float32": "uniform", "float16": "nan"}
    expected = kinds[precision] if spelling == "finite" else "nan"
    assert row_kind(weights[2], unmasked[2]) == expected
    assert np.isfinite(weights[:2]).all()


def test_minus_1e9_is_stored_as_it_can_be():
    assert [float(stored(precision)) for precision in PRECISIONS] == [-1e9, -1e9, -INF]


def test_beside_minus_1e9_scores_keep_only_these_steps():
    # 2**29 < 1e9 < 2**30: float64 has 52 bits below that, float32 has 23, float16 ends at 65504.
    assert [spacing(precision) for precision in PRECISIONS] == [2.0**-23, 64.0, INF]


def test_a_score_of_hundreds_survives_minus_1e9_in_float32_only_in_steps_of_64():
    scores = np.array([[0.0, 100.0]])

    weights = plain_softmax(masked(scores, [[False, False]], "finite", "float32"))

    # 1e9 is a multiple of 64, so 100 is rounded to 128.
    np.testing.assert_allclose(weights[0], softmax([0.0, 128.0]), atol=1e-12)
    shares = plain_softmax(scores)[0]
    assert row_kind(weights[0], shares) == "unmasked"  # to 1e-6: both leave the first key nothing


def test_a_score_larger_than_1e9_gets_through_the_finite_spelling_alone():
    scores, allowed = [[0.0, 2e9]], [[True, False]]

    weights = {s: plain_softmax(masked(scores, allowed, s, "float64")) for s in SPELLINGS}

    np.testing.assert_array_equal(weights["finite"], [[0, 1]])
    np.testing.assert_array_equal(weights["boolean"], [[1, 0]])
    np.testing.assert_array_equal(weights["additive"], [[1, 0]])


def test_a_score_too_large_for_float16_is_infinite_and_its_row_no_number():
    scores = rounded([[70_000.0, 1.0]], "float16")

    assert np.isposinf(scores[0, 0])
    assert np.isnan(plain_softmax(scores)).any()


@given(st.integers(0, 999), st.integers(1, 6))
def test_in_float64_the_plain_softmax_is_that_of_the_core(seed, n):
    scores = 10 * np.random.default_rng(seed).standard_normal((n, n))

    got = plain_softmax(masked(scores, causal(n), "boolean", "float64"))

    np.testing.assert_allclose(got, softmax(np.where(causal(n), scores, -INF)), rtol=1e-15)


def test_the_plain_softmax_does_not_overflow():
    np.testing.assert_array_equal(plain_softmax(np.array([1e4, 0.0])), [1, 0])


@pytest.mark.parametrize(
    ("row", "kind"),
    [
        ([np.nan, 0.5], "nan"),
        ([0.0, 0.0], "zeros"),
        ([0.5, 0.5], "uniform"),
        ([0.2, 0.8], "unmasked"),
        ([0.2 + 9e-7, 0.8], "unmasked"),
        ([0.3, 0.7], "other"),
    ],
)
def test_the_kind_of_a_row_by_hand(row, kind):
    assert row_kind(np.array(row), np.array([0.2, 0.8])) == kind


def test_the_largest_gap_by_hand():
    assert largest_gap(np.array([1.0, 2.0]), np.array([1.5, 1.0])) == 1.0
    assert largest_gap(np.zeros(0), np.zeros(0)) == 0.0
    assert np.isnan(largest_gap(np.array([np.nan]), np.zeros(1)))


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (
            (SCORES, causal(3), "loud", "float64"),
            ChoiceError,
            "spelling must be one of boolean, additive, finite, got 'loud'",
        ),
        (
            (SCORES, causal(3), "finite", "float8"),
            ChoiceError,
            "precision must be one of float64, float32, float16, got 'float8'",
        ),
        (
            (SCORES, np.eye(3), "finite", "float64"),
            DtypeError,
            "allowed must hold booleans (True = may attend), got float64",
        ),
        (
            (SCORES, causal(2), "finite", "float64"),
            ShapeError,
            "allowed must have shape (3, 3), got (2, 2)",
        ),
        (
            ([1.0], [True], "finite", "float64"),
            ShapeError,
            "scores must have shape (n_q, n_k), got (1,)",
        ),
    ],
)
def test_wrong_arguments_are_named(arguments, error, message):
    with pytest.raises(error) as caught:
        masked(*arguments)

    assert str(caught.value) == message

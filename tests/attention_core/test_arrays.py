import numpy as np
import pytest

from attention_core.arrays import (
    as_bools,
    as_floats,
    check_broadcast,
    check_finite,
    check_shape,
    frozen,
)
from attention_core.errors import DtypeError, NotFiniteError, ShapeError


@pytest.mark.parametrize("dtype", [np.int8, np.uint16, np.float16, np.float32, np.float64])
def test_any_real_numbers_become_float64(dtype):
    value = np.array([[1, 2], [3, 4]], dtype=dtype)

    array = as_floats("X", value, ("n_tokens", 2))

    assert array.dtype == np.float64
    np.testing.assert_array_equal(array, [[1.0, 2.0], [3.0, 4.0]])


def test_more_axes_may_lead():
    array = as_floats("X", np.ones((5, 3, 2)), ("n_tokens", 2))

    assert array.shape == (5, 3, 2)


@pytest.mark.parametrize(
    ("value", "dtype"),
    [
        (True, "bool"),
        (1j, "complex128"),
        ("a", "<U1"),
        (None, "object"),
        (np.datetime64("2020-01-01"), "datetime64[D]"),
    ],
)
def test_what_is_no_real_number_is_refused(value, dtype):
    with pytest.raises(DtypeError) as caught:
        as_floats("X", [[value]], ("n_tokens", "d_model"))

    assert str(caught.value) == f"X must hold real numbers, got {dtype}"


def test_a_wrong_size_names_the_argument_and_the_free_axes():
    with pytest.raises(ShapeError) as caught:
        as_floats("W_Q", np.ones((3, 2)), (4, "d_k"))

    assert str(caught.value) == "W_Q must have shape (4, d_k), got (3, 2)"


@pytest.mark.parametrize("value", [[[1, 2], [3]], [[1.0], [[2.0]]], [np.ones((2, 2)), np.ones(3)]])
def test_rows_of_different_lengths_are_a_wrong_shape(value):
    with pytest.raises(ShapeError) as caught:
        as_floats("X", value, ("n_tokens", "d_model"))

    assert str(caught.value) == "X must have shape (n_tokens, d_model), got (2,)"


def test_too_few_axes_are_a_wrong_shape():
    with pytest.raises(ShapeError) as caught:
        check_shape("X", np.ones(2), ("n_tokens", 2))

    assert str(caught.value) == "X must have shape (n_tokens, 2), got (2,)"


def test_booleans_stay_booleans():
    array = as_bools("allowed", [[True, False]])

    assert array.dtype == np.bool_
    np.testing.assert_array_equal(array, [[True, False]])


@pytest.mark.parametrize(("value", "dtype"), [([1, 0], "int64"), ([1.0, 0.0], "float64")])
def test_ones_and_zeros_are_no_mask(value, dtype):
    with pytest.raises(DtypeError) as caught:
        as_bools("allowed", value)

    assert str(caught.value) == f"allowed must hold booleans (True = may attend), got {dtype}"


@pytest.mark.parametrize("shape", [(), (3,), (1, 3), (2, 1), (2, 3)])
def test_what_broadcasts_to_the_shape_passes(shape):
    check_broadcast("allowed", np.ones(shape), (2, 3))


@pytest.mark.parametrize("shape", [(2,), (3, 2), (1, 2, 3), (4, 2, 3)])
def test_what_would_not_broadcast_or_would_widen_the_shape_is_refused(shape):
    with pytest.raises(ShapeError) as caught:
        check_broadcast("allowed", np.ones(shape), (2, 3))

    assert str(caught.value) == f"allowed must have shape (2, 3), got {shape}"


def test_an_axis_of_size_1_is_not_stretched_by_the_array():
    with pytest.raises(ShapeError) as caught:
        check_broadcast("allowed", np.ones((2, 3)), (1, 3))

    assert str(caught.value) == "allowed must have shape (1, 3), got (2, 3)"


def test_finite_numbers_pass():
    check_finite("X", np.array([[0.0, -1e308], [1e308, 5e-324]]))


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf])
def test_the_first_number_that_is_not_finite_is_named_by_its_index(wrong):
    array = np.array([[0.0, 1.0], [wrong, 2.0], [wrong, 3.0]])

    with pytest.raises(NotFiniteError) as caught:
        check_finite("X", array)

    assert str(caught.value) == "X must be finite, but is not at index (1, 0)"


def test_a_frozen_array_refuses_to_be_written():
    array = frozen(np.array([1.0, 2.0]))

    with pytest.raises(ValueError, match="read-only"):
        array[0] = 5.0


def test_a_frozen_array_does_not_follow_its_source():
    source = np.array([1.0, 2.0])

    array = frozen(source)
    source[0] = 5.0

    np.testing.assert_array_equal(array, [1.0, 2.0])

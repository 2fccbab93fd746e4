import pytest

from attention_core import errors
from attention_core.errors import (
    AttentionError,
    ChoiceError,
    DivisibilityError,
    DtypeError,
    EmptyRowError,
    FieldError,
    FileKindError,
    ForbiddenError,
    NotFiniteError,
    RangeError,
    ShapeError,
    TokenError,
    WidthError,
)

EVERY_ERROR = [
    pytest.param(
        ShapeError("K", ("n_k", 4), (5, 3)),
        {"name": "K", "expected": ("n_k", 4), "actual": (5, 3)},
        "K must have shape (n_k, 4), got (5, 3)",
        id="ShapeError",
    ),
    pytest.param(
        DtypeError("allowed", "booleans", "int64"),
        {"name": "allowed", "wanted": "booleans", "actual": "int64"},
        "allowed must hold booleans, got int64",
        id="DtypeError",
    ),
    pytest.param(
        NotFiniteError("X", (2, 0)),
        {"name": "X", "index": (2, 0)},
        "X must be finite, but is not at index (2, 0)",
        id="NotFiniteError",
    ),
    pytest.param(
        EmptyRowError([(0, 1), (2, 0)]),
        {"rows": ((0, 1), (2, 0))},
        "softmax needs at least one score above -inf in rows (0, 1), (2, 0)",
        id="EmptyRowError",
    ),
    pytest.param(
        ForbiddenError([[0, 2], [1, 2]]),
        {"cells": ((0, 2), (1, 2))},
        "the mask forbids (query, key) (0, 2), (1, 2), which the target asks for",
        id="ForbiddenError",
    ),
    pytest.param(
        ForbiddenError([(0, key) for key in range(1, 7)]),
        {"cells": tuple((0, key) for key in range(1, 7))},
        "the mask forbids (query, key) (0, 1), (0, 2), (0, 3), (0, 4), (0, 5), ..., "
        "which the target asks for",
        id="ForbiddenError of many cells",
    ),
    pytest.param(
        RangeError("n_heads", 0, 1, 8),
        {"name": "n_heads", "value": 0, "low": 1, "high": 8},
        "n_heads must lie between 1 and 8, got 0",
        id="RangeError",
    ),
    pytest.param(
        ChoiceError("how", "xor", ["and", "or"]),
        {"name": "how", "value": "xor", "choices": ("and", "or")},
        "how must be one of and, or, got 'xor'",
        id="ChoiceError",
    ),
    pytest.param(
        DivisibilityError("width", 4, "n_heads", 3),
        {"name": "width", "value": 4, "divisor_name": "n_heads", "divisor": 3},
        "width must be a multiple of n_heads, got 4 and 3",
        id="DivisibilityError",
    ),
    pytest.param(
        WidthError(3, 2, 4),
        {"n_heads": 3, "d_k": 2, "d_model": 4, "width": 6},
        "n_heads * d_k must be d_model to become X, got 3 * 2 = 6 and 4",
        id="WidthError",
    ),
    pytest.param(
        TokenError(2, "is empty"),
        {"index": 2, "reason": "is empty"},
        "token 2: is empty",
        id="TokenError",
    ),
    pytest.param(
        FieldError("W_Q", "is missing"),
        {"field": "W_Q", "reason": "is missing"},
        "W_Q: is missing",
        id="FieldError",
    ),
    pytest.param(
        FileKindError("pickle"),
        {"kind": "pickle"},
        "the file must be a sound safetensors file, is of kind pickle",
        id="FileKindError",
    ),
]


@pytest.mark.parametrize(("error", "fields", "message"), EVERY_ERROR)
def test_the_fields_hold_what_the_message_says(error, fields, message):
    assert vars(error) == fields
    assert str(error) == message


@pytest.mark.parametrize(("error", "fields", "message"), EVERY_ERROR)
def test_a_page_catches_every_error_by_its_base(error, fields, message):
    with pytest.raises(AttentionError) as caught:
        raise error

    assert caught.value is error


def test_the_table_above_leaves_no_error_out():
    tested = {type(case.values[0]) for case in EVERY_ERROR}

    defined = {
        value
        for value in vars(errors).values()
        if isinstance(value, type) and issubclass(value, AttentionError)
    }

    assert tested == defined - {AttentionError}


def test_a_shape_of_one_axis_is_written_as_a_tuple():
    error = ShapeError("scores", ("n",), ())

    assert str(error) == "scores must have shape (n,), got ()"


def test_five_empty_rows_are_all_listed():
    error = EmptyRowError([(row,) for row in range(5)])

    assert str(error) == (
        "softmax needs at least one score above -inf in rows (0,), (1,), (2,), (3,), (4,)"
    )


def test_from_the_sixth_empty_row_on_the_message_is_cut_and_the_field_is_not():
    error = EmptyRowError([(row,) for row in range(6)])

    assert str(error) == (
        "softmax needs at least one score above -inf in rows (0,), (1,), (2,), (3,), (4,), ..."
    )
    assert error.rows == ((0,), (1,), (2,), (3,), (4,), (5,))

"""The array types of the core, and the checks every function starts with."""

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from attention_core.errors import DtypeError, NotFiniteError, RangeError, ShapeError

FloatArray: TypeAlias = npt.NDArray[np.floating[Any]]
BoolArray: TypeAlias = npt.NDArray[np.bool_]

Size: TypeAlias = int | str
"""One axis of a wanted shape: an exact size, or the name of a free one such as "n_q"."""


def as_floats(
    name: str, value: npt.ArrayLike, shape: Sequence[Size], *, may_lead: bool = True
) -> FloatArray:
    """The value as float64, if its last axes have this shape; more may lead if `may_lead`.

    Raises:
        DtypeError: The value does not hold real numbers.
        ShapeError: The axes differ from `shape`.
    """
    try:
        array = np.asarray(value)
    except ValueError:  # rows of different lengths
        n_rows = len(value)  # type: ignore[arg-type]  # NumPy found them, so it has some
        raise ShapeError(name, tuple(shape), (n_rows,)) from None
    if array.dtype.kind not in "fiu":
        raise DtypeError(name, "real numbers", str(array.dtype))
    check_shape(name, array, shape)
    if not may_lead and array.ndim != len(shape):
        raise ShapeError(name, tuple(shape), array.shape)
    return array.astype(np.float64, copy=False)


def as_bools(name: str, value: npt.ArrayLike) -> BoolArray:
    """The value as a boolean array; numbers are refused, since 1 could mean either polarity.

    Raises:
        DtypeError: The value is not boolean.
    """
    array = np.asarray(value)
    if array.dtype != np.bool_:
        raise DtypeError(name, "booleans (True = may attend)", str(array.dtype))
    return array


def check_shape(name: str, array: npt.NDArray[Any], shape: Sequence[Size]) -> None:
    """Raise ShapeError unless the last axes of the array have this shape."""
    tail = array.shape[-len(shape) :]
    matches = len(tail) == len(shape) and all(
        isinstance(wanted, str) or wanted == got for wanted, got in zip(shape, tail, strict=True)
    )
    if not matches:
        raise ShapeError(name, tuple(shape), array.shape)


def matmul(X: FloatArray, name: str, W: FloatArray) -> FloatArray:
    """X W, if the leading axes of the two broadcast; else ShapeError for W.

    What X holds may be masked later, so infinities in it raise no warning.
    """
    try:
        np.broadcast_shapes(X.shape[:-2], W.shape[:-2])
    except ValueError:
        raise ShapeError(name, (*X.shape[:-2], *W.shape[-2:]), W.shape) from None
    with np.errstate(invalid="ignore", over="ignore"):
        product: FloatArray = X @ W
    return product


def check_broadcast(name: str, array: npt.NDArray[Any], shape: tuple[int, ...]) -> None:
    """Raise ShapeError unless the array broadcasts to exactly this shape."""
    try:
        fits = np.broadcast_shapes(array.shape, shape) == shape
    except ValueError:
        fits = False
    if not fits:
        raise ShapeError(name, shape, array.shape)


def check_finite(name: str, array: FloatArray) -> None:
    """Raise NotFiniteError with the index of the first NaN or infinity."""
    wrong = np.argwhere(~np.isfinite(array))
    if len(wrong):
        raise NotFiniteError(name, tuple(int(i) for i in wrong[0]))


def check_counts(least: int, **counts: int) -> None:
    """Raise RangeError for the first count below the least that there must be."""
    for name, count in counts.items():
        if count < least:
            raise RangeError(name, count, least, float("inf"))


def frozen(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """A read-only copy, so that nobody can change a shared array by accident."""
    copy = array.copy()
    copy.setflags(write=False)
    return copy

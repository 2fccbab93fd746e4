"""Three ways to write the same mask, in the precision that is computed in, and what they give.

    boolean   scores where allowed, else -inf          (`masked_fill`)
    additive  scores + (0 where allowed, else -inf)
    finite    scores + (0 where allowed, else -1e9)    (-1e9 is -inf in float16)

They differ where a row has no key left: -inf everywhere is 0/0, and a large finite number is
taken away again by the softmax, which leaves what rounding left of the scores.
"""

from typing import Any, Literal, TypeAlias, get_args

import numpy as np
import numpy.typing as npt

from attention_core.arrays import FloatArray, as_bools, as_floats, check_broadcast
from attention_core.errors import ChoiceError

Spelling: TypeAlias = Literal["boolean", "additive", "finite"]
SPELLINGS: tuple[Spelling, ...] = get_args(Spelling)

Precision: TypeAlias = Literal["float64", "float32", "float16"]
PRECISIONS: tuple[Precision, ...] = get_args(Precision)

LARGE = -1e9  # the usual finite stand-in for -inf

RowKind: TypeAlias = Literal["nan", "zeros", "uniform", "unmasked", "other"]


def masked(
    scores: npt.ArrayLike, allowed: npt.ArrayLike, spelling: Spelling, precision: Precision
) -> FloatArray:
    """The scores under a mask that is spelled in one of the three ways.

    Args:
        scores: (..., n_q, n_k).
        allowed: (..., n_q, n_k), True = may attend.
        spelling: "boolean", "additive" or "finite".
        precision: In which everything is computed.

    Returns:
        (..., n_q, n_k), in that precision.

    Raises:
        ShapeError, DtypeError: An argument is not as above.
        ChoiceError: `spelling` or `precision` is none of those offered.
    """
    if spelling not in SPELLINGS:
        raise ChoiceError("spelling", spelling, SPELLINGS)
    narrow = rounded(scores, precision)
    permitted = as_bools("allowed", allowed)
    check_broadcast("allowed", permitted, narrow.shape)
    nothing, minus_infinity = narrow.dtype.type(0), narrow.dtype.type(-np.inf)
    if spelling == "boolean":
        return np.where(permitted, narrow, minus_infinity)
    forbids = minus_infinity if spelling == "additive" else stored(precision)
    with np.errstate(over="ignore", invalid="ignore"):
        added: FloatArray = narrow + np.where(permitted, nothing, forbids)
    return added


def rounded(scores: npt.ArrayLike, precision: Precision) -> FloatArray:
    """(..., n_q, n_k): the scores in a precision; too large ones become infinite.

    Raises:
        ChoiceError: `precision` is none of those offered.
    """
    if precision not in PRECISIONS:
        raise ChoiceError("precision", precision, PRECISIONS)
    with np.errstate(over="ignore"):
        narrow: FloatArray = as_floats("scores", scores, ("n_q", "n_k")).astype(precision)
    return narrow


def stored(precision: Precision) -> Any:
    """What -1e9 is in a precision."""
    with np.errstate(over="ignore"):
        return np.dtype(precision).type(LARGE)


def spacing(precision: Precision) -> float:
    """How far the next number lies from -1e9: scores beside it keep nothing finer. inf if none."""
    value = stored(precision)
    return float(np.spacing(np.abs(value))) if np.isfinite(value) else float("inf")


def plain_softmax(scores: FloatArray) -> FloatArray:
    """The softmax as most code has it: shifted by the maximum, in the precision of its scores.

    Nobody looks after a row of -inf: it is 0/0, so NaN.

    Args:
        scores: (..., n).

    Returns:
        (..., n), in the same precision.
    """
    with np.errstate(invalid="ignore", over="ignore", under="ignore"):
        exponentials = np.exp(scores - scores.max(axis=-1, keepdims=True))
        weights: FloatArray = exponentials / exponentials.sum(axis=-1, keepdims=True)
    return weights


def row_kind(weights: FloatArray, unmasked: FloatArray) -> RowKind:
    """What became of one row of weights.

    Args:
        weights: (n,), the row.
        unmasked: (n,), the softmax of its scores without a mask.

    Returns:
        "nan" if one is no number, "zeros", "uniform" if all are the same, "unmasked" if the row
        is as without a mask (to 1e-6), "other" if it is nothing of this.
    """
    if np.isnan(weights).any():
        return "nan"
    if not weights.any():
        return "zeros"
    if (weights == weights[0]).all():
        return "uniform"
    return "unmasked" if largest_gap(weights, unmasked) <= 1e-6 else "other"


def largest_gap(first: FloatArray, second: FloatArray) -> float:
    """How far two arrays lie apart at most; NaN where one of them is."""
    with np.errstate(invalid="ignore"):
        gaps = np.abs(first.astype(np.float64) - second.astype(np.float64))
    return float(gaps.max(initial=0.0))

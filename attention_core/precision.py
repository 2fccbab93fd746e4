"""Softmax in a floating type of few digits: the textbook form, the shifted one, where each breaks.

    textbook  e^s_j / Σ e^s_k
    shifted   e^(s_j - max s) / Σ e^(s_k - max s)

Every step is computed and kept in the type itself. Source: Goodfellow et al. 2016, "Deep
Learning", section 4.1; the types are those of IEEE 754.
"""

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from attention_core.arrays import BoolArray, FloatArray, as_floats
from attention_core.errors import ChoiceError, EmptyRowError

Precision: TypeAlias = Literal["float16", "float32", "float64"]
PRECISIONS: tuple[Precision, ...] = ("float16", "float32", "float64")

Step: TypeAlias = Literal["scores", "maximum", "shifted", "exponentials", "total", "weights"]

_BEYOND = 1000.0  # e^1000 is infinite and e^-1000 is 0 in each of the types


@dataclass(frozen=True, eq=False, slots=True)
class PreciseSoftmax:
    """Every step of the softmax of one row, in the type it was computed in."""

    scores: FloatArray  # (n,)
    maximum: FloatArray | None  # (1,)  None in the textbook form
    shifted: FloatArray | None  # (n,)  scores - maximum
    exponentials: FloatArray  # (n,)
    total: FloatArray  # (1,)
    weights: FloatArray  # (n,)

    def steps(self) -> list[tuple[Step, FloatArray]]:
        """The steps that were taken, in order, by name."""
        taken: list[tuple[Step, FloatArray | None]] = [
            ("scores", self.scores),
            ("maximum", self.maximum),
            ("shifted", self.shifted),
            ("exponentials", self.exponentials),
            ("total", self.total),
            ("weights", self.weights),
        ]
        return [(name, values) for name, values in taken if values is not None]


def softmax_in(
    scores: npt.ArrayLike, precision: Precision, *, offset: float = 0.0, is_shifted: bool
) -> PreciseSoftmax:
    """The softmax of scores + offset, with every step in this precision.

    Args:
        scores: (n,), -inf for a key that may not be attended to.
        precision: The type of every step, the sum of scores and offset included.
        offset: Added to every score.
        is_shifted: Whether the maximum is subtracted first.

    Raises:
        ChoiceError: There is no such precision here.
        ShapeError, DtypeError: The scores are no row of real numbers.
        EmptyRowError: All scores are -inf.
    """
    dtype = _dtype(precision)
    row = as_floats("scores", scores, ("n",), may_lead=False)
    if np.isneginf(row).all():
        raise EmptyRowError([()])
    with np.errstate(all="ignore"):  # what breaks is the point
        s = row.astype(dtype) + dtype(offset)
        maximum = s.max(keepdims=True) if is_shifted else None
        shifted = None if maximum is None else s - maximum
        exponentials = np.exp(s if shifted is None else shifted)
        total = exponentials.sum(keepdims=True)
        weights = exponentials / total
    return PreciseSoftmax(s, maximum, shifted, exponentials, total, weights)


def are_wrong(step: Step, values: FloatArray, scores: npt.ArrayLike) -> BoolArray:
    """Which numbers of a step exact arithmetic would not hold: ∞, NaN, or 0 for an exponential.

    Args:
        step: Which step the numbers are of.
        values: (n,) or (1,), from `softmax_in`.
        scores: (n,), those it was computed from: where they are -inf, -inf and 0 are right.

    Returns:
        The shape of `values`.
    """
    is_forbidden: BoolArray = np.isneginf(np.asarray(scores, dtype=np.float64))
    if values.shape != is_forbidden.shape:  # of all keys, of which one at least is allowed
        is_forbidden = np.zeros(values.shape, dtype=bool)
    is_unwanted = ~np.isfinite(values)
    if step in ("exponentials", "total", "weights"):
        is_unwanted |= values == 0
    wrong: BoolArray = is_unwanted & ~(is_forbidden & (np.isneginf(values) | (values == 0)))
    return wrong


def first_fault(trace: PreciseSoftmax, scores: npt.ArrayLike) -> tuple[Step, float] | None:
    """The first step that holds what exact arithmetic would not, and the first such number in it.

    Args:
        trace: From `softmax_in`.
        scores: (n,), those it was computed from.

    Returns:
        The step, and ∞, -∞, NaN or 0; None where all is well.
    """
    for step, values in trace.steps():
        wrong = values[are_wrong(step, values, scores)]
        if wrong.size:
            return step, float(wrong[0])
    return None


def largest_exponent(precision: Precision) -> float:
    """The largest x of this type whose e^x is finite on this machine, found by bisection.

    It lies at ln(largest number of the type), rounded as the type and its exp() round.

    Raises:
        ChoiceError: There is no such precision here.
    """
    return _boundary(precision, _BEYOND, lambda power: bool(np.isfinite(power)))


def least_exponent(precision: Precision) -> float:
    """The least x of this type whose e^x is above 0 on this machine, found by bisection.

    Raises:
        ChoiceError: There is no such precision here.
    """
    return _boundary(precision, -_BEYOND, lambda power: bool(power > 0))


def log_of_largest(precision: Precision) -> float:
    """ln of the largest number of this type.

    Raises:
        ChoiceError: There is no such precision here.
    """
    return float(np.log(np.float64(np.finfo(_dtype(precision)).max)))


def _boundary(precision: Precision, beyond: float, is_fine: Any) -> float:
    """The last x between 0, where all is fine, and `beyond`, where it is not."""
    dtype = _dtype(precision)
    fine, broken = dtype(0), dtype(beyond)
    with np.errstate(over="ignore", under="ignore"):
        while True:
            middle = dtype((fine + broken) / 2)
            if middle in (fine, broken):  # no number of this type lies between them
                return float(fine)
            if is_fine(np.exp(middle)):
                fine = middle
            else:
                broken = middle


def _dtype(precision: str) -> type[np.floating[Any]]:
    if precision not in PRECISIONS:
        raise ChoiceError("precision", precision, PRECISIONS)
    dtype: type[np.floating[Any]] = getattr(np, precision)
    return dtype

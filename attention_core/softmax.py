"""Softmax, what goes wrong with the textbook form, and two measures of its result.

    softmax(s)_j = exp(s_j - max s) / sum_k exp(s_k - max s)

Subtracting the maximum changes nothing in exact arithmetic and keeps exp() from overflowing:
the largest exponent becomes 0. Source: Goodfellow et al. 2016, "Deep Learning", section 4.1.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from attention_core.arrays import FloatArray, as_floats
from attention_core.errors import EmptyRowError


@dataclass(frozen=True, eq=False, slots=True)
class SoftmaxTrace:
    """Every step of a softmax over the last axis."""

    maximum: FloatArray  # (..., 1)
    shifted: FloatArray  # (..., n)  scores - maximum, at most 0
    exponentials: FloatArray  # (..., n)  exp(shifted), at most 1
    total: FloatArray  # (..., 1)  their sum
    weights: FloatArray  # (..., n)  exponentials / total


def softmax(scores: npt.ArrayLike) -> FloatArray:
    """Turn each row of scores into positive weights that sum to 1.

    Args:
        scores: (..., n). -inf is allowed and gets weight 0. NaN spreads over its own row only.

    Returns:
        (..., n), float64.

    Raises:
        EmptyRowError: A row holds nothing but -inf; its weights would be 0/0.
    """
    return softmax_trace(scores).weights


def softmax_or_zeros(scores: npt.ArrayLike) -> FloatArray:
    """As `softmax`, but a row with nothing but -inf gets weights of 0: nothing is attended to."""
    scores = as_floats("scores", scores, ("n",))
    if scores.shape[-1] == 0:
        return np.zeros(scores.shape)
    is_empty = np.isneginf(scores).all(axis=-1, keepdims=True)
    return np.where(is_empty, 0.0, softmax(np.where(is_empty, 0.0, scores)))


def softmax_trace(scores: npt.ArrayLike) -> SoftmaxTrace:
    """As `softmax`, with every step kept."""
    scores = as_floats("scores", scores, ("n",))
    empty = np.isneginf(scores).all(axis=-1)
    if empty.any():
        raise EmptyRowError([tuple(map(int, row)) for row in np.argwhere(empty)])
    maximum = scores.max(axis=-1, keepdims=True, initial=-np.inf)
    # inf - inf: NaN is the honest answer for that row; -huge - huge: exp(-inf) is 0 all the same.
    with np.errstate(invalid="ignore", over="ignore"):
        shifted = scores - maximum
        exponentials = np.exp(shifted)
    total = exponentials.sum(axis=-1, keepdims=True)
    return SoftmaxTrace(maximum, shifted, exponentials, total, exponentials / total)


def naive_softmax(scores: npt.NDArray[np.floating[Any]]) -> npt.NDArray[np.floating[Any]]:
    """The textbook form without the shift, to see it overflow and underflow.

    Args:
        scores: (..., n), in any floating dtype, which is kept.

    Returns:
        (..., n). Above ln(largest number) of the dtype exp() is inf and the row turns to NaN;
        far below 0 every exponential is 0 and the row is 0/0.
    """
    with np.errstate(over="ignore", invalid="ignore", divide="ignore", under="ignore"):
        exponentials = np.exp(scores)
        weights: npt.NDArray[np.floating[Any]] = exponentials / exponentials.sum(
            axis=-1, keepdims=True
        )
    return weights


def entropy(weights: npt.ArrayLike) -> FloatArray:
    """How spread out each row of weights is, in nats: 0 for one-hot, ln(n) for uniform.

    Args:
        weights: (..., n), each row a distribution. 0 · ln 0 counts as 0.

    Returns:
        (...), float64.
    """
    weights = as_floats("weights", weights, ("n",))
    logarithms = np.log(weights, out=np.zeros_like(weights), where=weights > 0)
    total: FloatArray = np.abs((weights * logarithms).sum(axis=-1))  # abs: no -0.0 for one-hot
    return total


def softmax_jacobian(weights: npt.ArrayLike) -> FloatArray:
    """How each weight moves with each score: diag(w) - w wᵀ.

    Args:
        weights: (..., n), the result of `softmax`.

    Returns:
        (..., n, n); entry (j, k) is ∂w_j / ∂s_k. Symmetric, every row sums to 0.
    """
    weights = as_floats("weights", weights, ("n",))
    diagonal = weights[..., :, None] * np.eye(weights.shape[-1])
    jacobian: FloatArray = diagonal - weights[..., :, None] * weights[..., None, :]
    return jacobian

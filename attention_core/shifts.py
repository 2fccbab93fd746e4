"""What is added before softmax, and whether the weights notice.

    softmax(s + c) = softmax(s)                for one c in the whole row
    q · (k_j + b) = q · k_j + q · b            a bias on every key adds one number to a row
    (q + b) · k_j = q · k_j + b · k_j          a bias on the queries adds another one to each key

Source: Goodfellow et al. 2016, "Deep Learning", section 4.1, for the first; the others follow.
"""

from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from attention_core.arrays import FloatArray
from attention_core.attention import AttentionTrace, scaled_dot_product_attention
from attention_core.errors import ChoiceError, RangeError

Shift: TypeAlias = Literal["row", "keys", "queries", "key"]
SHIFTS: tuple[Shift, ...] = ("row", "keys", "queries", "key")
UNNOTICED: tuple[Shift, ...] = ("row", "keys")  # in exact arithmetic


def shifted(
    trace: AttentionTrace,
    shift: Shift,
    by: float,
    token: int,
    *,
    scale: float,
    bias: npt.ArrayLike | None = None,
) -> AttentionTrace:
    """The same attention with something added.

    Args:
        trace: Of one head: Q (n_tokens, d_k), K (n_tokens, d_k).
        shift: "row" adds `by` to each score of the token's row, after scaling; "keys" adds `by`
            to every feature of every key, "key" to those of the token's key alone, and "queries"
            to every feature of every query.
        by: How much.
        token: From 0; which row, or which key.
        scale: What the scores were multiplied by.
        bias: (n_tokens, n_tokens), what was added to the scaled scores.

    Raises:
        ChoiceError: There is no such shift.
        RangeError: There is no such token.
    """
    if shift not in SHIFTS:
        raise ChoiceError("shift", shift, SHIFTS)
    n_tokens = trace.K.shape[-2]
    if not 0 <= token < n_tokens:
        raise RangeError("token", token, 0, n_tokens - 1)
    is_token = np.arange(n_tokens) == token
    Q, K = trace.Q, trace.K
    added = np.zeros(trace.scores.shape) if bias is None else np.asarray(bias, dtype=np.float64)
    if shift == "row":
        added = added + by * is_token[:, None]
    elif shift == "queries":
        Q = Q + by
    else:
        K = K + by * (np.ones(n_tokens) if shift == "keys" else is_token)[:, None]
    return scaled_dot_product_attention(
        Q, K, trace.V, allowed=trace.allowed, bias=added, scale=scale, empty_rows="zeros"
    )


def added(before: AttentionTrace, after: AttentionTrace) -> FloatArray:
    """(n_q, n_k): what was added to each score in the end; 0 where it may not be attended to."""
    difference: FloatArray = np.zeros(before.masked_scores.shape)
    np.subtract(after.masked_scores, before.masked_scores, out=difference, where=before.allowed)
    return difference


def spread(added_scores: FloatArray, allowed: npt.NDArray[np.bool_]) -> float:
    """By how much what was added differs at most along one row, which is what softmax notices.

    Args:
        added_scores: (n_q, n_k), from `added`.
        allowed: (n_q, n_k), True = may attend.

    Returns:
        0 where every row got the same on all its keys.
    """
    high = np.where(allowed, added_scores, -np.inf).max(axis=-1)
    low = np.where(allowed, added_scores, np.inf).min(axis=-1)
    differences = np.subtract(high, low, out=np.zeros(high.shape), where=allowed.any(axis=-1))
    return float(differences.max(initial=0.0))

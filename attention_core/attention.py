"""Scaled dot-product attention, one named step at a time.

    Attention(Q, K, V) = softmax(Q Kᵀ / √d_k) V

Source: Vaswani et al. 2017, "Attention Is All You Need", section 3.2.1, equation 1.
Axes: n_q queries, n_k keys, d_k features per query and key, d_v features per value.
Any number of axes may lead (batch, heads).
"""

from dataclasses import dataclass, fields
from typing import Literal, Self, TypeAlias

import numpy as np
import numpy.typing as npt

from attention_core.arrays import (
    BoolArray,
    FloatArray,
    as_bools,
    as_floats,
    check_broadcast,
    matmul,
)
from attention_core.errors import ChoiceError, NotFiniteError, RangeError, ShapeError
from attention_core.softmax import softmax, softmax_or_zeros

EmptyRows: TypeAlias = Literal["raise", "zeros"]
EMPTY_ROWS: tuple[EmptyRows, ...] = ("raise", "zeros")


@dataclass(frozen=True, eq=False, slots=True)
class AttentionTrace:
    """Every intermediate of one attention call, in the order it was computed."""

    Q: FloatArray  # (..., n_q, d_k)
    K: FloatArray  # (..., n_k, d_k)
    V: FloatArray  # (..., n_k, d_v)
    scores: FloatArray  # (..., n_q, n_k)  Q Kᵀ
    scaled_scores: FloatArray  # (..., n_q, n_k)  scores * scale
    biased_scores: FloatArray  # (..., n_q, n_k)  scaled_scores + bias
    allowed: BoolArray  # (..., n_q, n_k)  True = may attend
    masked_scores: FloatArray  # (..., n_q, n_k)  -inf where not allowed
    weights: FloatArray  # (..., n_q, n_k)  each row sums to 1, or is 0 where nothing is allowed
    output: FloatArray  # (..., n_q, d_v)  weights V

    def at(self, index: int) -> Self:
        """The same steps for one entry of the last leading axis, which is that of the heads."""
        steps = {field.name: getattr(self, field.name) for field in fields(self)}
        return type(self)(**{name: step[..., index, :, :] for name, step in steps.items()})


def scaled_dot_product_attention(
    Q: npt.ArrayLike,
    K: npt.ArrayLike,
    V: npt.ArrayLike,
    *,
    allowed: npt.ArrayLike | None = None,
    bias: npt.ArrayLike | None = None,
    scale: float | None = None,
    empty_rows: EmptyRows = "raise",
) -> AttentionTrace:
    """Mix the values, weighting each by how well its key matches the query.

    What stands in a key or value that a query may not attend to (1e10, NaN) changes nothing
    for that query.

    Args:
        Q: (..., n_q, d_k).
        K: (..., n_k, d_k).
        V: (..., n_k, d_v).
        allowed: (..., n_q, n_k), True where a query may attend to a key. None allows all.
        bias: (..., n_q, n_k), added to the scaled scores (ALiBi; an additive mask of 0 and
            -inf, where -inf forbids). None adds nothing.
        scale: Multiplies the scores. None means 1 / √d_k.
        empty_rows: What to do about a query that may attend to nothing: "raise", or "zeros"
            for weights and output 0, as `F.scaled_dot_product_attention` does.

    Returns:
        Every step; `.output` has shape (..., n_q, d_v).

    Raises:
        ShapeError: An argument does not have the shape above.
        DtypeError: `allowed` is not boolean, or another argument does not hold real numbers.
        RangeError: d_k is 0.
        NotFiniteError: `scale` is NaN or infinite.
        EmptyRowError: A query may attend to nothing and `empty_rows` is "raise".
        ChoiceError: `empty_rows` is neither of the two.
    """
    Q, K, V, scale, leading = checked(Q, K, V, scale, empty_rows)
    n_q, n_k = Q.shape[-2], K.shape[-2]

    with np.errstate(invalid="ignore", over="ignore"):  # a masked key may hold anything
        scores = Q @ np.swapaxes(K, -1, -2)
        scaled_scores = scores * scale
        added = _bias(bias, (*leading, n_q, n_k))
        biased_scores = scaled_scores + added
    permitted = _allowed(allowed, (*leading, n_q, n_k)) & ~np.isneginf(added)
    masked_scores = np.where(permitted, biased_scores, -np.inf)
    weights = (softmax if empty_rows == "raise" else softmax_or_zeros)(masked_scores)
    output = mix(weights, V, permitted)
    return AttentionTrace(
        np.broadcast_to(Q, (*leading, *Q.shape[-2:])),
        np.broadcast_to(K, (*leading, *K.shape[-2:])),
        np.broadcast_to(V, (*leading, *V.shape[-2:])),
        np.broadcast_to(scores, permitted.shape),
        np.broadcast_to(scaled_scores, permitted.shape),
        biased_scores,
        permitted,
        masked_scores,
        weights,
        output,
    )


def self_attention(
    X: npt.ArrayLike,
    W_Q: npt.ArrayLike,
    W_K: npt.ArrayLike,
    W_V: npt.ArrayLike,
    *,
    allowed: npt.ArrayLike | None = None,
    bias: npt.ArrayLike | None = None,
    scale: float | None = None,
    empty_rows: EmptyRows = "raise",
) -> AttentionTrace:
    """Attention of a sequence to itself: queries, keys and values are projections of X.

    Args:
        X: (..., n_tokens, d_model).
        W_Q: (..., d_model, d_k).
        W_K: (..., d_model, d_k).
        W_V: (..., d_model, d_v).
        allowed, bias, scale, empty_rows: As in `scaled_dot_product_attention`.

    Returns:
        Every step; `.output` has shape (..., n_tokens, d_v).

    Raises:
        ShapeError: An argument does not have the shape above.
        AttentionError: As in `scaled_dot_product_attention`.
    """
    X = as_floats("X", X, ("n_tokens", "d_model"))
    d_model = X.shape[-1]
    W_Q = as_floats("W_Q", W_Q, (d_model, "d_k"))
    W_K = as_floats("W_K", W_K, (d_model, W_Q.shape[-1]))
    W_V = as_floats("W_V", W_V, (d_model, "d_v"))
    return scaled_dot_product_attention(
        matmul(X, "W_Q", W_Q),
        matmul(X, "W_K", W_K),
        matmul(X, "W_V", W_V),
        allowed=allowed,
        bias=bias,
        scale=scale,
        empty_rows=empty_rows,
    )


def checked(
    Q: npt.ArrayLike,
    K: npt.ArrayLike,
    V: npt.ArrayLike,
    scale: float | None,
    empty_rows: EmptyRows,
) -> tuple[FloatArray, FloatArray, FloatArray, float, tuple[int, ...]]:
    """The arguments of an attention, if they fit together.

    Returns:
        Q, K and V as float64, the scale as a number, and the leading axes that all three share.

    Raises:
        AttentionError: As in `scaled_dot_product_attention`.
    """
    Q = as_floats("Q", Q, ("n_q", "d_k"))
    K = as_floats("K", K, ("n_k", Q.shape[-1]))
    V = as_floats("V", V, (K.shape[-2], "d_v"))
    d_k = Q.shape[-1]
    if d_k == 0:
        raise RangeError("d_k", 0, 1, float("inf"))
    if empty_rows not in EMPTY_ROWS:
        raise ChoiceError("empty_rows", empty_rows, EMPTY_ROWS)
    scale = 1 / np.sqrt(d_k) if scale is None else float(scale)
    if not np.isfinite(scale):
        raise NotFiniteError("scale", ())
    return Q, K, V, scale, _leading_axes(Q, K, V)


def _leading_axes(Q: FloatArray, K: FloatArray, V: FloatArray) -> tuple[int, ...]:
    leading: tuple[int, ...] = Q.shape[:-2]
    for name, array in (("K", K), ("V", V)):
        try:
            leading = np.broadcast_shapes(leading, array.shape[:-2])
        except ValueError:
            raise ShapeError(name, (*leading, *array.shape[-2:]), array.shape) from None
    return leading


def _bias(bias: npt.ArrayLike | None, shape: tuple[int, ...]) -> FloatArray:
    array = as_floats("bias", np.zeros(shape) if bias is None else bias, shape[-2:])
    check_broadcast("bias", array, shape)
    return np.broadcast_to(array, shape)


def _allowed(allowed: npt.ArrayLike | None, shape: tuple[int, ...]) -> BoolArray:
    array = as_bools("allowed", np.ones(shape, dtype=bool) if allowed is None else allowed)
    check_broadcast("allowed", array, shape)
    return array


def mix(weights: FloatArray, V: FloatArray, allowed: BoolArray) -> FloatArray:
    """weights V, in which a value that is not finite reaches only the queries that may see it."""
    finite = np.isfinite(V)
    output: FloatArray = weights @ np.where(finite, V, 0.0)  # 0 · inf would be NaN for everyone
    if finite.all():
        return output
    with np.errstate(invalid="ignore"):
        seen = np.where(allowed[..., None], weights[..., None] * V[..., None, :, :], 0.0)
        total = seen.sum(axis=-2)
    return np.where(allowed @ ~finite, total, output)

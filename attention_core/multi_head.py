"""Multi-head attention: several small attentions side by side, then put together.

    head_h = Attention(X W_Q[h], X W_K[h], X W_V[h])
    MultiHead(X) = Concat(head_1, ..., head_n) W_O

Source: Vaswani et al. 2017, section 3.2.2. Grouped queries (several query heads share one
key/value head): Ainslie et al. 2023, "GQA", section 2.2.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from attention_core.arrays import FloatArray, as_floats, matmul
from attention_core.attention import AttentionTrace, EmptyRows, scaled_dot_product_attention
from attention_core.errors import DivisibilityError, RangeError


@dataclass(frozen=True, eq=False, slots=True)
class MultiHeadTrace:
    """Every intermediate of one multi-head call, in the order it was computed."""

    X: FloatArray  # (..., n_tokens, d_model)
    W_Q: FloatArray  # (n_heads, d_model, d_k)
    W_K: FloatArray  # (n_kv_heads, d_model, d_k)
    W_V: FloatArray  # (n_kv_heads, d_model, d_v)
    W_O: FloatArray | None  # (n_heads * d_v, d_out)
    projected_Q: FloatArray  # (..., n_heads, n_tokens, d_k)  X W_Q, before any rotation
    projected_K: FloatArray  # (..., n_heads, n_tokens, d_k)  X W_K, before any rotation
    heads: AttentionTrace  # every step with the axis n_heads before (n_tokens, ...)
    concatenated: FloatArray  # (..., n_tokens, n_heads * d_v)
    contributions: FloatArray  # (..., n_heads, n_tokens, d_out)  they sum to the output
    output: FloatArray  # (..., n_tokens, d_out)  concatenated W_O

    def sum_of(self, heads: Iterable[int]) -> FloatArray:
        """(..., n_tokens, d_out): what these heads add to the output together."""
        total: FloatArray = self.contributions[..., list(heads), :, :].sum(axis=-3)
        return total

    @property
    def head_outputs(self) -> FloatArray:
        """(..., n_heads, n_tokens, d_v)"""
        return self.heads.output

    def head(self, index: int) -> AttentionTrace:
        """The steps of one head."""
        return self.heads.at(index)


def multi_head_attention(
    X: npt.ArrayLike,
    W_Q: npt.ArrayLike,
    W_K: npt.ArrayLike,
    W_V: npt.ArrayLike,
    W_O: npt.ArrayLike | None = None,
    *,
    allowed: npt.ArrayLike | None = None,
    bias: npt.ArrayLike | None = None,
    scale: float | None = None,
    empty_rows: EmptyRows = "raise",
    rotate: Callable[[FloatArray], FloatArray] | None = None,
) -> MultiHeadTrace:
    """Attend with several heads at once and put their outputs together.

    Args:
        X: (..., n_tokens, d_model).
        W_Q: (n_heads, d_model, d_k).
        W_K: (n_kv_heads, d_model, d_k). With fewer key/value heads than query heads, query
            head h uses key/value head h // (n_heads // n_kv_heads).
        W_V: (n_kv_heads, d_model, d_v).
        W_O: (n_heads * d_v, d_out). None leaves the concatenated heads as the output.
        allowed: (n_tokens, n_tokens), or (..., n_heads or 1, n_tokens, n_tokens) with the
            leading axes of X. A batch of `padding` masks needs the axis of the heads put in.
        bias: (n_tokens, n_tokens) or (n_heads, n_tokens, n_tokens), added to the scaled scores.
        scale, empty_rows: As in `scaled_dot_product_attention`.
        rotate: Applied to queries and keys after the projection (rotary positions).

    Returns:
        Every step of every head; `.output` has shape (..., n_tokens, d_out).

    Raises:
        ShapeError: An argument does not have the shape above.
        RangeError: There is no query head.
        DivisibilityError: n_heads is no multiple of n_kv_heads.
        AttentionError: As in `scaled_dot_product_attention`.
    """
    X = as_floats("X", X, ("n_tokens", "d_model"))
    d_model = X.shape[-1]
    W_Q = as_floats("W_Q", W_Q, ("n_heads", d_model, "d_k"), may_lead=False)
    d_k = W_Q.shape[-1]
    W_K = as_floats("W_K", W_K, ("n_kv_heads", d_model, d_k), may_lead=False)
    n_heads, n_kv_heads = W_Q.shape[0], W_K.shape[0]
    W_V = as_floats("W_V", W_V, (n_kv_heads, d_model, "d_v"), may_lead=False)
    d_v = W_V.shape[-1]
    if W_O is not None:
        W_O = as_floats("W_O", W_O, (n_heads * d_v, "d_out"), may_lead=False)
    if n_heads == 0:
        raise RangeError("n_heads", 0, 1, float("inf"))
    if n_kv_heads == 0 or n_heads % n_kv_heads:
        raise DivisibilityError("n_heads", n_heads, "n_kv_heads", n_kv_heads)

    sequence = X[..., None, :, :]  # (..., 1, n_tokens, d_model)
    group = n_heads // n_kv_heads
    projected_Q = matmul(sequence, "W_Q", W_Q)
    projected_K = np.repeat(matmul(sequence, "W_K", W_K), group, axis=-3)
    V = np.repeat(matmul(sequence, "W_V", W_V), group, axis=-3)
    heads = scaled_dot_product_attention(
        rotate(projected_Q) if rotate else projected_Q,
        rotate(projected_K) if rotate else projected_K,
        V,
        allowed=allowed,
        bias=bias,
        scale=scale,
        empty_rows=empty_rows,
    )
    concatenated = merge_heads(heads.output)
    mixing = np.eye(n_heads * d_v) if W_O is None else W_O
    output = concatenated if W_O is None else concatenated @ W_O
    contributions = heads.output @ mixing.reshape(n_heads, d_v, mixing.shape[-1])
    return MultiHeadTrace(
        X,
        W_Q,
        W_K,
        W_V,
        W_O,
        projected_Q,
        projected_K,
        heads,
        concatenated,
        contributions,
        output,
    )


def split_heads(fused: npt.ArrayLike, n_heads: int) -> FloatArray:
    """Cut the last axis into heads: what one wide matrix holds, head by head.

    Args:
        fused: (..., n, n_heads * d), weights or activations; head h owns columns
            h * d to (h + 1) * d.
        n_heads: At least 1.

    Returns:
        (..., n_heads, n, d).

    Raises:
        RangeError: `n_heads` is below 1.
        DivisibilityError: The width is no multiple of `n_heads`.
    """
    fused = as_floats("fused", fused, ("n", "width"))
    width = fused.shape[-1]
    if n_heads < 1:
        raise RangeError("n_heads", n_heads, 1, float("inf"))
    if width % n_heads:
        raise DivisibilityError("width", width, "n_heads", n_heads)
    return np.swapaxes(fused.reshape(*fused.shape[:-1], n_heads, width // n_heads), -2, -3)


def merge_heads(per_head: npt.ArrayLike) -> FloatArray:
    """Put the heads side by side again: the inverse of `split_heads`.

    Args:
        per_head: (..., n_heads, n, d).

    Returns:
        (..., n, n_heads * d).
    """
    per_head = as_floats("per_head", per_head, ("n_heads", "n", "d"))
    *leading, n_heads, n, d = per_head.shape
    return np.swapaxes(per_head, -2, -3).reshape(*leading, n, n_heads * d)

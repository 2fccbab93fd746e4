"""How a width is shared among heads: counts, one product for all, shapes, faults, shared keys.

    d_k = d_model / n_heads,   so that   n_heads · d_model · d_k = d_model²   whatever n_heads is

Sources: Vaswani et al. 2017, section 3.2.2 ("due to the reduced dimension of each head, the total
computational cost is similar to that of single-head attention with full dimensionality");
grouped queries: Ainslie et al. 2023, "GQA", sections 2.1 (pooling) and 2.2.
Axes: batch, n_tokens, width = n_heads · d_k.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from attention_core.arrays import FloatArray, as_floats, check_counts, matmul
from attention_core.attention import AttentionTrace, scaled_dot_product_attention
from attention_core.errors import DivisibilityError
from attention_core.multi_head import MultiHeadTrace, merge_heads

StepName: TypeAlias = Literal[
    "input",
    "projection",
    "view",
    "transpose",
    "scores",
    "weights",
    "values",
    "transpose_back",
    "merge",
    "W_O",
]


# --- counts


def divisors(width: int) -> tuple[int, ...]:
    """Into how many equal heads a width can be cut, fewest first.

    Raises:
        RangeError: The width is below 1.
    """
    check_counts(1, width=width)
    return tuple(count for count in range(1, width + 1) if width % count == 0)


def n_parameters(d_model: int, n_heads: int, d_k: int, *, has_W_O: bool) -> int:
    """How many weights W_Q, W_K, W_V, and W_O where there is one, hold together."""
    per_projection = n_heads * d_model * d_k
    return per_projection * (4 if has_W_O else 3)


def cache_per_token(n_kv_heads: int, d_k: int) -> int:
    """How many numbers of K and V one layer keeps for each token that it has read."""
    return 2 * n_kv_heads * d_k


def fused_projection(X: npt.ArrayLike, W: npt.ArrayLike) -> FloatArray:
    """All heads projected by one product: X times the heads' weights side by side.

    Args:
        X: (..., n_tokens, d_model).
        W: (n_heads, d_model, d_k).

    Returns:
        (..., n_tokens, n_heads * d_k); `split_heads` of it is what each head gets.
    """
    W = as_floats("W", W, ("n_heads", "d_model", "d_k"), may_lead=False)
    X = as_floats("X", X, ("n_tokens", W.shape[1]))
    return matmul(X, "W", merge_heads(W))


# --- shapes


@dataclass(frozen=True, slots=True)
class ShapeStep:
    """One step of multi-head attention over a batch, and the shape after it."""

    name: StepName
    shape: tuple[int, ...]


def shape_steps(batch: int, n_tokens: int, width: int, n_heads: int) -> list[ShapeStep]:
    """The shape after every step, from X to the output.

    Args:
        batch: Number of sequences.
        n_tokens: Of each sequence.
        width: d_model, which all heads share.
        n_heads: Number of heads.

    Raises:
        RangeError: A count is below 1.
        DivisibilityError: The width is no multiple of `n_heads`.
    """
    check_counts(1, batch=batch, n_tokens=n_tokens, width=width, n_heads=n_heads)
    if width % n_heads:
        raise DivisibilityError("width", width, "n_heads", n_heads)
    d_k = width // n_heads
    wide = (batch, n_tokens, width)
    per_token = (batch, n_tokens, n_heads, d_k)
    per_head = (batch, n_heads, n_tokens, d_k)
    between = (batch, n_heads, n_tokens, n_tokens)
    return [
        ShapeStep("input", wide),
        ShapeStep("projection", wide),
        ShapeStep("view", per_token),
        ShapeStep("transpose", per_head),
        ShapeStep("scores", between),
        ShapeStep("weights", between),
        ShapeStep("values", per_head),
        ShapeStep("transpose_back", per_token),
        ShapeStep("merge", wide),
        ShapeStep("W_O", wide),
    ]


# --- the classic fault


def viewed_as_heads(fused: npt.ArrayLike, n_heads: int) -> FloatArray:
    """The classic fault: (n, n_heads · d) viewed as (n_heads, n, d), without the transpose.

    The shape is the wanted one, so nothing complains; but memory is read along the rows, and the
    numbers of one token are spread over the heads.

    Args:
        fused: (n, n_heads * d).
        n_heads: At least 1.

    Returns:
        (n_heads, n, d), each number somewhere in it once. `split_heads` is the right way.

    Raises:
        RangeError: `n_heads` is below 1.
        DivisibilityError: The width is no multiple of `n_heads`.
    """
    fused = as_floats("fused", fused, ("n", "width"), may_lead=False)
    n, width = fused.shape
    check_counts(1, n_heads=n_heads)
    if width % n_heads:
        raise DivisibilityError("width", width, "n_heads", n_heads)
    return fused.reshape(n_heads, n, width // n_heads)


def origins(n: int, width: int, n_heads: int) -> npt.NDArray[np.int_]:
    """Where each number stood that `viewed_as_heads` puts into a head.

    Returns:
        (n_heads, n, width // n_heads, 2): row and column in the fused matrix. The number belongs
        there if the row is its own and column // d is its head.
    """
    places = viewed_as_heads(np.arange(n * width).reshape(n, width), n_heads).astype(int)
    return np.stack(np.divmod(places, width), axis=-1)


def misviewed_attention(
    attention: MultiHeadTrace,
    *,
    bias: npt.ArrayLike | None = None,
    scale: float | None = None,
    rotate: Callable[[FloatArray], FloatArray] | None = None,
) -> tuple[AttentionTrace, FloatArray]:
    """What comes out where queries, keys and values were viewed as heads without the transpose.

    Args:
        attention: The right way, whose projections are taken; without leading axes.
        bias, scale, rotate: As in `multi_head_attention`.

    Returns:
        Every step of every head, (n_heads, n_tokens, ...), and the output, put together rightly.
    """
    n_heads = attention.projected_Q.shape[0]
    Q, K, V = (
        viewed_as_heads(merge_heads(projected), n_heads)
        for projected in (attention.projected_Q, attention.projected_K, attention.heads.V)
    )
    heads = scaled_dot_product_attention(
        rotate(Q) if rotate else Q,
        rotate(K) if rotate else K,
        V,
        allowed=attention.heads.allowed,
        bias=bias,
        scale=scale,
        empty_rows="zeros",
    )
    concatenated = merge_heads(heads.output)
    return heads, concatenated if attention.W_O is None else concatenated @ attention.W_O


# --- shared keys and values


def pooled(W: npt.ArrayLike, n_kv_heads: int) -> FloatArray:
    """Key or value weights for fewer heads: the mean of each group, as GQA starts from.

    Args:
        W: (n_heads, d_model, d_k).
        n_kv_heads: How many are left; n_heads leaves all as they are, 1 is multi-query attention.

    Returns:
        (n_kv_heads, d_model, d_k).

    Raises:
        RangeError: `n_kv_heads` is below 1.
        DivisibilityError: n_heads is no multiple of it.
    """
    W = as_floats("W", W, ("n_heads", "d_model", "d_k"), may_lead=False)
    check_counts(1, n_kv_heads=n_kv_heads)
    n_heads = W.shape[0]
    if n_heads % n_kv_heads:
        raise DivisibilityError("n_heads", n_heads, "n_kv_heads", n_kv_heads)
    groups = W.reshape(n_kv_heads, n_heads // n_kv_heads, *W.shape[1:])
    mean: FloatArray = groups.mean(axis=1)
    return mean

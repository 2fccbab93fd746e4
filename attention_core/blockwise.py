"""The same attention with less memory: only the output is kept, and only what is needed is held.

Dense: all scores at once, n_q · n_k of them.

Blockwise with online softmax: the keys come in blocks, and of each query three things are kept,
the largest score m so far, the sum l of the exponentials, and the mix o of the values:

    m' = max(m, max s),  l' = l exp(m - m') + Σ exp(s - m'),  o' = o exp(m - m') + exp(s - m') V

After the last block o / l is the output, whatever the number of keys. Sources: Milakov and
Gimelshein 2018, "Online normalizer calculation for softmax"; Rabe and Staats 2021,
"Self-attention Does Not Need O(n²) Memory"; Dao et al. 2022, "FlashAttention", algorithm 1.

Windowed: a query is compared with its neighbours alone, n_q · (before + 1 + after) scores.
Source: Beltagy et al. 2020, "Longformer", section 3.1.

Axes: n_q queries, n_k keys, d_k features per query and key, d_v features per value.
Any number of axes may lead (batch, heads).
"""

from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from numpy.lib.stride_tricks import sliding_window_view

from attention_core.arrays import BoolArray, FloatArray, as_bools, check_broadcast, check_counts
from attention_core.attention import EmptyRows, checked, mix
from attention_core.errors import EmptyRowError

Positions: TypeAlias = npt.NDArray[np.int64]
AllowedAt: TypeAlias = Callable[[Positions, Positions], npt.NDArray[Any]]

BLOCK = 256  # queries and keys at a time: their scores fit in a processor's cache


def dense_attention(
    Q: npt.ArrayLike, K: npt.ArrayLike, V: npt.ArrayLike, *, scale: float | None = None
) -> FloatArray:
    """Every query with every key, all scores at once, in one array that becomes the weights.

    Args:
        Q: (..., n_q, d_k).
        K: (..., n_k, d_k).
        V: (..., n_k, d_v).
        scale: Multiplies the scores. None means 1 / √d_k.

    Returns:
        (..., n_q, d_v), as the output of `scaled_dot_product_attention`.

    Raises:
        AttentionError: As in `scaled_dot_product_attention`.
    """
    Q, K, V, scale, leading = checked(Q, K, V, scale, "raise")

    with np.errstate(invalid="ignore", over="ignore"):
        scores = Q @ np.swapaxes(K, -1, -2)
        scores *= scale
    maximum = scores.max(axis=-1, keepdims=True, initial=-np.inf)
    _refuse(np.broadcast_to(np.isneginf(maximum[..., 0]), (*leading, Q.shape[-2])))
    weights = _exponentials(scores, maximum)
    weights /= weights.sum(axis=-1, keepdims=True)
    return mix(weights, V, np.broadcast_to(np.True_, weights.shape))


def blockwise_attention(
    Q: npt.ArrayLike,
    K: npt.ArrayLike,
    V: npt.ArrayLike,
    *,
    allowed: npt.ArrayLike | AllowedAt | None = None,
    scale: float | None = None,
    block: int = BLOCK,
    empty_rows: EmptyRows = "raise",
) -> FloatArray:
    """Attention in memory that does not depend on the number of keys.

    A block of scores in which nothing is allowed is not computed at all.

    Args:
        Q: (..., n_q, d_k).
        K: (..., n_k, d_k).
        V: (..., n_k, d_v).
        allowed: (..., n_q, n_k), True where a query may attend to a key; or a function that
            gives it for some queries and keys alone, from their positions i, (b, 1), and j,
            (1, b): `lambda i, j: j <= i` is causal. None allows all.
        scale: Multiplies the scores. None means 1 / √d_k.
        block: How many queries, and how many keys, at a time.
        empty_rows: As in `scaled_dot_product_attention`.

    Returns:
        (..., n_q, d_v), as the output of `scaled_dot_product_attention`.

    Raises:
        RangeError: `block` is below 1, or d_k is 0.
        AttentionError: As in `scaled_dot_product_attention`.
    """
    Q, K, V, scale, leading = checked(Q, K, V, scale, empty_rows)
    check_counts(1, block=block)
    n_q, n_k = Q.shape[-2], K.shape[-2]
    allowed_at = _allowed_at(allowed, (*leading, n_q, n_k))

    output = np.empty((*leading, n_q, V.shape[-1]))
    is_empty = np.zeros((*leading, n_q), dtype=bool)
    for queries in _blocks(n_q, block):
        rows = _Rows((*leading, queries.stop - queries.start, V.shape[-1]))
        for keys in _blocks(n_k, block):
            permitted = allowed_at(queries, keys)
            if permitted.any():
                scores = _scores(Q[..., queries, :], K[..., keys, :], scale, permitted)
                rows.take(scores, V[..., keys, :], permitted)
        output[..., queries, :] = rows.output()
        is_empty[..., queries] = rows.is_empty()
    if empty_rows == "raise":
        _refuse(is_empty)
    return output


def windowed_attention(
    Q: npt.ArrayLike,
    K: npt.ArrayLike,
    V: npt.ArrayLike,
    *,
    before: int,
    after: int,
    scale: float | None = None,
    empty_rows: EmptyRows = "raise",
) -> FloatArray:
    """Attention to neighbours alone; no other score is computed.

    All n_q · (before + 1 + after) scores are held at once. For a window nearly as wide as the
    sequence that is up to twice as many as there are pairs: take `blockwise_attention` then.

    Args:
        Q: (..., n_q, d_k).
        K: (..., n_k, d_k).
        V: (..., n_k, d_v).
        before: How many tokens before its own a query may see; the token itself not counted.
        after: How many after it.
        scale: Multiplies the scores. None means 1 / √d_k.
        empty_rows: As in `scaled_dot_product_attention`.

    Returns:
        (..., n_q, d_v), as the output of `scaled_dot_product_attention` with `masks.window`.

    Raises:
        RangeError: `before` or `after` is negative, or d_k is 0.
        AttentionError: As in `scaled_dot_product_attention`.
    """
    Q, K, V, scale, leading = checked(Q, K, V, scale, empty_rows)
    check_counts(0, before=before, after=after)
    n_q, n_k = Q.shape[-2], K.shape[-2]
    before, after = min(before, n_q), min(after, n_k)  # more would see nothing more

    K_near, V_near = (_near(array, n_q, before, after) for array in (K, V))  # (..., n_q, d, width)
    with np.errstate(invalid="ignore", over="ignore"):
        scores = (Q[..., None, :] @ K_near)[..., 0, :]  # (..., n_q, width)
        scores *= scale
    for rows in (slice(0, before), slice(max(0, n_k - after), n_q)):  # the others have all theirs
        key = np.arange(n_q)[rows, None] + np.arange(-before, after + 1)
        np.copyto(scores[..., rows, :], -np.inf, where=(key < 0) | (key >= n_k))
    maximum = scores.max(axis=-1, keepdims=True)
    is_empty = np.broadcast_to(np.isneginf(maximum[..., 0]), (*leading, n_q))
    if empty_rows == "raise":
        _refuse(is_empty)
    weights = _exponentials(scores, maximum)
    total = weights.sum(axis=-1, keepdims=True)
    weights /= np.where(total == 0, 1.0, total)
    with np.errstate(invalid="ignore"):
        output: FloatArray = (weights[..., None, :] @ np.swapaxes(V_near, -1, -2))[..., 0, :]
    return np.where(is_empty[..., None], 0.0, output) if is_empty.any() else output


class _Rows:
    """What is kept of a block of queries while the keys come: m, l and o of the equation."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        self._maximum = np.full((*shape[:-1], 1), -np.inf)
        self._total = np.zeros((*shape[:-1], 1))
        self._mixed = np.zeros(shape)

    def take(self, scores: FloatArray, V: FloatArray, permitted: BoolArray) -> None:
        """The scores with some more keys, and their values; the scores are overwritten."""
        maximum = np.maximum(self._maximum, scores.max(axis=-1, keepdims=True))
        with np.errstate(invalid="ignore", over="ignore"):
            shrink = np.exp(self._maximum - _finite_or_0(maximum))
            exponentials = _exponentials(scores, maximum)
            self._total = self._total * shrink + exponentials.sum(axis=-1, keepdims=True)
            self._mixed = self._mixed * shrink + mix(exponentials, V, permitted)
        self._maximum = maximum

    def is_empty(self) -> BoolArray:
        """(..., b): whether there was no key for this query."""
        empty: BoolArray = np.isneginf(self._maximum[..., 0])
        return empty

    def output(self) -> FloatArray:
        """(..., b, d_v), 0 where there was no key."""
        with np.errstate(invalid="ignore"):
            output: FloatArray = self._mixed / np.where(self._total == 0, 1.0, self._total)
        return output


def _scores(Q: FloatArray, K: FloatArray, scale: float, permitted: BoolArray) -> FloatArray:
    """(..., b, b), -inf where not permitted."""
    with np.errstate(invalid="ignore", over="ignore"):  # a masked key may hold anything
        scores = Q @ np.swapaxes(K, -1, -2)
        scores *= scale
    if scores.shape == permitted.shape and permitted.all():
        return scores
    return np.where(permitted, scores, -np.inf)


def _exponentials(scores: FloatArray, maximum: FloatArray) -> FloatArray:
    """exp(scores - maximum), in the place of the scores; 0 in a row of -inf."""
    with np.errstate(invalid="ignore", over="ignore"):
        scores -= _finite_or_0(maximum)
        return np.exp(scores, out=scores)


def _finite_or_0(maximum: FloatArray) -> FloatArray:
    return np.where(np.isneginf(maximum), 0.0, maximum)  # -inf - -inf would be NaN


def _near(array: FloatArray, n_q: int, before: int, after: int) -> FloatArray:
    """(..., n_q, d, width): of each query the rows of K or V around it, without copies of them."""
    lacking = max(0, max(n_q, 1) + after - array.shape[-2])
    around = [(0, 0)] * (array.ndim - 2) + [(before, lacking), (0, 0)]
    padded = np.pad(array, around)
    windows = sliding_window_view(padded, before + 1 + after, axis=-2)
    near: FloatArray = windows[..., :n_q, :, :]
    return near


def _blocks(n: int, block: int) -> Iterator[slice]:
    return (slice(start, min(start + block, n)) for start in range(0, n, block))


def _allowed_at(
    allowed: npt.ArrayLike | AllowedAt | None, shape: tuple[int, ...]
) -> Callable[[slice, slice], BoolArray]:
    """Gives the part of `allowed` for some queries and keys, of exactly that shape."""
    if allowed is None:
        whole = np.broadcast_to(np.True_, shape)
    elif callable(allowed):
        return lambda queries, keys: _asked(allowed, queries, keys, shape[:-2])
    else:
        array = as_bools("allowed", allowed)
        check_broadcast("allowed", array, shape)
        whole = np.broadcast_to(array, shape)
    return lambda queries, keys: whole[..., queries, keys]


def _asked(allowed: AllowedAt, queries: slice, keys: slice, leading: tuple[int, ...]) -> BoolArray:
    i, j = np.arange(queries.start, queries.stop), np.arange(keys.start, keys.stop)
    array = as_bools("allowed", allowed(i[:, None], j[None, :]))
    shape = (*leading, len(i), len(j))
    check_broadcast("allowed", array, shape)
    return np.broadcast_to(array, shape)


def _refuse(is_empty: BoolArray) -> None:
    """Raise EmptyRowError if there is a query without any key."""
    if is_empty.any():
        raise EmptyRowError([tuple(map(int, row)) for row in np.argwhere(is_empty)])

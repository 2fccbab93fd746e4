"""The key/value cache: a token at the end is computed alone, against kept keys and values.

Under a causal mask no earlier row can see a new token, so no earlier row changes, in this layer
or in any above it. Its keys and values stay as they are and are kept; only the new row is
computed.

    q, k, v = x W_Q, x W_K, x W_V;  K, V ← [K; k], [V; v];  output = softmax(q Kᵀ · scale) V

Source: the masked self-attention of Vaswani et al. 2017, section 3.2.3; Shazeer 2019, "Fast
Transformer Decoding", section 2.4, counts what is computed and what is read.
"""

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from attention_core.arrays import FloatArray, as_floats, check_counts
from attention_core.attention import AttentionTrace, scaled_dot_product_attention
from attention_core.canvas import MAX_TOKENS
from attention_core.experiment import Experiment, Mask
from attention_core.positions import rotary


@dataclass(frozen=True, eq=False, slots=True)
class KeyValueCache:
    """The keys and values of the tokens so far, of one head."""

    K: FloatArray  # (n_tokens, d_k)
    V: FloatArray  # (n_tokens, d_v)

    @classmethod
    def empty(cls, d_k: int, d_v: int) -> Self:
        """Before the first token."""
        return cls(np.zeros((0, d_k)), np.zeros((0, d_v)))

    @property
    def n_tokens(self) -> int:
        return int(self.K.shape[0])

    def with_token(self, k: FloatArray, v: FloatArray) -> Self:
        """One token more.

        Args:
            k: (1, d_k), its key.
            v: (1, d_v), its value.

        Raises:
            ShapeError: One of them has another shape.
        """
        k = as_floats("k", k, (1, self.K.shape[1]), may_lead=False)
        v = as_floats("v", v, (1, self.V.shape[1]), may_lead=False)
        return type(self)(np.concatenate([self.K, k]), np.concatenate([self.V, v]))


def next_token(
    x: FloatArray,
    cache: KeyValueCache,
    W_Q: FloatArray,
    W_K: FloatArray,
    W_V: FloatArray,
    *,
    scale: float | None = None,
    bias: FloatArray | None = None,
    is_rotary: bool = False,
) -> tuple[AttentionTrace, KeyValueCache]:
    """Attention of one new token to all before it and itself.

    Args:
        x: (1, d_model), the new token's vector, with its position if one is added.
        cache: Keys and values of those before it.
        W_Q, W_K: (d_model, d_k).
        W_V: (d_model, d_v).
        scale: As in `scaled_dot_product_attention`.
        bias: (1, n_tokens + 1), added to its scores.
        is_rotary: Whether its query and key are turned by its place.

    Returns:
        Every step of its one row, and the cache with its key and value.

    Raises:
        ShapeError: An argument does not have the shape above.
    """
    x = as_floats("x", x, (1, W_Q.shape[0]), may_lead=False)
    q: FloatArray = x @ W_Q
    k: FloatArray = x @ W_K
    if is_rotary:
        q, k = (rotary(vector, offset=cache.n_tokens) for vector in (q, k))
    grown = cache.with_token(k, x @ W_V)
    return scaled_dot_product_attention(q, grown.K, grown.V, bias=bias, scale=scale), grown


@dataclass(frozen=True, eq=False, slots=True)
class Growth:
    """One head without its last token and with it, and the last row from a cache."""

    tokens: tuple[str, ...]  # with the new one
    cache: KeyValueCache  # before the new token
    grown: KeyValueCache  # after it
    before: AttentionTrace  # of all but the last
    after: AttentionTrace  # of all, computed in full
    new: AttentionTrace  # the last row alone, from the cache

    @property
    def moved_by(self) -> FloatArray:
        """(n_tokens,): by how much each earlier output moved at most."""
        earlier = self.after.output[: len(self.before.output)]
        moves: FloatArray = np.abs(earlier - self.before.output).max(axis=-1)
        return moves

    @property
    def rounding(self) -> float:
        """Differences up to this come from the order of summing."""
        largest = max(float(np.abs(self.after.V).max()), 1.0)
        return 1e-9 * largest

    @property
    def n_reused(self) -> int:
        """How many numbers of K and V were taken from the cache."""
        return int(self.cache.K.size + self.cache.V.size)


def growth(e: Experiment, head: int, *, is_causal: bool) -> Growth:
    """One more token at the end; where there are 12 already, the last of them plays that part.

    Args:
        e: Tokens, vectors, weights and positions. Its mask plays no part.
        head: From 0.
        is_causal: Whether the full computation has a causal mask.
    """
    mask = Mask(("causal",)) if is_causal else Mask()
    whole = replace(e if e.n_tokens == MAX_TOKENS else e.with_token_added(), mask=mask)
    fewer = whole.resized(n_tokens=whole.n_tokens - 1)
    trace = whole.trace()
    after = trace.attention.head(head)
    W_Q, W_K, W_V = whole.W_Q[head], whole.W_K[head], whole.W_V[head]
    cache = KeyValueCache.empty(e.d_k, e.d_k)
    grown = cache
    for i in range(whole.n_tokens):
        cache = grown
        new, grown = next_token(
            trace.inputs[i : i + 1],
            cache,
            W_Q,
            W_K,
            W_V,
            scale=e.scale,
            bias=None if trace.bias is None else trace.bias[head, i : i + 1, : i + 1],
            is_rotary=e.is_rotary,
        )
    before = fewer.trace().attention.head(head)
    return Growth(whole.tokens, cache, grown, before, after, new)


def n_multiply_adds(n_tokens: int, d_model: int, d_k: int, d_v: int) -> int:
    """Of one head on all tokens at once: projections, scores, mix of the values.

        n d_model (2 d_k + d_v) + n² d_k + n² d_v

    Masked scores are counted, as they are computed and then thrown away.

    Raises:
        RangeError: A count is negative.
    """
    check_counts(0, n_tokens=n_tokens, d_model=d_model, d_k=d_k, d_v=d_v)
    return n_tokens * d_model * (2 * d_k + d_v) + n_tokens**2 * (d_k + d_v)


def n_multiply_adds_cached(n_tokens: int, d_model: int, d_k: int, d_v: int) -> int:
    """Of one head on the last of n tokens, the keys and values of the others kept.

        d_model (2 d_k + d_v) + n d_k + n d_v

    Raises:
        RangeError: A count is negative.
    """
    check_counts(0, n_tokens=n_tokens, d_model=d_model, d_k=d_k, d_v=d_v)
    return d_model * (2 * d_k + d_v) + n_tokens * (d_k + d_v)

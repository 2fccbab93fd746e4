"""Cross-attention: queries from one sequence, keys and values from another.

    CrossAttention(T, S) = softmax(Q Kᵀ / √d_k) V,  Q = T W_Q,  K = S W_K,  V = S W_V

Written as one sequence S | T it is self-attention under a mask in which each target sees the
source alone. Source: Vaswani et al. 2017, "Attention Is All You Need", section 3.2.3.
Axes: n_k source tokens, n_q target tokens.
"""

from dataclasses import replace

import numpy as np

from attention_core.arrays import BoolArray
from attention_core.attention import AttentionTrace, scaled_dot_product_attention
from attention_core.canvas import check_count
from attention_core.experiment import Experiment, Mask
from attention_core.masks import padding
from attention_core.positions import rotary


def source_only(n_tokens: int, n_source: int) -> BoolArray:
    """(n_tokens, n_tokens): everyone sees the first `n_source` tokens, and nobody the others."""
    return np.broadcast_to(padding(np.arange(n_tokens) < n_source), (n_tokens, n_tokens))


def cross_attention(e: Experiment, head: int, n_source: int) -> AttentionTrace:
    """The targets ask, the source answers, with the weights of one head; each keeps its place.

    The source is projected to keys and values alone, the target to queries alone, so nothing is
    computed that a mask would throw away.

    Args:
        e: Tokens, vectors, weights and positions. Its mask plays no part.
        head: From 0.
        n_source: How many tokens are the source, from the first on; the others are the target.

    Returns:
        Every step; `.weights` has shape (n_target, n_source).

    Raises:
        RangeError: One side would be empty.
    """
    check_count("n_source", n_source, 1, e.n_tokens - 1)
    trace = e.trace()
    source, target = trace.inputs[:n_source], trace.inputs[n_source:]
    Q, K = target @ e.W_Q[head], source @ e.W_K[head]
    if e.is_rotary:
        Q, K = rotary(Q, offset=n_source), rotary(K)
    return scaled_dot_product_attention(
        Q,
        K,
        source @ e.W_V[head],
        bias=None if trace.bias is None else trace.bias[head, n_source:, :n_source],
        scale=e.scale,
    )


def as_one_sequence(e: Experiment, head: int, n_source: int) -> AttentionTrace:
    """The same as self-attention of all tokens under a mask; its last rows are the targets."""
    allowed = source_only(e.n_tokens, n_source)
    cells = tuple((query, key, False) for query, key in np.argwhere(~allowed).tolist())
    masked = replace(e, mask=Mask(("painted",), painted=cells))
    return masked.trace().attention.head(head)

"""Self-attention as layers of PyTorch, small enough to read in one go.

    SelfAttention:       context = softmax(Q Kᵀ / √d) V           with Q, K, V = X W_Q, X W_K, X W_V
    MultiHeadAttention:  output = Concat(context_1, ..., context_h) W_O

Source: Vaswani et al. 2017, "Attention Is All You Need", sections 3.2.1 and 3.2.2.
Axes: B sequences, T tokens, E features of a token, H heads, d_k = E / H features of a head.
Masks follow the core: 1 or True = may be attended. A token that may attend to nothing gets
weights and context 0.
"""

import math

import torch
from torch import Tensor, nn

from attention_core.arrays import check_counts
from attention_core.errors import DivisibilityError, ShapeError


class SelfAttention(nn.Module):
    """One head as wide as the token vectors, without bias and without output projection."""

    def __init__(self, embed_dim: int, *, dropout: float = 0.0) -> None:
        check_counts(1, embed_dim=embed_dim)
        super().__init__()
        self.embed_dim = embed_dim
        self.query = nn.Linear(embed_dim, embed_dim, bias=False)
        self.key = nn.Linear(embed_dim, embed_dim, bias=False)
        self.value = nn.Linear(embed_dim, embed_dim, bias=False)
        self.dropout = nn.Dropout(dropout)
        for projection in (self.query, self.key, self.value):
            nn.init.xavier_uniform_(projection.weight)

    def forward(
        self,
        x: Tensor,
        mask: Tensor | None = None,
        *,
        padding: Tensor | None = None,
        is_causal: bool = False,
    ) -> tuple[Tensor, Tensor]:
        """Mix the tokens of each sequence.

        Args:
            x: (B, T, E).
            mask: (T, T) or (B, T, T), 1/0 or bool: 0 or False = may not be attended.
            padding: (B, T), 1 or True = a real token, 0 or False = filling that nobody attends to.
            is_causal: Whether a token attends to itself and earlier ones only.

        Returns:
            Context (B, T, E) and weights (B, T, T). Dropout acts on the weights that mix the
            values, not on those returned, so their rows always sum to 1.

        Raises:
            ShapeError: An argument does not have the shape above.
        """
        check_sequences(x, self.embed_dim)
        allowed = combined(x, mask, padding, is_causal=is_causal)  # (B or 1, T, T) or None
        Q, K, V = self.query(x), self.key(x), self.value(x)  # (B, T, E) each
        weights = attention_weights(Q, K, allowed)  # (B, T, T)
        context = self.dropout(weights) @ V  # (B, T, E)
        return context, weights


class MultiHeadAttention(nn.Module):
    """Several heads that share the width, projected at once and put together by W_O."""

    def __init__(
        self, embed_dim: int, num_heads: int, bias: bool = True, *, dropout: float = 0.0
    ) -> None:
        check_counts(1, embed_dim=embed_dim, num_heads=num_heads)
        if embed_dim % num_heads:
            raise DivisibilityError("embed_dim", embed_dim, "num_heads", num_heads)
        super().__init__()
        self.embed_dim, self.num_heads = embed_dim, num_heads
        self.in_proj = nn.Linear(embed_dim, 3 * embed_dim, bias=bias)  # W_Q, W_K, W_V on each other
        self.out_proj = nn.Linear(embed_dim, embed_dim, bias=bias)
        self.dropout = nn.Dropout(dropout)
        for projection in (self.in_proj, self.out_proj):
            nn.init.xavier_uniform_(projection.weight)
            if bias:
                nn.init.zeros_(projection.bias)

    def forward(
        self,
        x: Tensor,
        mask: Tensor | None = None,
        *,
        padding: Tensor | None = None,
        is_causal: bool = False,
    ) -> tuple[Tensor, Tensor]:
        """Mix the tokens of each sequence, with each head in its own way.

        Args:
            x: (B, T, E).
            mask: (T, T), (B, T, T) or (B, H or 1, T, T), else as in `SelfAttention`.
            padding: (B, T), as in `SelfAttention`.
            is_causal: As in `SelfAttention`.

        Returns:
            Output (B, T, E) and weights (B, H, T, T), before dropout.

        Raises:
            ShapeError: An argument does not have the shape above.
        """
        check_sequences(x, self.embed_dim)
        allowed = combined(x, mask, padding, is_causal=is_causal, num_heads=self.num_heads)
        Q, K, V = map(self.split, self.in_proj(x).chunk(3, dim=-1))  # (B, H, T, d_k) each
        weights = attention_weights(Q, K, allowed)  # (B, H, T, T)
        context = self.dropout(weights) @ V  # (B, H, T, d_k)
        return self.out_proj(self.merge(context)), weights

    def split(self, fused: Tensor) -> Tensor:
        """(B, T, E) to (B, H, T, d_k): each head owns a run of the columns."""
        B, T, _ = fused.shape
        return fused.view(B, T, self.num_heads, -1).transpose(1, 2)

    def merge(self, per_head: Tensor) -> Tensor:
        """(B, H, T, d_k) to (B, T, E): the inverse of `split`."""
        B, _, T, _ = per_head.shape
        return per_head.transpose(1, 2).reshape(B, T, self.embed_dim)


def attention_weights(
    Q: Tensor,
    K: Tensor,
    allowed: Tensor | None = None,
    *,
    scale: float | None = None,
    bias: Tensor | None = None,
) -> Tensor:
    """How much each query attends to each key.

    Args:
        Q, K, allowed, scale, bias: As in `masked_scores`.

    Returns:
        (..., T, T), each row sums to 1, or is 0 where nothing is allowed.
    """
    weights = torch.softmax(masked_scores(Q, K, allowed, scale=scale, bias=bias), dim=-1)
    if allowed is None:
        return weights
    return weights.masked_fill(~allowed.any(dim=-1, keepdim=True), 0.0)


def masked_scores(
    Q: Tensor,
    K: Tensor,
    allowed: Tensor | None = None,
    *,
    scale: float | None = None,
    bias: Tensor | None = None,
) -> Tensor:
    """How well each query matches each key it may attend to.

    Args:
        Q: (..., T, d).
        K: (..., T, d).
        allowed: Broadcasts to (..., T, T), True = may attend; None allows all.
        scale: Multiplies the scores; None means 1 / √d.
        bias: Broadcasts to (..., T, T), added to the scaled scores.

    Returns:
        (..., T, T), -inf where not allowed; but a row where nothing is allowed keeps its scores.
        As -inf its softmax would be NaN, and so would be its gradient, which may then get any
        further or not, as the mask was applied.
    """
    scores = Q @ K.transpose(-2, -1)  # (..., T, T)
    scores = scores * (1 / math.sqrt(Q.shape[-1]) if scale is None else scale)
    if bias is not None:
        scores = scores + bias
    if allowed is None:
        return scores
    is_empty = ~allowed.any(dim=-1, keepdim=True)
    return scores.masked_fill(~(allowed | is_empty), -torch.inf)


def combined(
    x: Tensor,
    mask: Tensor | None,
    padding: Tensor | None,
    *,
    is_causal: bool,
    num_heads: int | None = None,
) -> Tensor | None:
    """All masks as one, True = may attend: it broadcasts to the weights; None where all may.

    Args:
        x: (B, T, E), the sequences.
        mask, padding, is_causal: As in the layers.
        num_heads: Puts in the axis of the heads.

    Raises:
        ShapeError: A mask does not fit the sequences.
    """
    B, T, _ = x.shape
    parts = []
    if mask is not None:
        sizes = {2: (T, T), 3: (B, T, T)}
        if num_heads is not None:
            sizes[4] = (B, num_heads if mask.shape[1:2] != (1,) else 1, T, T)
        if mask.shape != sizes.get(mask.ndim):
            raise ShapeError("mask", sizes.get(mask.ndim, (T, T)), tuple(mask.shape))
        allowed = mask != 0
        parts.append(allowed[:, None] if num_heads is not None and mask.ndim == 3 else allowed)
    if padding is not None:
        if padding.shape != (B, T):
            raise ShapeError("padding", (B, T), tuple(padding.shape))
        keys = (padding != 0)[:, None, :]  # (B, 1, T): for all queries alike
        parts.append(keys if num_heads is None else keys[:, None])
    if is_causal:
        parts.append(torch.ones(T, T, dtype=torch.bool, device=x.device).tril())
    if not parts:
        return None
    whole = parts[0]
    for part in parts[1:]:
        whole = whole & part
    return whole.expand(*whole.shape[:-2], T, T)


def check_sequences(x: Tensor, embed_dim: int) -> None:
    """Raise ShapeError unless x is (B, T, embed_dim)."""
    if x.ndim != 3 or x.shape[-1] != embed_dim:
        raise ShapeError("x", ("B", "T", embed_dim), tuple(x.shape))

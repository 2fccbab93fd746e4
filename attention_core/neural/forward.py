"""The steps of an experiment in PyTorch, so that gradients can flow back through them.

The order is that of `Experiment.trace_of`, and a test holds both to the same numbers.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from attention_core import positions
from attention_core.arrays import BoolArray
from attention_core.experiment import Experiment
from attention_core.neural.layers import masked_scores


@dataclass(frozen=True, eq=False, slots=True)
class Leaves:
    """The numbers of an experiment as tensors, from which everything else is computed."""

    X: Tensor  # (..., n_tokens, d_model)
    W_Q: Tensor  # (n_heads, d_model, d_k)
    W_K: Tensor  # (n_heads, d_model, d_k)
    W_V: Tensor  # (n_heads, d_model, d_k)
    W_O: Tensor | None  # (n_heads * d_k, d_model)


@dataclass(frozen=True, eq=False, slots=True)
class Steps:
    """What is computed from the leaves, as tensors of their precision."""

    Q: Tensor  # (..., n_heads, n_tokens, d_k), rotated where positions are
    K: Tensor  # (..., n_heads, n_tokens, d_k)
    V: Tensor  # (..., n_heads, n_tokens, d_k)
    masked_scores: Tensor  # (..., n_heads, n_tokens, n_tokens), as in `layers.masked_scores`
    weights: Tensor  # (..., n_heads, n_tokens, n_tokens)
    head_outputs: Tensor  # (..., n_heads, n_tokens, d_k)
    concatenated: Tensor  # (..., n_tokens, n_heads * d_k)
    output: Tensor  # (..., n_tokens, d_model or n_heads * d_k)


def leaves(
    e: Experiment, *, dtype: torch.dtype = torch.float64, requires_grad: bool = False
) -> Leaves:
    """Copies of the experiment's numbers."""

    def leaf(name: str) -> Tensor:
        return torch.tensor(getattr(e, name), dtype=dtype, requires_grad=requires_grad)

    W_O = None if e.W_O is None else leaf("W_O")
    return Leaves(leaf("X"), leaf("W_Q"), leaf("W_K"), leaf("W_V"), W_O)


def forward(e: Experiment, given: Leaves, *, allowed: BoolArray | Tensor | None = None) -> Steps:
    """Compute every step from these numbers, with the experiment's settings.

    Args:
        e: Says what is done: mask, scaling, positions.
        given: The numbers; X may hold several sequences along leading axes.
        allowed: Broadcasts to (..., n_heads, n_tokens, n_tokens), True = may attend; None means
            the experiment's mask.

    Returns:
        All steps; a query that may attend to nothing gets weights and output 0.
    """
    n_tokens, dtype = given.X.shape[-2], given.X.dtype
    inputs = given.X
    if e.encoding in ("sinusoidal", "learned"):
        table = e.trace().positions
        inputs = inputs + torch.tensor(table, dtype=dtype)
    sequence = inputs[..., None, :, :]  # (..., 1, n_tokens, d_model)
    Q, K, V = sequence @ given.W_Q, sequence @ given.W_K, sequence @ given.W_V
    if e.is_rotary:
        Q, K = rotary(Q), rotary(K)
    bias = None
    if e.encoding == "alibi":
        slopes = positions.alibi_slopes(e.n_heads)
        bias = torch.tensor(positions.alibi_bias(n_tokens, n_tokens, slopes), dtype=dtype)
    may_attend = torch.as_tensor(e.mask.allowed(n_tokens) if allowed is None else allowed)
    scores = masked_scores(Q, K, may_attend, scale=e.scale, bias=bias)
    weights = torch.softmax(scores, dim=-1).masked_fill(~may_attend.any(-1, keepdim=True), 0.0)
    head_outputs = weights @ V  # (..., n_heads, n_tokens, d_k)
    concatenated = head_outputs.transpose(-2, -3).flatten(-2)  # (..., n_tokens, n_heads * d_k)
    output = concatenated if given.W_O is None else concatenated @ given.W_O
    return Steps(Q, K, V, scores, weights, head_outputs, concatenated, output)


def rotary(vectors: Tensor) -> Tensor:
    """Queries or keys turned by their positions, as `positions.rotary` does.

    Args:
        vectors: (..., n_tokens, d_k); of an odd d_k the last feature stays as it is.
    """
    n_tokens, d_k = vectors.shape[-2:]
    n_pairs = d_k // 2
    turns = positions.rotation(n_tokens, n_pairs)
    cos, sin = (torch.tensor(turn, dtype=vectors.dtype) for turn in turns)  # (n_tokens, n_pairs)
    even, odd = vectors[..., 0 : 2 * n_pairs : 2], vectors[..., 1 : 2 * n_pairs : 2]
    pairs = torch.stack([even * cos - odd * sin, even * sin + odd * cos], dim=-1)
    return torch.cat([pairs.flatten(-2), vectors[..., 2 * n_pairs :]], dim=-1)

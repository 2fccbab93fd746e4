"""Sentences of unequal length in one tensor: filled up to the longest, and masked.

    X[b, i] = token i of sentence b,  or 0 from its end to the longest one's
    allowed[b, 0, i, j] = what the experiment's causal and window masks say,  and j < length of b

Source: `torch.nn.utils.rnn.pad_sequence` of PyTorch 2.13 for the filling; Vaswani et al. 2017,
section 3.2.3, for weights that are kept from keys by -inf before softmax.
Axes: B sentences, T places, d features of a token, H heads, d_k features of a head.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np
import torch
from torch.nn.utils.rnn import pad_sequence

from attention_core.arrays import BoolArray, FloatArray, check_counts
from attention_core.canvas import MAX_TOKENS, check_count
from attention_core.errors import ShapeError
from attention_core.experiment import Experiment
from attention_core.neural.forward import Leaves, forward, leaves
from attention_core.words import with_words

Part: TypeAlias = Literal["X", "is_real", "Q", "weights", "head_outputs", "concatenated", "output"]

_OF_ALL = ("causal", "window")  # masks that mean the same for a sentence of any length


@dataclass(frozen=True, eq=False, slots=True)
class Batch:
    """What several sentences gave together."""

    lengths: tuple[int, ...]  # tokens of each sentence
    is_real: BoolArray  # (B, T)  False = filling
    allowed: BoolArray  # (B, T, T)  True = may attend, the same for all heads
    X: FloatArray  # (B, T, d)  0 where it is filled
    weights: FloatArray  # (B, H, T, T)
    output: FloatArray  # (B, T, d or H * d_k)
    shapes: dict[Part, tuple[int, ...]]  # of the tensors, in the order they were computed

    @property
    def n_places(self) -> int:
        """B · T."""
        return self.is_real.size

    @property
    def n_filled(self) -> int:
        """How many of the places hold filling."""
        return int(np.count_nonzero(~self.is_real))

    def on_filling(self, index: int) -> FloatArray:
        """(H, n, T - n): what the tokens of one sentence give to filling."""
        n = self.lengths[index]
        return self.weights[index, :, :n, n:]


def sentences(e: Experiment, lines: Iterable[Sequence[str]]) -> tuple[Experiment, ...]:
    """Each line as an experiment of its own, with the weights and settings of the given one.

    Masks that belong to its own sentence, padding and painted cells, are off.

    Args:
        e: Where weights, settings and the vectors of known words come from.
        lines: 1 to 12 words each; as `with_words` takes them.

    Raises:
        RangeError, TokenError: As `with_words` raises them.
    """
    kinds = tuple(kind for kind in e.mask.kinds if kind in _OF_ALL)
    start = replace(e, mask=replace(e.mask, kinds=kinds, painted=()))
    return tuple(with_words(start, words) for words in lines)


def batched(alone: Sequence[Experiment], *, is_masked: bool = True) -> Batch:
    """Compute all sentences at once.

    Args:
        alone: From `sentences`: they differ in their tokens and X only.
        is_masked: Whether filling is kept from being attended to.

    Raises:
        RangeError: There is no sentence.
        ShapeError: A sentence has token vectors of another width.
    """
    check_counts(1, n_sentences=len(alone))
    longest = max(alone, key=lambda e: e.n_tokens)  # has a position for every place
    lengths = tuple(e.n_tokens for e in alone)
    for e in alone:
        if e.d_model != longest.d_model:
            raise ShapeError("X", ("n_tokens", longest.d_model), e.X.shape)
    n_places = longest.n_tokens
    rows = [torch.tensor(e.X) for e in alone]  # (n_tokens, d) each
    X = pad_sequence(rows, batch_first=True)  # (B, T, d)
    is_real = torch.arange(n_places) < torch.tensor(lengths)[:, None]  # (B, T)
    allowed = torch.tensor(longest.mask.allowed(n_places))  # (T, T)
    if is_masked:
        allowed = allowed & is_real[:, None, None, :]  # (B, 1, T, T): for all heads and queries
    given = leaves(longest)
    steps = forward(longest, Leaves(X, given.W_Q, given.W_K, given.W_V, given.W_O), allowed=allowed)
    tensors: dict[Part, torch.Tensor] = {
        "X": X,
        "is_real": is_real,
        "Q": steps.Q,
        "weights": steps.weights,
        "head_outputs": steps.head_outputs,
        "concatenated": steps.concatenated,
        "output": steps.output,
    }
    shapes = {part: tuple(tensor.shape) for part, tensor in tensors.items()}
    whole = (len(alone), n_places, n_places)
    return Batch(
        lengths,
        is_real.numpy(),
        np.broadcast_to(allowed.numpy().reshape(-1, n_places, n_places), whole),
        X.numpy(),
        steps.weights.numpy(),
        steps.output.numpy(),
        shapes,
    )


def multiply_adds(e: Experiment, n_places: int) -> int:
    """What one sentence of so many places costs, filled or not.

    The four projections, one score and one share of a value for each pair of places; softmax and
    positions are not counted.

    Args:
        e: Says the sizes, and whether there is a W_O.
        n_places: From 1 to 12.

    Raises:
        RangeError: `n_places` is outside its limits.
    """
    check_count("n_places", n_places, 1, MAX_TOKENS)
    width = e.n_heads * e.d_k
    n_projections = 3 if e.W_O is None else 4
    return n_projections * n_places * e.d_model * width + 2 * n_places**2 * width

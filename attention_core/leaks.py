"""Masks that are nearly right, and what leaks through them.

    right          softmax(scores where allowed, else -inf)
    zeroed         softmax(scores where allowed, else 0): e^0 = 1 is a weight like any other
    added          softmax(scores + 1 where allowed, + 0 elsewhere): a nudge, not a mask
    transposed     softmax(scores where allowedᵀ, else -inf)
    on_rows        padding laid on the queries instead of the keys
    after_softmax  softmax(scores) * allowed, the sum of each row not renewed

A leak is measured: another vector for one token, and no output may move of a query that may not
see it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

import numpy as np

from attention_core.arrays import BoolArray, FloatArray
from attention_core.attention import AttentionTrace
from attention_core.errors import ChoiceError
from attention_core.experiment import MAX_VALUE, Experiment
from attention_core.masks import padding
from attention_core.multi_head import MultiHeadTrace
from attention_core.patterns import forbidding
from attention_core.softmax import softmax

Leak: TypeAlias = Literal["zeroed", "added", "transposed", "on_rows", "after_softmax"]
LEAKS: tuple[Leak, ...] = get_args(Leak)


@dataclass(frozen=True, eq=False, slots=True)
class Probe:
    """The outputs of one head before and after one token got another vector."""

    weights: FloatArray  # (n_tokens, n_tokens), before
    before: FloatArray  # (n_tokens, d_v)
    after: FloatArray  # (n_tokens, d_v)
    must_stay: BoolArray  # (n_tokens,): may not see the token, and is not it

    @property
    def moved_by(self) -> FloatArray:
        """(n_tokens,): by how much the output of each token moved at most."""
        moves: FloatArray = np.abs(self.after - self.before).max(axis=-1)
        return moves

    @property
    def leaking(self) -> BoolArray:
        """(n_tokens,): the rows that moved and must not have."""
        leaks: BoolArray = self.must_stay & (self.moved_by > 0)
        return leaks


def masked_weights(scores: FloatArray, allowed: BoolArray, leak: Leak | None) -> FloatArray:
    """The weights under a mask, or under the broken one of this kind.

    A row that the mask leaves without any key gets weights 0.

    Args:
        scores: (n_q, n_k), before the mask.
        allowed: (n_q, n_k), True = may attend. Square for "transposed" and "on_rows".
        leak: None for the right mask.

    Returns:
        (n_q, n_k).

    Raises:
        ChoiceError: There is no such leak.
    """
    if leak is not None and leak not in LEAKS:
        raise ChoiceError("leak", leak, LEAKS)
    built: dict[Leak | None, Callable[[], FloatArray]] = {
        None: lambda: _softmax(np.where(allowed, scores, -np.inf)),
        "zeroed": lambda: _softmax(np.where(allowed, scores, 0.0)),
        "added": lambda: _softmax(scores + allowed),
        "transposed": lambda: _softmax(np.where(allowed.T, scores, -np.inf)),
        "on_rows": lambda: _softmax(np.where(allowed.T, scores, -np.inf)),
        "after_softmax": lambda: _softmax(scores) * allowed,
    }
    return built[leak]()


def probe(
    before: AttentionTrace,
    after: AttentionTrace,
    allowed: BoolArray,
    token: int,
    leak: Leak | None,
) -> Probe:
    """The same head on both inputs, under the right mask or a broken one.

    Args:
        before: The steps of one head.
        after: The same after the token got another vector.
        allowed: (n_tokens, n_tokens), True = may attend.
        token: Which one got it.
        leak: None for the right mask.
    """
    weights = masked_weights(before.biased_scores, allowed, leak)
    must_stay = ~allowed[:, token]
    must_stay[token] = False  # its own query moved with it
    return Probe(
        weights,
        weights @ before.V,
        masked_weights(after.biased_scores, allowed, leak) @ after.V,
        must_stay,
    )


def mask_for(e: Experiment, leak: Leak) -> BoolArray:
    """(n_tokens, n_tokens): the mask that a leak is shown on, True = may attend.

    Padding alone for "on_rows": as much as the experiment has, at least one token, and never
    all. Else that of the experiment, or causal where it forbids nothing.
    """
    if leak != "on_rows":
        return forbidding(e)[0]
    n = e.n_tokens
    wanted = e.mask.n_padding if "padding" in e.mask.kinds else 1
    n_padding = min(max(wanted, 1), n - 1)
    return np.broadcast_to(padding(np.arange(n) < n - n_padding), (n, n))


def changed(e: Experiment, token: int) -> Experiment:
    """The experiment with 1 added to each number of one token's vector, or taken from it."""
    row = e.X[token]
    step = 1.0 if row.max() + 1.0 <= MAX_VALUE else -1.0
    return e.with_block("X", (token, 0), [np.maximum(row + step, -MAX_VALUE)])


def probes(
    e: Experiment, trace: MultiHeadTrace, head: int, token: int, leak: Leak
) -> tuple[Probe, Probe]:
    """The right mask and the broken one, each with the token as it is and changed.

    Args:
        e: The experiment.
        trace: Its attention.
        head: From 0.
        token: Which one is changed, from 0.
        leak: What is wrong with the broken one.
    """
    allowed = mask_for(e, leak)
    after = changed(e, token).trace().attention.head(head)
    before = trace.head(head)
    return probe(before, after, allowed, token, None), probe(before, after, allowed, token, leak)


def _softmax(scores: FloatArray) -> FloatArray:
    is_empty = np.isneginf(scores).all(axis=-1, keepdims=True)
    return np.where(is_empty, 0.0, softmax(np.where(is_empty, 0.0, scores)))

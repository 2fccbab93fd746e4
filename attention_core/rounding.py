"""How far rounding can move each number of an experiment, whatever the order of the sums.

    fl(a · b) = a b (1 + θ),   |θ| <= n u / (1 - n u)     after n roundings of unit roundoff u

Source: Higham 2002, "Accuracy and Stability of Numerical Algorithms", sections 2.2 and 3.1. Softmax
adds to it: a score that moves by δ multiplies its exponential by e^δ. Numbers too small for full
precision lose up to u times the smallest normal number, so this much is added to every size.
Axes: as in `multi_head`.
"""

from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

import numpy as np
import numpy.typing as npt

from attention_core.arrays import BoolArray, FloatArray
from attention_core.experiment import Experiment, ExperimentTrace

Float: TypeAlias = Literal["float64", "float32"]
FLOATS: tuple[Float, ...] = get_args(Float)

# Roundings of one number beside those of its sum: input, weight, a factor in W_Q, a position.
_PROJECTION = 5
_ROTATION = 5  # cosine and sine, two products, one sum
_SCALING = 6  # the factor, taken into Q and K or applied after the sum, and the bias
_SOFTMAX = 6  # exponential, its argument, a sum that may be rescaled as it grows, the division


@dataclass(frozen=True, eq=False, slots=True)
class Bounds:
    """The most by which a computation can differ from the trace, number by number."""

    Q: FloatArray  # (n_heads, n_tokens, d_k), rotated where positions are
    K: FloatArray  # (n_heads, n_tokens, d_k)
    V: FloatArray  # (n_heads, n_tokens, d_k)
    weights: FloatArray  # (n_heads, n_tokens, n_tokens); 0 where nothing may be attended
    head_outputs: FloatArray  # (n_heads, n_tokens, d_k)
    output: FloatArray  # (n_tokens, d_model or n_heads * d_k)


def bounds(e: Experiment, trace: ExperimentTrace, precision: Float) -> Bounds:
    """How far the same computation in this precision may lie from the trace.

    Args:
        e: What was computed.
        trace: What it gave, in float64 and so with rounding of its own.
        precision: Of the other computation.

    Returns:
        For each number the sum of what rounding does to either of the two.
    """
    theirs = _of_one(e, trace, precision)
    ours = theirs if precision == "float64" else _of_one(e, trace, "float64")
    names = ("Q", "K", "V", "weights", "head_outputs", "output")
    return Bounds(*(getattr(theirs, name) + getattr(ours, name) for name in names))


@dataclass(frozen=True, eq=False, slots=True)
class Sizes:
    """What all numbers that make up another come to, by size: a sum of absolute values."""

    scores: FloatArray  # (n_heads, n_tokens, n_tokens)
    output: FloatArray  # (n_tokens, d_model or n_heads * d_k)


def sizes(e: Experiment, trace: ExperimentTrace) -> Sizes:
    """How large the numbers are that are added up, though they may cancel out.

    Args:
        e: What was computed.
        trace: What it gave.
    """
    added = 0.0 if trace.positions is None else np.abs(trace.positions)
    Q, K, V = ((np.abs(trace.X) + added) @ np.abs(getattr(e, name)) for name in _WEIGHTS)
    if e.is_rotary:
        Q, K = _paired(Q), _paired(K)
    bias = 0.0 if trace.bias is None else np.abs(trace.bias)
    mixed = _merged(trace.attention.heads.weights @ V)  # (n_tokens, n_heads * d_k)
    output = mixed if e.W_O is None else mixed @ np.abs(e.W_O)
    return Sizes(Q @ np.swapaxes(K, -1, -2) * e.scale + bias, output)


def _of_one(e: Experiment, trace: ExperimentTrace, precision: Float) -> Bounds:
    """The most by which a computation in this precision misses the exact numbers.

    Every size below is that of the sum of absolute values: what cancels out has been rounded, too.
    """
    kind: npt.DTypeLike = np.dtype(precision)
    u, tiny = float(np.finfo(kind).eps) / 2, float(np.finfo(kind).tiny)
    heads, scale = trace.attention.heads, e.scale
    added = 0.0 if trace.positions is None else np.abs(trace.positions)
    inputs = np.abs(trace.X) + added + tiny  # (n_tokens, d_model)

    n = e.d_model + _PROJECTION
    sizes = {name: inputs @ (np.abs(getattr(e, name)) + tiny) + tiny for name in _WEIGHTS}
    Q, K, V = (sizes[name] for name in _WEIGHTS)  # (n_heads, n_tokens, d_k) each
    of_V = _theta(n, u) * V
    if e.is_rotary:
        n, Q, K = n + _ROTATION, _paired(Q), _paired(K)

    bias = 0.0 if trace.bias is None else np.abs(trace.bias)
    scores = Q @ np.swapaxes(K, -1, -2) * scale + bias + tiny  # (n_heads, n_tokens, n_tokens)
    of_scores = _theta(2 * n + e.d_k + _SCALING, u) * scores
    weights = heads.weights
    of_weights = _of_softmax(heads.masked_scores, heads.allowed, of_scores, u, tiny)

    n_mixed = n + e.n_tokens + 1
    most = weights + of_weights
    mixed = most @ V + tiny  # (n_heads, n_tokens, d_k)
    of_heads = of_weights @ V + _theta(n_mixed, u) * mixed
    is_empty = ~heads.allowed.any(axis=-1, keepdims=True)
    of_heads, mixed = (np.where(is_empty, 0.0, each) for each in (of_heads, mixed))  # 0 by rule

    width = e.n_heads * e.d_k
    mixing = np.eye(width) if e.W_O is None else np.abs(e.W_O) + tiny
    side_by_side, apart = (_merged(each) for each in (mixed, of_heads))  # (n_tokens, width) each
    of_output = apart @ mixing + _theta(width + 2, u) * (side_by_side @ mixing + tiny)
    return Bounds(_theta(n, u) * Q, _theta(n, u) * K, of_V, of_weights, of_heads, of_output)


_WEIGHTS = ("W_Q", "W_K", "W_V")


def _of_softmax(
    scores: FloatArray, allowed: BoolArray, of_scores: FloatArray, u: float, tiny: float
) -> FloatArray:
    """How far weights can move if each score moves by so much.

    A weight is largest if its own score is as high as can be and all others as low, and the other
    way round. All of it in logarithms, as scores may be far too large for exp().
    """
    is_empty = ~allowed.any(axis=-1, keepdims=True)
    known = np.where(allowed | is_empty, np.where(np.isfinite(scores), scores, 0.0), -np.inf)
    shifted = known - known.max(axis=-1, keepdims=True)
    moved = of_scores + u * np.where(np.isfinite(shifted), np.abs(shifted), 0.0)
    log_weights = shifted - _log_sum(shifted)
    slack = _theta(scores.shape[-1] + _SOFTMAX, u)
    highest = _log_share(log_weights, moved) + slack
    lowest = _log_share(log_weights, -moved) - slack
    most, least = np.exp(np.minimum(highest, 0.0)), np.exp(lowest)
    weights = np.exp(log_weights)
    reach = np.maximum(most - weights, weights - least) + 4 * u * weights + tiny
    return np.where(allowed, reach, 0.0)


def _log_share(logs: FloatArray, moved: FloatArray) -> FloatArray:
    """Log of each entry's share of its row once it has moved so far, and all others back as far."""
    is_own = np.eye(logs.shape[-1], dtype=bool)
    there = np.where(is_own, (logs + moved)[..., None, :], (logs - moved)[..., None, :])
    shares: FloatArray = logs + moved - _log_sum(there)[..., 0]  # of (..., n_q, n_k, n_k)
    return shares


def _log_sum(logs: FloatArray) -> FloatArray:
    """log(sum of exp) of each row, without overflow; each row has a finite entry."""
    largest = logs.max(axis=-1, keepdims=True)
    total: FloatArray = largest + np.log(np.exp(logs - largest).sum(axis=-1, keepdims=True))
    return total


def _theta(n: int, u: float) -> float:
    """What n roundings may do to a number, as a share of it."""
    return n * u / (1 - n * u)


def _paired(sizes: FloatArray) -> FloatArray:
    """For each feature the size of both that a rotation mixes; an odd last one is left alone."""
    n_pairs = sizes.shape[-1] // 2
    even, odd = slice(0, 2 * n_pairs, 2), slice(1, 2 * n_pairs, 2)
    both = sizes.copy()
    both[..., even] = both[..., odd] = sizes[..., even] + sizes[..., odd]
    return both


def _merged(per_head: FloatArray) -> FloatArray:
    """(n_heads, n_tokens, d_k) to (n_tokens, n_heads * d_k)."""
    n_tokens = per_head.shape[-2]
    return np.swapaxes(per_head, -2, -3).reshape(n_tokens, -1)

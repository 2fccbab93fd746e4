"""Order and positions: what reordering the tokens does to attention, and what tells places apart.

    f(PX) = P f(X)        A(PX) = P A(X) Pᵀ        mean f(PX) = mean f(X)

Attention alone is permutation equivariant: reordered rows of X give the same rows of the output,
reordered, and a mean over the rows is permutation invariant. Whatever goes by place, an encoding
or a mask, may break that.
Source: Zaheer et al. 2017, "Deep Sets", sections 2 and 3; for attention, Lee et al. 2019, "Set
Transformer", section 3.

An order holds token places: row i of PX is row order[i] of X. The tokens move and places stay:
encodings, causal and window masks and padding go by place, and so do cells painted by hand, as
each of them lies in a row and a column of the mask.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, permutations
from math import factorial
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from attention_core import positions
from attention_core.arrays import FloatArray
from attention_core.canvas import check_count
from attention_core.errors import FieldError, ShapeError
from attention_core.experiment import Experiment, ExperimentTrace, Mask, MaskKind
from attention_core.presets import ENCODINGS, Encoding

Order: TypeAlias = tuple[int, ...]
Orders: TypeAlias = npt.NDArray[np.intp]  # (n_orders, n_tokens)
Setting: TypeAlias = Literal["encoding"] | MaskKind

MOST_TRIED = 7  # tokens of which all orders are tried: 5,040

_EPSILON = float(np.finfo(np.float64).eps)
_SMALL = 1e-6  # of a weight: nobody sees it
_TRIED_AT_ONCE = 240  # orders: few enough that their scores stay in the cache


# --- orders


def repaired(order: Sequence[int], n_tokens: int) -> Order:
    """The order for another number of tokens: who left is dropped, who came stands at the end."""
    kept = list(dict.fromkeys(place for place in order if 0 <= place < n_tokens))
    return (*kept, *(place for place in range(n_tokens) if place not in kept))


def moved(order: Sequence[int], row: int, to: int) -> Order:
    """Row `row` taken out and put in again as row `to`.

    Raises:
        RangeError: There is no such row.
    """
    for name, place in (("row", row), ("to", to)):
        check_count(name, place, 0, len(order) - 1)
    rest = [*order[:row], *order[row + 1 :]]
    return (*rest[:to], order[row], *rest[to:])


def swapped(order: Sequence[int], first: int, second: int) -> Order:
    """The tokens `first` and `second` (places in X) have changed places."""
    other = {first: second, second: first}
    return tuple(other.get(token, token) for token in order)


def shuffled(order: Sequence[int], rng: np.random.Generator) -> Order:
    """Another order than this one, each as likely; the same if there is but one token."""
    while len(order) > 1:
        drawn = tuple(rng.permutation(len(order)).tolist())
        if drawn != tuple(order):
            return drawn
    return tuple(order)


def reversed_order(order: Sequence[int]) -> Order:
    """The last token first."""
    return tuple(reversed(order))


def all_orders(n_tokens: int, n_moving: int | None = None) -> Orders:
    """Every order in which only the first `n_moving` tokens move (None: all of them).

    Returns:
        (n_moving!, n_tokens), the tokens' own order first.

    Raises:
        RangeError: More than seven would move.
    """
    n_moving = n_tokens if n_moving is None else n_moving
    check_count("n_moving", n_moving, 1, min(n_tokens, MOST_TRIED))
    rest = np.arange(n_moving, n_tokens)
    orders = np.array(list(permutations(range(n_moving))), dtype=np.intp)
    return np.hstack([orders, np.broadcast_to(rest, (len(orders), len(rest)))])


def swaps(n_tokens: int) -> Orders:
    """(n_tokens (n_tokens - 1) / 2, n_tokens): every order that swaps two tokens."""
    pairs = [swapped(range(n_tokens), *pair) for pair in combinations(range(n_tokens), 2)]
    return np.array(pairs, dtype=np.intp).reshape(-1, n_tokens)


def n_orders(n_tokens: int) -> int:
    """n!"""
    return factorial(n_tokens)


# --- f(PX) and P f(X)


@dataclass(frozen=True, eq=False, slots=True)
class Comparison:
    """Tokens reordered before and after the computing."""

    order: Order
    trace: ExperimentTrace  # of X
    of_moved: ExperimentTrace  # of PX
    moved_weights: FloatArray  # (n_heads, n_tokens, n_tokens)  P A(X) Pᵀ
    moved_output: FloatArray  # (n_tokens, d_out)  P f(X)

    @property
    def output_difference(self) -> FloatArray:
        """(n_tokens, d_out): f(PX) - P f(X)."""
        return self.of_moved.attention.output - self.moved_output

    @property
    def weights_difference(self) -> FloatArray:
        """(n_heads, n_tokens, n_tokens): A(PX) - P A(X) Pᵀ."""
        return self.of_moved.attention.heads.weights - self.moved_weights

    @property
    def means(self) -> tuple[FloatArray, FloatArray]:
        """(1, d_out) each: the mean of the rows of f(X), and of f(PX)."""
        both = (self.trace.attention.output, self.of_moved.attention.output)
        of, of_moved = (output.mean(axis=-2, keepdims=True) for output in both)
        return of, of_moved

    @property
    def output_gap(self) -> float:
        return _largest(self.output_difference)

    @property
    def weights_gap(self) -> float:
        return _largest(self.weights_difference)

    @property
    def mean_gap(self) -> float:
        of, of_moved = self.means
        return _largest(of_moved - of)


def compare(experiment: Experiment, order: Sequence[int]) -> Comparison:
    """Compute with the tokens as they are, and in this order.

    Raises:
        ShapeError: The order is not as long as there are tokens.
        FieldError: It does not hold each place once.
    """
    places = list(_checked(order, experiment.n_tokens))
    trace = experiment.trace()
    of_moved = experiment.trace_of(experiment.X[places])
    weights, output = trace.attention.heads.weights, trace.attention.output
    return Comparison(
        tuple(places), trace, of_moved, weights[:, places][:, :, places], output[places]
    )


def gaps(experiment: Experiment, orders: npt.ArrayLike) -> FloatArray:
    """How far the output of each order is from the reordered output: max |f(PX) - P f(X)|.

    Args:
        experiment: With all its settings.
        orders: (n_orders, n_tokens).

    Returns:
        (n_orders,).
    """
    places = np.asarray(orders, dtype=np.intp).reshape(-1, experiment.n_tokens)
    output = experiment.trace().attention.output
    of_moved = experiment.trace_of(experiment.X[places]).attention.output
    found: FloatArray = np.abs(of_moved - output[places]).max(axis=(-2, -1))
    return found


@dataclass(frozen=True, slots=True)
class Search:
    """What the orders tried so far gave."""

    n_tried: int
    n_orders: int
    n_changing: int  # how many change the output by more than rounding may
    gap: float  # the largest
    order: Order  # that gives it
    gaps: FloatArray  # (n_tried,), in the order they were tried

    @property
    def share(self) -> float:
        """How much of it is done."""
        return self.n_tried / self.n_orders


def search(experiment: Experiment, orders: Orders) -> Iterator[Search]:
    """Try these orders, a few hundred at a time, and tell after each time what was found."""
    bound = rounding(experiment).output
    found = np.empty(0)
    for start in range(0, len(orders), _TRIED_AT_ONCE):
        tried = gaps(experiment, orders[start : start + _TRIED_AT_ONCE])
        found = np.concatenate([found, tried])
        best = int(found.argmax())
        yield Search(
            len(found),
            len(orders),
            int((found > bound).sum()),
            float(found[best]),
            tuple(orders[best].tolist()),
            found,
        )


# --- what rounding may do


@dataclass(frozen=True, slots=True)
class Rounding:
    """How far two computations of the same numbers in another order may lie apart."""

    weights: float
    output: float

    @property
    def is_small(self) -> bool:
        """Whether a gap within the bound is as good as none.

        Where scores are huge the bound is as large as the weights themselves: then a gap above it
        is still no rounding, but one below it may be anything.
        """
        return self.weights <= _SMALL


def rounding(experiment: Experiment) -> Rounding:
    """A bound, so that a gap above it is no rounding.

    A sum of n products is off by at most n ε times the sum of their sizes, in whatever order it
    is done (Higham 2002, "Accuracy and Stability of Numerical Algorithms", section 3.1). A score
    that is off by δ changes a weight by a factor of at most exp(2δ), and here are two of each.
    Where scores are so large that rounding alone may choose another token, the bound says so.
    """
    e, trace = experiment, experiment.trace()
    inputs = np.abs(e.X) + (0.0 if trace.positions is None else np.abs(trace.positions))
    Q, K, V = (inputs @ np.abs(W) for W in (e.W_Q, e.W_K, e.W_V))  # (n_heads, n_tokens, d_k)
    turned = 2.0 if e.is_rotary else 1.0  # a turned pair adds two products to a score
    bias = 0.0 if trace.bias is None else float(np.abs(trace.bias).max())
    unit = (e.n_tokens + e.d_model + e.d_k + 8) * _EPSILON
    in_score = unit * (turned * e.scale * float((Q @ K.swapaxes(-1, -2)).max()) + bias)
    in_weight = min(1.0, float(np.expm1(min(1.0, 4 * in_score))) + unit)
    mixed = V.max(axis=-2).ravel()  # (n_heads * d_k,)  no mix of values is larger
    out = mixed if e.W_O is None else mixed @ np.abs(e.W_O)
    return Rounding(in_weight, (2 * in_weight + unit) * float(out.max()))


# --- what breaks it


@dataclass(frozen=True, slots=True)
class Breaker:
    """A setting that goes by place, and how far the output is off with and without it."""

    setting: Setting
    alone: float  # the gap with this setting on, and no other
    without: float  # the gap with all but this one
    is_breaking: bool  # whether `alone` is more than rounding


def settings_on(experiment: Experiment) -> tuple[Setting, ...]:
    """The settings of an experiment that go by place: its encoding, and each of its masks."""
    encoding: tuple[Setting, ...] = () if experiment.encoding == "none" else ("encoding",)
    return (*encoding, *experiment.mask.kinds)


def with_only(experiment: Experiment, settings: Iterable[Setting]) -> Experiment:
    """The same, with all settings off that go by place but these."""
    kept = set(settings)
    kinds = tuple(kind for kind in experiment.mask.kinds if kind in kept)
    encoding: Encoding = experiment.encoding if "encoding" in kept else "none"
    return replace(experiment, encoding=encoding, mask=replace(experiment.mask, kinds=kinds))


def breakers(experiment: Experiment, order: Sequence[int]) -> list[Breaker]:
    """Each setting that goes by place, measured: on alone, and switched off."""
    on = settings_on(experiment)
    found = []
    for setting in on:
        lone = with_only(experiment, [setting])
        rest = with_only(experiment, [other for other in on if other != setting])
        alone, without = (float(gaps(e, [order])[0]) for e in (lone, rest))
        found.append(Breaker(setting, alone, without, alone > rounding(lone).output))
    return found


# --- encodings


@dataclass(frozen=True, slots=True)
class EncodingGap:
    """The largest gap of all swaps of two tokens, with one encoding and a mask or none."""

    encoding: Encoding
    is_causal: bool
    gap: float
    is_rounding: bool  # whether it is no more than rounding may do, and as good as none
    is_unclear: bool  # whether rounding may do that much, as scores are huge


def encoding_gaps(experiment: Experiment) -> list[EncodingGap]:
    """Every encoding without a mask and with the causal one, whatever the experiment has.

    All orders are made of swaps, so these show whether places matter; with a single token there
    is none, and no gap.
    """
    orders = swaps(experiment.n_tokens)
    found = []
    for encoding in ENCODINGS:
        for is_causal in (False, True):
            mask = Mask(("causal",) if is_causal else ())
            e = replace(experiment, encoding=encoding, mask=mask)
            gap, bound = float(gaps(e, orders).max(initial=0.0)), rounding(e)
            is_within, is_clear = gap <= bound.output, bound.is_small or gap == 0
            is_rounding, is_unclear = is_within and is_clear, is_within and not is_clear
            found.append(EncodingGap(encoding, is_causal, gap, is_rounding, is_unclear))
    return found


def shift_changes(experiment: Experiment, shifts: Sequence[int]) -> dict[Encoding, FloatArray]:
    """How far scores Q Kᵀ move if every position grows by the same number.

    Args:
        experiment: Its X and weights; each encoding is put in turn.
        shifts: By how much, each at least 0.

    Returns:
        For "rotary" and "sinusoidal" (len(shifts),), the largest change of any score.
    """
    e = experiment

    def rotated(shift: int) -> FloatArray:
        Q, K = (positions.rotary(e.X @ W, offset=shift) for W in (e.W_Q, e.W_K))
        return Q @ K.swapaxes(-1, -2)

    def added(shift: int) -> FloatArray:
        inputs = e.X + positions.sinusoidal(e.n_tokens + shift, e.d_model)[shift:]
        Q, K = (inputs @ W for W in (e.W_Q, e.W_K))
        return Q @ K.swapaxes(-1, -2)

    def changes(scores: list[FloatArray]) -> FloatArray:
        return np.array([_largest(each - scores[0]) for each in scores[1:]])

    of_encoding: dict[Encoding, FloatArray] = {
        "rotary": changes([rotated(shift) for shift in (0, *shifts)]),
        "sinusoidal": changes([added(shift) for shift in (0, *shifts)]),
    }
    return of_encoding


def row_lengths(X: FloatArray) -> FloatArray:
    """(n_tokens,): the length of each row, ‖x‖."""
    lengths: FloatArray = np.linalg.norm(X, axis=-1)
    return lengths


def _largest(difference: FloatArray) -> float:
    return float(np.abs(difference).max(initial=0.0))


def _checked(order: Sequence[int], n_tokens: int) -> Order:
    if len(order) != n_tokens:
        raise ShapeError("order", (n_tokens,), (len(order),))
    if sorted(order) != list(range(n_tokens)):
        raise FieldError("order", f"must hold each place from 0 to {n_tokens - 1} once")
    return tuple(order)

"""What waiting costs when it is run here: steps one after the other against one matrix product.

    steps      h_i = tanh(x_i W + h_(i-1) U) for i = 1 ... n, each needs the one before
    product    tanh([x_i h_(i-1)] [W; U]) for all i at once, which takes the same multiply-adds
    attention  softmax(Q Kᵀ / √d) V with Q = X W_Q, K = X W_K, V = X W_V

The product is given all states in advance, which no RNN can have; it tells what the multiply-adds
cost without the waiting, and gives the same numbers. Source: Vaswani et al. 2017, "Attention Is
All You Need", section 4; the cell is that of Elman 1990, "Finding Structure in Time", with tanh.
Axes: n tokens, d features. All is computed in the precision of X.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal, TypeAlias, get_args

import numpy as np

from attention_core.arrays import FloatArray, check_counts
from attention_core.errors import ChoiceError
from attention_core.relay import linking

Way: TypeAlias = Literal["steps", "product", "attention"]
WAYS: tuple[Way, ...] = get_args(Way)
Precision: TypeAlias = Literal["float64", "float32"]
PRECISIONS: tuple[Precision, ...] = get_args(Precision)

MOST_RUNS = 11  # of each way, of which the quickest counts
ENOUGH = 0.25  # seconds; once a way has run for so long with so many tokens, it is not run again


@dataclass(frozen=True, slots=True)
class Timing:
    """One way, for one number of tokens."""

    way: Way
    n_tokens: int
    seconds: float  # of the quickest run; at least what the clock can tell
    multiply_adds: int


@dataclass(frozen=True, slots=True)
class Pace:
    """All that was measured."""

    d_model: int
    precision: Precision
    timings: tuple[Timing, ...]
    gaps: tuple[tuple[int, float], ...]  # per number of tokens, the largest |product - steps|

    def of(self, way: Way) -> list[Timing]:
        """The timings of one way, fewest tokens first."""
        return [each for each in self.timings if each.way == way]


def multiply_adds(way: Way, n_tokens: int, d_model: int) -> int:
    """How many multiply-adds a way needs; those of tanh and softmax are not counted.

    Raises:
        ChoiceError: No such way.
        RangeError: A count is below 1.
    """
    if way not in WAYS:
        raise ChoiceError("way", way, WAYS)
    return linking("attention" if way == "attention" else "rnn", n_tokens, d_model).multiply_adds


def measure_pace(
    counts: Sequence[int],
    *,
    d_model: int,
    precision: Precision,
    rng: np.random.Generator,
    tell: Callable[[float], None] = lambda _done: None,
    clock: Callable[[], float] = time.perf_counter,
) -> Pace:
    """Run all three ways on random numbers, in turns, so that a disturbance hits each of them.

    Args:
        counts: Numbers of tokens, fewest first.
        d_model: Features of a token and of a state.
        precision: In which all is computed.
        rng: Draws tokens and weights.
        tell: Is told before each run what share of the work is done, and may end it by raising.
        clock: Tells the seconds.

    Raises:
        ChoiceError: No such precision.
        RangeError: A count is below 1.
    """
    if precision not in PRECISIONS:
        raise ChoiceError("precision", precision, PRECISIONS)
    check_counts(1, d_model=d_model)
    timings: list[Timing] = []
    gaps: list[tuple[int, float]] = []
    total, done = sum(counts), 0
    for n in counts:
        check_counts(1, n_tokens=n)
        runs, gap = _prepared(n, d_model, precision, rng)
        quickest = _quickest(runs, partial(_tell_part, tell, done, n, total), clock)
        timings += [
            Timing(way, n, seconds, multiply_adds(way, n, d_model))
            for way, seconds in quickest.items()
        ]
        gaps.append((n, gap))
        done += n
    return Pace(d_model, precision, tuple(timings), tuple(gaps))


# --- the three ways


def recurrent(X: FloatArray, W: FloatArray, U: FloatArray) -> FloatArray:
    """The states of an RNN, one after the other, from a state of zeros.

    Args:
        X: (n, d), the tokens.
        W: (d, d), for the token.
        U: (d, d), for the state before.

    Returns:
        (n, d), in the precision of X.
    """
    states = np.empty_like(X)
    h = np.zeros_like(X[0])  # (d,)
    for i, x in enumerate(X):
        h = np.tanh(x @ W + h @ U)
        states[i] = h
    return states


def at_once(inputs: FloatArray, weights: FloatArray) -> FloatArray:
    """The same states in one product, for who knows them already.

    Args:
        inputs: (n, 2 d), each token beside the state before it.
        weights: (2 d, d), W on top of U.

    Returns:
        (n, d).
    """
    states: FloatArray = np.tanh(inputs @ weights)
    return states


def attention(X: FloatArray, W_Q: FloatArray, W_K: FloatArray, W_V: FloatArray) -> FloatArray:
    """Attention of all tokens to all, in the precision of X, which the app's own would raise.

    Args:
        X: (n, d).
        W_Q, W_K, W_V: (d, d).

    Returns:
        (n, d).
    """
    Q, K, V = X @ W_Q, X @ W_K, X @ W_V
    scores = Q @ K.T  # (n, n)
    scores *= X.dtype.type(1 / np.sqrt(X.shape[-1]))
    scores -= scores.max(axis=-1, keepdims=True)
    weights = np.exp(scores, out=scores)
    weights /= weights.sum(axis=-1, keepdims=True)
    mixed: FloatArray = weights @ V  # (n, d)
    return mixed


# --- running them


def _prepared(
    n: int, d: int, precision: Precision, rng: np.random.Generator
) -> tuple[dict[Way, Callable[[], FloatArray]], float]:
    """All three ways, ready to run, and how far the product is from the steps."""

    def drawn(rows: int) -> FloatArray:
        return rng.normal(size=(rows, d)).astype(precision)

    X, (W, U, W_Q, W_K, W_V) = drawn(n), (drawn(d) / np.sqrt(d, dtype=precision) for _ in range(5))
    states = recurrent(X, W, U)
    before = np.vstack([np.zeros_like(states[:1]), states[:-1]])  # (n, d)
    inputs, weights = np.hstack([X, before]), np.vstack([W, U])
    gap = float(np.abs(at_once(inputs, weights) - states).max())
    runs: dict[Way, Callable[[], FloatArray]] = {
        "steps": partial(recurrent, X, W, U),
        "product": partial(at_once, inputs, weights),
        "attention": partial(attention, X, W_Q, W_K, W_V),
    }
    return runs, gap


def _quickest(
    runs: dict[Way, Callable[[], FloatArray]],
    tell: Callable[[float], None],
    clock: Callable[[], float],
) -> dict[Way, float]:
    """The seconds of the quickest run of each; the first run of all warms up, and counts too."""
    seconds: dict[Way, list[float]] = {way: [] for way in runs}
    for turn in range(MOST_RUNS):
        for way, run in runs.items():
            if sum(seconds[way]) >= ENOUGH:
                continue
            tell(turn / MOST_RUNS)
            start = clock()
            run()
            seconds[way].append(clock() - start)
    least = time.get_clock_info("perf_counter").resolution
    return {way: max(least, min(taken)) for way, taken in seconds.items()}


def _tell_part(
    tell: Callable[[float], None], done: int, n_tokens: int, total: int, part: float
) -> None:
    """Of all that is to be done, the work grows about as the tokens do."""
    tell((done + part * n_tokens) / total)

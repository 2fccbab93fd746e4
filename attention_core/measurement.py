"""What attention costs when it is run here: time, and memory beside its input and output."""

import time
import tracemalloc
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal, TypeAlias

import numpy as np

from attention_core.arrays import FloatArray
from attention_core.blockwise import blockwise_attention, dense_attention, windowed_attention
from attention_core.cost import FLOAT64, Sizes, n_held, n_pairs

Way: TypeAlias = Literal["dense", "blockwise", "window"]
Attend: TypeAlias = Callable[[FloatArray, FloatArray, FloatArray], FloatArray]
Tell: TypeAlias = Callable[[float, Way, int], None]

MOST_RUNS = 3  # of which the quickest counts
SLOW = 1.0  # seconds; what takes so long is run but once
ENOUGH = 0.3  # seconds; once a way has run for so long, it is not run again


@dataclass(frozen=True, slots=True)
class Measurement:
    """One way of computing attention, for one number of tokens."""

    way: Way
    n_tokens: int
    seconds: float
    n_bytes: int  # at most held at a time, beside Q, K, V and the output


@dataclass(frozen=True, slots=True)
class LeftOut:
    """What was not run."""

    way: Way
    n_tokens: int
    reason: Literal["memory", "time"]


@dataclass(frozen=True, slots=True)
class Measured:
    """All that was found."""

    measurements: tuple[Measurement, ...]
    left_out: tuple[LeftOut, ...]
    gaps: tuple[tuple[int, float], ...]  # per number of tokens, the largest |blockwise - dense|

    def of(self, way: Way) -> list[Measurement]:
        """The measurements of one way, fewest tokens first."""
        return [each for each in self.measurements if each.way == way]


def measure(
    counts: Sequence[int],
    sizes: Sizes,
    *,
    d_k: int,
    rng: np.random.Generator,
    most_bytes: int,
    most_seconds: float,
    tell: Tell = lambda _done, _way, _n_tokens: None,
    clock: Callable[[], float] = time.perf_counter,
) -> Measured:
    """Run dense, blockwise and windowed attention on random Q, K and V.

    Args:
        counts: Numbers of tokens, fewest first.
        sizes: Of the window and of a block.
        d_k: Features per query, key and value.
        rng: Draws Q, K and V, standard normal.
        most_bytes: Whatever holds more scores than this at once, on paper, is left out.
        most_seconds: For each way. Whatever would take longer than what is left of this is left
            out, going by the runs before it and by the pairs.
        tell: Is told what share of the work is done, and what is run next.
        clock: Tells the seconds.

    Returns:
        What was found. The memory is that of the whole process meanwhile (tracemalloc), so
        whatever else runs in it counts too.
    """
    ways = _ways(sizes)
    pairs = {(n, way): n_pairs(way, n, sizes) for n in counts for way in ways}
    fits = {(n, way): n_held(way, n, sizes) * FLOAT64 <= most_bytes for n, way in pairs}
    total, done = sum(pairs[each] for each in pairs if fits[each]), 0
    spent = dict.fromkeys(ways, 0.0)
    measurements: list[Measurement] = []
    left_out: list[LeftOut] = []
    gaps: list[tuple[int, float]] = []
    for n in counts:
        Q, K, V = (rng.normal(size=(n, d_k)) for _ in range(3))
        outputs: dict[Way, FloatArray] = {}
        for way, attend in ways.items():
            if not fits[n, way]:
                left_out.append(LeftOut(way, n, "memory"))
                continue
            tell(done / total, way, n)
            done += pairs[n, way]
            if spent[way] + _expected(way, n, measurements, pairs) > most_seconds:
                left_out.append(LeftOut(way, n, "time"))
            else:
                start = clock()
                outputs[way], seconds, n_bytes = _run(partial(attend, Q, K, V), clock)
                spent[way] += clock() - start
                measurements.append(Measurement(way, n, seconds, n_bytes))
        if "dense" in outputs and "blockwise" in outputs:
            gaps.append((n, float(np.abs(outputs["blockwise"] - outputs["dense"]).max())))
    return Measured(tuple(measurements), tuple(left_out), tuple(gaps))


def _ways(sizes: Sizes) -> dict[Way, Attend]:
    return {
        "dense": dense_attention,
        "blockwise": partial(blockwise_attention, block=sizes.block),
        "window": partial(windowed_attention, before=sizes.before, after=sizes.after),
    }


def _expected(
    way: Way,
    n_tokens: int,
    measurements: Sequence[Measurement],
    pairs: Mapping[tuple[int, Way], int],
) -> float:
    """Seconds for so many tokens, if the time grows as the pairs do; 0 before the first run.

    The two last runs are asked, as one of them may have been held up by something else.
    """
    earlier = [each for each in measurements if each.way == way][-2:]
    each_pair = [each.seconds / pairs[each.n_tokens, way] for each in earlier]
    return pairs[n_tokens, way] * min(each_pair, default=0.0)


def _run(
    attend: Callable[[], FloatArray], clock: Callable[[], float]
) -> tuple[FloatArray, float, int]:
    """The output, the seconds of the quickest run, and the bytes held beside the output."""
    output, seconds, n_bytes = _traced(attend, clock)
    if seconds >= SLOW:  # chance matters less, and patience more
        return output, seconds, n_bytes
    if seconds < ENOUGH:
        n_bytes = min(n_bytes, _traced(attend, clock)[-1])  # others in the process can only add
    runs: list[float] = []  # without the first, which warms up and pays for being traced
    while len(runs) < MOST_RUNS and sum(runs) < ENOUGH:
        runs.append(_timed(attend, clock)[-1])
    return output, min(runs), n_bytes


def _traced(
    attend: Callable[[], FloatArray], clock: Callable[[], float]
) -> tuple[FloatArray, float, int]:
    was_tracing = tracemalloc.is_tracing()
    tracemalloc.start()
    try:
        tracemalloc.reset_peak()
        before, _ = tracemalloc.get_traced_memory()
        output, seconds = _timed(attend, clock)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        if not was_tracing:
            tracemalloc.stop()
    return output, seconds, peak - before - output.nbytes


def _timed(
    attend: Callable[[], FloatArray], clock: Callable[[], float]
) -> tuple[FloatArray, float]:
    start = clock()
    output = attend()
    return output, clock() - start

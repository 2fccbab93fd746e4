"""What the step on cost shows: curves on paper, points that were measured, and sentences."""

from collections.abc import Mapping, Sequence

import numpy as np

from attention_core.cost import Pattern, Sizes, cost
from attention_core.measurement import Measured, Measurement, Way, measure
from playground import charts
from playground.charts import Chart, Line
from playground.figures import Figure
from playground.jobs import Tell, Work
from playground.palette import Theme
from playground.texts import Texts

N_TOKENS = (*(2**power for power in range(8, 17)), 100_000)
MOST_MEASURED = 16_384
REACHES = (8, 16, 32, 64, 128, 256, 512)  # of the window, on each side
WIDTHS = (16, 32, 64)  # d_k
MOST_BYTES = 200_000_000  # of scores held at once; what takes more is not run here
MOST_SECONDS = 5.0  # for each way; the window and, as far as it is run, dense take less

WAYS: tuple[Way, ...] = ("dense", "blockwise", "window")
_N_POINTS = 25  # of a curve
_MARGIN = 1.15  # beside the first and the last number of tokens, as a factor
_TICKS = (256, 1024, 4096, 16_384, 100_000)
_JOIN = "\u00a0"  # a space that does not break
_DIGITS = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")


def sizes(reach: int) -> Sizes:
    """What the patterns are made of, for a window that reaches so far on each side."""
    return Sizes(before=reach, after=reach)


def counts(n_tokens: int) -> list[int]:
    """The numbers of tokens that are measured, up to the one that was chosen."""
    return [n for n in N_TOKENS if n <= min(n_tokens, MOST_MEASURED)]


# --- the measurement


def measured_settings(reach: int, d_k: int, n_tokens: int, seed: int) -> tuple[int, int, int, int]:
    """The settings that a measurement depends on: beyond the most tokens, all are the same."""
    return reach, d_k, min(n_tokens, MOST_MEASURED), seed


def work(reach: int, d_k: int, n_tokens: int, seed: int) -> Work:
    """The cost of attention where this runs, as a job that tells what is run just now.

    Args:
        reach: Of the window, on each side.
        d_k: Features per query, key and value.
        n_tokens: Up to so many are measured.
        seed: Of the random Q, K and V.
    """

    def run(tell: Tell) -> Measured:
        return measure(
            counts(n_tokens),
            sizes(reach),
            d_k=d_k,
            rng=np.random.default_rng(seed),
            most_bytes=MOST_BYTES,
            most_seconds=MOST_SECONDS,
            tell=lambda done, way, n: tell(done, (way, n)),
        )

    return run


# --- names


def pattern_names(t: Texts, made_of: Sizes) -> dict[Pattern, str]:
    """What each pattern is called, in the order of the legend."""
    return {
        "dense": t("masks.cost.dense"),
        "blockwise": t("masks.cost.blockwise"),
        "causal": t("masks.cost.causal"),
        "window": t("masks.cost.window_of", reach=made_of.before),
        "bigbird": t("masks.cost.bigbird"),
        "buckets": t("masks.cost.buckets"),
    }


def view_names(t: Texts) -> dict[str, str]:
    """What can be drawn against the number of tokens."""
    return {
        "pairs": t("masks.cost.pairs"),
        "multiply_adds": t("masks.cost.multiply_adds"),
        "memory": t("masks.cost.memory"),
        "time": t("masks.cost.time"),
    }


def assumed(t: Texts, made_of: Sizes) -> str:
    """What the numbers on paper assume."""
    return t(
        "masks.cost.assumed",
        n_global=made_of.n_global,
        n_random=made_of.n_random,
        bucket=made_of.bucket,
        n_rounds=made_of.n_rounds,
        block=made_of.block,
    )


def doing(t: Texts, way: Way, n_tokens: int) -> str:
    """What is measured just now."""
    return t("masks.cost.doing", way=_way(t, way), n_tokens=f"{n_tokens:,}")


def _way(t: Texts, way: Way) -> str:
    return {
        "dense": t("masks.cost.way_dense"),
        "blockwise": t("masks.cost.way_blockwise"),
        "window": t("masks.cost.way_window"),
    }[way]


# --- the figure


def figure(
    t: Texts,
    view: str,
    made_of: Sizes,
    d_k: int,
    n_tokens: int,
    measured: Measured | None,
    theme: Theme,
) -> Figure:
    """One quantity against the number of tokens, both on logarithmic axes."""
    names = pattern_names(t, made_of)
    if view == "time":
        lines = _time_lines(names, measured)
    else:
        lines = _paper_lines(names, view, made_of, d_k, n_tokens)
    if view == "memory":
        lines += _points(names, measured, {way: _megabytes(measured, way) for way in WAYS})
    first, last = N_TOKENS[0], MOST_MEASURED if view == "time" else N_TOKENS[-1]
    chart = Chart(
        title="",  # what is drawn stands at the axis, and was chosen right above
        x_title=t("masks.cost.tokens"),
        y_title=_axis(t, view, is_measured=measured is not None),
        lines=lines,
        is_x_log=True,
        is_y_log=True,
        x_marks=[n_tokens] if n_tokens <= last else [],
    )
    drawn = charts.figure([chart], theme)
    drawn["layout"]["xaxis"] |= {
        "range": np.log10([first / _MARGIN, last * _MARGIN]).tolist(),
        "tickmode": "array",
        "tickvals": list(_TICKS),
        "ticktext": [f"{n:,}" for n in _TICKS],
    }
    drawn["layout"]["margin"]["r"] = 30  # for half of the last name, on a phone
    return drawn


def _axis(t: Texts, view: str, *, is_measured: bool) -> str:
    if view == "memory":
        return t("masks.cost.axis_measured") if is_measured else t("masks.cost.axis_memory")
    return t("masks.cost.axis_time") if view == "time" else view_names(t)[view]


def _paper_lines(
    names: Mapping[Pattern, str], view: str, made_of: Sizes, d_k: int, n_tokens: int
) -> list[Line]:
    grid = np.geomspace(N_TOKENS[0], N_TOKENS[-1], _N_POINTS).round().astype(int).tolist()
    along = sorted({*grid, n_tokens})
    return [
        Line(
            name,
            along,
            [_quantity(view, pattern, n, made_of, d_k) for n in along],
            colour=colour,
            shape="dashed" if pattern == "blockwise" else "line",  # as it often lies on dense
        )
        for colour, (pattern, name) in enumerate(names.items())
    ]


def _quantity(view: str, pattern: Pattern, n_tokens: int, made_of: Sizes, d_k: int) -> float:
    on_paper = cost(pattern, n_tokens, made_of, d_k=d_k, d_v=d_k)
    if view == "memory":
        return on_paper.n_bytes / 1e6
    return on_paper.pairs if view == "pairs" else on_paper.multiply_adds


def _time_lines(names: Mapping[Pattern, str], measured: Measured | None) -> list[Line]:
    times = {way: [each.seconds * 1000 for each in _of(measured, way)] for way in WAYS}
    points = _points(names, measured, times)
    return [*(Line(each.name, each.x, each.y, each.colour) for each in points), *points]


def _points(
    names: Mapping[Pattern, str], measured: Measured | None, values: Mapping[Way, Sequence[float]]
) -> list[Line]:
    """Each way in the colour of its pattern."""
    colours = {pattern: colour for colour, pattern in enumerate(names)}
    return [
        Line(
            names[way],
            [each.n_tokens for each in _of(measured, way)],
            values[way],
            colours[way],
            "points",
        )
        for way in WAYS
    ]


def _of(measured: Measured | None, way: Way) -> list[Measurement]:
    return measured.of(way) if measured else []


def _megabytes(measured: Measured | None, way: Way) -> list[float]:
    return [each.n_bytes / 1e6 for each in _of(measured, way)]


# --- the numbers


def table(t: Texts, made_of: Sizes, d_k: int, n_tokens: int) -> dict[str, list[str]]:
    """What each pattern costs for the chosen number of tokens, column by column."""
    names = pattern_names(t, made_of)
    on_paper = [cost(pattern, n_tokens, made_of, d_k=d_k, d_v=d_k) for pattern in names]
    dense = cost("dense", n_tokens, made_of, d_k=d_k, d_v=d_k)
    return {
        t("masks.cost.pattern"): list(names.values()),
        t("masks.cost.pairs"): [f"{each.pairs:,}" for each in on_paper],
        t("masks.cost.share"): [short(100 * each.pairs / dense.pairs) for each in on_paper],
        t("masks.cost.multiply_adds"): [power(each.multiply_adds) for each in on_paper],
        t("masks.cost.held_at_once"): [megabytes(each.n_bytes) for each in on_paper],
    }


def found(
    t: Texts, made_of: Sizes, d_k: int, n_tokens: int, measured: Measured | None
) -> list[str]:
    """What the chosen number of tokens costs on paper, and what was measured."""
    dense, window, blockwise = (
        cost(pattern, n_tokens, made_of, d_k=d_k, d_v=d_k)
        for pattern in ("dense", "window", "blockwise")
    )
    said = [
        t(
            "masks.cost.on_paper",
            n_tokens=f"{n_tokens:,}",
            dense=f"{dense.pairs:,}",
            window=f"{window.pairs:,}",
            share=short(100 * window.pairs / dense.pairs),
        ),
        t(
            "masks.cost.held",
            dense=megabytes(dense.n_bytes),
            blockwise=megabytes(blockwise.n_bytes),
            window=megabytes(window.n_bytes),
        ),
    ]
    if measured is None:
        return said
    said += [_told(t, measured.of(way)) for way in WAYS if measured.of(way)]
    if measured.gaps:
        n, gap = measured.gaps[-1]
        said.append(t("masks.cost.gap", n_tokens=f"{n:,}", gap=power(gap)))
    said += _left_out(t, made_of, measured)
    if n_tokens > MOST_MEASURED:
        said.append(t("masks.cost.beyond", most=f"{MOST_MEASURED:,}"))
    return said


def _told(t: Texts, run: Sequence[Measurement]) -> str:
    """The last measurement of one way, and how much longer it took than the one before."""
    *earlier, last = run
    way, n_tokens = _way(t, last.way), f"{last.n_tokens:,}"
    time, memory = duration(last.seconds), megabytes(last.n_bytes)
    if not earlier or not earlier[-1].seconds:
        return t("masks.cost.took", way=way, n_tokens=n_tokens, time=time, memory=memory)
    return t(
        "masks.cost.took_longer",
        way=way,
        n_tokens=n_tokens,
        time=time,
        memory=memory,
        factor=short(last.seconds / earlier[-1].seconds),
        before=f"{earlier[-1].n_tokens:,}",
    )


def _left_out(t: Texts, made_of: Sizes, measured: Measured) -> list[str]:
    """From how many tokens on a way was not run, and why."""
    said = []
    for way in WAYS:
        first = next((each for each in measured.left_out if each.way == way), None)
        if first is None:
            continue
        name, n_tokens = _way(t, way), f"{first.n_tokens:,}"
        if first.reason == "time":
            most = short(MOST_SECONDS)
            said.append(t("masks.cost.left_time", way=name, n_tokens=n_tokens, most=most))
        else:
            most = megabytes(MOST_BYTES)
            memory = megabytes(cost(way, first.n_tokens, made_of, d_k=1, d_v=1).n_bytes)
            said.append(
                t("masks.cost.left_memory", way=name, n_tokens=n_tokens, memory=memory, most=most)
            )
    return said


# --- how numbers are written


def short(value: float) -> str:
    """Three digits that count, with separators: 0.129, 41.3, 12,345."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def megabytes(n_bytes: int) -> str:
    """Millions of bytes."""
    return short(n_bytes / 1e6)


def duration(seconds: float) -> str:
    """Seconds, or milliseconds where it is less than one."""
    if seconds >= 1:
        return f"{short(seconds)}{_JOIN}s"
    return f"{short(1000 * seconds)}{_JOIN}ms"


def power(value: float) -> str:
    """Three digits that count times a power of ten: 1.28 × 10¹²."""
    if value == 0:
        return "0"
    digits, _, exponent = f"{value:.2e}".partition("e")
    return f"{digits}{_JOIN}×{_JOIN}10{str(int(exponent)).translate(_DIGITS)}"

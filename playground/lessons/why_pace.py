"""What the step "pace" shows: counts before it is measured, times after, and sentences."""

from collections.abc import Mapping, Sequence

import numpy as np

from attention_core.pace import (
    MOST_RUNS,
    PRECISIONS,
    WAYS,
    Pace,
    Precision,
    Way,
    measure_pace,
    multiply_adds,
)
from playground import charts
from playground.charts import Chart, Line
from playground.figures import Figure
from playground.jobs import Tell, Work
from playground.lessons.cost import duration, power
from playground.numerals import short
from playground.palette import Theme
from playground.texts import Texts

N_TOKENS = tuple(2**power for power in range(4, 11))
WIDTHS = (16, 64, 256)
_SEED = 0  # of the random numbers, on which no time depends
_MARGIN = 1.15  # beside the first and the last number of tokens, as a factor


def work(d_model: int, precision: Precision) -> Work:
    """What the job does with these settings: it depends on nothing else."""

    def measured(tell: Tell) -> Pace:
        rng = np.random.default_rng(_SEED)
        return measure_pace(N_TOKENS, d_model=d_model, precision=precision, rng=rng, tell=tell)

    return measured


def fitting(result: object, d_model: int, precision: Precision) -> Pace | None:
    """The result of a job, if it is of these settings."""
    if not isinstance(result, Pace):
        return None
    return result if (result.d_model, result.precision) == (d_model, precision) else None


# --- names


def width_names() -> dict[int, str]:
    """The widths that can be chosen."""
    return {width: str(width) for width in WIDTHS}


def precision_names() -> dict[Precision, str]:
    """The precisions that can be chosen, as NumPy calls them."""
    return {precision: precision for precision in PRECISIONS}


def way_names(t: Texts) -> dict[Way, str]:
    """What is run."""
    return {
        "steps": t("why_attention.pace.steps"),
        "product": t("why_attention.pace.product"),
        "attention": t("why_attention.pace.attention"),
    }


def assumed(t: Texts) -> str:
    """What the three ways compute, and how they are timed."""
    return t("why_attention.pace.assumed", most_runs=MOST_RUNS)


# --- the figure


def figure(t: Texts, pace: Pace | None, d_model: int, theme: Theme) -> Figure:
    """The times against the number of tokens, or the multiply-adds before they are measured."""
    lines = _count_lines(t, d_model) if pace is None else _time_lines(t, pace)
    chart = Chart(
        title="",  # what is drawn stands at the axis
        x_title=t("why_attention.pace.n_tokens"),
        y_title=t("why_attention.pace.axis_counts" if pace is None else "why_attention.pace.axis"),
        lines=lines,
        is_x_log=True,
        is_y_log=True,
    )
    drawn = charts.figure([chart], theme)
    drawn["layout"]["xaxis"] |= {
        "range": np.log10([N_TOKENS[0] / _MARGIN, N_TOKENS[-1] * _MARGIN]).tolist(),
        "tickmode": "array",
        "tickvals": list(N_TOKENS),
        "ticktext": [f"{n:,}" for n in N_TOKENS],
    }
    drawn["layout"]["margin"]["r"] = 30  # for half of the last name, on a phone
    return drawn


def _count_lines(t: Texts, d_model: int) -> list[Line]:
    names = way_names(t)
    counts = {way: [multiply_adds(way, n, d_model) for n in N_TOKENS] for way in WAYS}
    shapes: Mapping[Way, charts.Shape] = {"product": "dashed"}  # as it lies on the steps
    return [
        Line(names[way], N_TOKENS, counts[way], colour, shapes.get(way, "line"))
        for colour, way in enumerate(WAYS)
    ]


def _time_lines(t: Texts, pace: Pace) -> list[Line]:
    names, lines = way_names(t), []
    for colour, way in enumerate(WAYS):
        along = [each.n_tokens for each in pace.of(way)]
        times = [1000 * each.seconds for each in pace.of(way)]
        lines.append(Line(names[way], along, times, colour))
        lines.append(Line(names[way], along, times, colour, "points"))
    return lines


def alt(t: Texts, pace: Pace | None) -> str:
    """What the figure shows, for those who do not see it."""
    if pace is None:
        return t("why_attention.pace.alt_counts")
    return t("why_attention.pace.alt")


# --- sentences


def found(t: Texts, pace: Pace | None, d_model: int) -> list[str]:
    """What was measured; before that, what is known without."""
    return _counts_found(t, d_model) if pace is None else _times_found(t, pace)


def _counts_found(t: Texts, d_model: int) -> list[str]:
    n = N_TOKENS[-1]
    steps, attention = (multiply_adds(way, n, d_model) for way in ("steps", "attention"))
    return [
        t(
            "why_attention.pace.on_paper",
            n_tokens=f"{n:,}",
            d_model=d_model,
            steps=power(steps),
            attention=power(attention),
            ratio=short(attention / steps),
        ),
        t("why_attention.pace.not_yet"),
    ]


def _times_found(t: Texts, pace: Pace) -> list[str]:
    steps, product, attention = (pace.of(way)[-1] for way in WAYS)
    _, gap = pace.gaps[-1]
    return [
        t(
            "why_attention.pace.took",
            n_tokens=f"{steps.n_tokens:,}",
            steps=duration(steps.seconds),
            product=duration(product.seconds),
            attention=duration(attention.seconds),
        ),
        t(
            "why_attention.pace.waiting",
            factor=short(steps.seconds / product.seconds),
            gap=power(gap),
        ),
        t(
            "why_attention.pace.attended",
            ratio=short(attention.multiply_adds / steps.multiply_adds),
            factor=short(attention.seconds / steps.seconds),
        ),
        _verdict(t, pace),
    ]


def _verdict(t: Texts, pace: Pace) -> str:
    """For which numbers of tokens attention was quicker than the steps."""
    pairs = zip(pace.of("attention"), pace.of("steps"), strict=True)
    is_quicker = {one.n_tokens: one.seconds < other.seconds for one, other in pairs}
    quicker = [n for n, is_so in is_quicker.items() if is_so]
    if not quicker:
        return t("why_attention.pace.never")
    if all(is_quicker.values()):
        return t("why_attention.pace.always")
    return t("why_attention.pace.sometimes", quicker=_listed(t, quicker))


def _listed(t: Texts, counts: Sequence[int]) -> str:
    return t("why_attention.pace.comma").join(f"{n:,}" for n in counts)

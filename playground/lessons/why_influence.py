"""What the step on influence shows: what was measured in four models, as figure and sentences."""

from collections.abc import Hashable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from playground import charts
from playground.charts import Chart, Line
from playground.figures import Figure
from playground.jobs import Tell, View, Work
from playground.numerals import short
from playground.palette import Theme
from playground.texts import Texts

if TYPE_CHECKING:
    from attention_core.neural.influence import Curve, Influence

# In the order in which they are listed and coloured.
_RECURRENT = {"rnn": "RNN", "gru": "GRU", "lstm": "LSTM"}
_NORM = "‖∂o / ∂x‖"
_NOTHING = "—"


class Settings(NamedTuple):
    """What is measured."""

    length: int
    width: int
    n_seeds: int


_START = Settings(length=32, width=16, n_seeds=100)


def key(settings: Settings) -> Hashable:
    """What the result depends on."""
    return ("why_attention.influence", *settings)


def work(settings: Settings) -> Work:
    """Measures it; the same settings give the same numbers to everyone."""

    def measure(tell: Tell) -> Any:
        from attention_core.neural.influence import influence

        return influence(*settings, tell=tell)

    return measure


def measured(job: View | None) -> "Influence | None":
    """What a job has found, or has found so far."""
    found: Influence | None = job.latest if job else None
    return found


def inputs(t: Texts) -> list[tuple[str, str, dict[int, str], int, str | None]]:
    """For each setting its id, its name, what it can be, how it starts, and an explanation."""
    return [
        (
            "length",
            t("why_attention.influence.length"),
            _named(8, 16, 32, 64, 128),
            _START.length,
            None,
        ),
        ("width", t("why_attention.influence.width"), _named(8, 16, 32, 64), _START.width, None),
        (
            "n_seeds",
            t("why_attention.influence.seeds"),
            _named(30, 100, 300),
            _START.n_seeds,
            t("why_attention.influence.seeds_help"),
        ),
    ]


def _named(*numbers: int) -> dict[int, str]:
    return {number: str(number) for number in numbers}


# --- what was measured


def names(t: Texts) -> dict[str, str]:
    """The models, in the reader's language."""
    return _RECURRENT | {"attention": t("why_attention.influence.attention")}


def curves(t: Texts, found: "Influence", theme: Theme) -> Figure:
    """The influence of each token over its distance to the last one, with its quartiles."""
    distances = np.arange(found.length)[::-1]  # of the first token first
    lines = []
    for colour, (model, name) in enumerate(names(t).items()):
        curve = _curve(found, model)
        lines.append(Line(name, distances, _on_log_axis(curve.mean), colour))
        lines += [
            Line(name, distances, _on_log_axis(quartile), colour, "dashed")
            for quartile in (curve.lower, curve.upper)
        ]
    title, x_title = t("why_attention.influence.chart"), t("why_attention.influence.distance")
    return charts.figure([Chart(title, x_title, _NORM, lines, is_y_log=True)], theme)


def table(t: Texts, found: "Influence") -> dict[str, list[str]]:
    """For each model what is left of the first token, column by column."""
    shown = [(model, name, _curve(found, model)) for model, name in names(t).items()]
    return {
        t("why_attention.influence.of_model"): [name for _, name, _ in shown],
        t("why_attention.influence.of_last"): [short(curve.mean[-1]) for _, _, curve in shown],
        t("why_attention.influence.of_first"): [_size(t, curve.mean[0]) for _, _, curve in shown],
        t("why_attention.influence.of_ratio"): [_size(t, _ratio(curve)) for _, _, curve in shown],
        t("why_attention.influence.of_step"): [
            _per_step(t, found, curve) if model in _RECURRENT else _NOTHING
            for model, _, curve in shown
        ],
    }


def known(t: Texts, settings: Settings) -> list[str]:
    """What is certain before anything was measured."""
    button = t("why_attention.influence.measure")
    return [
        t("why_attention.influence.nothing_yet", button=button),
        t(
            "why_attention.influence.known",
            length=settings.length,
            steps=settings.length - 1,
        ),
    ]


def influence_found(t: Texts, found: "Influence", settings: Settings, job: View) -> list[str]:
    """How much of the first token is left, how level the curves are, and who asks."""
    said = [_left(t, found), _level(t, found), _asks(t, _curve(found, "attention"))]
    n_lost = sum(curve.n_lost for curve in found.curves.values())
    if n_lost:
        said.append(t("why_attention.influence.lost", count=n_lost))
    if is_other(found, settings, job):
        said.append(t("why_attention.influence.other"))
    return said


def is_other(found: "Influence", settings: Settings, job: View) -> bool:
    """Whether something else was measured than is set now; one that was stopped has fewer seeds."""
    n_seeds = found.n_seeds if job.status == "done" else settings.n_seeds
    return (found.length, found.width, n_seeds) != settings


def _left(t: Texts, found: "Influence") -> str:
    ratios = {name: _ratio(_curve(found, model)) for model, name in names(t).items()}
    falling = sorted(ratios, key=lambda name: -ratios[name])
    listed = t("narrate.comma").join(
        t("narrate.with_number", name=name, number=_size(t, ratios[name])) for name in falling
    )
    return t(
        "why_attention.influence.left",
        length=found.length,
        width=found.width,
        n_seeds=found.n_seeds,
        listed=listed,
    )


def _level(t: Texts, found: "Influence") -> str:
    """By how much those before the last differ: in attention, and in the others."""
    spreads = {
        name: _spread(_curve(found, model))
        for model, name in names(t).items()
        if model != "attention"
    }
    listed = t("narrate.comma").join(
        t("narrate.with_number", name=name, number=_factor(spread))
        for name, spread in spreads.items()
    )
    return t(
        "why_attention.influence.level",
        count=found.length - 1,
        spread=_factor(_spread(_curve(found, "attention"))),
        listed=listed,
    )


def _asks(t: Texts, curve: "Curve") -> str:
    """What the last token has more, or less, than the mean of those before it."""
    before = _geometric_mean(curve.mean[:-1])
    return t("why_attention.influence.asks", times=_factor(_over(curve.mean[-1], before)))


# --- numbers


def _curve(found: "Influence", model: str) -> "Curve":
    curve: Curve = dict(found.curves)[model]  # type: ignore[index]  # one of its models
    return curve


def _ratio(curve: "Curve") -> float:
    """Of the first token to the last one."""
    return float(curve.mean[0] / curve.mean[-1])


def _per_step(t: Texts, found: "Influence", curve: "Curve") -> str:
    """What each step on the way from the last to the first token multiplies by, on average."""
    ratio = _ratio(curve)
    return f"×\u00a0{short(ratio ** (1 / (found.length - 1)))}" if ratio else _size(t, 0.0)


def _spread(curve: "Curve") -> float:
    """The largest over the smallest of those before the last."""
    before = curve.mean[:-1]
    return _over(before.max(), before.min())


def _over(number: float, by: float) -> float:
    return float(number / by) if by else float("inf")


def _geometric_mean(numbers: Any) -> float:
    return float(np.exp(np.log(numbers).mean())) if np.all(numbers) else 0.0


def _on_log_axis(numbers: Any) -> Any:
    """Where there is no place for 0."""
    return np.where(numbers == 0, np.nan, numbers)


def _size(t: Texts, number: float) -> str:
    return short(number) if number else t("why_attention.influence.zero")


def _factor(factor: float) -> str:
    return short(factor) if np.isfinite(factor) else "∞"

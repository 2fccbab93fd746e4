"""What the step "warmup" shows: the same model trained with and without warm-up, side by side."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from math import isfinite
from typing import TYPE_CHECKING

from playground.charts import Chart, Line, figure
from playground.figures import Figure
from playground.jobs import Tell, View, Work
from playground.lessons import sentiment, sentiment_train
from playground.lessons.sentiment import (
    Course,
    Plan,
    Setting,
    Training,
    names,
    percent,
    points,
)
from playground.lessons.sentiment_train import MOST_POINTS, Input, Result, differ
from playground.numerals import short
from playground.palette import Theme
from playground.texts import Texts

if TYPE_CHECKING:
    from attention_core.neural.sentiment.model import Kind
    from attention_core.neural.sentiment.training import Run

WARMUP = "sentiment.warmup"  # the step, and its job

# At lower rates nothing happens, at higher ones nothing is learnt either way.
RATES, RATE = (0.01, 0.03, 0.05, 0.1, 0.2, 0.3), 0.1
SHARES, SHARE = (0.05, 0.1, 0.2, 0.4), 0.2
N_EPOCHS = 12  # or fewer, of long sentences
SEEDS = (0, 1, 2)
MODEL: "Kind" = "lstm_attention"


@dataclass(frozen=True, slots=True)
class Plans:
    """Two that differ in nothing but the warm-up."""

    with_warmup: Plan
    without: Plan


@dataclass(frozen=True, eq=False, slots=True)
class Pair:
    """Both as far as they have been carried out."""

    with_warmup: Training
    without: Training

    @property
    def both(self) -> tuple[Training, Training]:
        """In the order in which they are shown."""
        return self.with_warmup, self.without

    @property
    def plans(self) -> Plans:
        """What they carry out."""
        return Plans(self.with_warmup.plan, self.without.plan)

    @property
    def done(self) -> float:
        """From 0 to 1."""
        return sum(each.done for each in self.both) / 2

    @property
    def nbytes(self) -> int:
        """About as many bytes as it takes."""
        return sum(each.nbytes for each in self.both)


# --- what can be set


def inputs(t: Texts, setting: Setting) -> list[Input]:
    """The learning rate, the share of the steps in which it rises, and how many there are."""
    return [
        Input("rate", t("sentiment.train.rate"), {rate: f"{rate:g}" for rate in RATES}, RATE),
        Input(
            "share",
            t("sentiment.warmup.share"),
            {share: t("sentiment.percent", share=f"{100 * share:g}") for share in SHARES},
            SHARE,
            t("sentiment.train.warmup_help"),
        ),
        Input(
            "epochs",
            t("sentiment.train.epochs"),
            {count: str(count) for count in sentiment.EPOCHS},
            n_epochs(setting),
            t("sentiment.train.epochs_help"),
        ),
    ]


def n_epochs(setting: Setting) -> int:
    """How often a model sees all sentences, unless that is set."""
    usual = sentiment.n_epochs(setting)
    return usual if usual < sentiment.N_EPOCHS else N_EPOCHS


def plans(setting: Setting, t: Texts) -> Plans:
    """What the inputs ask for; all that is not set here is as on the step "train"."""
    of_all = replace(
        sentiment.recipe(setting),
        learning_rate=setting("sentiment.warmup.rate", RATE),
        n_epochs=setting("sentiment.warmup.epochs", n_epochs(setting)),
        patience=0,
    )
    made_of = sentiment.architecture(setting("sentiment.warmup.model", MODEL), setting)
    source = sentiment.source(setting, t)
    with_warmup, without = (
        Plan(source, (made_of,), replace(of_all, warmup=share), SEEDS)
        for share in (setting("sentiment.warmup.share", SHARE), 0.0)
    )
    return Plans(with_warmup, without)


def key(plans: Plans) -> Hashable:
    """What the result depends on."""
    return (WARMUP, plans)


def work(plans: Plans) -> Work:
    """Trains both, seed by seed."""

    def train_both(tell: Tell) -> Pair:
        courses = [Course(plan, keeps_states=False) for plan in (plans.with_warmup, plans.without)]

        def so_far() -> Pair:
            return Pair(*(course.training for course in courses))

        def told() -> None:
            pair = so_far()
            tell(pair.done, pair)

        tell(0.0)  # the sentences may have taken seconds
        for seed in SEEDS:
            for course in courses:
                course.train(course.training.plan.architectures[0], seed, told)
        return so_far()

    return train_both


def trained(view: View | None) -> Pair | None:
    """What a job has trained so far."""
    found: Pair | None = view.latest if view else None
    return found


# --- while it goes on


def progress(t: Texts, pair: Pair) -> str:
    """What is being trained, and how long all of it will take."""
    active = [run for each in pair.both for run in each.runs if not run.ending]
    return sentiment_train.progress_of(
        t, active[-1] if active else None, sentiment.seconds_left(pair.both)
    )


def table(t: Texts, pair: Pair, *, is_active: bool) -> dict[str, list[str]]:
    """How far each run is, with and without warm-up."""
    rows = dict(zip(_labels(t, pair), (each.runs for each in pair.both), strict=True))
    first = t("sentiment.warmup.of_warmup")
    return sentiment_train.table_of(t, first, rows, SEEDS, is_active=is_active)


def curves(t: Texts, pair: Pair, theme: Theme) -> Figure:
    """Accuracy, loss, gradient norm and learning rate, a colour for each of the two."""
    runs = [
        (label, colour, run)
        for colour, (label, each) in enumerate(zip(_labels(t, pair), pair.both, strict=True))
        for run in each.runs
    ]
    accuracy, _, norm, loss = sentiment_train.charts(t, pair.without.corpus.validation, runs)
    return figure([accuracy, loss, norm, _rates(t, runs)], theme)


def _labels(t: Texts, pair: Pair) -> list[str]:
    share = t("sentiment.percent", share=f"{100 * pair.with_warmup.plan.recipe.warmup:g}")
    return [t("sentiment.warmup.with_warmup", share=share), t("sentiment.warmup.without")]


def _rates(t: Texts, runs: "Sequence[tuple[str, int, Run]]") -> Chart:
    """The learning rate of some of the steps; the same for every seed."""
    n_steps = max((run.n_steps for *_, run in runs), default=1)
    every = -(-n_steps // MOST_POINTS)
    lines = [
        Line(name, range(1, len(run.rates) + 1, every), run.rates[::every], colour)
        for name, colour, run in runs
    ]
    title, step = t("sentiment.warmup.rate_chart"), t("sentiment.train.step")
    return Chart(title, step, "", lines, x_range=(0, n_steps))


# --- sentences


def found_before(t: Texts, plans: Plans) -> list[str]:
    """What pressing the button will do."""
    plan = plans.with_warmup
    return [
        t(
            "sentiment.warmup.before",
            runs=2 * len(SEEDS),
            model=names(t)[plan.architectures[0].kind],
            seeds=len(SEEDS),
            epochs=plan.recipe.n_epochs,
        )
    ]


def found(t: Texts, pair: Pair, plans: Plans | None) -> list[str]:
    """What warm-up changed, and whether that is beyond the spread.

    Args:
        t: The reader's language.
        pair: What has been trained.
        plans: What would be trained now; None where nothing can be.
    """
    said = list[str]()
    with_warmup, without = (sentiment_train.result(each.runs) for each in pair.both)
    if with_warmup and without:
        said += [_told(t, pair, with_warmup, without), _difference(t, pair, with_warmup, without)]
        said += [_seeds(t, pair), *_norms(t, pair)]
    for each in pair.both:
        said += sentiment_train.endings(t, each)
    if plans != pair.plans:
        said.append(t("sentiment.train.other"))
    return said


def _told(t: Texts, pair: Pair, with_warmup: Result, without: Result) -> str:
    plan, validation = pair.without.plan, pair.without.corpus.validation
    return t(
        "sentiment.warmup.told",
        model=names(t)[plan.architectures[0].kind],
        rate=short(plan.recipe.learning_rate),
        count=len(validation),
        with_warmup=with_warmup.told(t),
        without=without.told(t),
        chance=percent(t, sentiment_train.chance(validation)),
    )


def _seeds(t: Texts, pair: Pair) -> str:
    """In how many seeds warm-up was better."""
    with_warmup, without = (
        {run.seed: run.accuracy for run in each.runs if run.ending == "all"} for each in pair.both
    )
    common = with_warmup.keys() & without.keys()
    better = sum(with_warmup[seed] > without[seed] for seed in common)
    worse = sum(with_warmup[seed] < without[seed] for seed in common)
    return t(
        "sentiment.warmup.seeds",
        seeds=len(common),
        better=better,
        worse=worse,
        same=len(common) - better - worse,
    )


def _difference(t: Texts, pair: Pair, with_warmup: Result, without: Result) -> str:
    gap = with_warmup.mean - without.mean
    if not differ(with_warmup, without, len(pair.without.corpus.validation)):
        return t("sentiment.warmup.same", gap=points(t, gap))
    if gap > 0:
        return t("sentiment.warmup.better", gap=points(t, gap))
    return t("sentiment.warmup.worse", gap=points(t, gap))


def _norms(t: Texts, pair: Pair) -> list[str]:
    """The largest gradient of each, of the steps whose gradient was a number."""
    both = [
        [norm for run in each.runs for norm in run.norms if isfinite(norm)] for each in pair.both
    ]
    if not all(both):
        return []
    with_warmup, without = (short(max(norms)) for norms in both)
    return [t("sentiment.warmup.norms", with_warmup=with_warmup, without=without)]

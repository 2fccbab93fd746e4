"""What the step "train" shows: curves, a table, and sentences made from them."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING, Any

from playground.charts import Chart, Line, figure
from playground.figures import Figure
from playground.lessons import sentiment
from playground.lessons.sentiment import MODELS, Plan, Setting, Training, names, percent, points
from playground.numerals import short
from playground.palette import Theme
from playground.texts import Texts

if TYPE_CHECKING:
    from attention_core.neural.sentiment.corpus import Example
    from attention_core.neural.sentiment.training import Run

MOST_POINTS = 100  # of a line: the figure is sent twice a second
_NOTHING = "—"
_CHANCE_COLOUR = len(MODELS)  # after those of the models


# --- what can be set


@dataclass(frozen=True, slots=True)
class Input:
    """A setting along a row of values, each with its name."""

    id: str
    label: str
    options: Mapping[Any, str]
    default: Any
    help: str | None = None


def inputs(t: Texts, setting: Setting) -> list[Input]:
    """What is set most often."""
    return [
        Input(
            "seeds",
            t("sentiment.train.seeds"),
            _named(sentiment.SEEDS),
            sentiment.N_SEEDS,
            t("sentiment.train.seeds_help"),
        ),
        Input(
            "epochs",
            t("sentiment.train.epochs"),
            _named(sentiment.EPOCHS),
            sentiment.n_epochs(setting),
            t("sentiment.train.epochs_help"),
        ),
        Input(
            "rate",
            t("sentiment.train.rate"),
            _named(sentiment.RATES),
            sentiment.RATE,
            t("sentiment.train.rate_help"),
        ),
    ]


def inputs_of_recipe(t: Texts) -> list[Input]:
    """How a model is trained, in more detail."""
    never, none = t("sentiment.train.patience_never"), t("sentiment.train.clip_none")
    return [
        Input(
            "warmup",
            t("sentiment.train.warmup"),
            {
                share: t("sentiment.percent", share=f"{100 * share:g}")
                for share in sentiment.WARMUPS
            },
            sentiment.WARMUP,
            t("sentiment.train.warmup_help"),
        ),
        Input(
            "clip",
            t("sentiment.train.clip"),
            _named(sentiment.CLIPS) | {0.0: none},
            sentiment.CLIP,
            t("sentiment.train.clip_help"),
        ),
        Input(
            "batch",
            t("sentiment.train.batch"),
            _named(sentiment.BATCHES),
            sentiment.BATCH,
            t("sentiment.train.batch_help"),
        ),
        Input(
            "patience",
            t("sentiment.train.patience"),
            _named(sentiment.PATIENCES) | {0: never},
            sentiment.PATIENCE,
            t("sentiment.train.patience_help"),
        ),
    ]


def inputs_of_models(t: Texts) -> list[Input]:
    """What the models are made of."""
    return [
        Input(
            "embedding",
            t("sentiment.train.embedding"),
            _named(sentiment.EMBEDDINGS),
            sentiment.EMBEDDING,
            t("sentiment.train.embedding_help"),
        ),
        Input(
            "width",
            t("sentiment.train.width"),
            _named(sentiment.WIDTHS),
            sentiment.WIDTH,
            t("sentiment.train.width_help"),
        ),
        Input("layers", t("sentiment.train.layers"), _named(sentiment.LAYERS), sentiment.N_LAYERS),
        Input("heads", t("sentiment.train.heads"), _named(sentiment.HEADS), sentiment.N_HEADS),
        Input(
            "dropout",
            t("sentiment.train.dropout"),
            _named(sentiment.DROPOUTS),
            sentiment.DROPOUT,
            t("sentiment.train.dropout_help"),
        ),
    ]


def poolings(t: Texts) -> dict[str, str]:
    """How one vector is made of all tokens."""
    return {
        "mean": t("sentiment.train.pooling_mean"),
        "last": t("sentiment.train.pooling_last"),
        "max": t("sentiment.train.pooling_max"),
        "attended": t("sentiment.train.pooling_attended"),
    }


def fallback(t: Texts, setting: Setting) -> str:
    """Which of the models cannot pool as it is set, and what they do instead; or ""."""
    pooling = setting("sentiment.train.pooling", "mean")
    made_of = [sentiment.architecture(kind, setting) for kind in sentiment.chosen_kinds(setting)]
    others = [names(t)[each.kind] for each in made_of if each.pooling != pooling]
    return t("sentiment.train.falls_back", models=_listed(t, others)) if others else ""


def _named(numbers: Sequence[float]) -> dict[Any, str]:
    return {number: short(number, 4) for number in numbers}


# --- while it goes on


def progress(t: Texts, training: Training) -> str:
    """What is being trained, and how long all of it will take."""
    return progress_of(t, training.runs[-1] if training.runs else None, training.left)


def progress_of(t: Texts, run: "Run | None", left: float | None) -> str:
    """The same of the latest run, and the seconds that are left."""
    if run is None:
        return t("sentiment.train.begins")
    if left is None:
        return _place(t, run)
    return t("sentiment.train.progress_left", at=_place(t, run), seconds=math.ceil(left))


def _place(t: Texts, run: "Run") -> str:
    return t(
        "sentiment.train.place",
        model=names(t)[run.architecture.kind],
        seed=run.seed,
        epoch=min(len(run.epochs), run.recipe.n_epochs),
        epochs=run.recipe.n_epochs,
    )


# --- the figure


def curves(t: Texts, training: Training, theme: Theme) -> Figure:
    """Each run's accuracy, losses and gradient norm: a colour for each model."""
    runs = [
        (names(t)[run.architecture.kind], MODELS.index(run.architecture.kind), run)
        for run in training.runs
    ]
    return figure(charts(t, training.corpus.validation, runs), theme)


def charts(
    t: Texts, validation: "Sequence[Example]", runs: "Sequence[tuple[str, int, Run]]"
) -> list[Chart]:
    """The panels of some runs, each with the name and the colour of its line."""
    n_steps = max((run.n_steps for *_, run in runs), default=1)
    n_epochs = max((run.recipe.n_epochs for *_, run in runs), default=1)
    every = -(-n_steps // MOST_POINTS)
    level = chance(validation)
    shown = Line(
        t("sentiment.train.chance"),
        [0, n_epochs],
        [rounded(100 * level)] * 2,
        _CHANCE_COLOUR,
        "dashed",
    )
    step, epoch = t("sentiment.train.steps", count=every), t("sentiment.train.epoch")

    def of_steps(values: "Callable[[Run], Sequence[float]]") -> list[Line]:
        return [Line(name, *thinned(values(run), every), colour) for name, colour, run in runs]

    def of_epochs(measure: str, times: float = 1) -> list[Line]:
        return [
            Line(
                name,
                [each.number for each in run.epochs],
                [rounded(times * getattr(each, measure)) for each in run.epochs],
                colour,
            )
            for name, colour, run in runs
        ]

    # On a phone the title of an axis fits beside the left panels alone.
    return [
        Chart(
            t("sentiment.train.accuracy_chart"),
            epoch,
            "",
            [*of_epochs("accuracy", times=100), shown],
            x_range=(0, n_epochs),
        ),
        Chart(
            t("sentiment.train.validation_chart"),
            epoch,
            "",
            of_epochs("validation_loss"),
            x_range=(0, n_epochs),
        ),
        Chart(
            t("sentiment.train.norm_chart"),
            step,
            t("sentiment.train.norm"),
            of_steps(lambda run: run.norms),
            is_y_log=True,
            x_range=(0, n_steps),
        ),
        Chart(
            t("sentiment.train.loss_chart"),
            step,
            "",
            of_steps(lambda run: run.losses),
            x_range=(0, n_steps),
        ),
    ]


def thinned(values: Sequence[float], every: int) -> tuple[list[int], list[float]]:
    """The mean of each so many values, over the number of the last of them."""
    ends = range(every, len(values) + 1, every)
    return [*ends], [rounded(fmean(values[end - every : end])) for end in ends]


def rounded(value: float) -> float:
    """To the four digits that the figure shows where one points."""
    return float(f"{value:.4g}")


# --- the table


def table(t: Texts, training: Training, *, is_active: bool) -> dict[str, list[str]]:
    """For each model how far each of its runs is, column by column."""
    kinds = [made_of.kind for made_of in training.plan.architectures]
    rows = {
        names(t)[kind]: [run for run in training.runs if run.architecture.kind == kind]
        for kind in kinds
    }
    first = t("sentiment.train.of_model")
    return table_of(t, first, rows, training.plan.seeds, is_active=is_active)


def table_of(
    t: Texts,
    first: str,
    rows: "Mapping[str, Sequence[Run]]",
    seeds: Sequence[int],
    *,
    is_active: bool,
) -> dict[str, list[str]]:
    """A row of runs, one for each seed, under each name; `first` heads the names."""
    columns = {first: [*rows]}
    by_seed = [{run.seed: run for run in runs} for runs in rows.values()]
    for seed in seeds:
        columns[t("sentiment.train.of_seed", seed=seed)] = [
            state(t, runs.get(seed), is_active=is_active) for runs in by_seed
        ]
    if len(seeds) > 1:
        found = [result(runs) for runs in rows.values()]
        columns[t("sentiment.train.of_mean")] = [
            each.told(t) if each else _NOTHING for each in found
        ]
    return columns


def state(t: Texts, run: "Run | None", *, is_active: bool) -> str:
    """How far a run is, or what came of it."""
    if run is None:
        return t("sentiment.train.is_waiting") if is_active else _NOTHING
    if run.ending == "not_finite":
        return t("sentiment.train.is_lost", step=len(run.losses))
    if run.ending == "early":
        return t("sentiment.train.is_early", accuracy=percent(t, run.accuracy), epoch=run.kept)
    if run.ending:
        return percent(t, run.accuracy)
    epoch, epochs = min(len(run.epochs), run.recipe.n_epochs), run.recipe.n_epochs
    if is_active:
        return t("sentiment.train.is_running", epoch=epoch, epochs=epochs)
    return t("sentiment.train.is_stopped", epoch=epoch, epochs=epochs)


# --- what came out


@dataclass(frozen=True, slots=True)
class Result:
    """The accuracy of one model, from each seed that was trained to its end."""

    accuracies: tuple[float, ...]

    @property
    def mean(self) -> float:
        """Over the seeds."""
        return fmean(self.accuracies)

    def told(self, t: Texts) -> str:
        """The mean, with the lowest and the highest where they are not the same."""
        shares = self.mean, min(self.accuracies), max(self.accuracies)
        mean, low, high = (percent(t, share) for share in shares)
        return mean if low == high else t("sentiment.train.spread", mean=mean, low=low, high=high)


def result(runs: "Sequence[Run]") -> Result | None:
    """What came of those that reached their end, if any did."""
    ended = tuple(run.accuracy for run in runs if run.ending in ("all", "early"))
    return Result(ended) if ended else None


def results(runs: "Sequence[Run]") -> dict[str, Result]:
    """For each kind of model what came of its runs."""
    of_kinds = {
        kind: result([run for run in runs if run.architecture.kind == kind]) for kind in MODELS
    }
    return {kind: found for kind, found in of_kinds.items() if found}


def chance(examples: "Sequence[Example]") -> float:
    """The accuracy of always giving the more frequent label."""
    share = fmean(example.label for example in examples)
    return max(share, 1 - share)


def error(share: float, count: int) -> float:
    """The standard error of a share of so many sentences.

    Two right and two wrong ones are added, or a share of 1 would be without doubt: Agresti and
    Coull 1998, "Approximate is better than 'exact' for interval estimation".
    """
    adjusted = (share * count + 2) / (count + 4)
    return math.sqrt(adjusted * (1 - adjusted) / (count + 4))


def is_at_chance(result: Result, examples: "Sequence[Example]") -> bool:
    """Whether it is not two standard errors above what the more frequent label gives."""
    level = chance(examples)
    return result.mean <= level + 2 * error(level, len(examples))


def differ(one: Result, other: Result, count: int) -> bool:
    """Whether two models differ by more than seeds and so many sentences explain.

    Their accuracies must not overlap, and their means must be two standard errors apart.
    """
    if max(one.accuracies) >= min(other.accuracies) and max(other.accuracies) >= min(
        one.accuracies
    ):
        return False
    apart = math.hypot(error(one.mean, count), error(other.mean, count))
    return abs(one.mean - other.mean) > 2 * apart


def found_before(t: Texts, plan: Plan) -> list[str]:
    """What pressing the button will do."""
    n_models, n_seeds = len(plan.architectures), len(plan.seeds)
    return [
        t(
            "sentiment.train.before",
            runs=n_models * n_seeds,
            models=n_models,
            seeds=n_seeds,
            epochs=plan.recipe.n_epochs,
        )
    ]


def found(t: Texts, training: Training, plan: Plan | None) -> list[str]:
    """What came out: each model's accuracy, and which differ beyond the spread.

    Args:
        t: The reader's language.
        training: What has been trained.
        plan: What would be trained now; None where nothing can be.
    """
    said, by_kind = list[str](), results(training.runs)
    if by_kind:
        count = len(training.corpus.validation)
        said.append(_told(t, training, by_kind))
        said += _compared(t, by_kind, count)
        said += _added(t, by_kind, count)
        said += _at_chance(t, by_kind, training)
        said += _uncertain(t, by_kind, count)
    said += endings(t, training)
    if plan != training.plan:
        said.append(t("sentiment.train.other"))
    return said


def endings(t: Texts, training: Training) -> list[str]:
    """Which runs did not come to their end, and why; and what chose the epoch of the others."""
    said = [_lost(t, run) for run in training.runs if run.ending == "not_finite"][:1]
    n_runs = len(training.plan.architectures) * len(training.plan.seeds)
    n_lost = sum(run.ending == "not_finite" for run in training.runs)
    n_ended = sum(bool(run.ending) for run in training.runs)
    if n_lost > 1:
        said.append(t("sentiment.train.lost_count", count=n_lost, runs=n_runs))
    if n_ended < n_runs:
        said.append(t("sentiment.train.stopped", count=n_ended, runs=n_runs))
    if training.plan.recipe.patience:
        said.append(t("sentiment.train.chosen"))
    return said


def _told(t: Texts, training: Training, by_kind: Mapping[str, Result]) -> str:
    listed = t("narrate.comma").join(
        t("sentiment.train.of", model=_name(t, kind), result=result.told(t))
        for kind, result in by_kind.items()
    )
    return t(
        "sentiment.train.told",
        count=len(training.corpus.validation),
        listed=listed,
        chance=percent(t, chance(training.corpus.validation)),
    )


def _uncertain(t: Texts, by_kind: Mapping[str, Result], count: int) -> list[str]:
    """How much so few sentences leave open, and that one seed leaves all open."""
    most = max(error(result.mean, count) for result in by_kind.values())
    said = [t("sentiment.train.uncertain", error=points(t, most).removeprefix("+"))]
    if max(len(result.accuracies) for result in by_kind.values()) == 1:
        said.append(t("sentiment.train.one_seed"))
    return said


def _at_chance(t: Texts, by_kind: Mapping[str, Result], training: Training) -> list[str]:
    validation = training.corpus.validation
    low = [_name(t, kind) for kind, each in by_kind.items() if is_at_chance(each, validation)]
    return [t("sentiment.train.at_chance", models=_listed(t, low))] if low else []


def _compared(t: Texts, by_kind: Mapping[str, Result], count: int) -> list[str]:
    """Which models are behind the best, and which cannot be told from it."""
    if len(by_kind) < 2:
        return []
    best = max(by_kind, key=lambda kind: by_kind[kind].mean)
    others = {kind: result for kind, result in by_kind.items() if kind != best}
    behind = [kind for kind in others if differ(by_kind[best], others[kind], count)]
    near = [kind for kind in others if kind not in behind]
    said = []
    if behind:
        gaps = t("narrate.comma").join(
            t(
                "narrate.with_number",
                name=_name(t, kind),
                number=points(t, others[kind].mean - by_kind[best].mean),
            )
            for kind in behind
        )
        said.append(t("sentiment.train.behind", best=_name(t, best), others=gaps))
    if near:
        listed = _listed(t, [_name(t, kind) for kind in near])
        said.append(t("sentiment.train.near", best=_name(t, best), others=listed))
    return said


def _added(t: Texts, by_kind: Mapping[str, Result], count: int) -> list[str]:
    """What attention after the LSTM changed."""
    if not {"lstm", "lstm_attention"} <= by_kind.keys():
        return []
    plain, attentive = by_kind["lstm"], by_kind["lstm_attention"]
    gap = attentive.mean - plain.mean
    if not differ(plain, attentive, count):
        return [t("sentiment.train.added_nothing", gap=points(t, gap))]
    if gap > 0:
        return [t("sentiment.train.added", gap=points(t, gap))]
    return [t("sentiment.train.added_less", gap=points(t, gap))]


def _lost(t: Texts, run: "Run") -> str:
    """Why a loss or a gradient became no number, as far as the numbers tell."""
    from attention_core.neural.sentiment.training import WEIGHT_DECAY

    rate = run.rates[-1]
    before = next(filter(math.isfinite, reversed(run.losses)), math.nan)
    said = t(
        "sentiment.train.lost",
        model=_name(t, run.architecture.kind),
        seed=run.seed,
        step=len(run.losses),
        rate=short(rate),
        before=short(before),
    )
    factor = 1 - rate * WEIGHT_DECAY
    if factor < -1:
        return t("sentiment.train.lost_by_decay", lost=said, factor=short(factor))
    return t("sentiment.train.lost_by_growth", lost=said)


def _name(t: Texts, kind: str) -> str:
    return names(t)[kind]  # type: ignore[index]  # one of its kinds


def _listed(t: Texts, those: Sequence[str]) -> str:
    return t("narrate.comma").join(those)

"""What all steps of the lesson on trained attention share: the sentences, and what was trained."""

import hashlib
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeAlias

from playground.jobs import Tell, View, Work
from playground.shelf import Shelf
from playground.texts import Texts

if TYPE_CHECKING:
    from attention_core.neural.sentiment.corpus import Corpus, Source
    from attention_core.neural.sentiment.model import Architecture, Kind
    from attention_core.neural.sentiment.training import Recipe, Run

Setting: TypeAlias = Callable[[str, Any], Any]
"""Gives what an input of the lesson is set to, or its default."""

TEXTS = "sentiment.texts"
TRAIN = "sentiment.train"  # the job whose result the later steps look at

MODELS: tuple["Kind", ...] = ("bag", "lstm", "lstm_attention", "attention")

# What the inputs of the step "train" can be set to, and are at first.
SEEDS, N_SEEDS = (1, 3, 5), 3
EPOCHS, N_EPOCHS = (1, 2, 4, 6, 8, 12, 16, 24), 8
N_EPOCHS_OF_REVIEWS = 4  # which have two and a half times the sentences, twice as long
# Of a learner's own sentences, the epochs of one run together, at first: all models from three
# seeds took about two minutes for 20,000 sentences of 30 tokens, of which 15,000 are learnt from.
MOST_TOKENS_READ = 1_200_000
RATES, RATE = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 1.0, 1000.0), 0.01
WARMUPS, WARMUP = (0.0, 0.05, 0.1, 0.2), 0.1
CLIPS, CLIP = (0.0, 0.5, 1.0, 5.0), 1.0  # 0 = none
BATCHES, BATCH = (8, 16, 32, 64), 32
PATIENCES, PATIENCE = (0, 1, 2, 4), 0  # 0 = it never ends early
EMBEDDINGS, EMBEDDING = (8, 16, 32, 64), 32
WIDTHS, WIDTH = (8, 16, 32, 64), 32
LAYERS, N_LAYERS = (1, 2, 3), 1
HEADS, N_HEADS = (1, 2, 4, 8), 1
DROPOUTS, DROPOUT = (0.0, 0.1, 0.2, 0.3, 0.5), 0.2

_RUNS = Shelf(most=200, most_bytes=256 * 2**20)


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be trained: each architecture from each seed."""

    source: "Source"
    architectures: tuple["Architecture", ...]
    recipe: "Recipe"
    seeds: tuple[int, ...]


@dataclass(frozen=True, eq=False, slots=True)
class Training:
    """A plan as far as it has been carried out."""

    plan: Plan
    corpus: "Corpus"
    runs: tuple["Run", ...]  # those that have begun: seed by seed, in the order of architectures
    spent: tuple[float, ...] = ()  # seconds on each run; 0 for one that was trained before

    @property
    def done(self) -> float:
        """From 0 to 1."""
        n_runs = len(self.plan.architectures) * len(self.plan.seeds)
        return sum(run.done for run in self.runs) / n_runs

    @property
    def left(self) -> float | None:
        """Seconds until the end at the pace of each kind of model; None before there is one."""
        return seconds_left([self])

    @property
    def nbytes(self) -> int:
        """About as many bytes as it takes, with its sentences and the table they come from."""
        of_sentences = self.corpus.nbytes + getattr(self.plan.source, "nbytes", 0)
        return sum(run.nbytes for run in self.runs) + of_sentences


@dataclass(frozen=True, eq=False, slots=True)
class Trained:
    """A model that can be looked at, with the sentences it was made for."""

    run: "Run"
    corpus: "Corpus"
    source: "Source | None" = None  # of its sentences; None if they cannot be made again

    @property
    def has_sentences(self) -> bool:
        """Whether the sentences are there on which it was tried; else its file tells how it did."""
        return bool(self.corpus.validation)


# --- what the inputs describe


def source(setting: Setting, t: Texts) -> "Source":
    """Where the sentences come from, whatever the inputs are set to.

    Whether they can be had is told by `sentiment_texts.obstacle`.
    """
    from playground.lessons import sentiment_texts

    match setting(f"{TEXTS}.source", "templates"):
        case "reviews":
            return sentiment_texts.reviews(setting)
        case "own":
            return sentiment_texts.table(setting, t)
        case _:
            return sentiment_texts.templates(setting, t)


@lru_cache(maxsize=4)
def corpus(source: "Source") -> "Corpus":
    """Its sentences, made once for all learners."""
    return source.corpus()


def plan(setting: Setting, t: Texts) -> Plan:
    """What the inputs of the step "train" ask for."""
    return Plan(
        source(setting, t),
        tuple(architecture(kind, setting) for kind in chosen_kinds(setting)),
        recipe(setting),
        tuple(range(setting("sentiment.train.seeds", N_SEEDS))),
    )


def chosen_kinds(setting: Setting) -> list["Kind"]:
    """The models that are to be trained."""
    return [kind for kind in MODELS if kind in setting("sentiment.train.models", MODELS)]


def recipe(setting: Setting) -> "Recipe":
    """How the models are trained."""
    from attention_core.neural.sentiment.training import Recipe

    return Recipe(
        learning_rate=setting("sentiment.train.rate", RATE),
        warmup=setting("sentiment.train.warmup", WARMUP),
        is_decaying=setting("sentiment.train.decay", True),
        clip=setting("sentiment.train.clip", CLIP) or None,
        batch_size=setting("sentiment.train.batch", BATCH),
        n_epochs=setting("sentiment.train.epochs", n_epochs(setting)),
        patience=setting("sentiment.train.patience", PATIENCE),
    )


def n_epochs(setting: Setting) -> int:
    """How often a model sees all sentences, unless that is set."""
    match setting("sentiment.texts.source", "templates"):
        case "reviews":
            return N_EPOCHS_OF_REVIEWS
        case "own":
            from playground.lessons import sentiment_texts

            n_tokens = sentiment_texts.n_tokens_of_own(setting)
            fitting = [n for n in EPOCHS if n <= N_EPOCHS and n * n_tokens <= MOST_TOKENS_READ]
            return max(fitting, default=EPOCHS[0])
        case _:
            return N_EPOCHS


def architecture(kind: "Kind", setting: Setting) -> "Architecture":
    """What a model of this kind is made of.

    Without attention no token is attended to, so that pooling by it gives way to the mean.
    """
    from attention_core.neural.sentiment.model import Architecture

    made_of = Architecture(
        kind=kind,
        embed_dim=setting("sentiment.train.embedding", EMBEDDING),
        hidden=setting("sentiment.train.width", WIDTH),
        n_layers=setting("sentiment.train.layers", N_LAYERS),
        n_heads=setting("sentiment.train.heads", N_HEADS),
        is_residual=setting("sentiment.train.residual", False),
        dropout=setting("sentiment.train.dropout", DROPOUT),
    )
    pooling = setting("sentiment.train.pooling", "mean")
    if pooling == "attended" and not made_of.has_attention:
        return made_of
    return replace(made_of, pooling=pooling)


# --- numbers


def percent(t: Texts, share: float) -> str:
    """An accuracy or another share, as every step of this lesson writes it."""
    return t("sentiment.percent", share=_tenths(100 * share))


def points(t: Texts, gap: float) -> str:
    """A difference of accuracies, with its sign: 1.5 between 50 % and 51.5 %."""
    number = _tenths(100 * gap)
    return t("sentiment.points", gap=f"+{number}" if float(f"{100 * gap:.1f}") > 0 else number)


def _tenths(value: float) -> str:
    return f"{round(value, 1) + 0.0:.1f}".replace("-", "−")


# --- training as a job


class Course:
    """A plan that is carried out, run by run."""

    def __init__(self, plan: Plan, *, keeps_states: bool = True) -> None:
        self.training = Training(plan, corpus(plan.source), ())
        self._keeps_states = keeps_states

    def train(self, made_of: "Architecture", seed: int, tell: Callable[[], None]) -> None:
        """Train this model from this seed, unless anyone has trained it before.

        `tell` is called at each step, with the training up to date.
        """
        from attention_core.neural.sentiment.training import train

        before, start = self.training, time.monotonic()
        plan = before.plan

        def told(run: "Run") -> None:
            self.training = self._with(before, run, time.monotonic() - start)
            tell()

        # The later steps look at the epochs of the first seed.
        keeps_states = self._keeps_states and seed == plan.seeds[0]
        key = (_named(plan.source), made_of, plan.recipe, seed, keeps_states)
        run = _RUNS.get(key)
        if run is not None:
            self.training = self._with(before, run, 0.0)
            return
        run = train(before.corpus, made_of, plan.recipe, seed, keeps_states=keeps_states, tell=told)
        _RUNS.put(key, run)
        self.training = self._with(before, run, time.monotonic() - start)

    def _with(self, before: Training, run: "Run", spent: float) -> Training:
        return replace(
            before,
            runs=(*before.runs, run),
            spent=(*before.spent, spent),
        )


def _named(source: "Source") -> Hashable:
    """What tells it from other sources and takes little room, where a table takes megabytes."""
    from attention_core.neural.sentiment.table import Table

    if not isinstance(source, Table):
        return source
    whole = source.text.encode("utf-8", "surrogatepass")
    return hashlib.sha256(whole).digest(), source.how, source.seed


def work(plan: Plan) -> Work:
    """Trains it; a run that anyone has trained before is taken as it is."""

    def train_all(tell: Tell) -> Training:
        course = Course(plan)
        tell(0.0)  # the sentences may have taken seconds
        for seed in plan.seeds:
            for made_of in plan.architectures:
                course.train(made_of, seed, lambda: tell(course.training.done, course.training))
        return course.training

    return train_all


def seconds_left(trainings: Sequence[Training]) -> float | None:
    """Until all have ended, at the pace of each kind of model; None while none has a pace."""
    spent, steps, ahead = defaultdict[str, float](float), Counter[str](), Counter[str]()
    for training in trainings:
        for run, seconds in zip(training.runs, training.spent, strict=True):
            kind = run.architecture.kind
            spent[kind] += seconds
            steps[kind] += len(run.losses) if seconds else 0
        ahead += _ahead(training)
    if not sum(steps.values()):
        return None
    mean = sum(spent.values()) / sum(steps.values())
    return sum(
        count * (spent[kind] / steps[kind] if steps[kind] else mean)
        for kind, count in ahead.items()
    )


def _ahead(training: Training) -> Counter[str]:
    """How many steps of each kind of model have not been done."""
    ahead = Counter[str]()
    if not training.runs:
        return ahead
    n_steps = training.runs[0].n_steps
    for architecture in training.plan.architectures:
        ahead[architecture.kind] += n_steps * len(training.plan.seeds)
    for run in training.runs:
        ahead[run.architecture.kind] -= round(n_steps * run.done)
    return ahead


def training(view: View | None) -> Training | None:
    """What a job has trained so far."""
    found: Training | None = view.latest if view else None
    return found


# --- which of the trained models a later step looks at


def names(t: Texts) -> dict["Kind", str]:
    """What each kind of model is called."""
    return {
        "bag": t("sentiment.bag"),
        "lstm": t("sentiment.lstm"),
        "lstm_attention": t("sentiment.lstm_attention"),
        "attention": t("sentiment.attention"),
    }


def choices(training: Training | None) -> dict[tuple["Kind", int], Trained]:
    """The models that have learnt for an epoch at least, by kind and seed."""
    if training is None:
        return {}
    return {
        (run.architecture.kind, run.seed): Trained(run, training.corpus, training.plan.source)
        for run in training.runs
        if len(run.epochs) > 1
    }


def kinds(
    t: Texts, trained: Mapping[tuple["Kind", int], Trained], *, has_file: bool
) -> dict[Any, str]:
    """The kinds of models that can be looked at: those that were trained, and one from a file."""
    found: dict[Any, str] = {
        kind: name for kind, name in names(t).items() if any(own == kind for own, _ in trained)
    }
    return found | ({"file": t("sentiment.choose.file")} if has_file else {})


def first_kind(names: Mapping[Any, str]) -> Any:
    """The one that is looked at first: this lesson is about attention."""
    return next(
        (kind for kind in ("lstm_attention", "attention") if kind in names), next(iter(names))
    )


def seeds(trained: Mapping[tuple["Kind", int], Trained], kind: "Kind") -> dict[int, str]:
    """The seeds from which models of this kind were trained."""
    return {seed: str(seed) for own, seed in trained if own == kind}


@lru_cache(maxsize=4)
def from_file(data: bytes) -> Trained:
    """The model in a file, with its sentences if they can be made again, and tried on them anew.

    Raises:
        AttentionError: As in `storage.from_bytes`.
    """
    from attention_core.neural.sentiment.storage import from_bytes, measured, rebuilt

    stored = from_bytes(data)
    again = rebuilt(stored)
    if again is None:
        return Trained(stored.run, stored.corpus)
    return Trained(measured(stored.run, again), again, stored.source)

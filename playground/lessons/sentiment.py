"""What all steps of the lesson on trained attention share: the sentences, and what was trained."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
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
SEEDS, N_SEEDS = (1, 3, 5), 3
EPOCHS, N_EPOCHS = (2, 4, 8, 12, 16), 8
RATES, RATE = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1), 0.01

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
    seconds: float  # since it began

    @property
    def done(self) -> float:
        """From 0 to 1."""
        n_runs = len(self.plan.architectures) * len(self.plan.seeds)
        return sum(run.done for run in self.runs) / n_runs

    @property
    def nbytes(self) -> int:
        """About as many bytes as it takes."""
        return sum(run.nbytes for run in self.runs)


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
    from attention_core.neural.sentiment.training import Recipe

    kinds = [kind for kind in MODELS if kind in setting("sentiment.train.models", [*MODELS])]
    return Plan(
        source(setting, t),
        tuple(architecture(kind, setting) for kind in kinds),
        Recipe(
            learning_rate=setting("sentiment.train.rate", RATE),
            n_epochs=setting("sentiment.train.epochs", N_EPOCHS),
        ),
        tuple(range(setting("sentiment.train.seeds", N_SEEDS))),
    )


def architecture(kind: "Kind", setting: Setting) -> "Architecture":
    """What a model of this kind is made of."""
    from attention_core.neural.sentiment.model import Architecture

    return Architecture(
        kind=kind,
        n_heads=setting("sentiment.train.heads", 1),
    )


# --- training as a job


def work(plan: Plan) -> Work:
    """Trains it; a run that anyone has trained before is taken as it is."""

    def train_all(tell: Tell) -> Training:
        from attention_core.neural.sentiment.training import train

        began = time.monotonic()
        texts = corpus(plan.source)
        ended: list[Run] = []

        def training(run: "Run | None" = None) -> Training:
            runs = (*ended, run) if run else tuple(ended)
            return Training(plan, texts, runs, time.monotonic() - began)

        def told(run: "Run") -> None:
            so_far = training(run)
            tell(so_far.done, so_far)

        for seed in plan.seeds:
            for made_of in plan.architectures:
                key = (plan.source, made_of, plan.recipe, seed, seed == plan.seeds[0])
                run = _RUNS.get(key) or train(
                    texts, made_of, plan.recipe, seed, keeps_states=key[-1], tell=told
                )
                _RUNS.put(key, run)
                ended.append(run)
        return training()

    return train_all


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

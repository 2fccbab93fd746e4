"""Gradient descent on a classifier, batch by batch, and all that is remembered of it.

    loss = mean over a batch of  ln(1 + e^z) - y z         for the logit z and the label y

the binary cross-entropy. Source of the optimizer: Loshchilov and Hutter 2019, "Decoupled Weight
Decay Regularization", as `torch.optim.AdamW`; of warm-up: Vaswani et al. 2017, section 5.3, here
linear in both directions.
"""

import math
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal, TypeAlias

import torch
from torch.nn import functional as F

from attention_core.arrays import check_counts
from attention_core.errors import RangeError
from attention_core.neural.sentiment.corpus import Corpus, Example, Vocabulary
from attention_core.neural.sentiment.model import (
    Architecture,
    State,
    TextClassifier,
    batch,
    state_of,
    with_state,
)

Ending: TypeAlias = Literal["", "all", "early", "not_finite"]
WEIGHT_DECAY = 0.01  # of AdamW: each step multiplies a parameter by 1 - rate * this, first of all
_AT_ONCE = 256  # sentences that are read at a time where nothing is learnt
_A_STEP = 96  # bytes of three numbers in three tuples


@dataclass(frozen=True, slots=True)
class Recipe:
    """How a model is trained."""

    learning_rate: float = 0.01  # of AdamW, at its highest
    warmup: float = 0.1  # the share of all steps in which the rate rises from 0
    is_decaying: bool = True  # whether it falls to 0 after that
    clip: float | None = 1.0  # the largest norm of a gradient; None lets all pass
    batch_size: int = 32
    n_epochs: int = 8
    patience: int = 0  # epochs without a lower validation loss after which it ends; 0 = never

    def __post_init__(self) -> None:
        check_counts(1, batch_size=self.batch_size, n_epochs=self.n_epochs)
        check_counts(0, patience=self.patience)
        for name, value, high in (
            ("learning_rate", self.learning_rate, float("inf")),
            ("clip", 1.0 if self.clip is None else self.clip, float("inf")),
        ):
            if not 0 < value < high:
                raise RangeError(name, value, 0, high)
        if not 0 <= self.warmup < 1:
            raise RangeError("warmup", self.warmup, 0, 1)

    def rate(self, step: int, n_steps: int) -> float:
        """The learning rate of a step, counted from 0, of so many."""
        n_warmup = math.ceil(self.warmup * n_steps)
        if step < n_warmup:
            return self.learning_rate * ((step + 1) / (n_warmup + 1))
        if self.is_decaying:
            return self.learning_rate * ((n_steps - step) / (n_steps - n_warmup))
        return self.learning_rate


@dataclass(frozen=True, slots=True)
class Epoch:
    """What was measured after an epoch; number 0 is before the first step."""

    number: int
    train_loss: float | None  # mean over its steps, while it was learning; None before the first
    validation_loss: float
    accuracy: float  # on the validation sentences


@dataclass(frozen=True, eq=False, slots=True)
class Run:
    """One training so far: of one architecture, by one recipe, from one seed."""

    architecture: Architecture
    recipe: Recipe
    seed: int
    n_steps: int  # that were planned
    epochs: tuple[Epoch, ...] = ()
    losses: tuple[float, ...] = ()  # of each step
    norms: tuple[float, ...] = ()  # of its gradient, before it was clipped
    rates: tuple[float, ...] = ()  # its learning rate
    states: tuple[State, ...] = ()  # the parameters at each epoch, or the kept one's alone
    kept: int = 0  # the epoch whose parameters are the result
    ending: Ending = ""  # why it has ended; "" while it goes on, and when it was stopped

    @property
    def accuracy(self) -> float:
        """Of the result, on the validation sentences."""
        return self.epochs[self.kept].accuracy

    @property
    def done(self) -> float:
        """From 0 to 1."""
        return 1.0 if self.ending else len(self.losses) / self.n_steps

    @property
    def state(self) -> State:
        """The parameters of the result."""
        return self.states[min(self.kept, len(self.states) - 1)]

    @property
    def nbytes(self) -> int:
        """About as many bytes as it takes."""
        parameters = sum(value.nbytes for state in self.states for value in state.values())
        return parameters + _A_STEP * len(self.losses)


Tell: TypeAlias = Callable[[Run], None]


def train(
    corpus: Corpus,
    architecture: Architecture,
    recipe: Recipe,
    seed: int,
    *,
    keeps_states: bool = True,
    tell: Tell | None = None,
) -> Run:
    """Train one model. The same arguments give the same numbers on one machine.

    Args:
        corpus: The sentences.
        architecture: What the model is made of.
        recipe: How it is trained.
        seed: Draws the parameters, the order of the batches and what dropout drops.
        keeps_states: Whether the parameters at each epoch are kept, or those of the result alone.
        tell: Called after each step with the run so far, and between the parts of a measurement;
            what it raises ends the training.

    Returns:
        The run; its result is that of the last epoch, or, where `patience` may have ended it,
        that of the lowest validation loss.
    """
    # With batches as small as these two threads took as long as one and twice the processor's time
    # (benchmarks/sentiment.py), and far longer than one where others wanted the second core.
    torch.set_num_threads(1)  # of this thread, which need not be the one that loaded the library
    learner = _Learner(corpus, architecture, recipe, seed)
    tried = _numbered(corpus.validation, corpus.vocabulary)
    run = Run(architecture, recipe, seed, learner.n_steps)

    def so_far(run: Run) -> Run:
        if tell:
            tell(run)
        return run

    def measured(number: int, train_loss: float | None) -> Epoch:
        return _measured(learner.model, tried, number, train_loss, partial(so_far, run))

    run = replace(run, epochs=(measured(0, None),), states=(state_of(learner.model),))
    so_far(run)
    for number in range(1, recipe.n_epochs + 1):
        for is_finite in learner.epoch():
            run = so_far(learner.noted(run))
            if not is_finite:
                return so_far(replace(run, ending="not_finite"))
        epoch = measured(number, sum(run.losses[-learner.n_batches :]) / learner.n_batches)
        if not math.isfinite(epoch.validation_loss):
            return so_far(replace(run, ending="not_finite"))
        run = so_far(_after(run, epoch, state_of(learner.model), keeps_states=keeps_states))
        if run.ending:
            break
    return run


class _Learner:
    """A model under training, and what each of its steps was like."""

    def __init__(
        self, corpus: Corpus, architecture: Architecture, recipe: Recipe, seed: int
    ) -> None:
        generator = torch.Generator().manual_seed(seed)
        self.model = TextClassifier(architecture, len(corpus.vocabulary), generator=generator)
        self.optimizer = torch.optim.AdamW(
            self.model.parameters(), lr=recipe.learning_rate, weight_decay=WEIGHT_DECAY
        )
        self.recipe = recipe
        self.examples = _numbered(corpus.train, corpus.vocabulary)
        self.rng = random.Random(seed)
        self.n_batches = -(-len(self.examples) // recipe.batch_size)
        self.n_steps = self.n_batches * recipe.n_epochs
        self.losses, self.norms, self.rates = list[float](), list[float](), list[float]()

    def epoch(self) -> Iterator[bool]:
        """Learn from all sentences once; after each step whether all was finite."""
        self.model.train()
        for ids, labels in _batches(self.examples, self.recipe.batch_size, self.rng):
            yield self.step(ids, labels)

    def step(self, ids: torch.Tensor, labels: torch.Tensor) -> bool:
        """Learn from one batch, unless its loss or gradient is no number."""
        rate = self.recipe.rate(len(self.losses), self.n_steps)
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        loss = F.binary_cross_entropy_with_logits(self.model(ids).logits, labels)
        self.optimizer.zero_grad()
        torch.autograd.backward(loss)
        most = math.inf if self.recipe.clip is None else self.recipe.clip
        norm = torch.nn.utils.clip_grad_norm_(self.model.parameters(), most)
        self.losses.append(loss.item())
        self.norms.append(norm.item())
        self.rates.append(rate)
        is_finite = math.isfinite(self.losses[-1]) and math.isfinite(self.norms[-1])
        if is_finite:
            self.optimizer.step()
        return is_finite

    def noted(self, run: Run) -> Run:
        """The run with all steps so far; copying them takes microseconds, a step milliseconds."""
        return replace(
            run, losses=tuple(self.losses), norms=tuple(self.norms), rates=tuple(self.rates)
        )


def _after(run: Run, epoch: Epoch, state: State, *, keeps_states: bool) -> Run:
    """The run with one more epoch, and whether that was its last."""
    epochs, recipe = (*run.epochs, epoch), run.recipe
    best = min(epochs[1:], key=lambda each: each.validation_loss).number
    kept = best if recipe.patience else epoch.number
    if keeps_states:
        states = (*run.states, state)
    else:
        states = (state,) if kept == epoch.number else run.states
    ending: Ending = "all" if epoch.number == recipe.n_epochs else ""
    if recipe.patience and epoch.number - best >= recipe.patience:
        ending = ending or "early"
    return replace(run, epochs=epochs, kept=kept, states=states, ending=ending)


def logits(
    model: TextClassifier,
    sentences: Sequence[Sequence[int]],
    *,
    between: Callable[[], object] | None = None,
) -> torch.Tensor:
    """(n,): above 0 where a sentence is taken for positive. Takes the model out of training.

    `between` is called every few sentences; what it raises ends the reading.
    """
    model.eval()
    parts = []
    for start in range(0, len(sentences), _AT_ONCE):
        if between:
            between()
        with torch.no_grad():
            parts.append(model(batch(sentences[start : start + _AT_ONCE])).logits)
    return torch.cat(parts).double()


def result(run: Run, epoch: int | None = None) -> TextClassifier:
    """The trained model, or the one after some epoch, if the run has kept it."""
    return with_state(run.architecture, run.state if epoch is None else run.states[epoch])


_Numbered: TypeAlias = list[tuple[list[int], int]]


def _numbered(examples: Sequence[Example], vocabulary: Vocabulary) -> _Numbered:
    return [(vocabulary.ids(example.tokens), example.label) for example in examples]


def _batches(
    examples: _Numbered, size: int, rng: random.Random
) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    """All sentences once, similar lengths together so that little is padding, in drawn order."""
    drawn = sorted(rng.sample(examples, len(examples)), key=lambda each: len(each[0]))
    parts = [drawn[start : start + size] for start in range(0, len(drawn), size)]
    rng.shuffle(parts)
    for part in parts:
        yield batch([ids for ids, _ in part]), torch.tensor([float(label) for _, label in part])


def _measured(
    model: TextClassifier,
    examples: _Numbered,
    number: int,
    train_loss: float | None,
    between: Callable[[], object],
) -> Epoch:
    given = logits(model, [ids for ids, _ in examples], between=between)
    labels = torch.tensor([float(label) for _, label in examples], dtype=torch.float64)
    loss = F.binary_cross_entropy_with_logits(given, labels)
    right = (given > 0) == (labels > 0.5)
    return Epoch(number, train_loss, loss.item(), right.double().mean().item())

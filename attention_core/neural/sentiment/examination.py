"""Whether the attention of a trained model tells what its answers depend on.

For a sentence with the logit z, of T tokens with the embeddings e_i:

    attention_i = how much token i is attended to, in all that is pooled
    occlusion_i = |z - z of the sentence without token i|
    gradient_i  = |∂z/∂e_i · e_i|        how z would change if e_i faded to 0, to first order

and z again with other weights in place of those of attention: equal ones, and the same ones
shuffled among the tokens. Rankings of the tokens are compared by Kendall's τ_b.

Sources: Jain and Wallace 2019, "Attention is not Explanation" (shuffled weights, τ with the
gradient and with leaving out; their gradient is this one, but does not flow through the weights);
Serrano and Smith 2019, "Is Attention Interpretable?" (taking away what is most attended, against
something at random); Wiegreffe and Pinter 2019, "Attention is not not Explanation" (equal weights:
attention explains nothing where a model does not need it).
Axes: B sentences, T tokens of the longest, H heads.
"""

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, TypeAlias

import numpy as np
import torch
from torch import Tensor

from attention_core.arrays import FloatArray, check_counts
from attention_core.intervals import Interval, of_mean, of_share
from attention_core.neural.sentiment.corpus import PADDING
from attention_core.neural.sentiment.model import (
    Pooling,
    Reading,
    TextClassifier,
    attended,
    batch,
    probability,
)
from attention_core.neural.sentiment.training import logits
from attention_core.ranks import kendall

Intervention: TypeAlias = Literal["most", "random", "least", "strongest", "equal", "shuffled"]
Pair: TypeAlias = Literal[
    "attention_occlusion", "attention_gradient", "occlusion_gradient", "chance"
]

N_DRAWS = 5  # shuffles of the weights of each sentence
_N_ORDERS = 10  # random orders of the tokens of each sentence, for what chance would give
_AT_ONCE = 16  # sentences, with all that is done to them: a fraction of a second
_LEVEL = 9  # decimals: what differs by less, of the largest, differs by rounding


@dataclass(frozen=True, eq=False, slots=True)
class Statement:
    """All that is asked of a model about one sentence."""

    label: int
    logit: float
    without: FloatArray  # (T,): the logit without each token
    gradient: FloatArray  # (T,): |∂z/∂e_i · e_i|
    attention: FloatArray | None  # (T,), of 1 in all; None without attention
    equal: float | None  # the logit with equal weights
    shuffled: FloatArray  # (n_draws,) logits with shuffled weights; none without attention

    @property
    def occlusion(self) -> FloatArray:
        """(T,): how much the logit moves without each token."""
        moved: FloatArray = np.abs(self.without - self.logit)
        return moved


@dataclass(frozen=True, eq=False, slots=True)
class Effect:
    """What an intervention does to the answer to each sentence, as a mean over its tries."""

    flipped: FloatArray  # (n,): the share of tries that give the other answer
    moved: FloatArray  # (n,): |Δp|
    right: FloatArray  # (n,): the share of tries that give the right answer

    @property
    def n_flipped(self) -> float:
        """Answers that become the other one; not whole where there are several tries."""
        return float(self.flipped.sum())

    @property
    def share(self) -> float:
        """Of the answers that become the other one."""
        return float(self.flipped.mean())

    @property
    def interval(self) -> Interval:
        """Of that share."""
        return of_share(min(self.n_flipped, len(self.flipped)), len(self.flipped))


@dataclass(frozen=True, eq=False, slots=True)
class Agreement:
    """How alike two rankings of the tokens are, in each sentence."""

    taus: FloatArray  # (n,), NaN where one of them ranks nothing

    @property
    def defined(self) -> FloatArray:
        """Those that are numbers."""
        there: FloatArray = self.taus[~np.isnan(self.taus)]
        return there

    @property
    def n_undefined(self) -> int:
        """Sentences in which all tokens are ranked alike."""
        return len(self.taus) - len(self.defined)

    @property
    def quartiles(self) -> tuple[float, float, float]:
        """Lower quartile, median and upper quartile over the sentences; NaN where there is none."""
        if not len(self.defined):
            return (float("nan"),) * 3
        lower, median, upper = np.quantile(self.defined, (0.25, 0.5, 0.75))
        return float(lower), float(median), float(upper)

    @property
    def mean(self) -> float:
        """Over the sentences; NaN where there is none."""
        return float(self.defined.mean()) if len(self.defined) else float("nan")

    @property
    def interval(self) -> Interval:
        """Of that mean."""
        return of_mean(self.defined)


@dataclass(frozen=True, eq=False)
class Examination:
    """What was asked about some sentences, and what follows from it."""

    statements: tuple[Statement, ...]  # of sentences with two tokens at least
    n_too_short: int  # sentences of which nothing would be left
    n_sentences: int  # that are to be examined, with those too short
    seed: int

    @property
    def is_whole(self) -> bool:
        """Whether it has come to its end."""
        return len(self.statements) + self.n_too_short == self.n_sentences

    @property
    def has_attention(self) -> bool:
        """Whether there is attention to examine."""
        return bool(self.statements) and self.statements[0].attention is not None

    @property
    def accuracy(self) -> float:
        """Of the answers as they are."""
        return float(np.mean([(each.logit > 0) == each.label for each in self.statements]))

    @cached_property
    def effects(self) -> dict[Intervention, Effect]:
        """By intervention: first what is dropped, then what is done to the weights."""
        names: tuple[Intervention, ...] = ("random", "strongest")
        if self.has_attention:
            names = ("most", "random", "least", "strongest", "equal", "shuffled")
        return {name: _effect(name, self.statements) for name in names}

    @cached_property
    def agreements(self) -> dict[Pair, Agreement]:
        """By pair of rankings; last what a random order of the tokens gives with occlusion."""
        own = [_ranked(each) for each in self.statements]
        rng = np.random.default_rng(self.seed)
        pairs: list[tuple[Pair, list[float]]] = [
            ("occlusion_gradient", [_tau(of["occlusion"], of["gradient"]) for of in own]),
            ("chance", list(itertools.chain(*(_chance(of["occlusion"], rng) for of in own)))),
        ]
        if self.has_attention:
            pairs = [
                ("attention_occlusion", [_tau(of["attention"], of["occlusion"]) for of in own]),
                ("attention_gradient", [_tau(of["attention"], of["gradient"]) for of in own]),
                *pairs,
            ]
        return {pair: Agreement(np.array(taus)) for pair, taus in pairs}

    @property
    def nbytes(self) -> int:
        """About as many bytes as it takes."""
        return sum(32 * (len(each.without) + 16) for each in self.statements)


Tell: TypeAlias = Callable[[Examination], None]


def examine(
    model: TextClassifier,
    sentences: Sequence[Sequence[int]],
    labels: Sequence[int],
    *,
    seed: int = 0,
    n_draws: int = N_DRAWS,
    tell: Tell | None = None,
) -> Examination:
    """Ask a model about sentences with known labels. The model is not changed.

    Args:
        model: What is examined, in double precision so that rounding orders nothing.
        sentences: The numbers of the tokens of each, padding not among them.
        labels: 1 = positive; one for each sentence.
        seed: Shuffles weights and orders.
        n_draws: Shuffles of the weights for each sentence.
        tell: Called after every few sentences with the examination so far, which is of the first
            ones in their order; what it raises ends it.

    Raises:
        RangeError: A sentence is empty, or there is no shuffle.
    """
    check_counts(1, n_draws=n_draws, n_tokens=min(map(len, sentences), default=1))
    torch.set_num_threads(1)  # of this thread, which need not be the one that loaded the library
    exact = _exact(model)
    generator = torch.Generator().manual_seed(seed)
    found = Examination((), 0, len(sentences), seed)
    for start in range(0, len(sentences), _AT_ONCE):
        part = slice(start, start + _AT_ONCE)
        given = zip(sentences[part], labels[part], strict=True)
        asked = [(ids, label) for ids, label in given if len(ids) > 1]
        more = _statements(exact, asked, generator, n_draws) if asked else ()
        n_short = found.n_too_short + len(sentences[part]) - len(asked)
        found = Examination((*found.statements, *more), n_short, len(sentences), seed)
        if tell is not None:
            tell(found)
    return found


def _exact(model: TextClassifier) -> TextClassifier:
    """The same model in double precision."""
    copy = TextClassifier(model.architecture, model.embedding.num_embeddings).double()
    copy.load_state_dict(model.state_dict())
    return copy.requires_grad_(False).eval()


_Asked: TypeAlias = list[tuple[Sequence[int], int]]


def _statements(
    model: TextClassifier, asked: _Asked, generator: torch.Generator, n_draws: int
) -> tuple[Statement, ...]:
    sentences = [ids for ids, _ in asked]
    ids = batch(sentences)  # (B, T)
    reading, gradient = _read(model, ids)
    attention = looked_at(reading, model.architecture.pooling)
    equal, shuffled = None, torch.empty(len(ids), 0)
    if attention is not None:
        equal = model(ids, reweight=equal_weights).logits
        draws = [_shuffled_logits(model, ids, generator) for _ in range(n_draws)]
        shuffled = torch.stack(draws, dim=-1)  # (B, n_draws)
    given, without = reading.logits.detach(), iter(_without_each(model, sentences))
    return tuple(
        Statement(
            label,
            float(given[b]),
            next(without),
            gradient[b, : len(own)].numpy(),
            None if attention is None else attention[b, : len(own)].numpy(),
            None if equal is None else float(equal[b]),
            shuffled[b].numpy(),
        )
        for b, (own, label) in enumerate(asked)
    )


def _read(model: TextClassifier, ids: Tensor) -> tuple[Reading, Tensor]:
    """The sentences as they are, and (B, T): |∂z/∂e_i · e_i|."""
    embedded = model.embedding(ids).requires_grad_()
    with torch.enable_grad():
        reading = model.read(embedded, ids != PADDING)
    # Sentences do not touch each other, so the sum of all logits has the gradients of each.
    (gradients,) = torch.autograd.grad(reading.logits.sum(), embedded)
    return reading, (gradients * embedded.detach()).sum(dim=-1).abs()


def looked_at(reading: Reading, pooling: Pooling) -> Tensor | None:
    """(B, T): how much each token is attended to, of 1 in all; None without attention.

    By all tokens, as all are pooled. Where only the last one is, by that: the others' weights
    never reach the answer.
    """
    if reading.weights is None:
        return None
    weights, is_real = reading.weights.detach(), reading.is_real
    if pooling == "last":
        each = torch.arange(len(weights))
        return weights[each, :, is_real.sum(dim=-1) - 1].mean(dim=1)
    return attended(weights, is_real)


def _without_each(model: TextClassifier, sentences: Sequence[Sequence[int]]) -> list[FloatArray]:
    """For each sentence (T,): the logit without each of its tokens."""
    shorter = [[*ids[:i], *ids[i + 1 :]] for ids in sentences for i in range(len(ids))]
    order = sorted(range(len(shorter)), key=lambda place: len(shorter[place]))
    found = np.empty(len(shorter))
    found[order] = logits(model, [shorter[place] for place in order]).numpy()  # little padding
    ends = np.cumsum([len(ids) for ids in sentences])
    return np.split(found, ends[:-1])


# --- other weights


def equal_weights(weights: Tensor, is_real: Tensor) -> Tensor:
    """The same weight for every real token, in the shape of weights (B, H, T, T)."""
    real = is_real.to(weights.dtype)  # (B, T)
    return (real / real.sum(dim=-1, keepdim=True))[:, None, None, :].expand_as(weights)


def shuffled_weights(weights: Tensor, is_real: Tensor, generator: torch.Generator) -> Tensor:
    """Each row of (B, H, T, T) in a drawn order of its real tokens, each in its own."""
    drawn = torch.rand(weights.shape, generator=generator)
    # Padding, last in each row, stays there: its weight is 0 and remains its own.
    order = drawn.masked_fill(~is_real[:, None, None, :], 2.0).argsort(dim=-1)
    return weights.gather(-1, order)


def _shuffled_logits(model: TextClassifier, ids: Tensor, generator: torch.Generator) -> Tensor:
    def reweight(weights: Tensor, is_real: Tensor) -> Tensor:
        return shuffled_weights(weights, is_real, generator)

    answered: Reading = model(ids, reweight=reweight)
    return answered.logits


# --- what follows


def _effect(name: Intervention, statements: Sequence[Statement]) -> Effect:
    tries = [_logits_after(name, each) for each in statements]
    pairs = [*zip(statements, tries, strict=True)]
    return Effect(
        np.array([((z > 0) != (each.logit > 0)).mean() for each, z in pairs]),
        np.array([np.abs(probability(z) - probability(each.logit)).mean() for each, z in pairs]),
        np.array([((z > 0) == each.label).mean() for each, z in pairs]),
    )


def _logits_after(name: Intervention, of: Statement) -> FloatArray:
    """(n_tries,) logits. A random word is every word in turn: no draw is fairer."""
    match name:
        case "random":
            return of.without
        case "strongest":
            return of.without[[int(np.argmax(of.occlusion))]]
        case "equal":
            return np.array([of.equal], dtype=np.float64)
        case "shuffled":
            return of.shuffled
        case _:
            assert of.attention is not None
            chosen = np.argmax(of.attention) if name == "most" else np.argmin(of.attention)
            return of.without[[int(chosen)]]


def _ranked(of: Statement) -> dict[str, FloatArray]:
    least = abs(of.logit)
    own = {"occlusion": level(of.occlusion, least), "gradient": level(of.gradient, least)}
    if of.attention is not None:
        own["attention"] = level(of.attention)
    return own


def taus(of: Statement) -> dict[Pair, float]:
    """How alike the rankings of the tokens of one sentence are."""
    ranked = _ranked(of)
    found: dict[Pair, float] = {}
    if of.attention is not None:
        found["attention_occlusion"] = _tau(ranked["attention"], ranked["occlusion"])
        found["attention_gradient"] = _tau(ranked["attention"], ranked["gradient"])
    return found | {"occlusion_gradient": _tau(ranked["occlusion"], ranked["gradient"])}


def level(values: FloatArray, least: float = 0.0) -> FloatArray:
    """Values of which those that differ by rounding alone are equal.

    Args:
        values: (n,).
        least: The size of the numbers that they are differences of, and so of their rounding.
    """
    largest = float(np.abs(values).max(initial=least))
    levelled: FloatArray = np.round(values / (largest or 1.0), _LEVEL)
    return levelled


def _tau(a: FloatArray, b: FloatArray) -> float:
    return float(kendall(a, b))


def _chance(values: FloatArray, rng: np.random.Generator) -> FloatArray:
    orders = rng.permuted(np.tile(np.arange(len(values)), (_N_ORDERS, 1)), axis=1)
    return kendall(orders.astype(np.float64), np.broadcast_to(values, orders.shape))

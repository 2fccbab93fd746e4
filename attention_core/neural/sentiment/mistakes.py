"""Where a trained model is wrong, how sure it was, and what its mistakes have in common.

    loss = ln(1 + e^z) - y z,    confidence = max(p, 1 - p),    p = sigmoid(z)

for the logit z and the label y. A trait is told of mistakes only where the 95 % intervals of its
share among mistakes and among right answers do not overlap, which is stricter than a test at 5 %.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from attention_core.arrays import BoolArray, FloatArray
from attention_core.intervals import Interval, of_share
from attention_core.neural.sentiment.corpus import UNKNOWN, Corpus, Example
from attention_core.neural.sentiment.model import TextClassifier, probability
from attention_core.neural.sentiment.training import logits

TraitName: TypeAlias = Literal["long", "unknown", "turn", "negation"]
FEWEST = 10  # mistakes, and right answers, below which nothing is said about what they share
BINS = (0.5, 0.75, 0.95, 1.0)  # ends of the bins of confidence

TURNS = (
    *("but", "however", "although", "though", "yet", "despite", "while"),
    *("但", "可是", "不过", "然而", "虽然", "尽管", "却"),
)
NEGATIONS = (
    *("not", "no", "never", "nothing", "hardly", "isn't", "wasn't", "don't", "didn't"),
    *("不", "没", "无", "非"),
)


@dataclass(frozen=True, slots=True)
class Answer:
    """What a model says to one sentence."""

    example: Example
    logit: float
    unknown: tuple[str, ...]  # its tokens that are not in the vocabulary

    @property
    def probability(self) -> float:
        """That the sentence is positive, by the model."""
        return float(probability(self.logit))

    @property
    def loss(self) -> float:
        """The larger, the worse a mistake."""
        return float(np.logaddexp(0.0, self.logit) - self.example.label * self.logit)

    @property
    def said(self) -> int:
        """1 where it is taken for positive."""
        return int(self.logit > 0)

    @property
    def is_right(self) -> bool:
        """Whether that is its label."""
        return self.said == self.example.label


@dataclass(frozen=True, slots=True)
class Bin:
    """The answers whose confidence lies between two ends."""

    lower: float
    upper: float
    n: int
    n_right: int


@dataclass(frozen=True, slots=True)
class Trait:
    """How many mistakes, and how many right answers, are of some kind."""

    name: TraitName
    n_wrong: int  # mistakes that are of this kind
    n_right: int  # right answers that are

    def shares(self, of: "Mistakes") -> tuple[Interval, Interval]:
        """Where its shares lie among all mistakes and among all right answers."""
        return (
            of_share(self.n_wrong, len(of.wrong)),
            of_share(self.n_right, len(of.answers) - len(of.wrong)),
        )

    def differs(self, of: "Mistakes") -> bool:
        """Whether the two shares differ by more than chance explains."""
        wrong, right = self.shares(of)
        return wrong.lower > right.upper or right.lower > wrong.upper


@dataclass(frozen=True, eq=False, slots=True)
class Mistakes:
    """All answers to the validation sentences, and what is wrong with them."""

    answers: tuple[Answer, ...]
    wrong: tuple[Answer, ...]  # the worst first
    confusion: npt.NDArray[np.intp]  # (2, 2): rows are labels, columns what was said; 0, 1
    bins: tuple[Bin, ...]
    middle: float  # tokens: half of all sentences have no more
    traits: tuple[Trait, ...]  # none where fewer than FEWEST are there to be compared

    @property
    def accuracy(self) -> float:
        """The share of right answers."""
        return float(np.trace(self.confusion) / self.confusion.sum())

    @property
    def precision(self) -> float:
        """Of what was said to be positive, the share that is; NaN where nothing was."""
        return _over(self.confusion[1, 1], self.confusion[:, 1].sum())

    @property
    def recall(self) -> float:
        """Of what is positive, the share that was found; NaN where nothing is."""
        return _over(self.confusion[1, 1], self.confusion[1].sum())


def mistakes(model: TextClassifier, corpus: Corpus) -> Mistakes:
    """What a model makes of the validation sentences, of which there must be one at least."""
    vocabulary = corpus.vocabulary
    numbered = [vocabulary.ids(example.tokens) for example in corpus.validation]
    answers = tuple(
        Answer(example, float(logit), _unknown(example, ids))
        for example, ids, logit in zip(
            corpus.validation, numbered, logits(model, numbered), strict=True
        )
    )
    return of_answers(answers)


def of_answers(answers: Sequence[Answer]) -> Mistakes:
    """What is wrong with these answers, one at least."""
    labels = np.array([answer.example.label for answer in answers])
    said = np.array([answer.said for answer in answers])
    confusion = np.zeros((2, 2), dtype=np.intp)
    np.add.at(confusion, (labels, said), 1)
    wrong = sorted((a for a in answers if not a.is_right), key=lambda a: -a.loss)
    middle = float(np.median([len(answer.example.tokens) for answer in answers]))
    is_right = labels == said
    is_enough = min(len(wrong), len(answers) - len(wrong)) >= FEWEST
    traits = _traits(answers, is_right, middle) if is_enough else ()
    bins = _bins(answers, is_right)
    return Mistakes(tuple(answers), tuple(wrong), confusion, bins, middle, traits)


def _unknown(example: Example, ids: Sequence[int]) -> tuple[str, ...]:
    return tuple(token for token, id in zip(example.tokens, ids, strict=True) if id == UNKNOWN)


def _bins(answers: Sequence[Answer], is_right: BoolArray) -> tuple[Bin, ...]:
    p = np.array([answer.probability for answer in answers])
    confidence: FloatArray = np.maximum(p, 1 - p)
    found = []
    for lower, upper in pairwise(BINS):
        inside = (confidence >= lower) & (confidence < upper if upper < 1 else True)
        found.append(Bin(lower, upper, int(inside.sum()), int((inside & is_right).sum())))
    return tuple(found)


def _traits(answers: Sequence[Answer], is_right: BoolArray, middle: float) -> tuple[Trait, ...]:
    has: dict[TraitName, list[bool]] = {
        "long": [len(answer.example.tokens) > middle for answer in answers],
        "unknown": [bool(answer.unknown) for answer in answers],
        "turn": [_holds(answer.example, TURNS) for answer in answers],
        "negation": [_holds(answer.example, NEGATIONS) for answer in answers],
    }
    return tuple(
        Trait(name, int((np.array(of) & ~is_right).sum()), int((np.array(of) & is_right).sum()))
        for name, of in has.items()
        if any(of) and not all(of)  # what is so of all sentences, or of none, tells nothing
    )


def _holds(example: Example, words: Sequence[str]) -> bool:
    """Whether one of the words stands in it; Chinese ones, which no space parts, as characters."""
    tokens = {token.lower() for token in example.tokens}
    return any(word in tokens if word.isascii() else word in example.text for word in words)


def _over(count: float, n: float) -> float:
    return float(count / n) if n else float("nan")

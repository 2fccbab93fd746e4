"""Labelled sentences, split into those that a model learns from and those that it is tried on.

Every source gives a `Corpus`. No sentence is in both parts, so what is measured on the
validation part was never learnt by heart.
"""

import random
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from attention_core.errors import RangeError
from attention_core.neural.sentiment.tokens import How, cut

PADDING, UNKNOWN = 0, 1  # the first two numbers of every vocabulary
MOST_WORDS = 4_000  # that a vocabulary holds: the most frequent ones
MOST_TOKENS = 64  # of a sentence that are read


@dataclass(frozen=True, slots=True)
class Example:
    """A sentence and what it says."""

    text: str
    tokens: tuple[str, ...]
    label: int  # 1 positive, 0 negative


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """The tokens that a model knows, each with a number; all others are one and the same."""

    words: tuple[str, ...]  # without padding and the unknown
    numbers: dict[str, int] = field(init=False)

    def __post_init__(self) -> None:
        numbers = {word: number for number, word in enumerate(self.words, start=UNKNOWN + 1)}
        object.__setattr__(self, "numbers", numbers)

    def __len__(self) -> int:
        return len(self.words) + UNKNOWN + 1

    def ids(self, tokens: Iterable[str]) -> list[int]:
        """The number of each token."""
        return [self.numbers.get(token, UNKNOWN) for token in tokens]

    @classmethod
    def of(cls, sentences: Iterable[Sequence[str]], *, least: int = 1) -> "Vocabulary":
        """The tokens that stand in these sentences at least so often, most frequent first."""
        counts = Counter(token for tokens in sentences for token in tokens)
        ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
        return cls(tuple(word for word, count in ordered if count >= least)[:MOST_WORDS])


@dataclass(frozen=True, eq=False, slots=True)
class Corpus:
    """Sentences to learn from, and others to be tried on."""

    train: tuple[Example, ...]
    validation: tuple[Example, ...]
    vocabulary: Vocabulary  # of the sentences to learn from
    how: How  # its texts are cut into tokens

    def read(self, text: str) -> tuple[str, ...]:
        """The tokens of any text, cut as those of the corpus are."""
        return cut(text, self.how, self.vocabulary.words)[:MOST_TOKENS]


class Source(Protocol):
    """Where sentences come from. Equal sources give equal sentences."""

    def corpus(self) -> Corpus:
        """All its sentences, split."""
        ...

    def __hash__(self) -> int: ...


def divided(
    examples: Sequence[Example], n_validation: int, seed: int
) -> tuple[tuple[Example, ...], tuple[Example, ...]]:
    """Distinct sentences in a drawn order: those to learn from, and `n_validation` others.

    Both labels are as frequent in one part as in the other.

    Raises:
        RangeError: Nothing would be left to learn from.
    """
    if not 1 <= n_validation < len(examples):
        raise RangeError("n_validation", n_validation, 1, max(1, len(examples) - 1))
    rng = random.Random(seed)
    by_label = {
        label: rng.sample(own, len(own))
        for label in (0, 1)
        if (own := [example for example in examples if example.label == label])
    }
    train, validation = list[Example](), list[Example]()
    for own in by_label.values():
        n_own = round(n_validation * len(own) / len(examples))
        validation += own[:n_own]
        train += own[n_own:]
    rng.shuffle(train)
    rng.shuffle(validation)
    return tuple(train), tuple(validation)

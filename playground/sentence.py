"""A sentence, typed or pasted, as words that an experiment takes as its tokens.

Two packages know what the standard library does not: rjieba finds Chinese words with a
dictionary of its own, and regex finds what a reader takes for one character (Unicode's
grapheme clusters, UAX 29). Both are imported when they are asked for: rjieba costs 0.1 s and
33 MB, and most learners never need it.
"""

from collections.abc import Callable, Iterable, Iterator
from itertools import accumulate
from typing import Literal, NamedTuple, TypeAlias

from attention_core import AttentionError
from attention_core.canvas import MAX_TOKENS
from attention_core.errors import ChoiceError
from attention_core.experiment import MAX_TOKEN_LENGTH, check_token

How: TypeAlias = Literal["spaces", "characters", "chinese"]
HOW: tuple[How, ...] = ("spaces", "characters", "chinese")

MOST_TEXT = 2_000  # characters that are read, far more than twelve words need

# Marks that a pasted text brings along: with one of them inside, a word would look the same and
# yet be another word. Those that join letters and emoji stay.
_MARKS = dict.fromkeys(
    [
        *(0x00AD, 0x061C, 0x200E, 0x200F, 0x2060, 0xFEFF),
        *range(0x202A, 0x202F),
        *range(0x2066, 0x206A),
    ]
)
_MARKS_BETWEEN_WORDS = {0x200B: " "}  # as Thai and Khmer texts have them


class Split(NamedTuple):
    """What became of a text; `words` is empty where there was none."""

    words: tuple[str, ...]  # at most 12, each fit for a token
    n_left_out: int  # words beyond the twelfth, in what was read
    n_shortened: int  # of `words`, cut at 200 characters
    is_cut: bool  # whether some of the text was not read at all


def split(text: str, how: str) -> Split:
    """The words of a text, cut down to what an experiment takes.

    No word holds a space, and what is visible is kept, punctuation too, as tokenizers do.

    Args:
        text: Anything; what cannot be shown is dropped.
        how: "spaces", "characters" (as a reader counts them) or "chinese" (by dictionary).

    Raises:
        ChoiceError: There is no such way to split.
    """
    if how not in _WAYS:
        raise ChoiceError("how", how, HOW)
    text = text.strip()
    read = text[:MOST_TEXT].translate(_MARKS | _MARKS_BETWEEN_WORDS)
    pieces = (piece for chunk in read.split() for piece in _WAYS[how](_shown(chunk)))
    found = [piece for piece in pieces if _is_token(piece[:MAX_TOKEN_LENGTH])]
    kept = found[:MAX_TOKENS]
    return Split(
        words=tuple(word[:MAX_TOKEN_LENGTH] for word in kept),
        n_left_out=len(found) - len(kept),
        n_shortened=sum(len(word) > MAX_TOKEN_LENGTH for word in kept),
        is_cut=len(text) > MOST_TEXT,
    )


def _whole(chunk: str) -> Iterable[str]:
    return [chunk]


def _characters(chunk: str) -> Iterable[str]:
    import regex  # type: ignore[import-untyped]

    found: list[str] = regex.findall(r"\X", chunk)
    return found


def _chinese_words(chunk: str) -> Iterator[str]:
    """Words by dictionary; what is one character to a reader is never taken apart."""
    import rjieba

    ends = set(accumulate(map(len, _characters(chunk))))
    word, end = "", 0
    for piece in rjieba.cut(chunk):
        word, end = word + piece, end + len(piece)
        if end in ends:
            yield word
            word = ""


_WAYS: dict[str, Callable[[str], Iterable[str]]] = {
    "spaces": _whole,
    "characters": _characters,
    "chinese": _chinese_words,
}


def _shown(chunk: str) -> str:
    """Without the characters that no token may hold."""
    return "".join(filter(_may_be_in_a_token, chunk))


def _may_be_in_a_token(character: str) -> bool:
    return _is_token(f"x{character}")


def _is_token(text: str) -> bool:
    try:
        check_token(0, text)
    except AttentionError:
        return False
    return True

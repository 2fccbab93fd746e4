"""How a text becomes tokens: by words, by characters, or by a dictionary of Chinese words.

Two packages know what the standard library does not: rjieba finds Chinese words with a
dictionary of its own, and regex finds what a reader takes for one character (Unicode's grapheme
clusters, UAX 29). Both are imported when they are asked for.
"""

import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from typing import Literal, TypeAlias

from attention_core.errors import ChoiceError

How: TypeAlias = Literal["words", "characters", "chinese", "known"]
HOW: tuple[How, ...] = ("words", "characters", "chinese", "known")

_WORD = re.compile(r"[\w']+|[^\w\s]")


def cut(text: str, how: How, known: tuple[str, ...] = ()) -> tuple[str, ...]:
    """The tokens of a text, in small letters and without spaces.

    Args:
        text: Anything.
        how: "words" between spaces, and each mark by itself; "characters", as a reader counts
            them; "chinese" words by dictionary; "known": the longest words that are known.
        known: Those words.

    Raises:
        ChoiceError: There is no such way.
    """
    whole = text.encode("utf-8", "replace").decode()  # half a character is none
    text = unicodedata.normalize("NFC", whole).lower()
    match how:
        case "words":
            return tuple(_WORD.findall(text))
        case "characters":
            import regex  # type: ignore[import-untyped]

            return _without_spaces(regex.findall(r"\X", text))
        case "chinese":
            import rjieba

            return _without_spaces(rjieba.cut(text))
        case "known":
            return tuple(_pattern(known).findall(text))
    raise ChoiceError("how", how, HOW)


@lru_cache(maxsize=8)
def _pattern(known: tuple[str, ...]) -> re.Pattern[str]:
    longest_first = sorted(known, key=len, reverse=True)
    return re.compile("|".join([*map(re.escape, longest_first), r"\S"]))


def _without_spaces(pieces: Sequence[str]) -> tuple[str, ...]:
    return tuple(piece for piece in pieces if not piece.isspace())

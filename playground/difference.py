"""A text as what it has that another one lacks, so that two hundred versions take little room.

An edit changes a few characters of an experiment's text, somewhere in its midst: the version
before it is its own midst, between so many characters of the start and of the end of the other.
"""

import zlib
from typing import TypeAlias

Difference: TypeAlias = tuple[int, bytes, int]
"""Characters that are the same at the start, what stands between (compressed), and at the end."""


def difference(text: str, other: str) -> Difference:
    """What `text` has that `other` lacks; `restored` gives the text back exactly."""
    n_start = _n_alike(text, other)
    n_end = _n_alike(text[n_start:][::-1], other[n_start:][::-1])
    midst = text[n_start : len(text) - n_end]
    return n_start, zlib.compress(midst.encode("utf-8", "surrogatepass")), n_end


def restored(kept: Difference, other: str) -> str:
    """The text of a difference to this other one."""
    n_start, midst, n_end = kept
    end = other[len(other) - n_end :]
    return other[:n_start] + zlib.decompress(midst).decode("utf-8", "surrogatepass") + end


def _n_alike(text: str, other: str) -> int:
    """How many characters are the same at the start of both, found by halving."""
    low, high = 0, min(len(text), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if text[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low

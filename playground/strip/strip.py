"""Hands the events of the core to the strip in the browser, which plays them.

Which links there are, who has the message and what is said of each step are decided here; the
browser only goes from one step to another, and does not tell.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from attention_core.relay import Moment
from playground.component import Component

_STRIP = Component("strip", Path(__file__).parent, html='<div class="strip"></div>', is_styled=True)


@dataclass(frozen=True, eq=False, slots=True)
class Passing:
    """One step of a lane, in the reader's language."""

    moment: Moment
    said: str  # what happened, as a sentence


@dataclass(frozen=True, eq=False, slots=True)
class Lane:
    """The same tokens, linked in one way."""

    id: str
    title: str
    passings: Sequence[Passing]  # for each step; after the last one, that one stays


@dataclass(frozen=True, eq=False, slots=True)
class Strip:
    """All lanes, one below the other, on one clock."""

    tokens: Sequence[str]
    source: int  # whose message is followed
    lanes: Sequence[Lane]
    steps: Sequence[str]  # what each step is called, the first one before anything happens
    texts: dict[str, str]  # play, pause, back, forward, time, has_it, has_not, legend


def show(key: str, strip: Strip) -> None:
    """Draw the strip."""
    _STRIP(key=key, data=strip_data(strip))


def strip_data(strip: Strip) -> dict[str, Any]:
    """All that the strip shows, as JSON-ready data."""
    return asdict(strip)

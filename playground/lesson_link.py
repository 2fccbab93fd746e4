"""The whole address that leads to something: where the app is, which page of it, what is asked for.

    https://example.org/app/masks?lang=en&s=leaks&c=mask&n=Look+at+the+last+row.&e=1...

Everything that is asked for stands in it, so that any server can answer.
"""

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from attention_core import Experiment
from playground import link
from playground.catalog import LESSONS
from playground.invitation import Invitation
from playground.texts import Language

Query = dict[str, str]

_NOTHING: Mapping[str, Any] = {}
_LEFT_OUT = ((), ("n",), ("n", "l"), ("e",), ("n", "e"), ("n", "l", "e"))  # whichever fits first


def query(
    experiment: Experiment,
    language: Language,
    *,
    head: int = 0,
    step: str = "",
    settings: Mapping[str, Any] = _NOTHING,
    invitation: Invitation,
) -> Query:
    """What an address asks for; "" is as if it were not there."""
    return {
        "lang": language,
        "h": str(head + 1) if head else "",
        "s": step,
        "l": link.pack(settings) if settings else "",
        **invitation.query(),
        "e": link.encode(experiment),
    }


def whole(app: str, lesson: str, query: Mapping[str, str]) -> str:
    """The address of a lesson of the app at `app`; the first one has no path."""
    return _asking(app if lesson == LESSONS[0].id else app + lesson, query)


def of_app(url: str, lesson: str) -> str:
    """Where the app is, below whatever path, when the page of this lesson is at this address."""
    return url.rstrip("/").removesuffix(f"/{lesson}") + "/"


def is_within_budget(address: str) -> bool:
    """Whether every browser, chat and proxy lets an address of this length through."""
    return len(address) <= link.BUDGET


def fitting(url: str, query: Query) -> Query:
    """What of it the address bar of this page can hold: without the note, else without the numbers.

    What a learner did is worth more than a note, which has been read. But where the numbers do
    not fit anyway, all else stays if it can.
    """
    for left_out in _LEFT_OUT:
        kept = query | dict.fromkeys(left_out, "")
        if is_within_budget(_asking(url, kept)):
            break
    return kept


def _asking(url: str, query: Mapping[str, str]) -> str:
    said = {name: value for name, value in query.items() if value}
    return f"{url}?{urlencode(said)}"

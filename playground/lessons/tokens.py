"""What the lessons call the tokens of an experiment, as Markdown that shows them letter by letter.

Repeated tokens are told apart by their place, as on the board.
"""

from collections.abc import Iterable

from attention_core import Experiment
from playground import narrate
from playground.texts import Texts, escaped

_MOST_LISTED = 3


def on_inputs(e: Experiment) -> dict[int, str]:
    """All of them by their place, as a button shows them."""
    return {place: escaped(label) for place, label in enumerate(narrate.labels(e.tokens))}


def named(e: Experiment, place: int) -> str:
    """One of them in a sentence: in quotes."""
    return escaped(narrate.names(e.tokens)[place])


def listed(t: Texts, e: Experiment, places: Iterable[int]) -> str:
    """Some of them in a sentence; of many, the rest is counted."""
    names = [named(e, int(place)) for place in places]
    shown = t("narrate.comma").join(names[:_MOST_LISTED])
    rest = len(names) - _MOST_LISTED
    return t("narrate.more", listed=shown, count=rest) if rest > 0 else shown

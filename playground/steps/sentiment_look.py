"""The step "look" of the lesson on trained attention."""

from playground.steps import sentiment
from playground.texts import Texts


def draw(t: Texts) -> None:
    """To be built."""
    sentiment.choose(t)

"""The step "texts" of the lesson on trained attention."""

from playground.texts import Texts


def draw(t: Texts) -> None:
    """To be built."""

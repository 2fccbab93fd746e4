"""A relay or a round table: paths, influence, time, and what query, key and value stand for."""

from playground import lesson, shell
from playground.texts import Texts

t = shell.open_page(has_board=True)


def draw_relay(t: Texts) -> None:
    """A message along a row, or all pairs at once; steps, paths, pairs and multiply-adds."""


def draw_influence(t: Texts) -> None:
    """How much the last output depends on each token, in four models."""


def draw_pace(t: Texts) -> None:
    """The time of n steps one after the other against one matrix product."""


def draw_words(t: Texts) -> None:
    """Query, key and value in words, with examples that are computed."""


lesson.page(
    t,
    "why_attention",
    {
        "relay": draw_relay,
        "influence": lesson.with_torch(draw_influence),
        "pace": draw_pace,
        "words": draw_words,
    },
)

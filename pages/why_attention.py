"""A relay or a round table: paths, influence, time, and what query, key and value stand for."""

from playground import lesson, shell
from playground.steps import why_influence, why_pace, why_relay, why_words

t = shell.open_page(has_board=True)

lesson.page(
    t,
    "why_attention",
    {
        "relay": why_relay.draw,
        "influence": lesson.with_torch(why_influence.draw),
        "pace": why_pace.draw,
        "words": why_words.draw,
    },
)

"""What lessons call tokens: letter by letter, told apart, and cut where there are many."""

import pytest

from attention_core import Experiment
from playground import narrate
from playground.lessons import tokens
from playground.texts import LANGUAGES, Texts, escaped

REPEATED = Experiment.from_preset("repeated")


def test_repeated_tokens_are_told_apart_by_their_place_and_long_ones_are_cut():
    e = REPEATED.with_token_renamed(2, "*" * 40)

    names = tokens.on_inputs(e)

    stars = "\\*" * 15 + "…"
    assert list(names.values()) == [
        escaped(label) for label in ("the (1)", "cat (2)", "*" * 15 + "…", "the (4)", "cat (5)")
    ]
    assert names[2] == stars


def test_a_learners_token_is_no_markdown():
    e = REPEATED.with_token_renamed(0, "*a* $b$")

    assert tokens.on_inputs(e)[0] == r"\*a\* \$b\$"
    assert tokens.named(e, 0) == r"“\*a\* \$b\$”"


def test_in_a_sentence_they_are_as_the_narrator_names_them():
    assert [tokens.named(REPEATED, place) for place in range(5)] == [
        escaped(name) for name in narrate.names(REPEATED.tokens)
    ]


@pytest.mark.parametrize("language", LANGUAGES)
def test_of_many_the_rest_is_counted(language):
    t = Texts(language)
    first = [tokens.named(REPEATED, place) for place in range(3)]

    assert tokens.listed(t, REPEATED, range(3)) == t("narrate.comma").join(first)
    assert tokens.listed(t, REPEATED, range(5)) == t(
        "narrate.more", listed=t("narrate.comma").join(first), count=2
    )

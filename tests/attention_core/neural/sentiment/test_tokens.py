"""How a text becomes tokens."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attention_core.errors import ChoiceError
from attention_core.neural.sentiment.tokens import HOW, cut


@pytest.mark.parametrize(
    ("text", "how", "tokens"),
    [
        ("It's GOOD, but…dull!", "words", ["it's", "good", ",", "but", "…", "dull", "!"]),
        ("我 爱 NLP。", "characters", ["我", "爱", "n", "l", "p", "。"]),
        ("👩‍👧e\u0301", "characters", ["👩‍👧", "é"]),
        ("剧情太无聊了", "chinese", ["剧情", "太", "无聊", "了"]),
        ("  ", "characters", []),
        ("\ud800", "words", ["?"]),
        ("\ud800", "chinese", ["?"]),
    ],
)
def test_tokens_by_hand(text, how, tokens):
    assert cut(text, how) == tuple(tokens)


def test_the_longest_known_word_wins():
    # From left to right: the shorter "不" would leave "仅".
    assert cut("不仅不好 X", "known", ("不", "不仅", "好")) == ("不仅", "不", "好", "x")


def test_signs_of_a_pattern_are_letters_like_any():
    assert cut("a.b", "known", (".", "a|b")) == ("a", ".", "b")


@given(st.text(max_size=30), st.sampled_from(HOW))
def test_no_token_is_empty_and_no_letter_is_lost(text, how):
    tokens = cut(text, how, ("ab", "苹果"))

    assert all(token and not token.isspace() for token in tokens)
    kept = "".join(cut(text, "characters"))
    assert sorted("".join("".join(tokens).split())) == sorted("".join(kept.split()))


def test_another_way_is_refused():
    with pytest.raises(ChoiceError) as refused:
        cut("a", "syllables")

    assert str(refused.value) == (
        "how must be one of words, characters, chinese, known, got 'syllables'"
    )

"""A text kept as what another one lacks comes back exactly, and is small where little changed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from playground.difference import difference, restored

texts = st.text(st.sampled_from("ab猫\ud800"), max_size=12)


@given(texts, texts)
def test_every_text_comes_back_exactly(text, other):
    assert restored(difference(text, other), other) == text


@pytest.mark.parametrize(
    ("text", "other", "n_start", "n_end"),
    [
        ("", "", 0, 0),
        ("abc", "abc", 3, 0),
        ("abc", "abXc", 2, 1),
        ("abXc", "abc", 2, 1),
        ("abYc", "abXc", 2, 1),
        ("aa", "aaa", 2, 0),  # no character is counted at both ends
        ("aaa", "aa", 2, 0),
        ("abab", "ab", 2, 0),
        ("猫a", "狗a", 0, 1),
        ("abc", "", 0, 0),
    ],
)
def test_what_is_the_same_at_both_ends_is_not_kept(text, other, n_start, n_end):
    kept = difference(text, other)

    assert (kept[0], kept[2]) == (n_start, n_end)
    assert restored(kept, other) == text


def test_a_small_change_in_a_large_text_is_kept_in_a_few_bytes():
    other = "0.123456789," * 5_000
    text = other[:30_000] + "7" + other[30_001:]

    assert len(difference(text, other)[1]) < 20

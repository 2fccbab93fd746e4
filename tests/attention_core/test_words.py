"""The vectors that new words get, for ever, and an experiment with other words."""

import hashlib
import unicodedata
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attention_core import PRESETS, Experiment, Mask, from_plain, to_plain
from attention_core.canvas import MATRICES, MAX_D_MODEL, MAX_SEED, MAX_TOKENS
from attention_core.errors import RangeError, TokenError
from attention_core.words import embedding, with_words

seeds = st.integers(0, MAX_SEED)
words = st.text(st.characters(exclude_categories=["Cc", "Cs", "Zl", "Zp"]), max_size=6).map(
    lambda text: f"{text}x"
)
sentences = st.lists(words, min_size=1, max_size=MAX_TOKENS)


def edited_start():
    """The apple by hand with an edited cell, and with settings of its own."""
    start = Experiment.from_preset("apple", seed=5).with_cell("X", (1, 0), -2.25)
    return replace(start, mask=Mask(("window", "causal"), before=2), is_scaled=False)


# --- the digest


@pytest.mark.parametrize(
    ("word", "seed", "hundredths"),
    [
        # printf 'attention playground, word 1\nSEED\nWORD' | sha256sum, and in the shell's
        # integers $(((16#EIGHT_DIGITS * 301 >> 32) - 150)) for each eight digits.
        ("cat", 0, [-53, 54, 33, -130, -104, 117, -64, -1]),
        ("猫", 0, [100, -71, 135, 55, 138, 88, 23, -37]),
        ("猫", 7, [-23, 14, 0, 56, -126, 23, 110, 149]),
        ("é", MAX_SEED, [102, 0, -10, -32, 84, -124, -14, 112]),
    ],
)
def test_the_numbers_of_a_word_are_these_for_ever(word, seed, hundredths):
    assert embedding(word, seed).tolist() == [number / 100 for number in hundredths]


@given(words, seeds)
def test_the_numbers_are_those_of_exact_fractions(word, seed):
    text = f"attention playground, word 1\n{seed}\n{unicodedata.normalize('NFC', word)}"
    digits = hashlib.sha256(text.encode()).hexdigest()

    shares = [Fraction(int(digits[i : i + 8], 16), 2**32) for i in range(0, 64, 8)]

    expected = [float(Fraction(int(share * 301) - 150, 100)) for share in shares]
    assert embedding(word, seed).tolist() == expected


@given(words, seeds)
def test_every_number_has_two_decimals_and_lies_within_the_reach_of_x(word, seed):
    numbers = embedding(word, seed)

    assert [float(f"{number:.2f}") for number in numbers] == numbers.tolist()
    assert np.abs(numbers).max() <= 1.5
    assert not np.signbit(numbers[numbers == 0]).any()


def test_the_numbers_reach_both_ends_and_lean_to_neither_side():
    numbers = np.concatenate([embedding(f"word {i}", 0) for i in range(2_000)])

    assert (numbers.min(), numbers.max()) == (-1.5, 1.5)
    assert len(np.unique(numbers)) == 301
    # Uniform: mean 0 ± 1.5/√3/√16000 = 0.0068, a quarter of them in each quarter ± 0.0034.
    assert abs(numbers.mean()) < 4 * 0.0068
    quarters = np.histogram(numbers, [-1.51, -0.755, 0.0, 0.755, 1.51])[0] / len(numbers)
    np.testing.assert_allclose(quarters, 0.25, atol=4 * 0.0034)


@pytest.mark.parametrize("width", range(1, MAX_D_MODEL + 1))
def test_a_column_does_not_depend_on_the_width(width):
    np.testing.assert_array_equal(embedding("cat", 3, width), embedding("cat", 3)[:width])


def test_words_seeds_and_columns_differ():
    rows = [embedding(word, seed) for word in ("cat", "Cat", "cat ", "猫") for seed in (0, 1)]

    assert len({tuple(row) for row in rows}) == len(rows)
    assert all(len(set(row)) > 1 for row in rows)


def test_a_digit_or_a_line_break_of_the_word_is_no_part_of_the_seed():
    pairs = [("23", 1), ("3", 12), ("", 123), ("1\n3", 12), ("3", 121), ("12\n3", 1)]

    assert len({tuple(embedding(word, seed)) for word, seed in pairs}) == len(pairs)


def test_a_letter_with_its_accent_put_on_is_the_same_word():
    np.testing.assert_array_equal(embedding("cafe\u0301", 0), embedding("caf\u00e9", 0))


def test_an_embedding_cannot_be_written_into():
    with pytest.raises(ValueError, match="read-only"):
        embedding("cat", 0)[0] = 1


@pytest.mark.parametrize(
    ("seed", "width", "message"),
    [
        (-1, 8, r"seed must lie between 0 and 4294967295, got -1"),
        (MAX_SEED + 1, 8, r"seed must lie between 0 and 4294967295, got 4294967296"),
        (0, 0, r"width must lie between 1 and 8, got 0"),
        (0, 9, r"width must lie between 1 and 8, got 9"),
    ],
)
def test_a_seed_or_a_width_outside_its_limits_is_named(seed, width, message):
    with pytest.raises(RangeError, match=message):
        embedding("cat", seed, width)


# --- an experiment with other words


def test_known_words_keep_their_vectors_and_new_ones_get_their_digest():
    start = edited_start()

    changed = with_words(start, ["吃", "苹果", "我", "吃"])

    assert changed.tokens == ("吃", "苹果", "我", "吃")
    eat = embedding("吃", 5)[:2]
    np.testing.assert_array_equal(changed.X, [eat, start.X[2], start.X[0], eat])


def test_an_edited_vector_is_kept_and_its_hidden_columns_come_along():
    start = edited_start()

    changed = with_words(start, ["新", "喜欢"]).resized(d_model=MAX_D_MODEL)

    np.testing.assert_array_equal(changed.X[1], start.resized(d_model=MAX_D_MODEL).X[1])
    assert changed.X[1, 0] == -2.25
    np.testing.assert_array_equal(changed.X[0], embedding("新", 5))


def test_of_a_word_that_is_shown_twice_the_first_vector_counts():
    start = Experiment.from_preset("repeated").with_cell("X", (3, 0), 9.0)
    assert start.tokens[0] == start.tokens[3] == "the"

    changed = with_words(start, ["the", "the"])

    np.testing.assert_array_equal(changed.X, start.X[[0, 0]])


def test_a_word_that_is_not_shown_is_new():
    start = edited_start().without_token(2)

    changed = with_words(start, ["我", "苹果"])

    np.testing.assert_array_equal(changed.X[1], embedding("苹果", 5)[:2])


def test_a_known_word_is_known_in_every_spelling_of_its_accents():
    start = Experiment.from_preset("apple").with_token_renamed(0, "cafe\u0301")

    changed = with_words(start, ["caf\u00e9"])

    assert changed.tokens == ("caf\u00e9",)
    np.testing.assert_array_equal(changed.X, start.X[:1])


@given(sentences, st.sampled_from(list(PRESETS)), seeds)
def test_all_but_the_words_and_their_vectors_stays(sentence, preset, seed):
    start = replace(
        Experiment.from_preset(preset, seed=seed), encoding="alibi", mask=Mask(("window",), after=3)
    )

    changed = with_words(start, sentence)

    assert changed.tokens == tuple(sentence)
    for name in ("mask", "is_scaled", "encoding", "seed", "preset", "d_model", "d_k", "n_heads"):
        assert getattr(changed, name) == getattr(start, name), name
    for name in MATRICES[1:]:
        np.testing.assert_array_equal(getattr(changed.canvas, name), getattr(start.canvas, name))
    assert (changed.W_O is None) == (start.W_O is None)
    n = len(sentence)
    assert changed.canvas.tokens[n:] == start.canvas.tokens[n:]
    np.testing.assert_array_equal(changed.canvas.X[n:], start.canvas.X[n:])


@given(sentences, seeds)
def test_equal_words_have_equal_rows_in_the_whole_trace(sentence, seed):
    changed = with_words(Experiment.from_preset("random", seed=seed), [*sentence[:6] * 2])

    trace, n = changed.trace(), len(sentence[:6])
    np.testing.assert_array_equal(trace.X[:n], trace.X[n:])
    np.testing.assert_allclose(trace.attention.output[:n], trace.attention.output[n:])


def test_the_same_words_again_change_nothing():
    start = edited_start()

    assert to_plain(with_words(start, start.tokens)) == to_plain(start)


def test_columns_keep_their_names_while_a_word_is_kept_and_lose_them_with_the_last():
    start = Experiment.from_preset("apple_fruit")
    assert any(start.feature_names)

    kept, new = with_words(start, ["苹果", "new"]), with_words(start, ["new"])

    assert kept.feature_names == start.feature_names
    assert new.feature_names == ()


@given(sentences, st.sampled_from(list(PRESETS)), seeds)
def test_plain_data_give_it_back_exactly(sentence, preset, seed):
    changed = with_words(Experiment.from_preset(preset, seed=seed), sentence)

    plain = to_plain(changed)

    assert to_plain(from_plain(plain)) == plain
    np.testing.assert_array_equal(from_plain(plain).canvas.X, changed.canvas.X)


@pytest.mark.parametrize("n", [0, 13])
def test_no_words_and_too_many_are_refused(n):
    with pytest.raises(RangeError, match=rf"n_tokens must lie between 1 and 12, got {n}"):
        with_words(Experiment.from_preset(), ["a"] * n)


@pytest.mark.parametrize(
    ("word", "reason"),
    [
        ("", "is empty"),
        ("\u200d", "is empty"),
        ("a\nb", "holds control characters"),
        ("\ud800", "holds control characters"),
        ("a" * 201, "is longer than 200 characters"),
    ],
)
def test_a_word_that_cannot_be_shown_is_refused(word, reason):
    with pytest.raises(TokenError, match=rf"token 1: {reason}"):
        with_words(Experiment.from_preset(), ["fine", word])

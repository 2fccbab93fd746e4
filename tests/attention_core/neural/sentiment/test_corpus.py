"""Vocabulary, parts, and sentences that are there twice."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attention_core.errors import RangeError
from attention_core.neural.sentiment.corpus import (
    MOST_TOKENS,
    PADDING,
    UNKNOWN,
    Corpus,
    Example,
    Vocabulary,
    distinct,
    divided,
    same_words_opposite_labels,
)


def example(text, label):
    return Example(text, tuple(text.lower().split()), label)


def many(n_negative, n_positive):
    return [example(f"{i} a", int(i >= n_negative)) for i in range(n_negative + n_positive)]


def test_a_vocabulary_by_hand():
    vocabulary = Vocabulary.of([["b", "a", "b"], ["c", "a", "b"], ["d"]], least=2)

    assert vocabulary.words == ("b", "a")  # three times, twice
    assert len(vocabulary) == 4
    assert vocabulary.ids(["a", "d", "b"]) == [3, UNKNOWN, 2]
    assert PADDING not in vocabulary.ids(["a", "b", "", "<pad>"])


def test_words_that_are_as_frequent_stand_in_one_order():
    assert Vocabulary.of([["b", "c", "a"]]).words == Vocabulary.of([["c", "a", "b"]]).words


def test_a_corpus_reads_any_text_as_its_own():
    corpus = Corpus((), (), Vocabulary(("ab", "c")), "known")

    assert corpus.read("ABx c") == ("ab", "x", "c")
    assert Corpus((), (), Vocabulary(("a",)), "known", ("ab",)).read("ab") == ("ab",)
    assert len(corpus.read("c" * 100)) == MOST_TOKENS


def test_what_is_there_twice_by_hand():
    found = distinct(
        [
            example("Good", 1),
            example("good", 1),
            example("odd", 1),
            example("bad", 0),
            example("odd", 0),
            example("odd", 1),
        ]
    )

    assert [(each.text, each.label) for each in found.examples] == [("Good", 1), ("bad", 0)]
    assert (found.n_repeated, found.n_contradicting) == (1, 3)


@given(st.lists(st.tuples(st.sampled_from("abcd"), st.integers(0, 1)), max_size=12))
def test_what_is_kept_and_left_out_adds_up(pairs):
    found = distinct([example(text, label) for text, label in pairs])

    tokens = [each.tokens for each in found.examples]
    assert len(tokens) == len(set(tokens))
    assert len(tokens) + found.n_repeated + found.n_contradicting == len(pairs)
    assert all(
        (text, 1 - label) not in pairs
        for (text,), label in ((each.tokens, each.label) for each in found.examples)
    )


@given(st.integers(0, 12), st.integers(0, 12), st.data())
def test_the_parts_hold_all_and_both_labels_alike(n_negative, n_positive, data):
    examples = many(n_negative, n_positive)
    if len(examples) < 2:
        return
    n_validation = data.draw(st.integers(1, len(examples) - 1))

    train, validation = divided(examples, n_validation, 0)

    assert len(validation) == n_validation
    assert sorted((*train, *validation), key=examples.index) == examples
    fair = n_validation * n_positive / len(examples)
    assert abs(sum(each.label for each in validation) - fair) <= 0.5


def test_the_seed_decides_the_parts():
    examples = many(20, 20)

    assert divided(examples, 10, 3) == divided(examples, 10, 3)
    assert divided(examples, 10, 3) != divided(examples, 10, 4)


@pytest.mark.parametrize("n_validation", [0, 4, 5])
def test_something_must_be_left_to_learn_from(n_validation):
    with pytest.raises(RangeError) as refused:
        divided(many(2, 2), n_validation, 0)

    message = f"n_validation must lie between 1 and 3, got {n_validation}"
    assert str(refused.value) == message


def test_pairs_of_the_same_words_by_hand():
    examples = [
        example("a but b", 0),
        example("b but a", 1),
        example("b a but", 1),
        example("a b", 0),
        example("b a", 0),
        example("a a b", 1),
        example("a b b", 0),
    ]

    assert same_words_opposite_labels(examples) == 2

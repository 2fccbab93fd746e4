"""The step on mistakes: tables and sentences are what the model answered."""

import re

import numpy as np
import pytest
import torch

from attention_core.intervals import of_share
from attention_core.neural.sentiment.corpus import Example
from attention_core.neural.sentiment.mistakes import FEWEST, Answer, of_answers
from attention_core.neural.sentiment.training import logits, result
from playground.lessons import sentiment, sentiment_errors
from playground.texts import LANGUAGES, Texts
from tests.sentiment import training

EN = Texts("en")
every_language = pytest.mark.parametrize("language", LANGUAGES)


def trained(kind="lstm_attention"):
    return sentiment.choices(training())[kind, 0]


def answer(logit, label, text="good film", unknown=()):
    return Answer(Example(text, tuple(text.split()), label), logit, unknown)


# Taken for positive: three, of which two are; positive: four. Sure by 0.98, 0.62, 0.95, 0.55, ...
FIVE = of_answers(
    [answer(4.0, 1), answer(0.5, 1), answer(3.0, 0), answer(-0.2, 1), answer(-2.0, 1)]
)


def numbers(text):
    plain = text.replace("−", "-")
    return [float(number) for number in re.findall(r"-?\d+(?:\.\d+)?(?:e-?\d+)?", plain)]


# --- what the model answered


@pytest.mark.parametrize("kind", sentiment.MODELS)
def test_the_answers_are_those_of_the_trained_model(kind):
    of = trained(kind)

    found = sentiment_errors.mistakes(of)

    ids = [of.corpus.vocabulary.ids(example.tokens) for example in of.corpus.validation]
    expected = logits(result(of.run), ids)
    labels = torch.tensor([example.label for example in of.corpus.validation])
    assert [each.logit for each in found.answers] == pytest.approx(expected.tolist(), abs=1e-6)
    assert found.accuracy == pytest.approx(of.run.accuracy)
    assert len(found.wrong) == int(((expected > 0) != (labels > 0)).sum())


# --- the tables


@every_language
def test_the_worst_come_first_with_label_probability_and_unknown_words(language):
    t = Texts(language)
    of = of_answers(
        [
            answer(1.0, 0, "not so *good*", ("so", "*good*", "so")),
            answer(5.0, 1),
            answer(-3.0, 1, "fine"),
        ]
    )

    table = sentiment_errors.worst(t, of)

    positive, negative = t("sentiment.errors.positive"), t("sentiment.errors.negative")
    assert list(table.values()) == [
        ["1", "2"],
        ["fine", r"not so \*good\*"],
        [positive, negative],
        ["0.0474", "0.731"],
        [t("sentiment.errors.nothing_unknown"), t("narrate.comma").join(["so", r"\*good\*"])],
    ]


def test_eight_are_listed():
    of = of_answers([answer(-float(n), 1) for n in range(1, 13)])

    table = sentiment_errors.worst(EN, of)

    assert table["No."] == [*"12345678"]
    assert [*sentiment_errors.numbered(of).values()] == [*"12345678"]


@every_language
def test_the_confusion_has_totals_that_add_up(language):
    t = Texts(language)

    table = sentiment_errors.confusion(t, FIVE)

    assert list(table.values()) == [
        [
            t("sentiment.errors.positive"),
            t("sentiment.errors.negative"),
            t("sentiment.errors.total"),
        ],
        ["2", "1", "3"],
        ["2", "0", "2"],
        ["4", "1", "5"],
    ]


@every_language
def test_each_bin_tells_how_many_are_right(language):
    _, right, share = sentiment_errors.sureness(Texts(language), FIVE).values()

    # Sure by 0.62 (right) and 0.55; by 0.88 (wrong); by 0.982 (right) and 0.953 (wrong).
    counted = [sorted(numbers(each)) for each in right]
    assert counted == [[1, 2], [0, 1], [1, 2]]
    assert numbers(share[0]) == pytest.approx(
        [50, *(100 * end for end in of_share(1, 2))], abs=0.06
    )


def test_an_empty_bin_has_no_share():
    table = sentiment_errors.sureness(EN, of_answers([answer(9.0, 1)]))

    assert [*table.values()][2][:2] == [EN("sentiment.errors.no_share")] * 2


def with_long_mistakes(n_wrong, n_right=20):
    wrong = [answer(-1.0, 1, "one two three four")] * n_wrong
    return of_answers(wrong + [answer(1.0, 1, "one two")] * n_right)


@every_language
def test_traits_are_counted_among_mistakes_and_right_answers(language):
    table = sentiment_errors.traits(Texts(language), with_long_mistakes(FEWEST))

    trait, wrong, right = (column[0] for column in table.values())
    assert numbers(trait) == [2]
    assert sorted(numbers(wrong)) == [10, 10, 100]
    assert sorted(numbers(right)) == [0, 0, 20]


# --- the sentences


@every_language
def test_accuracy_precision_and_recall_are_told_with_their_counts(language):
    accuracy, positive, *_ = sentiment_errors.found(Texts(language), trained(), FIVE)

    lower, upper = (100 * end for end in of_share(2, 5))
    told = numbers(accuracy)
    assert {2.0, 5.0, 40.0} <= set(told)
    assert told[-2:] == pytest.approx([lower, upper], abs=0.06)
    assert sorted(numbers(positive)) == sorted([3, 2, 66.7, 4, 2, 50])


@every_language
def test_of_no_mistake_it_is_said_how_many_there_may_still_be(language):
    t, none = Texts(language), of_answers([answer(2.0, 1)] * 30)

    said = sentiment_errors.found(t, trained(), none)

    assert {30.0, 88.6} <= set(numbers(said[0]))
    assert not any("95" in each for each in said[1:])
    assert len(said) == 2


@every_language
@pytest.mark.parametrize(
    ("logit", "label", "key"), [(-1.0, 1, "none_positive"), (1.0, 0, "no_positive")]
)
def test_where_nothing_is_positive_it_is_said(language, logit, label, key):
    t = Texts(language)
    fields = {"none_positive": {"positive": 1}, "no_positive": {"said": 1}}[key]

    assert t(f"sentiment.errors.{key}", **fields) in sentiment_errors.found(
        t, trained(), of_answers([answer(logit, label)])
    )


@pytest.mark.parametrize(
    ("n_sure_right", "n_unsure_right", "said"),
    [
        (40, 10, "right more often:"),
        (10, 40, "right less often:"),
        (25, 22, "cannot be told from so few"),
    ],
)
def test_whether_sure_answers_are_right_more_often_is_told_as_far_as_counts_tell(
    n_sure_right, n_unsure_right, said
):
    given = [
        *[answer(5.0, 1)] * n_sure_right,
        *[answer(5.0, 0)] * (50 - n_sure_right),
        *[answer(0.1, 1)] * n_unsure_right,
        *[answer(0.1, 0)] * (50 - n_unsure_right),
    ]

    told = " ".join(sentiment_errors.found(EN, trained(), of_answers(given)))

    assert said in told
    assert f"{n_sure_right} of 50 where it is at least 95\u00a0% sure" in told
    assert f"{n_unsure_right} of 50 where it is less than 75\u00a0% sure" in told


@every_language
def test_of_few_mistakes_nothing_is_said_to_be_shared(language):
    t = Texts(language)

    few = sentiment_errors.found(t, trained(), with_long_mistakes(FEWEST - 1))
    enough = sentiment_errors.found(t, trained(), with_long_mistakes(FEWEST))

    assert few[-1] == t("sentiment.errors.too_few", n=FEWEST - 1, least=FEWEST)
    assert sorted(numbers(enough[-1])) == [0, 0, 2, 10, 10, 20, 95, 100]


def test_where_nothing_differs_that_is_said():
    alike = of_answers([answer(1.0, index % 2, "one two" * (index // 20)) for index in range(40)])

    assert sentiment_errors.found(EN, trained(), alike)[-1] == EN("sentiment.errors.nothing_shared")


def test_probabilities_of_certain_answers_are_no_error():
    table = sentiment_errors.worst(EN, of_answers([answer(-800.0, 1), answer(800.0, 0)]))

    assert table["P(positive)"] == ["0", "1"]
    assert np.isfinite(answer(-800.0, 1).loss)

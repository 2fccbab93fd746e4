"""What a model is wrong about: by hand, against PyTorch, and what is only said of many."""

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from attention_core.neural.sentiment.corpus import Corpus, Example, Vocabulary
from attention_core.neural.sentiment.mistakes import (
    FEWEST,
    Answer,
    Mistakes,
    Trait,
    mistakes,
    of_answers,
)
from attention_core.neural.sentiment.model import Architecture, TextClassifier


def answer(logit, label, text="it was good", unknown=()):
    return Answer(Example(text, tuple(text.split()), label), logit, unknown)


# Right, right, wrong but unsure, wrong and sure.
FOUR = [answer(3.0, 1), answer(-0.5, 0), answer(0.2, 0), answer(-4.0, 1)]


def test_four_answers_by_hand():
    found = of_answers(FOUR)

    assert found.confusion.tolist() == [[1, 1], [1, 1]]
    assert found.wrong == (FOUR[3], FOUR[2])
    assert (found.accuracy, found.precision, found.recall) == (0.5, 0.5, 0.5)
    # Sure by 0.95, 0.62, 0.55 and 0.98.
    assert [(each.n, each.n_right) for each in found.bins] == [(2, 1), (0, 0), (2, 1)]


def test_rows_are_labels_and_columns_what_was_said():
    found = of_answers([answer(1.0, 0), answer(1.0, 0), answer(-1.0, 1)])

    assert found.confusion.tolist() == [[0, 2], [1, 0]]
    assert (found.accuracy, found.precision, found.recall) == (0, 0, 0)


@pytest.mark.parametrize(
    ("logit", "label"), [(2.0, 1), (2.0, 0), (-3.5, 1), (0.0, 0), (900.0, 0), (-900.0, 1)]
)
def test_loss_and_probability_are_those_of_pytorch(logit, label):
    z, y = torch.tensor(logit, dtype=torch.float64), torch.tensor(float(label)).double()

    given = answer(logit, label)

    assert given.loss == pytest.approx(F.binary_cross_entropy_with_logits(z, y).item())
    assert given.probability == pytest.approx(torch.sigmoid(z).item())


def test_a_logit_of_0_is_taken_for_negative_as_in_training():
    assert answer(0.0, 0).is_right
    assert not answer(0.0, 1).is_right


def test_without_a_positive_answer_or_label_there_is_no_precision_or_recall():
    assert np.isnan(of_answers([answer(-1.0, 1)]).precision)
    assert np.isnan(of_answers([answer(1.0, 0)]).recall)


def test_every_answer_is_in_one_bin_whatever_it_is():
    logits = [*np.linspace(-60, 60, 241), 0.0, np.log(3), -np.log(19)]

    found = of_answers([answer(float(logit), 1) for logit in logits])

    assert sum(each.n for each in found.bins) == len(logits)
    assert sum(each.n_right for each in found.bins) == sum(logit > 0 for logit in logits)


def many(n_wrong, n_right, *, wrong="one two three", right="one two"):
    return [answer(-1.0, 1, wrong)] * n_wrong + [answer(1.0, 1, right)] * n_right


def test_what_mistakes_share_is_counted_on_both_sides():
    found = of_answers(many(10, 12, wrong="but it is not so long at all"))

    assert {each.name: (each.n_wrong, each.n_right) for each in found.traits} == {
        "long": (10, 0),
        "turn": (10, 0),
        "negation": (10, 0),
    }
    assert all(each.differs(found) for each in found.traits)


def test_chinese_words_are_found_though_no_space_parts_them():
    found = of_answers(many(10, 12, wrong="不好可是贵", right="很好也便宜"))

    assert {each.name: (each.n_wrong, each.n_right) for each in found.traits} == {
        "turn": (10, 0),
        "negation": (10, 0),
    }


def test_english_words_are_found_whole():
    found = of_answers(many(10, 12, wrong="nothing butter", right="note notable"))

    assert [each.name for each in found.traits] == ["negation"]  # "nothing", not "note" or "butter"


def test_unknown_words_count_as_such():
    with_one = answer(-1.0, 1, "one two", ("two",))

    found = of_answers([with_one] * 10 + many(0, 10))

    assert found.traits == (Trait("unknown", 10, 0),)


@pytest.mark.parametrize(
    ("n_wrong", "n_right", "is_told"),
    [(FEWEST, FEWEST, True), (FEWEST - 1, 100, False), (100, FEWEST - 1, False)],
)
def test_of_few_nothing_is_told(n_wrong, n_right, is_told):
    assert bool(of_answers(many(n_wrong, n_right)).traits) == is_told


def counted(n_wrong, n_right):
    return Mistakes((FOUR[0],) * (n_wrong + n_right), (FOUR[3],) * n_wrong, None, (), 0.0, ())


def test_a_trait_differs_only_where_the_intervals_are_apart():
    # 15 of 20 is 0.53 to 0.89; 10 of 20 is 0.30 to 0.70, and 40 of 100 is 0.31 to 0.50.
    assert not Trait("long", 15, 10).differs(counted(20, 20))
    assert Trait("long", 15, 40).differs(counted(20, 100))
    assert Trait("long", 40, 15).differs(counted(100, 20))


def test_a_model_is_asked_about_the_validation_sentences_with_its_own_vocabulary():
    examples = tuple(
        Example(text, tuple(text.split()), label)
        for text, label in [("a b", 1), ("b q r", 0), ("a", 1)]
    )
    corpus = Corpus(examples[:1], examples, Vocabulary(("a", "b")), "words")
    model = TextClassifier(Architecture("attention", embed_dim=4), 4).train()

    found = mistakes(model, corpus)

    assert [given.unknown for given in found.answers] == [(), ("q", "r"), ()]
    alone = model.eval()(torch.tensor([[3, 1, 1]])).logits.item()
    assert found.answers[1].logit == pytest.approx(alone, abs=1e-6)
    assert len(found.answers) == found.confusion.sum() == 3

"""The verdict: on models planted so that it is known, and at every limit of its rules."""

import numpy as np
import pytest

from attention_core.neural.sentiment.examination import Examination, Statement, examine
from attention_core.neural.sentiment.verdict import FEWEST, verdict
from tests.attention_core.neural.sentiment import planted


def examined(model, n=200):
    return examine(model, *planted.sentences(n))


def test_a_model_whose_attention_is_why_it_answers_is_explained():
    found = examined(planted.explained())

    assert found.accuracy == 1
    assert verdict(found).conclusion == "explains"
    # It attends by 2^level: 16, 8, 4, 2 and 1 of 31.
    np.testing.assert_allclose(
        np.sort(found.statements[0].attention), np.array([1, 2, 4, 8, 16]) / 31, atol=0.01
    )


def test_a_model_to_which_attention_adds_nothing_is_not_explained():
    found = examined(planted.unmoved())

    given = verdict(found)
    assert (given.conclusion, given.needs) == ("does_not", "no")
    assert found.effects["equal"].n_flipped == found.effects["shuffled"].n_flipped == 0
    # It attends to the same words as the one that is explained: looks alone tell nothing.
    other = examined(planted.explained())
    for one, two in zip(found.statements, other.statements, strict=True):
        np.testing.assert_allclose(one.attention, two.attention, atol=1e-6)


def test_of_few_sentences_there_is_no_verdict():
    few, enough = (verdict(examined(planted.explained(), n)) for n in (FEWEST - 1, FEWEST))

    assert few.conclusion == "too_few"
    assert few.needs == few.points == few.agrees == "open"
    assert enough.conclusion != "too_few"
    assert "yes" in (enough.needs, enough.points, enough.agrees)


# --- the rules, on numbers made up


def made(n=200, *, flips=0.5, most=0.5, tau=1, gradient=0):
    """Sentences of four tokens with these shares of flips, |Δp| without the first, and τ's.

    Args:
        n: How many there are.
        flips: The share of answers that equal weights change.
        most: How much the most attended word moves the logit; others move it by 0.1 at most.
        tau: Of attention and occlusion, 1, 0 or -1.
        gradient: Of gradient and occlusion, 1, 0 or -1.
    """
    rng = np.random.default_rng(0)
    orders = {1: [3, 2, 1, 0], 0: [3, 0, 1, 2], -1: [3, 0, 0, 0]}
    statements = []
    for index in range(n):
        moved = np.array([most, 0.09, 0.06, 0.03]) * rng.uniform(0.9, 1.1)
        attention = np.array(orders[tau], dtype=float) + 1
        if tau == -1:
            attention = np.array([0.4, 0.1, 0.2, 0.3])
        statements.append(
            Statement(
                1,
                1.0,
                1.0 - moved,
                np.array(orders[gradient], dtype=float),
                attention / attention.sum(),
                -1.0 if index < flips * n else 1.0,
                np.array([1.0]),
            )
        )
    return Examination(tuple(statements), 0, n, 0)


@pytest.mark.parametrize(
    ("flips", "needs"), [(0.5, "yes"), (0.09, "yes"), (0.06, "open"), (0.01, "no"), (0, "no")]
)
def test_whether_it_needs_its_weights_is_a_matter_of_the_interval(flips, needs):
    assert verdict(made(flips=flips)).needs == needs


def test_of_few_sentences_no_flip_leaves_it_open():
    assert verdict(made(40, flips=0)).needs == "open"


def test_one_of_two_ways_to_change_the_weights_is_enough():
    of = made(flips=0)
    shuffled = [
        Statement(each.label, each.logit, each.without, each.gradient, each.attention, 1.0,
                  np.array([-1.0]))
        for each in of.statements
    ]  # fmt: skip

    assert verdict(Examination(tuple(shuffled), 0, 200, 0)).needs == "yes"


@pytest.mark.parametrize(("most", "points"), [(1.0, "yes"), (0.3, "yes"), (0.1, "no"), (0.0, "no")])
def test_whether_it_points_is_by_how_much_more_than_a_random_word_the_answer_moves(most, points):
    assert verdict(made(most=most)).points == points


def test_where_words_move_the_answer_now_up_and_now_little_it_stays_open():
    few = made(3, most=3.0).statements + made(97, most=0.05).statements

    assert verdict(Examination(few, 0, 100, 0)).points == "open"


@pytest.mark.parametrize(
    ("tau", "gradient", "agrees"),
    [
        (1, 0, "yes"),
        (0, 1, "no"),  # τ = 0: the first is on top, the others in reverse; the gradient is right
        (0, 0, "open"),  # the gradient agrees no better, so attention is not to blame
    ],
)
def test_low_agreement_counts_only_where_the_yardstick_agrees_better(tau, gradient, agrees):
    assert verdict(made(tau=tau, gradient=gradient)).agrees == agrees


@pytest.mark.parametrize(
    ("changes", "conclusion"),
    [
        ({}, "explains"),
        ({"flips": 0}, "does_not"),
        ({"flips": 0.06}, "partly"),
        ({"most": 0.1}, "partly"),
        ({"tau": 0, "gradient": 1}, "partly"),
        ({"most": 0.1, "tau": 0, "gradient": 1}, "does_not"),
        ({"flips": 0.06, "most": 0.1, "tau": 0, "gradient": 0}, "open"),
    ],
)
def test_the_conclusion_follows_from_the_three_answers(changes, conclusion):
    assert verdict(made(**changes)).conclusion == conclusion

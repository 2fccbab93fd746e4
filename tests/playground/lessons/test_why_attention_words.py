"""The step on query, key and value in words: each sentence holds, and so does the board."""

import re

import numpy as np
import pytest

from attention_core import Experiment, to_plain
from playground.board import exhibit_data
from playground.lessons import why_words
from playground.pipeline import pipeline
from playground.texts import LANGUAGES, Texts
from tests.playground.lessons.of_why_attention_words import exhibits

EN = Texts("en")
NAMES = ("cat", "apple_company", "apple_fruit")
CASES = [(name, asker) for name in NAMES for asker in range(Experiment.from_preset(name).n_tokens)]

every_language = pytest.mark.parametrize("language", LANGUAGES)
every_case = pytest.mark.parametrize(("name", "asker"), CASES)


def numbers(text):
    plain = text.replace("−", "-").replace(",", " ")
    return [float(number) for number in re.findall(r"-?\d+(?:\.\d+)?(?:e-?\d+)?", plain)]


def near(*values):
    return [pytest.approx(float(value), rel=6e-3, abs=1e-9) for value in values]


def told(language, name, asker):
    e = Experiment.from_preset(name)
    return why_words.words_found(Texts(language), e, e.trace(), asker).split("\n\n")


def by_hand(name):
    """The whole computation, without the core."""
    e = Experiment.from_preset(name)
    Q, K, V = (e.X @ W[0] for W in (e.W_Q, e.W_K, e.W_V))
    scores = Q @ K.T
    exponentials = np.exp(scores / np.sqrt(2))
    weights = exponentials / exponentials.sum(axis=1, keepdims=True)
    mixed = weights @ V
    return e, Q, K, V, scores, weights, mixed, mixed if e.W_O is None else mixed @ e.W_O


def listed(row):
    """The numbers of a row that are not 0, the largest first."""
    return sorted((value for value in row if value), key=lambda value: -abs(value))


# --- the examples


def test_every_example_is_a_preset_with_somebody_to_ask():
    assert tuple(why_words.examples(EN)) == NAMES
    asking = {
        name: Experiment.from_preset(name).tokens[
            why_words.first_asker(Experiment.from_preset(name))
        ]
        for name in NAMES
    }
    assert asking == {"cat": "猫", "apple_company": "苹果", "apple_fruit": "苹果"}


@every_language
def test_every_token_has_a_name_that_holds_it(language):
    for name in NAMES:
        e = Experiment.from_preset(name)

        shown = why_words.askers(Texts(language), e)

        assert list(shown) == [*range(e.n_tokens)]
        assert all(token in shown[place] for place, token in enumerate(e.tokens))


def test_an_example_is_taken_only_as_it_starts():
    e = Experiment.from_preset("cat")

    assert why_words.is_taken(e, "cat")
    assert why_words.is_taken(Experiment.from_preset("cat", seed=5), "cat")
    assert not why_words.is_taken(e, "apple_fruit")
    assert not why_words.is_taken(e.with_cell("X", (0, 0), 2), "cat")


# --- the board


@every_case
def test_the_board_shows_the_whole_pipeline_and_nothing_to_edit(name, asker):
    e = Experiment.from_preset(name)

    exhibit = why_words.words(EN, e, e.trace(), asker)

    shown = {matrix.id: matrix.values for matrix in exhibit.matrices}
    np.testing.assert_array_equal(shown.pop("tokens_in"), e.X)
    np.testing.assert_allclose(
        shown.pop("asked"), e.X @ e.W_Q[0] @ e.W_K[0].T, rtol=1e-12, atol=1e-12
    )
    expected = {matrix.id: matrix.values for matrix in pipeline(e, e.trace(), 0)}
    del expected["X"]
    assert list(shown) == list(expected)
    for id, values in expected.items():
        np.testing.assert_array_equal(shown[id], values)
    assert not any(matrix.is_editable or matrix.is_paintable for matrix in exhibit.matrices)


def test_a_score_is_what_is_asked_for_times_what_is_there():
    for name in NAMES:
        e = Experiment.from_preset(name)

        asked = why_words.asked_for(e.trace())

        scores = e.trace().attention.heads.scores[0]
        np.testing.assert_allclose(asked @ e.X.T, scores, rtol=1e-12, atol=1e-12)


@every_case
def test_the_row_of_who_asks_is_framed_and_no_other(name, asker):
    e = Experiment.from_preset(name)

    exhibit = why_words.words(EN, e, e.trace(), asker)

    marked = {m.id: m.marked for m in exhibit.matrices if m.marked is not None}
    assert set(marked) == {"Q", "asked", "scores", "weights", "output"}
    for cells in marked.values():
        assert cells[asker].all()
        assert cells.sum() == cells.shape[1]


@every_language
def test_every_matrix_and_stage_has_words(language):
    for exhibit in exhibits():
        data = exhibit_data(Texts(language), exhibit)

        assert all(matrix["name"] and matrix["about"] for matrix in data["matrices"])
        assert {stage["id"] for stage in data["stages"]} == set(exhibit.stages)


def test_the_matrices_of_each_example_are_compared_with_its_own():
    assert len({exhibit.of for exhibit in exhibits()}) == len(NAMES)


# --- query


@every_language
@every_case
def test_the_query_is_told_with_what_it_asks_for(language, name, asker):
    e, Q, *_ = by_hand(name)
    asked = Q[asker] @ e.W_K[0].T

    query, *_ = told(language, name, asker)

    wanted, unwanted = np.maximum(asked, 0), np.minimum(asked, 0)
    one = [1] if asked.any() else []  # "each 1 of that feature"
    expected = [*listed(e.X[asker]), *Q[asker], *listed(wanted), *one, *listed(unwanted)]
    assert numbers(query) == near(*expected)
    features = Texts(language).group("feature")
    for feature, value in zip(e.feature_names, asked, strict=True):
        if value:
            assert features[feature] in query


def test_the_cat_asks_for_an_action_and_the_apple_for_food_first():
    cat, *_ = told("en", "cat", 0)
    apple, *_ = told("en", "apple_fruit", 3)

    assert "asks for action (0.98)" in cat
    assert cat.endswith("What lowers the score: small (−1.55).")
    assert "asks for food (6), company (4) and device (4)" in apple
    assert apple.endswith("What lowers the score: fruit (−4).")


@every_language
def test_who_asks_for_nothing_is_said_to_share_equally(language):
    t = Texts(language)

    query, key, value, *_ = told(language, "apple_fruit", 0)

    name = t("why_attention.words.quoted", name=why_words.askers(t, by_hand("apple_fruit")[0])[0])
    features = t("narrate.with_number", name=t("feature.person"), number="1")
    expected = t("why_attention.words.asks_nothing", name=name, features=features, query="0, 0")
    assert query == expected
    assert numbers(key) == [0, 0.25, 0.25, 0.25, 0.25]
    assert numbers(value)[-2:] == [0.375, 0.125]


# --- key


@every_language
@every_case
def test_the_best_keys_and_the_shares_are_told(language, name, asker):
    e, _, K, _, scores, weights, *_ = by_hand(name)
    t = Texts(language)
    names = why_words.askers(t, e)
    best = np.flatnonzero(np.isclose(scores[asker], scores[asker].max()))

    _, key, *_ = told(language, name, asker)

    shares = sorted(weights[asker], reverse=True)
    most = scores[asker].max()
    if len(best) == e.n_tokens:
        expected = [most, *shares]
    elif len(best) > 1:
        expected = [most, 2, most / 2**0.5, *shares]
    else:
        expected = [*K[best[0]], most, 2, most / 2**0.5, *shares]
    assert numbers(key) == near(*expected)
    answer = key.split("√")[0]
    if len(best) < e.n_tokens:
        assert [place for place, shown in names.items() if shown in answer] == best.tolist()


def test_the_cats_best_answer_is_the_verb():
    _, key, *_ = told("en", "cat", 0)

    assert key.startswith("**Key.** 追 (chases) answers best: its key (0.98, 0) scores 0.98.")
    assert key.endswith("追 (chases) 0.6, 猫 (cat) 0.3, 老鼠 (mouse) 0.1.")


# --- value


@every_language
@every_case
def test_the_sum_of_shares_times_values_is_told_and_adds_up(language, name, asker):
    _, _, _, V, _, weights, mixed, _ = by_hand(name)

    *_, value = told(language, name, asker)[:3]

    order = np.argsort(-weights[asker], kind="stable")
    terms = [number for key in order for number in (weights[asker, key], *V[key])]
    assert numbers(value) == near(*terms, *mixed[asker])
    *shown, first, second = numbers(value)
    total = sum(share * np.array(pair) for share, *pair in np.reshape(shown, (-1, 3)))
    np.testing.assert_allclose(total, [first, second], atol=2e-3)


# --- afterwards


@every_language
@every_case
def test_how_much_comes_from_others_and_what_it_is_written_as(language, name, asker):
    e, _, _, _, _, weights, _, output = by_hand(name)

    afterwards = told(language, name, asker)[3]

    others = 100 * (1 - weights[asker, asker])
    written = listed(output[asker]) if e.W_O is not None else []
    assert numbers(afterwards.replace("W_O", "")) == near(others, *written)


@every_language
@pytest.mark.parametrize(
    ("name", "asker", "other", "place", "here", "there"),
    [
        ("apple_company", 0, "apple_fruit", 3, "company", "fruit"),
        ("apple_fruit", 3, "apple_company", 0, "fruit", "company"),
    ],
)
def test_the_apple_is_compared_with_itself(language, name, asker, other, place, here, there):
    t = Texts(language)
    mine, its = by_hand(name), by_hand(other)

    compared = told(language, name, asker)[4]

    assert numbers(compared) == near(*listed(its[-1][place]))
    for matrix in ("W_Q", "W_K", "W_V", "W_O"):  # "the same weight matrices"
        np.testing.assert_array_equal(getattr(mine[0], matrix), getattr(its[0], matrix))
    np.testing.assert_array_equal(mine[0].X[asker], its[0].X[place])
    names = mine[0].feature_names
    assert (names[mine[-1][asker].argmax()], names[its[-1][place].argmax()]) == (here, there)
    ends = [t(f"feature.{feature}") for feature in (here, there)]
    assert compared.rindex(ends[0]) < compared.rindex(ends[1])


@every_case
def test_only_the_apple_is_in_another_example(name, asker):
    token = Experiment.from_preset(name).tokens[asker]

    assert len(told("en", name, asker)) == (5 if token == "苹果" else 4)


def test_the_examples_are_untouched_by_being_looked_at():
    for name in NAMES:
        before = to_plain(Experiment.from_preset(name))

        told("en", name, 0)

        assert to_plain(Experiment.from_preset(name)) == before

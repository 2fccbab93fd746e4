"""The step on query, key and value in words: each input does what it says."""

import numpy as np
import pytest

from attention_core import Experiment, to_plain
from playground.lessons import why_words
from tests.pages.driver import App

NAMES = ("cat", "apple_company", "apple_fruit")


@pytest.fixture
def app():
    return App("why_attention", s="words")


def said(app):
    return " ".join(info.value for info in app.test.info)


def shown(app):
    return {matrix["id"]: matrix["values"] for matrix in app.board["matrices"]}


def keys(app):
    return {getattr(element, "key", None) for element in app.test}


@pytest.mark.parametrize("name", NAMES)
def test_each_example_is_shown_with_its_numbers_and_words(app, name):
    app.set("why_attention.words.example", name)

    e = Experiment.from_preset(name)
    app.assert_calm()
    np.testing.assert_array_equal(shown(app)["output"], e.trace().attention.output)
    asker = why_words.first_asker(e)
    assert why_words.words_found(app.t, e, e.trace(), asker) in said(app)
    assert app.board["axes"]["tokens"] == list(e.tokens)


def test_another_token_asks(app):
    app.set("why_attention.words.example", "apple_fruit").set(
        "why_attention.words.asker.apple_fruit", 2
    )

    e = Experiment.from_preset("apple_fruit")
    assert why_words.words_found(app.t, e, e.trace(), 2) in said(app)
    marked = next(m["marked"] for m in app.board["matrices"] if m["id"] == "weights")
    assert [any(row) for row in marked] == [False, False, True, False]


def test_who_asks_is_remembered_for_each_example(app):
    app.set("why_attention.words.asker.cat", 1).set("why_attention.words.example", "apple_company")
    assert "why_attention.words.asker.cat" not in keys(app)
    app.set("why_attention.words.example", "cat")

    e = Experiment.from_preset("cat")
    assert why_words.words_found(app.t, e, e.trace(), 1) in said(app)


def test_nothing_on_the_board_can_be_edited(app):
    assert not any(matrix["editable"] for matrix in app.board["matrices"])
    assert "X" not in shown(app)


@pytest.mark.parametrize("name", NAMES)
def test_an_example_is_taken_to_the_playground_and_undone(app, name):
    before = to_plain(app.experiment)
    app.set("why_attention.words.example", name)

    app.press(app.t("why_attention.words.take"))

    app.assert_calm()
    assert to_plain(app.experiment) == to_plain(Experiment.from_preset(name))
    (button,) = [b for b in app.test.button if b.label == app.t("why_attention.words.taken")]
    assert button.disabled
    links = [element.proto.label for element in app.test.get("page_link")]
    assert links == [app.t("why_attention.words.go")]
    app.visit("playground").assert_shows(Experiment.from_preset(name))
    app.press("Undo")
    assert to_plain(app.experiment) == before


def test_the_seed_stays_when_an_example_is_taken(app):
    app.set("seed", 7).press(app.t("why_attention.words.take"))

    assert to_plain(app.experiment) == to_plain(Experiment.from_preset("cat", seed=7))


def test_looking_at_examples_changes_no_experiment(app):
    before = to_plain(app.experiment)

    for name in reversed(NAMES):
        app.set("why_attention.words.example", name)

    assert to_plain(app.experiment) == before

"""The step that looks at a sentence: typed, chosen, through the epochs, and to the Playground."""

from dataclasses import replace

import numpy as np
import pytest

from attention_core import to_plain
from playground.lessons import sentiment, sentiment_look
from tests.pages.driver import App
from tests.sentiment import training, with_training

TEXT = "The plot is good, but the acting is dull."


pytestmark = pytest.mark.usefixtures("jobs")


def opened(result=None, **query):
    return with_training(App("sentiment", s="look", **query), result)


def model(kind="lstm_attention", seed=0, result=None):
    return sentiment.choices(result or training())[kind, seed]


def look(text, kind="lstm_attention", index=3):
    return sentiment_look.look(model(kind), text, index)


def assert_shows(app, looked, head=0):
    """The board and the sentences are those of this look."""
    app.assert_calm()
    t = app.t
    assert sentiment_look.verdict(t, looked) in [each.value for each in app.test.markdown]
    (info,) = app.test.info
    is_list = len(sentiment_look.found(t, looked, head)) > 2
    assert ("\n- " in info.value) == is_list  # a list of two would be an odd one
    for sentence in sentiment_look.found(t, looked, head):
        assert sentence in info.value
    if sentiment_look.is_on_board(looked):
        shown = {matrix["id"]: matrix["values"] for matrix in app.board["matrices"]}
        expected = sentiment_look.exhibit(t, looked, head).matrices
        assert shown == {matrix.id: matrix.values.tolist() for matrix in expected}
        assert app.board["axes"]["tokens"] == list(looked.tokens)
    figure = sentiment_look.curves(t, looked, head, "light")
    assert app.figure["data"] == figure["data"]


def typed(app, text):
    return app.set("sentiment.look.text", text)


def test_before_anything_was_trained_there_are_two_ways_on():
    app = App("sentiment", s="look")

    app.assert_calm()
    assert app.t("sentiment.choose.nothing") in app.test.info[0].value
    app.press(app.t("sentiment.choose.load"))
    assert app.test.session_state["work"]["place"] == ("sentiment", "weights")
    app.visit("sentiment").set("sentiment.step", "look")
    app.press(app.t("sentiment.go_train"))
    assert app.test.session_state["work"]["place"] == ("sentiment", "train")


@pytest.mark.parametrize("locale", ["en-US", "zh-CN"])
def test_it_begins_with_the_first_validation_sentence_after_the_last_epoch(locale):
    app = opened(locale=locale)

    assert_shows(app, look(model().corpus.validation[0].text))


@pytest.mark.parametrize("kind", ["bag", "lstm", "lstm_attention", "attention"])
def test_any_sentence_in_any_model_after_any_epoch(kind):
    app = opened().set("sentiment.model", kind)

    typed(app, TEXT)
    for index in (0, 2, 3):
        app.set("sentiment.look.epoch", index)
        assert_shows(app, look(TEXT, kind, index))


def test_each_head():
    app = typed(opened(), TEXT)
    for head in (2, 1, 0):
        app.set("sentiment.look.head", head)
        assert_shows(app, look(TEXT), head)


def test_another_that_was_right_or_wrong():
    app = opened()
    offered = sentiment_look.offered(model())
    assert offered.right
    assert offered.wrong

    for kind, example in (
        ("right", offered.right[0]),
        ("right", offered.right[1]),
        ("wrong", offered.wrong[0]),
    ):
        app.press(app.t(f"sentiment.look.{kind}", count=len(getattr(offered, kind))))
        assert_shows(app, look(example.text))
        assert app.t(f"sentiment.look.is_{kind}") in sentiment_look.verdict(
            app.t, look(example.text)
        )


@pytest.mark.parametrize(
    "text", ["zorgblat", "👩‍👩‍👧 **a** $b$ :red[c] <i>", "good " * 70, "\u202eab", "1"]
)
def test_whatever_is_typed_is_looked_at(text):
    assert_shows(typed(opened(), text), look(text.strip() if text.endswith(" ") else text))


def test_a_text_without_a_token_is_told():
    app = typed(opened(), "   ")

    app.assert_calm()
    (info,) = app.test.info
    assert app.t("sentiment.look.empty") in info.value
    assert_shows(typed(app, TEXT), look(TEXT))


def test_seeds_that_kept_the_result_alone_have_no_slider():
    result = training(n_seeds=2)
    app = opened(result).set("sentiment.seed", 1)
    typed(app, TEXT)

    app.assert_calm()
    assert not app.test.select_slider
    looked = sentiment_look.look(model(seed=1, result=result), TEXT, 0)
    assert sentiment_look.verdict(app.t, looked) in [each.value for each in app.test.markdown]


def test_the_sentence_goes_to_the_playground_and_can_be_taken_back():
    app = typed(opened(), TEXT)
    before = app.experiment
    taken = sentiment_look.reduction(look(TEXT))
    assert any(sentiment_look.take_told(app.t, taken) in each.value for each in app.test.markdown)
    labels = [getattr(each, "label", each.type) for each in app.test.main]
    way = [labels.index(each) for each in ("info", app.t("sentiment.look.take"), "plotly_chart")]
    assert way == sorted(way)  # not below the figure, where nobody finds it

    app.press(app.t("sentiment.look.take"))

    app.assert_calm()
    assert to_plain(app.experiment) == to_plain(taken.experiment)
    (button,) = [each for each in app.test.button if each.label == app.t("sentiment.look.taken")]
    assert button.disabled
    app.visit("playground")
    app.assert_consistent()
    app.press(app.t("control.undo"))
    assert to_plain(app.experiment) == to_plain(before)


def test_what_was_set_is_there_after_another_page():
    app = typed(opened(), TEXT).set("sentiment.look.epoch", 1)

    app.visit("playground").visit("sentiment")

    assert_shows(app, look(TEXT, index=1))


def test_fewer_epochs_than_before_show_the_last():
    app = typed(opened(), TEXT).set("sentiment.look.epoch", 3)
    shorter = training(n_epochs=2)

    app = with_training(app, shorter)

    looked = sentiment_look.look(model(result=shorter), TEXT, 2)
    assert sentiment_look.verdict(app.t, looked) in [each.value for each in app.test.markdown]


def test_a_training_that_goes_on_can_be_looked_at():
    whole = training()
    (first, *_), corpus = whole.runs, whole.corpus
    begun = replace(first, epochs=first.epochs[:2], states=first.states[:2], kept=1, ending="")
    app = opened(replace(whole, runs=(begun,)))
    typed(app, TEXT)

    app.assert_calm()
    looked = sentiment_look.look(sentiment.Trained(begun, corpus), TEXT, 1)
    assert sentiment_look.verdict(app.t, looked) in [each.value for each in app.test.markdown]
    assert np.isfinite(looked.logit)

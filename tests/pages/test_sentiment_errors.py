"""The step on mistakes: what the chosen model gets wrong, and the way to where it looks."""

from dataclasses import replace

import pytest

from attention_core.neural.sentiment.corpus import Corpus
from playground.lessons import sentiment, sentiment_errors
from playground.texts import LANGUAGES
from tests.pages.driver import App
from tests.sentiment import training, with_training

LOCALES = {"en": "en-GB", "zh": "zh-CN"}
every_language = pytest.mark.parametrize("language", LANGUAGES)


def at(language="en"):
    app = App("sentiment", locale=LOCALES[language]).set("sentiment.step", "errors")
    app.test.session_state["work"]["settings"]["sentiment.model"] = "attention"
    return app


def said(app):
    return " ".join(info.value for info in app.test.info)


def tables(app):
    return [table.value.to_dict("list") for table in app.test.table]


@every_language
def test_without_a_trained_model_there_is_a_way_to_train_one(language):
    app = at(language)

    assert app.t("sentiment.choose.nothing") in said(app)
    app.press(app.t("sentiment.go_train"))
    app.assert_calm()
    assert app.t("sentiment.train.ask") in [each.value for each in app.test.markdown]


@every_language
def test_the_tables_and_sentences_are_those_of_the_chosen_model(language):
    app = with_training(at(language))

    for kind in ("attention", "bag"):
        app.set("sentiment.model", kind)
        trained = sentiment.choices(training())[kind, 0]
        mistakes = sentiment_errors.mistakes(trained)
        app.assert_calm()
        expected = [
            sentiment_errors.worst(app.t, mistakes),
            sentiment_errors.confusion(app.t, mistakes),
            sentiment_errors.sureness(app.t, mistakes),
        ]
        assert tables(app)[:3] == expected
        assert mistakes.traits
        assert tables(app)[3] == sentiment_errors.traits(app.t, mistakes)
        for sentence in sentiment_errors.found(app.t, trained, mistakes):
            assert sentence in said(app)


def test_a_mistake_is_taken_to_where_the_model_looks():
    app = with_training(at())
    trained = sentiment.choices(training())["attention", 0]
    third = sentiment_errors.mistakes(trained).wrong[2].example.text

    app.set("sentiment.errors.which", 2).press(app.t("sentiment.errors.look"))

    app.assert_calm()
    settings = app.test.session_state["work"]["settings"]
    assert settings["sentiment.look.text"] == third
    assert app.t("sentiment.look.ask") in [each.value for each in app.test.markdown]


def of_validation(validation):
    """The training as if these had been the validation sentences."""
    whole = training()
    corpus = Corpus(whole.corpus.train, validation, whole.corpus.vocabulary, whole.corpus.how)
    return replace(whole, corpus=corpus)


def test_the_number_of_a_mistake_that_is_none_any_more_gives_way_to_the_first():
    app = with_training(at()).set("sentiment.errors.which", 7)
    wrong = sentiment_errors.mistakes(sentiment.choices(training())["attention", 0]).wrong

    with_training(app, of_validation(tuple(answer.example for answer in wrong[:3])))

    app.assert_calm()
    assert tables(app)[0]["No."] == ["1", "2", "3"]
    app.press(app.t("sentiment.errors.look"))
    settings = app.test.session_state["work"]["settings"]
    assert settings["sentiment.look.text"] == wrong[0].example.text


def test_no_mistake_is_said_plainly():
    of = sentiment.choices(training())["attention", 0]
    answers = sentiment_errors.mistakes(of).answers

    right = tuple(answer.example for answer in answers if answer.is_right)
    app = with_training(at(), of_validation(right))

    app.assert_calm()
    assert "makes no mistake" in said(app)
    assert len(tables(app)) == 2  # counts alone
    assert not [button for button in app.test.button if button.label.startswith("See where")]


def test_without_labelled_sentences_it_is_said_that_nobody_can_tell():
    app = with_training(at(), of_validation(()))

    app.assert_calm()
    assert app.t("sentiment.choose.no_sentences") in said(app)
    assert not app.test.table

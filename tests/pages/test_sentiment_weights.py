"""The step with the numbers of a model: listed, saved, opened again, and whatever else comes."""

import pickle
from dataclasses import replace

import pytest
import torch

from playground.lessons import sentiment, sentiment_look, sentiment_weights
from playground.lessons.sentiment import Trained
from playground.steps import sentiment_errors
from playground.steps.sentiment import choose
from playground.texts import Texts
from tests.pages.driver import App
from tests.sentiment import training, with_training

TEXT = "The plot is good, but the acting is dull."


pytestmark = pytest.mark.usefixtures("jobs")


def model(kind="lstm_attention"):
    return sentiment.choices(training())[kind, 0]


def file(kind="lstm_attention"):
    return sentiment_weights.file(model(kind))


def opened(locale="en-US"):
    return App("sentiment", s="weights", locale=locale)


def upload(app, content, name="a.safetensors"):
    app.test.file_uploader(key="sentiment.weights.upload").set_value(
        (name, content, "application/octet-stream")
    )
    return app._answer()


def models(app):
    (group,) = [each for each in app.test if getattr(each, "key", None) == "sentiment.model"]
    return group.options


@pytest.mark.parametrize("locale", ["en-US", "zh-CN"])
@pytest.mark.parametrize("kind", ["bag", "lstm", "lstm_attention", "attention"])
def test_the_numbers_of_each_model_are_listed(kind, locale):
    app = with_training(opened(locale)).set("sentiment.model", kind)

    app.assert_calm()
    (table,) = app.test.table
    assert table.value.to_dict("list") == sentiment_weights.table(app.t, model(kind))
    (info,) = app.test.info
    for sentence in sentiment_weights.found(app.t, model(kind), len(file(kind))):
        assert sentence in info.value
    assert app.test.code[0].value == sentiment_weights.reading(model(kind))


def test_a_file_can_be_opened_where_nothing_was_trained():
    app = upload(opened(), file("attention"))

    app.assert_calm()
    (table,) = app.test.table
    assert table.value.to_dict("list") == sentiment_weights.table(app.t, model("attention"))
    app.set("sentiment.step", "look").set("sentiment.look.text", TEXT)
    looked = sentiment_look.look(sentiment.from_file(file("attention")), TEXT, 0)
    assert sentiment_look.verdict(app.t, looked) in [each.value for each in app.test.markdown]


def test_an_opened_model_stands_beside_those_that_were_trained():
    app = upload(with_training(opened()), file("bag"))

    assert models(app)[-1] == app.t("sentiment.choose.file")
    assert app.test.session_state["work"]["settings"]["sentiment.model"] == "file"
    app.set("sentiment.model", "lstm")
    (table,) = app.test.table
    assert table.value.to_dict("list") == sentiment_weights.table(app.t, model("lstm"))


def test_one_file_is_kept_at_a_time_and_can_be_let_go_of():
    app = upload(opened(), file("bag"))
    upload(app, file("lstm"), "b.safetensors")

    kept = [v for v in app.test.session_state["work"]["settings"].values() if type(v) is bytes]
    assert kept == [file("lstm")]
    app.press(app.t("sentiment.weights.forget"))
    app.assert_calm()
    assert not app.test.table
    assert not any(app.test.session_state["work"]["settings"].get("sentiment.file", b""))


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize(
    ("content", "error", "fields"),
    [
        (pickle.dumps({"a": 1}), "FileKindError", {"kind": "pickle"}),
        (b"PK\x03\x04", "FileKindError", {"kind": "zip"}),
        (b"text,label", "FileKindError", {"kind": "unknown"}),
        (b"", "FileKindError", {"kind": "unknown"}),
    ],
    ids=["pickle", "zip", "csv", "empty"],
)
def test_what_is_no_model_is_refused_in_words_and_loses_nothing(language, content, error, fields):
    app = upload(opened({"en": "en-US", "zh": "zh-CN"}[language]), file("bag"))

    upload(app, content, "b.pt")

    t = Texts(language)
    named = {name: t.get(f"quantity.{value}", value) for name, value in fields.items()}
    reason = t(f"error.{error}", **named)
    assert app.warnings == [t("notice.no_model", reason=reason)]
    assert app.test.session_state["work"]["settings"]["sentiment.file"] == file("bag")
    (table,) = app.test.table
    assert table.value.to_dict("list") == sentiment_weights.table(t, model("bag"))


def test_a_model_without_its_sentences_is_looked_at_but_not_tried():
    own = sentiment_weights.file(Trained(model().run, model().corpus))
    app = upload(opened(), own)

    app.assert_calm()
    (info,) = app.test.info
    assert "this was not checked" in info.value
    app.set("sentiment.step", "look")
    app.assert_calm()
    assert app.t("sentiment.look.first") in [each.value for each in app.test.text_area]


def test_a_model_that_cannot_be_saved_says_why():
    run = model().run
    state = dict(run.state) | {"head.bias": torch.tensor([2e6])}
    whole = training()
    huge = replace(run, states=(*run.states[:-1], state))
    app = with_training(opened(), replace(whole, runs=(huge,)))

    app.assert_calm()
    (info,) = app.test.info
    assert "cannot be saved: head" in info.value


def test_a_step_that_tries_a_model_says_that_its_sentences_are_missing(monkeypatch):
    monkeypatch.setattr(sentiment_errors, "draw", choose)
    own = sentiment_weights.file(Trained(model().run, model().corpus))
    app = upload(opened(), own)

    app.set("sentiment.step", "errors")

    app.assert_calm()
    (info,) = app.test.info
    assert app.t("sentiment.choose.no_sentences") in info.value


def test_a_file_that_is_all_one_name_is_refused_in_a_few_words():
    data = file("bag")
    end = 8 + int.from_bytes(data[:8], "little")
    header = data[8:end].replace(rb"\"kind\":\"bag\"", rb"\"kind\":\"" + b"*" * 3_000_000 + rb"\"")

    app = upload(opened(), len(header).to_bytes(8, "little") + header + data[end:])

    (warning,) = app.warnings
    assert warning == app.t(
        "notice.no_model",
        reason=app.t("error.ChoiceError", name="kind", value=r"\*" * 80 + "…"),
    )

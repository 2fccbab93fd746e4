"""The step on cross-examination: a press examines the chosen model; one sentence needs no press."""

from dataclasses import replace

import pytest

from attention_core.neural.sentiment.corpus import Corpus
from playground.lessons import sentiment
from playground.lessons import sentiment_examine as step
from playground.texts import LANGUAGES
from tests.pages.driver import App
from tests.pages.jobs import finished, job, until
from tests.sentiment import training, with_training

EXAMINE = "sentiment.examine"
LOCALES = {"en": "en-GB", "zh": "zh-CN"}
every_language = pytest.mark.parametrize("language", LANGUAGES)


pytestmark = pytest.mark.usefixtures("jobs")


def at(language="en", kind="lstm_attention"):
    app = App("sentiment", locale=LOCALES[language]).set("sentiment.step", "examine")
    return with_training(app).set("sentiment.model", kind)


def examine(app):
    return finished(app.press(app.t("sentiment.examine.start")), EXAMINE)


def trained(kind="lstm_attention"):
    return sentiment.choices(training())[kind, 0]


def examined(kind="lstm_attention"):
    return step.work(trained(kind))(lambda done, shown=None: None)


def said(app):
    return " ".join(info.value for info in app.test.info)


def tables(app):
    return [table.value.to_dict("list") for table in app.test.table]


def place(within, kind):
    """Where the only block of this kind stands, by which a browser knows it again."""
    for index, child in getattr(within, "children", {}).items():
        if child.type == kind:
            return [index]
        further = place(child, kind)
        if further:
            return [index, *further]
    return []


def test_without_a_trained_model_there_is_nothing_yet():
    app = App("sentiment").set("sentiment.step", "examine")

    app.assert_calm()
    assert app.t("sentiment.choose.nothing") in said(app)


@every_language
def test_a_press_examines_the_chosen_model(language):
    app = at(language)
    assert all(each in said(app) for each in step.known(app.t, trained()))

    examine(app)

    expected = examined()
    e = expected.examination
    app.assert_calm()
    assert app.figure["data"] == step.figure(app.t, e, "light")["data"]
    assert tables(app) == [step.effects(app.t, e), step.agreements(app.t, e)]
    for sentence in step.found(app.t, expected, trained(), job(app, EXAMINE)):
        assert sentence in said(app)
    (rules,) = app.test.main.expander
    assert rules.label == app.t("sentiment.examine.rules_title")
    (listed,) = [each.value for each in rules.markdown]
    assert listed.split("\n") == [f"- {rule}" for rule in step.rules(app.t)]
    kinds = [element.type for element in app.test.main]
    places = [kinds.index(kind) for kind in ("info", "plotly_chart", "table", "expander")]
    assert places == sorted(places)  # the verdict first


def test_a_model_without_attention_is_said_to_have_nothing_to_examine():
    app = examine(at(kind="bag"))

    app.assert_calm()
    assert app.t("sentiment.examine.no_attention", name="Bag of words") in said(app)
    assert len(app.figure["data"][0]["x"]) == 2


def test_another_model_keeps_the_numbers_and_says_whose_they_are():
    app = examine(at())
    before, other = tables(app), app.t("sentiment.examine.other", name="LSTM + attention")
    assert other not in said(app)

    app.set("sentiment.model", "attention")

    assert tables(app) == before
    assert other in said(app)
    examine(app)
    assert tables(app)[0] == step.effects(app.t, examined("attention").examination)
    assert other not in said(app)


def test_a_second_learner_gets_the_result_at_once(monkeypatch):
    first = examine(at())
    monkeypatch.setattr(step, "work", lambda trained: pytest.fail)

    second = at().press("Examine")

    second.assert_calm()
    assert not job(second, EXAMINE).is_active
    assert tables(second) == tables(first)


def test_an_examination_that_is_stopped_keeps_what_it_has(monkeypatch):
    whole, waits = step.work, []

    def work(of):
        def until_stopped(tell):
            def told(done, shown=None):
                tell(done, shown)
                while not waits:  # it goes no further than the first sentences
                    tell(done)

            return whole(of)(told)

        return until_stopped

    monkeypatch.setattr(step, "work", work)
    app = at().press("Examine")
    until(app, EXAMINE, lambda view: view.shown is not None)
    assert app.t("sentiment.examine.progress", done=16, n=40) in [
        each.proto.text for each in app.test.get("progress")
    ]
    assert not app.test.info  # a screen reader would read it at every look
    assert tables(app)
    rules = place(app.test.main, "expander")

    finished(app.press(app.t("job.stop")), EXAMINE)

    app.assert_calm()
    assert app.t("sentiment.examine.stopped", n=40) in said(app)
    assert "Validation sentences asked about so far: 16." in said(app)
    assert place(app.test.main, "expander") == rules != []  # else it would close while it is read


@every_language
def test_one_sentence_is_asked_about_without_a_press(language):
    app = at(language).set("sentiment.examine.view", "one").set("sentiment.examine.number", 5)

    witness = step.of_validation(trained(), 5)
    app.assert_calm()
    assert app.figure["data"] == step.bars(app.t, witness, "light")["data"]
    assert all(each in said(app) for each in step.of_one(app.t, witness))


def test_the_sentence_of_another_step_can_be_asked_about():
    app = at()
    text = trained().corpus.validation[7].text
    app.test.session_state["work"]["settings"]["sentiment.look.text"] = text
    app.set("sentiment.examine.view", "one").set("sentiment.examine.way", "look")

    witness = step.of_text(trained(), text)
    assert app.figure["data"] == step.bars(app.t, witness, "light")["data"]

    app.test.session_state["work"]["settings"]["sentiment.look.text"] = "music"
    app.test.run()

    app.assert_calm()
    assert app.t("sentiment.examine.one_too_short") in said(app)


def test_without_labelled_sentences_it_is_said_what_is_missing():
    whole = training()
    corpus = Corpus(whole.corpus.train, (), whole.corpus.vocabulary, whole.corpus.how)
    bare = replace(whole, corpus=corpus)

    app = with_training(App("sentiment").set("sentiment.step", "examine"), bare)

    app.assert_calm()
    assert app.t("sentiment.choose.no_sentences") in said(app)
    assert not [button for button in app.test.button if button.label == "Examine"]


def test_the_result_is_there_after_another_page():
    app = examine(at())
    before = tables(app)

    app.visit("playground").visit("sentiment")

    assert tables(app) == before

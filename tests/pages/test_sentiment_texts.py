"""The step on sentences: what is set is shown, and a bad table loses nothing."""

import pytest
from streamlit.testing.v1 import AppTest

from playground.lessons import sentiment
from playground.lessons import sentiment_texts as texts
from playground.lessons.sentiment import TEXTS
from tests.pages.driver import App

LOCALES = {"en": "en-GB", "zh": "zh-CN"}

GOOD = "".join(f"own number {i},{'pos' if i % 2 else 'neg'}\n" for i in range(24))
BAD = GOOD + "without a label\n"


def at(language="en", **query):
    return App("sentiment", locale=LOCALES[language], s="texts", **query)


def setting_of(app):
    settings = app.test.session_state["work"]["settings"]
    return lambda key, default: settings.get(key, default)


def sentences(app):
    """The list of sentences and the counts, as they are shown."""
    return [table.value.to_dict("list") for table in app.test.table]


def said(app):
    return " ".join(info.value for info in app.test.info)


def assert_shows(app, which=0):
    """Exactly what the source gives that the inputs describe."""
    source = sentiment.source(setting_of(app), app.t)
    corpus = sentiment.corpus(source)
    expected = texts.listed(app.t, corpus, texts.shown(corpus, which))
    app.assert_calm()
    assert sentences(app) == [expected, texts.counts(app.t, corpus)]
    assert all(sentence in said(app) for sentence in texts.found(app.t, source))
    return corpus


@pytest.mark.parametrize("language", ["en", "zh"])
def test_at_first_there_are_contrasts_in_the_readers_language(language):
    corpus = assert_shows(at(language))

    assert (len(corpus.train), len(corpus.validation)) == (1_200, 400)
    assert {each.structure.construction for each in corpus.train} == {"contrast", "concession"}
    assert corpus.how == {"en": "words", "zh": "known"}[language]


def test_every_input_of_the_grammar_counts():
    app = at()

    app.set(f"{TEXTS}.language", "zh").set(f"{TEXTS}.constructions", ["simple"])
    app.set(f"{TEXTS}.fillers", 0).set(f"{TEXTS}.words", 2).set(f"{TEXTS}.sentences", 75)

    corpus = assert_shows(app)
    assert len(corpus.train) + len(corpus.validation) == 2 * 4 * 5
    assert app.t("sentiment.texts.language") in app.markdown()


def test_without_a_construction_it_says_so_and_one_brings_them_back():
    app = at().set(f"{TEXTS}.constructions", [])

    assert app.warnings == [app.t("sentiment.texts.no_construction")]
    assert sentences(app) == []
    assert_shows(app.set(f"{TEXTS}.constructions", ["addition"]))


def test_another_eight_are_others():
    app = at()
    before = sentences(app)

    app.press(app.t("sentiment.texts.others"))

    assert sentences(app)[0] != before[0]
    assert_shows(app, which=1)


def test_the_way_on_leads_to_the_training():
    app = at()

    app.press(app.t("sentiment.texts.go"))

    assert app.t("sentiment.train.ask") in [each.value for each in app.test.markdown]


def test_reviews_are_read_and_cut_as_set():
    app = at("zh").set(f"{TEXTS}.source", "reviews")
    assert_shows(app)

    app.set(f"{TEXTS}.how", "chinese").set(f"{TEXTS}.reviews", 750)

    corpus = assert_shows(app)
    assert (len(corpus.train), corpus.how) == (750, "chinese")


@pytest.mark.parametrize("language", ["en", "zh"])
def test_without_the_package_it_says_how_to_get_it(language, monkeypatch):
    from attention_core.neural.sentiment import reviews

    monkeypatch.setattr(reviews, "_paths", dict)
    app = at(language).set(f"{TEXTS}.source", "reviews")

    assert app.warnings == [app.t("sentiment.texts.missing")]
    assert [code.value for code in app.test.code] == [texts.INSTALL]
    assert sentences(app) == []
    assert_shows(app.set(f"{TEXTS}.source", "templates"))


def test_ones_own_begin_with_an_example():
    app = at().set(f"{TEXTS}.source", "own")

    corpus = assert_shows(app)
    assert len(corpus.train) + len(corpus.validation) == 40
    assert app.test.text_area[0].value == texts.sample("en")


def paste(app, text):
    app.set(f"{TEXTS}.pasted", text)
    return app.press(app.t("sentiment.texts.use"))


def upload(app, content, name="own.csv"):
    app.test.file_uploader[0].set_value((name, content, "text/csv"))
    return app._answer()


def test_a_pasted_table_is_used():
    app = paste(at().set(f"{TEXTS}.source", "own"), GOOD)

    corpus = assert_shows(app)
    assert all(each.text.startswith("own number") for each in corpus.train)


def test_an_opened_file_is_used_once():
    app = upload(at().set(f"{TEXTS}.source", "own"), GOOD.encode("gb18030"))
    corpus = assert_shows(app)
    assert all(each.text.startswith("own number") for each in corpus.train)

    paste(app, GOOD.replace("own", "other"))  # the file is there still, and is not taken again

    corpus = assert_shows(app)
    assert all(each.text.startswith("other number") for each in corpus.train)


def test_a_late_message_of_the_page_does_not_open_a_file_again():
    def act():
        from types import SimpleNamespace

        import streamlit as st

        from playground import session
        from playground.steps import sentiment_texts
        from playground.texts import Texts

        session.start()
        rows = b"".join(b"number %d,%d\n" % (i, i % 2) for i in range(20))
        st.session_state["sentiment.texts.file"] = SimpleNamespace(
            file_id="1", getvalue=lambda: rows
        )
        sentiment_texts.open_file(Texts("en"))
        st.text(session.setting("sentiment.texts.table", ""))
        session.set_setting("sentiment.texts.table", "pasted since")
        sentiment_texts.open_file(Texts("en"))
        st.text(session.setting("sentiment.texts.table", ""))

    test = AppTest.from_function(act).run()

    assert not test.exception
    first, second = (text.value for text in test.text)
    assert first.startswith("number 0,0")
    assert second == "pasted since"


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_bad_table_says_why_and_loses_nothing(language):
    app = paste(at(language).set(f"{TEXTS}.source", "own"), GOOD)
    before = sentences(app)
    reason = app.t("sentiment.texts.bad_columns", line=25, count=1, wanted="2")

    paste(app, BAD)

    assert app.errors == [reason]
    assert sentences(app) == before
    assert app.test.text_area[0].value == BAD  # to be mended
    upload(app, b"\xff\xfe\x00")
    assert app.errors == [app.t("sentiment.texts.bad_encoding")]
    assert sentences(app) == before
    paste(app, GOOD)
    assert_shows(app)


def test_ones_own_words_are_shown_letter_by_letter():
    hostile = "<b>$x$ *y* :red[a] [l](http://m)"
    app = paste(at().set(f"{TEXTS}.source", "own"), GOOD.replace("own", hostile))

    assert_shows(app)
    assert not any(hostile in text for text in app.markdown())


def test_what_was_set_is_there_after_another_page():
    app = paste(at().set(f"{TEXTS}.source", "own"), GOOD)
    before = sentences(app)

    app.visit("playground").visit("sentiment")

    assert sentences(app) == before
    assert_shows(app)

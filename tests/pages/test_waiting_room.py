"""Who finds no place: one calm page at every address, and then just what the link leads to."""

import pytest

from attention_core import Experiment, to_plain
from playground import link, session, waiting_room
from playground.admission import POLL, Admission
from playground.catalog import LESSONS
from playground.texts import LANGUAGES, Texts
from tests.pages.driver import App


@pytest.fixture
def others(monkeypatch):
    """Those who are in; there is one place."""
    there = {"test session id"}
    clock = iter(range(0, 100_000, 100))
    admission = Admission(1, is_there=there.__contains__, clock=lambda: next(clock))
    monkeypatch.setattr(waiting_room, "_ADMISSION", admission)
    there.add("another")
    assert admission.enter("another")
    return there


@pytest.fixture
def no_session(monkeypatch):
    """Nothing of a session may be made."""

    def fail():
        raise AssertionError("a session has begun")

    monkeypatch.setattr(session, "_begin", fail)


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("lesson", [None, *(lesson.id for lesson in LESSONS)])
def test_every_address_leads_to_the_waiting_room(others, no_session, lesson, language):
    app = App(lesson, lang=language, e="what the link holds")

    t = Texts(language)
    assert [title.value for title in app.test.title] == [t("full.title")]
    assert t("full.count", count=1, pause=round(POLL)) in [text.value for text in app.test.markdown]
    assert [button.label for button in app.test.button] == [t("full.again")]
    assert len(app.test.code[0].value.splitlines()) == 2
    assert "work" not in app.test.session_state
    assert "what the link holds" in app.test.query_params["e"]
    app.assert_calm()


def test_the_browser_s_language_is_spoken_where_the_link_names_none(others):
    assert App(locale="zh-CN").test.title[0].value == Texts("zh")("full.title")


def test_who_tries_again_stays_while_all_is_taken(others):
    app = App()

    app.test.button[0].click().run()

    assert app.test.title[0].value == Texts("en")("full.title")
    app.assert_calm()


def test_who_tries_again_when_a_place_is_free_gets_what_the_link_leads_to(others):
    wanted = Experiment.from_preset("cat").with_cell("X", (0, 1), 1 / 3)
    app = App("masks", lang="zh", s="leaks", e=link.encode(wanted))
    others.remove("another")

    app.test.button[0].click().run()

    app.assert_calm()
    assert app.test.title[0].value == Texts("zh")("lesson.masks.question")
    assert to_plain(app.experiment) == to_plain(wanted)
    assert app.address["query"]["s"] == "leaks"


def test_who_is_in_and_comes_back_is_let_in_though_all_is_taken(others, monkeypatch):
    others.remove("another")
    app = App()
    full = Admission(1, is_there=lambda _: True)
    assert full.enter("another")
    monkeypatch.setattr(waiting_room, "_ADMISSION", full)

    app.set("d_k", 3)

    assert app.experiment.d_k == 3
    app.assert_consistent()

"""Lesson links: what is chosen stands in the link, and who opens it finds exactly that."""

from dataclasses import replace
from urllib.parse import parse_qsl, urlsplit

import pytest

from attention_core import Experiment, Mask, to_plain
from playground import catalog, lesson, lesson_link, link, parts, share
from playground.catalog import LESSONS
from playground.invitation import CONTROLS, MOST_NOTE
from playground.parts import BOARD
from playground.texts import LANGUAGES, small
from tests.pages.driver import App
from tests.pages.test_pages import HOSTILE, LOCALES, cell, crowded

every_language = pytest.mark.parametrize("language", LANGUAGES)
APP = "http://localhost:8501/"
MASKED = replace(Experiment.from_preset("cat"), mask=Mask(("window", "padding")))


def shown(app):
    """The controls of the experiment that stand beside the page."""
    keys = {getattr(element, "key", None) for element in app.test.sidebar}
    sections = {section.label for section in app.test.sidebar.expander}
    folded = {
        "sentence": app.t("sentence.title") in sections,
        "take_away": app.t("take_away.file") in sections,
    }
    return {name for name in CONTROLS if name in keys or folded.get(name)}


def made(app):
    """The link in the section: path, and query."""
    (code,) = app.test.code
    address = urlsplit(code.value)
    return address.path, dict(parse_qsl(address.query, strict_parsing=True))


# --- opening a link


@pytest.mark.parametrize("name", CONTROLS)
def test_a_link_shows_the_control_that_it_names_and_no_other(name):
    app = App("masks", c=name, e=link.encode(MASKED))

    app.assert_calm()
    assert shown(app) == {name}
    sizes = {"before", "after", "n_padding"}
    keys = {slider.key for slider in app.test.slider}
    assert keys & sizes == (sizes if name == "mask" else set())
    assert app.t("control.randomize") not in [b.label for b in app.test.button] or name == "seed"


@every_language
@pytest.mark.parametrize("lesson", [lesson.id for lesson in LESSONS])
def test_every_page_opens_with_no_control_and_a_note(lesson, language):
    app = App(lesson, locale=LOCALES[language], c="-", n=HOSTILE)

    app.assert_calm()
    assert shown(app) == set()
    assert [text.value for text in app.test.text] == [HOSTILE]
    assert not any("<b>$x$" in text for text in app.markdown())
    assert app.t("share.note_title") in app.markdown()
    assert {"language"} <= {getattr(element, "key", None) for element in app.test.sidebar}
    assert app.t("share.title") in [section.label for section in app.test.sidebar.expander]
    assert {app.address["query"][name] for name in ("c", "n")} == {"-", HOSTILE}


def test_an_address_that_asks_for_nothing_shows_all_controls_and_no_note():
    app = App()

    assert shown(app) == set(CONTROLS)
    assert app.t("control.all") not in [button.label for button in app.test.button]
    assert len(app.test.text) == 0


def test_what_hidden_controls_are_about_stays_as_the_link_says_through_edits_and_undo():
    start = replace(MASKED.resized(n_heads=2), encoding="alibi", is_scaled=False)
    start = start.with_output_projection(True)
    app = App(c="d_k", e=link.encode(start))

    app.set("d_k", 3).send(cell(1, 7.0)).visit("masks").visit("playground")
    edited = app.experiment
    app.press(app.t("control.undo")).press(app.t("control.undo"))

    app.assert_consistent()
    assert to_plain(app.experiment) == to_plain(start)
    assert to_plain(edited) == to_plain(start.resized(d_k=3).with_cell("X", (0, 0), 7.0))
    assert shown(app) == {"d_k"}
    app.press(app.t("control.reset"))
    assert to_plain(app.experiment) == to_plain(Experiment.from_preset("cat"))


@pytest.mark.parametrize("lesson", ["playground", "masks"])
def test_all_controls_come_back_as_the_experiment_is_and_stay(lesson):
    app = App(lesson, c="mask.seed", n="Hello", e=link.encode(MASKED))

    app.press(app.t("control.all"))

    app.assert_consistent() if lesson == "playground" else app.assert_calm()
    assert shown(app) == set(CONTROLS)
    assert app.test.selectbox(key="preset").value == "cat"
    assert (app.address["query"]["c"], app.address["query"]["n"]) == ("", "Hello")
    assert shown(app.visit("permutation")) == set(CONTROLS)


def test_a_note_that_is_closed_is_gone_from_page_and_address():
    app = App(c="mask", n="Hello")

    app.press(app.t("share.note_close"))

    assert len(app.test.text) == 0
    assert (app.address["query"]["c"], app.address["query"]["n"]) == ("mask", "")
    assert len(app.visit("guide").test.text) == 0


@pytest.mark.parametrize(
    ("query", "controls", "note"),
    [
        ({"c": "password.<b>"}, set(), []),
        ({"c": "mask." * 1_000}, {"mask"}, []),
        ({"c": "", "n": "", "view": "cinema", "s": "no"}, set(CONTROLS), []),
        ({"n": "\x00\u202e "}, set(CONTROLS), []),
        ({"n": "x" * 10_000}, set(CONTROLS), ["x" * MOST_NOTE]),
    ],
)
def test_a_wrong_link_opens_calmly(query, controls, note):
    app = App("masks", **query)

    app.assert_calm()
    assert shown(app) == controls
    assert [text.value for text in app.test.text] == note


# --- an address that is too long


@every_language
@pytest.mark.parametrize(
    ("query", "notice"),
    [
        ({"e": link.encode(crowded()), "n": "Hello"}, "notice.link_too_long"),
        ({"e": link.encode(crowded()), "c": "mask"}, "notice.link_too_long_no_files"),
        ({"e": link.encode(crowded()), "c": "mask.take_away"}, "notice.link_too_long"),
        ({"n": "🙂" * 140}, None),
        ({"n": "🙂" * MOST_NOTE}, "notice.note_too_long"),
    ],
)
def test_the_warning_says_what_does_not_stand_in_the_address(query, notice, language):
    app = App(locale=LOCALES[language], **query)

    assert app.warnings == ([app.t(notice)] if notice else [])
    assert bool(app.address["query"]["e"]) == (notice is None or "note" in notice)
    assert [text.value for text in app.test.text] == [query[name] for name in query if name == "n"]
    assert shown(app) == set(query.get("c", ".".join(CONTROLS)).split("."))


# --- making a link


@every_language
@pytest.mark.parametrize("lesson", [lesson.id for lesson in LESSONS])
def test_on_every_page_the_link_is_of_what_is_shown(lesson, language):
    app = App(lesson, locale=LOCALES[language], h="2", e=link.encode(MASKED.resized(n_heads=2)))

    path, query = made(app.unfold("share"))

    app.assert_calm()
    assert path == ("/" if lesson == LESSONS[0].id else f"/{lesson}")
    assert query == {name: value for name, value in app.address["query"].items() if value}


def test_all_that_is_chosen_stands_in_the_link_and_changes_nothing_here():
    app = App("masks", e=link.encode(MASKED)).unfold("share")
    before, controls = app.address["query"], shown(app)

    app.set("share.place", "scaling.axis").set("share.view", "projector")
    app.set("share.language", "zh").set("share.controls", ["mask", "d_k"])
    app.set("share.note", f"  {HOSTILE} ")

    path, query = made(app)
    chosen = {"lang": "zh", "s": "axis", "view": "projector", "c": "d_k.mask", "n": HOSTILE}
    assert (path, query) == ("/scaling", chosen | {"e": before["e"]})
    assert (app.address["query"], shown(app)) == (before, controls)
    assert len(app.test.text) == 0
    opened = App("scaling", **query)
    assert shown(opened) == {"d_k", "mask"}
    assert opened.address["query"] == {"h": "", "l": "", **query}
    assert [text.value for text in opened.test.text] == [HOSTILE]


def test_what_was_chosen_is_there_again_on_another_page_and_when_the_section_was_closed():
    app = App("masks").unfold("share").set("share.note", "Hello").set("share.controls", ["seed"])

    app.visit("guide")
    app.test.session_state["share"] = False
    app.test.run()
    path, query = made(app.unfold("share"))

    assert path == "/guide"
    assert (query["n"], query["c"]) == ("Hello", "seed")
    assert app.test.text_input(key="share.note").value == "Hello"


def test_all_and_none_set_all_controls():
    app = App().unfold("share")

    app.press(app.t("share.none"))
    assert made(app)[1]["c"] == "-"
    assert app.test.button_group(key="share.controls").value == []

    app.press(app.t("share.all"))
    assert "c" not in made(app)[1]
    assert app.test.button_group(key="share.controls").value == list(CONTROLS)


def test_who_was_invited_passes_on_what_the_link_asked_for():
    app = App(c="mask", n="Hello", view="projector").unfold("share")

    query = made(app)[1]

    assert query == {name: value for name, value in app.address["query"].items() if value}


def test_every_place_that_can_be_chosen_is_a_page_or_a_step_of_one():
    places = set(share._places())

    steps = {f"{lesson.id}.{step}" for lesson in LESSONS for step in lesson.steps}
    assert places == steps | {"playground", "guide"}


# --- what a lesson is set to


def test_the_inputs_of_a_lesson_come_along_and_are_in_the_address_bar():
    app = App("masks", s="leaks", e=link.encode(MASKED)).unfold("share")
    app.set("masks.leak", "transposed").set("masks.token", 1)

    _, query = made(app)
    opened = App("masks", **query)

    assert link.unpack(query["l"]) == {"masks.leak": "transposed", "masks.token": 1}
    assert app.address["query"]["l"] == opened.address["query"]["l"] == query["l"]
    assert opened.board["matrices"] == app.board["matrices"]
    assert opened.test.slider(key="masks.token").value == 1


def test_a_link_to_another_lesson_carries_what_that_one_was_set_to():
    app = App("scaling", s="factor").set("scaling.factor", 10.0).visit("masks").unfold("share")
    assert "l" not in made(app)[1]

    app.set("share.place", "scaling.shift")
    query = made(app)[1]
    opened = App("scaling", **query)  # its inputs on another step wait for that
    assert opened.address["query"]["l"] == query["l"]
    opened.set("scaling.step", "factor")

    assert opened.test.select_slider(key="scaling.factor").value == 10.0
    assert "l" not in made(app.set("share.place", "guide"))[1]


@pytest.mark.parametrize(
    ("asked", "shown"),
    [
        ({"masks.leak": "no such"}, ("zeroed", 3)),
        ({"masks.leak": ["transposed"]}, ("zeroed", 3)),
        ({"masks.leak": {"a": 1}}, ("zeroed", 3)),
        ({"masks.leak": None}, ("zeroed", 3)),
        ({"masks.token": 99}, ("zeroed", 3)),
        ({"masks.token": -(10**30)}, ("zeroed", 1)),
        ({"masks.token": 2.5}, ("zeroed", 3)),
        ({"masks.token": 1e999}, ("zeroed", 3)),
        ({"masks.token": True}, ("zeroed", 3)),
        ({"masks.token": "1"}, ("zeroed", 3)),
        ({"masks.token": 2, "share.note": "x", "": 0}, ("zeroed", 2)),
        ({f"masks.{n}": n for n in range(41)} | {"masks.token": 1}, ("zeroed", 3)),
        ([["masks.token", 1]], ("zeroed", 3)),
    ],
)
def test_an_input_takes_from_a_link_only_what_it_can_be_set_to(asked, shown):
    app = App("masks", s="leaks", l=link.pack(asked))

    app.assert_calm()
    leak = app.test.button_group(key="masks.leak").value
    assert (leak, app.test.slider(key="masks.token").value) == shown


@pytest.mark.parametrize("text", ["x", "1", "1%", link.pack({"masks.token": 1})[:-2], "1" * 70_000])
def test_damaged_settings_are_passed_over(text):
    app = App("masks", s="leaks", l=text)

    app.assert_calm()
    assert app.test.slider(key="masks.token").value == 3
    assert app.address["query"]["l"] == ""


@pytest.mark.parametrize("lesson", [lesson.id for lesson in LESSONS if lesson.steps])
def test_no_setting_of_any_kind_breaks_an_input(lesson):
    """Each input of each step is asked to be each of some odd values."""
    for step in catalog.lesson(lesson).steps:
        keys = App(lesson, s=step).test.session_state["work"]["inputs"]
        for odd in (-1, 1e300, "<b>", ["a", 0.5]):
            asked = {key: odd for key in keys if not key.endswith(".step")}
            app = App(lesson, s=step, l=link.pack(asked))

            assert app.errors == [], (step, odd)
            assert [fault.value for fault in app.test.exception] == [], (step, odd)


# --- never an old link


def test_an_open_section_follows_an_edit_when_the_board_is_painted(asked):
    app = App().set("preset", "cat").send(cell(1, 5.0)).unfold("share")
    app.test.run()
    asked.clear()

    app.test.toggle(key="is_scaled").set_value(False).run()
    assert app.board["is_first"]  # so it asks for the rest
    app.paint()

    assert asked == [(BOARD,), (["equations", share.PART, BOARD],)]
    assert not link.decode(made(app)[1]["e"]).is_scaled


@pytest.mark.parametrize("step", ["cost", "cache"])
def test_an_open_section_follows_to_a_step_with_or_without_a_board(monkeypatch, step):
    """Only a board asks for what is stale; a step without one has to see to it itself."""
    monkeypatch.setattr(lesson, "answering", lambda change, **_: parts.answering(change))
    app = App("masks", e=link.encode(MASKED)).unfold("share")

    app.test.button_group(key="masks.step").set_value(step).run()  # the board's part alone
    if step == "cache":
        app.paint()

    assert made(app)[1]["s"] == step


# --- too long


@every_language
def test_a_link_that_is_too_long_is_not_handed_out_and_says_what_helps(language):
    app = App(locale=LOCALES[language], e=link.encode(crowded())).unfold("share")

    length = len(
        lesson_link.whole(APP, "playground", {"lang": language, "e": link.encode(crowded())})
    )
    assert app.warnings[-1] == app.t("share.too_long", length=length, most=link.BUDGET)
    assert len(app.test.code) == 0
    assert app.t("share.qr") not in [button.label for button in app.test.button]


@every_language
def test_a_note_that_is_too_long_for_the_link_can_be_made_shorter(language):
    app = App(locale=LOCALES[language]).unfold("share")

    app.set("share.note", "🙂" * MOST_NOTE)
    query = app.address["query"] | {"n": "🙂" * MOST_NOTE}
    length = len(lesson_link.whole(APP, "playground", query))
    assert app.warnings == [app.t("share.too_long_with_note", length=length, most=link.BUDGET)]

    app.set("share.note", "🙂" * 140)
    length = len(app.test.code[0].value)
    assert small(app.t("share.length", length=length, most=link.BUDGET)) in app.markdown()
    app.assert_calm()


@every_language
def test_the_length_of_the_note_is_told_and_what_is_cut(language):
    app = App(locale=LOCALES[language]).unfold("share")

    app.set("share.note", " 1  2 ")
    assert small(app.t("share.note_length", length=3, most=MOST_NOTE)) in app.markdown()

    app.set("share.note", "x" * 5_000)
    assert small(app.t("share.note_cut", length=MOST_NOTE, most=MOST_NOTE)) in app.markdown()
    assert made(app)[1]["n"] == "x" * MOST_NOTE
    assert len(app.test.text_input(key="share.note").value) < 1_000

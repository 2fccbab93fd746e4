"""Files in a real browser: reached by keyboard, made of what the board shows, opened again."""

import pytest
from playwright.sync_api import expect

from attention_core import Experiment, to_plain
from playground.session import Seen
from playground.take_away import KINDS, SECTION_KEY
from playground.texts import Texts
from tests.browser.driver import Playground

t = Texts("en")


@pytest.fixture
def playground(page, server):
    return Playground(page, server.url).open()


def open_section(playground):
    """With the keyboard alone; the focus stays on the heading of the section."""
    with playground.one_run():
        playground.page.locator(f".st-key-{SECTION_KEY} summary").focus()
        playground.page.keyboard.press("Enter")
    expect(playground.page.get_by_role("button", name=t(KINDS[0].text))).to_be_visible()


def upload(playground, name, content):
    file = {"name": name, "mimeType": "application/json", "buffer": content.encode()}
    with playground.one_run():
        playground.page.locator("input[type=file]").set_input_files(file)


def test_the_keyboard_saves_every_kind_of_file_of_what_the_board_shows(playground):
    page = playground.page
    playground.type("X", 0, 1, "1/3")
    shown = playground.experiment()
    open_section(playground)

    saved = {}
    for _ in KINDS:
        page.keyboard.press("Tab")
        with page.expect_download() as download:
            page.keyboard.press("Enter")
        saved[download.value.suggested_filename] = download.value.path().read_bytes()

    assert shown.X[0, 1] == 1 / 3
    seen = Seen(shown, url=f"{playground.url}/")
    expected = {kind.file_name: kind.make_of(seen) for kind in KINDS}
    assert saved == {
        name: made.encode() if isinstance(made, str) else made for name, made in expected.items()
    }


def test_a_saved_experiment_opens_and_later_edits_stay(playground):
    open_section(playground)

    upload(playground, "cat.json", KINDS[0].make(Experiment.from_preset("cat")))
    opened = playground.experiment()
    playground.type("X", 0, 0, "7")
    with playground.one_run():
        playground.page.locator(f".st-key-{SECTION_KEY} summary").click()
    open_section(playground)

    assert to_plain(opened) == to_plain(Experiment.from_preset("cat"))
    assert playground.experiment().X[0, 0] == 7
    playground.assert_consistent()


def test_a_wrong_file_is_explained_and_changes_nothing(playground):
    before = to_plain(playground.experiment())
    open_section(playground)

    upload(playground, "wrong.json", '{"version":1,"preset":"apple","seed":0,"X":{"3":NaN}}')

    expect(playground.page.get_by_role("alert")).to_contain_text("the field X.3")
    assert to_plain(playground.experiment()) == before

"""Two learners and one place: the second waits, and gets in by itself, with what the link holds."""

import pytest
from playwright.sync_api import expect

from attention_core import Experiment, to_plain
from playground import link
from playground.admission import VARIABLE
from playground.texts import Texts
from tests.browser.conftest import Server
from tests.browser.driver import Playground

t = Texts("en")


@pytest.fixture
def server(tmp_path, monkeypatch):
    monkeypatch.setenv(VARIABLE, "1")
    with Server(tmp_path / "log.txt") as running:
        yield running
    assert "Traceback" not in running.log.read_text(), running.log.read_text()


def test_who_waits_gets_in_by_itself_with_the_numbers_of_the_link(server, context, page):
    wanted = Experiment.from_preset("cat").with_cell("X", (0, 1), 1 / 3)
    inside = context.new_page()
    inside.goto(server.url)
    expect(inside.get_by_role("heading", level=1)).to_be_visible()

    page.goto(f"{server.url}/masks?s=leaks&e={link.encode(wanted)}")
    expect(page.get_by_role("heading", level=1)).to_have_text(t("full.title"))
    expect(page.get_by_test_id("stSidebar")).to_have_count(0)
    inside.close()

    expect(page.get_by_role("heading", level=1)).to_have_text(t("lesson.masks.question"))
    playground = Playground(page, server.url)
    playground.settle()
    assert to_plain(playground.experiment()) == to_plain(wanted)
    assert "s=leaks" in page.url

"""In a real browser, an address that is hostile all over opens a page on which nothing runs."""

from dataclasses import replace
from urllib.parse import quote

from playwright.sync_api import expect

from attention_core import Experiment
from playground import link
from playground.texts import Texts
from tests.browser.conftest import new_tab
from tests.browser.driver import Playground
from tests.hostile.nasty import TOKENS, WINDOW_FLAG

HOSTILE = replace(Experiment.from_preset("random").resized(n_tokens=12), tokens=TOKENS)


def assert_inert(page):
    """No script of a token has run, and the page is no wider than its window."""
    assert page.evaluate(f"window.{WINDOW_FLAG}") is None
    for node in (page.locator("html"), page.get_by_test_id("stMain")):
        assert node.evaluate("(node) => node.scrollWidth <= node.clientWidth")


def test_a_hostile_address_opens_calmly_and_its_tokens_are_text(context, server):
    t = Texts("zh")
    others = "&".join(f"{name}={quote(TOKENS[0])}" for name in ("h", "s", "c", "n", "view"))
    page, faults = new_tab(context)
    page.goto(f"{server.url}/no_such_page?lang=zh&e={link.encode(HOSTILE)}&{others}")
    playground = Playground(page, server.url)
    playground.settle()
    page.keyboard.press("Escape")  # Streamlit says that there is no such page

    playground.assert_consistent()
    assert playground.experiment().tokens == TOKENS
    assert_inert(page)

    playground.visit(t("lesson.permutation.title"), t("lesson.permutation.question"))
    expect(page.get_by_test_id("stException")).to_have_count(0)
    assert_inert(page)
    assert [fault for fault in faults if "does not seem to exist" not in fault] == []
    page.close()

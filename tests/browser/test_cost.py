"""The step on cost in a real browser: choose, measure, double the tokens, measure again."""

import re

from playwright.sync_api import Page, expect

from attention_core import masks
from tests.browser.conftest import Server
from tests.browser.driver import Playground

# Counts the changes of the page during which a progress bar stands on it.
_WATCH = """() => {
  window.bars = 0;
  new MutationObserver(() => {
    window.bars += document.querySelectorAll("[data-testid=stProgress]").length;
  }).observe(document.body, { childList: true, subtree: true });
}"""


def test_a_learner_measures_doubles_the_tokens_and_measures_again(page: Page, server: Server):
    lesson = Playground(page, server.url).open("/masks?lang=en&s=cost")
    # The first: where one takes the place of another, both are there for a moment.
    found = page.get_by_test_id("stAlert").filter(has_text="Measured:").first
    chart = page.get_by_test_id("stPlotlyChart").first
    expect(chart.locator(".legendtext")).to_have_count(6)
    lesson.slide("Tokens", "ArrowLeft", times=2)
    near = int(masks.window(1024, 64, 64).sum())
    expect(found).to_contain_text(f"needs 1,048,576 pairs and the window {near:,}")

    lesson.press("Measure here")

    expect(found).to_contain_text(re.compile(r"differ by at most \S+\s×\s10⁻¹"))
    expect(found).to_contain_text("for 1,024 tokens")
    expect(chart).to_contain_text("Milliseconds, measured here")

    lesson.slide("Tokens", "ArrowRight")

    expect(found).to_contain_text("For 2,048 tokens")
    expect(found).not_to_contain_text("Windowed attention:")
    expect(page.get_by_text("Nothing has been measured with these settings yet")).to_be_visible()

    page.evaluate(_WATCH)
    lesson.press("Measure here")

    expect(found).to_contain_text("as long as for 1,024")
    expect(found).not_to_contain_text("was not run")
    assert page.evaluate("window.bars") > 0

    lesson.slide("Tokens", "ArrowLeft")
    page.evaluate("window.bars = 0")
    lesson.press("Measure here")

    expect(found).to_contain_text("as long as for 512")
    assert page.evaluate("window.bars") == 0  # it was kept

    lesson.click("Memory")

    expect(chart).to_contain_text("MB, points measured here")
    expect(chart.locator(".scatterlayer .points path")).to_have_count(9)

"""The step on the price of waiting in a real browser: measure, choose, measure again."""

import re

from playwright.sync_api import Page, expect

from attention_core.pace import multiply_adds
from playground.lessons.cost import power
from tests.browser.conftest import Server
from tests.browser.driver import Playground


def test_a_learner_measures_here_and_with_another_width(page: Page, server: Server):
    lesson = Playground(page, server.url).open("/why_attention?lang=en&s=pace")
    # The first: where one takes the place of another, both are there for a moment.
    found = page.get_by_test_id("stAlert").filter(has_text="Measured:").first
    chart = page.get_by_test_id("stPlotlyChart").first
    expect(chart).to_contain_text("Multiply-adds, on paper")
    for way in ("steps", "attention"):
        expect(found).to_contain_text(power(multiply_adds(way, 1024, 64)))

    lesson.press("Measure here")

    expect(found).to_contain_text(re.compile(r"For 1,024 tokens: \S+\s(ms|s) step by step"))
    expect(found).to_contain_text(re.compile(r"differ from theirs by at most \S+\s×\s10⁻¹"))
    expect(chart).to_contain_text("Milliseconds, measured here")
    expect(chart.locator(".scatterlayer .points path")).to_have_count(3 * 7)
    expect(page.get_by_role("button", name="Stop")).to_have_count(0)

    with lesson.one_run():
        page.get_by_role("radio", name="256", exact=True).click()

    expect(found).to_contain_text("No time has been measured with these settings yet")
    expect(chart).to_contain_text("Multiply-adds, on paper")

    lesson.press("Measure here")

    expect(found).to_contain_text(re.compile(r"For 1,024 tokens: \S+\s(ms|s) step by step"))
    expect(found).to_contain_text("Attention has 5.5 times the multiply-adds")
    assert (multiply_adds("attention", 1024, 256) / multiply_adds("steps", 1024, 256)) == 5.5

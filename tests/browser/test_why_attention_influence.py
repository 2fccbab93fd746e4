"""The step on influence, as a learner goes through it."""

import re

import pytest
from playwright.sync_api import expect

from attention_core.neural.influence import influence
from playground.jobs import View
from playground.lessons import why_influence
from playground.lessons.why_influence import Settings
from playground.texts import Texts
from tests.browser.driver import Playground

EN = Texts("en")


@pytest.fixture
def lesson(page, server):
    return Playground(page, server.url)


def choose(lesson, group, option):
    with lesson.one_run():
        lesson.page.get_by_role("radiogroup", name=group).get_by_role(
            "radio", name=option, exact=True
        ).click()


def expect_result(page, *settings):
    """The sentences and the table of exactly what the core measures."""
    result = influence(*settings)
    done = View("why_attention.influence", "done")
    found = page.get_by_test_id("stAlert").first  # another may take its place
    for sentence in why_influence.influence_found(EN, result, Settings(*settings), done):
        expect(found).to_contain_text(sentence, timeout=90_000)  # it is at work meanwhile
    for column in why_influence.table(EN, result).values():
        for cell in column:
            expect(page.get_by_test_id("stTable").first).to_contain_text(cell)


def test_a_learner_measures_who_forgets_and_who_does_not(lesson):
    lesson.open("/why_attention?lang=en&s=influence")
    page = lesson.page
    found = page.get_by_test_id("stAlert").first  # another may take its place
    expect(found).to_contain_text("from the first of 32 tokens")
    expect(found).to_contain_text("on 31 times")

    # Measured at 32 tokens: the curves come while it runs, and then the numbers.
    choose(lesson, "Seeds", "30")
    page.get_by_role("button", name="Measure").click()
    expect_result(page, 32, 16, 30)
    expect(page.locator(".js-plotly-plot .main-svg").first).to_be_visible()
    expect(page.get_by_test_id("stMain").get_by_role("button", name="Stop")).to_have_count(0)

    # "Measure twice as many tokens": what is shown is still of 32 until that is measured.
    choose(lesson, "Tokens", "64")
    expect(found).to_contain_text("measure again")
    page.get_by_role("button", name="Measure").click()
    expect_result(page, 64, 16, 30)
    level = [influence(length, 16, 30).curves["attention"].mean[0] for length in (32, 64)]
    assert level[1] < level[0]

    # A long one is stopped, and what it has so far stays.
    choose(lesson, "Tokens", "128")
    choose(lesson, "Width d", "64")
    choose(lesson, "Seeds", "300")
    page.get_by_role("button", name="Measure").focus()
    page.keyboard.press("Enter")
    main = page.get_by_test_id("stMain")
    expect(main).to_contain_text("With 128 tokens of width 64")
    expect(found).to_have_count(0)  # a screen reader would read it aloud at every look
    expect(page.get_by_role("button", name="Measure")).to_be_focused()
    with lesson.one_run():
        page.get_by_test_id("stMain").get_by_role("button", name="Stop").click()
    expect(page.get_by_test_id("stMain").get_by_role("button", name="Stop")).to_have_count(0)
    seeds = re.search(r"seeds: (\d+)", found.inner_text())
    assert seeds
    assert 0 < int(seeds[1]) < 300
    expect(page.get_by_role("button", name="Measure")).to_be_enabled()

"""Mistakes and cross-examination, as a learner goes through them with a model of their own."""

import pytest
from playwright.sync_api import expect

from playground.texts import Texts
from tests.browser.driver import Playground

EN = Texts("en")


@pytest.fixture
def lesson(page, server):
    return Playground(page, server.url)


def pick(lesson, name):
    with lesson.one_run():
        lesson.page.get_by_role("radio", name=name, exact=True).click()


def test_a_learner_reads_mistakes_and_examines_the_attention(lesson):
    lesson.open("/sentiment?lang=en&s=train")
    page, main = lesson.page, lesson.page.get_by_test_id("stMain")
    for name in ("LSTM", "LSTM + attention"):  # what is left learns in a second
        with lesson.one_run():
            page.get_by_role("button", name=name, exact=True).click()
    main.get_by_role("button", name="Train", exact=True).click()
    stop = main.get_by_role("button", name="Stop", exact=True)
    expect(stop).to_be_visible()
    expect(stop).to_have_count(0, timeout=60_000)

    # The third mistake is taken to where the model looks, and stays the sentence of that step.
    pick(lesson, EN("sentiment.errors.title"))
    third = page.get_by_test_id("stTable").first.get_by_role("row").nth(3)
    expect(third).to_contain_text("3")
    expect(page.get_by_test_id("stAlert")).to_contain_text("of 400 validation sentences")
    text = third.get_by_role("cell").nth(1).inner_text()
    pick(lesson, "3")
    with lesson.one_run():
        page.get_by_role("button", name=EN("sentiment.errors.look")).click()
    expect(main.get_by_role("radio", name=EN("sentiment.look.title"))).to_be_checked()

    # By the keyboard: examined, and the verdict comes with its numbers.
    pick(lesson, EN("sentiment.examine.title"))
    page.get_by_role("button", name=EN("sentiment.examine.start")).focus()
    page.keyboard.press("Enter")
    found = page.get_by_test_id("stAlert")
    expect(found).to_contain_text("On 400 validation sentences", timeout=60_000)
    expect(found).to_contain_text("Does it need its weights?")
    expect(page.get_by_test_id("stTable")).to_have_count(2)
    expect(page.locator(".js-plotly-plot .main-svg").first).to_be_visible()

    # The sentence that was taken along is there to be asked about.
    pick(lesson, EN("sentiment.examine.one"))
    pick(lesson, EN("sentiment.examine.of_look"))
    first = text.split()[0].lower()
    expect(page.locator(".js-plotly-plot .xtick").first).to_have_text(first)
    expect(found).to_contain_text("How alike the rankings are")

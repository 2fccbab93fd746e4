"""The step on sentences, as a learner goes through it."""

import re

import pytest
from playwright.sync_api import expect

from playground.lessons import sentiment
from playground.lessons import sentiment_texts as texts
from playground.lessons.sentiment import TEXTS
from playground.texts import Texts
from tests.browser.driver import Playground

EN = Texts("en")
ROWS = "".join(f"own number {i},{'pos' if i % 2 else 'neg'}\n" for i in range(24))
LARGE = "".join(f"own number {i} and {'much more ' * 10},{i % 2}\n" for i in range(20_000))


@pytest.fixture
def lesson(page, server):
    return Playground(page, server.url)


def choose(lesson, group, option):
    with lesson.one_run():
        lesson.page.get_by_role("radiogroup", name=group).get_by_role("radio", name=option).click()


def expect_sentences(page, **own):
    """Some sentences and the counts of exactly what the core makes of these settings."""
    source = sentiment.source(
        lambda key, default: own.get(key.removeprefix(f"{TEXTS}."), default), EN
    )
    corpus = sentiment.corpus(source)
    tables, found = page.get_by_test_id("stTable"), page.get_by_test_id("stAlert")
    for example in texts.shown(corpus, 0):
        expect(tables.first).to_contain_text(example.text)
    for column in texts.counts(EN, corpus).values():
        for cell in column:
            expect(tables.last).to_contain_text(cell)
    expect(found.last).to_contain_text(texts.found(EN, source)[-1])


def test_a_learner_chooses_sentences(lesson):
    lesson.open("/sentiment?lang=en&s=texts")
    page = lesson.page
    expect_sentences(page)

    # Chinese ones, then real reviews.
    choose(lesson, EN("sentiment.texts.language"), "中文")
    expect_sentences(page, language="zh")
    choose(lesson, EN("sentiment.texts.source"), EN("sentiment.texts.reviews"))
    expect_sentences(page, source="reviews")

    # One's own: by keyboard, then one that is wrong, then the largest file there may be.
    choose(lesson, EN("sentiment.texts.source"), EN("sentiment.texts.own"))
    field = page.get_by_role("textbox", name=EN("sentiment.texts.paste"))
    use = page.get_by_role("button", name=EN("sentiment.texts.use"))
    field.fill(ROWS)
    with lesson.one_run():
        field.press("Control+Enter")
    with lesson.one_run():
        use.press("Enter")
    expect_sentences(page, source="own", table=ROWS)
    field.fill(f"{ROWS}nothing else\n")
    use.click()  # what is in the field goes along
    expect(page.get_by_test_id("stAlert").first).to_contain_text("Columns in line 25: 1")
    expect_sentences(page, source="own", table=ROWS)
    with lesson.one_run():
        page.locator("input[type=file]").set_input_files(
            {"name": "own.csv", "mimeType": "text/csv", "buffer": LARGE.encode()}
        )
    expect_sentences(page, source="own", table=LARGE)

    # On to the training; what was chosen is there on the way back.
    with lesson.one_run():
        page.get_by_role("button", name=EN("sentiment.texts.go")).click()
    expect(page).to_have_url(re.compile("s=train"))
    choose(lesson, EN("exhibit.step"), EN("sentiment.texts.title"))
    expect_sentences(page, source="own", table=LARGE)

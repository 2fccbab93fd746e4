"""The step on query, key and value in words, as a learner goes through it."""

import pytest
from playwright.sync_api import expect

from attention_core import Experiment, to_plain
from playground.lessons import why_words
from playground.texts import Texts
from tests.browser.driver import Playground, reads_as

EN = Texts("en")


@pytest.fixture
def lesson(page, server):
    return Playground(page, server.url)


def test_a_learner_follows_the_cat_and_then_both_apples(lesson):
    lesson.open("/why_attention?lang=en&s=words")
    page = lesson.page
    found = page.get_by_test_id("stAlert")

    # The cat: what it asks for, who answers, what it gets; the same numbers stand on the board.
    cat = Experiment.from_preset("cat").trace().attention.heads
    expect(found).to_contain_text("asks for action (0.98)")
    expect(found).to_contain_text("追 (chases) answers best")
    for key in range(3):
        assert reads_as(lesson.text("weights", 0, key), cat.weights[0, 0, key])
    assert reads_as(lesson.text("asked", 0, 1), 0.98)
    lesson.cell("asked", 0, 1).hover()
    expect(page.locator(".board")).to_contain_text("0.98")
    expect(lesson.matrix("tokens_in").locator("input")).to_have_count(0)
    expect(page.locator(".board").get_by_text("+ token")).to_have_count(0)

    # Another token asks.
    with lesson.one_run():
        page.get_by_role("radio", name="追 (chases)").click()
    expect(found).to_contain_text("老鼠 (mouse) answers best")

    # Both apples: the same query, and another end.
    ends = {}
    for name, place in (("apple_company", 0), ("apple_fruit", 3)):
        e = Experiment.from_preset(name)
        with lesson.one_run():
            page.get_by_role("radio", name=why_words.examples(EN)[name]).click()
        expect(found).to_contain_text("asks for food (6), company (4) and device (4)")
        output = e.trace().attention.output[place]
        for feature in (0, 1):
            assert reads_as(lesson.text("output", place, feature), output[feature])
        ends[name] = e.feature_names[output.argmax()]
        expect(found).to_contain_text(f"here it leans to {ends[name]}")
    assert ends == {"apple_company": "company", "apple_fruit": "fruit"}

    # It goes along to the Playground, where a neighbour can be changed.
    lesson.press(EN("why_attention.words.take"))
    expect(page.get_by_role("button", name=EN("why_attention.words.taken"))).to_be_disabled()
    lesson.visit(EN("why_attention.words.go"), EN("lesson.playground.question"))
    assert to_plain(lesson.experiment()) == to_plain(Experiment.from_preset("apple_fruit"))
    lesson.type("X", 2, 4, "0")  # nothing to eat any more
    output = lesson.experiment().trace().attention.output[3]
    assert reads_as(lesson.text("output", 3, 0), output[0])
    assert output[0] < 0.9

"""The lesson on scaling and softmax, as a learner goes through it."""

import numpy as np
import pytest
from playwright.sync_api import expect

from attention_core import Experiment
from playground import link
from playground.lessons import scaling
from playground.texts import Texts
from tests.browser.driver import Playground, reads_as

EN = Texts("en")


@pytest.fixture
def lesson(page, server):
    return Playground(page, server.url)


def test_a_learner_finds_what_scaling_is_for_and_where_the_textbook_form_breaks(lesson):
    e = Experiment.from_preset("cat")
    lesson.open(f"/scaling?lang=en&e={link.encode(e)}")
    page = lesson.page

    # Half the rows stop learning at d_k = 512, none at d_k = 1.
    expect(page.locator(".js-plotly-plot .main-svg").first).to_be_visible()
    found = page.get_by_test_id("stAlert")
    sample = scaling.drawn(512, 2048, 0)
    expect(found).to_contain_text(scaling.percent(sample.unscaled.dead_share))
    lesson.slide("d_k", "Home")
    expect(found).to_contain_text("both are the same")

    # The factor: at 0 all weights are equal, at 100 there is one left.
    lesson.click("Factor and temperature")
    lesson.slide("Factor c, and temperature T = 1 / c", "Home")
    expect(lesson.cell("weights", 0, 0)).to_have_text("0.333")
    lesson.slide("Factor c, and temperature T = 1 / c", "End")
    scores = e.trace().attention.head(0).masked_scores
    expect(lesson.cell("weights", 0, int(scores[0].argmax()))).to_have_text("1.000")

    # Stability: slide until the textbook form breaks, and not one step later.
    lesson.click("Numerical stability")
    head = e.trace().attention.head(0)
    for offset in (offset for offset in scaling.OFFSETS if offset > 0):
        lesson.slide("Offset added to every score", "ArrowRight")
        both = scaling.both_ways(head, 0, "float16", offset)
        if np.isinf(both.textbook.total[0]):
            break
        expect(lesson.cell("textbook_total", 0, 0)).not_to_have_text("∞")
    assert 10 <= offset <= 12
    expect(lesson.cell("textbook_total", 0, 0)).to_have_text("∞")
    expect(found).to_contain_text("The textbook form breaks: ∞ appears first in")
    assert reads_as(lesson.text("shifted_weights", 0, 0), float(both.shifted.weights[0]))
    with lesson.one_run():
        page.get_by_role("radio", name="float32").click()
    expect(lesson.cell("textbook_total", 0, 0)).not_to_have_text("∞")
    expect(found).to_contain_text("The textbook form goes through in float32")

    # The wrong axis: pointing at a sum of a row shows what it was made of.
    lesson.click("Which axis")
    lesson.cell("columns_row_sums", 0, 0).hover()
    sums = scaling.down_columns(scores).sum(axis=1)
    assert reads_as(lesson.text("columns_row_sums", 0, 0), sums[0])
    expect(page.locator(".board")).to_contain_text(" + ")

    # Shift: a bias on every key changes no weight, one on every query does.
    lesson.click("Adding a constant")
    with lesson.one_run():
        page.get_by_role("radio", name="Every key").click()
    expect(found).to_contain_text("do not notice")
    with lesson.one_run():
        page.get_by_role("radio", name="Every query").click()
    expect(found).to_contain_text("The weights notice")
    moved = scaling.shifts(e, 0, 3, 0)["queries"]
    change = (moved.after.weights - moved.before.weights)[0, 0]
    assert reads_as(lesson.text("moved", 0, 0), change)

"""The lesson on masks, done as it asks: lay, paint, spell, leak, split and add a token."""

import numpy as np
from playwright.sync_api import expect

from attention_core import Experiment, Mask
from playground.texts import Texts
from tests.browser.driver import Playground

t = Texts("en")


def test_a_learner_does_the_lesson(page, server):
    lesson = Playground(page, server.url).open("/masks?lang=en")
    main = page.get_by_test_id("stMain")

    def click(text):
        with lesson.one_run():
            main.get_by_text(text, exact=True).click()

    def column(matrix, row):
        cells = lesson.matrix(matrix).locator(f'[role=gridcell][data-row="{row}"]')
        return cells.all_inner_texts()

    found = main.get_by_test_id("stAlert")

    # Patterns: lay one, paint against it, lay it again.
    click(t("masks.patterns.causal"))
    expect(found).to_contain_text(t("masks.patterns.forced", allowed=6, pairs=9, forced=3))
    assert column("mask", 0) == ["0", "−∞", "−∞"]
    assert lesson.experiment().mask == Mask(("causal",))
    with lesson.one_run():
        lesson.cell("mask", 0, 2).click()
    expect(main).to_contain_text(t("masks.patterns.differs", count=1))
    expect(lesson.cell("mask", 0, 2)).to_have_text("0")
    assert lesson.experiment().mask.painted == ((0, 2, True),)
    lesson.press(t("masks.patterns.lay"))
    expect(lesson.cell("mask", 0, 2)).to_have_text("−∞")
    assert lesson.experiment().mask == Mask(("causal",))

    # Spellings: an empty row in three precisions.
    click(t("masks.spellings.title"))
    click(t("masks.spellings.is_emptied"))
    expect(lesson.cell("boolean_weights", 2, 0)).to_have_text("NaN")
    click("float32")
    expect(lesson.cell("finite_weights", 2, 0)).to_have_text("0.333")
    click("float16")
    expect(lesson.cell("finite_weights", 2, 0)).to_have_text("NaN")
    assert column("ours_weights", 2) == ["0", "0", "0"]

    # Leaks: every mistake moves a row that the right mask keeps still.
    click(t("masks.leaks.title"))
    for mistake in ("added", "transposed", "on_rows", "after_softmax", "zeroed"):
        click(t.group("masks.leaks")[mistake])
        expect(found).to_contain_text(t("masks.leaks.right_stays", count=2))
        expect(lesson.matrix("broken_after").locator("td.marked").first).to_be_visible()
        assert column("right_before", 0) == column("right_after", 0)

    # Cross-attention: the shapes follow the split, and an empty side is said.
    click(t("masks.cross.title"))
    expect(lesson.matrix("weights")).to_contain_text("1 × 2")
    lesson.slide(t("masks.cross.n_source"), "ArrowLeft")
    expect(lesson.matrix("weights")).to_contain_text("2 × 1")
    lesson.slide(t("masks.cross.n_source"), "ArrowLeft")
    expect(found).to_contain_text(t("masks.cross.no_source"))

    # The cache: no earlier output moves, until the mask is off.
    click(t("masks.cache.title"))
    assert column("before", 0) == column("after", 0)
    click(t("masks.cache.is_causal"))
    expect(found).to_contain_text(t("masks.cache.stale"))
    expect(lesson.matrix("after").locator("td.marked")).to_have_count(6)

    # Polarity: the calls are there; all the while the experiment kept its mask alone.
    click(t("masks.polarity.title"))
    expect(main.get_by_test_id("stCode")).to_contain_text("attn_mask=is_blocked")
    assert lesson.experiment().mask == Mask(("causal",))
    np.testing.assert_array_equal(lesson.experiment().X, Experiment.from_preset().X)

"""The step on conventions, as a learner goes through it."""

import numpy as np
from playwright.sync_api import Page, expect

from attention_core import Experiment
from attention_core.neural.conventions import shown
from playground import link
from tests.browser.conftest import Server
from tests.browser.driver import Playground
from tests.browser.test_pytorch_parity import assert_reads

TWO = Experiment.from_preset("random").resized(n_tokens=4, d_model=4, d_k=2, n_heads=2)


def test_a_learner_walks_into_all_six_traps(page: Page, server: Server):
    playground = Playground(page, server.url)
    playground.open(f"/pytorch?lang=en&s=conventions&e={link.encode(TWO)}")

    arrays = shown(TWO, "polarity").arrays
    assert_reads(playground, "same_mask", arrays["same_mask"][0])
    assert_reads(playground, "function", arrays["function"][0])
    expect(page.get_by_text("def polarity(")).to_be_visible()

    playground.click("Empty rows")
    arrays = shown(TWO, "empty_rows").arrays
    assert_reads(playground, "with_weights", arrays["output"])
    assert_reads(playground, "without", arrays["without"])
    assert np.isnan(arrays["output"][3]).all()

    playground.click("Averaged heads")
    assert_reads(playground, "by_default", TWO.trace().attention.heads.weights.mean(axis=0))

    playground.click("is_causal, fewer queries")
    playground.slide("How many of the last queries", "ArrowRight")
    arrays = shown(TWO, "is_causal", n_queries=2).arrays
    assert_reads(playground, "came_out", arrays["came_out"][0])
    assert_reads(playground, "meant", arrays["meant"][0])

    playground.click("batch_first forgotten")
    assert_reads(playground, "came_out", np.ones((4, 1)))
    playground.cell("moved", 1, 0).click()
    expect(page.locator(".arithmetic")).to_contain_text("−")

    playground.click("train and eval")
    assert_reads(playground, "train", shown(TWO, "dropout").arrays["train"][0])
    playground.press("Drop others")
    assert_reads(playground, "train", shown(TWO, "dropout", seed=1).arrays["train"][0])

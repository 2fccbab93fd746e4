"""The lesson on several heads, as a learner goes through it."""

import re

import numpy as np
from playwright.sync_api import Page, expect

from attention_core import Experiment
from playground import link
from tests.browser.conftest import Server
from tests.browser.driver import Playground, reads_as

WIDE = Experiment.from_preset("random").resized(n_tokens=4, d_model=4, d_k=2, n_heads=2)


def assert_reads(playground: Playground, matrix: str, values: np.ndarray) -> None:
    for (row, column), value in np.ndenumerate(values):
        assert reads_as(playground.text(matrix, row, column), float(value)), (matrix, row, column)


def test_a_learner_cuts_heads_switches_one_off_and_shares_keys(page: Page, server: Server):
    playground = Playground(page, server.url)
    playground.open(f"/multi_head?lang=en&e={link.encode(WIDE)}")
    attention = WIDE.trace().attention

    # Switch head 1 off: the rest is what head 2 adds.
    with playground.one_run():
        page.get_by_role("button", name="Head 1", exact=True).click()
    assert_reads(playground, "kept", attention.contributions[1])
    expect(page.get_by_text("Off: Head 1.")).to_be_visible()

    # Three heads do not fit into four columns; four do, with the keyboard.
    cut = page.get_by_role("radiogroup", name="Heads", exact=True)
    with playground.one_run():
        cut.get_by_role("radio", name="3").click()
    expect(page.get_by_text("4 columns cannot be cut into 3 equal heads")).to_be_visible()
    with playground.one_run():
        cut.get_by_role("radio", name="4").focus()
        page.keyboard.press("Space")
    four = WIDE.with_heads(4)
    assert_reads(playground, "weights_3", four.trace().attention.heads.weights[3])

    # A missing transpose: point at a number in the wrong place, and read where it comes from.
    with playground.one_run():
        page.get_by_text("A missing transpose", exact=True).click()
    playground.cell("wrong_1", 0, 0).click()
    expect(page.locator(".arithmetic")).to_contain_text("projected queries, row 2, column 1")
    expect(playground.cell("wide", 1, 0)).to_have_class(re.compile("first"))

    # One pair of keys and values for all heads.
    with playground.one_run():
        page.get_by_text("Shared keys (GQA)", exact=True).click()
    with playground.one_run():
        page.get_by_role("radio", name="1 (multi-query)").click()
    assert_reads(playground, "shared", four.trace(n_kv_heads=1).attention.output)

    # What was cut here is there on the Playground.
    playground.visit("Playground", "Change a number")
    assert playground.experiment().n_heads == 4
    playground.assert_consistent()

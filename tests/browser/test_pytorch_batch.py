"""The step on a batch, as a learner goes through it."""

import re
from dataclasses import replace

import numpy as np
from playwright.sync_api import Page, expect

from attention_core import Experiment, Mask
from attention_core.words import with_words
from playground import link
from tests.browser.conftest import Server
from tests.browser.driver import Playground, reads_as

WIDE = Experiment.from_preset("random").resized(n_tokens=4, d_model=4, d_k=2, n_heads=2)


def assert_reads(playground: Playground, matrix: str, values: np.ndarray) -> None:
    for (row, column), value in np.ndenumerate(values):
        assert reads_as(playground.text(matrix, row, column), float(value)), (matrix, row, column)


def test_a_learner_writes_sentences_and_takes_the_padding_mask_away(page: Page, server: Server):
    playground = Playground(page, server.url)
    playground.open(f"/pytorch?lang=en&s=batch&e={link.encode(WIDE)}")

    # Two sentences of their own; the shorter one is shown, in the batch as alone.
    field = page.get_by_role("textbox", name="Sentences, one per line")
    field.fill("the cat sat\na dog")
    with playground.one_run():
        field.press("Control+Enter")
    short = with_words(WIDE, ("a", "dog"))
    attention = short.trace().attention
    assert_reads(playground, "together", np.pad(attention.heads.weights[0], ((0, 0), (0, 1))))
    assert_reads(playground, "output_alone", attention.output)
    expect(
        page.get_by_text("Every weight of a real token on padding is exactly 0.")
    ).to_be_visible()
    expect(playground.cell("together", 0, 2)).to_have_class(re.compile("marked"))

    # Without the mask the filling gets its part: its vector is 0, so its score is 0.
    with playground.one_run():
        page.get_by_text("Padding mask", exact=True).click()
    scores = np.pad(attention.heads.scaled_scores[0], ((0, 0), (0, 1)))
    leaking = np.exp(scores) / np.exp(scores).sum(axis=-1, keepdims=True)
    assert_reads(playground, "together", leaking)
    expect(page.get_by_text("weight leaks to padding")).to_be_visible()

    # What is said next: under a causal mask nobody looks at what stands behind.
    with playground.one_run():
        page.get_by_role("button", name="Causal", exact=True).click()
    expect(page.get_by_text("Even without the padding mask")).to_be_visible()
    causal = replace(short, mask=Mask(("causal",))).trace().attention
    assert_reads(playground, "alone", causal.heads.weights[0])

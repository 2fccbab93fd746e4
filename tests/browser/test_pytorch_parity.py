"""The step on parity, as a learner goes through it."""

import numpy as np
from playwright.sync_api import Page, expect

from attention_core import Experiment
from attention_core.neural.parity import parity
from playground import link
from playground.numerals import size
from tests.browser.conftest import Server
from tests.browser.driver import Playground, reads_as

TWO = Experiment.from_preset("random").resized(n_tokens=4, d_model=4, d_k=2, n_heads=2)


def assert_reads(playground: Playground, matrix: str, values: np.ndarray) -> None:
    for (row, column), value in np.ndenumerate(values):
        text = playground.text(matrix, row, column)
        assert text == "NaN" if np.isnan(value) else reads_as(text, float(value)), (matrix, row)


def test_a_learner_compares_routes_and_finds_who_gives_nan(page: Page, server: Server):
    playground = Playground(page, server.url)
    playground.open(f"/pytorch?lang=en&s=parity&e={link.encode(TWO)}")
    assert_reads(playground, "numpy", TWO.trace().attention.head(0).weights)

    # In float32 the differences are those of seven digits.
    playground.click("float32")
    narrow = parity(TWO, precision="float32")
    gap = narrow.passages["torch_layer"].gaps["weights"]
    assert_reads(playground, "theirs", gap.values[0])
    assert_reads(playground, "difference", gap.difference[0])
    row = page.get_by_role("row").filter(has_text="nn.MultiheadAttention")
    expect(row).to_contain_text(size(gap.largest))
    route, stage = narrow.worst
    largest = size(narrow.passages[route].gaps[stage].largest)
    expect(page.get_by_text(f"the largest difference is {largest}")).to_be_visible()

    # Padding over all tokens: PyTorch's layer gives NaN, its function does not.
    playground.click("Padding")
    playground.slide("Padding tokens at the end", "End")
    e = playground.experiment()
    assert not e.mask.allowed(4).any()
    assert_reads(playground, "theirs", np.full((4, 4), np.nan))
    expect(page.get_by_text("its softmax is 0 / 0 there")).to_be_visible()
    playground.cell("theirs", 0, 0).click()
    expect(page.locator(".arithmetic")).to_contain_text("nn.MultiheadAttention")
    with playground.one_run():
        page.get_by_role("radio", name="F.scaled_dot_product_attention").click()
    assert_reads(playground, "theirs", np.zeros((4, 4)))

    # Without the mask all agree again.
    playground.click("With the experiment's mask")
    assert_reads(playground, "numpy", TWO.trace().attention.head(0).weights)
    expect(page.get_by_text("its softmax is 0 / 0 there")).to_be_hidden()

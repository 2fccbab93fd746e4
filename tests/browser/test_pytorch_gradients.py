"""The step on gradients, as a learner goes through it."""

import re

import numpy as np
from playwright.sync_api import Page, expect

from attention_core import Experiment
from playground import link
from tests.browser.conftest import Server
from tests.browser.driver import Playground, reads_as

WIDE = Experiment.from_preset("random").resized(n_tokens=4, d_model=4, d_k=2, n_heads=2)
PROJECTED = WIDE.with_output_projection(True)


def slope(e: Experiment, matrix: str, index: tuple[int, ...], cell: tuple[int, int]) -> float:
    """By a small step of this one number, on a trace of its own each time."""
    value, step = getattr(e, matrix)[index], 1e-5
    low, high = (
        e.with_cell(matrix, index, value + s).trace().attention.output[cell] for s in (-step, step)
    )
    return float((high - low) / (2 * step))


def assert_reads(playground: Playground, matrix: str, values: np.ndarray) -> None:
    for (row, column), value in np.ndenumerate(values):
        assert reads_as(playground.text(matrix, row, column), float(value)), (matrix, row, column)


def test_a_learner_finds_what_a_number_depends_on_and_where_gradients_die(
    page: Page, server: Server
):
    playground = Playground(page, server.url)
    playground.open(f"/pytorch?lang=en&s=gradients&e={link.encode(PROJECTED)}")

    # The second column of the third token, through the second head.
    with playground.one_run():
        page.get_by_role("radiogroup", name="Output of").get_by_role("radio").nth(2).click()
    with playground.one_run():
        page.get_by_role("radiogroup", name="Column").get_by_role("radio").nth(1).click()
    with playground.one_run():
        page.get_by_text("Head 2", exact=True).click()
    expect(playground.cell("output", 2, 1)).to_have_class(re.compile("marked"))
    of_X = [[slope(PROJECTED, "X", (i, j), (2, 1)) for j in range(4)] for i in range(4)]
    assert_reads(playground, "slope_X", np.array(of_X))
    of_K = [[slope(PROJECTED, "W_K", (1, i, j), (2, 1)) for j in range(2)] for i in range(4)]
    assert_reads(playground, "slope_W_K", np.array(of_K))

    # Both slopes of a number are told where one points at it.
    playground.cell("slope_X", 0, 0).click()
    expect(page.locator(".arithmetic")).to_contain_text("difference of two outputs")

    # What is said next: a token that sees only itself learns nothing about where to look.
    with playground.one_run():
        page.get_by_role("button", name="Window", exact=True).click()
    for label in ("Window: tokens before", "Window: tokens after"):
        playground.slide(label, "Home")
    assert_reads(playground, "slope_W_Q", np.zeros((4, 2)))
    expect(page.get_by_text("W_Q and W_K cannot move anything")).to_be_visible()

    # Wider heads: W_Q hardly learns without scaling.
    with playground.one_run():
        page.get_by_text("Wider heads", exact=True).click()
    expect(page.get_by_text("At d_k = 512 the median gradient of W_Q")).to_be_visible()
    expect(page.locator(".js-plotly-plot .xtick").first).to_be_visible()

"""On a projector of 1280 × 720 a step fills the screen: large, whole, and without scrolling."""

from dataclasses import replace

import pytest
from playwright.sync_api import Page, expect

from attention_core import Experiment, Mask
from playground import link
from tests.browser.conftest import Server
from tests.browser.driver import Playground

MEASURED = """() => {
  const board = [...document.querySelectorAll("*")]
    .map((node) => node.shadowRoot?.querySelector(".board")).find(Boolean);
  const main = document.querySelector("[data-testid=stMain]");
  const cells = [...board.querySelectorAll("[role=gridcell]")]
    .filter((cell) => cell.checkVisibility() && !cell.closest(".compact"));
  const cards = [...board.querySelectorAll(".played .scroll")];
  const isCut = (cell) => {
    const holder = cell.querySelector("input") ?? cell;
    return holder.scrollWidth > holder.clientWidth || holder.scrollHeight > holder.clientHeight + 4;
  };
  const told = board.querySelector(".explanation");
  return {
    sentence: board.querySelector(".play-told").innerText,
    explained: board.querySelector(".shown")?.innerText,
    untold: told.scrollHeight - told.clientHeight,
    scrolls: [main, document.scrollingElement].flatMap((node) =>
      [node.scrollHeight - node.clientHeight, node.scrollWidth - node.clientWidth]),
    cards: cards.map((card) => Math.max(
      card.scrollWidth - card.clientWidth, card.scrollHeight - card.clientHeight)),
    smallest: Math.min(...cells.map((cell) => parseFloat(getComputedStyle(cell).fontSize))),
    cut: cells.filter(isCut).map((cell) => cell.innerText),
  };
}"""


def six(encoding: str, n_heads: int = 1) -> Experiment:
    """6 tokens, d_model 8 and d_k 8, with all that adds a step."""
    e = Experiment.from_preset("random", seed=3).resized(n_tokens=6, d_model=8, d_k=8)
    e = e.resized(n_heads=n_heads).with_output_projection(True)
    return replace(e, encoding=encoding, mask=Mask(("causal",)))


NOTE = "Which row will change most? Look, guess, and tell your neighbour. " * 3  # as long as can be

# The smallest preset, the two with most steps, and a middling one: others differ in numbers alone.
KINDS = ("apple", "apple_company", "previous_token", "identity")

CASES = {
    **{name: Experiment.from_preset(name) for name in KINDS},
    "rope": six("rotary"),
    "bias": six("alibi"),
}


@pytest.mark.parametrize("name", CASES)
def test_every_step_fits_the_screen(page: Page, server: Server, name):
    playground = Playground(page, server.url)
    note = f"&n={NOTE}" if name == "rope" else ""  # takes the place of the heading
    playground.open(f"/?lang=en&view=projector&e={link.encode(CASES[name])}{note}")
    n_steps = int(page.locator(".play-count").inner_text().split("/")[1])

    for number in range(1, n_steps + 1):
        expect(page.locator(".play-count")).to_have_text(f"{number} / {n_steps}")
        shown = page.evaluate(MEASURED)

        assert shown["scrolls"] == [0, 0, 0, 0], number
        assert max(shown["cards"]) == 0, number
        assert shown["smallest"] >= 18, number
        assert shown["cut"] == [], number
        assert shown["untold"] == 0, number
        if " best: " in shown["sentence"]:  # the arithmetic is of the number that is spoken of
            assert f" {shown['explained']}." in shown["sentence"]
        page.keyboard.press("PageDown")


def test_a_matrix_wider_and_taller_than_the_screen_scrolls_in_its_card(page: Page, server: Server):
    playground = Playground(page, server.url)
    e = six("alibi", n_heads=8)
    playground.open(f"/?lang=zh&view=projector&e={link.encode(e)}")
    page.keyboard.press("End")

    shown = page.evaluate(MEASURED)

    assert shown["scrolls"] == [0, 0, 0, 0]
    assert max(shown["cards"]) > 0
    assert shown["smallest"] >= 18


def test_the_switch_lays_out_and_the_button_leads_back(page: Page, server: Server):
    playground = Playground(page, server.url).open("/?lang=en")
    sidebar = page.get_by_test_id("stSidebar")
    with playground.one_run():
        page.get_by_text("Projector", exact=True).click()

    expect(page.locator(".player")).to_be_visible()
    expect(sidebar).to_have_attribute("data-collapsed", "true")
    assert "view=projector" in page.url
    page.keyboard.press("ArrowRight")  # the focus is still on the switch
    expect(page.locator(".play-count")).to_have_text("2 / 8")
    page.get_by_role("button", name="All steps").click()
    playground.settle()
    assert page.evaluate(MEASURED)["smallest"] >= 18

    playground.open("/masks?lang=en&view=projector")
    expect(page.get_by_role("heading", level=1)).to_contain_text("?")
    assert page.evaluate(MEASURED)["smallest"] >= 18

    with playground.one_run():
        page.locator(".st-key-way_back button").filter(visible=True).click()
    expect(sidebar).to_have_attribute("data-collapsed", "false")
    assert "view" not in page.url
    assert page.evaluate("document.documentElement.dataset.view") is None

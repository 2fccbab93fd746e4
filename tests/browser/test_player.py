"""The step player: one step at a time, by clicker and keys; and a guess before the number."""

import json
import re

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from attention_core import Experiment
from playground import link
from playground.pipeline import pipeline
from tests.browser.conftest import Server
from tests.browser.driver import Playground, reads_as
from tests.browser.test_modules import call, modules  # noqa: F401

SHOWN = """() => {
  const board = [...document.querySelectorAll("*")]
    .map((node) => node.shadowRoot?.querySelector(".board")).find(Boolean);
  const cards = [...board.querySelectorAll(".card")].filter((card) => card.checkVisibility());
  return cards
    .sort((a, b) => a.style.order - b.style.order)
    .map((card) => card.dataset.matrix);
}"""

# All that eyes and screen readers get of the board, but the digits that are operands.
SAID = """() => {
  const board = [...document.querySelectorAll("*")]
    .map((node) => node.shadowRoot?.querySelector(".board")).find(Boolean);
  const cell = board.querySelector(".guess")?.closest("[role=gridcell]");
  const nodes = [...board.querySelectorAll(".explanation, .player, .player *, .explanation *")];
  const said = [board, ...(cell ? [cell, ...cell.querySelectorAll("*")] : []), ...nodes]
    .flatMap((node) => [...node.attributes].map((each) => each.value));
  const texts = [...board.querySelectorAll(".explanation, .player, .message")];
  return {
    cell: cell && {
      id: cell.closest("[data-matrix]").dataset.matrix,
      row: Number(cell.dataset.row),
      column: Number(cell.dataset.column),
      text: cell.innerText,
      colour: cell.style.backgroundColor + cell.style.color,
      label: cell.getAttribute("aria-label"),
      title: cell.getAttribute("title"),
    },
    arithmetic: board.querySelector(".arithmetic").textContent,
    isOpened: board.querySelector("[data-matrix=softmax]").checkVisibility(),
    text: [...said, ...texts.map((node) => node.textContent)].join(" "),
  };
}"""


@pytest.fixture
def player(page: Page, server: Server) -> Playground:
    playground = Playground(page, server.url).open("/?lang=en")
    page.get_by_role("button", name="Step by step", exact=True).click()
    return playground


def at(player: Playground, number: int, count: int = 8) -> None:
    expect(player.page.locator(".play-count")).to_have_text(f"{number} / {count}")


def test_keys_and_a_clicker_go_through_all_steps_and_stay_at_both_ends(player: Playground):
    keyboard, page = player.page.keyboard, player.page
    shown = []

    at(player, 1)
    keyboard.press("PageUp")
    at(player, 1)
    expect(page.locator(".play-back")).to_be_disabled()
    for number in range(1, 9):
        at(player, number)
        shown.append(page.evaluate(SHOWN))
        keyboard.press("ArrowRight" if number % 2 else "PageDown")
    at(player, 8)
    expect(page.locator(".play-next")).to_be_disabled()

    assert shown == [
        ["X"],
        ["X", "W_Q", "Q"],
        ["X", "W_K", "K"],
        ["X", "W_V", "V"],
        ["Q", "K", "scores"],
        ["scores", "scaled_scores"],
        ["scaled_scores", "weights", "softmax"],
        ["weights", "V", "output"],
    ]
    player.assert_shows(Experiment.from_preset())
    keyboard.press("ArrowLeft")
    at(player, 7)
    keyboard.press("Home")
    at(player, 1)
    keyboard.press("End")
    at(player, 8)

    # Arrows belong to a cell that has the focus; a clicker is heard wherever it is.
    player.cell("weights", 1, 1).focus()
    keyboard.press("ArrowLeft")
    at(player, 8)
    expect(player.cell("weights", 1, 0)).to_be_focused()
    keyboard.press("PageUp")
    at(player, 7)
    page.evaluate("document.activeElement.blur()")
    keyboard.press("PageUp")
    at(player, 6)

    # It comes back as it was left: after a page change, and when its matrix is gone.
    player.visit("Guide", "symbol")
    player.visit("Playground", "what moves")
    at(player, 6)
    player.click("Divide scores by √d_k")
    at(player, 6, 7)
    expect(page.locator(".play-name")).to_have_text("weights")
    player.press("Undo")

    # One follows a token, and pins; Escape lets go of the pin first.
    page.locator(".chip").nth(2).click()
    expect(page.locator(".play-told")).to_contain_text("苹果")
    player.cell("scores", 1, 1).click()
    page.evaluate("document.activeElement.blur()")
    keyboard.press("Escape")
    at(player, 6)
    page.locator(".play-next").focus()
    keyboard.press("Escape")
    expect(page.locator(".player")).to_be_hidden()
    assert len(page.evaluate(SHOWN)) == 12
    player.assert_consistent()


def test_an_edit_moves_the_step_at_once(player: Playground):
    player.page.keyboard.press("PageDown")

    player.type("X", 0, 0, "0.25")

    assert player.text("Q", 0, 0) == "0.25"
    expect(player.page.locator(".play-told")).to_contain_text("0.25 in column 1")
    player.assert_consistent()


def test_nothing_betrays_a_number_until_it_is_guessed(page: Page, server: Server):
    experiment = Experiment.from_preset("random", seed=5).resized(d_model=3, d_k=3)
    playground = Playground(page, server.url)
    playground.open(f"/?lang=en&view=projector&e={link.encode(experiment)}")
    matrices = {m.id: m.values for m in pipeline(experiment, experiment.trace(), 0)}
    page.locator(".play-check").check()
    n_steps = int(page.locator(".play-count").inner_text().split("/")[1])
    n_guessed = 0

    for number in range(1, n_steps + 1):
        at(playground, number, n_steps)
        said = page.evaluate(SAID)
        if said["cell"] is None:
            assert number == 1
            expect(page.locator(".play-told")).to_contain_text("Nothing to predict")
            page.keyboard.press("PageDown")
            continue
        cell = said["cell"]
        id, row, column = cell["id"], cell["row"], cell["column"]
        value = float(matrices[id][row, column])
        assert (row, cell["text"], cell["colour"], cell["title"]) == (0, "", "", None), cell
        assert cell["label"].endswith(": ?")
        assert abs(value) == np.abs(matrices[id][row]).max()
        assert said["arithmetic"] == ""
        assert not said["isOpened"]
        assert not [text for text in numbers_in(said["text"]) if betrays(text, value)]

        page.keyboard.press("PageDown")  # is held, and says why
        at(playground, number, n_steps)
        expect(page.locator(".guess")).to_be_focused()
        expect(page.locator(".message")).to_contain_text("Type a guess")
        page.keyboard.type("x")
        page.keyboard.press("Enter")
        expect(page.locator(".message")).to_contain_text("“x” is not a number")
        guess = value if number % 2 else value - 0.5
        page.keyboard.type(f"{guess:.6f}")
        page.keyboard.press("Enter")

        assert reads_as(playground.text(id, row, column), value)
        verdict = page.locator(".play-told strong").inner_text()
        assert ("right" if number % 2 else "0.5 more") in verdict
        assert page.locator(".arithmetic").inner_text()
        at(playground, number, n_steps)  # Enter has not gone on by itself
        n_guessed += 1
        page.keyboard.press("PageDown")
    assert n_guessed == n_steps - 1

    # A guess is for the number that was there: another one is hidden again.
    expect(page.locator(".guess")).to_have_count(0)
    page.keyboard.press("Home")
    page.keyboard.press("PageDown")
    expect(page.locator(".guess")).to_have_count(0)
    playground.type("X", 0, 0, "3.5")
    expect(page.locator(".guess")).to_have_count(1)
    page.locator(".play-check").uncheck()
    expect(page.locator(".guess")).to_have_count(0)
    playground.settle()
    playground.assert_consistent()


def numbers_in(text: str) -> list[str]:
    return re.findall(r"−?\d*\.\d+(?:e−?\d+)?", text)


def betrays(text: str, value: float) -> bool:
    return len(text.partition(".")[2]) > 1 and reads_as(text, value)


def test_the_player_fits_a_phone(player: Playground):
    page = player.page
    page.set_viewport_size({"width": 390, "height": 780})

    for number in range(1, 9):
        at(player, number)
        assert page.evaluate("document.scrollingElement.scrollWidth <= innerWidth")
        assert page.evaluate(
            "(m => m.scrollWidth <= m.clientWidth)(document.querySelector('[data-testid=stMain]'))"
        )
        page.keyboard.press("PageDown")


# --- arrangement.js


CARD = {"rows": 6, "columns": 8, "label": 60, "frame": 50}
SQUARE = CARD | {"rows": 8}
ROOM = {"width": 1240, "height": 440, "sign": 50, "gap": 8}
TYPE = {"smallest": 18, "largest": 36, "characters": 6}


def arranged(modules: Page, left: list, right: list, room: dict) -> dict:  # noqa: F811
    return call(modules, "arrangement", "arrange", left, right, room, TYPE)


def test_wide_matrices_leave_their_row_and_narrow_ones_do_not(modules: Page):  # noqa: F811
    narrow = CARD | {"columns": 2, "rows": 3}

    assert arranged(modules, [CARD, CARD], [SQUARE], ROOM)["layout"] == "block"
    assert arranged(modules, [narrow, narrow], [narrow], ROOM)["layout"] == "row"
    assert arranged(modules, [CARD], [], ROOM)["layout"] == "row"


@pytest.mark.parametrize("n_columns", [1, 3, 6, 8])
def test_what_is_arranged_fits_or_has_the_smallest_type(modules: Page, n_columns):  # noqa: F811
    card = CARD | {"columns": n_columns}
    for height in (200, 440, 900):
        how = arranged(modules, [card, card], [card], ROOM | {"height": height})
        stacked = 2 if how["layout"] == "block" else 1
        beside = 2 if how["layout"] == "block" else 3
        tall = stacked * (50 + 6 * (how["line"] + 2)) + 8 * (stacked - 1)
        wide = beside * (60 + 6 + n_columns * (how["cell"] + 2)) + 50 * (beside - 1)

        assert how["font"] >= 18
        assert wide <= 1240.5 or how["font"] == 18
        assert tall <= height + 0.5 or how["font"] == 18
        assert how["cell"] >= how["font"] * 0.5 * 6, json.dumps(how)

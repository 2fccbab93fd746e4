"""Each formula, number and unit of the Playground, by keyboard and by what a screen reader says."""

import re
from collections.abc import Iterator
from dataclasses import replace

import pytest
from playwright.sync_api import Browser, Page, expect

from attention_core import Experiment, Mask
from playground.formula import equations
from playground.pipeline import pipeline
from tests.browser.conftest import Server, watch_console
from tests.browser.driver import Playground, reads_as


@pytest.fixture(scope="module")
def one_tab(browser: Browser, server: Server) -> Iterator[Playground]:
    """One tab for all tests of this file, with the same experiment."""
    with browser.new_context(viewport={"width": 1280, "height": 720}, locale="en-US") as context:
        page = context.new_page()
        faults = watch_console(page)
        yield Playground(page, server.url).show(experiment())
    assert faults == []


@pytest.fixture
def tab(one_tab: Playground) -> Playground:
    """The same tab, with nothing open, pinned or in focus."""
    one_tab.page.keyboard.press("Escape")
    one_tab.page.evaluate(_LEAVE)
    expect(one_tab.page.locator(".board")).to_have_attribute("data-calm", "true")
    return one_tab


def experiment() -> Experiment:
    e = Experiment.from_preset("apple_company").resized(n_heads=2)
    e = replace(e, mask=Mask(("causal", "painted")), encoding="alibi")
    return e.with_output_projection(True).with_painted([(0, 2)], True)


def matrices():
    return pipeline(experiment(), experiment().trace(), 0)


def focused(page: Page) -> dict:
    """Where the keyboard is, and what a screen reader says of it."""
    return page.evaluate(_FOCUSED)


def stops(tab: Playground) -> list[dict]:
    """All that the Tab key comes to on the board, from its first control on."""
    page = tab.page
    page.locator(".chip").first.focus()
    found = [focused(page)]
    for _ in range(200):
        page.keyboard.press("Tab")
        if not focused(page)["isOnBoard"]:
            return found
        found.append(focused(page))
    raise AssertionError("the Tab key never leaves the board")


def test_the_tab_key_comes_to_each_matrix_once_and_to_every_control(tab: Playground):
    found = stops(tab)
    shown = [*(matrix.id for matrix in matrices()), "softmax"]

    for part in ("title", "copy", "cell"):
        matrix_of = [stop["matrix"] for stop in found if part in stop["parts"]]
        assert sorted(matrix_of) == sorted(shown), part
    n_tokens = experiment().n_tokens
    counts = {
        part: sum(part in stop["parts"] for stop in found)
        for part in (
            "chip",
            "play",
            "hold",
            "copy-link",
            "picture",
            "token",
            "remove",
            "add",
            "explanation",
        )
    }
    assert counts == {
        "chip": n_tokens,
        "play": 1,
        "hold": 1,
        "copy-link": 1,
        "picture": 1,
        "token": n_tokens,
        "remove": n_tokens,
        "add": 1,
        "explanation": 1,
    }
    assert len(found) == 3 * len(shown) + sum(counts.values())
    assert all(stop["name"] for stop in found)
    assert len({stop["name"] for stop in found if "cell" not in stop["parts"]}) == len(found) - len(
        shown
    )


def test_arrow_keys_come_to_every_cell_and_it_says_matrix_row_column_and_number(tab: Playground):
    page, e = tab.page, experiment()
    for matrix in matrices():
        rows, columns = matrix.values.shape
        start = tab.cell(matrix.id, 0, 0)
        target = start.locator("input") if matrix.is_editable else start
        target.focus()
        for row in range(rows):
            for step in range(columns):
                column = step if row % 2 == 0 else columns - 1 - step
                here = focused(page)
                assert (here["matrix"], here["row"], here["column"]) == (matrix.id, row, column)
                assert here["name"].startswith(tab.matrix(matrix.id).locator(".name").inner_text())
                if matrix.rows == "tokens":
                    assert e.tokens[row] in here["name"]
                if matrix.columns == "tokens":
                    assert e.tokens[column] in here["name"]
                number = here["name"].partition(", was ")[0].rpartition(": ")[2]
                assert reads_as(number, matrix.values[row, column]), here["name"]
                if step < columns - 1:
                    page.keyboard.press("ArrowRight" if row % 2 == 0 else "ArrowLeft")
            page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")  # at the last row it stays


def test_a_cell_is_described_by_its_arithmetic(tab: Playground):
    expected = {
        ("X", 0, 0): r"token vectors of 苹果, column fruit ",
        ("W_Q", 0, 1): r"query weights, row fruit, column 2 ",
        ("Q", 1, 0): r"queries of 公司, column 1 .* = .*·",
        ("scores", 1, 0): r"scores from 公司 to 苹果 .* = .*·",
        ("scaled_scores", 1, 0): r"scaled scores from 公司 to 苹果 .* / √2",
        ("bias", 1, 0): r"distance bias from 公司 to 苹果 −0\.0625 = ",
        ("mask", 0, 1): r"mask from 苹果 to 公司 −∞ .*it lies in the future",
        ("masked_scores", 0, 1): r"masked scores from 苹果 to 公司 −∞ ",
        ("weights", 1, 0): r"weights from 公司 to 苹果 0\.\d+ ≈ e\^?[−\d.]+ / \(e\^?[−\d.]+ \+ ",
        ("softmax", 2, 0): r"e\^… for 苹果 0\.\d+ ≈ e\^−1\.",
        ("head_output", 1, 0): r"head output of 公司, column 1 .*·",
        ("output", 1, 0): r"output of 公司, column fruit .*·",
    }
    assert {matrix for matrix, _, _ in expected} <= {m.id for m in matrices()} | {"softmax"}
    for (matrix, row, column), pattern in expected.items():
        cell = tab.cell(matrix, row, column)
        target = cell.locator("input") if cell.locator("input").count() else cell
        target.focus()

        expect(target).to_have_accessible_description(re.compile(pattern))


def test_a_power_is_said_as_a_power(tab: Playground):
    cell = tab.cell("weights", 1, 0)
    cell.focus()

    expect(cell).to_have_accessible_description(re.compile(r"≈ e ?\^ ?[−\d.]+ / \(e ?\^"))
    expect(tab.page.locator(".arithmetic")).not_to_contain_text("^")


def test_a_title_tells_formula_and_shape_when_it_is_reached(tab: Playground):
    for matrix in matrices():
        title = tab.matrix(matrix.id).locator(".title")
        title.focus()

        rows, columns = matrix.values.shape
        size = f"{rows} × {columns}: {rows} rows, {columns} columns"
        about = re.escape(title.get_attribute("title"))
        formula = " .* = .*" if matrix.expression else ".*"
        said = re.compile(f"{about}{formula}{size}")
        expect(title).to_have_accessible_description(said)


def test_menus_open_walk_and_close_by_keyboard_and_give_the_focus_back(tab: Playground):
    page = tab.page
    for opener, n_items in ((tab.matrix("K").locator(".copy"), 3), (page.locator(".picture"), 2)):
        opener.focus()
        name = focused(page)["name"]
        page.keyboard.press("Enter")

        menu = page.get_by_role("menu")
        expect(menu).to_have_attribute("aria-label", name)
        expect(opener).to_have_attribute("aria-expanded", "true")
        items = menu.get_by_role("menuitem")
        expect(items).to_have_count(n_items)
        for index in [*range(n_items), 0]:
            expect(items.nth(index)).to_be_focused()
            page.keyboard.press("ArrowDown")
        page.keyboard.press("ArrowUp")
        expect(items.nth(0)).to_be_focused()
        page.keyboard.press("Escape")
        expect(opener).to_be_focused()
        expect(menu).to_have_count(0)


def test_the_explanation_of_a_pin_can_be_read_and_scrolled_by_keyboard(tab: Playground):
    page = tab.page
    tab.cell("weights", 1, 0).focus()
    page.keyboard.press("Enter")
    page.locator(".explanation").focus()

    assert "weights from 公司 to 苹果" in focused(page)["text"]
    expect(page.locator(".explanation")).to_be_focused()
    expect(page.locator(".pinned")).to_have_count(1)


def test_each_equation_is_there_for_a_screen_reader(tab: Playground):
    e = experiment()
    expected = [equation.latex() for equation in equations(e, e.trace())]

    spoken = tab.page.locator("[data-testid=stMain] .katex-mathml annotation")
    texts = spoken.all_text_contents()

    assert all(latex in text for latex, text in zip(expected, texts, strict=True))
    assert tab.page.locator("[data-testid=stMain] math").count() == len(expected)


_LEAVE = """() => {
  let node = document.activeElement;
  while (node?.shadowRoot?.activeElement) node = node.shadowRoot.activeElement;
  node?.blur();
}"""

_FOCUSED = """() => {
  let node = document.activeElement;
  while (node?.shadowRoot?.activeElement) node = node.shadowRoot.activeElement;
  const cell = node.closest("[role=gridcell]");
  const described = (node.getAttribute("aria-describedby") ?? "").split(" ")
    .map((id) => id && node.getRootNode().getElementById(id)?.innerText).filter(Boolean);
  return {
    isOnBoard: Boolean(node.closest(".board")),
    parts: cell ? ["cell"] : [...node.classList],
    matrix: node.closest("[data-matrix]")?.dataset.matrix ?? null,
    row: cell && Number(cell.dataset.row),
    column: cell && Number(cell.dataset.column),
    name: node.getAttribute("aria-label") ?? node.innerText,
    text: node.innerText,
    description: described.join(" ").replaceAll("\\n", " "),
  };
}"""

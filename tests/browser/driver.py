"""Drives the app as a person does, and reads the board as a person does."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import parse_qs, urlsplit

import numpy as np
from playwright.sync_api import Locator, Page, TimeoutError, expect

from attention_core import Experiment, softmax_trace
from playground import link
from playground.exhibit import Exhibit
from playground.pipeline import Matrix, pipeline

READY = "[data-testid=stApp][data-test-script-state=notRunning]"


class Playground:
    """The Playground in one browser tab."""

    def __init__(self, page: Page, url: str) -> None:
        self.page, self.url = page, url

    @contextmanager
    def one_run(self) -> Iterator[None]:
        """What is done inside makes Python run; wait until the page shows what came of it."""
        before = self.page.locator("html").get_attribute("data-run") or ""
        yield
        self._wait_for(f"({_STATE})().run !== {json.dumps(before)}")
        self.settle()

    def _wait_for(self, claim: str) -> None:
        """Wait until the page bears this out.

        Each `expect` that has to wait makes Playwright describe the whole page, at the cost of an
        edit; hence not one for each of what is waited for most.
        """
        try:
            self.page.wait_for_function(claim, timeout=20_000, polling=40)
        except TimeoutError as error:
            raise AssertionError(f"{claim}: {self.page.evaluate(_STATE)}") from error

    def open(self, path: str = "/") -> "Playground":
        self.page.goto(self.url + path)
        self.settle()
        return self

    def show(self, experiment: Experiment, language: str = "en") -> "Playground":
        """Open the link of an experiment."""
        return self.open(f"/?lang={language}&e={link.encode(experiment)}")

    def unfold(self, key: str) -> Locator:
        """Open the section of this key, by its heading."""
        section = self.page.locator(f".st-key-{key} [data-testid=stExpander]")
        heading = section.locator("summary")
        heading.evaluate("(node) => node.scrollIntoView({ block: 'center' })")
        heading.click()
        drawn = section.locator("[data-testid=stExpanderDetails] [data-testid=stElementContainer]")
        expect(drawn.first).to_be_visible()
        self.settle()
        return section

    def settle(self) -> None:
        """Wait until Python has answered everything, and address bar and board show it."""
        self._wait_for(f"({_IS_SETTLED})(({_STATE})())")
        # Playwright hears of a new address later than the page has it.
        address = self.page.evaluate("location.href")
        self.page.wait_for_url(lambda heard: heard == address)

    def matrix(self, name: str) -> Locator:
        return self.page.locator(f'[data-matrix="{name}"]')

    def cell(self, matrix: str, row: int, column: int) -> Locator:
        place = f'[data-row="{row}"][data-column="{column}"]'
        return self.matrix(matrix).locator(f"[role=gridcell]{place}")

    def input(self, matrix: str, row: int, column: int) -> Locator:
        return self.cell(matrix, row, column).locator("input")

    def text(self, matrix: str, row: int, column: int) -> str:
        field = self.input(matrix, row, column)
        return field.input_value() if field.count() else self.cell(matrix, row, column).inner_text()

    def type(self, matrix: str, row: int, column: int, text: str, key: str = "Enter") -> None:
        """Go to a cell, type over its number as on a keyboard, and finish with a key."""
        self.input(matrix, row, column).click()
        self.page.keyboard.type(text)
        self.page.keyboard.press(key)
        self.settle()

    def drag(self, matrix: str, row: int, column: int, across: int) -> None:
        """Take a number and pull it sideways; the pointer stays down."""
        mouse = self.page.mouse
        field = self.input(matrix, row, column)
        field.scroll_into_view_if_needed()
        box = field.bounding_box()
        x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
        mouse.move(x, y)
        mouse.down()
        mouse.move(x + across, y, steps=10)

    def paste(self, matrix: str, row: int, column: int, text: str) -> None:
        """Paste a text from the clipboard into a cell."""
        self.page.evaluate("(text) => navigator.clipboard.writeText(text)", text)
        self.input(matrix, row, column).focus()
        self.page.keyboard.press("Control+V")

    def close_message(self) -> None:
        """Close what the board has said, so that what it says next is told from it."""
        self.input("X", 0, 0).click()
        self.page.keyboard.press("Escape")
        expect(self.page.locator(".message")).to_be_hidden()

    def copied(self) -> str:
        """What the clipboard holds."""
        return self.page.evaluate("navigator.clipboard.readText()")

    def press(self, name: str) -> None:
        button = self.page.get_by_role("button", name=name, exact=True)
        # Playwright alone may scroll it to where the header lies over it, and wait there.
        button.evaluate("(node) => node.scrollIntoView({ block: 'center' })")
        with self.one_run():
            button.click()

    def choose(self, label: str, option: str) -> None:
        box = self.page.get_by_role("combobox", name=label, exact=True)
        box.scroll_into_view_if_needed()
        self.page.evaluate(_NEXT_FRAME)  # a list that opens while its page scrolls closes again
        box.click()
        with self.one_run():
            self.page.get_by_role("option", name=option, exact=True).click()

    def slide(self, label: str, key: str, times: int = 1) -> None:
        self.page.get_by_role("group", name=label, exact=True).get_by_role("slider").focus()
        for _ in range(times):
            with self.one_run():
                self.page.keyboard.press(key)

    def click(self, text: str) -> None:
        with self.one_run():
            self.page.get_by_text(text, exact=True).click()

    def visit(self, lesson: str, heading: str) -> None:
        """Go to a lesson by the menu."""
        with self.one_run():
            self.page.get_by_role("link", name=lesson).click()
        expect(self.page.get_by_role("heading", level=1)).to_contain_text(heading)
        self.settle()  # the run waited for may have been an earlier one, of the page left

    # --- what is shown

    def experiment(self) -> Experiment:
        """The experiment that the address bar holds."""
        query = parse_qs(urlsplit(self.page.url).query)
        return link.decode(query["e"][0])

    def assert_shows(self, experiment: Experiment, head: int = 0) -> None:
        """Every number on the board is the one that the core computes for this experiment."""
        matrices = pipeline(experiment, experiment.trace(), head)
        assert self.page.locator(".katex-error").count() == 0
        shown = self.page.evaluate(_READ_BOARD)
        opened = shown.pop("softmax")
        assert list(shown) == [matrix.id for matrix in matrices]
        self._assert_opened(opened, {matrix.id: matrix for matrix in matrices})
        for matrix in matrices:
            for row, numbers in enumerate(matrix.values.tolist()):
                for column, number in enumerate(numbers):
                    text = shown[matrix.id][row][column]
                    assert reads_as(text, number), (matrix.id, row, column, text, number)

    def assert_exhibits(self, exhibit: Exhibit) -> None:
        """Every number on the board of a lesson is the one that this exhibit holds."""
        self.settle()
        shown = self.page.evaluate(_READ_BOARD)
        assert list(shown) == [matrix.id for matrix in exhibit.matrices]
        for matrix in exhibit.matrices:
            for (row, column), number in np.ndenumerate(matrix.values):
                text = shown[matrix.id][row][column]
                assert reads_as(text, number), (matrix.id, row, column, text, number)

    def _assert_opened(self, opened: list[list[str]], matrices: dict[str, Matrix]) -> None:
        """The softmax that is opened up is that of one row, step by step."""
        weights = matrices["weights"]
        scores = matrices[weights.operation["of"][0]].values
        row = scores[int(self.matrix("softmax").get_attribute("data-opened") or 0)]
        if np.isneginf(row).all():
            expected = [row, row, row, np.zeros_like(row)]
        else:
            steps = softmax_trace(row)
            expected = [row, steps.shifted, steps.exponentials, steps.weights]
        for texts, numbers in zip(opened, expected, strict=True):
            for text, number in zip(texts, numbers, strict=True):
                assert reads_as(text, number), ("softmax", text, number)

    def assert_consistent(self, head: int = 0) -> None:
        """The address bar, the board and the core agree."""
        self.settle()
        self.assert_shows(self.experiment(), head)


def reads_as(text: str, number: float) -> bool:
    """Whether a cell's text is this number, rounded to the digits it shows."""
    if text == "−∞":
        return number == float("-inf")
    digits, _, exponent = text.replace("−", "-").partition("e")
    decimals = len(digits.partition(".")[2])
    unit = 10.0 ** (int(exponent or 0) - decimals)
    return abs(float(text.replace("−", "-")) - number) <= 0.5000001 * unit


_STATE = """() => {
  const app = document.querySelector("[data-testid=stApp]");
  const found = (window.boardOfTests ??= {});  // it is asked for at each frame
  if (!found.board?.isConnected) {
    const hosts = [...document.querySelectorAll("*")].filter((node) => node.shadowRoot);
    found.board = hosts.map((node) => node.shadowRoot.querySelector(".board")).find(Boolean);
  }
  return {
    script: app?.checkVisibility() ? app.dataset.testScriptState : "",
    run: document.documentElement.dataset.run ?? "",
    hasBoard: location.pathname === "/" || Boolean(found.board),
    board: { ...found.board?.dataset },
  };
}"""

# One click may make two runs, and the board says when no other is to come of it.
_IS_SETTLED = """({ script, run, hasBoard, board }) =>
  script === "notRunning" && run !== "" && (!hasBoard || (
    board.pending === "0" && board.heard === "true" && board.first === "false"
    && board.run === run && board.calm === "true"))"""

_NEXT_FRAME = "() => new Promise((go) => requestAnimationFrame(() => requestAnimationFrame(go)))"

_READ_BOARD = """() => {
  const board = [...document.querySelectorAll("*")]
    .map((node) => node.shadowRoot?.querySelector(".board")).find(Boolean);
  const cards = [...board.querySelectorAll("[data-matrix]")];
  return Object.fromEntries(cards.map((card) => [
    card.dataset.matrix,
    [...card.querySelectorAll("tbody tr")].map((row) =>
      [...row.querySelectorAll("[role=gridcell]")].map(
        (cell) => cell.querySelector("input")?.value ?? cell.textContent)),
  ]));
}"""

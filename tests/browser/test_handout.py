"""A hand-out as it is opened from a folder, with no server and no network."""

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np
import pytest
from playwright.sync_api import Browser, Page, expect

from attention_core import Experiment, Mask
from playground.narrate import narrate
from playground.pipeline import pipeline
from playground.session import Seen
from playground.take_away import HANDOUT
from playground.texts import LANGUAGES, Texts
from tests.browser.conftest import PROJECTOR, watch_console
from tests.browser.driver import Playground, reads_as
from tests.playground.experiments import SETTINGS
from tests.playground.test_handout import HOSTILE, LARGEST, named

SAMPLE = [*(experiment for some in SETTINGS.values() for experiment in some[6::41]), LARGEST]
PAPER = {"width": 703, "height": 1020}  # CSS pixels of A4 within its margins


class Handout(Playground):
    """A hand-out in one browser tab."""

    def __init__(self, page: Page, folder: Path) -> None:
        super().__init__(page, "")
        self.folder = folder

    def hand_out(self, experiment: Experiment, language: str = "en", head: int = 0, url: str = ""):
        file = self.folder / HANDOUT.file_name
        file.write_text(
            HANDOUT.make_of(Seen(experiment, language, head, {}, url)), encoding="utf-8"
        )
        self.page.goto(file.as_uri())
        self.settle()
        return self

    def settle(self) -> None:
        board = self.page.locator(".board")
        expect(board).to_have_attribute("data-pending", "0")
        expect(board).to_have_attribute("data-calm", "true")
        expect(self.page.locator("html")).to_have_attribute("data-steps", "shown")

    def press(self, name: str) -> None:
        self.page.get_by_role("button", name=name, exact=True).click()
        self.settle()

    def assert_shows(self, experiment: Experiment, head: int = 0) -> None:
        """Every number on the board and in the steps is the one that the core computes."""
        super().assert_shows(experiment, head)
        shown = self.page.evaluate(_READ_STEPS)
        shown.pop("softmax")
        matrices = pipeline(experiment, experiment.trace(), head)
        assert list(shown) == [matrix.id for matrix in matrices]
        for matrix in matrices:
            texts = [list(row) for row in shown[matrix.id]]
            assert np.shape(texts) == matrix.values.shape
            for (row, column), number in np.ndenumerate(matrix.values):
                assert reads_as(texts[row][column], number), (matrix.id, row, column)

    def sentences(self) -> list[str]:
        return self.page.locator("#seen li").all_inner_texts()


# A wide matrix stands in several tables, one below the other.
_READ_STEPS = """() => Object.fromEntries([...document.querySelectorAll(".step")].map((step) => {
  const tables = [...step.querySelectorAll("table")].map((table) =>
    [...table.tBodies[0].rows].map((row) =>
      [...row.querySelectorAll("td")].map((cell) => cell.textContent)));
  return [step.dataset.step, tables[0].map((_, row) => tables.flatMap((table) => table[row]))];
}))"""


@pytest.fixture(scope="module")
def tab(browser: Browser) -> Iterator[tuple[Page, list[str]]]:
    """A tab without any network, that notes what is asked for and what goes wrong."""
    context = browser.new_context(viewport=PROJECTOR, locale="en-US", offline=True)
    page = context.new_page()
    faults = watch_console(page)
    page.on("dialog", lambda dialog: (faults.append(dialog.message), dialog.dismiss()))

    def note(request) -> None:
        if urlsplit(request.url).scheme not in ("file", "data", "blob"):
            faults.append(f"asked for {request.url}")

    page.on("request", note)
    yield page, faults
    context.close()


@pytest.fixture
def handout(tab: tuple[Page, list[str]], tmp_path: Path) -> Iterator[Handout]:
    page, faults = tab
    page.set_viewport_size(PROJECTOR)
    page.emulate_media(media="screen", color_scheme="light")
    yield Handout(page, tmp_path)
    assert faults == []
    page.evaluate("sessionStorage.clear()")


def test_every_number_is_the_core_s_whatever_the_settings(handout: Handout):
    for experiment in SAMPLE:
        head = experiment.n_heads - 1

        handout.hand_out(experiment, head=head)

        handout.assert_shows(experiment, head)


@pytest.mark.parametrize("language", LANGUAGES)
def test_its_sentences_are_those_of_the_app(handout: Handout, language: str):
    experiment = Experiment.from_preset("cat")

    handout.hand_out(experiment, language)

    told = narrate(Texts(language), experiment, experiment.trace(), 0)
    assert handout.sentences() == [sentence.text for sentence in told]
    expect(handout.page.locator("#edited")).to_be_hidden()
    expect(handout.page.locator("#cannot")).to_have_count(0)


def test_edits_move_everything_and_can_be_taken_back(handout: Handout):
    experiment = replace(Experiment.from_preset("cat"), mask=Mask(("causal",)))
    page = handout.hand_out(experiment).page

    handout.type("X", 1, 2, "1/3")
    handout.type("W_Q", 0, 0, "-2.5")
    handout.cell("mask", 0, 2).click()
    handout.input("W_V", 2, 1).focus()
    page.keyboard.press("+")
    handout.settle()

    edited = experiment.with_cell("X", (1, 2), 1 / 3).with_cell("W_Q", (0, 0, 0), -2.5)
    edited = edited.with_painted([(0, 2)], True)
    nudged = edited.with_cell("W_V", (0, 2, 1), -0.9)
    handout.assert_shows(nudged)
    expect(page.locator("#edited")).to_contain_text("were changed")
    assert handout.sentences() == []
    assert handout.cell("output", 0, 0).get_attribute("class") != ""

    page.keyboard.press("Control+z")
    handout.settle()
    handout.assert_shows(edited)
    page.keyboard.press("Control+z")
    handout.settle()
    handout.assert_shows(edited.with_painted([(0, 2)], False))
    handout.press("Back to the numbers as handed out")
    handout.assert_shows(experiment)
    assert len(handout.sentences()) > 2
    expect(page.locator("#edited")).to_be_hidden()
    handout.press("Undo")  # the way back can be taken back
    handout.assert_shows(edited.with_painted([(0, 2)], False))


def test_a_number_that_is_dragged_is_one_step(handout: Handout):
    experiment = Experiment.from_preset()
    handout.hand_out(experiment)

    handout.drag("X", 0, 0, 60)
    handout.page.mouse.up()
    handout.settle()

    dragged = float(handout.text("X", 0, 0))
    assert dragged > 1.5
    handout.assert_shows(experiment.with_cell("X", (0, 0), dragged))
    handout.press("Undo")
    handout.assert_shows(experiment)


def test_every_head_keeps_its_edits(handout: Handout):
    start = Experiment.from_preset("random").resized(n_heads=3).with_output_projection(True)
    handout.hand_out(replace(start, encoding="alibi"), head=2)

    handout.type("W_K", 0, 1, "1.25")
    handout.press("Head 1")
    handout.type("W_K", 0, 1, "-4")

    edited = replace(start, encoding="alibi").with_cell("W_K", (2, 0, 1), 1.25)
    edited = edited.with_cell("W_K", (0, 0, 1), -4)
    handout.assert_shows(edited, 0)
    expect(handout.page.get_by_text("Queries, keys, values, head 1").first).to_be_visible()
    handout.press("Head 3")
    handout.assert_shows(edited, 2)


def test_the_arithmetic_is_what_the_board_says_of_the_token_that_is_followed(handout: Handout):
    experiment = replace(Experiment.from_preset("repeated"), mask=Mask(("causal",)))
    page = handout.hand_out(experiment).page

    page.get_by_label("Arithmetic of").select_option("3")
    handout.settle()

    for id in ("Q", "scaled_scores", "masked_scores", "weights", "output"):
        lines = page.locator(f"[data-step={id}] .arithmetic li .parts").all_inner_texts()
        assert len(lines) == (5 if "s" in id else 2)
        for column, line in enumerate(lines):
            handout.cell(id, 3, column).focus()
            said = page.locator(".explanation .arithmetic").inner_text()
            assert said.replace("_", "") == line  # which has W with a small Q
    chosen = page.locator("[data-step=weights] tr.chosen th").inner_text()
    assert chosen == experiment.tokens[3]


@pytest.mark.parametrize("language", LANGUAGES)
def test_hostile_tokens_are_shown_and_never_run(handout: Handout, language: str):
    experiment = named(*HOSTILE)

    page = handout.hand_out(experiment, language, url="https://demo.example/").page
    handout.page.locator(".token").first.fill("<img src=x onerror=alert(2)>")
    handout.page.keyboard.press("Enter")
    handout.settle()

    handout.assert_shows(experiment)
    assert page.locator("script").count() == 3
    names = page.locator("[data-step=scores] tbody th").all_text_contents()
    assert names == ["<img src=x onerror=alert(2)>", *HOSTILE[1:]]


def test_what_only_the_app_can_do_is_not_offered(handout: Handout):
    url = "https://demo.example/"

    page = handout.hand_out(Experiment.from_preset(), url=url).page

    for text in ("+ token", "Copy link"):
        expect(page.get_by_role("button", name=text)).to_be_hidden()
    expect(page.locator(".remove").first).to_be_hidden()
    link = page.get_by_role("link", name="Open in the app, as handed out")
    assert link.get_attribute("href").startswith(f"{url}?lang=en&e=1")


def test_the_line_below_a_number_that_can_be_edited_is_seen(handout: Handout):
    """A browser cuts off what lies below the lowest letters of an input's font."""
    handout.hand_out(Experiment.from_preset())

    room, taken = handout.input("X", 0, 0).evaluate(_UNDERLINE)

    assert taken <= room


# In parts of the size of the font: how far down letters go, and where the line ends.
_UNDERLINE = """(input) => {
  const style = getComputedStyle(input);
  const size = parseFloat(style.fontSize);
  const pen = document.createElement("canvas").getContext("2d");
  pen.font = `${style.fontSize} ${style.fontFamily}`;
  const offset = parseFloat(style.textUnderlineOffset);
  const thickness = parseFloat(style.textDecorationThickness);
  return [pen.measureText("x").fontBoundingBoxDescent / size, (offset + thickness) / size];
}"""


def test_a_picture_of_it_names_the_app_and_no_folder(handout: Handout):
    page = handout.hand_out(Experiment.from_preset(), url="https://demo.example/").page

    page.get_by_role("button", name="Picture").click()
    with page.expect_download() as download:
        page.get_by_role("menuitem", name="SVG").click()

    svg = download.value.path().read_text(encoding="utf-8")
    assert "https://demo.example/?lang=en" in svg
    assert "file:" not in svg


# --- on paper


@pytest.mark.parametrize("experiment", [Experiment.from_preset(), LARGEST], ids=["small", "large"])
def test_on_paper_nothing_is_cut_and_nothing_is_dark(handout: Handout, experiment: Experiment):
    page = handout.hand_out(experiment).page

    page.emulate_media(media="print", color_scheme="dark")
    page.set_viewport_size(PAPER)

    expect(page.locator("#work")).to_be_hidden()
    assert page.get_by_role("button").count() == 0
    found = page.evaluate(_MEASURE)
    assert found["overflowing"] == []
    assert found["smallest"] >= 8  # points
    assert found["background"] == "rgb(255, 255, 255)"
    assert found["weight"] == page.locator("[data-step=weights] tbody td").first.evaluate(
        "(cell) => cell.style.getPropertyValue('--light')"
    )
    pdf = page.pdf(format="A4", prefer_css_page_size=True)
    n_pages = len(re.findall(rb"/Type\s*/Page\b", pdf))
    fewest, most = (12, 18) if experiment is LARGEST else (2, 4)  # another font, another count
    assert fewest <= n_pages <= most


_MEASURE = """() => {
  const wide = (node) => node.scrollWidth > node.clientWidth + 1;
  const cells = [...document.querySelectorAll("tbody td, .parts")];
  const sizes = cells.map((node) => parseFloat(getComputedStyle(node).fontSize) * 72 / 96);
  const weight = document.querySelector("[data-step=weights] tbody td");
  return {
    overflowing: [...document.querySelectorAll(".scroll, .equation, main, body")].filter(wide)
      .map((node) => node.outerHTML.slice(0, 200)),
    smallest: Math.min(...sizes),
    background: getComputedStyle(document.body).backgroundColor,
    weight: getComputedStyle(weight).backgroundColor,
  };
}"""

"""On a phone, with a finger: everything is reached, edited and read."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from attention_core import Experiment
from playground import link
from playground.texts import Texts
from tests.browser.conftest import Server, watch_console
from tests.browser.driver import Playground

SCREEN = {"width": 390, "height": 844}
AGENT = (
    "Mozilla/5.0 (Linux; Android 14; Pixel 8) AppleWebKit/537.36 (KHTML, like Gecko) "
    "Chrome/130.0.0.0 Mobile Safari/537.36"
)
LARGE = Experiment.from_preset("random").resized(n_tokens=12, d_model=8, d_k=8)
T = Texts("en")


@pytest.fixture(scope="module")
def phone(browser: Browser, server: Server) -> Iterator[Playground]:
    """The Playground with a large experiment on a phone."""
    is_phone = {"has_touch": True, "is_mobile": True, "user_agent": AGENT}
    with browser.new_context(viewport=SCREEN, locale="en-US", **is_phone) as context:
        page = context.new_page()
        faults = watch_console(page)
        yield Playground(page, server.url).open(f"/?lang=en&e={link.encode(LARGE)}")
    assert faults == []


def middle(phone: Playground, matrix: str, row: int, column: int) -> tuple[float, float]:
    """The middle of a cell, in the middle of the screen."""
    cell = phone.cell(matrix, row, column)
    cell.evaluate("(node) => node.scrollIntoView({ block: 'center', inline: 'nearest' })")
    box = cell.bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def swipe(page: Page, start: tuple[float, float], across: int, down: int) -> None:
    """A finger that is put down, goes its way in steps and is lifted."""
    finger = page.context.new_cdp_session(page)
    for kind, share in (("touchStart", 0), *(("touchMove", s / 8) for s in range(1, 9))):
        point = {"x": start[0] + share * across, "y": start[1] + share * down}
        finger.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": [point]})
    finger.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    finger.detach()


def scrolled(phone: Playground, matrix: str = "") -> float:
    """How far the page has been scrolled down, or a matrix sideways."""
    if matrix:
        return phone.matrix(matrix).locator(".scroll").evaluate("(node) => node.scrollLeft")
    return phone.page.get_by_test_id("stMain").evaluate("(node) => node.scrollTop")


def test_a_finger_drags_a_number_and_the_page_stays_where_it_is(phone: Playground):
    start = middle(phone, "X", 2, 1)
    before = scrolled(phone)

    swipe(phone.page, start, across=60, down=8)
    phone.settle()

    value = phone.experiment().X[2, 1]
    assert value == pytest.approx(LARGE.X[2, 1] + 1.0)
    assert scrolled(phone) == before
    phone.assert_consistent()


def test_a_tapped_number_is_typed_over(phone: Playground):
    middle(phone, "W_Q", 0, 7)
    phone.input("W_Q", 0, 7).tap()
    phone.page.keyboard.type("-2,5")
    phone.page.keyboard.press("Enter")
    phone.settle()

    assert phone.experiment().W_Q[0, 0, 7] == -2.5


def test_a_finger_scrolls_a_wide_matrix_under_its_names(phone: Playground):
    start = middle(phone, "weights", 2, 3)
    name = phone.matrix("weights").locator("tbody th").nth(2)
    place = name.bounding_box()
    fade = _FADE
    assert phone.matrix("weights").locator(".scroll").evaluate(fade) == 1

    swipe(phone.page, start, across=-180, down=0)

    moved = "(node) => node.scrollLeft > 100"
    handle = phone.matrix("weights").locator(".scroll").element_handle()
    phone.page.wait_for_function(moved, arg=handle)
    assert name.bounding_box() == place
    handle.evaluate("(node) => node.scrollTo(node.scrollWidth, 0)")
    phone.page.wait_for_function(f"(node) => ({fade})(node) === 0", arg=handle)


def test_a_tap_tells_how_a_number_was_made_and_another_one_lets_go(phone: Playground):
    expect(phone.page.locator(".explanation")).to_be_visible()
    middle(phone, "scores", 1, 0)
    cell, told = phone.cell("scores", 1, 0), phone.page.locator(".explanation")

    cell.tap()
    expect(told).to_contain_text("scores from quick to the")
    assert told.evaluate("(node) => node.getBoundingClientRect().bottom <= innerHeight")
    cell.tap()
    phone.page.evaluate("document.activeElement?.blur()")
    cell.evaluate("(node) => node.blur()")

    expect(told).to_have_text(T("board.hint_touch"))


def test_a_page_that_is_chosen_is_seen_and_its_figure_has_a_panel_below_the_other(
    phone: Playground,
):
    page = phone.page
    page.get_by_test_id("stExpandSidebarButton").tap()
    sidebar = page.get_by_test_id("stSidebar")
    expect(sidebar).to_be_in_viewport(ratio=1)

    with phone.one_run():
        page.get_by_role("link", name=T("lesson.scaling.title")).tap()

    expect(sidebar).not_to_be_in_viewport()
    plots = page.locator(".js-plotly-plot .bglayer .bg")
    expect(plots).to_have_count(2)
    upper, lower = (plots.nth(index).bounding_box() for index in range(2))
    assert upper["width"] == lower["width"] > SCREEN["width"] / 2
    assert lower["y"] > upper["y"] + upper["height"]


# How much of the shade over the right edge of a matrix is seen.
_FADE = "(node) => Number(getComputedStyle(node, '::after').opacity)"

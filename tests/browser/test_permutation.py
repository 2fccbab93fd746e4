"""The lesson on order as a learner does it: rows carried by hand and by key."""

from dataclasses import replace
from itertools import permutations

import pytest
from playwright.sync_api import Locator, Page, expect

from attention_core import Experiment
from attention_core.permutation import compare
from playground import link
from tests.browser.conftest import Server
from tests.browser.driver import Playground, reads_as

APPLE = Experiment.from_preset()  # 我 喜欢 苹果


@pytest.fixture
def lesson(page: Page, server: Server) -> Playground:
    return Playground(page, server.url).open(f"/permutation?lang=en&e={link.encode(APPLE)}")


def names(lesson: Playground) -> Locator:
    """What names the rows of PX."""
    return lesson.matrix("X_reordered").locator("tbody th")


def carry(lesson: Playground, row: int, to: int) -> None:
    """Take a row by its name and let it go over another one."""
    places = [names(lesson).nth(place).bounding_box() for place in (row, to)]
    (x, y), (_, end) = [(b["x"] + b["width"] / 2, b["y"] + b["height"] / 2) for b in places]
    lesson.page.mouse.move(x, y)
    lesson.page.mouse.down()
    lesson.page.mouse.move(x, end, steps=6)


def assert_shows(lesson: Playground, matrix: str, values) -> None:
    for row, numbers in enumerate(values.tolist()):
        for column, number in enumerate(numbers):
            text = lesson.text(matrix, row, column)
            assert reads_as(text, number), (matrix, row, column, text, number)


def pick(lesson: Playground, name: str) -> None:
    with lesson.one_run():
        lesson.page.get_by_role("radio", name=name, exact=True).click()


def test_rows_are_carried_by_hand_and_by_key_and_the_output_goes_along(lesson: Playground):
    measured = lesson.page.get_by_test_id("stAlert")
    names(lesson).first.scroll_into_view_if_needed()

    carry(lesson, 2, 0)
    expect(lesson.matrix("X_reordered").locator("tr.put-above")).to_contain_text("我")
    lesson.page.mouse.up()

    expect(names(lesson)).to_have_text(["苹果", "我", "喜欢"])
    expect(measured).to_contain_text("equivariance")
    output = APPLE.trace().attention.output
    assert_shows(lesson, "output_before", output)
    assert_shows(lesson, "output_reordered", output[[2, 0, 1]])
    assert_shows(lesson, "output_of_reordered", output[[2, 0, 1]])
    assert lesson.experiment().tokens == APPLE.tokens
    lesson.page.get_by_role("button", name="Follow “喜欢” from X to the output").click()
    for matrix in ("X_reordered", "output_before", "output_reordered", "output_of_reordered"):
        expect(lesson.matrix(matrix).locator("tr.followed")).to_contain_text("喜欢")

    names(lesson).nth(0).focus()
    lesson.page.keyboard.press("Alt+ArrowDown")
    lesson.page.keyboard.press("Alt+ArrowDown")  # before Python has answered the first

    expect(names(lesson)).to_have_text(["我", "喜欢", "苹果"])
    expect(names(lesson).nth(2)).to_be_focused()
    expect(measured).to_contain_text("own order")

    pick(lesson, "Try all orders")
    lesson.press("Try all 6 orders")
    expect(measured).to_contain_text("none of these orders changes the output")
    pick(lesson, "Positional encodings")
    expect(measured).to_contain_text("“None” without a mask")
    pick(lesson, "Rotary")
    pick(lesson, "Try all orders")
    lesson.press("Try all 6 orders")
    expect(measured).to_contain_text("Orders that change the output: 5")
    lesson.press("Look at this order in the first step")

    rotary = replace(APPLE, encoding="rotary")
    worst = max(permutations(range(3)), key=lambda order: compare(rotary, order).output_gap)
    expect(names(lesson)).to_have_text([APPLE.tokens[token] for token in worst])
    assert_shows(lesson, "difference", compare(rotary, worst).output_difference)


def test_escape_and_a_row_that_is_let_go_where_it_was_change_nothing(lesson: Playground):
    names(lesson).first.scroll_into_view_if_needed()
    carry(lesson, 0, 2)
    lesson.page.keyboard.press("Escape")
    lesson.page.mouse.up()
    carry(lesson, 0, 1)
    lesson.page.mouse.move(0, 0, steps=2)
    lesson.page.mouse.up()

    expect(lesson.matrix("X_reordered").locator("tr.carried")).to_have_count(0)
    expect(lesson.page.locator(".board")).to_have_attribute("data-pending", "0")
    expect(names(lesson)).to_have_text(["我", "喜欢", "苹果"])


def test_a_finger_carries_a_row_and_the_page_does_not_scroll_with_it(lesson: Playground):
    browser = lesson.page.context.new_cdp_session(lesson.page)
    browser.send("Emulation.setTouchEmulationEnabled", {"enabled": True})
    names(lesson).first.scroll_into_view_if_needed()
    first, last = (names(lesson).nth(row).bounding_box() for row in (0, 2))
    x = first["x"] + first["width"] / 2

    def touch(kind: str, *ys: float) -> None:
        points = [{"x": x, "y": y} for y in ys]
        browser.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

    touch("touchStart", first["y"] + 5)
    for step in range(1, 7):
        touch("touchMove", first["y"] + 5 + (last["y"] - first["y"]) * step / 6)
    touch("touchEnd")

    expect(names(lesson)).to_have_text(["喜欢", "苹果", "我"])
    assert names(lesson).first.bounding_box()["y"] == first["y"]
    lesson.page.close()  # it takes touch

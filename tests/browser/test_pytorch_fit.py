"""Gradient descent looks for a pattern: started, stopped, left, come back to, and taken along."""

import re

import numpy as np
from playwright.sync_api import Browser, Page, expect

from attention_core import Experiment
from attention_core.neural.fitting import least_loss, pattern
from playground import link
from tests.browser.conftest import Server
from tests.browser.driver import Playground, reads_as

REPEATED = Experiment.from_preset("repeated")
TARGET = pattern("previous", np.ones((5, 5), dtype=bool))


def opened(page: Page, server: Server, experiment: Experiment = REPEATED) -> Playground:
    return Playground(page, server.url).open(f"/pytorch?lang=en&s=fit&e={link.encode(experiment)}")


def button(page: Page, name: str):
    # Streamlit has a Stop of its own in the header while a run takes long.
    return page.get_by_test_id("stMain").get_by_role("button", name=name, exact=True)


def bar(page: Page):
    return page.get_by_text(re.compile(r"^Step \d+ of \d+: loss"))


def step_of(text: str) -> int:
    return int(re.search(r"Step (\d+)", text).group(1))


def slide_to_most(playground: Playground) -> None:
    """Ask for as many steps as there can be, so that it takes a while."""
    playground.slide("Steps", "ArrowRight", times=2)


def start(page: Page) -> None:
    """Start, and wait until it runs, after whatever other tests have left in the queue."""
    button(page, "Start").focus()
    page.keyboard.press("Enter")
    expect(bar(page)).to_be_visible(timeout=60_000)


def test_a_learner_starts_stops_leaves_comes_back_and_takes_the_result(page: Page, server: Server):
    playground = opened(page, server)
    slide_to_most(playground)

    # It starts by the keyboard, and moves while one watches.
    button(page, "Start").focus()
    page.keyboard.press("Enter")
    expect(bar(page)).to_be_visible()
    expect(button(page, "Stop")).to_be_focused()  # it stands where one has pressed
    first = bar(page).inner_text()
    expect(bar(page)).not_to_have_text(first)
    assert step_of(bar(page).inner_text()) > step_of(first)

    # It stops, and shows what it has found so far.
    button(page, "Stop").click()
    expect(button(page, "Start")).to_be_visible()
    playground.settle()  # the button comes before what has been found
    expect(page.locator(".js-plotly-plot").first).to_be_visible()
    stopped_at = page.get_by_text(re.compile(r"After step \d+ the loss has gone")).inner_text()
    assert 0 < step_of(stopped_at.replace("step", "Step")) < 1600
    playground.slide("Steps", "ArrowLeft", times=2)

    # It goes on while one looks at something else, from where a link leads back.
    button(page, "Start").click()
    expect(bar(page)).to_be_visible()
    playground.visit("Playground", "Change a number")
    back = page.get_by_role("link", name="Gradient descent")
    expect(back).to_be_visible()
    playground.assert_consistent()
    back.click()

    # It ends by itself, as low as equal words let it, and says why not lower.
    expect(button(page, "Take these matrices")).to_be_visible(timeout=60_000)
    playground.settle()
    expect(page.get_by_text(re.compile("After step 400"))).to_be_visible()
    bound = f"cannot go below {least_loss(REPEATED, 0, TARGET):.3g}"
    expect(page.get_by_text(bound)).to_be_visible()
    expect(page.get_by_text("It has come within 1 % of that.")).to_be_visible()
    expect(back).not_to_be_visible()

    # What was found goes along to the Playground.
    with playground.one_run():
        button(page, "Take these matrices").click()
    with playground.one_run():
        page.get_by_role("link", name="See it on the Playground").click()
    playground.assert_consistent()
    weights = playground.experiment().trace().attention.heads.weights[0]
    np.testing.assert_allclose(weights[2], [0, 0.5, 0, 0, 0.5], atol=0.01)


def test_a_target_is_painted_by_mouse_and_keyboard(page: Page, server: Server):
    playground = opened(page, server, Experiment.from_preset("cat"))
    playground.click("what I paint")
    expect(button(page, "Start")).to_be_disabled()

    # Pulled across two cells, they share the row; Enter takes one of them back.
    playground.cell("target", 0, 1).scroll_into_view_if_needed()
    start, end = (playground.cell("target", 0, column).bounding_box() for column in (1, 2))
    page.mouse.move(start["x"] + 20, start["y"] + 10)
    page.mouse.down()
    page.mouse.move(end["x"] + 20, end["y"] + 10, steps=5)
    page.mouse.up()
    expect(playground.cell("target", 0, 2)).to_have_text("0.5")
    playground.settle()
    page.mouse.move(0, 0)  # or what it points at would be explained
    playground.cell("target", 0, 1).focus()
    with playground.one_run():
        page.keyboard.press("Enter")

    row = [playground.text("target", 0, column) for column in range(3)]
    assert [reads_as(text, value) for text, value in zip(row, [0, 0, 1], strict=True)] == [True] * 3
    expect(page.locator(".arithmetic")).to_contain_text("this cell is not asked for")
    expect(button(page, "Start")).to_be_enabled()
    assert playground.experiment().mask.kinds == ()


def test_what_is_pressed_just_before_a_poll_counts_once(page: Page, server: Server):
    playground = opened(page, server)
    playground.slide("Width d_model", "ArrowRight", times=2)
    slide_to_most(playground)
    start(page)
    # A browser that is busy sends what was pressed late, and polls before.
    page.evaluate(
        """() => {
          const later = window.setTimeout;
          window.setTimeout = (run, wait, ...given) => later(run, wait || 1200, ...given);
          window.addEventListener("keydown", () => later(() => {
            window.setTimeout = later;
            window.isSent = true;
          }, 1500));
        }"""
    )

    button(page, "Undo").focus()
    page.keyboard.press("Enter")
    page.wait_for_function("window.isSent")
    width = page.get_by_role("group", name="Width d_model").get_by_role("slider")
    expect(width).to_have_value(str(REPEATED.d_model + 1))
    button(page, "Stop").click()  # what was sent before has been heard when this is answered
    expect(button(page, "Start")).to_be_visible()
    playground.settle()

    assert playground.experiment().d_model == REPEATED.d_model + 1


def test_the_server_ends_cleanly_while_a_fit_runs(browser: Browser, tmp_path):
    with Server(tmp_path / "log.txt") as own, browser.new_page(locale="en-US") as page:
        playground = opened(page, own)
        slide_to_most(playground)
        button(page, "Start").click()
        expect(bar(page)).to_be_visible()

        assert own.stop() == 0
    assert "Traceback" not in own.log.read_text()


def test_a_poll_takes_nothing_out_of_the_hand_and_reads_nothing_aloud(page: Page, server: Server):
    playground = opened(page, server)
    slide_to_most(playground)
    start(page)
    expect(page.get_by_text(re.compile("Measured: After step"))).to_be_visible()
    assert page.locator("[role=status]", has_text="After step").count() == 0

    # A slider of the sidebar is pulled, more slowly than the page looks at the job.
    width = page.get_by_role("group", name="Width d_model").get_by_role("slider")
    width.scroll_into_view_if_needed()
    box = width.bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.mouse.down()
    for _ in range(4):
        before = page.locator("html").get_attribute("data-run")
        page.mouse.move(box["x"] + box["width"] / 2 + 40, box["y"] + box["height"] / 2)
        expect(page.locator("html")).not_to_have_attribute("data-run", before)
    wanted = width.input_value()
    page.mouse.up()
    expect(button(page, "Start")).to_be_visible(timeout=60_000)
    playground.settle()

    assert int(wanted) != REPEATED.d_model
    assert playground.experiment().d_model == int(wanted)


def test_the_focus_stays_on_stop_while_the_page_looks_at_the_job(page: Page, server: Server):
    playground = opened(page, server)
    slide_to_most(playground)
    start(page)
    button(page, "Stop").focus()

    for _ in range(3):
        before = page.locator("html").get_attribute("data-run")
        expect(page.locator("html")).not_to_have_attribute("data-run", before)
        expect(button(page, "Stop")).to_be_focused()

    page.keyboard.press("Enter")
    expect(button(page, "Start")).to_be_visible()
    playground.settle()

"""Models are trained while one watches: started, stopped, left, come back to."""

import re

from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import Server
from tests.browser.driver import Playground


def opened(page: Page, server: Server) -> Playground:
    return Playground(page, server.url).open("/sentiment?lang=en&s=train")


def button(page: Page, name: str):
    # Streamlit has a Stop of its own in the header while a run takes long.
    return page.get_by_test_id("stMain").get_by_role("button", name=name, exact=True)


def table(page: Page):
    return page.get_by_test_id("stTable")


def test_a_learner_trains_stops_leaves_and_finds_what_came_of_it(page: Page, server: Server):
    playground = opened(page, server)
    start, stop = button(page, "Train"), button(page, "Stop")
    for model in ("Bag of words", "Attention alone"):
        playground.click(model)
    playground.slide("Epochs", "End")  # or it might come to its end before it is stopped

    # It starts by the keyboard, and moves while one watches.
    start.focus()
    page.keyboard.press("Enter")
    expect(stop).to_be_focused()  # it stands where one has pressed
    expect(table(page).get_by_text(re.compile(r"^epoch \d+ of 24$"))).to_be_visible(timeout=60_000)
    expect(table(page).get_by_text("waiting").first).to_be_visible()
    expect(page.locator(".js-plotly-plot").first).to_be_visible()
    expect(page.get_by_role("button", name="LSTM", exact=True)).to_be_disabled()

    # It stops, and says how far it came.
    stop.click()
    expect(start).to_be_visible()
    expect(
        page.get_by_text(re.compile(r"Stopped: of 6 runs \d had come to an end"))
    ).to_be_visible()

    # With one seed it goes on elsewhere, and is there again.
    playground.settle()
    playground.slide("Seeds", "ArrowLeft")
    start.click()
    expect(stop).to_be_visible()
    playground.visit("Playground", "Change a number")
    back = page.get_by_role("link", name="Training on text")
    expect(back).to_be_visible()
    back.click()
    expect(page.get_by_text(re.compile("Attention after the LSTM changes"))).to_be_visible(
        timeout=60_000
    )
    expect(start).to_be_visible()
    expect(table(page).get_by_text(re.compile(r"^\d+\.\d\s%$"))).to_have_count(2)


def test_the_server_ends_cleanly_while_models_are_trained(browser: Browser, tmp_path):
    with Server(tmp_path / "log.txt") as own, browser.new_page(locale="en-US") as page:
        opened(page, own)
        button(page, "Train").click()
        expect(table(page)).to_be_visible(timeout=60_000)

        assert own.stop() == 0
    assert "Traceback" not in own.log.read_text()

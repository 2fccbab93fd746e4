"""A server goes and another comes: the page goes on with its numbers, and nothing is done twice."""

import re

import pytest
from playwright.sync_api import Browser, expect

from tests.browser.conftest import Server, watch_console
from tests.browser.driver import Playground

SCALING = "Divide scores by √d_k"
D_K = "Width per head d_k"
GONE = re.compile("ERR_CONNECTION_REFUSED|disconnected from server|server is not responding|reach")


@pytest.fixture
def page(browser: Browser):
    page = browser.new_page(locale="en-US", viewport={"width": 1280, "height": 720})
    yield page
    page.close()


def test_a_page_whose_server_is_replaced_goes_on(page, tmp_path):
    faults = watch_console(page)
    first = Server(tmp_path / "first.txt")
    playground = Playground(page, first.url).open()
    playground.type("X", 0, 0, "2.5")
    page.get_by_role("button", name="+ token").click()
    playground.settle()
    before = playground.experiment()

    first.freeze()
    playground.input("X", 1, 1).click()
    page.keyboard.type("7")
    page.keyboard.press("Enter")
    page.get_by_text(SCALING, exact=True).click()
    expect(page.locator(".st-key-is_scaled input")).not_to_be_checked()
    first.kill()
    app = page.locator("[data-testid=stApp]")
    expect(app).not_to_have_attribute("data-test-connection-state", "CONNECTED")
    playground.input("X", 2, 1).click()  # while no server is there
    page.keyboard.type("8")
    page.keyboard.press("Enter")

    with Server(tmp_path / "second.txt", port=int(first.url.rpartition(":")[2])) as second:
        expect(app).to_have_attribute("data-test-connection-state", "CONNECTED", timeout=30_000)
        expect(page.locator(".board")).to_have_attribute("data-pending", "0")
        playground.settle()
        after = playground.experiment()
        playground.assert_shows(after)
        assert after.n_tokens == before.n_tokens == 4
        assert [after.X[0, 0], after.X[1, 1], after.X[2, 1]] == [2.5, 7.0, 8.0]
        assert (before.is_scaled, after.is_scaled) == (True, False)
        playground.slide(D_K, "ArrowRight")  # which stands on a part of the page
        assert playground.experiment().d_k == before.d_k + 1
    assert "Traceback" not in second.log.read_text()
    assert [fault for fault in faults if not GONE.search(fault)] == []

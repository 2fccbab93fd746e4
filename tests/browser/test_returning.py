"""A server goes and another comes: the page goes on with its numbers, and nothing is done twice."""

import re

import pytest
from playwright.sync_api import Browser, expect

from attention_core import to_plain
from playground.take_away import SECTION_KEY
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
    playground = Playground(page, first.url).open("/?lang=en")  # not what the address will be
    playground.type("X", 0, 0, "2.5")
    page.get_by_role("button", name="+ token").click()
    playground.settle()
    before = playground.experiment()

    first.freeze()
    type_quickly(playground, 1, 1, "7")
    page.get_by_text(SCALING, exact=True).click()
    expect(page.locator(".st-key-is_scaled input")).not_to_be_checked()
    first.kill()
    await_connection(page, is_there=False)
    type_quickly(playground, 2, 1, "8")

    with Server(tmp_path / "second.txt", port=port_of(first)) as second:
        await_connection(page)
        playground.settle()
        after = playground.experiment()
        playground.assert_shows(after)
        assert after.n_tokens == before.n_tokens == 4
        assert [after.X[0, 0], after.X[1, 1], after.X[2, 1]] == [2.5, 7.0, 8.0]
        assert (before.is_scaled, after.is_scaled) == (True, False)
        playground.slide(D_K, "ArrowRight")  # which stands on a part of the page
        assert playground.experiment().d_k == before.d_k + 1
        playground.unfold(SECTION_KEY)
        expected = playground.experiment().with_cell("X", (0, 1), 5.0).with_cell("X", (3, 1), 6.0)

    # Nothing was under way this time, so Streamlit does not ask the next server for anything.
    await_connection(page, is_there=False)
    type_quickly(playground, 0, 1, "5")
    type_quickly(playground, 3, 1, "6")
    with Server(tmp_path / "third.txt", port=port_of(first)) as third:
        await_connection(page)
        playground.settle()
        assert to_plain(playground.experiment()) == to_plain(expected)
        playground.assert_shows(expected)
    for server in (second, third):
        assert "Traceback" not in server.log.read_text()
    assert [fault for fault in faults if not GONE.search(fault)] == []


def port_of(server):
    return int(server.url.rpartition(":")[2])


def await_connection(page, *, is_there=True):
    app = page.locator("[data-testid=stApp]")
    expectation = expect(app).to_have_attribute if is_there else expect(app).not_to_have_attribute
    expectation("data-test-connection-state", "CONNECTED", timeout=30_000)


def type_quickly(playground, row, column, text):
    """Type a number into X, whether or not a server answers."""
    playground.input("X", row, column).click()
    playground.page.keyboard.type(text)
    playground.page.keyboard.press("Enter")

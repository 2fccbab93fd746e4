"""What the very first visitor of a freshly started server sees, and how the server ends."""

import signal

import pytest
from playwright.sync_api import BrowserContext, expect

from tests.browser.conftest import Server, watch_console
from tests.browser.driver import Playground


@pytest.mark.parametrize(
    ("path", "heading"),
    [
        ("/guide", "What does each symbol mean"),
        ("/guide?lang=zh", "每个符号是什么意思"),
    ],
)
def test_a_deep_link_may_be_the_very_first_request(
    context: BrowserContext, tmp_path, path: str, heading: str
):
    with Server(tmp_path / "log.txt") as server:
        page = context.new_page()
        faults = watch_console(page)

        Playground(page, server.url).open(path)

        expect(page.get_by_role("heading", level=1)).to_contain_text(heading)
        expect(page.get_by_role("heading", level=1)).to_have_count(1)
        assert faults == []
        page.close()
        assert server.stop() in (0, -signal.SIGTERM)
    assert "Traceback" not in server.log.read_text()

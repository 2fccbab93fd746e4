"""A running app and a real Chromium for the browser tests."""

import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from tests.browser.find_chromium import find_chromium

expect.set_options(timeout=20_000)  # a wait for a condition, however busy the machine is

ROOT = Path(__file__).parents[2]
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
PROJECTOR = {"width": 1280, "height": 720}
# A deep link makes Streamlit's own page look for its server below the path of the page first.
HARMLESS = re.compile(r"/\w+/_stcore/")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Server:
    """A script as `streamlit run app.py` starts it, with the settings of the app."""

    def __init__(
        self,
        log: Path,
        script: str = "app.py",
        port: int | None = None,
        settings: Mapping[str, str] | None = None,
    ) -> None:
        port = port or free_port()
        self.url = f"http://127.0.0.1:{port}"
        self.log = log
        command = [sys.executable, "-m", "streamlit", "run", script, "--server.headless=true"]
        options = ["--server.address=127.0.0.1", f"--server.port={port}"]
        self.started = time.time()
        self._process = subprocess.Popen(
            [*command, *options],
            cwd=ROOT,
            stdout=log.open("w"),
            stderr=subprocess.STDOUT,
            env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
            | dict(settings or {}),
        )
        self._wait_until_healthy()

    def __enter__(self) -> "Server":
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> int:
        """Ask it to end, and give its exit code."""
        self._process.terminate()
        return self._process.wait(timeout=30)

    def freeze(self) -> None:
        """Let it answer nothing from now on."""
        self._process.send_signal(signal.SIGSTOP)

    def kill(self) -> None:
        """Let it end at once, as when its machine fails."""
        self._process.kill()
        self._process.wait(timeout=30)

    @property
    def pid(self) -> int:
        return self._process.pid

    def _wait_until_healthy(self) -> None:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            try:
                with urllib.request.urlopen(f"{self.url}/_stcore/health", timeout=1) as answer:
                    if answer.read() == b"ok":
                        return
            except OSError:
                pass
            time.sleep(0.05)  # between two questions, not instead of one
        raise TimeoutError(self.log.read_text())


@contextmanager
def chromium() -> Iterator[Browser]:
    path = find_chromium()
    assert path, "no Chromium: `make test` installs one"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with Server(tmp_path_factory.mktemp("server") / "log.txt") as running:
        yield running
    assert "Traceback" not in running.log.read_text(), running.log.read_text()


@pytest.fixture(scope="session")
def context(browser: Browser) -> Iterator[BrowserContext]:
    """A browser in English on a projector; its tabs share a cache, each is a session."""
    context = browser.new_context(viewport=PROJECTOR, locale="en-US")
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    yield context
    context.close()


@pytest.fixture(scope="session")
def tabs(context: BrowserContext) -> list[tuple[Page, list[str]]]:
    """The tab that is free, if there is one, and the faults of its console."""
    return []


@pytest.fixture
def page(
    request: pytest.FixtureRequest, context: BrowserContext, tabs: list[tuple[Page, list[str]]]
) -> Iterator[Page]:
    """A tab as if it were new, whose console must stay clean.

    A tab that was used holds Streamlit's files compiled and opens the app in half the time. A test
    that leaves what `tidy` does not take away (touch, an init script) closes its tab at the end,
    and one with a clock has a context of its own: its other tabs would have that clock too.
    """
    n_failed = request.session.testsfailed
    page, faults = tabs.pop() if tabs else new_tab(context)
    yield page
    is_whole = request.session.testsfailed == n_failed and not page.is_closed()
    if is_whole:
        tidy(page)
    if is_whole and faults == []:
        tabs.append((page, faults))
    else:
        page.close()
    assert faults == []


def new_tab(context: BrowserContext) -> tuple[Page, list[str]]:
    page = context.new_page()
    return page, watch_console(page)


def tidy(page: Page) -> None:
    """Make a tab as a new one is, and end the learner's session in it."""
    page.mouse.move(0, 0)
    page.evaluate("localStorage.clear(); sessionStorage.clear()")
    page.unroute_all()
    page.emulate_media(color_scheme="light", reduced_motion="no-preference")
    page.set_viewport_size(PROJECTOR)
    page.goto("about:blank")


def watch_console(page: Page) -> list[str]:
    """Collects the errors that the page writes to its console from now on."""
    faults: list[str] = []

    def note(message: object) -> None:
        text, place = message.text, message.location.get("url", "")
        if message.type == "error" and not HARMLESS.search(place):
            faults.append(f"{text} ({place})")

    page.on("console", note)
    page.on("pageerror", lambda error: faults.append(str(error)))
    return faults

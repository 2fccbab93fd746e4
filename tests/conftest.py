"""What all tests share."""

from collections.abc import Iterator
from functools import cache
from types import SimpleNamespace

import pytest
from playwright.sync_api import Browser


@pytest.fixture(scope="session", autouse=True)
def _one_server_for_all_apps() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        serve_all_apps_at_once(patch)
        yield


def serve_all_apps_at_once(patch: pytest.MonkeyPatch) -> None:
    """Do once what a server does once, and AppTest again for each app.

    It reads the metadata of every installed package, in search of components, and at each run it
    compiles app.py and the page. The packages stay, and a script's cache is kept by its path.
    """
    from streamlit.components.v2 import manifest_scanner
    from streamlit.runtime.scriptrunner.script_cache import ScriptCache
    from streamlit.testing.v1 import app_test, local_script_runner

    components = cache(manifest_scanner.scan_component_manifests)
    scripts = ScriptCache()
    patch.setattr(manifest_scanner, "scan_component_manifests", components)
    patch.setattr(app_test, "ScriptCache", lambda: scripts)
    patch.setattr(local_script_runner, "ScriptCache", lambda: scripts)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """One for all that a process tests: Playwright allows no second."""
    from tests.browser.conftest import chromium

    with chromium() as running:
        yield running


@pytest.fixture
def work(monkeypatch: pytest.MonkeyPatch) -> dict[str, object]:
    """A session without a page, that has just begun in an English browser; its state."""
    import streamlit as st

    from playground import session

    monkeypatch.setattr(st, "session_state", {})
    monkeypatch.setattr(st, "query_params", {})
    monkeypatch.setattr(st, "context", SimpleNamespace(locale="en-US"))
    session.start()
    return st.session_state["work"]

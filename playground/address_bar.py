"""Keeps the address bar equal to the share link, without adding to the browser's history.

`st.query_params` would push a history entry on every run and trap the Back button.
"""

from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import streamlit as st

from playground import link, session
from playground.component import Component
from playground.texts import Texts

# The same module as the board imports, so from the same folder.
_FOLDER = Path(__file__).with_name("board")
_ADDRESS_BAR = Component("address_bar", _FOLDER, html="", is_styled=False)


def show(t: Texts) -> None:
    """Make the address the link of what is there, and tell the browser the page's language."""
    data = address(t)
    _ADDRESS_BAR(key="address_bar", data=data)
    warn(t, data)


def address(t: Texts) -> dict[str, Any]:
    """What the address bar shall hold; the board writes it itself, since a component is dear."""
    text = link.encode(session.experiment())
    host = len(st.context.url or "")
    head = str(session.head() + 1) if session.head() else ""
    query = {
        "lang": t.language,
        "h": head,
        "s": session.step(),
        **session.invited().query(),
        "e": text,
    }
    said = urlencode({name: value for name, value in query.items() if value})
    if host + len(f"?{said}") > link.BUDGET:
        query["e"] = ""
    return {"query": query, "language": t.language, "run": session.run()}


def warn(t: Texts, address: dict[str, Any]) -> None:
    """Say so where the link was too long for this address."""
    if not address["query"]["e"]:
        st.warning(t("notice.link_too_long"), icon=":material/link_off:")

"""Writes the share link into the address bar without adding to the browser's history.

`st.query_params` would push a history entry on every run and trap the Back button.
"""

from pathlib import Path

from playground.component import Component
from playground.texts import Language

_ADDRESS_BAR = Component("address_bar", Path(__file__).parent, html="", is_styled=False)


def show(query: dict[str, str], language: Language, run: int) -> None:
    """Make the address end in this query, and tell the browser the language of the page."""
    data = {"query": query, "language": language, "run": run}
    _ADDRESS_BAR(key="address_bar", data=data)

"""What the tests of pages share."""

import pytest
import streamlit as st


@pytest.fixture
def asked(monkeypatch):
    """What callbacks ask to be run; a control of the board's own part need ask for nothing."""
    scopes = []
    rerun = st.rerun

    def note(*scope):
        scopes.append(scope)
        rerun(*scope)

    monkeypatch.setattr(st, "rerun", note)
    return scopes

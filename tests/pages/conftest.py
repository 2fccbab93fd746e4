"""What the tests of pages share."""

import pytest
import streamlit as st

from playground import running
from playground.jobs import Jobs


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


@pytest.fixture
def jobs(monkeypatch):
    """Jobs of this test alone: no results of others."""
    own = Jobs(limit=1)
    monkeypatch.setattr(running, "_JOBS", own)
    yield own
    own.close()

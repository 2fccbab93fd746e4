"""A poll, which a browser sends by itself, presses nothing and leads to no page."""

import pytest
from streamlit.proto.ClientState_pb2 import ClientState
from streamlit.proto.WidgetStates_pb2 import WidgetState
from streamlit.runtime.app_session import AppSession
from streamlit.runtime.scriptrunner_utils.script_requests import RerunData, ScriptRequests

from playground import polls

SHOWN = WidgetState(id="slider", int_value=3)
PRESSED = [
    WidgetState(id="button", trigger_value=True),
    WidgetState(id="component", json_trigger_value="[1]"),
]


class Session:
    """As much of a session as a request needs here."""

    def __init__(self):
        self.heard = []

    def ask(self, page="", **kind):
        state = ClientState(query_string="e=x", page_script_hash=page, **kind)
        state.widget_states.widgets.extend([PRESSED[0], SHOWN, PRESSED[1]])
        AppSession.request_rerun(self, state)
        return state


@pytest.fixture
def session(monkeypatch):
    """A session, with Streamlit's own method mended anew."""
    monkeypatch.setattr(AppSession, "request_rerun", lambda self, state: self.heard.append(state))
    polls.mend()
    polls.mend()
    return Session()


def test_a_poll_tells_what_inputs_show_and_nothing_of_what_was_pressed(session):
    sent = session.ask(fragment_id="board", is_auto_rerun=True)

    (state,) = session.heard
    assert list(state.widget_states.widgets) == [SHOWN]
    assert (state.query_string, state.fragment_id, state.is_auto_rerun) == ("e=x", "board", True)
    assert len(sent.widget_states.widgets) == 3  # what came is left as it is


def test_any_other_message_is_heard_as_it_is(session):
    sent = session.ask(fragment_id="board")
    AppSession.request_rerun(session, None)

    assert session.heard == [sent, None]
    assert len(sent.widget_states.widgets) == 3


def test_streamlit_takes_the_page_of_a_poll_for_the_one_that_was_asked_for():
    """If this fails, Streamlit has mended it and a poll need not know its page."""
    requests = ScriptRequests()
    requests.request_rerun(RerunData(page_script_hash="new"))
    requests.request_rerun(
        RerunData(page_script_hash="old", fragment_id="board", is_auto_rerun=True)
    )

    request = requests.on_scriptrunner_ready()

    assert request.rerun_data.page_script_hash == "old"


def test_a_poll_of_a_page_that_was_left_is_not_heard(session):
    session.ask()  # a deep link
    session.ask("old", is_auto_rerun=True)
    session.ask("old")
    session.ask("old", is_auto_rerun=True)
    session.ask("new")
    session.ask("old", is_auto_rerun=True)
    session.ask("new", is_auto_rerun=True)
    Session().ask("old", is_auto_rerun=True)

    heard = [(state.page_script_hash, state.is_auto_rerun) for state in session.heard]
    assert heard == [
        ("", False),
        ("old", True),
        ("old", False),
        ("old", True),
        ("new", False),
        ("new", True),
    ]


def test_the_app_mends_it():
    from playground import shell  # noqa: F401

    assert hasattr(AppSession.request_rerun, "knows_what_a_poll_is")

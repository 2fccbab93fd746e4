"""What is pressed while a page polls counts once: a poll tells nothing of it."""

import pytest
from streamlit.proto.ClientState_pb2 import ClientState
from streamlit.proto.WidgetStates_pb2 import WidgetState
from streamlit.runtime.app_session import AppSession

from playground import polls

SHOWN = WidgetState(id="slider", int_value=3)
PRESSED = [
    WidgetState(id="button", trigger_value=True),
    WidgetState(id="component", json_trigger_value="[1]"),
]


@pytest.fixture
def heard(monkeypatch):
    """What Streamlit hears of, with its own method mended anew."""
    requests = []
    monkeypatch.setattr(AppSession, "request_rerun", lambda _, state: requests.append(state))
    polls.mend()
    polls.mend()
    return requests


def message(**kind):
    state = ClientState(query_string="e=x", fragment_id="board", **kind)
    state.widget_states.widgets.extend([PRESSED[0], SHOWN, PRESSED[1]])
    return state


def test_a_poll_tells_what_inputs_show_and_nothing_of_what_was_pressed(heard):
    sent = message(is_auto_rerun=True)

    AppSession.request_rerun(None, sent)

    (state,) = heard
    assert list(state.widget_states.widgets) == [SHOWN]
    assert (state.query_string, state.fragment_id, state.is_auto_rerun) == ("e=x", "board", True)
    assert sent == message(is_auto_rerun=True)


@pytest.mark.parametrize("sent", [message(), None])
def test_any_other_message_is_heard_as_it_is(heard, sent):
    AppSession.request_rerun(None, sent)

    assert heard == [sent]


def test_the_app_mends_it():
    from playground import shell  # noqa: F401

    assert hasattr(AppSession.request_rerun, "hears_each_press_once")

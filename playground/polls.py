"""Mends one fault of Streamlit 1.67: what is pressed while a page polls may count twice.

A press is sent as soon as the browser has dealt with the event, and then forgotten there. A poll
that comes in between sends it along and forgets nothing. So a button that starts a job and then
stops it did both, one undo became two: once in ten presses in a browser that is busy, with two
polls a second. What is pressed always has its own message: a poll tells nothing of it.
"""

from collections.abc import Callable

from streamlit.proto.ClientState_pb2 import ClientState
from streamlit.runtime.app_session import AppSession

from playground import mending

# What Streamlit calls a trigger: it lasts for one message, where all else is a state.
_PRESSED = ("trigger_value", "string_trigger_value", "json_trigger_value", "chat_input_value")


def mend() -> None:
    """Let each press be heard once."""
    mending.put(AppSession, "request_rerun", "hears_each_press_once", _request_rerun)


def _request_rerun(
    request_rerun: Callable[[AppSession, ClientState | None], None],
    session: AppSession,
    client_state: ClientState | None,
) -> None:
    if client_state is not None and client_state.is_auto_rerun:
        client_state = _without_presses(client_state)
    request_rerun(session, client_state)


def _without_presses(client_state: ClientState) -> ClientState:
    rest, states = ClientState(), client_state.widget_states.widgets
    rest.CopyFrom(client_state)
    rest.widget_states.ClearField("widgets")
    rest.widget_states.widgets.extend(s for s in states if s.WhichOneof("value") not in _PRESSED)
    return rest

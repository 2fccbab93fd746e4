"""Mends two faults of Streamlit 1.67 in how it takes a poll, which no hand has sent.

What is pressed while a page polls may count twice. A press is sent as soon as the browser has dealt
with the event, and then forgotten there. A poll that comes in between sends it along and forgets
nothing: a button that starts a job and then stops it did both, one undo became two. What is
pressed always has its own message, so a poll tells nothing of it.

Who leaves a page that polls may be brought back to it. Until the browser hears of the next page, it
polls the old one, and of two requests that wait the later one names the page. So a poll of another
page than was asked for last is not heard.
"""

from collections.abc import Callable
from weakref import WeakKeyDictionary

from streamlit.proto.ClientState_pb2 import ClientState
from streamlit.runtime.app_session import AppSession

from playground import mending

# What Streamlit calls a trigger: it lasts for one message, where all else is a state.
_PRESSED = ("trigger_value", "string_trigger_value", "json_trigger_value", "chat_input_value")

_asked: WeakKeyDictionary[AppSession, str] = WeakKeyDictionary()  # the page, by its hash


def mend() -> None:
    """Let a poll be no more than that."""
    mending.put(AppSession, "request_rerun", "knows_what_a_poll_is", _request_rerun)


def _request_rerun(
    request_rerun: Callable[[AppSession, ClientState | None], None],
    session: AppSession,
    client_state: ClientState | None,
) -> None:
    if client_state is not None:
        page = client_state.page_script_hash
        if not client_state.is_auto_rerun:
            _asked[session] = page
        elif _asked.get(session) not in (None, "", page):  # a deep link names none at first
            return
        else:
            client_state = _without_presses(client_state)
    request_rerun(session, client_state)


def _without_presses(client_state: ClientState) -> ClientState:
    rest, states = ClientState(), client_state.widget_states.widgets
    rest.CopyFrom(client_state)
    rest.widget_states.ClearField("widgets")
    rest.widget_states.widgets.extend(s for s in states if s.WhichOneof("value") not in _PRESSED)
    return rest

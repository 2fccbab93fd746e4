"""A browser that comes back to a server which does not know it, with a page that another drew.

A server may die or be replaced; the browser then finds another one, or the next on the same port.
Its session begins from the address, as any other. But Streamlit 1.67 takes what the inputs of that
browser show for how they begin, calls no callback, and drops the message if it is of a part. So
what was touched in the last moment would be gone, and the page dead until it is loaded anew.

So such a browser asks for the whole page (`reconnect.js`). The page is drawn as the address has
it, for the server alone, and then what the inputs show is heard as any message: what differs has
been touched, or is a setting of a lesson, of which the address does not tell.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import streamlit as st
from streamlit.proto.WidgetStates_pb2 import WidgetStates
from streamlit.runtime.scriptrunner import RerunData, RerunException, get_script_run_ctx

from playground import parts, session

_HEARD_AFTER = "heard after"  # the run after which a message to another server is heard


def brought() -> WidgetStates | None:
    """What the inputs of the browser show, before this session has drawn any.

    An experiment that was too long for the address stays behind. What the inputs showed of it
    would be put on another one, so nothing of it is heard.
    """
    context = get_script_run_ctx()
    if context is None or session.run() > 1:
        return None
    known = context.session_state._state._new_widget_state
    shown = [state for id in known if (state := known.get_serialized(id))]
    if shown and not st.query_params.get("e"):
        session.notify("left_behind")
        return None
    return WidgetStates(widgets=shown) if shown else None


@contextmanager
def unseen() -> Iterator[None]:
    """What is drawn inside does not reach the browser, whose inputs stay as they are."""
    context = get_script_run_ctx()
    assert context is not None
    st.session_state[_HEARD_AFTER] = session.run()
    send = context._enqueue
    context._enqueue = lambda _: None
    try:
        yield
    finally:
        context._enqueue = send


def is_unseen() -> bool:
    """Whether this run is for the server alone, or callbacks are called for what follows it."""
    return bool(st.session_state.get(_HEARD_AFTER) == session.run())


def hear(shown: WidgetStates) -> None:
    """Give this run up for one in which the browser says what its inputs show."""
    context = get_script_run_ctx()
    assert context is not None
    parts.note_asked_again()
    raise RerunException(
        RerunData(
            query_string=context.query_string,
            widget_states=shown,
            page_script_hash=context.page_script_hash,
            cached_message_hashes=context.cached_message_hashes,
            context_info=context.context_info,
        )
    )

"""Mends one fault of Streamlit 1.67: what no page of ours sends ends the run, with an error.

What an input sends is read when it is asked for. If it is no JSON, nested too deep, or not of the
kind of the input, whoever asks fails, be it Streamlit before the page has begun. It already has a
way to say that nothing was sent, for who reconnects: so that is what is said of this, too.
"""

import logging
from collections.abc import Callable
from typing import Any

from streamlit.runtime.state.session_state import Serialized, WStates

from playground import mending

MOST_BYTES = 1_000_000  # that one input sends; files go another way

_log = logging.getLogger(__name__)


def mend() -> None:
    """Let what cannot be read be as if it had not been sent."""
    mending.put(WStates, "__getitem__", "drops_what_cannot_be_read", _read)


def _read(read: Callable[[WStates, str], Any], states: WStates, key: str) -> Any:
    try:
        _check_size(states, key)
        return read(states, key)
    except KeyError:
        raise
    except Exception as error:
        _log.warning("a message was dropped: %s", type(error).__name__)
        del states[key]
        raise KeyError(key) from error


def _check_size(states: WStates, key: str) -> None:
    sent = states.states.get(key)
    if isinstance(sent, Serialized) and sent.value.ByteSize() > MOST_BYTES:
        raise ValueError("too large")

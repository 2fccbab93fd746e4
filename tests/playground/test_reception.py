"""What cannot be read of a message is as if it had not been sent."""

import pytest
from streamlit.proto.WidgetStates_pb2 import WidgetState
from streamlit.runtime.state.common import WidgetMetadata
from streamlit.runtime.state.session_state import WStates

from playground import reception


def states(value_type="json_value", deserializer=lambda value: value, **sent):
    """What a browser has sent for the one input "x"."""
    all_states = WStates()
    state = WidgetState(id="x", **sent)
    all_states.set_widget_from_proto(state)
    all_states.set_widget_metadata(
        WidgetMetadata("x", deserializer, lambda value: value, value_type=value_type)
    )
    return all_states


def integer(value):
    return int(value)


UNREADABLE = {
    "no JSON": states(json_value="{"),
    "nothing": states(json_value=""),
    "deep": states(json_value="[" * 10_000),
    "another kind": states("int_value", integer, string_value="x"),
    "another kind altogether": states("int_value", integer, json_value="[]"),
    "too large": states(json_value='"' + "x" * reception.MOST_BYTES + '"'),
}


@pytest.fixture(autouse=True)
def _mended():
    reception.mend()


@pytest.mark.parametrize("name", UNREADABLE)
def test_what_cannot_be_read_was_not_sent(name):
    sent = UNREADABLE[name]

    with pytest.raises(KeyError):
        sent["x"]
    assert sent.get("x") is None
    assert "x" not in sent.states


def test_what_can_be_read_is_read_as_ever():
    assert states(json_value='{"a": [1]}')["x"] == {"a": [1]}
    assert states("int_value", integer, int_value=5)["x"] == 5
    assert states(json_value='"' + "x" * (reception.MOST_BYTES - 100) + '"')["x"]


def test_an_input_of_which_nothing_was_sent_is_missing():
    with pytest.raises(KeyError):
        states(json_value="1")["y"]


def test_streamlit_is_mended_once():
    mended = WStates.__getitem__

    reception.mend()

    assert WStates.__getitem__ is mended


def test_streamlit_fails_by_itself():
    """If this fails, Streamlit has mended it and `reception` can go."""
    unmended = WStates.__getitem__.__wrapped__

    with pytest.raises(ValueError, match="Expecting"):
        unmended(states(json_value="{"), "x")
    with pytest.raises(RecursionError):
        unmended(states(json_value="[" * 10_000), "x")

"""A page reaches the browser as a whole, whatever part of it is asked for meanwhile."""

import pytest
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.runtime.forward_msg_queue import ForwardMsgQueue

from playground import delivery


def delta(path, fragment_id, text):
    message = ForwardMsg()
    message.metadata.delta_path.extend(path)
    message.delta.fragment_id = fragment_id
    message.delta.new_element.markdown.body = text
    return message


def finished(status):
    message = ForwardMsg()
    message.script_finished = status
    return message


def drawn(status):
    """What waits to be sent when a page with the part "board" was drawn."""
    queue = ForwardMsgQueue()
    queue.enqueue(delta([0, 0], "", "heading"))
    queue.enqueue(delta([0, 1], "board", "a number"))
    queue.enqueue(finished(status))
    return queue


def texts(queue):
    messages = queue.flush()
    return [m.delta.new_element.markdown.body for m in messages if m.WhichOneof("type") == "delta"]


@pytest.fixture
def as_delivered(monkeypatch):
    """Streamlit's own queue, which is mended anew."""
    own = ForwardMsgQueue.clear
    while hasattr(own, "__wrapped__"):
        own = own.__wrapped__
    monkeypatch.setattr(ForwardMsgQueue, "clear", own)


def test_streamlit_drops_a_part_of_a_page_that_has_ended(as_delivered):
    """If this fails, Streamlit has mended it and `delivery` can go."""
    queue = drawn(ForwardMsg.FINISHED_SUCCESSFULLY)

    queue.clear(retain_lifecycle_msgs=True, fragment_ids_this_run=["board"])

    assert texts(queue) == ["heading"]


def test_a_page_that_has_ended_is_sent_as_a_whole(as_delivered):
    delivery.mend()
    delivery.mend()
    queue = drawn(ForwardMsg.FINISHED_SUCCESSFULLY)

    queue.clear(retain_lifecycle_msgs=True, fragment_ids_this_run=["board"])
    queue.enqueue(delta([0, 1], "board", "a newer number"))  # does not stand before the page's end

    kinds = [message.WhichOneof("type") for message in queue._queue]
    assert kinds == ["delta", "delta", "script_finished", "delta"]
    assert texts(queue) == ["heading", "a number", "a newer number"]


@pytest.mark.parametrize(
    ("status", "part"),
    [
        (ForwardMsg.FINISHED_EARLY_FOR_RERUN, ["board"]),
        (ForwardMsg.FINISHED_FRAGMENT_RUN_SUCCESSFULLY, ["board"]),
        (ForwardMsg.FINISHED_SUCCESSFULLY, None),
    ],
)
def test_what_comes_anew_anyway_is_dropped_as_before(as_delivered, status, part):
    delivery.mend()
    queue = drawn(status)

    queue.clear(retain_lifecycle_msgs=True, fragment_ids_this_run=part)

    assert "a number" not in texts(queue)


def test_the_app_mends_it():
    from playground import shell  # noqa: F401

    assert hasattr(ForwardMsgQueue.clear, "keeps_whole_pages")

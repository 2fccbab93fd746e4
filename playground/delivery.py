"""Mends one fault of Streamlit 1.67: a page that loses a part of itself on the way to the browser.

When the run of a fragment begins, Streamlit drops what waits to be sent of that fragment, as it
will come anew. If the run of the whole page has just ended, that is a part of the page; but the
word that the page has ended is kept, and the browser then takes away what it has not got of it:
the inputs of that part lose their values, the board what is being typed. It happens when a part
is asked for while the page runs: by a poll, by a board that is painted, by a quick hand.
"""

from collections.abc import Callable

from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.runtime.forward_msg_queue import ForwardMsgQueue

from playground import mending


def mend() -> None:
    """Let a page that has been drawn to its end be sent as a whole."""
    mending.put(ForwardMsgQueue, "clear", "keeps_whole_pages", _clear)


def _clear(
    clear: Callable[[ForwardMsgQueue, bool, list[str] | None], None],
    queue: ForwardMsgQueue,
    retain_lifecycle_msgs: bool = False,
    fragment_ids_this_run: list[str] | None = None,
) -> None:
    if fragment_ids_this_run is not None and _ends_page(queue):
        queue._delta_index_map = {}  # what comes now is not put into what is kept
        return
    clear(queue, retain_lifecycle_msgs, fragment_ids_this_run)


def _ends_page(queue: ForwardMsgQueue) -> bool:
    """Whether the word waits that the whole page was drawn to its end."""
    return any(
        message.WhichOneof("type") == "script_finished"
        and message.script_finished == ForwardMsg.FINISHED_SUCCESSFULLY
        for message in queue._queue
    )

"""Parts of a page that are run and drawn alone: which of them a change makes stale.

Streamlit answers a touch by running and drawing the whole page, which takes most of the time of
an answer. So a page is made of parts (`shell.part`, Streamlit's fragments), and each tells what
it shows. A callback ends by running the part that the learner looks at, the board; that one asks
for the others which would show something else now, once it is painted.
"""

from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from playground import session

P = ParamSpec("P")
Shows = Callable[[], Any]

BOARD = "board"
PAGE = "page"  # all that stands beside the parts

_DRAWN = "parts"  # for each part, what tells what it shows, and what it has shown


def begin_page() -> None:
    """The whole page is being drawn, and has no parts so far."""
    st.session_state[_DRAWN] = {"of": _page(), "parts": {}, "has_board": False}


def note(name: str, shows: Shows) -> None:
    """A part is being drawn.

    Args:
        name: Of the part, or PAGE.
        shows: Tells what it would show now, as anything that can be compared.
    """
    drawn = st.session_state[_DRAWN]
    drawn["parts"][name] = (shows, _said(shows))
    if name == BOARD:
        drawn["has_board"] = False  # until it is there


def note_board() -> None:
    """A board is being drawn: it will ask for what is stale, and keep the address bar."""
    st.session_state[_DRAWN]["has_board"] = True


def is_board_drawn() -> bool:
    """Whether the board's part has a board in it."""
    return bool(st.session_state[_DRAWN]["has_board"])


def while_open(section: str) -> Shows:
    """What a section shows that is drawn only while it is open: nothing that changes, else."""
    return lambda: session.shown() if st.session_state.get(section) else None


def is_stale(name: str) -> bool:
    """Whether a part that has been drawn would show something else now."""
    drawn = st.session_state[_DRAWN]["parts"]
    if name not in drawn:
        return False
    shows, shown = drawn[name]
    return bool(_said(shows) != shown)


def stale() -> list[str]:
    """The parts that would show something else now."""
    return [name for name in st.session_state[_DRAWN]["parts"] if is_stale(name)]


def answering(
    change: Callable[P, None], *, on: str = "", is_patient: bool = False
) -> Callable[P, None]:
    """A callback that makes this change, and then lets the board be drawn.

    Args:
        change: The change.
        on: The part on which the control stands: Streamlit runs it anyway, if asked for nothing.
        is_patient: Whether the rest of the page may wait until the board is painted, and asks
            for it, even where that is more than a part.
    """

    @wraps(change)
    def callback(*args: P.args, **kwargs: P.kwargs) -> None:
        change(*args, **kwargs)
        if not _is_here():
            return
        waits = is_patient and is_board_drawn()
        if (is_stale(PAGE) and not waits) or session.has_notice() or _must_draw_all():
            st.rerun()
        if on != BOARD:
            st.rerun(BOARD)

    return callback


def draw_rest() -> None:
    """A callback that lets all be drawn that is stale, when the board is painted."""
    if not _is_here():
        return
    names = stale()
    if PAGE in names:
        st.rerun()
    if names:
        # The board comes last, so that it says whether anything is left.
        st.rerun([*(name for name in names if name != BOARD), BOARD])


def _must_draw_all() -> bool:
    """Whether something is stale and there is no board that would ask for it."""
    others = [name for name in stale() if name != BOARD]
    return bool(others) and not is_board_drawn()


def _said(shows: Shows) -> Any:
    """What a part says it would show; where that fails, drawing it shows the fault."""
    try:
        return shows()
    except Exception as error:
        return repr(error)  # the same fault is not drawn again and again


def _is_here() -> bool:
    """Whether the page is there still: who leaves it sends what was typed last along."""
    return bool(st.session_state.get(_DRAWN, {}).get("of") == _page())


def _page() -> str:
    context = get_script_run_ctx()
    return context.page_script_hash if context else ""

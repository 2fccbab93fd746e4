"""Parts of a page that are run and drawn alone: which of them a change makes stale.

Streamlit answers a touch by running and drawing the whole page, which takes most of the time of
an answer. So a page is made of parts (`shell.part`, Streamlit's fragments), and each tells what
it shows. A callback ends by running the part that the learner looks at, the board; that one asks
for the others which would show something else now, once it is painted.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps
from typing import Any, NoReturn, ParamSpec

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from playground import session

P = ParamSpec("P")
Shows = Callable[[], Any]

BOARD = "board"
PAGE = "page"  # all that stands beside the parts

_DRAWN = "parts"  # for each part, what tells what it shows, and what it has shown
_WRITTEN = "written"  # for each input, how it was drawn last
_GIVEN_UP = "given up"  # what a part shows that was not drawn to its end


@dataclass(frozen=True, slots=True)
class _Written:
    """How an input was drawn last."""

    made_of: tuple[Any, ...]
    by: str  # the part that drew it
    run: int
    value: Any
    is_over: bool  # whether the browser showed another value, which may be touched meanwhile
    is_heard: bool  # whether the browser has said that it shows the value
    before: Any  # what it showed, if it polls and another value was written


def begin_page() -> None:
    """The whole page is being drawn, and has no parts so far."""
    last = st.session_state.get(_DRAWN, {})
    st.session_state[_DRAWN] = {
        "of": _page(),
        "parts": {},
        "has_board": False,
        "is_polled": False,
        "is_whole": False,
        "is_asked_again": False,
        "repeated": session.run() if last.get("is_asked_again") else None,
        "by": PAGE,
        "runs": dict(last["runs"]) if last.get("of") == _page() else {},
    }
    _begin(PAGE)


@contextmanager
def drawing(name: str) -> Iterator[None]:
    """While a part is being drawn, its inputs are its own.

    A part that is given up for a later touch has not all come to the browser, and stays stale.
    """
    drawn = st.session_state[_DRAWN]
    drawn["by"] = name
    _begin(name)
    try:
        yield
    except Exception:
        raise  # a fault of ours, which is shown in place of the part
    except BaseException:
        shows, _ = drawn["parts"].get(name, (None, None))
        drawn["parts"][name] = (shows, _GIVEN_UP)
        raise
    finally:
        drawn["by"] = PAGE


def _begin(name: str) -> None:
    """A part, or the page, is drawn in this run; which one was the last before it?"""
    runs = st.session_state[_DRAWN]["runs"]
    _, last = runs.get(name, (0, 0))
    runs[name] = (last, session.run())


def draw_page_again() -> NoReturn:
    """Give this run up for one of the whole page, of which the browser knows nothing yet."""
    note_asked_again()
    st.rerun()


def note_asked_again() -> None:
    """The app asks for the whole page by itself: the browser may not have heard of this one."""
    st.session_state.get(_DRAWN, {})["is_asked_again"] = True


def end_page() -> None:
    """The whole page has been drawn to its end."""
    st.session_state[_DRAWN]["is_whole"] = True


def is_page_whole() -> bool:
    """Whether the page was drawn to its end, rather than given up for a later touch.

    What was given up may lack the places that a part fills outside of itself, and the rest of the
    page is as it was before: no part of it can be drawn alone.
    """
    return bool(st.session_state[_DRAWN]["is_whole"])


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


def note_polling() -> None:
    """A part is being drawn that will be drawn again and again."""
    st.session_state[_DRAWN]["is_polled"] = True


def is_board_drawn() -> bool:
    """Whether the board's part has a board in it."""
    return bool(st.session_state[_DRAWN]["has_board"])


def write(key: str, value: Any, *made_of: Any) -> bool:
    """Let an input show this value, before it is drawn.

    An input that shows it already is left alone. What is written comes to the browser later, and
    would take back what a hand has set there meanwhile; the next message would then say so.

    Args:
        key: Of the input.
        value: What it shall show.
        made_of: What it is made of beside, such as its options: made of others it is a new one.

    Returns:
        Whether it was left alone. It then has to be given the value as that with which it begins
        (and only then, as Streamlit warns of both): the run in which it was written may never
        have come to the browser, where the input would be new and begin at its lowest value.
    """
    state, drawn = st.session_state, st.session_state.get(_DRAWN, {})
    by, made_of = drawn.get("by", PAGE), (session.language(), *made_of)
    last, _ = drawn.get("runs", {}).get(by, (0, 0))
    was: _Written | None = state.setdefault(_WRITTEN, {}).get(key)
    is_right = key in state and state[key] == value
    is_same = was is not None and (was.made_of, was.by, was.run) == (made_of, by, last)
    is_heard, is_over = False, is_same
    if was and is_same and is_right:
        # It is there still. A run begins with what the browser says that its inputs show, unless
        # the run was asked for here; or with what it showed before what was written has come.
        is_told = drawn.get("repeated") != session.run()
        is_over = was.is_over
        is_heard = was.is_heard or (is_told and not (is_over and was.value != value))
    before = None
    if not is_heard:
        before = state[key] if key in state and not is_right and _is_polled() else None
        state[key] = value
    state[_WRITTEN][key] = _Written(made_of, by, session.run(), value, is_over, is_heard, before)
    return is_heard


def showing(key: str, value: Any, /, *made_of: Any, **begins: Any) -> dict[str, Any]:
    """What makes an input show this value: its key, and that with which it begins if left alone.

    Args:
        key: Of the input.
        value: What it shall show.
        made_of: As for `write`.
        begins: That with which it begins, by the name that Streamlit has for it.
    """
    is_left_alone = write(key, value, *made_of)
    return {"key": key, **(begins if is_left_alone else {})}


def is_echo(key: str, value: Any, *, on: str = "") -> bool:
    """Whether an input is said to be set to what it only showed before.

    A part that polls sends what all inputs show along, maybe before the browser has heard to
    what they were set meanwhile: an undo would be undone. But who sets an input asks for the
    whole page, or for the part on which it stands; there, what it showed last is not believed
    until the browser has heard.

    Args:
        key: Of the input.
        value: What it is said to be set to.
        on: The part on which it stands.
    """
    if not (_is_alone() and _is_polled()):
        return False
    was: _Written | None = st.session_state.get(_WRITTEN, {}).get(key)
    return not on or bool(was and was.before is not None and value == was.before)


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


def _is_alone() -> bool:
    """Whether parts alone are asked for, not the whole page."""
    context = get_script_run_ctx()
    return bool(context and context.fragment_ids_this_run)


def _is_polled() -> bool:
    """Whether the page has a part that is drawn again and again."""
    return bool(st.session_state.get(_DRAWN, {}).get("is_polled"))


def _page() -> str:
    context = get_script_run_ctx()
    return context.page_script_hash if context else ""

"""The frame around every page: menu, language, address bar, and what happens on a fault."""

import gc
import logging
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import Literal

import streamlit as st
from streamlit.delta_generator import DeltaGenerator
from streamlit.navigation.page import StreamlitPage

from playground import (
    address_bar,
    catalog,
    collecting,
    delivery,
    parts,
    polls,
    reception,
    returning,
    running,
    session,
    share,
    waiting_room,
)
from playground.palette import Theme
from playground.parts import answering
from playground.texts import LANGUAGES, Texts, escaped

HEAD_START = 0.35  # seconds; measured in docs/decisions/0005

_LONGEST_NAME = 80  # characters of a name in a message
_MANY_MODULES = 200  # the app has some 900, PyTorch and its optimizers 1,600 more

_ROUTED, _FAULTY = "is_routed", "faulty"
_ICON = Path(__file__).with_name("icon.svg").read_text(encoding="utf-8")
_PHONE = Path(__file__).with_name("phone.css")
_log = logging.getLogger(__name__)

collecting.mend()
delivery.mend()
polls.mend()
reception.mend()


@dataclass(frozen=True, slots=True)
class Route:
    """The page that the address asks for, ready to run."""

    _run: Callable[[], None]
    _lesson: str = ""  # whose page it is; the waiting room is no lesson's and has no frame

    def run(self) -> None:
        """Run the page; a fault of ours shows one calm sentence and keeps the work."""
        if not self._lesson:
            self._run()
            return
        brought = returning.brought()
        if brought is None:
            self._draw()
            return
        with returning.unseen():
            self._draw()
        returning.hear(brought)

    def _draw(self) -> None:
        """The frame has its places before the page, and is drawn last: nobody waits for it."""
        st.session_state[_ROUTED] = True
        st.session_state[_FAULTY] = []
        at_the_top = st.sidebar.container()
        share.note(Texts(session.language()), st.empty())
        above = st.empty()  # there without a notice too, or what stands below would be made anew
        try:
            with _calm(parts.PAGE):
                self._run()
            t = Texts(session.language())
            with at_the_top:
                _language_control(t)
                _projector_control(t)
                _jobs_elsewhere()
            with st.sidebar:
                part(share.PART, partial(share.panel, lesson=self._lesson), share.shows)
            _notice(t, above)
            if session.is_projected():
                _way_back(t)
            parts.end_page()
        finally:
            st.session_state[_ROUTED] = False
            _spare_collector()


def _spare_collector() -> None:
    """Spare later runs from looking through all modules for garbage.

    Streamlit collects garbage after each run, while the last messages wait to be sent: 60 ms
    and more. Modules stay for good, so the collector may pass them over: those of the first run,
    and whenever many have come since, as with PyTorch, which would take 70 ms of every run.
    """
    _freeze(len(sys.modules) // _MANY_MODULES)


@cache
def _freeze(_step: int) -> None:
    """Once for each step of a count that only grows."""
    gc.collect()
    gc.freeze()


@contextmanager
def _calm(of: str) -> Iterator[None]:
    """On a fault of ours, one calm sentence and the ways back, however many parts it reaches."""
    faulty = st.session_state.setdefault(_FAULTY, [])
    if of in faulty:
        faulty.remove(of)
    try:
        yield
    except Exception:
        _log.exception("%s failed", of)
        faulty.append(of)
        if faulty[0] == of:
            _apologize(of)


def _apologize(of: str) -> None:
    t = Texts(session.language())
    st.error(t("fault.sentence"), title=t("fault.title"), icon=":material/healing:")
    if of not in (parts.PAGE, "toolbar"):
        return  # the toolbar stands on the same page
    undo, reset = answering(session.undo), answering(session.reset)
    st.button(t("control.undo"), key=f"undo_{of}", on_click=undo, disabled=not session.can_undo())
    st.button(t("control.reset"), key=f"reset_{of}", on_click=reset)


def route() -> Route:
    """Begin the run: the session, the menu, and the page that was asked for.

    Without a place there is neither session nor menu, and one page for all addresses.
    """
    if not waiting_room.lets_in():
        _navigation(Texts(session.asked_language()), is_shown=False)
        return Route(waiting_room.draw)
    session.start()
    page = _navigation(Texts(session.language()))
    return Route(page.run, page.url_path or catalog.LESSONS[0].id)


def _navigation(t: Texts, *, is_shown: bool = True) -> StreamlitPage:
    st.set_page_config(
        page_title=t("app.title"),
        page_icon=_ICON,
        layout="wide",
        initial_sidebar_state=_sidebar(),
    )
    st.html(_PHONE)
    sections: dict[str, list[StreamlitPage]] = {}
    for lesson in catalog.LESSONS:
        page = st.Page(
            lesson.file,
            title=t(f"lesson.{lesson.id}.title"),
            icon=lesson.icon,
            url_path=lesson.id,
            default=lesson is catalog.LESSONS[0],
            help=t(f"lesson.{lesson.id}.summary"),
        )
        sections.setdefault(t(f"section.{lesson.section}"), []).append(page)
    return st.navigation(sections, position="sidebar" if is_shown else "hidden")


def open_page(*, has_board: bool = False) -> Texts:
    """The first call of every page: gives the texts, and sees to the frame.

    A deep link right after the server has started runs the page's file without app.py, so
    this then routes by itself, which runs the page once more inside the frame.

    Args:
        has_board: Whether there is a board on the page, which keeps the address bar.
    """
    if not st.session_state.get(_ROUTED):
        route().run()
        st.stop()
    t = Texts(session.language())
    parts.begin_page()
    session.show_place()  # until a lesson shows one
    if not has_board:
        address_bar.show(t)
    return t


def part(
    name: str,
    draw: Callable[[Texts], None],
    shows: parts.Shows,
    *,
    run_every: float | None = None,
) -> None:
    """A part of the page that is run and drawn alone where nothing else changes.

    Args:
        name: Of the part, unique on its page.
        draw: Draws it from the session.
        shows: Tells what it is drawn from; the language and the theme always count.
        run_every: Seconds after which it is drawn again and again, until the page is.
    """

    @st.fragment(key=name, run_every=run_every)
    def fragment() -> None:
        is_alone = not st.session_state.get(_ROUTED)
        if is_alone:
            if not parts.is_page_whole():
                st.rerun()
            session.count_run()
        with _calm(name), parts.drawing(name):
            parts.note(name, shows)
            if run_every:
                parts.note_polling()
            draw(Texts(session.language()))
        if is_alone:
            _spare_collector()

    fragment()


def give_head_start() -> None:
    """Let the browser load and draw the board before it hears of the rest of the page.

    Only in the first run of a session: the modules of the board and those of all other elements
    would come in one crowd, and the browser draws the board last.
    """
    if session.run() == 1 and not returning.is_unseen():
        time.sleep(HEAD_START)


def _jobs_elsewhere() -> None:
    """Jobs that go on while their learner looks at something else."""
    if running.elsewhere():
        part("jobs", _draw_jobs, lambda: None, run_every=running.POLL_SELDOM)


def _draw_jobs(t: Texts) -> None:
    active = running.elsewhere()
    for job in active:
        lesson = catalog.lesson(job.name.partition(".")[0])
        name, icon = t(f"{job.name}.job"), lesson.icon
        st.page_link(lesson.file, label=name, icon=icon, help=t("job.elsewhere_help"))
        told = t("job.waiting_short", count=job.n_before) if job.status == "waiting" else ""
        st.progress(job.done, text=told or t("job.running_short", share=round(100 * job.done)))
    if not active and not st.session_state.get(_ROUTED):
        parts.draw_page_again()  # so that it is asked for no more


def _language_control(t: Texts) -> None:
    shown = parts.showing("language", session.language(), default=session.language())
    st.segmented_control(
        t("control.language"),
        list(LANGUAGES),
        **shown,
        format_func=LANGUAGES.__getitem__,
        required=True,
        label_visibility="collapsed",
        on_change=_speak,
        width="stretch",
    )


def _speak() -> None:
    chosen = st.session_state["language"]
    if not parts.is_echo("language", chosen):
        session.speak(chosen)


def _sidebar() -> Literal["auto", "collapsed"]:
    """As Streamlit has it, or folded away."""
    is_projected = session.has_begun() and session.is_projected()
    return "collapsed" if is_projected else "auto"


def _projector_control(t: Texts) -> None:
    shown = parts.showing("projector", session.is_projected(), value=session.is_projected())
    st.toggle(
        t("projector.switch"),
        **shown,
        help=t("projector.switch_help"),
        on_change=_project,
    )


def _project() -> None:
    chosen = st.session_state["projector"]
    if not parts.is_echo("projector", chosen):
        _lay_out(chosen)


def _lay_out(is_projected: bool) -> None:
    session.invite(replace(session.invited(), view="projector" if is_projected else ""))


def _way_back(t: Texts) -> None:
    """A small button at the edge, as the sidebar with its switch is folded away."""
    with st.container(key="way_back"):
        st.button(
            t("projector.leave"),
            key="leave_projector",
            icon=":material/fullscreen_exit:",
            help=t("projector.leave_help"),
            type="tertiary",
            on_click=_lay_out,
            args=(False,),
        )


def _notice(t: Texts, place: DeltaGenerator) -> None:
    notice = session.pop_notice()
    if notice is None:
        return
    reason = ""
    if notice["error"]:
        reason = phrase(t, notice["error"], notice["fields"])
    place.warning(t(f"notice.{notice['notice']}", reason=reason), icon=":material/info:")


def phrase(t: Texts, error: str, fields: dict[str, object]) -> str:
    """What the core refused, in the reader's language."""

    def word(name: str, value: object) -> str:
        # A field of a file is named as it stands there.
        text = str(value)
        if name != "field" and len(text) <= _LONGEST_NAME:
            text = t.get(f"quantity.{text}", text)
        # A file of some megabytes may be one name.
        return escaped(text if len(text) <= _LONGEST_NAME else f"{text[:_LONGEST_NAME]}…")

    return t(f"error.{error}", **{name: word(name, value) for name, value in fields.items()})


def is_phone() -> bool:
    """Whether the browser says that it is a phone's: by the word that all of them agree on."""
    return "Mobi" in (st.context.headers.get("User-Agent") or "")


def theme() -> Theme:
    """Whether this browser shows the page light or dark."""
    return "dark" if st.context.theme.type == "dark" else "light"

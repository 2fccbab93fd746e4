"""The frame around every page: menu, language, address bar, and what happens on a fault."""

import gc
import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import streamlit as st

from playground import address_bar, catalog, link, session
from playground.palette import Theme
from playground.texts import LANGUAGES, Texts, escaped

_ROUTED = "is_routed"
_HEAD_START = 0.06  # seconds; measured in docs/decisions/0005
_ICON = Path(__file__).with_name("icon.svg").read_text(encoding="utf-8")
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Route:
    """The page that the address asks for, ready to run."""

    _run: Callable[[], None]

    def run(self) -> None:
        """Run the page; a fault of ours shows one calm sentence and keeps the work."""
        st.session_state[_ROUTED] = True
        try:
            with _calm():
                self._run()
        finally:
            st.session_state[_ROUTED] = False
            _freeze_memory()


@cache
def _freeze_memory() -> None:
    """Spare every later run from looking through all modules for garbage.

    Streamlit collects garbage after each run, while the last messages wait to be sent: 60 ms
    and more. What the first run has loaded stays for good, so the collector may pass it over.
    """
    gc.collect()
    gc.freeze()


@contextmanager
def _calm() -> Iterator[None]:
    """On a fault of ours, one calm sentence and the ways back."""
    try:
        yield
    except Exception:
        _log.exception("a page failed")
        t = Texts(session.language())
        st.error(t("fault.sentence"), title=t("fault.title"), icon=":material/healing:")
        st.button(t("control.undo"), on_click=session.undo, disabled=not session.can_undo())
        st.button(t("control.reset"), on_click=session.reset)


def route() -> Route:
    """Begin the run: the session, the menu, and the page that was asked for."""
    session.start()
    t = Texts(session.language())
    st.set_page_config(page_title=t("app.title"), page_icon=_ICON, layout="wide")
    sections: dict[str, list[st.Page]] = {}
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
    return Route(st.navigation(sections).run)


def open_page(*, has_live_part: bool = False) -> Texts:
    """The first call of every page: draws the frame and gives the texts.

    A deep link right after the server has started runs the page's file without app.py, so
    this then routes by itself, which runs the page once more inside the frame.

    Args:
        has_live_part: Whether the page has a `live_part`, which keeps the address bar.
    """
    if not st.session_state.get(_ROUTED):
        route().run()
        st.stop()
    t = Texts(session.language())
    with st.sidebar:
        _language_control(t)
    if not has_live_part:
        _address_bar(t)
    _notice(t)
    session.note_controls()
    return t


def live_part(draw: Callable[[Texts], None]) -> None:
    """The part of a page that answers alone when something in it is touched.

    Streamlit then neither runs nor draws the rest again, which takes most of the time of an
    answer. Where the rest must follow, since a control beside it shows something else now or a
    notice waits, everything is run.
    """

    @st.fragment
    def part() -> None:
        is_alone = not st.session_state.get(_ROUTED)
        if is_alone:
            session.count_run()
            if session.controls_have_changed():
                st.rerun()
        with _calm():
            t = Texts(session.language())
            place = st.container()
            try:
                draw(t)
            finally:
                with place:  # the link is right even where a fault keeps the rest away
                    _address_bar(t)

    part()


def give_head_start() -> None:
    """Let the browser draw what it has got so far, which is what the learner waits for.

    Streamlit's page draws all messages that have come in one go, and the many elements of a
    whole run take it several times as long as the board alone.
    """
    if st.session_state.get(_ROUTED):
        time.sleep(_HEAD_START)


def _language_control(t: Texts) -> None:
    st.session_state["language"] = session.language()
    st.segmented_control(
        t("control.language"),
        list(LANGUAGES),
        format_func=LANGUAGES.__getitem__,
        key="language",
        required=True,
        label_visibility="collapsed",
        on_change=lambda: session.speak(st.session_state["language"]),
        width="stretch",
    )


def _address_bar(t: Texts) -> None:
    text = link.encode(session.experiment())
    host = len(st.context.url or "")
    fits = host + len(text) + len("?lang=en&h=8&e=") <= link.BUDGET
    head = str(session.head() + 1) if session.head() else ""
    query = {"lang": t.language, "h": head, "e": text if fits else ""}
    address_bar.show(query, t.language, session.run())
    if not fits:
        st.warning(t("notice.link_too_long"), icon=":material/link_off:")


def _notice(t: Texts) -> None:
    place = st.empty()  # there without a notice too, or what stands below would be made anew
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
        text = str(value) if name == "field" else t.get(f"quantity.{value}", str(value))
        return escaped(text)

    return t(f"error.{error}", **{name: word(name, value) for name, value in fields.items()})


def theme() -> Theme:
    """Whether this browser shows the page light or dark."""
    return "dark" if st.context.theme.type == "dark" else "light"

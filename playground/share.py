"""Lesson links: a teacher chooses what a link opens, and a class finds exactly that.

The link is of the experiment as it is now. What is chosen for it changes nothing else: it is kept
with what lessons are set to, and begins with what this session was itself invited to.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, TypeVar

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from playground import catalog, lesson_link, link, parts, session, take_away
from playground.invitation import CONTROLS, MOST_NOTE, Invitation, View, noted
from playground.texts import LANGUAGES, Texts, small

T = TypeVar("T")

SECTION_KEY, PART = "share", "share"

_CONTROLS, _NOTE = "share.controls", "share.note"  # settings, and keys of their inputs
_NAMES = {"sentence": "sentence.title", "take_away": "take_away.file"}  # others: control.<name>
_HERE = _AS_NOW = ""  # what is shown now is also what will be
_LINK_HEIGHT, _QR_WIDTH = 124, 460  # pixels
_MOST_KEPT = 4 * MOST_NOTE  # characters of what is typed


class Link(NamedTuple):
    """A link that is being made."""

    app: str
    lesson: str
    asked: lesson_link.Query

    @property
    def address(self) -> str:
        """All of it."""
        return lesson_link.whole(*self)

    def without_note(self) -> "Link":
        """The same without the note."""
        return self._replace(asked=self.asked | {"n": ""})


def panel(t: Texts, lesson: str) -> None:
    """The section in which a link is made, drawn only while it is open.

    Args:
        t: The reader's language.
        lesson: Whose page is shown.
    """
    section = st.expander(
        t("share.title"), icon=":material/share:", key=SECTION_KEY, on_change="rerun"
    )
    if section.open:
        with section:
            st.markdown(small(t("share.about")))
            _give_away(t, _chosen(t, lesson))
            take_away.offer(t, take_away.HANDOUT, key="share.handout")


def shows() -> Any:
    """What the section is drawn from, while it is open."""
    if not st.session_state.get(SECTION_KEY):
        return None
    place = session.place()
    return [*session.shown(), place, session.settings(place.partition(".")[0])]


def note(t: Texts, place: DeltaGenerator) -> None:
    """The note of the link that was opened, letter by letter, until it is closed."""
    said = session.invited().note
    if not said:
        return
    in_a_row: dict[str, Any] = {"horizontal": True, "vertical_alignment": "center"}
    with place.container(key="note", border=True, wrap=False, **in_a_row):
        with st.container(gap="small", **in_a_row):
            st.markdown(t("share.note_title"), width="content")
            st.text(said)
        st.button(
            t("share.note_close"),
            icon=":material/close:",
            type="tertiary",
            help=t("share.note_close_help"),
            on_click=_close_note,
        )


def _close_note() -> None:
    session.invite(replace(session.invited(), note=""))


# --- what the link opens


def _chosen(t: Texts, lesson: str) -> Link:
    """Draw the inputs; the link they make."""
    here = _place(lesson, session.step())
    places = {_HERE: t("share.here"), **{each: _place_name(t, each) for each in _places()}}
    place = _one_in_list(t("share.place"), places, "share.place", _HERE)
    views: dict[View, str] = {"": t("share.view_normal"), "projector": t("share.view_projector")}
    view = _one_of(t("share.view"), views, "share.view", session.invited().view)
    languages: dict[Any, str] = {_AS_NOW: t("share.as_now"), **LANGUAGES}
    language = _one_in_list(t("control.language"), languages, "share.language", _AS_NOW)
    invitation = Invitation(view, _controls(t), _note(t))
    opened, _, step = (place or here).partition(".")
    asked = lesson_link.query(
        session.experiment(),
        language or t.language,
        head=session.head(),
        step=step,
        settings=session.settings(opened),
        invitation=invitation,
    )
    return Link(lesson_link.of_app(st.context.url or "", lesson), opened, asked)


def _places() -> list[str]:
    """Every page, and of a lesson every step."""
    return [_place(each.id, step) for each in catalog.LESSONS for step in each.steps or ("",)]


def _place(lesson: str, step: str) -> str:
    """What a page, or a step of it, goes by: "guide", "masks.cost"."""
    return f"{lesson}.{step}" if step else lesson


def _place_name(t: Texts, place: str) -> str:
    lesson, _, step = place.partition(".")
    name = t(f"lesson.{lesson}.title")
    return t("share.step", lesson=name, step=t(f"{place}.title")) if step else name


def _controls(t: Texts) -> tuple[str, ...] | None:
    """Those that are shown; None for all, as a link then need not name them."""
    invited = session.invited().controls
    kept = session.setting(_CONTROLS, list(CONTROLS if invited is None else invited))
    chosen = [name for name in CONTROLS if name in kept]
    names = {name: t(_NAMES.get(name, f"control.{name}")) for name in CONTROLS}
    with st.container(gap="xsmall"):
        st.pills(
            t("share.controls"),
            CONTROLS,
            selection_mode="multi",
            format_func=names.__getitem__,
            help=t("share.controls_help"),
            **_kept(_CONTROLS, chosen, *names.items(), default=chosen),
        )
        with st.container(horizontal=True):
            _set_all(t("share.all"), CONTROLS, chosen)
            _set_all(t("share.none"), (), chosen)
    return None if len(chosen) == len(CONTROLS) else tuple(chosen)


def _set_all(label: str, names: Sequence[str], chosen: Sequence[str]) -> None:
    st.button(
        label,
        type="tertiary",
        on_click=session.set_setting,
        args=(_CONTROLS, list(names)),
        disabled=list(chosen) == list(names),
    )


def _note(t: Texts) -> str:
    """The note, as it will be read.

    It is heard of while it is typed, or who copies the link right away would copy the old one; and
    it is kept as typed, so that nothing is written under a hand. Streamlit's own counter would lie
    over the text.
    """
    typed = session.setting(_NOTE, session.invited().note)
    said = noted(typed)
    with st.container(gap="xsmall"):
        st.text_input(
            t("share.note"),
            placeholder=t("share.note_example"),
            help=t("share.note_help"),
            live=True,
            **_kept(_NOTE, typed, value=typed),
        )
        is_cut = len(said) == MOST_NOTE < len(typed)
        key = "share.note_cut" if is_cut else "share.note_length"
        st.markdown(small(t(key, length=len(said), most=MOST_NOTE)))
    return said


def _one_in_list(label: str, options: Mapping[T, str], key: str, default: T) -> T:
    chosen = _setting_in(options, key, default)
    index = list(options).index(chosen)
    st.selectbox(
        label,
        list(options),
        format_func=options.__getitem__,
        **_kept(key, chosen, *options.items(), index=index),
    )
    return chosen


def _one_of(label: str, options: Mapping[T, str], key: str, default: T) -> T:
    chosen = _setting_in(options, key, default)
    st.segmented_control(
        label,
        list(options),
        format_func=options.__getitem__,
        required=True,
        **_kept(key, chosen, *options.items(), default=chosen),
    )
    return chosen


def _setting_in(options: Mapping[T, str], key: str, default: T) -> T:
    kept = session.setting(key, default)
    return kept if kept in options else default


def _kept(key: str, value: Any, /, *made_of: Any, **begins: Any) -> dict[str, Any]:
    """What makes an input show this value, and keep another one in the session under its key.

    What it is `made_of` is as for `parts.write`; `begins` is how Streamlit calls that with which
    such an input begins.
    """
    shown = parts.showing(key, value, *made_of, **begins)
    return {**shown, "on_change": _keep, "args": (key,)}


def _keep(key: str) -> None:
    """Keep what was set; Streamlit then draws this part anew, and nothing else."""
    value = st.session_state.get(key)
    if value is not None and not parts.is_echo(key, value, on=PART):
        session.set_setting(key, value[:_MOST_KEPT])


# --- the link


def _give_away(t: Texts, made: Link) -> None:
    """The link to copy, to try and as a picture; or what to do about one that is too long."""
    if not lesson_link.is_within_budget(made.address):
        fits = lesson_link.is_within_budget(made.without_note().address)
        key = "share.too_long_with_note" if fits else "share.too_long"
        told = t(key, length=len(made.address), most=link.BUDGET)
        st.warning(told, icon=":material/link_off:")
        return
    st.code(made.address, language=None, wrap_lines=True, height=_LINK_HEIGHT)
    st.markdown(small(t("share.length", length=len(made.address), most=link.BUDGET)))
    with st.container(horizontal=True, gap="xsmall"):
        st.link_button(t("share.try"), made.address, icon=":material/open_in_new:")
        if st.button(t("share.qr"), icon=":material/qr_code_2:", help=t("share.qr_help")):
            st.dialog(t("share.qr_title"), width="medium")(_qr)(t, made.address)


def _qr(t: Texts, address: str) -> None:
    """The code, as large as the screen of a projector has room for, and as files for slides."""
    from playground import qr  # only who asks for a code waits for what makes it

    code = qr.code(address)
    n_across = code.n_modules + 2 * qr.QUIET
    width = n_across * max(1, _QR_WIDTH // n_across)  # whole pixels, so all modules are alike
    if code.is_dense:
        st.markdown(small(t("share.qr_dense", count=code.n_modules)))
    with st.container(horizontal_alignment="center"):
        st.image(code.svg, width=width, alt=t("share.qr_alt"))
    with st.container(horizontal=True, horizontal_alignment="center"):
        for label, made, name, mime in (
            (t("board.picture_svg"), code.svg, "attention-link.svg", "image/svg+xml"),
            (t("board.picture_png"), code.png, "attention-link.png", "image/png"),
        ):
            icon = ":material/download:"
            st.download_button(label, made, name, mime, icon=icon, on_click="ignore")

"""The inputs of the current experiment, shared by the pages.

Each widget is a view: its value is written from the experiment before it is drawn, and its
callback commits to the session. So nothing is lost when a page is left or a limit moves.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Literal

import streamlit as st

from attention_core import PRESETS, Experiment, is_untouched, to_plain
from attention_core.canvas import MAX_D_K, MAX_D_MODEL, MAX_HEADS, MAX_SEED
from attention_core.experiment import MASK_KINDS
from attention_core.presets import ENCODINGS
from playground import parts, sentence_form, session, take_away
from playground.parts import BOARD, answering
from playground.texts import Texts, small

_DRAWN = "drawn"  # what each widget shows: as it was drawn, or as it was set since

Change = Callable[[Experiment, Any], Experiment]


def are_right() -> bool:
    """Whether the controls show what is so, and need not be drawn anew."""
    return bool(st.session_state.get(_DRAWN) == _values(session.experiment()))


def _values(e: Experiment) -> dict[str, Any]:
    """What the controls show, by their keys; a mask's sizes only while there is such a mask."""
    values: dict[str, Any] = {
        "preset": e.preset,
        "is_as_it_starts": is_untouched(to_plain(e)),
        "d_model": e.d_model,
        "d_k": e.d_k,
        "n_heads": e.n_heads,
        "mask": list(e.mask.kinds),
        "is_scaled": e.is_scaled,
        "encoding": e.encoding,
        "has_W_O": e.W_O is not None,
        "seed": e.seed,
    }
    if "padding" in e.mask.kinds:
        values |= {"n_tokens": e.n_tokens, "n_padding": min(e.mask.n_padding, e.n_tokens)}
    if "window" in e.mask.kinds:
        most = e.n_tokens - 1
        values |= {
            "n_tokens": e.n_tokens,
            "before": min(e.mask.before, most),
            "after": min(e.mask.after, most),
        }
    return values


def begin() -> None:
    """The whole page is being drawn, its controls from the experiment as it is now."""
    st.session_state[_DRAWN] = _values(session.experiment())


def beginning(t: Texts) -> None:
    """What the experiment starts from: a preset or a sentence."""
    if session.offers("preset"):
        _preset(t, session.experiment())
    if session.offers("sentence"):
        sentence_form.form(t)


def sizes(t: Texts) -> None:
    """Widths and number of heads; all the same part as the board, as they answer soonest."""
    _size(t, "d_model", MAX_D_MODEL)
    _size(t, "d_k", MAX_D_K)
    _size(t, "n_heads", MAX_HEADS)


def settings(t: Texts) -> None:
    """Mask, scaling, positions, output projection, seed and files."""
    draws = {
        "mask": _mask,
        "is_scaled": _scaling,
        "encoding": _encoding,
        "has_W_O": _projection,
        "seed": _random,
        "take_away": take_away.panel,
    }
    for name, draw in draws.items():
        if session.offers(name):
            draw(t)
    if session.invited().controls is not None:
        st.button(
            t("control.all"),
            icon=":material/tune:",
            type="tertiary",
            help=t("control.all_help"),
            on_click=_offer_all,
        )


def _offer_all() -> None:
    session.invite(replace(session.invited(), controls=None))


def toolbar(t: Texts, *, is_quiet: bool = False) -> None:
    """Undo, redo and reset; quiet where they are not what one looks for."""
    with st.container(
        horizontal=True, vertical_alignment="center", horizontal_alignment="right", gap="xsmall"
    ):
        kind: Literal["secondary", "tertiary"] = "tertiary" if is_quiet else "secondary"
        _button(t, "undo", ":material/undo:", session.undo, kind, not session.can_undo())
        _button(t, "redo", ":material/redo:", session.redo, kind, not session.can_redo())
        _button(t, "reset", ":material/restart_alt:", session.reset, kind)


def toolbar_shows() -> tuple[bool, bool]:
    """What the toolbar is drawn from."""
    return session.can_undo(), session.can_redo()


def heads(t: Texts) -> None:
    """Which head the board follows, if there are several."""
    n_heads = session.experiment().n_heads
    if n_heads == 1:
        return
    shown = parts.showing("head", session.head(), n_heads, default=session.head())
    st.segmented_control(
        t("control.head"),
        range(n_heads),
        **shown,
        format_func=lambda index: t("control.head_number", number=index + 1),
        required=True,
        label_visibility="collapsed",
        on_change=answering(_show_head),
    )


def _show_head() -> None:
    session.show_head(st.session_state["head"])


def _preset(t: Texts, e: Experiment) -> None:
    seeded = _seeded("preset", options=[*PRESETS])
    st.selectbox(
        t("control.preset"),
        list(PRESETS),
        **seeded,
        format_func=lambda name: t(f"preset.{name}.name"),
        help=t("control.preset_help"),
        on_change=answering(_commit),
        args=("preset", lambda e, name: Experiment.from_preset(name, seed=e.seed), True),
    )
    story = t(f"preset.{e.preset}.story")
    is_as_it_starts = st.session_state[_DRAWN]["is_as_it_starts"]
    _explanation(story if is_as_it_starts else t("control.story_at_start", story=story))


def _size(t: Texts, name: str, most: int) -> None:
    if not session.offers(name):
        return
    moves_cells = name in ("d_k", "n_heads")
    _slider(
        t,
        name,
        1,
        most,
        lambda e, value: e.resized(**{name: value}),
        moves_cells=moves_cells,
        on=BOARD,
    )


def _mask(t: Texts) -> None:
    e = session.experiment()
    seeded = _seeded("mask", begins="default")
    st.pills(
        t("control.mask"),
        MASK_KINDS,
        **seeded,
        selection_mode="multi",
        format_func=lambda kind: t(f"control.mask_{kind}"),
        help=t("control.mask_help"),
        on_change=answering(_commit),
        args=("mask", lambda e, kinds: replace(e, mask=replace(e.mask, kinds=tuple(kinds)))),
    )
    if "padding" in e.mask.kinds:
        _mask_size(t, "n_padding", e.n_tokens)
    if "window" in e.mask.kinds:
        if e.n_tokens == 1:
            st.caption(t("control.window_of_one"))
            return
        _mask_size(t, "before", e.n_tokens - 1)
        _mask_size(t, "after", e.n_tokens - 1)


def _mask_size(t: Texts, name: str, most: int) -> None:
    def change(e: Experiment, value: Any) -> Experiment:
        return replace(e, mask=replace(e.mask, **{name: value}))

    _slider(t, name, 0, most, change)


def _slider(
    t: Texts,
    name: str,
    low: int,
    high: int,
    change: Change,
    *,
    moves_cells: bool = False,
    on: str = "",
) -> None:
    st.slider(
        t(f"control.{name}"),
        low,
        high,
        **_seeded(name, low, high),
        help=t(f"control.{name}_help"),
        on_change=answering(_commit, on=on),
        args=(name, change, moves_cells, on),
    )


def _scaling(t: Texts) -> None:
    seeded = _seeded("is_scaled")
    st.toggle(
        t("control.is_scaled"),
        **seeded,
        on_change=answering(_commit),
        args=("is_scaled", lambda e, value: replace(e, is_scaled=value)),
    )
    _explanation(t("control.is_scaled_help"))


def _encoding(t: Texts) -> None:
    seeded = _seeded("encoding", options=ENCODINGS)
    st.selectbox(
        t("control.encoding"),
        ENCODINGS,
        **seeded,
        format_func=lambda kind: t(f"control.encoding_{kind}"),
        help=t("control.encoding_help"),
        on_change=answering(_commit),
        args=("encoding", lambda e, value: replace(e, encoding=value)),
    )


def _projection(t: Texts) -> None:
    seeded = _seeded("has_W_O")
    st.toggle(
        t("control.has_W_O"),
        **seeded,
        on_change=answering(_commit),
        args=("has_W_O", Experiment.with_output_projection),
    )
    _explanation(t("control.has_W_O_help"))


def _random(t: Texts) -> None:
    with st.container(horizontal=True, vertical_alignment="bottom"):
        seeded = _seeded("seed", begins="")
        st.number_input(
            t("control.seed"),
            0,
            MAX_SEED,
            value=None,  # emptied, it is None and changes nothing, rather than 0
            **seeded,
            help=t("control.seed_help"),
            on_change=answering(_commit),
            args=("seed", lambda e, value: e.randomized(int(value)), True),
            width=140,
        )
        st.button(
            t("control.randomize"),
            icon=":material/casino:",
            help=t("control.randomize_help"),
            on_click=answering(session.apply),
            args=(lambda e: e.randomized((e.seed + 1) % (MAX_SEED + 1)),),
            kwargs={"moves_cells": True},
        )


def _button(
    t: Texts,
    name: str,
    icon: str,
    on_click: Callable[[], None],
    kind: Literal["secondary", "tertiary"],
    disabled: bool = False,
) -> None:
    st.button(
        t(f"control.{name}"),
        icon=icon,
        type=kind,
        help=t(f"control.{name}_help"),
        on_click=answering(on_click),
        disabled=disabled,
    )


def _explanation(text: str) -> None:
    """A sentence below a control, where a "?" would not do: on a switch it flips the switch."""
    st.markdown(small(text))


def _seeded(
    key: str, *made_of: Any, begins: str = "value", options: Sequence[Any] = ()
) -> dict[str, Any]:
    """What makes a widget show its value of the experiment.

    What it is `made_of` is as for `parts.write`, and `begins` as in `lesson`; a box to select from
    begins with the place of its value among the options.
    """
    value = st.session_state[_DRAWN][key]
    first = {"index": options.index(value)} if options else {begins: value} if begins else {}
    return parts.showing(key, value, *made_of, **first)


def _commit(key: str, change: Change, moves_cells: bool = False, on: str = "") -> None:
    """Commit a widget's value, if it is another one than was drawn.

    A late message of a page that was left makes Streamlit call the callbacks of all its
    widgets, changed or not.
    """
    value, drawn = st.session_state[key], st.session_state[_DRAWN]
    if value == drawn.get(key) or parts.is_echo(key, value, on=on):
        return
    drawn[key] = value
    if value is not None:
        session.apply(lambda e: change(e, value), moves_cells=moves_cells)

"""What differs by convention, with the real calls and the measured effect."""

from typing import Any

import streamlit as st

from playground import controls, lesson, session
from playground.lessons import pytorch_conventions
from playground.texts import Texts


def draw(t: Texts) -> None:
    """What differs by convention, with the real calls and the measured effect."""
    from attention_core.neural import conventions

    e, names = session.experiment(), pytorch_conventions.names(t)
    convention = lesson.choose("pytorch.convention", t("pytorch.conventions.which"), names)
    shown = conventions.shown(e, convention, **convention_settings(t, convention))
    if pytorch_conventions.is_by_head(convention):
        controls.heads(t)
    tell(pytorch_conventions.remarks(t, e, convention, shown))
    lesson.show(t, pytorch_conventions.board(t, e, convention, shown, session.head()))
    lesson.found(t, *pytorch_conventions.found(t, e, convention, shown))
    st.code(conventions.source(convention), language=None, wrap_lines=True)


def convention_settings(t: Texts, convention: str) -> dict[str, Any]:
    """What a convention can be set to: how many queries, or what dropout drops."""
    if convention == "is_causal":
        n = session.experiment().n_tokens
        label = t("pytorch.conventions.n_queries")
        return {"n_queries": lesson.slide("pytorch.n_queries", label, 1, n, default=1)}
    if convention != "dropout":
        return {}
    with st.container(horizontal=True, vertical_alignment="bottom"):
        shares = pytorch_conventions.shares()
        p = lesson.choose("pytorch.p", t("pytorch.conventions.p"), shares)
        lesson.press(
            t("pytorch.conventions.draw"),
            ":material/casino:",
            drop_others,
            help=t("pytorch.conventions.draw_help"),
            key="pytorch.drop_others",
        )
    return {"p": p, "seed": session.setting("pytorch.draw", 0)}


def tell(sentence: str) -> None:
    """A sentence, where there is one."""
    if sentence:
        st.markdown(sentence)


def drop_others() -> None:
    """Draw anew which weights dropout drops."""
    session.set_setting("pytorch.draw", session.setting("pytorch.draw", 0) + 1)

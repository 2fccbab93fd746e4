"""The current experiment in PyTorch: the same numbers, other conventions, gradients, and a fit."""

from typing import Any

import streamlit as st

from attention_core.program import pytorch_script
from attention_core.rounding import FLOATS, Float
from playground import controls, lesson, session, shell
from playground.lessons import pytorch_code, pytorch_conventions, pytorch_parity
from playground.texts import Texts, small

t = shell.open_page(has_board=True)


def draw_parity(t: Texts) -> None:
    """The experiment through all routes, and how far they lie apart."""
    from attention_core.neural.parity import parity

    e, (precision, is_masked) = session.experiment(), parity_settings(t)
    (other_precision,) = (each for each in FLOATS if each != precision)
    p = parity(e, precision=precision, is_masked=is_masked)
    other = parity(e, precision=other_precision, is_masked=is_masked)
    st.table(pytorch_parity.table(t, p))
    st.markdown(small(pytorch_parity.reasons(t, p)))
    names, first = pytorch_parity.names(p.possible), pytorch_parity.shown(p)
    route = lesson.choose("pytorch.route", t("pytorch.parity.shown"), names, default=first)
    controls.heads(t)
    lesson.show(t, pytorch_parity.board(t, p, route, session.head()))
    lesson.found(t, *pytorch_parity.found(t, p, other, route))


def parity_settings(t: Texts) -> tuple[Float, bool]:
    """In which precision PyTorch computes, and whether under the mask, where there is one."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        precision = lesson.choose(
            "pytorch.precision",
            t("pytorch.parity.precision"),
            {each: each for each in FLOATS},
            help=t("pytorch.parity.precision_help"),
        )
        if not session.experiment().mask.kinds:
            return precision, True
        return precision, lesson.switch(
            "pytorch.is_masked", t("pytorch.parity.is_masked"), default=True
        )


def draw_conventions(t: Texts) -> None:
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


def draw_batch(t: Texts) -> None:
    """Sentences of unequal length, padded together."""


def draw_gradients(t: Texts) -> None:
    """What one cell of the output depends on, and how gradients die."""


def draw_fit(t: Texts) -> None:
    """Gradient descent looks for a pattern."""


def draw_code(t: Texts) -> None:
    """The layer that this page runs, from its source, and the experiment as a script."""
    from attention_core.neural import listing

    e = session.experiment()
    part = lesson.choose("pytorch.part", t("pytorch.code.part"), pytorch_code.NAMES)
    if part == "self_attention":
        controls.heads(t)
    head = session.head()
    run = listing.run(e, part, head=head)
    st.code(listing.source(part), language=None, wrap_lines=True)  # its colours are too faint
    st.table(pytorch_code.table(t, run))
    st.markdown(small(pytorch_code.axes(t, part, run)))
    lesson.found(t, *pytorch_code.found(t, e, part, run, head, listing.one_call_gap(e)))
    script = st.expander(t("pytorch.code.script"), key="pytorch.script", on_change="rerun")
    if script.open:
        script.code(pytorch_script(e), language=None, wrap_lines=True)


lesson.page(
    t,
    "pytorch",
    {
        "parity": lesson.with_torch(draw_parity),
        "conventions": lesson.with_torch(draw_conventions),
        "batch": lesson.with_torch(draw_batch),
        "gradients": lesson.with_torch(draw_gradients),
        "fit": lesson.with_torch(draw_fit),
        "code": lesson.with_torch(draw_code),
    },
)

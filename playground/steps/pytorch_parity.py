"""The experiment through all routes, and how far they lie apart."""

import streamlit as st

from attention_core.rounding import FLOATS, Float
from playground import controls, lesson, session
from playground.lessons import pytorch_parity
from playground.texts import Texts, small


def draw(t: Texts) -> None:
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

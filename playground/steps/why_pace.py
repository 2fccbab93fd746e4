"""The time of n steps one after the other against one matrix product."""

import streamlit as st

from attention_core.pace import Precision
from playground import lesson, shell
from playground.lessons import why_pace
from playground.texts import Texts, small

PACE = "why_attention.pace"  # the step, and the job that it shows


def draw(t: Texts) -> None:
    """The time of n steps one after the other against one matrix product."""
    d_model, precision = draw_settings(t)
    job = lesson.watch(t, PACE)
    pace = why_pace.fitting(job and job.result, d_model, precision)
    figure = why_pace.figure(t, pace, d_model, shell.theme())
    lesson.plot("why_attention.times", figure, why_pace.alt(t, pace))
    st.markdown(small(why_pace.assumed(t)))
    lesson.found(t, *why_pace.found(t, pace, d_model))


def draw_settings(t: Texts) -> tuple[int, Precision]:
    """How wide the tokens are and how precise the numbers, and a button that measures it."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        label, names = t("why_attention.pace.d_model"), why_pace.width_names()
        d_model = lesson.choose("why_attention.pace_width", label, names, default=64)
        label, types = t("why_attention.pace.precision"), why_pace.precision_names()
        precision = lesson.choose("why_attention.precision", label, types)
        help = t("why_attention.pace.measure_help", most=f"{why_pace.N_TOKENS[-1]:,}")
        label, icon = t("why_attention.pace.measure"), ":material/timer:"
        lesson.press(label, icon, start_pace, d_model, precision, help=help)
    return d_model, precision


def start_pace(d_model: int, precision: Precision) -> None:
    """Let these settings be measured, if nobody has before."""
    key = (PACE, d_model, precision)
    lesson.start(PACE, why_pace.work(d_model, precision), key=key, is_alone=True)

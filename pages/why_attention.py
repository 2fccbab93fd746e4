"""A relay or a round table: paths, influence, time, and what query, key and value stand for."""

import streamlit as st

from attention_core.pace import Precision
from playground import lesson, session, shell, strip
from playground.lessons import why_pace, why_relay
from playground.texts import Texts, small

t = shell.open_page(has_board=True)


def draw_relay(t: Texts) -> None:
    """A message along a row, or all pairs at once; steps, paths, pairs and multiply-adds."""
    e, names = session.experiment(), why_relay.token_names(session.experiment())
    source = lesson.choose("why_attention.source", t("why_attention.relay.source"), names)
    strip.show("why_attention.strip", why_relay.strip(t, e, source))
    n_tokens, d_model = draw_sizes(t)
    draw_counts(t, n_tokens, d_model)
    found = why_relay.strip_found(t, e, source)
    lesson.found(t, *found, *why_relay.counts_found(t, n_tokens, d_model))


def draw_sizes(t: Texts) -> tuple[int, int]:
    """For how many tokens, and how wide ones, it is counted what linking them takes."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        label, counts = t("why_attention.relay.n_tokens"), why_relay.counted(why_relay.N_TOKENS)
        n_tokens = lesson.slide_along("why_attention.n_tokens", label, counts, default=1024)
        label, widths = t("why_attention.relay.d_model"), why_relay.counted(why_relay.WIDTHS)
        d_model = lesson.slide_along("why_attention.d_model", label, widths, default=512)
    return n_tokens, d_model


def draw_counts(t: Texts, n_tokens: int, d_model: int) -> None:
    """One of the counts as curves, and all of them in a table."""
    quantities = why_relay.quantity_names(t)
    label = t("why_attention.relay.view")
    quantity = lesson.choose("why_attention.quantity", label, quantities)
    figure = why_relay.figure(t, quantity, n_tokens, d_model, shell.theme())
    alt = t("why_attention.relay.alt", quantity=quantities[quantity])
    lesson.plot("why_attention.counts", figure, alt)
    st.table(why_relay.table(t, n_tokens, d_model))
    st.markdown(small(t("why_attention.relay.assumed")))


def draw_influence(t: Texts) -> None:
    """How much the last output depends on each token, in four models."""


def draw_pace(t: Texts) -> None:
    """The time of n steps one after the other against one matrix product."""
    d_model, precision = draw_settings(t)
    job = lesson.watch(t, "why_attention.pace")
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
    key = ("why_attention.pace", d_model, precision)
    lesson.start("why_attention.pace", why_pace.work(d_model, precision), key=key)


def draw_words(t: Texts) -> None:
    """Query, key and value in words, with examples that are computed."""


lesson.page(
    t,
    "why_attention",
    {
        "relay": draw_relay,
        "influence": lesson.with_torch(draw_influence),
        "pace": draw_pace,
        "words": draw_words,
    },
)

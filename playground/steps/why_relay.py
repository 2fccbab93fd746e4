"""A message along a row, or all pairs at once; steps, paths, pairs and multiply-adds."""

import streamlit as st

from playground import lesson, session, shell, strip
from playground.lessons import why_relay
from playground.lessons.tokens import on_inputs
from playground.texts import Texts, small


def draw(t: Texts) -> None:
    """A message along a row, or all pairs at once; steps, paths, pairs and multiply-adds."""
    e, names = session.experiment(), on_inputs(session.experiment())
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

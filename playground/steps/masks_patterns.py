"""Patterns laid onto the experiment as its mask, which can be painted."""

import streamlit as st

from attention_core import Experiment
from attention_core.patterns import Pattern
from playground import controls, lesson, session
from playground.lessons import masks
from playground.texts import Texts


def draw(t: Texts) -> None:
    """Patterns laid onto the experiment as its mask, which can be painted."""
    kinds = {
        "causal": t("masks.patterns.causal"),
        "padding": t("masks.patterns.padding"),
        "window": t("masks.patterns.window"),
        "bigbird": t("masks.patterns.bigbird"),
        "hashed": t("masks.patterns.hashed"),
    }
    chosen = masks.pattern(session.experiment(), session.setting)
    label = t("masks.patterns.kinds")
    lesson.choose_several("masks.kinds", label, kinds, default=chosen.kinds, then=lay)
    sizes(t, session.experiment(), chosen)
    controls.heads(t)
    e, head = session.experiment(), session.head()
    trace = e.trace()
    differing = masks.difference(t, e, chosen)
    if differing:
        with st.container(horizontal=True, vertical_alignment="center"):
            st.markdown(differing, width="content")
            lesson.press(
                t("masks.patterns.lay"),
                ":material/layers:",
                lay,
                help=t("masks.patterns.lay_help"),
                key="masks.lay",
            )
    lesson.show(t, masks.patterns(t, e, trace, head, chosen))
    lesson.found(t, *masks.patterns_found(t, e, trace, head))


def sizes(t: Texts, e: Experiment, chosen: Pattern) -> None:
    """How the patterns that are chosen go together, and their sizes."""
    n = e.n_tokens
    with st.container(horizontal=True, vertical_alignment="bottom"):
        if len(chosen.kinds) > 1:
            how = {"and": t("masks.patterns.and"), "or": t("masks.patterns.or")}
            lesson.choose("masks.how", t("masks.patterns.how"), how, default=chosen.how, then=lay)
        if "padding" in chosen.kinds:
            size(t("masks.patterns.n_padding"), "masks.n_padding", 0, n, chosen.n_padding)
        if {"window", "bigbird"} & {*chosen.kinds}:
            size(t("masks.patterns.before"), "masks.before", 0, n - 1, chosen.before)
            size(t("masks.patterns.after"), "masks.after", 0, n - 1, chosen.after)
        if "bigbird" in chosen.kinds:
            size(t("masks.patterns.n_global"), "masks.n_global", 0, n, chosen.n_global)
            size(t("masks.patterns.n_random"), "masks.n_random", 0, n, chosen.n_random)
        if "hashed" in chosen.kinds:
            most = masks.MOST_ROUNDS
            size(t("masks.patterns.n_rounds"), "masks.n_rounds", 1, most, chosen.n_rounds)
            counts = {count: str(count) for count in masks.BUCKETS}
            label, now = t("masks.patterns.n_buckets"), chosen.n_buckets
            lesson.choose("masks.n_buckets", label, counts, default=now, then=lay)
        if {"bigbird", "hashed"} & {*chosen.kinds}:
            lesson.press(
                t("masks.patterns.draw"),
                ":material/casino:",
                draw_again,
                help=t("masks.patterns.draw_help"),
                key="masks.draw",
            )
    if "hashed" in chosen.kinds:
        st.markdown(masks.buckets(t, e, chosen))


def size(label: str, key: str, low: int, high: int, now: int) -> None:
    """A size of the pattern; another one lays it anew."""
    lesson.slide(key, label, low, high, default=now, then=lay)


def lay() -> None:
    """Make the pattern that is chosen the mask of the experiment, whole."""
    session.apply(lambda e: masks.pattern(e, session.setting).laid(e))


def draw_again() -> None:
    """Other random keys and projections."""
    chosen = masks.pattern(session.experiment(), session.setting)
    session.set_setting("masks.draw", chosen.draw + 1)
    lay()

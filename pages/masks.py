"""Masks and their cost: what a pattern of pairs costs on paper, and what it costs here."""

import streamlit as st

from attention_core.measurement import Measured
from playground import lesson, measuring, session, shell
from playground.lessons import cost
from playground.texts import Texts, small

t = shell.open_page(has_board=True)


def draw_cost(t: Texts) -> None:
    """Pairs, multiply-adds and memory on paper, and the time and memory of runs here."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        counts = {n: f"{n:,}" for n in cost.N_TOKENS}
        reaches = {reach: str(reach) for reach in cost.REACHES}
        widths = {width: str(width) for width in cost.WIDTHS}
        n_tokens = lesson.slide_along(
            "masks.cost_n_tokens", t("masks.cost.tokens"), counts, default=4096
        )
        reach = lesson.slide_along("masks.cost_reach", t("masks.cost.reach"), reaches, default=64)
        d_k = lesson.choose("masks.cost_d_k", t("masks.cost.d_k"), widths, default=64)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        views = cost.view_names(t)
        view = lesson.choose("masks.cost_view", t("masks.cost.view"), views, default="pairs")
        settings = reach, d_k, n_tokens, session.experiment().seed
        help = t("masks.cost.measure_help", most=f"{cost.MOST_MEASURED:,}")
        lesson.press(t("masks.cost.measure"), ":material/timer:", ask, settings, help=help)
    measured = measure(t, settings)
    made_of = cost.sizes(reach)
    if view == "time" and measured is None:
        st.markdown(t("masks.cost.not_yet"))
    else:
        theme = shell.theme()
        figure = cost.figure(t, view, made_of, d_k, n_tokens, measured, theme)
        lesson.plot("masks.cost_figure", figure, t("masks.cost.alt", view=views[view]))
    st.table(cost.table(t, made_of, d_k, n_tokens))
    st.markdown(small(cost.assumed(t, made_of)))
    lesson.found(t, *cost.found(t, made_of, d_k, n_tokens, measured))


def ask(settings: tuple[int, ...]) -> None:
    """Let these settings be measured."""
    session.set_setting("masks.cost_asked", settings)
    session.set_setting("masks.cost_view", "time")


def measure(t: Texts, settings: tuple[int, ...]) -> Measured | None:
    """What was measured with these settings, if the learner has asked for it."""
    place = st.empty()
    if session.setting("masks.cost_asked", ()) != settings:
        return None
    try:
        measured = measuring.attention(
            *settings,
            tell=lambda done, way, n: place.progress(done, cost.doing(t, way, n)),
        )
    except measuring.BusyError:
        place.info(t("masks.cost.busy"), icon=":material/hourglass_empty:")
        return None
    place.empty()
    return measured


lesson.page(t, "masks", {"cost": draw_cost})

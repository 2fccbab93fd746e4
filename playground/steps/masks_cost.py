"""Pairs, multiply-adds and memory on paper, and the time and memory of runs here."""

import streamlit as st

from playground import lesson, session, shell
from playground.lessons import cost
from playground.texts import Texts, small

COST = "masks.cost"  # the step, and the job that it shows


def draw(t: Texts) -> None:
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
    job = lesson.watch(t, COST, lambda at: cost.doing(t, *at))
    asked: tuple[int, ...] = session.setting(f"{COST}_asked", ())
    measured = job.result if job and asked == settings else None
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
    session.set_setting(f"{COST}_asked", settings)
    session.set_setting(f"{COST}_view", "time")
    measured = cost.measured_settings(*settings)
    lesson.start(COST, cost.work(*measured), key=(COST, *measured), is_alone=True)

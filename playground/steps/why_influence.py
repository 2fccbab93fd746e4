"""How much the last output depends on each token, in four models."""

import streamlit as st

from playground import lesson, shell
from playground.lessons import why_influence
from playground.texts import Texts

INFLUENCE = "why_attention.influence"  # the step, and the job that it shows


def draw(t: Texts) -> None:
    """How much the last output depends on each token, in four models."""
    settings = draw_settings(t)
    view = lesson.watch(t, INFLUENCE)
    found = why_influence.measured(view)
    if view is None or found is None:
        lesson.found(t, *why_influence.known(t, settings))
        return
    figure = why_influence.curves(t, found, shell.theme())
    lesson.plot(f"{INFLUENCE}.curves", figure, t("why_attention.influence.alt"))
    st.table(why_influence.table(t, found))
    said = why_influence.influence_found(t, found, settings, view)
    lesson.found(t, *said, is_changing=view.is_active)


def draw_settings(t: Texts) -> why_influence.Settings:
    """What is to be measured, and the button that starts it."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        chosen = [
            lesson.choose(f"{INFLUENCE}.{id}", label, options, default=default, help=help)
            for id, label, options, default, help in why_influence.inputs(t)
        ]
        settings = why_influence.Settings(*chosen)
        label, icon = t("why_attention.influence.measure"), ":material/straighten:"
        lesson.press(label, icon, start_influence, settings)
    return settings


def start_influence(settings: why_influence.Settings) -> None:
    """Let these settings be measured, if nobody has before."""
    key, work = why_influence.key(settings), why_influence.work(settings)
    lesson.start(INFLUENCE, work, key=key)

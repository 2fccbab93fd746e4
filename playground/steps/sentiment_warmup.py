"""The step in which one model is trained with warm-up and without, at a high learning rate."""

from functools import partial

import streamlit as st

from playground import lesson, running, session, shell
from playground.lessons import sentiment, sentiment_texts, sentiment_warmup
from playground.lessons.sentiment_warmup import WARMUP, Pair
from playground.steps.sentiment import slide_all
from playground.texts import Texts


def draw(t: Texts) -> None:
    """One model learns with warm-up and without, from the same seeds."""
    is_running = running.is_active(WARMUP)
    obstacle = sentiment_texts.obstacle(t, session.setting)
    draw_inputs(t, obstacle, is_running=is_running)
    view = lesson.watch(t, WARMUP, partial(sentiment_warmup.progress, t), has_stop=False)
    pair = sentiment_warmup.trained(view)
    if pair:
        draw_pair(t, pair, obstacle, is_active=is_running)
    elif not (obstacle or is_running):
        plans = sentiment_warmup.plans(session.setting, t)
        lesson.found(t, *sentiment_warmup.found_before(t, plans))


def draw_pair(t: Texts, pair: Pair, obstacle: str, *, is_active: bool) -> None:
    """How both go or have gone."""
    st.table(sentiment_warmup.table(t, pair, is_active=is_active))
    if not is_active:
        plans = None if obstacle else sentiment_warmup.plans(session.setting, t)
        lesson.found(t, *sentiment_warmup.found(t, pair, plans), is_list=True)
    figure = sentiment_warmup.curves(t, pair, shell.theme())
    lesson.plot(f"{WARMUP}.curves", figure, t("sentiment.warmup.alt"))


def draw_inputs(t: Texts, obstacle: str, *, is_running: bool) -> None:
    """What is trained, and the button that starts and stops it."""
    lesson.choose(
        f"{WARMUP}.model",
        t("sentiment.model"),
        sentiment.names(t),
        default=sentiment_warmup.MODEL,
        is_disabled=is_running,
    )
    with st.container(horizontal=True, vertical_alignment="bottom"):
        inputs = sentiment_warmup.inputs(t, session.setting)
        slide_all(WARMUP, inputs, is_running=is_running)
        label = t("sentiment.warmup.start")
        lesson.start_or_stop(t, WARMUP, label, begin, t, is_disabled=bool(obstacle))
    if obstacle:
        st.warning(obstacle)


def begin(t: Texts) -> None:
    """Let both be trained as the inputs describe."""
    plans = sentiment_warmup.plans(session.setting, t)
    lesson.start(WARMUP, sentiment_warmup.work(plans), key=sentiment_warmup.key(plans))

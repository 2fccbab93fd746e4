"""The step in which models are trained: which ones, how, and how it goes."""

from functools import partial
from typing import TYPE_CHECKING

import streamlit as st

from playground import lesson, running, session, shell
from playground.lessons import sentiment, sentiment_texts, sentiment_train
from playground.lessons.sentiment import TRAIN
from playground.steps.sentiment import slide_all
from playground.texts import Texts

if TYPE_CHECKING:
    from playground.lessons.sentiment import Training

MORE = f"{TRAIN}.more"  # the section with what is set more seldom


def draw(t: Texts) -> None:
    """Several models learn from several seeds."""
    is_running = running.is_active(TRAIN)
    obstacle = sentiment_texts.obstacle(t, session.setting)
    draw_inputs(t, obstacle, is_running=is_running)
    view = lesson.watch(t, TRAIN, partial(sentiment_train.progress, t), has_stop=False)
    training = sentiment.training(view)
    if training:
        draw_training(t, training, obstacle, is_active=is_running)
    elif not (obstacle or is_running):
        plan = sentiment.plan(session.setting, t)
        lesson.found(t, *sentiment_train.found_before(t, plan))


def draw_training(t: Texts, training: "Training", obstacle: str, *, is_active: bool) -> None:
    """How a training goes or has gone."""
    st.table(sentiment_train.table(t, training, is_active=is_active))
    if not is_active:
        plan = None if obstacle else sentiment.plan(session.setting, t)
        lesson.found(t, *sentiment_train.found(t, training, plan), is_list=True)
    figure = sentiment_train.curves(t, training, shell.theme())
    lesson.plot(f"{TRAIN}.curves", figure, t("sentiment.train.alt"))


def draw_inputs(t: Texts, obstacle: str, *, is_running: bool) -> None:
    """What is trained, and the button that starts and stops it."""
    lesson.choose_several(
        f"{TRAIN}.models",
        t("sentiment.train.models"),
        sentiment.names(t),
        default=sentiment.MODELS,
        is_disabled=is_running,
    )
    with st.container(horizontal=True, vertical_alignment="bottom"):
        slide_all(TRAIN, sentiment_train.inputs(t, session.setting), is_running=is_running)
        has_models = bool(session.setting(f"{TRAIN}.models", sentiment.MODELS))
        label, is_disabled = t("sentiment.train.start"), bool(obstacle) or not has_models
        lesson.start_or_stop(t, TRAIN, label, begin, t, is_disabled=is_disabled)
    draw_more(t, is_running=is_running)
    if obstacle:
        st.warning(obstacle)
    if not has_models:
        st.warning(t("sentiment.train.no_models"))


def draw_more(t: Texts, *, is_running: bool) -> None:
    """The rest of the inputs, drawn only while their section is open."""
    more = st.expander(
        t("sentiment.train.more"), icon=":material/tune:", key=MORE, on_change="rerun"
    )
    if not more.open:
        return
    with more:
        with st.container(horizontal=True, vertical_alignment="bottom"):
            slide_all(TRAIN, sentiment_train.inputs_of_recipe(t), is_running=is_running)
            lesson.switch(
                f"{TRAIN}.decay",
                t("sentiment.train.decay"),
                default=True,
                help=t("sentiment.train.decay_help"),
                is_disabled=is_running,
            )
        with st.container(horizontal=True, vertical_alignment="bottom"):
            slide_all(TRAIN, sentiment_train.inputs_of_models(t), is_running=is_running)
            lesson.switch(
                f"{TRAIN}.residual",
                t("sentiment.train.residual"),
                help=t("sentiment.train.residual_help"),
                is_disabled=is_running,
            )
        lesson.choose(
            f"{TRAIN}.pooling",
            t("sentiment.train.pooling"),
            sentiment_train.poolings(t),
            help=t("sentiment.train.pooling_help"),
            is_disabled=is_running,
        )
        st.markdown(sentiment_train.fallback(t, session.setting))


def begin(t: Texts) -> None:
    """Let that be trained which the inputs describe."""
    plan = sentiment.plan(session.setting, t)
    lesson.start(TRAIN, sentiment.work(plan), key=(TRAIN, plan))

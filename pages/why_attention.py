"""A relay or a round table: paths, influence, time, and what query, key and value stand for."""

from functools import partial

import streamlit as st

from attention_core import Experiment
from playground import lesson, running, session, shell
from playground.lessons import why_influence, why_words
from playground.texts import Texts

t = shell.open_page(has_board=True)


def draw_relay(t: Texts) -> None:
    """A message along a row, or all pairs at once; steps, paths, pairs and multiply-adds."""


def draw_influence(t: Texts) -> None:
    """How much the last output depends on each token, in four models."""
    job = "why_attention.influence"
    settings = draw_influence_settings(t, job)
    view = lesson.watch(t, job)
    found = why_influence.measured(view)
    if view is None or found is None:
        lesson.found(t, *why_influence.known(t, settings))
        return
    figure = why_influence.curves(t, found, shell.theme())
    lesson.plot("why_attention.influence.curves", figure, t("why_attention.influence.alt"))
    st.table(why_influence.table(t, found))
    lesson.found(t, *why_influence.influence_found(t, found, settings, view))


def draw_influence_settings(t: Texts, job: str) -> why_influence.Settings:
    """What is to be measured, and the button that starts it."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        chosen = [
            lesson.choose(
                f"why_attention.influence.{id}", label, options, default=default, help=help
            )
            for id, label, options, default, help in why_influence.inputs(t)
        ]
        settings = why_influence.Settings(*chosen)
        key, work = why_influence.key(settings), why_influence.work(settings)
        label, start = t("why_attention.influence.measure"), partial(lesson.start, key=key)
        is_disabled = running.is_active(job)
        lesson.press(label, ":material/straighten:", start, job, work, is_disabled=is_disabled)
    return settings


def draw_pace(t: Texts) -> None:
    """The time of n steps one after the other against one matrix product."""


def draw_words(t: Texts) -> None:
    """Query, key and value in words, with examples that are computed."""
    label, examples = t("why_attention.words.example"), why_words.examples(t)
    name = lesson.choose("why_attention.words.example", label, examples)
    e = Experiment.from_preset(name)
    label, askers = t("why_attention.words.asker"), why_words.askers(t, e)
    key, first = f"why_attention.words.asker.{name}", why_words.first_asker(e)
    asker = lesson.choose(key, label, askers, default=first)
    trace = e.trace()
    lesson.found(t, why_words.words_found(t, e, trace, asker))
    lesson.show(t, why_words.words(t, e, trace, asker))
    draw_take(t, name)


def draw_take(t: Texts, name: str) -> None:
    """The way to make an example the current experiment."""
    is_taken = why_words.is_taken(session.experiment(), name)
    label = t("why_attention.words.taken") if is_taken else t("why_attention.words.take")
    lesson.press(
        label,
        ":material/science:",
        take,
        name,
        key="why_attention.words.take",
        is_disabled=is_taken,
    )


def take(name: str) -> None:
    """Make an example the current experiment, which Undo takes back."""
    session.apply(lambda e: Experiment.from_preset(name, seed=e.seed), moves_cells=True)


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

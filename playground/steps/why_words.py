"""Query, key and value in words, with examples that are computed."""

import streamlit as st

from attention_core import Experiment
from playground import catalog, lesson, session
from playground.lessons import why_words
from playground.texts import Texts


def draw(t: Texts) -> None:
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
    """The way to make an example the current experiment, and then to the Playground."""
    is_taken = why_words.is_taken(session.experiment(), name)
    label = t("why_attention.words.taken") if is_taken else t("why_attention.words.take")
    with st.container(horizontal=True, vertical_alignment="center"):
        lesson.press(
            label,
            ":material/check:" if is_taken else ":material/input:",
            take,
            name,
            key="why_attention.words.take",
            is_disabled=is_taken,
        )
        if is_taken:
            playground = catalog.lesson("playground")
            go = t("why_attention.words.go")
            st.page_link(playground.file, label=go, icon=playground.icon)


def take(name: str) -> None:
    """Make an example the current experiment, which Undo takes back."""
    session.apply(lambda e: Experiment.from_preset(name, seed=e.seed), moves_cells=True)

"""What steps of the lesson on trained attention share: the model they look at, and sliders."""

from collections.abc import Sequence

import streamlit as st

from playground import lesson, running, session
from playground.lessons import sentiment
from playground.lessons.sentiment import TRAIN, Trained
from playground.lessons.sentiment_train import Input
from playground.texts import Texts

FILE = "sentiment.file"  # the setting that holds the file that was opened last, as bytes

_FILE = "file"  # among the kinds of models


def choose(t: Texts, *, needs_sentences: bool = True) -> Trained | None:
    """One of the models that were trained or loaded, or the ways to one.

    Args:
        t: The reader's language.
        needs_sentences: Whether the step tries the model on its validation sentences. Those of
            a model from a file cannot always be made again.
    """
    trained = sentiment.choices(sentiment.training(running.job(TRAIN)))
    data = session.setting(FILE, b"")
    names = sentiment.kinds(t, trained, has_file=bool(data))
    if not names:
        draw_ways(t)
        return None
    with st.container(horizontal=True, vertical_alignment="bottom"):
        default = sentiment.first_kind(names)
        kind = lesson.choose("sentiment.model", t("sentiment.model"), names, default=default)
        if kind == _FILE:
            chosen = sentiment.from_file(data)
        else:
            seeds = sentiment.seeds(trained, kind)
            seed = next(iter(seeds))
            if len(seeds) > 1:
                label, help = t("sentiment.choose.seed"), t("sentiment.choose.seed_help")
                seed = lesson.choose("sentiment.seed", label, seeds, help=help)
            chosen = trained[kind, seed]
    if needs_sentences and not chosen.has_sentences:
        lesson.found(t, t("sentiment.choose.no_sentences"))
        return None
    return chosen


def draw_ways(t: Texts) -> None:
    """What to do where there is no model yet."""
    lesson.found(t, t("sentiment.choose.nothing"))
    with st.container(horizontal=True):
        lesson.press(t("sentiment.go_train"), ":material/play_arrow:", go_to, "train")
        if session.step() != "weights":
            lesson.press(t("sentiment.choose.load"), ":material/upload_file:", go_to, "weights")


def go_to(step: str) -> None:
    """Another step of this lesson."""
    session.set_setting("sentiment.step", step)


def slide_all(place: str, inputs: Sequence[Input], *, is_running: bool) -> None:
    """A slider for each of these inputs of a step; none can be moved while its job runs."""
    for each in inputs:
        lesson.slide_along(
            f"{place}.{each.id}",
            each.label,
            each.options,
            default=each.default,
            help=each.help,
            is_disabled=is_running,
        )

"""Sentences of unequal length, padded together."""

from collections.abc import Sequence

import streamlit as st

from attention_core import Experiment
from attention_core.canvas import MAX_TOKENS
from playground import controls, lesson, session
from playground.lessons import pytorch_batch
from playground.texts import Texts, small

BESIDE = (4, 5)  # widths of two inputs beside each other


def draw(t: Texts) -> None:
    """Sentences of unequal length, padded together."""
    e = session.experiment()
    lines, index, is_masked = draw_sentences(t, e)
    controls.heads(t)
    compared = pytorch_batch.compared(e, lines, is_masked=is_masked)
    lesson.show(t, pytorch_batch.exhibit(t, compared, index, session.head()))
    st.table(pytorch_batch.shapes(t, compared))
    st.markdown(small(t("pytorch.batch.letters")))
    lesson.found(t, *pytorch_batch.found(t, compared))


def draw_sentences(t: Texts, e: Experiment) -> tuple[Sequence[pytorch_batch.Words], int, bool]:
    """Which sentences there are, which one is shown, and whether their padding is masked."""
    left, right = st.columns(BESIDE)
    with left:
        written = draw_lines(t, e)
    with right:
        index = draw_sentence(t, written.lines)
        is_masked = lesson.switch(
            "pytorch.batch_is_masked", t("pytorch.batch.is_masked"), default=True
        )
    for remark in pytorch_batch.remarks(t, e, written):
        st.markdown(small(remark))
    return written.lines, index, is_masked


def draw_lines(t: Texts, e: Experiment) -> pytorch_batch.Written:
    """Where sentences are written."""
    most = pytorch_batch.MOST_LINES
    text = lesson.write(
        "pytorch.batch_lines",
        t("pytorch.batch.lines"),
        default=pytorch_batch.own_text(e),
        most=pytorch_batch.MOST_TEXT,
        n_lines=most,
        help=t("pytorch.batch.lines_help", most_lines=most, most=MAX_TOKENS),
    )
    return pytorch_batch.read(e, text)


def draw_sentence(t: Texts, lines: Sequence[pytorch_batch.Words]) -> int:
    """Which of the sentences is shown."""
    names, first = pytorch_batch.names(t, lines), pytorch_batch.first_shown(lines)
    label = t("pytorch.batch.sentence")
    return lesson.choose("pytorch.batch_sentence", label, names, default=first)

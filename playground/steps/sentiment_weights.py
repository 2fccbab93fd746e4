"""The step "weights" of the lesson on trained attention: its numbers, saved and opened."""

from functools import partial

import streamlit as st

from attention_core import AttentionError
from playground import lesson, running, session, shell
from playground.lessons import sentiment as shared
from playground.lessons import sentiment_weights as weights
from playground.lessons.sentiment import Trained
from playground.parts import BOARD, answering
from playground.steps import sentiment
from playground.texts import Texts

WEIGHTS = "sentiment.weights"

_UPLOAD = f"{WEIGHTS}.upload"  # the widget
_OPENED = f"{WEIGHTS}.opened"  # the upload that was taken last


def draw(t: Texts) -> None:
    """The parameters of a model as a table and as a file, and a way to open such a file."""
    trained = sentiment.choose(t, needs_sentences=False)
    if trained is not None:
        draw_numbers(t, trained)
    draw_open(t)


def draw_numbers(t: Texts, trained: Trained) -> None:
    """What the model is made of, and the file that holds it."""
    st.table(weights.table(t, trained))
    try:
        n_bytes = len(weights.file(trained))
    except AttentionError as error:
        reason = shell.phrase(t, type(error).__name__, vars(error))
        lesson.found(t, t("sentiment.weights.unsaved", reason=reason))
        return
    lesson.found(t, *weights.found(t, trained, n_bytes), is_list=True)
    st.download_button(
        t("sentiment.weights.save"),
        partial(weights.file, trained),
        file_name=weights.file_name(trained),
        mime="application/octet-stream",
        icon=":material/download:",
        key=f"{WEIGHTS}.save",
        on_click="ignore",
    )
    with st.expander(t("sentiment.weights.elsewhere"), icon=":material/code:"):
        st.code(weights.reading(trained), language=None, wrap_lines=True)


def draw_open(t: Texts) -> None:
    """A file that was saved here becomes one of the models; there is one at a time."""
    st.file_uploader(
        t("sentiment.weights.open"),
        key=_UPLOAD,
        help=t("sentiment.weights.open_help"),
        max_upload_size=weights.MOST_MEGABYTES,
        on_change=answering(open_file, on=BOARD, is_patient=True),
    )
    if session.setting(sentiment.FILE, b""):
        label = t("sentiment.weights.forget")
        lesson.press(label, ":material/delete:", forget, key=f"{WEIGHTS}.forget")


def open_file() -> None:
    """Open a file once; a late message of a page that was left calls this again for the same."""
    uploaded = st.session_state.get(_UPLOAD)
    if uploaded is None or uploaded.file_id == st.session_state.get(_OPENED):
        return
    st.session_state[_OPENED] = uploaded.file_id
    data = uploaded.getvalue()
    try:
        with running.BRIEF_WORK:
            shared.from_file(data)
    except AttentionError as error:
        session.notify("no_model", error)
        return
    session.set_setting(sentiment.FILE, data)
    session.set_setting("sentiment.model", "file")


def forget() -> None:
    """Let go of the file."""
    session.set_setting(sentiment.FILE, b"")

"""The step in which the mistakes of a trained model are read, and what they share is measured."""

import streamlit as st

from playground import lesson, session
from playground.lessons import sentiment_errors
from playground.steps import sentiment
from playground.texts import Texts

ERRORS = "sentiment.errors"


def draw(t: Texts) -> None:
    """The worst mistakes, one of which can be looked at, and counts of all answers."""
    trained = sentiment.choose(t)
    if trained is None:
        return
    mistakes = sentiment_errors.mistakes(trained)
    if mistakes.wrong:
        st.table(sentiment_errors.worst(t, mistakes))
        numbers = sentiment_errors.numbered(mistakes)
        with st.container(horizontal=True, vertical_alignment="bottom"):
            chosen = lesson.choose(f"{ERRORS}.which", t("sentiment.errors.which"), numbers)
            text = mistakes.wrong[chosen].example.text
            lesson.press(t("sentiment.errors.look"), ":material/visibility:", look, text)
    left, right = st.columns(2)
    with left:
        st.markdown(t("sentiment.errors.confusion"))
        st.table(sentiment_errors.confusion(t, mistakes))
    with right:
        st.markdown(t("sentiment.errors.sureness"))
        st.table(sentiment_errors.sureness(t, mistakes))
    if mistakes.traits:
        st.markdown(t("sentiment.errors.traits"))
        st.table(sentiment_errors.traits(t, mistakes))
    lesson.found(t, *sentiment_errors.found(t, trained, mistakes), is_list=True)


def look(text: str) -> None:
    """Take this sentence to the step that shows where the model looks."""
    session.set_setting("sentiment.look.text", text)
    session.set_setting("sentiment.step", "look")

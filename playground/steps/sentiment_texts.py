"""The step in which sentences are chosen: where they come from, some of them, and their counts."""

from typing import Any

import streamlit as st

from playground import lesson, running, session
from playground.lessons import sentiment, sentiment_texts
from playground.lessons.sentiment import TEXTS
from playground.parts import BOARD, answering
from playground.texts import LANGUAGES, Texts

_UPLOAD, _OPENED = f"{TEXTS}.file", f"{TEXTS}.opened"


def draw(t: Texts) -> None:
    """Where the sentences come from, and what they are like."""
    origin = lesson.choose(
        f"{TEXTS}.source", t("sentiment.texts.source"), sentiment_texts.origins(t)
    )
    {"templates": draw_templates, "reviews": draw_reviews, "own": draw_own}[origin](t)
    obstacle = sentiment_texts.obstacle(t, session.setting)
    if obstacle:
        st.warning(obstacle, icon=":material/block:")
        if origin == "reviews":
            st.code(sentiment_texts.INSTALL, language=None, wrap_lines=True)
        return
    draw_sentences(t)


def draw_templates(t: Texts) -> None:
    """What the grammar makes."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        lesson.choose(
            f"{TEXTS}.language", t("sentiment.texts.language"), LANGUAGES, default=t.language
        )
        lesson.choose_several(
            f"{TEXTS}.constructions",
            t("sentiment.texts.constructions"),
            sentiment_texts.constructions(t),
            default=sentiment_texts.CONSTRUCTIONS,
            help=t("sentiment.texts.constructions_help"),
        )
    with st.container(horizontal=True, vertical_alignment="bottom"):
        lesson.slide(
            f"{TEXTS}.fillers",
            t("sentiment.texts.fillers"),
            0,
            sentiment_texts.MOST_FILLERS,
            default=sentiment_texts.N_FILLERS,
            help=t("sentiment.texts.fillers_help"),
        )
        lesson.slide(
            f"{TEXTS}.words",
            t("sentiment.texts.words"),
            sentiment_texts.FEWEST_WORDS,
            sentiment_texts.MOST_WORDS,
            default=sentiment_texts.N_WORDS,
            help=t("sentiment.texts.words_help"),
        )
        lesson.slide_along(
            f"{TEXTS}.sentences",
            t("sentiment.texts.n_train"),
            {count: f"{count:,}" for count in sentiment_texts.SENTENCES},
            default=sentiment_texts.N_SENTENCES,
        )


def draw_reviews(t: Texts) -> None:
    """How many reviews, and how they are cut."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        lesson.choose(f"{TEXTS}.how", t("sentiment.texts.how"), sentiment_texts.ways_of_reviews(t))
        lesson.slide_along(
            f"{TEXTS}.reviews",
            t("sentiment.texts.n_train"),
            {count: f"{count:,}" for count in sentiment_texts.REVIEWS},
            default=sentiment_texts.N_REVIEWS,
        )


def draw_own(t: Texts) -> None:
    """A table that is pasted or opened; one that is wrong leaves the one before it."""
    lesson.write(
        f"{TEXTS}.pasted",
        t("sentiment.texts.paste"),
        default=sentiment_texts.sample(t.language),
        most=sentiment_texts.MOST_PASTED,
        n_lines=5,
        help=t("sentiment.texts.paste_help"),
    )
    with st.container(horizontal=True, vertical_alignment="bottom"):
        lesson.press(t("sentiment.texts.use"), ":material/check:", use_pasted, t)
        lesson.choose(
            f"{TEXTS}.own_how",
            t("sentiment.texts.how"),
            sentiment_texts.ways(t),
            default=sentiment_texts.table(session.setting, t).how,
        )
    st.file_uploader(
        t("sentiment.texts.open"),
        type=["csv", "tsv", "txt"],
        key=_UPLOAD,
        help=t("sentiment.texts.open_help"),
        max_upload_size=sentiment_texts.MOST_MEGABYTES,
        on_change=answering(open_file, on=BOARD, is_patient=True),
        args=(t,),
    )
    refused: dict[str, Any] = session.setting(f"{TEXTS}.refused", {})
    if refused:
        st.error(sentiment_texts.refusal(t, refused), icon=":material/block:")


def draw_sentences(t: Texts) -> None:
    """Some sentences, with a way to others; what was counted; and the way on."""
    source = sentiment.source(session.setting, t)
    corpus, which = sentiment.corpus(source), session.setting(f"{TEXTS}.which", 0)
    examples = sentiment_texts.shown(corpus, which)
    st.table(sentiment_texts.listed(t, corpus, examples), hide_index=True)
    with st.container(horizontal=True):
        lesson.press(
            t("sentiment.texts.others"),
            ":material/refresh:",
            session.set_setting,
            f"{TEXTS}.which",
            which + 1,
            key=f"{TEXTS}.others",
        )
        lesson.press(
            t("sentiment.texts.go"),
            ":material/arrow_forward:",
            session.set_setting,
            "sentiment.step",
            "train",
            key=f"{TEXTS}.go",
        )
    st.table(sentiment_texts.counts(t, corpus), hide_index=True)
    lesson.found(t, *sentiment_texts.found(t, source), is_list=True)


def use_pasted(t: Texts) -> None:
    """Take what stands in the field."""
    take(t, session.setting(f"{TEXTS}.pasted", ""))


def open_file(t: Texts) -> None:
    """Take a file once; a late message of a page that was left calls this again for the same."""
    uploaded = st.session_state.get(_UPLOAD)
    if uploaded is None or uploaded.file_id == session.setting(_OPENED, ""):
        return
    session.set_setting(_OPENED, uploaded.file_id)
    take(t, uploaded.getvalue())


def take(t: Texts, content: str | bytes) -> None:
    """Let these be the learner's own sentences, if nothing is wrong with them."""
    with running.BRIEF_WORK:
        text, refused = sentiment_texts.opened(content, t, session.setting)
    session.set_setting(f"{TEXTS}.refused", refused)
    if not refused:
        session.set_setting(f"{TEXTS}.table", text)

"""The input that makes tokens from a sentence, and what it says about the sentence.

It is folded up and drawn only while it is open, so that it costs the sidebar one line and a run
one element; and no popover, which would hide the board while the learner looks for what happens
there.
"""

import streamlit as st

from attention_core.canvas import MAX_TOKENS
from attention_core.experiment import MAX_TOKEN_LENGTH
from attention_core.words import with_words
from playground import session
from playground.sentence import HOW, MOST_TEXT, How, Split, split
from playground.texts import Texts, small

SECTION_KEY = "sentence_section"
_TEXT, _HOW = "sentence", "sentence_how"
_SEEN = "sentence_seen"  # what the sentence was split into, until it has been said


def form(t: Texts) -> None:
    """A sentence, how to split it, and a button; Enter presses it."""
    ways: dict[How, str] = {
        "spaces": t("sentence.spaces"),
        "characters": t("sentence.characters"),
        "chinese": t("sentence.chinese"),
    }
    section = st.expander(
        t("sentence.title"), icon=":material/notes:", key=SECTION_KEY, on_change="rerun"
    )
    if not section.open:
        return
    st.session_state.setdefault(_HOW, "chinese" if t.language == "zh" else "spaces")
    with section, st.form(key="sentence_form", border=False):
        with st.container(horizontal=True, wrap=False, vertical_alignment="bottom", gap="xsmall"):
            st.text_input(
                t("sentence.text"),
                key=_TEXT,
                placeholder=t("sentence.example"),
                help=t("sentence.text_help"),
            )
            st.form_submit_button(t("sentence.submit"), on_click=_take)
        _said(t)
        st.pills(
            t("sentence.how"),
            HOW,
            format_func=ways.__getitem__,
            key=_HOW,
            required=True,
            help=t("sentence.how_help"),
        )


def _take() -> None:
    seen = split(st.session_state[_TEXT], st.session_state[_HOW])
    st.session_state[_SEEN] = tuple(seen)
    if seen.words:
        session.apply(lambda e: with_words(e, seen.words), moves_cells=True)


def _said(t: Texts) -> None:
    """What of the sentence was not taken as it stands, once."""
    if _SEEN not in st.session_state:
        return
    seen = Split(*st.session_state.pop(_SEEN))
    count = len(seen.words) + seen.n_left_out
    sentences = {
        t("sentence.empty"): not seen.words,
        t("sentence.cut", most=MOST_TEXT): seen.is_cut,
        t("sentence.left_out", most=MAX_TOKENS, count=count): seen.n_left_out,
        t("sentence.shortened", most=MAX_TOKEN_LENGTH): seen.n_shortened,
    }
    said = [sentence for sentence, is_so in sentences.items() if is_so]
    if said:
        st.warning("\n\n".join(map(small, said)), icon=":material/info:")

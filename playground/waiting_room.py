"""The page of who finds no place: it asks again by itself, and loses nothing of the link.

It is drawn instead of any page, before a session of ours begins, so it costs next to nothing.
"""

import os

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from playground import running, session
from playground.admission import Admission, limit
from playground.texts import Texts

_COMMANDS = "python -m pip install -r requirements.txt\npython -m streamlit run app.py"
_WIDTH = 640  # pixels

_ADMISSION = Admission(limit(os.environ), is_there=running.is_connected)


def lets_in() -> bool:
    """Whether this session has a place, or finds one now."""
    context = get_script_run_ctx()
    who = context.session_id if context else ""
    return _ADMISSION.enter(who, has_begun=session.has_begun())


def draw() -> None:
    """How many learn now, when it asks again, and how to run the app oneself."""
    t = Texts(session.asked_language())
    with st.container(width=_WIDTH):
        st.title(t("full.title"))
        st.markdown(t("full.kept"))
        st.fragment(_ask, run_every=_ADMISSION.pause)(t)
        st.button(t("full.again"), icon=":material/refresh:")
        st.markdown(t("full.yourself"))
        st.code(_COMMANDS, language=None, wrap_lines=True)


def _ask(t: Texts) -> None:
    if lets_in():
        st.rerun()
    st.markdown(t("full.count", count=_ADMISSION.n_inside, pause=round(_ADMISSION.pause)))

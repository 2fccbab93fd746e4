"""The layers that the lesson runs, from their source, and the experiment as a script."""

import streamlit as st

from attention_core.program import pytorch_script
from playground import controls, lesson, session
from playground.lessons import pytorch_code
from playground.texts import Texts, small


def draw(t: Texts) -> None:
    """The layer that this page runs, from its source, and the experiment as a script."""
    from attention_core.neural import listing

    e = session.experiment()
    part = lesson.choose("pytorch.part", t("pytorch.code.part"), pytorch_code.NAMES)
    if part == "self_attention":
        controls.heads(t)
    head = session.head()
    run = listing.run(e, part, head=head)
    st.code(listing.source(part), language=None, wrap_lines=True)  # its colours are too faint
    st.table(pytorch_code.table(t, run))
    st.markdown(small(pytorch_code.axes(t, part, run)))
    lesson.found(t, *pytorch_code.found(t, e, part, run, head, listing.one_call_gap(e)))
    script = st.expander(t("pytorch.code.script"), key="pytorch.script", on_change="rerun")
    if script.open:
        script.code(pytorch_script(e), language=None, wrap_lines=True)

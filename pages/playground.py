"""The Playground: edit the numbers of self-attention and watch every step answer."""

import streamlit as st

from playground import back_row, board, controls, formula, layers, session, shell
from playground.texts import Texts


def draw(t: Texts) -> None:
    """The board and what goes with it, from the present experiment."""
    experiment, head = session.experiment(), session.head()
    trace = experiment.trace()
    with st.container(horizontal=True, horizontal_alignment="distribute"):
        st.title(t("lesson.playground.question"), width="content")
        controls.toolbar(t)
    st.markdown(formula.markdown(experiment, trace), help=t("formula.hint"))
    board.show(t, experiment, trace, head)
    layers.panel(t, experiment)
    back_row.panel(t, experiment, trace, head)


texts = shell.open_page(has_live_part=True)
shell.live_part(draw)
# After the board, which is what is waited for.
with st.sidebar:
    controls.experiment_controls(texts)

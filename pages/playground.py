"""The Playground: edit the numbers of self-attention and watch every step answer."""

import streamlit as st

from playground import back_row, board, controls, formula, layers, session, shell
from playground.texts import Texts


def draw(t: Texts) -> None:
    """The board and what goes with it, from the present experiment."""
    experiment, head = session.experiment(), session.head()
    trace = experiment.trace()
    heading = st.container(horizontal=True, horizontal_alignment="distribute")
    equations = st.container()
    board.show(t, experiment, trace, head)
    shell.give_head_start()
    with heading:
        st.title(t("lesson.playground.question"), width="content")
        controls.toolbar(t)
    equations.markdown(formula.markdown(experiment, trace), help=t("formula.hint"))
    layers.panel(t, experiment)
    back_row.panel(t, experiment, trace, head)


texts = shell.open_page(has_live_part=True)
shell.live_part(draw)
with st.sidebar:
    controls.experiment_controls(texts)

"""The Playground: edit the numbers of self-attention and watch every step answer."""

import streamlit as st

from playground import (
    address_bar,
    back_row,
    board,
    controls,
    formula,
    layers,
    parts,
    session,
    shell,
)
from playground.texts import Texts


def draw_board(t: Texts) -> None:
    """The board, and the sizes beside it."""
    above = st.container()  # always there, or what stands below would be made anew
    sizes = place_of_sizes.container()  # also where the board fails, or the next run had no place
    experiment, address = session.experiment(), address_bar.address(t)
    try:
        board.show(board.board_data(t, experiment, experiment.trace(), session.head()), address)
    except Exception:
        address_bar.show(t)  # the link is right even where a fault keeps the board away
        raise
    with above:
        address_bar.warn(t, address)
    with sizes:
        controls.sizes(t)


def draw_equations(t: Texts) -> None:
    """What is computed, with the shapes, and for which head."""
    controls.heads(t)
    st.markdown(equations(), help=t("formula.hint"))


def equations() -> str:
    """The equations of the experiment, as Markdown."""
    experiment = session.experiment()
    return formula.markdown(experiment, experiment.trace())


t = shell.open_page(has_board=True)
heading = st.container(key="heading_of_board", horizontal=True, horizontal_alignment="distribute")
above_board = st.container()
with st.sidebar:
    upper, place_of_sizes, lower = st.container(), st.container(), st.container()
controls.begin()
shell.part(parts.BOARD, draw_board, session.shown)  # first, as it is what one waits for
shell.give_head_start()
with heading:
    st.title(t("lesson.playground.question"), width="content")
    if session.is_projected():
        shell.part("heads", controls.heads, lambda: (session.experiment().n_heads, session.head()))
    shell.part("toolbar", controls.toolbar, controls.toolbar_shows)
if not session.is_projected():  # there, the board has the screen for itself
    with above_board:
        shell.part("equations", draw_equations, lambda: (equations(), session.head()))
    shell.part("layers", layers.panel, parts.while_open(layers.SECTION_KEY))
    shell.part("back_row", back_row.panel, parts.while_open(back_row.SECTION_KEY))
with upper:
    controls.beginning(t)
with lower:
    controls.settings(t)
parts.note(parts.PAGE, controls.are_right)

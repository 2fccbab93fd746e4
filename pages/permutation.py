"""Order and positions: what shuffled tokens do to attention, and what tells places apart."""

from collections.abc import Callable

import streamlit as st

from attention_core.permutation import (
    compare,
    reversed_order,
    swapped,
)
from playground import controls, lesson, session, shell
from playground.lessons import permutation
from playground.texts import Texts

t = shell.open_page(has_board=True)


def draw_order(t: Texts) -> None:
    """Tokens reordered before and after the computing, and what is left between the two."""
    e = session.experiment()
    reorder(t)
    shown = lesson.choose(
        "permutation.shown",
        t("permutation.order.shown"),
        {
            "output": t("permutation.order.shown_output"),
            "weights": t("permutation.order.shown_weights"),
        },
        is_label_shown=False,
    )
    compared = compare(e, session.order())
    if shown == "output":
        lesson.show(t, permutation.of_output(t, e, compared))
    else:
        controls.heads(t)
        lesson.show(t, permutation.of_weights(t, e, compared, session.head()))
    lesson.found(t, *permutation.order_found(t, e, compared))


def reorder(t: Texts) -> None:
    """Other orders at one press; single rows are carried on the board."""
    e = session.experiment()
    is_single = e.n_tokens == 1
    with st.container(horizontal=True, vertical_alignment="bottom"):
        button(t("permutation.order.shuffle"), ":material/shuffle:", shuffle, is_single)
        button(t("permutation.order.reverse"), ":material/swap_vert:", reverse, is_single)
        button(t("permutation.order.back"), ":material/undo:", back, is_single)
        names = permutation.token_names(e)
        pair = lesson.choose_several("permutation.pair", t("permutation.order.pair"), names)
        button(t("permutation.order.swap"), ":material/swap_calls:", swap, len(pair) != 2, *pair)


def button(
    label: str, icon: str, action: Callable[..., None], is_disabled: bool, *given: int
) -> None:
    """One way to reorder."""
    lesson.press(label, icon, action, *given, is_disabled=is_disabled)


def shuffle() -> None:
    """Another order, drawn from the next seed."""
    seed = session.setting("permutation.seed", 0)
    session.set_setting("permutation.seed", seed + 1)
    session.reorder(lambda order: permutation.shuffle(order, seed))


def reverse() -> None:
    """The last token first."""
    session.reorder(reversed_order)


def swap(first: int, second: int) -> None:
    """Two tokens change places."""
    session.reorder(lambda order: swapped(order, first, second))


def back() -> None:
    """The tokens' own order."""
    session.reorder(lambda order: tuple(sorted(order)))


lesson.page(t, "permutation", {"order": draw_order})

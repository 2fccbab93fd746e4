"""Order and positions: what shuffled tokens do to attention, and what tells places apart."""

from collections.abc import Callable
from dataclasses import asdict, replace

import streamlit as st

from attention_core import to_plain
from attention_core.permutation import (
    Order,
    Search,
    all_orders,
    compare,
    encoding_gaps,
    reversed_order,
    search,
    swapped,
)
from attention_core.presets import Encoding
from playground import controls, lesson, session, shell
from playground.lessons import encodings, permutation
from playground.lessons.tokens import on_inputs
from playground.texts import Texts

t = shell.open_page(has_board=True)


def draw_order(t: Texts) -> None:
    """Tokens reordered before and after the computing, and what is left between the two."""
    e = session.experiment()
    shown = reorder(t)
    compared = compare(e, session.order())
    if shown == "output":
        lesson.show(t, permutation.of_output(t, e, compared))
    else:
        controls.heads(t)
        lesson.show(t, permutation.of_weights(t, e, compared, session.head()))
    lesson.found(t, *permutation.order_found(t, e, compared))


def draw_encodings(t: Texts) -> None:
    """Which encodings make places matter, and what each of them looks like."""
    choose_encoding(t)
    e = session.experiment()
    measured = encoding_gaps(e)
    st.markdown(encodings.gap_table(t, e, measured))
    is_scaled = draw_encoding(t)
    lesson.found(t, *encodings.found(t, e, measured, is_scaled=is_scaled))


def draw_encoding(t: Texts) -> bool:
    """The encoding, or what it does; gives whether X is taken times √d_model."""
    e = session.experiment()
    if e.encoding == "none":
        return False
    is_scaled, shown = False, "encoding"
    with st.container(horizontal=True, vertical_alignment="center"):
        if e.encoding != "alibi":
            names = encodings.picture_names(t)
            label = t("permutation.encodings.picture")
            shown = lesson.choose("permutation.picture", label, names, is_label_shown=False)
        if encodings.is_per_head(e, shown):
            controls.heads(t)
        if encodings.is_added(e):
            label, help = t("permutation.encodings.scale"), t("permutation.encodings.scale_help")
            is_scaled = lesson.switch("permutation.is_scaled", label, help=help)
    head, theme = session.head(), shell.theme()
    if shown == "encoding":
        figure = encodings.encoding_figure(t, e, head, theme)
    else:
        figure = encodings.effect_figure(t, e, head, theme, is_scaled=is_scaled)
    lesson.plot("permutation.figure", figure, t("permutation.encodings.alt"))
    return is_scaled


def draw_search(t: Texts) -> None:
    """Every order tried, and the one that changes the output most, if any does."""
    choose_encoding(t)
    e = session.experiment()
    if e.n_tokens > 1:
        lesson.press(permutation.search_name(t, e), ":material/search:", want)
    found = searched(t)
    if found:
        figure = permutation.search_figure(t, e, found, shell.theme())
        lesson.plot("permutation.gaps", figure, t("permutation.search.alt"))
    lesson.found(t, *permutation.search_found(t, e, found, session.order()))
    if found and found.n_changing:
        lesson.press(t("permutation.search.take"), ":material/swap_vert:", take, found.order)


# --- inputs


def reorder(t: Texts) -> str:
    """Other orders at one press; single rows are carried on the board. Gives what to compare."""
    e = session.experiment()
    is_single = e.n_tokens == 1
    with st.container(horizontal=True, vertical_alignment="center"):
        button(t("permutation.order.shuffle"), ":material/shuffle:", shuffle, is_single)
        button(t("permutation.order.reverse"), ":material/swap_vert:", reverse, is_single)
        button(t("permutation.order.back"), ":material/format_list_numbered:", back, is_single)
        shown = lesson.choose(
            "permutation.shown",
            t("permutation.order.shown"),
            permutation.compared_names(t),
            is_label_shown=False,
        )
    with st.container(horizontal=True, vertical_alignment="bottom"):
        names = on_inputs(e)
        pair = lesson.choose_several("permutation.pair", t("permutation.order.pair"), names)
        button(t("permutation.order.swap"), ":material/swap_calls:", swap, len(pair) != 2, *pair)
    return shown


def button(
    label: str, icon: str, action: Callable[..., None], is_disabled: bool, *given: int
) -> None:
    """One way to reorder."""
    lesson.press(label, icon, action, *given, is_disabled=is_disabled)


def choose_encoding(t: Texts) -> None:
    """The encoding of the experiment, so that the Playground shows it, too."""
    names, encoding = encodings.encoding_names(t), session.experiment().encoding
    lesson.choose_for(
        "permutation.encoding", t("permutation.encodings.encoding"), names, encoding, encode
    )


# --- what they do


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


def take(order: Order) -> None:
    """Look at this order in the first step."""
    session.reorder(lambda _: order)
    session.set_setting("permutation.step", "order")


def encode(encoding: Encoding) -> None:
    """Tell positions this way."""
    session.apply(lambda e: replace(e, encoding=encoding))


def want() -> None:
    """Search the orders of the experiment as it is now."""
    session.set_setting("permutation.wanted", to_plain(session.experiment()))


def searched(t: Texts) -> Search | None:
    """What the search of this experiment gave, which is done once; None if nobody wanted one."""
    e = session.experiment()
    plain = to_plain(e)
    if session.setting("permutation.wanted", None) != plain:
        return None
    known = session.setting("permutation.searched", None)
    if known and known["of"] == plain:
        return Search(**known["found"])
    bar = st.progress(0.0)
    found = None
    for found in search(e, all_orders(e.n_tokens, permutation.n_moving(e))):
        bar.progress(found.share, permutation.search_told(t, found))
    bar.empty()
    if found:
        session.set_setting("permutation.searched", {"of": plain, "found": asdict(found)})
    return found


STEPS = {"order": draw_order, "encodings": draw_encodings, "search": draw_search}
lesson.page(t, "permutation", STEPS)

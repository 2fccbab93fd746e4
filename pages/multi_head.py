"""Several heads: what each looks at and adds, how they are cut, and what they cost."""

import streamlit as st

from attention_core.canvas import MAX_HEADS
from attention_core.errors import DivisibilityError
from attention_core.heads import shape_steps
from playground import lesson, session, shell
from playground.lessons import multi_head
from playground.texts import Texts

t = shell.open_page(has_board=True)


# --- all heads side by side


def draw_heads(t: Texts) -> None:
    """All heads side by side, what each adds, and their sum."""
    draw_cut(t)
    e = session.experiment()
    trace = e.trace()
    names = {head: t("multi_head.heads.head", number=head + 1) for head in range(e.n_heads)}
    on = [*names]
    if e.n_heads > 1:
        # Of each cut by itself: another one has other heads, and none of them was switched off.
        key = f"multi_head.on.{e.n_heads}"
        on = lesson.choose_several(key, t("multi_head.heads.on"), names, default=on)
    lesson.show(t, multi_head.heads(t, e, trace, on))
    lesson.found(t, *multi_head.heads_found(t, e, trace, on))


def draw_cut(t: Texts) -> None:
    """Into how many heads the width is cut; a count that does not divide it is explained."""
    e = session.experiment()
    counts = {count: str(count) for count in range(1, min(e.d_model, MAX_HEADS) + 1)}
    with st.container(horizontal=True, vertical_alignment="bottom"):
        lesson.choose_for(
            "multi_head.count",
            t("multi_head.heads.count"),
            counts,
            e.n_heads if e.n_heads * e.d_k == e.d_model else None,
            cut_into,
            help=t("multi_head.heads.count_help"),
        )
        st.markdown(multi_head.cut_told(t, e), width="content")
    refused = session.setting("multi_head.refused", 0)
    if refused and e.d_model % refused:
        st.info(multi_head.no_cut(t, e, refused), icon=":material/content_cut:")


def cut_into(n_heads: int) -> None:
    """Share the width among so many heads, if it can be."""
    fits = session.experiment().d_model % n_heads == 0
    session.set_setting("multi_head.refused", 0 if fits else n_heads)
    if fits:
        session.apply(lambda e: e.with_heads(n_heads), moves_cells=True)


# --- one wide matrix, or one for each head


def draw_fused(t: Texts) -> None:
    """One projection, fused and head by head."""
    letters = {letter: f"W_{letter}" for letter in multi_head.LETTERS}
    letter = lesson.choose("multi_head.letter", t("multi_head.fused.letter"), letters)
    e = session.experiment()
    trace = e.trace()
    lesson.show(t, multi_head.fused(t, e, trace, letter))
    lesson.found(t, *multi_head.fused_found(t, e, trace, letter))


# --- shapes


def draw_shapes(t: Texts) -> None:
    """The shape after every step, for sizes that are typed."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        batch = lesson.number("multi_head.batch", t("multi_head.shapes.batch"), 1, 4096, default=32)
        n_tokens = lesson.number(
            "multi_head.tokens", t("multi_head.shapes.tokens"), 1, 100_000, default=128
        )
        width = lesson.number(
            "multi_head.width", t("multi_head.shapes.width"), 1, 16_384, default=512
        )
        n_heads = lesson.number(
            "multi_head.heads", t("multi_head.shapes.heads"), 1, multi_head.MOST_HEADS, default=8
        )
    try:
        steps = shape_steps(batch, n_tokens, width, n_heads)
    except DivisibilityError:
        lesson.found(t, multi_head.no_shapes(t, width, n_heads))
    else:
        st.markdown(multi_head.shapes_table(t, steps))
        lesson.found(t, multi_head.shapes_told(t, steps))


# --- the view without a transpose


def draw_view(t: Texts) -> None:
    """Queries cut into heads by view and transpose, and by a view alone."""
    e = session.experiment()
    if e.n_heads == 1:
        draw_cut(t)
    trace = e.trace()
    lesson.show(t, multi_head.misviewed(t, e, trace))
    lesson.found(t, *multi_head.misviewed_found(t, e, trace))


# --- shared keys and values


def draw_grouped(t: Texts) -> None:
    """Fewer key/value heads than query heads: the cache, and the change of the output."""
    e = session.experiment()
    options = multi_head.kv_options(t, e)
    n_kv_heads = e.n_heads
    if e.n_heads == 1:
        draw_cut(t)
    else:
        n_kv_heads = lesson.choose(
            "multi_head.kv",
            t("multi_head.grouped.kv"),
            options,
            help=t("multi_head.grouped.kv_help"),
        )
        st.markdown(multi_head.grouped_table(t, e))
    lesson.show(t, multi_head.grouped(t, e, n_kv_heads))
    lesson.found(t, *multi_head.grouped_found(t, e, n_kv_heads))


lesson.page(
    t,
    "multi_head",
    {
        "heads": draw_heads,
        "fused": draw_fused,
        "shapes": draw_shapes,
        "view": draw_view,
        "grouped": draw_grouped,
    },
)

"""Several heads: what each looks at and adds, how they are cut, and what they cost."""

import streamlit as st

from attention_core.canvas import MAX_HEADS
from playground import lesson, session, shell
from playground.lessons import multi_head
from playground.texts import Texts

t = shell.open_page(has_board=True)


def draw_heads(t: Texts) -> None:
    """All heads side by side, what each adds, and their sum."""
    cut(t)
    e = session.experiment()
    trace = e.trace()
    names = {head: t("multi_head.heads.head", number=head + 1) for head in range(e.n_heads)}
    on = [*names]
    if e.n_heads > 1:
        on = lesson.choose_several("multi_head.on", t("multi_head.heads.on"), names, default=on)
    lesson.show(t, multi_head.heads(t, e, trace, on))
    lesson.found(t, *multi_head.heads_found(t, e, trace, on))


def cut(t: Texts) -> None:
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


lesson.page(t, "multi_head", {"heads": draw_heads})

"""Masks: their patterns, how they are written, what leaks, what they make possible and cost."""

import streamlit as st

from attention_core.cache import growth
from attention_core.crossing import as_one_sequence, cross_attention
from attention_core.leaks import probes
from attention_core.patterns import forbidding
from attention_core.polarity import pytorch_calls
from attention_core.spellings import PRECISIONS
from playground import controls, lesson, session, shell
from playground.lessons import mask_leaks, mask_spellings, mask_splits, masks
from playground.steps import masks_cost, masks_patterns
from playground.texts import Texts

t = shell.open_page(has_board=True)


def draw_spellings(t: Texts) -> None:
    """Three ways to write the mask, in three precisions, with an empty row or without."""
    e = session.experiment()
    with st.container(horizontal=True, vertical_alignment="bottom"):
        precision = lesson.choose(
            "masks.precision",
            t("masks.spellings.precision"),
            {each: each for each in PRECISIONS},
        )
        is_emptied = lesson.switch("masks.is_emptied", t("masks.spellings.is_emptied"))
    controls.heads(t)
    tell(masks.instead(t, e))
    spelt = mask_spellings.spelt(e, e.trace(), session.head(), precision, is_emptied=is_emptied)
    tell(mask_spellings.rows_told(t, e))
    lesson.show(t, mask_spellings.spellings(t, e, spelt))
    lesson.found(t, *mask_spellings.spellings_found(t, e, spelt))


def draw_polarity(t: Texts) -> None:
    """The mask as PyTorch's two functions want it, and what the wrong one does."""
    e = session.experiment()
    trace, head = e.trace(), session.head()
    controls.heads(t)
    tell(masks.instead(t, e))
    lesson.show(t, mask_spellings.polarity(t, e, trace, head))
    lesson.found(t, *mask_spellings.polarity_found(t, e, trace, head))
    st.code(pytorch_calls(forbidding(e)[0]))


def draw_leaks(t: Texts) -> None:
    """A broken mask beside the right one, and what one changed token moves in each."""
    e, head = session.experiment(), session.head()
    kinds = {
        "zeroed": t("masks.leaks.zeroed"),
        "added": t("masks.leaks.added"),
        "transposed": t("masks.leaks.transposed"),
        "on_rows": t("masks.leaks.on_rows"),
        "after_softmax": t("masks.leaks.after_softmax"),
    }
    with st.container(horizontal=True, vertical_alignment="bottom"):
        leak = lesson.choose("masks.leak", t("masks.leaks.kind"), kinds)
        label, help = t("masks.leaks.token"), t("masks.leaks.token_help")
        number = lesson.slide("masks.token", label, 1, e.n_tokens, default=e.n_tokens, help=help)
    controls.heads(t)
    tell(mask_leaks.mask_told(t, e, leak))
    token = masks.index(number)
    right, broken = probes(e, e.trace().attention, head, token, leak)
    lesson.show(t, mask_leaks.leaks(t, e, right, broken, token, leak))
    lesson.found(t, *mask_leaks.leaks_found(t, e, right, broken, token))


def draw_cross(t: Texts) -> None:
    """Targets that see the source alone: one sequence under a mask, or two sequences."""
    e, head = session.experiment(), session.head()
    label = t("masks.cross.n_source")
    n_source = lesson.slide("masks.n_source", label, 0, e.n_tokens, default=masks.half(e))
    controls.heads(t)
    if n_source in (0, e.n_tokens):
        lesson.found(t, mask_splits.one_sided(t, e, n_source))
        return
    two, one = cross_attention(e, head, n_source), as_one_sequence(e, head, n_source)
    lesson.show(t, mask_splits.cross(t, e, two, one))
    lesson.found(t, *mask_splits.cross_found(t, e, two, one))


def draw_cache(t: Texts) -> None:
    """One token more: what moves, what is reused, and what that saves."""
    e = session.experiment()
    is_causal = lesson.switch("masks.is_causal", t("masks.cache.is_causal"), default=True)
    controls.heads(t)
    grown = growth(e, session.head(), is_causal=is_causal)
    tell(mask_splits.added(t, e, grown))
    lesson.show(t, mask_splits.cache(t, e, grown))
    lesson.found(t, *mask_splits.cache_found(t, e, grown, is_causal=is_causal))


def tell(sentence: str) -> None:
    """A sentence, where there is one."""
    if sentence:
        st.markdown(sentence)


lesson.page(
    t,
    "masks",
    {
        "patterns": masks_patterns.draw,
        "spellings": draw_spellings,
        "polarity": draw_polarity,
        "leaks": draw_leaks,
        "cross": draw_cross,
        "cache": draw_cache,
        "cost": masks_cost.draw,
    },
)

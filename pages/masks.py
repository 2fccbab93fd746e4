"""Masks: their patterns, how they are written, what leaks, what they make possible and cost."""

import streamlit as st

from attention_core import Experiment
from attention_core.cache import growth
from attention_core.crossing import as_one_sequence, cross_attention
from attention_core.leaks import probes
from attention_core.patterns import Pattern, forbidding
from attention_core.polarity import pytorch_calls
from attention_core.spellings import PRECISIONS
from playground import controls, lesson, session, shell
from playground.lessons import cost, mask_leaks, mask_spellings, mask_splits, masks
from playground.texts import Texts, small

COST = "masks.cost"  # the step, and the job that it shows

t = shell.open_page(has_board=True)


def draw_patterns(t: Texts) -> None:
    """Patterns laid onto the experiment as its mask, which can be painted."""
    kinds = {
        "causal": t("masks.patterns.causal"),
        "padding": t("masks.patterns.padding"),
        "window": t("masks.patterns.window"),
        "bigbird": t("masks.patterns.bigbird"),
        "hashed": t("masks.patterns.hashed"),
    }
    chosen = masks.pattern(session.experiment(), session.setting)
    label = t("masks.patterns.kinds")
    lesson.choose_several("masks.kinds", label, kinds, default=chosen.kinds, then=lay)
    sizes(t, session.experiment(), chosen)
    controls.heads(t)
    e, head = session.experiment(), session.head()
    trace = e.trace()
    differing = masks.difference(t, e, chosen)
    if differing:
        with st.container(horizontal=True, vertical_alignment="center"):
            st.markdown(differing, width="content")
            lesson.press(
                t("masks.patterns.lay"),
                ":material/layers:",
                lay,
                help=t("masks.patterns.lay_help"),
                key="masks.lay",
            )
    lesson.show(t, masks.patterns(t, e, trace, head, chosen))
    lesson.found(t, *masks.patterns_found(t, e, trace, head))


def sizes(t: Texts, e: Experiment, chosen: Pattern) -> None:
    """How the patterns that are chosen go together, and their sizes."""
    n = e.n_tokens
    with st.container(horizontal=True, vertical_alignment="bottom"):
        if len(chosen.kinds) > 1:
            how = {"and": t("masks.patterns.and"), "or": t("masks.patterns.or")}
            lesson.choose("masks.how", t("masks.patterns.how"), how, default=chosen.how, then=lay)
        if "padding" in chosen.kinds:
            size(t("masks.patterns.n_padding"), "masks.n_padding", 0, n, chosen.n_padding)
        if {"window", "bigbird"} & {*chosen.kinds}:
            size(t("masks.patterns.before"), "masks.before", 0, n - 1, chosen.before)
            size(t("masks.patterns.after"), "masks.after", 0, n - 1, chosen.after)
        if "bigbird" in chosen.kinds:
            size(t("masks.patterns.n_global"), "masks.n_global", 0, n, chosen.n_global)
            size(t("masks.patterns.n_random"), "masks.n_random", 0, n, chosen.n_random)
        if "hashed" in chosen.kinds:
            most = masks.MOST_ROUNDS
            size(t("masks.patterns.n_rounds"), "masks.n_rounds", 1, most, chosen.n_rounds)
            counts = {count: str(count) for count in masks.BUCKETS}
            label, now = t("masks.patterns.n_buckets"), chosen.n_buckets
            lesson.choose("masks.n_buckets", label, counts, default=now, then=lay)
        if {"bigbird", "hashed"} & {*chosen.kinds}:
            lesson.press(
                t("masks.patterns.draw"),
                ":material/casino:",
                draw_again,
                help=t("masks.patterns.draw_help"),
                key="masks.draw",
            )
    if "hashed" in chosen.kinds:
        st.markdown(masks.buckets(t, e, chosen))


def size(label: str, key: str, low: int, high: int, now: int) -> None:
    """A size of the pattern; another one lays it anew."""
    lesson.slide(key, label, low, high, default=now, then=lay)


def lay() -> None:
    """Make the pattern that is chosen the mask of the experiment, whole."""
    session.apply(lambda e: masks.pattern(e, session.setting).laid(e))


def draw_again() -> None:
    """Other random keys and projections."""
    chosen = masks.pattern(session.experiment(), session.setting)
    session.set_setting("masks.draw", chosen.draw + 1)
    lay()


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


def draw_cost(t: Texts) -> None:
    """Pairs, multiply-adds and memory on paper, and the time and memory of runs here."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        counts = {n: f"{n:,}" for n in cost.N_TOKENS}
        reaches = {reach: str(reach) for reach in cost.REACHES}
        widths = {width: str(width) for width in cost.WIDTHS}
        n_tokens = lesson.slide_along(
            "masks.cost_n_tokens", t("masks.cost.tokens"), counts, default=4096
        )
        reach = lesson.slide_along("masks.cost_reach", t("masks.cost.reach"), reaches, default=64)
        d_k = lesson.choose("masks.cost_d_k", t("masks.cost.d_k"), widths, default=64)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        views = cost.view_names(t)
        view = lesson.choose("masks.cost_view", t("masks.cost.view"), views, default="pairs")
        settings = reach, d_k, n_tokens, session.experiment().seed
        help = t("masks.cost.measure_help", most=f"{cost.MOST_MEASURED:,}")
        lesson.press(t("masks.cost.measure"), ":material/timer:", ask, settings, help=help)
    job = lesson.watch(t, COST, lambda at: cost.doing(t, *at))
    is_asked = session.setting(f"{COST}_asked", ()) == settings
    measured = job.result if job and is_asked else None
    made_of = cost.sizes(reach)
    if view == "time" and measured is None:
        st.markdown(t("masks.cost.not_yet"))
    else:
        theme = shell.theme()
        figure = cost.figure(t, view, made_of, d_k, n_tokens, measured, theme)
        lesson.plot("masks.cost_figure", figure, t("masks.cost.alt", view=views[view]))
    st.table(cost.table(t, made_of, d_k, n_tokens))
    st.markdown(small(cost.assumed(t, made_of)))
    lesson.found(t, *cost.found(t, made_of, d_k, n_tokens, measured))


def ask(settings: tuple[int, ...]) -> None:
    """Let these settings be measured."""
    session.set_setting(f"{COST}_asked", settings)
    session.set_setting(f"{COST}_view", "time")
    measured = cost.measured_settings(*settings)
    lesson.start(COST, cost.work(*measured), key=(COST, *measured), is_alone=True)


lesson.page(
    t,
    "masks",
    {
        "patterns": draw_patterns,
        "spellings": draw_spellings,
        "polarity": draw_polarity,
        "leaks": draw_leaks,
        "cross": draw_cross,
        "cache": draw_cache,
        "cost": draw_cost,
    },
)

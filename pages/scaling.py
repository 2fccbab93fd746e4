"""Scaling and softmax: what 1/√d_k is for, and how softmax is computed without breaking."""

import streamlit as st

from attention_core.canvas import MAX_SEED
from attention_core.precision import PRECISIONS
from attention_core.scaling import Sample
from playground import controls, lesson, running, session, shell
from playground.lessons import scaling
from playground.lessons.tokens import on_inputs
from playground.texts import Texts

SAMPLING = "scaling.sampling"  # the step, and the job that it shows

t = shell.open_page(has_board=True)


def draw_sampling(t: Texts) -> None:
    """Random queries and keys: how far their scores spread, and who still learns."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        widths = {width: str(width) for width in scaling.WIDTHS}
        d_k = lesson.slide_along("scaling.d_k", t("scaling.sampling.d_k"), widths, default=512)
        counts = {count: str(count) for count in scaling.ROWS}
        label = t("scaling.sampling.rows")
        n_rows = lesson.slide_along("scaling.rows", label, counts, default=2048)
        label = t("scaling.sampling.seed")
        seed = lesson.number("scaling.seed", label, 0, MAX_SEED, default=0)
    samples = draw_samples(t, n_rows, seed)
    if not samples:
        return
    label = t("scaling.sampling.look")
    look = lesson.choose("scaling.look", label, scaling.looks(t), is_label_shown=False)
    chosen = samples[scaling.WIDTHS.index(d_k)]
    lesson.plot(
        "scaling.sampled",
        scaling.sampled(t, samples, chosen, look, shell.theme()),
        t("scaling.sampling.alt"),
    )
    st.table(scaling.sampled_table(t, chosen))
    lesson.found(t, *scaling.sampled_found(t, chosen))


def draw_samples(t: Texts, n_rows: int, seed: int) -> list[Sample]:
    """One for each d_k; none while many rows are being drawn, which is a job."""
    if n_rows > scaling.MOST_AT_ONCE:
        work = scaling.work(n_rows, seed)
        return lesson.awaited(t, SAMPLING, (n_rows, seed), work) or []
    running.forget(SAMPLING)
    return [drawn(d_k, n_rows, seed) for d_k in scaling.WIDTHS]


@st.cache_data(show_spinner=False, max_entries=200)
def drawn(d_k: int, n_rows: int, seed: int) -> Sample:
    """Kept, so that it is there at once the second time."""
    with running.BRIEF_WORK:
        return scaling.drawn(d_k, n_rows, seed)


def draw_factor(t: Texts) -> None:
    """The learner's own scores times a factor, from 0 to 100."""
    controls.heads(t)
    label, help = t("scaling.factor.factor"), t("scaling.factor.factor_help")
    names = scaling.factor_names(t)
    factor = lesson.slide_along("scaling.factor", label, names, default=1.0, help=help)
    e = session.experiment()
    trace = e.trace().attention.head(session.head())
    lesson.show(t, scaling.factored(t, e, trace, factor))
    lesson.found(t, *scaling.factored_found(t, trace, factor))


def draw_stability(t: Texts) -> None:
    """One row of scores through both forms of softmax, in few digits."""
    controls.heads(t)
    e = session.experiment()
    with st.container(horizontal=True, vertical_alignment="bottom"):
        token = draw_token(t("scaling.stability.token"))
        types = {precision: precision for precision in PRECISIONS}
        label = t("scaling.stability.precision")
        precision = lesson.choose("scaling.precision", label, types)
    label, names = t("scaling.stability.offset"), scaling.offset_names()
    offset = lesson.slide_along("scaling.offset", label, names, default=0)
    both = scaling.both_ways(e.trace().attention.head(session.head()), token, precision, offset)
    if both is not None:
        lesson.show(t, scaling.stable(t, e, token, both))
    lesson.found(t, *scaling.stable_found(t, e, token, both))
    st.table(scaling.thresholds(t))


def draw_axis(t: Texts) -> None:
    """Softmax along the rows, and along the wrong axis."""
    controls.heads(t)
    e = session.experiment()
    trace = e.trace().attention.head(session.head())
    lesson.show(t, scaling.both_axes(t, e, trace))
    lesson.found(t, *scaling.both_axes_found(t, e, trace))


def draw_shift(t: Texts) -> None:
    """Something is added before softmax: which of it the weights notice."""
    controls.heads(t)
    e = session.experiment()
    label, names = t("scaling.shift.where"), scaling.shift_names(t)
    shift = lesson.choose("scaling.shift", label, names)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        token = draw_token(t("scaling.shift.token")) if shift in ("row", "key") else 0
        by = lesson.slide("scaling.by", t("scaling.shift.by"), -10, 10, default=3)
    shifts = scaling.shifts(e, session.head(), by, token)
    lesson.show(t, scaling.shift_exhibit(t, e, shifts[shift]))
    lesson.found(t, *scaling.shift_found(t, shifts[shift]))
    st.table(scaling.shift_table(t, shifts))


def draw_token(label: str) -> int:
    """Whose row, or key, is looked at."""
    return lesson.choose("scaling.token", label, on_inputs(session.experiment()))


lesson.page(
    t,
    "scaling",
    {
        "sampling": draw_sampling,
        "factor": draw_factor,
        "stability": draw_stability,
        "axis": draw_axis,
        "shift": draw_shift,
    },
)

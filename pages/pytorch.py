"""The current experiment in PyTorch: the same numbers, other conventions, gradients, and a fit."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import streamlit as st

from attention_core import Experiment
from attention_core.canvas import MAX_SEED, MAX_TOKENS
from playground import controls, fit_form, lesson, session, shell
from playground.lessons import pytorch_batch, pytorch_gradients
from playground.texts import Texts, small

if TYPE_CHECKING:
    from attention_core.neural.gradients import Width

BESIDE = (4, 5)  # widths of two inputs beside each other

t = shell.open_page(has_board=True)


def draw_parity(t: Texts) -> None:
    """The experiment through all routes, and how far they lie apart."""


def draw_conventions(t: Texts) -> None:
    """What differs by convention, with the real calls and the measured effect."""


def draw_batch(t: Texts) -> None:
    """Sentences of unequal length, padded together."""
    e = session.experiment()
    lines, index, is_masked = draw_sentences(t, e)
    controls.heads(t)
    compared = pytorch_batch.compared(e, lines, is_masked=is_masked)
    lesson.show(t, pytorch_batch.exhibit(t, compared, index, session.head()))
    st.table(pytorch_batch.shapes(t, compared))
    st.markdown(small(t("pytorch.batch.letters")))
    lesson.found(t, *pytorch_batch.found(t, compared))


def draw_sentences(t: Texts, e: Experiment) -> tuple[Sequence[pytorch_batch.Words], int, bool]:
    """Which sentences there are, which one is shown, and whether their padding is masked."""
    left, right = st.columns(BESIDE)
    with left:
        written = draw_lines(t, e)
    with right:
        index = draw_sentence(t, written.lines)
        is_masked = lesson.switch("pytorch.is_masked", t("pytorch.batch.is_masked"), default=True)
    for remark in pytorch_batch.remarks(t, e, written):
        st.markdown(small(remark))
    return written.lines, index, is_masked


def draw_lines(t: Texts, e: Experiment) -> pytorch_batch.Written:
    """Where sentences are written."""
    most = pytorch_batch.MOST_LINES
    text = lesson.write(
        "pytorch.batch_lines",
        t("pytorch.batch.lines"),
        default=pytorch_batch.own_text(e),
        most=pytorch_batch.MOST_TEXT,
        n_lines=most,
        help=t("pytorch.batch.lines_help", most_lines=most, most=MAX_TOKENS),
    )
    return pytorch_batch.read(e, text)


def draw_sentence(t: Texts, lines: Sequence[pytorch_batch.Words]) -> int:
    """Which of the sentences is shown."""
    names, first = pytorch_batch.names(t, lines), pytorch_batch.first_shown(lines)
    label = t("pytorch.batch.sentence")
    return lesson.choose("pytorch.batch_sentence", label, names, default=first)


def draw_gradients(t: Texts) -> None:
    """What one cell of the output depends on, and how gradients die."""
    label, views = t("pytorch.gradients.view"), pytorch_gradients.views(t)
    view = lesson.choose("pytorch.gradients_view", label, views, is_label_shown=False)
    if view == "widths":
        draw_widths(t)
        return
    e = session.experiment()
    token, feature = draw_cell(t, e)
    controls.heads(t)
    measured = pytorch_gradients.measured(e, token, feature, session.head())
    lesson.show(t, pytorch_gradients.exhibit(t, e, e.trace(), measured))
    lesson.found(t, *pytorch_gradients.found(t, e, measured))


def draw_cell(t: Texts, e: Experiment) -> tuple[int, int]:
    """Which number of the output is looked at: its row and its column."""
    tokens, features = pytorch_gradients.token_names(e), pytorch_gradients.feature_names(t, e)
    token = lesson.choose("pytorch.gradients_token", t("pytorch.gradients.token"), tokens)
    key, label = "pytorch.gradients_feature", t("pytorch.gradients.feature")
    if len(features) > pytorch_gradients.MOST_CHOICES:
        return token, lesson.slide_along(key, label, features, default=0)
    return token, lesson.choose(key, label, features)


def draw_widths(t: Texts) -> None:
    """Random heads from narrow to wide, and what reaches their weights."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        names, label = pytorch_gradients.width_names(), t("pytorch.gradients.width")
        d_k = lesson.slide_along("pytorch.gradients_d_k", label, names, default=512)
        label = t("pytorch.gradients.seed")
        seed = lesson.number("pytorch.gradients_seed", label, 0, MAX_SEED, default=0)
    widths = pytorch_gradients.widths(at_width, seed)
    st.markdown(small(pytorch_gradients.drawn(t, widths)))
    figure = pytorch_gradients.figure(t, widths, d_k, shell.theme())
    lesson.plot("pytorch.widths", figure, t("pytorch.gradients.alt"))
    st.table(pytorch_gradients.table(t, pytorch_gradients.chosen(widths, d_k)))
    lesson.found(t, *pytorch_gradients.widths_found(t, widths, d_k))


@st.cache_data(show_spinner=False, max_entries=200)
def at_width(d_k: int, seed: int) -> "Width":
    """Kept, so that it is there at once the second time."""
    return pytorch_gradients.at_width(d_k, seed)


def draw_code(t: Texts) -> None:
    """The layer that this page runs, from its source, and the experiment as a script."""


lesson.page(
    t,
    "pytorch",
    {
        "parity": lesson.with_torch(draw_parity),
        "conventions": lesson.with_torch(draw_conventions),
        "batch": lesson.with_torch(draw_batch),
        "gradients": lesson.with_torch(draw_gradients),
        "fit": lesson.with_torch(fit_form.draw),
        "code": lesson.with_torch(draw_code),
    },
)

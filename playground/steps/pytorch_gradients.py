"""What one cell of the output depends on, and how gradients die."""

from typing import TYPE_CHECKING

import streamlit as st

from attention_core import Experiment
from attention_core.canvas import MAX_SEED
from playground import controls, lesson, session, shell
from playground.lessons import pytorch_gradients
from playground.lessons.tokens import on_inputs
from playground.texts import Texts, small

if TYPE_CHECKING:
    from attention_core.neural.gradients import Width


def draw(t: Texts) -> None:
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
    tokens, features = on_inputs(e), pytorch_gradients.feature_names(t, e)
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

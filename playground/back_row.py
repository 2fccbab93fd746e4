"""Weights and output as one large picture, for the back row of a class."""

import streamlit as st

from attention_core import Experiment, ExperimentTrace
from playground import figures, session, shell
from playground.figures import ImageFormat, Panel
from playground.pipeline import axis_labels, pipeline
from playground.texts import Texts

SECTION_KEY, _FORMAT = "back_row", "back_row_format"
_FORMATS: tuple[ImageFormat, ...] = ("png", "svg")


def panel(t: Texts) -> None:
    """The section with the picture, drawn only while it is open: Plotly is slow to redraw."""
    section = st.expander(
        t("figure.title"), icon=":material/groups:", key=SECTION_KEY, on_change="rerun"
    )
    if not section.open:
        return
    experiment = session.experiment()
    with section:
        chosen = st.segmented_control(
            t("figure.format"),
            _FORMATS,
            default=_FORMATS[0],
            format_func=str.upper,
            key=_FORMAT,
            required=True,
            help=t("figure.hint"),
        )
        figure = figures.heatmaps(
            _panels(t, experiment, experiment.trace(), session.head()),
            shell.theme(),
            is_narrow=shell.is_phone(),
        )
        config = figures.config(chosen)
        st.plotly_chart(figure, key="figure", theme=None, config=config, alt=t("figure.alt"))


def _panels(
    t: Texts, experiment: Experiment, trace: ExperimentTrace, head: int
) -> tuple[Panel, Panel]:
    matrices = {matrix.id: matrix for matrix in pipeline(experiment, trace, head)}
    labels = axis_labels(experiment, t.group("feature"))
    weights, output = matrices["weights"], matrices["output"]
    title = "figure.weights_head" if experiment.n_heads > 1 else "figure.weights"
    return (
        Panel(
            t(title, number=head + 1),
            weights.values,
            labels[weights.rows],
            labels[weights.columns],
            t("figure.queries"),
            t("figure.keys"),
            are_weights=True,
        ),
        Panel(
            t("figure.output"),
            output.values,
            labels[output.rows],
            labels[output.columns],
            "",
            t("figure.columns"),
        ),
    )

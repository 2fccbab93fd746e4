"""The Playground: edit the numbers of self-attention and watch every step answer."""

import streamlit as st

from playground import board, controls, figures, formula, session, shell
from playground.figures import Panel
from playground.pipeline import axis_labels, pipeline

t = shell.open_page()

with st.sidebar:
    controls.experiment_controls(t)

experiment = session.experiment()
head = session.head()
trace = experiment.trace()
matrices = {matrix.id: matrix for matrix in pipeline(experiment, trace, head)}
labels = axis_labels(experiment, t.group("feature"))

with st.container(horizontal=True, horizontal_alignment="distribute"):
    st.title(t("lesson.playground.question"), width="content")
    controls.toolbar(t)
with st.container(horizontal=True, vertical_alignment="center", gap="small"):
    *equations, last = formula.equations(experiment, trace)
    for equation in equations:
        st.latex(equation.latex(), width="content")
    st.latex(last.latex(), width="content", help=t("formula.hint"))
board.show(t, experiment, trace, head)

st.subheader(t("figure.title"), help=t("figure.hint"))
weights, output = matrices["weights"], matrices["output"]
title = "figure.weights_head" if experiment.n_heads > 1 else "figure.weights"
figure = figures.heatmaps(
    [
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
    ],
    shell.theme(),
)
st.plotly_chart(figure, key="figure", config=figures.CONFIG, alt=t("figure.alt"))

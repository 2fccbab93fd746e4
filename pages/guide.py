"""The guide: what each matrix means, with this experiment's shapes, and how to use the board."""

import streamlit as st

from playground import session, shell
from playground.pipeline import pipeline

t = shell.open_page()

experiment = session.experiment()
matrices = pipeline(experiment, experiment.trace(), session.head())

st.title(t("lesson.guide.question"))
st.markdown(t.long("guide"))
st.subheader(t("guide.symbols"))
st.table(
    {
        # With the space, a cell is wide enough for its subscript and doesn't scroll by two pixels.
        t("guide.symbol"): [
            rf"${matrix.symbol}\;$" if matrix.symbol else "" for matrix in matrices
        ],
        t("guide.name"): [t(f"matrix.{matrix.text_id}.name") for matrix in matrices],
        t("guide.shape"): [" × ".join(map(str, matrix.values.shape)) for matrix in matrices],
        t("guide.meaning"): [t(f"matrix.{matrix.text_id}.about") for matrix in matrices],
    }
)

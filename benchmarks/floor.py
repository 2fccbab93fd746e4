"""The least that a Streamlit app can do: a slider and a line of text. All ratios are to it."""

import streamlit as st

size = st.slider("size", 1, 8, 4)
st.text(f"size {size}")

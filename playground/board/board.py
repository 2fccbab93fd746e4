"""Hands the matrices of a trace to the board in the browser, and its edits to the session.

The board shows what it is given and computes nothing: every number and colour comes from the
trace and the palette.
"""

from pathlib import Path
from typing import Any

import numpy as np
import streamlit as st

from attention_core import Experiment, ExperimentTrace
from attention_core.arrays import FloatArray
from attention_core.canvas import MAX_TOKENS
from attention_core.experiment import MAX_VALUE
from playground import palette, session
from playground.component import Component
from playground.pipeline import STAGES, Matrix, axis_labels, pipeline
from playground.texts import Texts

_BOARD = Component("board", Path(__file__).parent, html='<div class="board"></div>', is_styled=True)
_KEY = "board"


def show(t: Texts, experiment: Experiment, trace: ExperimentTrace, head: int) -> None:
    """Draw the board for one head of an experiment."""
    _BOARD(
        key=_KEY,
        data=board_data(t, experiment, trace, head)
        | {"run": session.run(), "revision": session.revision(), "taken": session.taken()},
        on_edits_change=lambda: session.take(st.session_state[_KEY].get("edits")),
    )


def board_data(
    t: Texts, experiment: Experiment, trace: ExperimentTrace, head: int
) -> dict[str, Any]:
    """All that the board shows, as JSON-ready data."""
    matrices = pipeline(experiment, trace, head)
    present = [stage for stage in STAGES if any(m.stage == stage for m in matrices)]
    names = {matrix.id: t(f"matrix.{matrix.id}.name") for matrix in matrices}
    return {
        "matrices": [_described(t, matrix, head, names) for matrix in matrices],
        "stages": [{"id": stage, "title": t(f"stage.{stage}")} for stage in present],
        "axes": axis_labels(experiment, t.group("feature")),
        "texts": t.group("board"),
        "palette": {"signed": palette.DIVERGING, "weights": palette.SEQUENTIAL},
        "limits": {"value": MAX_VALUE, "tokens": MAX_TOKENS},
    }


def _described(t: Texts, matrix: Matrix, head: int, names: dict[str, str]) -> dict[str, Any]:
    is_per_head = matrix.id in ("W_Q", "W_K", "W_V")
    return {
        "id": matrix.id,
        "symbol": matrix.symbol,
        "name": names[matrix.id],
        "about": t(f"matrix.{matrix.id}.about"),
        "expression": matrix.expression.format_map(names),
        "stage": matrix.stage,
        "chain": matrix.chain or matrix.id,
        "values": _jsonable(matrix.values),
        "rows": matrix.rows,
        "columns": matrix.columns,
        "scale": "weights" if matrix.are_weights else "signed",
        "editable": matrix.is_editable,
        "head": head if is_per_head else None,
        "operation": matrix.operation,
    }


def _jsonable(values: FloatArray) -> list[list[float | None]]:
    """Rows of numbers; JSON has no infinity, so -inf is None."""
    return [[None if value == -np.inf else value for value in row] for row in values.tolist()]

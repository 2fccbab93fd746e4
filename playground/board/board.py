"""Hands the matrices of a trace to the board in the browser, and its edits to the session.

Every number and colour comes from the trace and the palette. Only while an edit is under way
does the board evaluate the same graph itself, until the answer is there.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from attention_core import Experiment, ExperimentTrace, positions, softmax_trace
from attention_core.arrays import FloatArray
from attention_core.canvas import MAX_TOKENS
from attention_core.experiment import MAX_VALUE
from playground import palette, parts, session
from playground.component import Component
from playground.exhibit import Exhibit
from playground.narrate import narrate
from playground.pipeline import STAGES, Matrix, axis_labels, pipeline
from playground.texts import Texts

PER_HEAD = ("W_Q", "W_K", "W_V")

_BOARD = Component("board", Path(__file__).parent, html='<div class="board"></div>', is_styled=True)


def show(data: dict[str, Any], address: dict[str, Any]) -> None:
    """Draw the board; it writes the address into its bar, too.

    Args:
        data: From `board_data` or `exhibit_data`.
        address: From `address_bar.address`.
    """
    parts.note_board()
    _BOARD(
        key=session.BOARD_KEY,
        data=data
        | {
            "session": session.tag(),
            "view": session.invited().view,
            "revision": session.revision(),
            "taken": session.taken(),
            "heard": session.heard(),
            "address": address,
            "is_first": bool(parts.stale()),
        },
        on_edits_change=parts.answering(session.take_waiting, on=parts.BOARD),
        on_painted_change=parts.draw_rest,
    )


def board_data(
    t: Texts, experiment: Experiment, trace: ExperimentTrace, head: int
) -> dict[str, Any]:
    """All that the board of an experiment shows, as JSON-ready data."""
    matrices = pipeline(experiment, trace, head)
    of_id = {matrix.id: matrix for matrix in matrices}
    masked_scores = of_id[of_id["weights"].operation["of"][0]].values
    stages = {stage: _stage_title(t, stage, experiment, head) for stage in STAGES}
    return {
        **_laid_out(t, stages, matrices, head),
        "of": "experiment",
        "heads": _other_heads(experiment, head),
        "head": head,
        "softmax": _softmax_steps(masked_scores),
        "sentences": [asdict(sentence) for sentence in narrate(t, experiment, trace, head)],
        "axes": axis_labels(experiment, t.group("feature")),
        "texts": t.group("board"),
    }


def exhibit_data(t: Texts, exhibit: Exhibit) -> dict[str, Any]:
    """All that the board of a lesson shows, as JSON-ready data."""
    is_yours = any(matrix.is_editable for matrix in exhibit.matrices)
    hints = {"hint": t("exhibit.hint"), "hint_touch": t("exhibit.hint_touch")}
    return {
        **_laid_out(t, exhibit.stages, exhibit.matrices, 0),
        "of": exhibit.of,
        "heads": [None],
        "head": 0,
        "softmax": None,
        "sentences": [],
        "axes": {axis: list(labels) for axis, labels in exhibit.axes.items()},
        "places": {axis: list(tokens) for axis, tokens in exhibit.places.items()},
        "texts": t.group("board") | ({} if is_yours else hints),
    }


def _laid_out(
    t: Texts, stages: Mapping[str, str], matrices: Sequence[Matrix], head: int
) -> dict[str, Any]:
    """The matrices with their names, and those stages that have one."""
    names = {matrix.id: matrix.name or t(f"matrix.{matrix.text_id}.name") for matrix in matrices}
    return {
        "matrices": [_described(t, matrix, head, names) for matrix in matrices],
        "stages": [
            {"id": stage, "title": title}
            for stage, title in stages.items()
            if any(matrix.stage == stage for matrix in matrices)
        ],
        "palette": {
            "signed": palette.DIVERGING,
            "weights": palette.SEQUENTIAL,
            "bands": palette.CATEGORICAL,
        },
        "limits": {"value": MAX_VALUE, "tokens": MAX_TOKENS},
    }


def _other_heads(experiment: Experiment, head: int) -> list[dict[str, Any] | None]:
    """What the preview needs of the heads that are not shown; None for the one that is."""
    slopes = positions.alibi_slopes(experiment.n_heads).tolist()
    weights = {name: getattr(experiment, name).tolist() for name in PER_HEAD}
    return [
        None
        if index == head
        else {"slope": slope, **{name: heads[index] for name, heads in weights.items()}}
        for index, slope in enumerate(slopes)
    ]


def _softmax_steps(masked_scores: FloatArray) -> dict[str, Any]:
    """Maximum, shifted, exponentials and total of each row; None in a row without any score."""
    is_empty = np.isneginf(masked_scores).all(axis=-1, keepdims=True)
    steps = softmax_trace(np.where(is_empty, 0.0, masked_scores))
    return {
        name: _jsonable(np.where(is_empty, -np.inf, getattr(steps, name)))
        for name in ("maximum", "shifted", "exponentials", "total")
    }


def _stage_title(t: Texts, stage: str, experiment: Experiment, head: int) -> str:
    title = t(f"stage.{stage}")
    if experiment.n_heads == 1 or stage not in ("projections", "scores", "weights"):
        return title
    return t("control.of_head", stage=title, number=head + 1)


def _described(t: Texts, matrix: Matrix, head: int, names: dict[str, str]) -> dict[str, Any]:
    extras = {
        "reach": matrix.reach,
        "sortable": matrix.is_sortable or None,
        "bands": matrix.bands,
        "row_bands": matrix.row_bands,
        "mark": matrix.mark,
        "compact": matrix.is_compact,
        "marked": None if matrix.marked is None else matrix.marked.tolist(),
    }
    return {
        "id": matrix.id,
        "symbol": matrix.symbol,
        "name": names[matrix.id],
        "about": matrix.about or t(f"matrix.{matrix.text_id}.about"),
        "expression": matrix.expression.format_map(names),
        "stage": matrix.stage,
        "chain": matrix.chain or matrix.id,
        "values": _jsonable(matrix.values),
        "rows": matrix.rows,
        "columns": matrix.columns,
        "scale": "weights" if matrix.are_weights else "signed",
        "editable": matrix.is_editable,
        "paintable": matrix.is_paintable,
        "head": head if matrix.id in PER_HEAD else None,
        "operation": matrix.operation,
        **{name: extra for name, extra in extras.items() if extra not in (None, (), "", False)},
    }


def _jsonable(values: FloatArray) -> list[list[float | str | None]]:
    """Rows of numbers; JSON has no infinity, so -inf is None, and ∞ and NaN are texts."""
    if np.isfinite(values).all():
        rows: list[list[float | str | None]] = values.tolist()
        return rows
    return [[_written(value) for value in row] for row in values.tolist()]


def _written(value: float) -> float | str | None:
    if math.isfinite(value):
        return value
    return None if value == -math.inf else "NaN" if math.isnan(value) else "∞"

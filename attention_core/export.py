"""An experiment as arrays and tables to take away; `program` writes it as code.

Both files are zips that hold no date and nothing compressed, so the same experiment gives the
same bytes everywhere.
"""

import csv
import io
import zipfile
from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from attention_core.arrays import BoolArray, FloatArray
from attention_core.experiment import Experiment

Array: TypeAlias = FloatArray | BoolArray

_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\uff1d", "\uff0b", "\uff0d", "\uff20")  # wide ones too
_NO_DATE = (1980, 1, 1, 0, 0, 0)  # the first that a zip can hold

_BETWEEN = ("n_tokens", "n_tokens")
_AXES = {
    "X": ("n_tokens", "d_model"),
    "positions": ("n_tokens", "d_model"),
    "inputs": ("n_tokens", "d_model"),
    "W_Q": ("d_model", "d_k"),
    "W_K": ("d_model", "d_k"),
    "W_V": ("d_model", "d_k"),
    "projected_Q": ("n_tokens", "d_k"),
    "projected_K": ("n_tokens", "d_k"),
    "Q": ("n_tokens", "d_k"),
    "K": ("n_tokens", "d_k"),
    "V": ("n_tokens", "d_k"),
    "scores": _BETWEEN,
    "scaled_scores": _BETWEEN,
    "bias": _BETWEEN,
    "biased_scores": _BETWEEN,
    "allowed": _BETWEEN,
    "masked_scores": _BETWEEN,
    "weights": _BETWEEN,
    "head_outputs": ("n_tokens", "d_k"),
    "concatenated": ("n_tokens", "n_heads * d_k"),
    "W_O": ("n_heads * d_k", "d_model"),
}


# --- arrays


def matrices(experiment: Experiment) -> dict[str, Array]:
    """Every array of the trace by its name, all heads, in the order of the computation.

    Returns:
        X (n_tokens, d_model); W_Q, W_K, W_V (n_heads, d_model, d_k); Q, K, V, head_outputs
        (n_heads, n_tokens, d_k); scores, weights (n_heads, n_tokens, n_tokens); concatenated
        (n_tokens, n_heads * d_k); output (n_tokens, d_model or n_heads * d_k).
        And of these the ones that this experiment has: positions, inputs (n_tokens, d_model);
        projected_Q, projected_K (n_heads, n_tokens, d_k); scaled_scores, bias, biased_scores,
        masked_scores (n_heads, n_tokens, n_tokens); allowed (n_tokens, n_tokens), True = may
        attend; W_O (n_heads * d_k, d_model).
    """
    trace = experiment.trace()
    attention, steps = trace.attention, trace.attention.heads
    has_positions = trace.positions is not None
    is_rotary, has_mask = experiment.is_rotary, bool(experiment.mask.kinds)
    every: dict[str, Array | None] = {
        "X": trace.X,
        "positions": trace.positions,
        "inputs": trace.inputs if has_positions else None,
        "W_Q": attention.W_Q,
        "W_K": attention.W_K,
        "W_V": attention.W_V,
        "projected_Q": attention.projected_Q if is_rotary else None,
        "projected_K": attention.projected_K if is_rotary else None,
        "Q": steps.Q,
        "K": steps.K,
        "V": steps.V,
        "scores": steps.scores,
        "scaled_scores": steps.scaled_scores if experiment.is_scaled else None,
        "bias": trace.bias,
        "biased_scores": steps.biased_scores if trace.bias is not None else None,
        "allowed": steps.allowed[0] if has_mask else None,  # the same for all heads
        "masked_scores": steps.masked_scores if has_mask else None,
        "weights": steps.weights,
        "head_outputs": attention.head_outputs,
        "concatenated": attention.concatenated,
        "W_O": attention.W_O,
        "output": attention.output,
    }
    return {name: array for name, array in every.items() if array is not None}


def npz(experiment: Experiment) -> bytes:
    """All `matrices` and the tokens, for `np.load`; without pickle, and always the same bytes."""
    arrays = {"tokens": np.array(experiment.tokens), **matrices(experiment)}
    return _zipped({f"{name}.npy": _npy(array) for name, array in arrays.items()})


def _npy(array: npt.NDArray[Any]) -> bytes:
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, np.ascontiguousarray(array), allow_pickle=False)
    return buffer.getvalue()


def _zipped(files: Mapping[str, bytes]) -> bytes:
    """Stored, not compressed: small enough, and the bytes depend on no version of zlib."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in files.items():
            entry = zipfile.ZipInfo(name, _NO_DATE)
            entry.create_system = 3  # or Windows would write other bytes
            archive.writestr(entry, content)
    return buffer.getvalue()


# --- tables


def csv_archive(experiment: Experiment) -> bytes:
    """A zip with a table for each of the `matrices`, or one for each head if there are several.

    RFC 4180 in UTF-8, with a byte order mark, without which Excel garbles Chinese. Numbers
    have all their digits; `allowed` holds TRUE and FALSE.
    """
    labels = _labels(experiment)
    files = {}
    for name, array in matrices(experiment).items():
        rows, columns = (labels[axis] for axis in _axes(name, experiment))
        tables = array if array.ndim == 3 else array[None]
        for number, table in enumerate(tables, start=1):
            file = f"{name}_head_{number}.csv" if len(tables) > 1 else f"{name}.csv"
            files[file] = _csv(table, rows, columns)
    return _zipped(files)


def _csv(table: Array, rows: Iterable[str], columns: Iterable[str]) -> bytes:
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(["", *map(_harmless, columns)])
    for label, numbers in zip(rows, table.tolist(), strict=True):
        writer.writerow([_harmless(label), *map(_cell, numbers)])
    return text.getvalue().encode("utf-8-sig")


def _cell(value: float | bool) -> str:
    return str(value).upper() if isinstance(value, bool) else repr(value)


def _harmless(label: str) -> str:
    """A label that no spreadsheet takes for a formula, quoted or not: one ' stands before it.

    A label that begins with ' gets one more, so that taking one away gives every label back.
    """
    return f"'{label}" if label.startswith((*_FORMULA, "'")) else label


def _axes(name: str, experiment: Experiment) -> tuple[str, str]:
    """The last two axes of one of the `matrices`."""
    if name == "output":
        return ("n_tokens", "n_heads * d_k" if experiment.W_O is None else "d_model")
    return _AXES[name]


def _labels(experiment: Experiment) -> dict[str, list[str]]:
    """What stands beside the entries of each axis: as on the board, features by their own name."""
    dims = [str(i) for i in range(1, experiment.d_k + 1)]
    names = experiment.feature_names or ("",) * experiment.d_model
    return {
        "n_tokens": list(experiment.tokens),
        "d_model": [name or str(i) for i, name in enumerate(names, start=1)],
        "d_k": dims,
        "n_heads * d_k": [f"h{h}·{i}" for h in range(1, experiment.n_heads + 1) for i in dims],
    }

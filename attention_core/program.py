"""An experiment as a program that computes it again: a NumPy script, a PyTorch script, a notebook.

A program is made of sections, one for each step of

    Attention(Q, K, V) = softmax(Q Kᵀ / √d_k) V,

in which every array has the name it has in `export.matrices`; a test runs the programs and
compares each array with the trace. Script and notebook are the same sections.
A token is a learner's text: it enters a program as `repr` only, in which nothing can end a
string or a comment and what is invisible shows, and never a text that is Markdown.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from attention_core.arrays import FloatArray
from attention_core.canvas import learned_positions
from attention_core.experiment import Experiment, Mask, MaskKind

Dialect: TypeAlias = Callable[[str], str]
"""Turns code of ours from NumPy into a library's own; a learner's text never goes through it."""

_TITLE = "Self-attention, every step of one experiment"
_EQUATION = "Attention(Q, K, V) = softmax(Q Kᵀ / √d_k) V"
_SOURCE = 'Vaswani et al. 2017, "Attention Is All You Need", section 3.2'
_LINE = 88  # characters of a list of painted cells


@dataclass(frozen=True, slots=True)
class _Section:
    """One step: its heading, its code, and what a notebook shows of it."""

    title: str
    code: str
    result: str = ""


def numpy_script(experiment: Experiment) -> str:
    """A program that needs NumPy alone and computes all of `export.matrices`."""
    return _script("NumPy", "numpy", _steps(experiment, _numpy, _SETUP))


def pytorch_script(experiment: Experiment) -> str:
    """The same steps in float32, and `F.scaled_dot_product_attention`, which must agree."""
    *steps, last = _steps(experiment, _torch, _TORCH_SETUP)
    return _script("PyTorch", "torch", [*steps, _fused(experiment), last])


def notebook(experiment: Experiment) -> str:
    """The NumPy script as a Jupyter notebook (nbformat 4.5) that shows the result of each step."""
    cells = [_cell("markdown", f"# {_TITLE}\n\n`{_EQUATION}`\n\n{_SOURCE}.")]
    for step in _steps(experiment, _numpy, _SETUP):
        code = f"{step.code}\n\n{step.result}" if step.result else step.code
        cells += [_cell("markdown", f"## {step.title}"), _cell("code", code)]
    document = {
        "cells": [{"id": f"cell-{i}", **cell} for i, cell in enumerate(cells, start=1)],
        "metadata": {
            "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
            "language_info": {"name": "python"},
        },
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    return json.dumps(document, ensure_ascii=False, indent=1) + "\n"


def _cell(kind: str, text: str) -> dict[str, Any]:
    cell: dict[str, Any] = {"cell_type": kind, "metadata": {}, "source": text.splitlines(True)}
    return cell | ({"execution_count": None, "outputs": []} if kind == "code" else {})


def _script(library: str, package: str, steps: Iterable[_Section]) -> str:
    head = f'"""{_TITLE}, in {library}.\n\n    {_EQUATION}\n\n{_SOURCE}.\n'
    head += f'Made with Attention Playground. Needs: pip install {package}\n"""\n'
    return "\n".join([head, *(f"# --- {step.title}\n\n{step.code}\n" for step in steps)])


def _numpy(code: str) -> str:
    return code


def _torch(code: str) -> str:
    translated = code.replace("np.array", "torch.tensor").replace("np.", "torch.")
    return translated.replace(".copy()", ".clone()")


# --- the steps


def _steps(experiment: Experiment, to: Dialect, setup: str) -> Iterator[_Section]:
    """All steps, in the order of the equation; the last one prints what came out."""
    yield _Section("Set up", setup)
    yield _tokens(experiment, to)
    yield _weight_matrices(experiment, to)
    X = "X"
    if experiment.encoding in ("sinusoidal", "learned"):
        yield _positions(experiment, to)
        X = "inputs"
    yield _Section("Queries, keys and values", _projections(experiment, X, to), "Q")
    scores = "scores"
    yield _Section("Scores: how well each query matches each key", _SCORES, scores)
    if experiment.is_scaled:
        yield _Section("Scaled scores: wide heads get no extreme ones", _SCALED, "scaled_scores")
        scores = "scaled_scores"
    if experiment.encoding == "alibi":
        code = to(_ALIBI).format(scores=scores)
        yield _Section("ALiBi: the farther away, the lower", code, "biased_scores")
        scores = "biased_scores"
    if experiment.mask.kinds:
        code = to(_mask(experiment.mask, experiment.n_tokens)) + to(_MASKED).format(scores=scores)
        yield _Section("Mask: who may attend to whom", code, "masked_scores")
        scores = "masked_scores"
    yield _Section("Weights: softmax of each row", _softmax(experiment, scores, to), "weights")
    mixed = _MIXED if experiment.W_O is None else _MIXED_BY_W_O
    yield _Section("Output: the values, mixed by the weights", mixed, "output")
    yield _Section("What came out", _PRINT)


def _tokens(experiment: Experiment, to: Dialect) -> _Section:
    notes = [repr(token) for token in experiment.tokens]
    code = (
        f"tokens = {list(experiment.tokens)!r}\n"
        f"X = {to('np.array')}({_literal(experiment.X, notes)})  # (n_tokens, d_model)\n"
        "n_tokens, d_model = X.shape"
    )
    return _Section("Tokens and their vectors", code)


def _weight_matrices(experiment: Experiment, to: Dialect) -> _Section:
    array, parts = to("np.array"), []
    for name in ("W_Q", "W_K", "W_V"):
        literal = _literal(getattr(experiment, name))
        parts.append(f"{name} = {array}({literal})  # (n_heads, d_model, d_k)")
    if experiment.W_O is not None:
        parts.append(f"W_O = {array}({_literal(experiment.W_O)})  # (n_heads * d_k, d_model)")
    parts.append("n_heads, _, d_k = W_Q.shape")
    return _Section("Weight matrices", "\n".join(parts))


def _positions(experiment: Experiment, to: Dialect) -> _Section:
    if experiment.encoding == "sinusoidal":
        return _Section("Positions: sines and cosines, added to X", to(_SINUSOIDAL), "inputs")
    table = learned_positions(experiment.seed)[: experiment.n_tokens, : experiment.d_model]
    code = f"positions = {to('np.array')}({_literal(table)})  # (n_tokens, d_model)\n" + _ADDED
    return _Section("Positions: a table as a model learns it, added to X", code, "inputs")


def _projections(experiment: Experiment, X: str, to: Dialect) -> str:
    is_rotary = experiment.encoding == "rotary"
    template = to(_ROTARY) + _ROTATED if is_rotary else _PROJECTED
    return template.format(X=X)


def _mask(mask: Mask, n_tokens: int) -> str:
    """Each rule as a rule; cells painted by hand one by one, after them, since they win."""
    rules: dict[MaskKind, str] = {
        "causal": "allowed &= key <= query  # causal: nobody sees a later token",
        "padding": f"allowed &= key < n_tokens - {mask.n_padding}"
        "  # padding: nobody sees what only fills up",
        "window": f"allowed &= (query - {mask.before} <= key) & (key <= query + {mask.after})"
        "  # window: only neighbours",
        "painted": _painted(mask, n_tokens),
    }
    return "\n".join([_EVERYTHING, *(rules[kind] for kind in mask.kinds), ""])


def _painted(mask: Mask, n_tokens: int) -> str:
    lines = ["painted = [  # set by hand: query, key, may attend"]
    for cell in mask.painted:
        if max(cell[:2]) < n_tokens:
            if len(lines[-1]) + len(str(cell)) > _LINE or len(lines) == 1:
                lines.append("   ")
            lines[-1] += f" {cell},"
    loop = "for i, j, is_allowed in painted:\n    allowed[i, j] = is_allowed"
    return "\n".join([*lines, "]", loop])


def _softmax(experiment: Experiment, scores: str, to: Dialect) -> str:
    has_mask = bool(experiment.mask.kinds)
    if to is _torch:
        template = _TORCH_SOFTMAX_WITH_MASK if has_mask else _TORCH_SOFTMAX
    else:
        template = _SOFTMAX_WITH_MASK if has_mask else _SOFTMAX
    return template.format(scores=scores)


def _fused(experiment: Experiment) -> _Section:
    mask = "allowed" if experiment.mask.kinds else "None"
    if experiment.encoding == "alibi":
        mask = "bias.masked_fill(~allowed, -torch.inf)" if experiment.mask.kinds else "bias"
    scale = "scale" if experiment.is_scaled else "1.0"
    return _Section("The same in one call", _FUSED.format(mask=mask, scale=scale))


# --- numbers


def _literal(array: FloatArray, notes: Sequence[str] = ()) -> str:
    """Nested lists with all digits, a row a line, columns aligned, and a note after each row."""
    if array.ndim == 2:
        return f"[\n{_rows(array, notes, ' ' * 4)}]"
    heads = (
        f"    [  # head {number}\n{_rows(table, notes, ' ' * 8)}    ],\n"
        for number, table in enumerate(array, start=1)
    )
    return f"[\n{''.join(heads)}]"


def _rows(table: FloatArray, notes: Sequence[str], indent: str) -> str:
    numbers = [[repr(number) for number in row] for row in table.tolist()]
    widths = [max(map(len, column)) for column in zip(*numbers, strict=True)]
    lines = []
    for i, row in enumerate(numbers):
        aligned = ", ".join(map(str.rjust, row, widths))
        lines.append(f"{indent}[{aligned}]," + (f"  # {notes[i]}" if notes else ""))
    return "".join(f"{line}\n" for line in lines)


# --- the code of the steps, in NumPy where the dialects differ by names alone

_SETUP = """\
import math

import numpy as np

np.set_printoptions(precision=4, suppress=True)"""

_TORCH_SETUP = """\
import math

import torch
import torch.nn.functional as F"""

_SINUSOIDAL = """\
frequencies = 10_000.0 ** (-np.arange(0, d_model, 2) / d_model)
angles = np.arange(n_tokens)[:, None] * frequencies  # (n_tokens, half of d_model)
positions = np.empty((n_tokens, d_model))
positions[:, 0::2] = np.sin(angles)
positions[:, 1::2] = np.cos(angles[:, : d_model // 2])  # an odd width has a sine more
inputs = X + positions  # (n_tokens, d_model)"""

_ADDED = "inputs = X + positions  # (n_tokens, d_model)"

_PROJECTED = """\
Q = {X} @ W_Q  # (n_tokens, d_model) @ (n_heads, d_model, d_k) -> (n_heads, n_tokens, d_k)
K = {X} @ W_K  # (n_heads, n_tokens, d_k)
V = {X} @ W_V  # (n_heads, n_tokens, d_k)"""

_ROTARY = '''\
def rotary(vectors):
    """Turn each pair of columns by an angle that grows with the position."""
    n_pairs = d_k // 2  # the last column of an odd width has no partner and stays
    even, odd = slice(0, 2 * n_pairs, 2), slice(1, 2 * n_pairs, 2)
    frequencies = 10_000.0 ** (-np.arange(n_pairs) / max(n_pairs, 1))
    angles = np.arange(n_tokens)[:, None] * frequencies  # (n_tokens, n_pairs)
    cos, sin = np.cos(angles), np.sin(angles)
    rotated = vectors.copy()
    rotated[..., even] = vectors[..., even] * cos - vectors[..., odd] * sin
    rotated[..., odd] = vectors[..., even] * sin + vectors[..., odd] * cos
    return rotated


'''

_ROTATED = """\
projected_Q = {X} @ W_Q  # (n_heads, n_tokens, d_k)
projected_K = {X} @ W_K  # (n_heads, n_tokens, d_k)
Q = rotary(projected_Q)  # (n_heads, n_tokens, d_k)
K = rotary(projected_K)  # (n_heads, n_tokens, d_k)
V = {X} @ W_V  # (n_heads, n_tokens, d_k)"""

_SCORES = """\
# (n_heads, n_tokens, d_k) @ (n_heads, d_k, n_tokens) -> (n_heads, n_tokens, n_tokens)
scores = Q @ K.swapaxes(-1, -2)"""

_SCALED = """\
scale = 1 / math.sqrt(d_k)
scaled_scores = scores * scale  # (n_heads, n_tokens, n_tokens)"""

_ALIBI = '''\
def slopes_of(n):
    """How steeply the scores of n heads fall with distance, n a power of two."""
    return 2.0 ** (-8 * np.arange(1, n + 1) / n)


power = 1 << (n_heads.bit_length() - 1)  # other counts fill up with every second slope of twice
rest = slopes_of(2 * power)[0::2][: n_heads - power]
slopes = np.concatenate([slopes_of(power), rest])  # (n_heads,)
distance = np.abs(np.arange(n_tokens)[:, None] - np.arange(n_tokens)[None, :])
bias = -slopes[:, None, None] * distance  # (n_heads, n_tokens, n_tokens)
biased_scores = {scores} + bias  # (n_heads, n_tokens, n_tokens)'''

_EVERYTHING = """\
query = np.arange(n_tokens)[:, None]  # rows
key = np.arange(n_tokens)[None, :]  # columns
allowed = np.ones((n_tokens, n_tokens), dtype=bool)  # True = may attend"""

_MASKED = "masked_scores = np.where(allowed, {scores}, -np.inf)  # (n_heads, n_tokens, n_tokens)"

_SOFTMAX = """\
largest = {scores}.max(axis=-1, keepdims=True)  # taken off, so that exp cannot overflow
exponentials = np.exp({scores} - largest)
weights = exponentials / exponentials.sum(axis=-1, keepdims=True)  # each row sums to 1"""

_SOFTMAX_WITH_MASK = """\
is_empty = ~allowed.any(axis=-1, keepdims=True)  # a token that may attend to nothing
largest = np.where(is_empty, 0, {scores}.max(axis=-1, keepdims=True))
exponentials = np.exp({scores} - largest)  # largest taken off, so that exp cannot overflow
total = np.where(is_empty, 1, exponentials.sum(axis=-1, keepdims=True))
weights = exponentials / total  # each row sums to 1; an empty one is 0 where 0 / 0 would be NaN"""

_TORCH_SOFTMAX = "weights = torch.softmax({scores}, dim=-1)  # each row sums to 1"

_TORCH_SOFTMAX_WITH_MASK = """\
is_empty = ~allowed.any(dim=-1, keepdim=True)  # a token that may attend to nothing
weights = torch.softmax({scores}, dim=-1)  # each row sums to 1
weights = weights.masked_fill(is_empty, 0.0)  # but an empty one is 0, where 0 / 0 gave NaN"""

_MIXED = """\
head_outputs = weights @ V  # (n_heads, n_tokens, d_k)
concatenated = head_outputs.swapaxes(0, 1).reshape(n_tokens, n_heads * d_k)
output = concatenated  # (n_tokens, n_heads * d_k)"""

_MIXED_BY_W_O = """\
head_outputs = weights @ V  # (n_heads, n_tokens, d_k)
concatenated = head_outputs.swapaxes(0, 1).reshape(n_tokens, n_heads * d_k)
output = concatenated @ W_O  # (n_tokens, d_model)"""

_FUSED = """\
mask = {mask}
fused = F.scaled_dot_product_attention(Q, K, V, attn_mask=mask, scale={scale})

# float32 holds 7 digits, so both are only as sure as the largest score leaves them.
largest = (Q.abs() @ K.abs().swapaxes(-1, -2)).max() * {scale}
tolerance = 1e-5 * (1 + largest) * (1 + V.abs().max())
assert (fused - head_outputs).abs().max() <= tolerance"""

_PRINT = '''\
def show(table):
    """Print the row of each token."""
    for token, row in zip(tokens, table.tolist()):
        print("  ", *(f"{number:9.4g}" for number in row), "", token)


for head in range(n_heads):
    print(f"Weights of head {head + 1}: a row for each token, a column for each it looks at")
    show(weights[head])
print("Output")
show(output)'''

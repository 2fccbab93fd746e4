"""The matrices of an experiment in the order they are computed, each with how it was made.

One head is followed at a time. The board draws this list, and whatever needs the order of the
computation, its shapes or its operands reads it here.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from attention_core import Experiment, ExperimentTrace, positions
from attention_core.arrays import BoolArray, FloatArray

STAGES = ("inputs", "projections", "scores", "weights", "output")


@dataclass(frozen=True, eq=False, slots=True)
class Matrix:
    """One matrix on the board."""

    id: str
    symbol: str  # as in the equation; "_Q" is a subscript
    stage: str
    values: FloatArray  # (rows, columns)
    rows: str  # the axis along them
    columns: str
    expression: str = ""  # how it is computed; "{scores}" stands for the name of that matrix
    operation: dict[str, Any] = field(default_factory=lambda: {"kind": "given"})
    is_editable: bool = False
    is_paintable: bool = False  # its cells are allowed and forbidden by hand
    is_sortable: bool = False  # its rows are carried up and down by their names
    are_weights: bool = False  # from 0 to 1, rather than signed
    chain: str = ""  # matrices of one chain stand below each other
    text: str = ""  # which texts describe it, if not those of its id
    name: str = ""  # in the reader's language, if not that of the texts
    about: str = ""
    reach: float | None = None  # the size at which a signed colour is full, if not its own largest
    bands: tuple[int, ...] = ()  # the colour of each column's frame
    row_bands: tuple[int, ...] = ()  # and of each row's
    is_compact: bool = False  # colours alone: a number is read where one points
    marked: BoolArray | None = None  # cells that are pointed out
    mark: str = ""  # what a screen reader says of them

    @property
    def text_id(self) -> str:
        """The texts that describe it are `matrix.<text_id>.name` and `.about`."""
        return self.text or self.id


def pipeline(experiment: Experiment, trace: ExperimentTrace, head: int) -> list[Matrix]:
    """All matrices from X to the output, following one head.

    Args:
        experiment: What was computed.
        trace: What it gave.
        head: From 0 to n_heads - 1.
    """
    return [
        *_inputs(experiment, trace),
        *_projections(experiment, trace, head),
        *_scores(experiment, trace, head),
        *_output(experiment, trace, head),
    ]


def axis_labels(
    experiment: Experiment, names_of: Mapping[str, str] | None = None
) -> dict[str, list[str]]:
    """What stands beside the rows and columns.

    Args:
        experiment: Whose tokens and features to name.
        names_of: Translations of feature names; features without a name are numbered.
    """
    words = names_of or {}
    names = [words.get(n, n) for n in experiment.feature_names] or [""] * experiment.d_model
    dims = range(1, experiment.d_k + 1)
    return {
        "tokens": list(experiment.tokens),
        "features": [name or str(i) for i, name in enumerate(names, start=1)],
        "dims": [str(i) for i in dims],
        "concatenated": [f"h{h}·{i}" for h in range(1, experiment.n_heads + 1) for i in dims],
    }


def _inputs(experiment: Experiment, trace: ExperimentTrace) -> list[Matrix]:
    X = Matrix("X", "X", "inputs", trace.X, "tokens", "features", is_editable=True)
    if trace.positions is None:
        return [X]
    P = Matrix(
        "positions",
        "P",
        "inputs",
        trace.positions,
        "tokens",
        "features",
        operation={"kind": experiment.encoding, "d_model": experiment.d_model},
    )
    total = Matrix(
        "inputs",
        "X′",
        "inputs",
        trace.inputs,
        "tokens",
        "features",
        "X + P",
        operation={"kind": "add", "of": ["X", "positions"]},
    )
    return [X, P, total]


def _projections(experiment: Experiment, trace: ExperimentTrace, head: int) -> list[Matrix]:
    attention = trace.attention
    source, symbol = ("X", "X") if trace.positions is None else ("inputs", "X′")
    rotates = experiment.is_rotary
    projected = {"Q": attention.projected_Q, "K": attention.projected_K, "V": attention.heads.V}
    matrices = []
    for letter, values in projected.items():
        W = getattr(attention, f"W_{letter}")[head]
        turns = rotates and letter != "V"
        name = f"projected_{letter}" if turns else letter
        matrices += [
            Matrix(
                f"W_{letter}",
                f"W_{letter}",
                "projections",
                W,
                "features",
                "dims",
                is_editable=True,
                chain=letter,
            ),
            Matrix(
                name,
                letter,
                "projections",
                values[head],
                "tokens",
                "dims",
                f"{symbol} W_{letter}",
                {"kind": "matmul", "of": [source, f"W_{letter}"]},
                chain=letter,
            ),
        ]
        if turns:
            rotated = getattr(attention.heads, letter)[head]
            matrices.append(
                Matrix(
                    letter,
                    f"{letter}′",
                    "projections",
                    rotated,
                    "tokens",
                    "dims",
                    f"RoPE({letter})",
                    {"kind": "rotate", "of": [name], **_rotation(experiment)},
                    chain=letter,
                    text=f"rotated_{letter}",
                )
            )
    return matrices


def _rotation(experiment: Experiment) -> dict[str, Any]:
    """The cosine and sine of each token and pair."""
    cos, sin = positions.rotation(experiment.n_tokens, experiment.d_k // 2)
    return {"cos": cos.tolist(), "sin": sin.tolist()}


def _scores(experiment: Experiment, trace: ExperimentTrace, head: int) -> list[Matrix]:
    """From the scores to the weights; each step is made from the one before it."""
    steps = trace.attention.head(head)
    turned = "′" if experiment.is_rotary else ""
    matrices = [
        _between_tokens(
            "scores",
            steps.scores,
            f"Q{turned} K{turned}ᵀ",
            {"kind": "matmul_transposed", "of": ["Q", "K"]},
        )
    ]

    def follow(id: str, expression: str, kind: str, **more: Any) -> None:
        # The bias or the mask stands between a step and the one it was made from.
        *_, before, last = ["", *(matrix.id for matrix in matrices)]
        operands = [before, last] if kind in ("add", "mask") else [last]
        text = expression.replace("<>", f"{{{operands[0]}}}")
        operation = {"kind": kind, "of": operands, **more}
        matrices.append(_between_tokens(id, getattr(steps, id), text, operation))

    if experiment.is_scaled:
        follow("scaled_scores", f"<> / √{experiment.d_k}", "scale", d_k=experiment.d_k)
    if trace.bias is not None:
        slope = float(positions.alibi_slopes(experiment.n_heads)[head])
        bias = {"kind": "alibi", "slope": slope}
        matrices.append(_between_tokens("bias", trace.bias[head], "", bias, symbol="B"))
        follow("biased_scores", "<> + B", "add")
    if experiment.mask.kinds:
        allowed = np.where(steps.allowed, 0.0, -np.inf)
        rules = {"kind": "allowed", "forbidden_by": _forbidden_by(experiment)}
        matrices.append(_between_tokens("mask", allowed, "", rules, symbol="M"))
        follow("masked_scores", "<> + M", "mask")
    follow("weights", "softmax(<>)", "softmax")
    return matrices


def _between_tokens(
    id: str, values: FloatArray, expression: str, operation: dict[str, Any], symbol: str = ""
) -> Matrix:
    """A matrix with a row for each query and a column for each key."""
    are_weights = id == "weights"
    stage = "weights" if are_weights else "scores"
    return Matrix(
        id,
        symbol,
        stage,
        values,
        "tokens",
        "tokens",
        expression,
        operation,
        are_weights=are_weights,
        is_paintable=id == "mask",
    )


def _forbidden_by(experiment: Experiment) -> dict[str, list[list[bool]]]:
    """For each rule that is on, which cells it forbids; what else differs was set by hand."""
    mask, n_tokens = experiment.mask, experiment.n_tokens
    rules = [kind for kind in mask.kinds if kind != "painted"]
    return {kind: (~mask.only(kind).allowed(n_tokens)).tolist() for kind in rules}


def _output(experiment: Experiment, trace: ExperimentTrace, head: int) -> list[Matrix]:
    attention = trace.attention
    steps = attention.head(head)
    mix = {"kind": "matmul", "of": ["weights", "V"]}
    if experiment.n_heads == 1 and attention.W_O is None:
        return [Matrix("output", "O", "output", steps.output, "tokens", "dims", "{weights} V", mix)]
    matrices = [
        Matrix("head_output", "H", "output", steps.output, "tokens", "dims", "{weights} V", mix)
    ]
    source, columns = "head_output", "H"
    inner = "dims"
    if experiment.n_heads > 1:
        source, columns, inner = "concatenated", "C", "concatenated"
        is_last = attention.W_O is None
        matrices.append(
            Matrix(
                "output" if is_last else "concatenated",
                "O" if is_last else "C",
                "output",
                attention.concatenated,
                "tokens",
                "concatenated",
                f"[H₁ … H{_subscript(experiment.n_heads)}]",
                {"kind": "concat", "of": ["head_output"], "head": head, "d_k": experiment.d_k},
                text="joined_output" if is_last else "",
            )
        )
    if attention.W_O is not None:
        matrices += [
            Matrix("W_O", "W_O", "output", attention.W_O, inner, "features", is_editable=True),
            Matrix(
                "output",
                "O",
                "output",
                attention.output,
                "tokens",
                "features",
                f"{columns} W_O",
                {"kind": "matmul", "of": [source, "W_O"]},
                text="projected_output",
            ),
        ]
    return matrices


def _subscript(number: int) -> str:
    return str(number).translate(str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉"))

"""What the lesson on PyTorch shows of its code: our layers with measured shapes, and a script."""

from __future__ import annotations

from typing import TYPE_CHECKING

from playground.lessons.pytorch_parity import fitted
from playground.numerals import size
from playground.texts import Texts

if TYPE_CHECKING:
    from attention_core import Experiment
    from attention_core.neural.listing import Part, Role, Run

NAMES: dict[Part, str] = {
    "self_attention": "SelfAttention",
    "multi_head": "MultiHeadAttention",
    "weights": "attention_weights",
}


def table(t: Texts, run: Run) -> dict[str, list[str]]:
    """What the part holds, takes and gives, with the shapes it had."""
    roles: dict[Role, str] = {
        "weight": t("pytorch.code.weight"),
        "given": t("pytorch.code.given"),
        "returned": t("pytorch.code.returned"),
    }
    return {
        t("pytorch.code.name"): [f"`{piece.name}`" for piece in run.pieces],
        t("pytorch.code.role"): [roles[piece.role] for piece in run.pieces],
        t("pytorch.code.shape"): [" × ".join(map(str, piece.shape)) for piece in run.pieces],
    }


def axes(t: Texts, part: Part, run: Run) -> str:
    """What the numbers in the shapes count, and how the layer was made to hold the experiment."""
    e = run.experiment
    if part == "weights":
        return t("pytorch.code.axes_weights", n_heads=e.n_heads, n_tokens=e.n_tokens, d_k=e.d_k)
    return "  \n".join([t("pytorch.code.axes", n_tokens=e.n_tokens), *fitted(t, e)])


def found(t: Texts, e: Experiment, part: Part, run: Run, head: int, script_gap: float) -> list[str]:
    """How many weights there are, and how far the part and the script's two ways lie apart."""
    said = []
    call = f"`{NAMES[part]}`"
    if part == "weights":
        said.append(t("pytorch.code.no_parameters", call=call))
    else:
        said.append(t("pytorch.code.parameters", call=call, count=f"{run.n_parameters:,}"))
    if part == "self_attention" and e.n_heads > 1:
        said.append(t("pytorch.code.one_head", number=head + 1, n_heads=e.n_heads))
    if run.left_out:
        encoding = t(f"control.encoding_{e.encoding}")
        said.append(t("pytorch.code.left_out", encoding=encoding))
    gap = size(run.gap)
    if run.gap == 0:
        said.append(t("pytorch.code.same"))
    elif run.is_within:
        said.append(t("pytorch.code.agrees", gap=gap))
    else:
        said.append(t("pytorch.code.differs", gap=gap))
    return [*said, t("pytorch.code.script_agrees", gap=size(script_gap))]

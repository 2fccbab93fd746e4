"""What the lesson on several heads shows: exhibits and sentences."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from attention_core import Experiment, ExperimentTrace, MultiHeadTrace
from attention_core.arrays import FloatArray
from attention_core.heads import divisors, n_parameters
from playground.exhibit import Exhibit
from playground.pipeline import Matrix, axis_labels
from playground.texts import Texts, escaped


def heads(t: Texts, e: Experiment, trace: ExperimentTrace, on: Sequence[int]) -> Exhibit:
    """The weights of all heads, what each adds, and the sum of those that are on."""
    attention = trace.attention
    added = [f"added_{head}" for head in range(e.n_heads)]
    return Exhibit(
        "multi_head.heads",
        {
            "weights": t("multi_head.heads.weights_stage"),
            "added": t("multi_head.heads.added_stage"),
            "output": t("multi_head.heads.output_stage"),
        },
        [
            *(_weights(t, attention, head) for head in range(e.n_heads)),
            *(_added(t, attention, head, id) for head, id in enumerate(added)),
            *_sums(t, attention, added, on),
        ],
        axis_labels(e, t.group("feature")),
    )


def _weights(t: Texts, attention: MultiHeadTrace, head: int) -> Matrix:
    return Matrix(
        f"weights_{head}",
        f"A_{head + 1}",
        "weights",
        attention.heads.weights[head],
        "tokens",
        "tokens",
        operation={"kind": "told", "text": t("multi_head.heads.weights_told")},
        are_weights=True,
        name=t("multi_head.heads.weights", number=head + 1),
        about=t("multi_head.heads.weights_about"),
    )


def _added(t: Texts, attention: MultiHeadTrace, head: int, id: str) -> Matrix:
    plain = attention.W_O is None
    told = "multi_head.heads.added_told_plain" if plain else "multi_head.heads.added_told"
    return Matrix(
        id,
        f"C_{head + 1}",
        "added",
        attention.contributions[head],
        "tokens",
        _width(attention),
        operation={"kind": "told", "text": t(told)},
        reach=float(np.abs(attention.contributions).max()),
        name=t("multi_head.heads.added", number=head + 1),
        about=t("multi_head.heads.added_about"),
    )


def _sums(
    t: Texts, attention: MultiHeadTrace, added: Sequence[str], on: Sequence[int]
) -> list[Matrix]:
    """The output; where a head is off, also that of the others, and what is lost."""

    def of(id: str, symbol: str, values: FloatArray, **more: Any) -> Matrix:
        return Matrix(id, symbol, "output", values, "tokens", _width(attention), **more)

    is_on = [head in on for head in range(len(added))]
    output = of(
        "output",
        "O",
        attention.sum_of(range(len(added))),
        operation={"kind": "sum", "of": list(added), "on": [True] * len(added)},
        name=t("multi_head.heads.output"),
        about=t("multi_head.heads.output_about"),
    )
    if all(is_on):
        return [output]
    kept = of(
        "kept",
        "",
        attention.sum_of(on),
        operation={"kind": "sum", "of": list(added), "on": is_on},
        name=t("multi_head.heads.kept"),
        about=t("multi_head.heads.kept_about"),
    )
    lost = of(
        "lost",
        "",
        output.values - kept.values,
        operation={"kind": "difference", "of": ["output", "kept"]},
        name=t("multi_head.heads.lost"),
        about=t("multi_head.heads.lost_about"),
    )
    return [output, kept, lost]


def _width(attention: MultiHeadTrace) -> str:
    return "concatenated" if attention.W_O is None else "features"


def cut_told(t: Texts, e: Experiment) -> str:
    """What the present heads make of the width, and how many weights that takes."""
    key = "multi_head.heads.width_plain" if e.W_O is None else "multi_head.heads.width"
    return t(
        key,
        n_heads=e.n_heads,
        d_k=e.d_k,
        width=e.n_heads * e.d_k,
        parameters=n_parameters(e.d_model, e.n_heads, e.d_k, has_W_O=e.W_O is not None),
    )


def no_cut(t: Texts, e: Experiment, n_heads: int) -> str:
    """Why the width cannot be shared among so many heads."""
    possible = ", ".join(map(str, divisors(e.d_model)))
    return t("multi_head.heads.no_cut", d_model=e.d_model, n_heads=n_heads, possible=possible)


def heads_found(t: Texts, e: Experiment, trace: ExperimentTrace, on: Sequence[int]) -> list[str]:
    """That the sum is the output, and what is lost without a head or more."""
    attention = trace.attention
    gap = float(np.abs(attention.sum_of(range(e.n_heads)) - attention.output).max())
    said = [t("multi_head.heads.sum", gap=f"{gap:.1g}")]
    off = [head for head in range(e.n_heads) if head not in on]
    if off:
        lost = attention.output - attention.sum_of(on)
        length = float(np.linalg.norm(attention.output)) or 1.0
        token = e.tokens[int(np.linalg.norm(lost, axis=-1).argmax())]
        names = ", ".join(t("multi_head.heads.head", number=head + 1) for head in off)
        share = f"{100 * float(np.linalg.norm(lost)) / length:.0f}"
        said.append(t("multi_head.heads.off", heads=names, share=share, token=escaped(token)))
    elif e.n_heads > 1:
        losses = np.abs(attention.contributions).max(axis=(-2, -1))
        head = int(losses.argmax())
        said.append(t("multi_head.heads.most", number=head + 1, loss=f"{losses[head]:.3g}"))
    return said

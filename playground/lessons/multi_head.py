"""What the lesson on several heads shows: exhibits and sentences."""

from collections.abc import Sequence
from typing import Any, Literal, TypeAlias

import numpy as np

from attention_core import Experiment, ExperimentTrace, MultiHeadTrace, merge_heads, positions
from attention_core.arrays import FloatArray
from attention_core.heads import (
    ShapeStep,
    StepName,
    cache_per_token,
    divisors,
    fused_projection,
    misviewed_attention,
    n_parameters,
    origins,
    viewed_as_heads,
)
from playground.exhibit import Exhibit
from playground.lessons import tokens
from playground.numerals import short, size
from playground.pipeline import Matrix, axis_labels
from playground.texts import Texts

Letter: TypeAlias = Literal["Q", "K", "V"]
MOST_HEADS = 512  # that can be typed
_MOST_COLUMNS = 24  # of numbers beside each other
_ROUNDING = 1e-9  # as a share: what is closer than this is the same

LETTERS: tuple[Letter, ...] = ("Q", "K", "V")


# --- all heads side by side


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
        is_compact=_are_many(attention),
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
        is_compact=_are_many(attention),
        reach=float(np.abs(attention.contributions).max()),
        name=t("multi_head.heads.added", number=head + 1),
        about=t("multi_head.heads.added_about"),
    )


def _sums(
    t: Texts, attention: MultiHeadTrace, added: Sequence[str], on: Sequence[int]
) -> list[Matrix]:
    """The output; of several heads also that of those that are on, and what is lost."""

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
    if len(added) == 1:  # else the board would be laid out anew with every press
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


def _are_many(attention: MultiHeadTrace) -> bool:
    """Whether the matrices of all heads would fill more than a screen with their numbers."""
    n_heads, n_tokens, width = attention.contributions.shape
    return bool(n_heads * max(n_tokens, width) > _MOST_COLUMNS)


def _width(attention: MultiHeadTrace) -> str:
    return "concatenated" if attention.W_O is None else "features"


def cut_told(t: Texts, e: Experiment) -> str:
    """What the present heads make of the width, how many weights that takes, and who else does."""
    has_W_O = e.W_O is not None
    now = n_parameters(e.d_model, e.n_heads, e.d_k, has_W_O=has_W_O)
    others = [
        str(count)
        for count in divisors(e.d_model)
        if count != e.n_heads
        and n_parameters(e.d_model, count, e.d_model // count, has_W_O=has_W_O) == now
    ]
    told = t(
        "multi_head.heads.width" if has_W_O else "multi_head.heads.width_plain",
        n_heads=e.n_heads,
        d_k=e.d_k,
        width=e.n_heads * e.d_k,
        parameters=now,
    )
    if not others:
        return told
    return told + t("multi_head.heads.as_many", others=t("narrate.comma").join(others))


def no_cut(t: Texts, e: Experiment, n_heads: int) -> str:
    """Why the width cannot be shared among so many heads."""
    possible = t("narrate.comma").join(map(str, divisors(e.d_model)))
    return t("multi_head.heads.no_cut", d_model=e.d_model, n_heads=n_heads, possible=possible)


def heads_found(t: Texts, e: Experiment, trace: ExperimentTrace, on: Sequence[int]) -> list[str]:
    """That the sum is the output, and what is lost without a head or more."""
    attention = trace.attention
    gap = float(np.abs(attention.sum_of(range(e.n_heads)) - attention.output).max())
    said = [t("multi_head.heads.sum", gap=size(gap))]
    off = [head for head in range(e.n_heads) if head not in on]
    if off:
        said.append(_off(t, e, attention, off))
    elif e.n_heads > 1:
        losses = np.abs(attention.contributions).max(axis=(-2, -1))
        most = np.flatnonzero(losses >= (1 - _ROUNDING) * losses.max()).tolist()
        loss = short(losses.max())
        if len(most) == 1:
            said.append(t("multi_head.heads.most", number=most[0] + 1, loss=loss))
        else:
            said.append(t("multi_head.heads.as_much", heads=_named(t, most), loss=loss))
    return said


def _off(t: Texts, e: Experiment, attention: MultiHeadTrace, off: Sequence[int]) -> str:
    """What these heads have taken from the output with them."""
    heads, lost = _named(t, off), attention.sum_of(off)
    if not lost.any():
        return t("multi_head.heads.off_nothing", heads=heads)
    token = tokens.named(e, int(np.linalg.norm(lost, axis=-1).argmax()))
    share = _share(lost, attention.output)
    if share is None:
        most = short(np.abs(lost).max())
        return t("multi_head.heads.off_from_0", heads=heads, most=most, token=token)
    return t("multi_head.heads.off", heads=heads, share=short(100 * share), token=token)


def _share(moved: FloatArray, whole: FloatArray) -> float | None:
    """How far something moved, in its own lengths; None where it was 0, but for rounding."""
    by, length = float(np.linalg.norm(moved)), float(np.linalg.norm(whole))
    if length <= _ROUNDING * by:
        return None if by else 0.0
    return by / length


def _named(t: Texts, heads: Sequence[int]) -> str:
    return t("narrate.comma").join(t("multi_head.heads.head", number=head + 1) for head in heads)


# --- one wide matrix, or one for each head


def fused(t: Texts, e: Experiment, trace: ExperimentTrace, letter: Letter) -> Exhibit:
    """The weights and the projections as one wide matrix, and the same head by head."""
    W, projected = _weights_and_projected(trace, letter)
    every = range(e.n_heads)
    wide_W, wide = merge_heads(W), fused_projection(trace.inputs, W)
    source = "X′" if trace.positions is not None else "X"
    inputs = Matrix(
        "tokens_in",
        source,
        "fused",
        trace.inputs,
        "tokens",
        "features",
        operation={"kind": "told", "text": t("multi_head.fused.inputs_told")},
        name=t("multi_head.fused.inputs"),
        about=t("multi_head.fused.inputs_about"),
    )
    one_wide = Matrix(
        "wide_W",
        f"W_{letter}",
        "fused",
        wide_W,
        "features",
        "concatenated",
        operation={"kind": "told", "text": t("multi_head.fused.wide_W_told")},
        bands=_bands(e),
        name=t("multi_head.fused.wide_W"),
        about=t("multi_head.fused.wide_W_about"),
    )
    product = Matrix(
        "wide",
        letter,
        "fused",
        wide,
        "tokens",
        "concatenated",
        f"{source} W_{letter}",
        operation={"kind": "matmul", "of": ["tokens_in", "wide_W"]},
        bands=_bands(e),
        name=t("multi_head.fused.wide"),
        about=t("multi_head.fused.wide_about"),
    )
    return Exhibit(
        "multi_head.fused",
        {"fused": t("multi_head.fused.fused_stage"), "cut": t("multi_head.fused.cut_stage")},
        [
            inputs,
            one_wide,
            product,
            *(_cut_weights(t, e, W, letter, head) for head in every),
            *(_cut_product(t, e, projected, letter, head) for head in every),
        ],
        axis_labels(e, t.group("feature")),
    )


def fused_found(t: Texts, e: Experiment, trace: ExperimentTrace, letter: Letter) -> list[str]:
    """That one wide product and the products of the heads give the same numbers."""
    W, projected = _weights_and_projected(trace, letter)
    gap = float(np.abs(fused_projection(trace.inputs, W) - merge_heads(projected)).max())
    width = e.n_heads * e.d_k
    return [
        t(
            "multi_head.fused.same",
            n_heads=e.n_heads,
            rows=e.d_model,
            width=width,
            d_k=e.d_k,
            numbers=W.size,
            gap=size(gap),
        )
    ]


def _weights_and_projected(trace: ExperimentTrace, letter: Letter) -> tuple[FloatArray, FloatArray]:
    """(n_heads, d_model, d_k) and (n_heads, n_tokens, d_k), before any rotation."""
    attention = trace.attention
    return {
        "Q": (attention.W_Q, attention.projected_Q),
        "K": (attention.W_K, attention.projected_K),
        "V": (attention.W_V, attention.heads.V),
    }[letter]


def _cut_weights(t: Texts, e: Experiment, W: FloatArray, letter: Letter, head: int) -> Matrix:
    return Matrix(
        f"W_{head}",
        f"W_{letter}",
        "cut",
        W[head],
        "features",
        "dims",
        operation=_columns_of("wide_W", W[head], head),
        bands=(head,) * e.d_k,
        reach=float(np.abs(W).max()),
        chain=f"head_{head}",
        name=t("multi_head.fused.cut_W", number=head + 1),
        about=t("multi_head.fused.cut_W_about"),
    )


def _cut_product(
    t: Texts, e: Experiment, projected: FloatArray, letter: Letter, head: int
) -> Matrix:
    return Matrix(
        f"projected_{head}",
        letter,
        "cut",
        projected[head],
        "tokens",
        "dims",
        operation=_columns_of("wide", projected[head], head),
        bands=(head,) * e.d_k,
        reach=float(np.abs(projected).max()),
        chain=f"head_{head}",
        name=t("multi_head.fused.cut"),
        about=t("multi_head.fused.cut_about"),
    )


def _columns_of(id: str, values: FloatArray, head: int) -> dict[str, Any]:
    """The columns of one head, out of the fused matrix of this id."""
    rows, d_k = values.shape
    places = [[[row, head * d_k + column] for column in range(d_k)] for row in range(rows)]
    return {"kind": "moved", "of": [id], "from": places}


def _bands(e: Experiment) -> tuple[int, ...]:
    """Each column of a fused matrix in the colour of its head."""
    return tuple(head for head in range(e.n_heads) for _ in range(e.d_k))


# --- shapes


def shapes_table(t: Texts, steps: Sequence[ShapeStep]) -> str:
    """The shape after each step, as a Markdown table."""
    names: dict[StepName, tuple[str, str]] = {
        "input": (t("multi_head.shapes.input"), "X"),
        "projection": (t("multi_head.shapes.projection"), "X @ W_Q"),
        "view": (t("multi_head.shapes.view"), "Q.view(B, n, h, d_k)"),
        "transpose": (t("multi_head.shapes.transpose"), ".transpose(1, 2)"),
        "scores": (t("multi_head.shapes.scores"), "Q @ K.mT"),
        "weights": (t("multi_head.shapes.weights"), "softmax(S / √d_k)"),
        "values": (t("multi_head.shapes.values"), "weights @ V"),
        "transpose_back": (t("multi_head.shapes.transpose_back"), ".transpose(1, 2)"),
        "merge": (t("multi_head.shapes.merge"), ".reshape(B, n, -1)"),
        "W_O": (t("multi_head.shapes.W_O"), "merged @ W_O"),
    }
    header = t("multi_head.shapes.header")
    rows = [
        f"| {names[step.name][0]} | `{names[step.name][1]}` | {_shape(step.shape)} |"
        for step in steps
    ]
    return "\n".join([header, "|---|---|---|", *rows])


def shapes_told(t: Texts, steps: Sequence[ShapeStep]) -> str:
    """How many numbers the widest step holds, beside those of X."""
    count = {step.name: int(np.prod(step.shape, dtype=object)) for step in steps}
    share = count["scores"] / count["projection"]
    return t(
        "multi_head.shapes.told",
        wide=f"{count['projection']:,}",
        between=f"{count['scores']:,}",
        share=short(share),
    )


def no_shapes(t: Texts, width: int, n_heads: int) -> str:
    """Why a width cannot be cut into so many heads, and which counts it can be cut into."""
    possible = t("narrate.comma").join(str(n) for n in divisors(width) if n <= MOST_HEADS)
    return t("multi_head.shapes.no_cut", width=width, n_heads=n_heads, possible=possible)


# --- the view without a transpose


def misviewed(t: Texts, e: Experiment, trace: ExperimentTrace) -> Exhibit:
    """Queries cut into heads rightly, and by a view without the transpose."""
    Q = trace.attention.projected_Q
    wide = merge_heads(Q)
    places, marked = _misplaced(e)
    viewed = viewed_as_heads(wide, e.n_heads)
    projected = Matrix(
        "wide",
        "Q",
        "projected",
        wide,
        "tokens",
        "concatenated",
        operation={"kind": "told", "text": t("multi_head.view.wide_told")},
        bands=_bands(e),
        name=t("multi_head.view.wide"),
        about=t("multi_head.view.wide_about"),
    )
    right = [
        Matrix(
            f"right_{head}",
            "Q",
            "cut",
            Q[head],
            "tokens",
            "dims",
            operation=_columns_of("wide", Q[head], head),
            bands=(head,) * e.d_k,
            reach=float(np.abs(wide).max()),
            chain=f"head_{head}",
            name=t("multi_head.view.right", number=head + 1),
            about=t("multi_head.view.right_about"),
        )
        for head in range(e.n_heads)
    ]
    wrong = [
        Matrix(
            f"wrong_{head}",
            "Q",
            "cut",
            viewed[head],
            "tokens",
            "dims",
            operation={"kind": "moved", "of": ["wide"], "from": places[head].tolist()},
            reach=float(np.abs(wide).max()),
            chain=f"head_{head}",
            marked=marked[head],
            mark=t("multi_head.view.mark"),
            name=t("multi_head.view.wrong", number=head + 1),
            about=t("multi_head.view.wrong_about"),
        )
        for head in range(e.n_heads)
    ]
    return Exhibit(
        "multi_head.view",
        {
            "projected": t("multi_head.view.projected_stage"),
            "cut": t("multi_head.view.cut_stage"),
        },
        [projected, *right, *wrong],
        axis_labels(e, t.group("feature")),
    )


def misviewed_found(t: Texts, e: Experiment, trace: ExperimentTrace) -> list[str]:
    """How many numbers stand in a wrong place, and how far the output moves by it."""
    if e.n_heads == 1:
        return [t("multi_head.view.one_head")]
    _, marked = _misplaced(e)
    if not marked.any():
        return [t("multi_head.view.one_token")]
    _, output = misviewed_attention(
        trace.attention,
        bias=trace.bias,
        scale=e.scale,
        rotate=positions.rotary if e.is_rotary else None,
    )
    gap = float(np.abs(output - trace.attention.output).max())
    count, total = int(marked.sum()), marked.size
    return [t("multi_head.view.fault", count=count, total=total, gap=size(gap))]


def _misplaced(e: Experiment) -> tuple[Any, Any]:
    """Where each viewed number came from, and whether that is another token or head."""
    places = origins(e.n_tokens, e.n_heads * e.d_k, e.n_heads)
    rows, columns = places[..., 0], places[..., 1]
    is_own_token = rows == np.arange(e.n_tokens)[None, :, None]
    is_own_head = columns // e.d_k == np.arange(e.n_heads)[:, None, None]
    return places, ~(is_own_token & is_own_head)


def _shape(shape: Sequence[int]) -> str:
    return " × ".join(f"{size:,}" for size in shape)


# --- shared keys and values


def grouped(t: Texts, e: Experiment, n_kv_heads: int) -> Exhibit:
    """The weights of all query heads with shared keys, and what that does to the output."""
    own, shared = e.trace().attention, e.trace(n_kv_heads=n_kv_heads).attention
    group = e.n_heads // n_kv_heads
    weights = [
        Matrix(
            f"weights_{head}",
            f"A_{head + 1}",
            "weights",
            shared.heads.weights[head],
            "tokens",
            "tokens",
            operation={"kind": "told", "text": t("multi_head.grouped.weights_told")},
            are_weights=True,
            is_compact=_are_many(shared),
            bands=(head // group,) * e.n_tokens,
            name=t("multi_head.grouped.weights", number=head + 1, kv=head // group + 1),
            about=t("multi_head.grouped.weights_about"),
        )
        for head in range(e.n_heads)
    ]

    def of(id: str, symbol: str, values: FloatArray, **more: Any) -> Matrix:
        return Matrix(id, symbol, "output", values, "tokens", _width(own), **more)

    told = {"kind": "told", "text": t("multi_head.grouped.output_told")}
    return Exhibit(
        "multi_head.grouped",
        {
            "weights": t("multi_head.grouped.weights_stage"),
            "output": t("multi_head.grouped.output_stage"),
        },
        [
            *weights,
            of(
                "shared",
                "O",
                shared.output,
                operation=told,
                name=t("multi_head.grouped.shared"),
                about=t("multi_head.grouped.shared_about"),
            ),
            of(
                "own",
                "",
                own.output,
                operation=told,
                name=t("multi_head.grouped.own"),
                about=t("multi_head.grouped.own_about"),
            ),
            of(
                "change",
                "",
                shared.output - own.output,
                operation={"kind": "difference", "of": ["shared", "own"]},
                name=t("multi_head.grouped.change"),
                about=t("multi_head.grouped.change_about"),
            ),
        ],
        axis_labels(e, t.group("feature")),
    )


def kv_options(t: Texts, e: Experiment) -> dict[int, str]:
    """How many key/value heads there can be, most first, each with the name of its kind."""
    return {count: _kind(t, e, count) for count in reversed(divisors(e.n_heads))}


def grouped_found(t: Texts, e: Experiment, n_kv_heads: int) -> list[str]:
    """The cache of each sharing, and how far each moves the output."""
    if e.n_heads == 1:
        return [t("multi_head.grouped.one_head")]
    now = cache_per_token(n_kv_heads, e.d_k)
    full = cache_per_token(e.n_heads, e.d_k)
    cache = t(
        "multi_head.grouped.cache",
        kind=_kind(t, e, n_kv_heads),
        now=now,
        n_kv_heads=n_kv_heads,
        d_k=e.d_k,
        full=full,
    )
    share, most = _change(e, n_kv_heads)
    if share is None:
        return [cache, t("multi_head.grouped.changed_from_0", most=short(most))]
    if n_kv_heads == e.n_heads:
        return [cache, t("multi_head.grouped.unchanged", change=_percent(share))]
    return [cache, t("multi_head.grouped.changed", change=_percent(share))]


def grouped_table(t: Texts, e: Experiment) -> str:
    """Cache and change of the output for every possible sharing, as a Markdown table."""

    def moves(count: int) -> str:
        share, most = _change(e, count)
        if share is None:
            return t("multi_head.grouped.from_0", most=short(most))
        return _percent(share)

    rows = [
        f"| {name} | {cache_per_token(count, e.d_k)} | {moves(count)} |"
        for count, name in kv_options(t, e).items()
    ]
    return "\n".join([t("multi_head.grouped.header"), "|---|---:|---:|", *rows])


def _change(e: Experiment, n_kv_heads: int) -> tuple[float | None, float]:
    """How far the output moves: in its own lengths, None where it was 0; and at most."""
    own = e.trace().attention.output
    moved = e.trace(n_kv_heads=n_kv_heads).attention.output - own
    return _share(moved, own), float(np.abs(moved).max())


def _percent(share: float) -> str:
    return f"{short(100 * share)} %"


def _kind(t: Texts, e: Experiment, n_kv_heads: int) -> str:
    if n_kv_heads == e.n_heads:
        return t("multi_head.grouped.mha", count=n_kv_heads)
    if n_kv_heads == 1:
        return t("multi_head.grouped.mqa")
    return t("multi_head.grouped.gqa", count=n_kv_heads)

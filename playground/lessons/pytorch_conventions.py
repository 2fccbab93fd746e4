"""What the lesson on PyTorch shows of conventions: what was meant beside what came out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from playground.exhibit import Exhibit
from playground.lessons import masks, tokens
from playground.numerals import short, size
from playground.pipeline import Matrix, axis_labels
from playground.texts import Texts

if TYPE_CHECKING:
    from attention_core import Experiment
    from attention_core.arrays import FloatArray
    from attention_core.neural.conventions import Convention, Shown

SHARES = (0.5, 0.3, 0.1)  # that dropout drops
_MOST_COLUMNS = 24  # of numbers beside each other


def names(t: Texts) -> dict[Convention, str]:
    """The conventions, each with its name."""
    return {
        "polarity": t("pytorch.conventions.polarity"),
        "empty_rows": t("pytorch.conventions.empty_rows"),
        "averaged": t("pytorch.conventions.averaged"),
        "is_causal": t("pytorch.conventions.is_causal"),
        "batch_first": t("pytorch.conventions.batch_first"),
        "dropout": t("pytorch.conventions.dropout"),
    }


def is_by_head(convention: Convention) -> bool:
    """Whether the board follows one head."""
    return convention != "averaged"


def shares() -> dict[float, str]:
    """How much dropout may drop, each with its name."""
    return {share: f"{share:g}" for share in SHARES}


def remarks(t: Texts, e: Experiment, convention: Convention, s: Shown) -> str:
    """What is other than in the experiment, so that the point can be seen; or nothing."""
    said = []
    if s.left_out:
        encoding = t(f"control.encoding_{e.encoding}")
        said.append(t("pytorch.conventions.left_out", encoding=encoding))
    match convention:
        case "polarity":
            said.append(masks.instead(t, e))
        case "empty_rows" if not s.is_own_mask:
            said.append(t("pytorch.conventions.emptied", token=tokens.named(e, e.n_tokens - 1)))
        case "averaged" | "dropout" if not s.is_own_mask:
            said.append(t("pytorch.conventions.opened"))
        case "is_causal" | "batch_first" if not s.is_own_mask:
            said.append(t("pytorch.conventions.unmasked"))
        case _:
            pass
    between = "" if t.language == "zh" else " "
    return between.join(filter(None, said))


# --- boards


@dataclass(frozen=True, eq=False, slots=True)
class _Case:
    """A convention on an experiment, to be shown in some language."""

    t: Texts
    e: Experiment
    s: Shown
    head: int  # the one that the board follows


def board(t: Texts, e: Experiment, convention: Convention, s: Shown, head: int) -> Exhibit:
    """What was meant beside what came out."""
    make = {
        "polarity": _polarity,
        "empty_rows": _empty_rows,
        "averaged": _averaged,
        "is_causal": _is_causal,
        "batch_first": _batch_first,
        "dropout": _dropout,
    }[convention]
    n_last = s.arrays["meant"].shape[-2] if convention == "is_causal" else e.n_tokens
    axes: Mapping[str, Any] = axis_labels(e, t.group("feature")) | {
        "last": e.tokens[-n_last:],
        "itself": [t("pytorch.conventions.itself")],
        "sum": ["Σ"],
    }
    stages = {
        "meant": t("pytorch.conventions.meant_stage"),
        "came_out": t("pytorch.conventions.came_out_stage"),
    }
    return Exhibit(f"pytorch.conventions.{convention}", stages, make(_Case(t, e, s, head)), axes)


def _weights(
    t: Texts, id: str, stage: str, values: FloatArray, name: str, about: str, **more: Any
) -> Matrix:
    axes = {"rows": "tokens", "columns": "tokens"} | more
    return Matrix(
        id,
        "",
        stage,
        values,
        operation={"kind": "told", "text": t("pytorch.conventions.told")},
        are_weights=True,
        name=name,
        about=about,
        **axes,
    )


def _output(
    t: Texts, e: Experiment, id: str, stage: str, values: FloatArray, name: str, about: str
) -> Matrix:
    return Matrix(
        id,
        "",
        stage,
        values,
        "tokens",
        "concatenated" if e.W_O is None else "features",
        operation={"kind": "told", "text": t("pytorch.conventions.told")},
        name=name,
        about=about,
    )


def _polarity(c: _Case) -> list[Matrix]:
    t, s, head = c.t, c.s, c.head
    return [
        _weights(
            t,
            "mask",
            "meant",
            s.allowed.astype(np.float64),
            "mask",
            t("pytorch.conventions.mask_about"),
        ),
        _weights(
            t,
            "function",
            "meant",
            s.arrays["function"][head],
            "F.scaled_dot_product_attention(mask)",
            t("pytorch.conventions.function_about"),
        ),
        _weights(
            t,
            "same_mask",
            "came_out",
            s.arrays["same_mask"][head],
            "nn.MultiheadAttention(mask)",
            t("pytorch.conventions.same_mask_about"),
        ),
        _weights(
            t,
            "inverted",
            "came_out",
            s.arrays["inverted"][head],
            "nn.MultiheadAttention(~mask)",
            t("pytorch.conventions.inverted_about"),
        ),
    ]


def _empty_rows(c: _Case) -> list[Matrix]:
    t, e, s, head = c.t, c.e, c.s, c.head
    return [
        _weights(
            t,
            "function",
            "meant",
            s.arrays["function"][head],
            "F.scaled_dot_product_attention",
            t("pytorch.conventions.function_empty_about"),
        ),
        _weights(
            t,
            "layer",
            "came_out",
            s.arrays["weights"][head],
            "nn.MultiheadAttention",
            t("pytorch.conventions.layer_empty_about"),
        ),
        _output(
            t,
            e,
            "with_weights",
            "came_out",
            s.arrays["output"],
            t("pytorch.conventions.with_weights"),
            t("pytorch.conventions.with_weights_about"),
        ),
        _output(
            t,
            e,
            "without",
            "came_out",
            s.arrays["without"],
            t("pytorch.conventions.without"),
            t("pytorch.conventions.without_about"),
        ),
    ]


def _averaged(c: _Case) -> list[Matrix]:
    t, e, s = c.t, c.e, c.s
    heads = s.arrays["heads"]
    is_compact = len(heads) * e.n_tokens > _MOST_COLUMNS
    return [
        *(
            _weights(
                t,
                f"head_{index}",
                "meant",
                weights,
                t("pytorch.conventions.head", number=index + 1),
                t("pytorch.conventions.head_about"),
                is_compact=is_compact,
            )
            for index, weights in enumerate(heads)
        ),
        _weights(
            t,
            "by_default",
            "came_out",
            s.arrays["by_default"][0],
            t("pytorch.conventions.by_default"),
            t("pytorch.conventions.by_default_about"),
        ),
    ]


def _is_causal(c: _Case) -> list[Matrix]:
    t, s, head = c.t, c.s, c.head
    return [
        _weights(
            t,
            "meant",
            "meant",
            s.arrays["meant"][head],
            t("pytorch.conventions.earlier"),
            t("pytorch.conventions.earlier_about"),
            rows="last",
        ),
        _weights(
            t,
            "came_out",
            "came_out",
            s.arrays["came_out"][head],
            "is_causal=True",
            t("pytorch.conventions.is_causal_about"),
            rows="last",
        ),
    ]


def _batch_first(c: _Case) -> list[Matrix]:
    t, e, s, head = c.t, c.e, c.s, c.head
    output, wrong = s.arrays["output"], s.arrays["wrong"]
    return [
        _weights(
            t,
            "meant",
            "meant",
            s.arrays["meant"][head],
            "batch_first=True",
            t("pytorch.conventions.first_about"),
        ),
        _output(
            t,
            e,
            "output",
            "meant",
            output,
            t("pytorch.conventions.output"),
            t("pytorch.conventions.output_about"),
        ),
        _weights(
            t,
            "came_out",
            "came_out",
            s.arrays["came_out"][head],
            "batch_first=False",
            t("pytorch.conventions.forgotten_about"),
            columns="itself",
        ),
        _output(
            t,
            e,
            "wrong",
            "came_out",
            wrong,
            t("pytorch.conventions.wrong"),
            t("pytorch.conventions.wrong_about"),
        ),
        Matrix(
            "moved",
            "",
            "came_out",
            wrong - output,
            "tokens",
            "concatenated" if e.W_O is None else "features",
            operation={"kind": "difference", "of": ["wrong", "output"]},
            name=t("pytorch.conventions.moved"),
            about=t("pytorch.conventions.moved_about"),
        ),
    ]


def _dropout(c: _Case) -> list[Matrix]:
    t, s, head = c.t, c.s, c.head
    train, evaluated = s.arrays["train"][head], s.arrays["eval"][head]

    reach = max(float(values.sum(axis=-1).max()) for values in (train, evaluated))

    def sums(id: str, stage: str, of: str, values: FloatArray) -> Matrix:
        return Matrix(
            id,
            "",
            stage,
            values.sum(axis=-1, keepdims=True),
            "tokens",
            "sum",
            operation={"kind": "row_sums", "of": [of]},
            reach=reach,
            name=t("pytorch.conventions.sums"),
            about=t("pytorch.conventions.sums_about"),
        )

    return [
        _weights(
            t, "eval", "meant", evaluated, "layer.eval()", t("pytorch.conventions.eval_about")
        ),
        sums("eval_sums", "meant", "eval", evaluated),
        _weights(
            t, "train", "came_out", train, "layer.train()", t("pytorch.conventions.train_about")
        ),
        sums("train_sums", "came_out", "train", train),
    ]


# --- what was measured


def found(t: Texts, e: Experiment, convention: Convention, s: Shown) -> list[str]:
    """What the convention does to this experiment, in all its heads."""
    tell = {
        "polarity": _polarity_found,
        "empty_rows": _empty_rows_found,
        "averaged": _averaged_found,
        "is_causal": _is_causal_found,
        "batch_first": _batch_first_found,
        "dropout": _dropout_found,
    }[convention]
    return tell(_Case(t, e, s, 0))


def _polarity_found(c: _Case) -> list[str]:
    t, e, s = c.t, c.e, c.s
    same, inverted = s.arrays["same_mask"], s.arrays["inverted"]
    said = []
    total = float(np.nansum(same))
    if total:
        forbidden = float(np.nansum(same[:, ~s.allowed])) / total
        said.append(t("pytorch.conventions.on_forbidden", share=_percent(forbidden)))
    n_nan = int(np.isnan(same).any(axis=(0, -1)).sum())
    if n_nan:
        said.append(t("pytorch.conventions.on_nothing", count=n_nan, n_tokens=e.n_tokens))
    gap = np.abs(inverted - s.arrays["function"])
    if not np.isnan(gap).all():
        said.append(t("pytorch.conventions.turned", gap=size(float(np.nanmax(gap)))))
    n_empty = int(np.isnan(inverted).any(axis=(0, -1)).sum())
    if n_empty:
        said.append(t("pytorch.conventions.still_nan", count=n_empty))
    return said


def _percent(share: float) -> str:
    """0 and 100 only where it is so, but for rounding."""
    if share < 1e-12 or share > 1 - 1e-12:
        return f"{100 * share:.0f}"
    return short(min(max(100 * share, 0.01), 99.99))


def _empty_rows_found(c: _Case) -> list[str]:
    t, s = c.t, c.s
    empty = ~s.allowed.any(axis=-1)
    said = [
        t(
            "pytorch.conventions.of_empty",
            count=int(empty.sum()),
            function=_kind(t, s.arrays["function"][:, empty]),
            weights=_kind(t, s.arrays["weights"][:, empty]),
            output=_kind(t, s.arrays["output"][empty]),
            without=_kind(t, s.arrays["without"][empty]),
        )
    ]
    if empty.all():
        return said
    gap = float(np.abs(s.arrays["output"][~empty] - s.arrays["without"][~empty]).max())
    return [*said, t("pytorch.conventions.others", gap=size(gap))]


def _kind(t: Texts, rows: FloatArray) -> str:
    """What these rows hold, in words."""
    if np.isnan(rows).all():
        return "NaN"
    return t("pytorch.conventions.numbers") if rows.any() else "0"


def _averaged_found(c: _Case) -> list[str]:
    t, e, s = c.t, c.e, c.s
    heads, by_default = s.arrays["heads"], s.arrays["by_default"][0]
    if len(heads) == 1:
        gap = float(np.abs(heads[0] - by_default).max())
        return [t("pytorch.conventions.one_head", gap=size(gap))]
    gap = float(np.abs(heads.mean(axis=0) - by_default).max())
    apart = np.abs(heads - by_default).max(axis=(-2, -1))
    said = [t("pytorch.conventions.mean", n_heads=len(heads), n=e.n_tokens, gap=size(gap))]
    farthest = int(apart.argmax())
    if apart[farthest] <= 1e-12:
        return [*said, t("pytorch.conventions.alike")]
    return [
        *said,
        t(
            "pytorch.conventions.farthest",
            number=farthest + 1,
            gap=short(float(apart[farthest])),
        ),
    ]


def _is_causal_found(c: _Case) -> list[str]:
    t, e, s = c.t, c.e, c.s
    meant, came_out = s.arrays["meant"], s.arrays["came_out"]  # (n_heads, n_queries, n_keys)
    _, n_queries, n_keys = meant.shape
    apart = np.abs(meant - came_out).max(axis=(0, -1))  # n_queries
    if n_queries == n_keys:
        said = [t("pytorch.conventions.square", gap=size(float(apart.max())))]
        return [*said, t("pytorch.conventions.fewer")] if n_keys > 1 else said
    return [
        t(
            "pytorch.conventions.not_square",
            count=int((apart > 1e-12).sum()),
            n_queries=n_queries,
            gap=size(float(apart.max())),
        ),
        t(
            "pytorch.conventions.last_query",
            token=tokens.named(e, e.n_tokens - 1),
            came_out=int(came_out[:, -1].any(axis=0).sum()),
            meant=int(meant[:, -1].any(axis=0).sum()),
        ),
    ]


def _batch_first_found(c: _Case) -> list[str]:
    t, e, s = c.t, c.e, c.s
    came_out, meant = s.arrays["came_out"], s.arrays["meant"]
    gap = float(np.abs(s.arrays["wrong"] - s.arrays["output"]).max())
    own = np.diagonal(meant, axis1=-2, axis2=-1)  # (n_heads, n_tokens)
    said = [
        t(
            "pytorch.conventions.alone",
            count=came_out.size,
            weight=_between(t, came_out),
        )
    ]
    if e.n_tokens == 1:
        return [*said, t("pytorch.conventions.one_token", gap=size(gap))]
    mean = short(float(own.mean()))
    return [*said, t("pytorch.conventions.output_moves", mean=mean, gap=size(gap))]


def _dropout_found(c: _Case) -> list[str]:
    t, s = c.t, c.s
    train, evaluated = s.arrays["train"], s.arrays["eval"]
    there = evaluated > 0
    dropped, kept = there & (train == 0), there & (train != 0)
    said = [t("pytorch.conventions.dropped", count=int(dropped.sum()), total=int(there.sum()))]
    if kept.any():
        factor = _between(t, train[kept] / evaluated[kept])
        said.append(t("pytorch.conventions.multiplied", factor=factor))
    sums = train.sum(axis=-1)
    off = float(np.abs(evaluated.sum(axis=-1) - 1).max())
    return [
        *said,
        t(
            "pytorch.conventions.row_sums",
            sums=_between(t, sums),
            off=size(off),
        ),
    ]


def _between(t: Texts, values: FloatArray) -> str:
    """The one value of all of these, or from where to where they go."""
    low, high = short(float(values.min())), short(float(values.max()))
    return low if low == high else t("pytorch.conventions.between", low=low, high=high)

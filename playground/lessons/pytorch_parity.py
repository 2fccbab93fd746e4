"""What the lesson on PyTorch shows of parity: one experiment through all routes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from playground.exhibit import Exhibit
from playground.lessons import tokens
from playground.numerals import short, size
from playground.pipeline import Matrix, axis_labels
from playground.texts import Texts

if TYPE_CHECKING:
    from attention_core import Experiment
    from attention_core.arrays import FloatArray
    from attention_core.neural.parity import Gap, Lack, Parity, Route, Stage

CALLS: dict[Route, str] = {
    "self_attention": "SelfAttention",
    "multi_head": "MultiHeadAttention",
    "function": "F.scaled_dot_product_attention",
    "torch_layer": "nn.MultiheadAttention",
}

_COLUMNS: tuple[tuple[Stage, ...], ...] = (
    ("Q", "K", "V"),
    ("weights",),
    ("head_outputs",),
    ("output",),
)
_LOOSE = 0.01  # a weight that rounding can move by more is not known to two decimals
_MOST_WITH_NUMBERS = 6  # tokens, beyond which colours alone tell what rounding explains


def names(routes: list[Route]) -> dict[Route, str]:
    """What each route goes by in an input."""
    return {route: CALLS[route] for route in routes}


def shown(p: Parity) -> Route:
    """The route to look at first: PyTorch's own layer, if it can express the experiment."""
    return "torch_layer" if "torch_layer" in p.possible else "function"


# --- the table


def table(t: Texts, p: Parity) -> dict[str, list[str]]:
    """The largest difference from NumPy, of each route at each stage."""
    titles = (
        "Q, K, V",
        t("pytorch.parity.weights"),
        t("pytorch.parity.head_outputs"),
        t("pytorch.parity.output"),
    )
    passages = p.passages.values()
    return {
        t("pytorch.parity.route"): [f"`{CALLS[route]}`" for route in p.passages],
    } | {
        title: [
            _cell([passage.gaps[s] for s in stages if s in passage.gaps]) for passage in passages
        ]
        for title, stages in zip(titles, _COLUMNS, strict=True)
    }


def _cell(gaps: list[Gap]) -> str:
    """The largest difference of these stages; NaN beside it where there is any."""
    if not gaps:
        return "—"
    known = [gap.largest for gap in gaps if gap.place is not None]
    parts = [size(max(known))] if known else []
    return ", ".join([*parts, "NaN"] if any(gap.nan_rows for gap in gaps) else parts)


def reasons(t: Texts, p: Parity) -> str:
    """Why there is a dash in the table, for each route that has one, and how layers are fitted."""
    said = []
    for route, passage in p.passages.items():
        for lack in dict.fromkeys(passage.lacks.values()):
            said.append(_reason(t, p.experiment, route, lack))
    is_layer_used = p.possible != ["function"]
    return "  \n".join([*said, *(fitted(t, p.experiment) if is_layer_used else ())])


def _reason(t: Texts, e: Experiment, route: Route, lack: Lack) -> str:
    call = f"`{CALLS[route]}`"
    match lack:
        case "heads":
            return t("pytorch.parity.lacks_heads", call=call, n_heads=e.n_heads)
        case "rotary":
            return t("pytorch.parity.lacks_rotary", call=call)
        case "alibi":
            return t("pytorch.parity.lacks_alibi", call=call)
        case "inside":
            return t("pytorch.parity.lacks_inside", call=call)
        case "no_W_O":
            return t("pytorch.parity.lacks_w_o", call=call)


def fitted(t: Texts, e: Experiment) -> list[str]:
    """What was done so that a layer can hold the experiment."""
    from attention_core.neural.weights import Fit

    fit, said = Fit.of(e), []
    if (fit.embed_dim, fit.d_k) != (e.d_model, e.d_k):
        said.append(
            t(
                "pytorch.parity.widened",
                d_model=e.d_model,
                n_heads=e.n_heads,
                d_k=e.d_k,
                embed_dim=fit.embed_dim,
                wide=fit.d_k,
            )
        )
    if fit.factor != 1:
        said.append(t("pytorch.parity.factor", wide=fit.d_k, factor=short(fit.factor)))
    return said


# --- the board


def board(t: Texts, p: Parity, route: Route, head: int) -> Exhibit:
    """The weights of one head by NumPy and by a route, how they differ, and how much they may."""
    gap = p.passages[route].gaps["weights"]
    bound, is_compact = gap.bound[head], p.experiment.n_tokens > _MOST_WITH_NUMBERS
    reach = float(bound.max()) or None  # so that a full colour is what rounding just explains

    def of(id: str, stage: str, values: FloatArray, name: str, about: str, told: str) -> Matrix:
        are_weights = stage == "weights"
        return Matrix(
            id,
            "",
            stage,
            values,
            "tokens",
            "tokens",
            operation={"kind": "told", "text": told},
            are_weights=are_weights,
            reach=None if are_weights else reach,
            is_compact=is_compact and id == "bound",
            name=name,
            about=about,
        )

    theirs = t("pytorch.parity.theirs", call=CALLS[route])
    difference = Matrix(
        "difference",
        "",
        "difference",
        gap.difference[head],
        "tokens",
        "tokens",
        operation={"kind": "difference", "of": ["theirs", "numpy"]},
        reach=reach,
        name=t("pytorch.parity.difference"),
        about=t("pytorch.parity.difference_about"),
    )
    return Exhibit(
        f"pytorch.parity.{route}.{p.precision}",
        {
            "weights": t("pytorch.parity.weights_stage"),
            "difference": t("pytorch.parity.difference_stage"),
        },
        [
            of(
                "numpy",
                "weights",
                p.trace.attention.head(head).weights,
                t("pytorch.parity.numpy"),
                t("pytorch.parity.numpy_about"),
                t("pytorch.parity.numpy_told"),
            ),
            of(
                "theirs",
                "weights",
                gap.values[head],
                theirs,
                t("pytorch.parity.theirs_about", precision=p.precision),
                t("pytorch.parity.theirs_told", call=CALLS[route], precision=p.precision),
            ),
            difference,
            of(
                "bound",
                "difference",
                bound,
                t("pytorch.parity.bound"),
                t("pytorch.parity.bound_about"),
                t("pytorch.parity.bound_told"),
            ),
        ],
        axis_labels(p.experiment),
    )


# --- what was measured


def found(t: Texts, p: Parity, other: Parity, route: Route) -> list[str]:
    """Whether the routes agree with NumPy, and what is NaN.

    Args:
        t: The reader's language.
        p: In the precision that is shown.
        other: In the other one.
        route: The one on the board.
    """
    return [
        *_nan(t, p),
        _verdict(t, p),
        *_loose(t, p),
        *_by_head(t, p, route),
        t("pytorch.parity.other", precision=other.precision, gap=size(_largest(other))),
    ]


def _verdict(t: Texts, p: Parity) -> str:
    route, stage = p.worst
    gap = p.passages[route].gaps[stage]
    if gap.largest == 0:
        return t("pytorch.parity.same")
    where = t("pytorch.parity.of", stage=_stage(t, stage), call=f"`{CALLS[route]}`")
    if len(gap.place or ()) == 3 and p.experiment.n_heads > 1:
        number = (gap.place or (0,))[0] + 1
        where = t(
            "pytorch.parity.of_head",
            stage=_stage(t, stage),
            call=f"`{CALLS[route]}`",
            number=number,
        )
    told = {"gap": size(gap.largest), "where": where, "bound": size(gap.bound_there)}
    if not p.is_within:
        return t("pytorch.parity.apart", gap=told["gap"], where=where)
    return t(
        "pytorch.parity.agree",
        gap=told["gap"],
        where=where,
        bound=told["bound"],
        precision=p.precision,
    )


def _largest(p: Parity) -> float:
    route, stage = p.worst
    return p.passages[route].gaps[stage].largest


def _stage(t: Texts, stage: Stage) -> str:
    names: dict[Stage, str] = {
        "Q": t("pytorch.parity.projection", letter="Q"),
        "K": t("pytorch.parity.projection", letter="K"),
        "V": t("pytorch.parity.projection", letter="V"),
        "weights": t("pytorch.parity.the_weights"),
        "head_outputs": t("pytorch.parity.the_head_outputs"),
        "output": t("pytorch.parity.the_output"),
    }
    return names[stage]


def _nan(t: Texts, p: Parity) -> list[str]:
    """Which routes give NaN, and whether that is where a token may attend to nothing."""
    empty = np.flatnonzero(~p.trace.attention.heads.allowed[0].any(axis=-1)).tolist()
    said = []
    for route, passage in p.passages.items():
        rows = sorted({row for gap in passage.gaps.values() for row in gap.nan_rows})
        if not rows:
            continue
        call = f"`{CALLS[route]}`"
        if rows == empty:
            named = tokens.listed(t, p.experiment, rows)
            said.append(t("pytorch.parity.nan", call=call, tokens=named))
        else:
            said.append(t("pytorch.parity.nan_elsewhere", call=call, count=len(rows)))
    return said


def _loose(t: Texts, p: Parity) -> list[str]:
    """That what makes up the scores is too large for the precision, where it is."""
    from attention_core.rounding import sizes

    most = float(p.bounds.weights.max())
    if most < _LOOSE:
        return []
    largest = float(sizes(p.experiment, p.trace).scores[p.trace.attention.heads.allowed].max())
    return [
        t(
            "pytorch.parity.loose",
            precision=p.precision,
            score=short(largest),
            bound=short(min(most, 1.0)),
        )
    ]


def _by_head(t: Texts, p: Parity, route: Route) -> list[str]:
    """How far the weights of each head lie apart, of the route on the board."""
    gap = p.passages[route].gaps["weights"]
    if p.experiment.n_heads == 1 or gap.place is None:  # a mask empties the rows of all heads alike
        return []
    by_head = t("narrate.comma").join(map(size, gap.per_head))
    return [t("pytorch.parity.by_head", call=f"`{CALLS[route]}`", gaps=by_head)]

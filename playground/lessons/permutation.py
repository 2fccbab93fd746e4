"""What the lesson on order and positions shows: exhibits, figures and sentences."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from attention_core import Experiment
from attention_core.arrays import FloatArray
from attention_core.permutation import (
    MOST_TRIED,
    Breaker,
    Comparison,
    Order,
    Search,
    Setting,
    breakers,
    gaps,
    n_orders,
    rounding,
    shuffled,
    with_only,
)
from playground.charts import Chart, Line, figure
from playground.exhibit import Exhibit
from playground.figures import Figure
from playground.lessons import tokens
from playground.numerals import size
from playground.palette import Theme
from playground.pipeline import Matrix, axis_labels
from playground.texts import Texts

_MOST_POINTS = 300  # of the curve of all gaps


# --- the order


def compared_names(t: Texts) -> dict[str, str]:
    """What can be compared."""
    return {
        "output": t("permutation.order.shown_output"),
        "weights": t("permutation.order.shown_weights"),
    }


def shuffle(order: Order, seed: int) -> Order:
    """Another order, drawn from this seed."""
    return shuffled(order, np.random.default_rng(seed))


def of_output(t: Texts, e: Experiment, compared: Comparison) -> Exhibit:
    """f(X), its rows reordered, f(PX), their difference, and the means of both outputs."""
    attention = compared.trace.attention
    columns = "concatenated" if attention.W_O is None else "features"
    reach = float(np.abs(attention.output).max()) or None
    marked = np.abs(compared.output_difference) > rounding(e).output

    def of(id: str, symbol: str, stage: str, values: FloatArray, **more: Any) -> Matrix:
        rows = more.pop("rows", "tokens_moved")
        return Matrix(id, symbol, stage, values, rows, columns, reach=reach, **more)

    mean, mean_of_moved = compared.means
    return Exhibit(
        "permutation.output",
        _stages(t) | {"mean": t("permutation.order.mean_stage")},
        [
            _reordered(t, e, compared.order),
            of(
                "output_before",
                "f(X)",
                "after",
                attention.output,
                rows="tokens",
                operation={"kind": "told", "text": t("permutation.order.output_told")},
                name=t("permutation.order.output"),
                about=t("permutation.order.output_about"),
            ),
            of(
                "output_reordered",
                "P f(X)",
                "after",
                compared.moved_output,
                operation=_rows_from("output_before", compared.order, attention.output.shape[1]),
                name=t("permutation.order.output_reordered"),
                about=t("permutation.order.output_reordered_about"),
            ),
            of(
                "output_of_reordered",
                "f(PX)",
                "before",
                compared.of_moved.attention.output,
                operation={"kind": "told", "text": t("permutation.order.of_reordered_told")},
                name=t("permutation.order.output_of_reordered"),
                about=t("permutation.order.output_of_reordered_about"),
            ),
            of(
                "difference",
                "",
                "difference",
                compared.output_difference,
                expression="f(PX) − P f(X)",
                operation={"kind": "difference", "of": ["output_of_reordered", "output_reordered"]},
                name=t("permutation.order.difference"),
                about=t("permutation.order.difference_about"),
                **_pointed_out(t, marked),
            ),
            of(
                "mean",
                "",
                "mean",
                mean,
                rows="mean",
                operation={"kind": "mean", "of": ["output_before"]},
                name=t("permutation.order.mean"),
                about=t("permutation.order.mean_about"),
            ),
            of(
                "mean_of_reordered",
                "",
                "mean",
                mean_of_moved,
                rows="mean",
                operation={"kind": "mean", "of": ["output_of_reordered"]},
                name=t("permutation.order.mean_of_reordered"),
                about=t("permutation.order.mean_about"),
            ),
        ],
        _axes(t, e, compared.order),
        {"tokens_moved": compared.order},
    )


def of_weights(t: Texts, e: Experiment, compared: Comparison, head: int) -> Exhibit:
    """The weights A(X) of one head, reordered on both sides, those of PX, and the difference."""
    before = compared.trace.attention.heads.weights[head]
    places = list(compared.order)
    marked = np.abs(compared.weights_difference[head]) > rounding(e).weights

    def of(id: str, symbol: str, stage: str, values: FloatArray, **more: Any) -> Matrix:
        axis = more.pop("axis", "tokens_moved")
        return Matrix(id, symbol, stage, values, axis, axis, **more)

    return Exhibit(
        "permutation.weights",
        _stages(t),
        [
            _reordered(t, e, compared.order),
            of(
                "weights_before",
                "A(X)",
                "after",
                before,
                axis="tokens",
                are_weights=True,
                operation={"kind": "told", "text": t("permutation.order.weights_told")},
                name=t("permutation.order.weights"),
                about=t("permutation.order.weights_about"),
            ),
            of(
                "weights_reordered",
                "P A(X) Pᵀ",
                "after",
                compared.moved_weights[head],
                are_weights=True,
                operation={
                    "kind": "moved",
                    "of": ["weights_before"],
                    "from": [[[row, column] for column in places] for row in places],
                },
                name=t("permutation.order.weights_reordered"),
                about=t("permutation.order.weights_reordered_about"),
            ),
            of(
                "weights_of_reordered",
                "A(PX)",
                "before",
                compared.of_moved.attention.heads.weights[head],
                are_weights=True,
                operation={"kind": "told", "text": t("permutation.order.of_reordered_told")},
                name=t("permutation.order.weights_of_reordered"),
                about=t("permutation.order.weights_of_reordered_about"),
            ),
            of(
                "difference",
                "",
                "difference",
                compared.weights_difference[head],
                reach=1.0,
                expression="A(PX) − P A(X) Pᵀ",
                operation={
                    "kind": "difference",
                    "of": ["weights_of_reordered", "weights_reordered"],
                },
                name=t("permutation.order.difference"),
                about=t("permutation.order.difference_about"),
                **_pointed_out(t, marked),
            ),
        ],
        _axes(t, e, compared.order),
        {"tokens_moved": compared.order},
    )


def _stages(t: Texts) -> dict[str, str]:
    return {
        "reordered": t("permutation.order.reordered_stage"),
        "after": t("permutation.order.after_stage"),
        "before": t("permutation.order.before_stage"),
        "difference": t("permutation.order.difference_stage"),
    }


def _reordered(t: Texts, e: Experiment, order: Order) -> Matrix:
    """The tokens in their new order, to be carried by their names."""

    def told(token: int) -> str:
        return t("permutation.order.reordered_told", row=token + 1, token=e.tokens[token])

    return Matrix(
        "X_reordered",
        "PX",
        "reordered",
        e.X[list(order)],
        "tokens_moved",
        "features",
        operation={"kind": "told", "texts": [[told(token)] * e.d_model for token in order]},
        is_sortable=True,
        name=t("permutation.order.reordered"),
        about=t("permutation.order.reordered_about"),
    )


def _rows_from(id: str, order: Order, n_columns: int) -> dict[str, Any]:
    """The operation of a matrix whose rows are those of another in this order."""
    places = [[[row, column] for column in range(n_columns)] for row in order]
    return {"kind": "moved", "of": [id], "from": places}


def _pointed_out(t: Texts, marked: np.ndarray[Any, Any]) -> dict[str, Any]:
    """The cells that are more than rounding, if there are any."""
    if not marked.any():
        return {}
    return {"marked": marked, "mark": t("permutation.order.mark")}


def _axes(t: Texts, e: Experiment, order: Order) -> dict[str, Sequence[str]]:
    return {
        **axis_labels(e, t.group("feature")),
        "tokens_moved": [e.tokens[token] for token in order],
        "mean": [t("permutation.order.mean_row")],
    }


def order_found(t: Texts, e: Experiment, compared: Comparison) -> list[str]:
    """Whether output, weights and mean went along with the tokens, and what kept them from it."""
    if e.n_tokens == 1:
        return [t("permutation.order.single")]
    if compared.order == tuple(range(e.n_tokens)):
        return [t("permutation.order.unmoved", gap=size(compared.output_gap))]
    bound = rounding(e)
    said = []
    output, weights = size(compared.output_gap), size(compared.weights_gap)
    goes_along = compared.output_gap <= bound.output
    if goes_along and not bound.is_small and compared.output_gap:
        most = size(bound.weights)
        return [t("permutation.order.unclear", output=output, weights=weights, bound=most)]
    if goes_along:
        said.append(t("permutation.order.output_same", gap=output))
    else:
        worst = int(np.abs(compared.output_difference).max(axis=-1).argmax())
        token = tokens.named(e, compared.order[worst])
        said.append(t("permutation.order.output_differs", gap=output, token=token))
    if compared.weights_gap <= bound.weights and (bound.is_small or not compared.weights_gap):
        said.append(t("permutation.order.weights_same", gap=weights))
    elif compared.weights_gap <= bound.weights:
        most = size(bound.weights)
        said.append(t("permutation.order.weights_unclear", gap=weights, bound=most))
    else:
        said.append(t("permutation.order.weights_differ", gap=weights))
    mean = size(compared.mean_gap)
    if compared.mean_gap > bound.output:
        said.append(t("permutation.order.mean_differs", gap=mean))
    elif bound.is_small or not compared.mean_gap:  # else it may be anything
        said.append(t("permutation.order.mean_same", gap=mean))
    return said if goes_along else [*said, *blamed(t, e, compared.order)]


# --- what breaks it


def blamed(t: Texts, e: Experiment, order: Order) -> list[str]:
    """Which settings that go by place make the output of this order another one, as measured."""
    measured = breakers(e, order)
    bare = size(float(gaps(with_only(e, []), [order])[0]))
    if len(measured) == 1:
        setting = setting_name(t, e, measured[0].setting)
        return [t("permutation.blamed.one", setting=setting, gap=bare)]
    guilty = [breaker for breaker in measured if breaker.is_breaking]
    if not guilty:
        names = listed(t, [setting_name(t, e, breaker.setting) for breaker in measured])
        return [t("permutation.blamed.together", settings=names, gap=bare)]
    named = listed(t, [_with_gap(t, e, breaker) for breaker in guilty])
    said = [t("permutation.blamed.several", settings=named, gap=bare)]
    innocent = [breaker for breaker in measured if not breaker.is_breaking]
    if innocent:
        names = listed(t, [_with_gap(t, e, breaker) for breaker in innocent])
        said.append(t("permutation.blamed.not", settings=names))
    return said


def setting_name(t: Texts, e: Experiment, setting: Setting) -> str:
    """A setting as it is called in a sentence."""
    names = {
        "causal": t("permutation.setting.causal"),
        "padding": t("permutation.setting.padding"),
        "window": t("permutation.setting.window"),
        "painted": t("permutation.setting.painted"),
        "encoding": {
            "none": "",
            "sinusoidal": t("permutation.setting.sinusoidal"),
            "learned": t("permutation.setting.learned"),
            "rotary": t("permutation.setting.rotary"),
            "alibi": t("permutation.setting.alibi"),
        }[e.encoding],
    }
    return names[setting]


def _with_gap(t: Texts, e: Experiment, breaker: Breaker) -> str:
    setting = setting_name(t, e, breaker.setting)
    return t("permutation.blamed.with_gap", setting=setting, gap=size(breaker.alone))


def listed(t: Texts, names: Sequence[str]) -> str:
    """Names in a row, as in a sentence."""
    return t("permutation.blamed.comma").join(names)


# --- the search


def n_moving(e: Experiment) -> int:
    """Of how many tokens all orders are tried; those behind them stay where they are."""
    return min(e.n_tokens, MOST_TRIED)


def search_name(t: Texts, e: Experiment) -> str:
    """What the button does."""
    count = f"{n_orders(n_moving(e)):,}"
    if e.n_tokens == n_moving(e):
        return t("permutation.search.try_all", count=count)
    return t("permutation.search.try_some", count=count, moving=n_moving(e))


def search_told(t: Texts, found: Search) -> str:
    """How far the search is."""
    tried, count = f"{found.n_tried:,}", f"{found.n_orders:,}"
    return t("permutation.search.progress", tried=tried, count=count)


def search_figure(t: Texts, e: Experiment, found: Search, theme: Theme) -> Figure:
    """The gap of every order that was tried, smallest first, beside the size of the output."""
    places = np.unique(np.linspace(0, found.n_tried - 1, _MOST_POINTS).astype(int))
    reach = max(float(np.abs(e.trace().attention.output).max()), found.gap) or 1.0
    panel = Chart(
        t("permutation.search.figure"),
        t("permutation.search.orders"),
        t("permutation.search.gap"),
        [Line(t("permutation.search.gap"), places + 1, np.sort(found.gaps)[places])],
        y_range=(-0.03 * reach, 1.03 * reach),
    )
    return figure([panel], theme)


def search_found(t: Texts, e: Experiment, found: Search | None, order: Order) -> list[str]:
    """What the search gave; before it, what the order of the first step does."""
    if e.n_tokens == 1:
        return [t("permutation.order.single")]
    total = f"{n_orders(e.n_tokens):,}"
    if found is None:
        gap = size(float(gaps(e, [order])[0]))
        return [t("permutation.search.untried", n_tokens=e.n_tokens, total=total, gap=gap)]
    count = f"{found.n_tried:,}"
    if n_moving(e) == e.n_tokens:
        said = [t("permutation.search.all_tried", count=count)]
    else:
        moving = n_moving(e)
        said = [t("permutation.search.some_tried", count=count, moving=moving, total=total)]
    if found.n_changing == 0:
        bound = rounding(e)
        is_none = bound.is_small or found.gap == 0
        key = "permutation.search.none" if is_none else "permutation.search.unclear"
        return [*said, t(key, gap=size(found.gap), bound=size(bound.output))]
    names = tokens.on_inputs(e)
    named, changing = listed(t, [names[token] for token in found.order]), f"{found.n_changing:,}"
    said.append(t("permutation.search.most", changing=changing, gap=size(found.gap), order=named))
    return [*said, *blamed(t, e, found.order)]

"""What the lesson on order and positions shows: exhibits, figures and sentences."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from attention_core import Experiment, positions
from attention_core.arrays import FloatArray
from attention_core.canvas import learned_positions
from attention_core.permutation import (
    MOST_TRIED,
    Breaker,
    Comparison,
    EncodingGap,
    Order,
    Search,
    Setting,
    breakers,
    gaps,
    n_orders,
    rounding,
    row_lengths,
    shift_changes,
    shuffled,
    with_only,
)
from attention_core.presets import Encoding
from playground.charts import Chart, Line, Map, Panel, figure
from playground.exhibit import Exhibit
from playground.figures import Figure
from playground.palette import Theme
from playground.pipeline import Matrix, axis_labels
from playground.texts import Texts, escaped

POSITIONS = 64  # that are drawn of an encoding
SHIFTS = range(1, 65)  # by which all positions are moved

_OTHER_COLOURS = 2  # the first that the panel beside does not use
_MOST_LETTERS = 12  # of a token on a button or in a sentence
_MOST_POINTS = 300  # of the curve of all gaps


# --- the order


def token_names(e: Experiment) -> dict[int, str]:
    """Each token by its place, as Markdown: cut short, and numbered where it is repeated."""
    names = {}
    for place, token in enumerate(e.tokens):
        short = token if len(token) <= _MOST_LETTERS else f"{token[:_MOST_LETTERS]}…"
        names[place] = escaped(short)
        if e.tokens.count(token) > 1:
            names[place] += f" ({place + 1})"
    return names


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
        return [t("permutation.order.unmoved", gap=number(compared.output_gap))]
    bound = rounding(e)
    said = []
    output, weights = number(compared.output_gap), number(compared.weights_gap)
    goes_along = compared.output_gap <= bound.output
    if goes_along:
        said.append(t("permutation.order.output_same", gap=output))
    else:
        worst = int(np.abs(compared.output_difference).max(axis=-1).argmax())
        token = token_names(e)[compared.order[worst]]
        said.append(t("permutation.order.output_differs", gap=output, token=token))
    if compared.weights_gap <= bound.weights:
        said.append(t("permutation.order.weights_same", gap=weights))
    else:
        said.append(t("permutation.order.weights_differ", gap=weights))
    mean = number(compared.mean_gap)
    if compared.mean_gap <= bound.output:
        said.append(t("permutation.order.mean_same", gap=mean))
    else:
        said.append(t("permutation.order.mean_differs", gap=mean))
    return said if goes_along else [*said, *blamed(t, e, compared.order)]


# --- what breaks it


def blamed(t: Texts, e: Experiment, order: Order) -> list[str]:
    """Which settings that go by place make the output of this order another one, as measured."""
    measured = breakers(e, order)
    bare = number(float(gaps(with_only(e, []), [order])[0]))
    if len(measured) == 1:
        setting = setting_name(t, e, measured[0].setting)
        return [t("permutation.blamed.one", setting=setting, gap=bare)]
    guilty = [breaker for breaker in measured if breaker.is_breaking]
    if not guilty:
        names = _listed(t, [setting_name(t, e, breaker.setting) for breaker in measured])
        return [t("permutation.blamed.together", settings=names, gap=bare)]
    named = _listed(t, [_with_gap(t, e, breaker) for breaker in guilty])
    said = [t("permutation.blamed.several", settings=named, gap=bare)]
    innocent = [breaker for breaker in measured if not breaker.is_breaking]
    if innocent:
        names = _listed(t, [_with_gap(t, e, breaker) for breaker in innocent])
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
    return t("permutation.blamed.with_gap", setting=setting, gap=number(breaker.alone))


def _listed(t: Texts, names: Sequence[str]) -> str:
    return t("permutation.blamed.comma").join(names)


def number(value: float) -> str:
    """A measured gap: one digit where it is rounding, three else."""
    return (f"{value:.1g}" if value < 1e-9 else f"{value:.3g}").replace("-", "−")


# --- encodings


def encoding_names(t: Texts) -> dict[Encoding, str]:
    """Every encoding by a short name."""
    return {
        "none": t("permutation.encodings.none"),
        "sinusoidal": t("permutation.encodings.sinusoidal"),
        "learned": t("permutation.encodings.learned"),
        "rotary": t("permutation.encodings.rotary"),
        "alibi": t("permutation.encodings.alibi"),
    }


def picture_names(t: Texts) -> dict[str, str]:
    """What can be seen of an encoding."""
    return {
        "encoding": t("permutation.encodings.picture_encoding"),
        "effect": t("permutation.encodings.picture_effect"),
    }


def is_added(e: Experiment) -> bool:
    """Whether the encoding is a table that is added to X."""
    return e.encoding in ("sinusoidal", "learned")


def gap_table(t: Texts, e: Experiment, measured: Sequence[EncodingGap]) -> str:
    """The gap of each encoding without and with a causal mask, as a Markdown table."""
    lines = [
        [
            t("permutation.encodings.table"),
            t("permutation.encodings.unmasked"),
            t("permutation.encodings.causal"),
        ],
        [":--", "--:", "--:"],
    ]
    for encoding, name in encoding_names(t).items():
        row = [f"**{name}**" if encoding == e.encoding else name]
        for each in measured:
            if each.encoding == encoding:
                gap = number(each.gap)
                rounded = t("permutation.encodings.rounding", gap=gap)
                row.append(rounded if each.is_rounding else gap)
        lines.append(row)
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def encoding_figure(t: Texts, e: Experiment, head: int, theme: Theme) -> Figure:
    """The encoding as a heatmap and as curves.

    Args:
        t: The reader's language.
        e: With an encoding other than "none".
        head: Whose ALiBi to show as a heatmap.
        theme: Light or dark.
    """
    panels: dict[Encoding, Callable[[], list[Panel]]] = {
        "sinusoidal": lambda: _table_panels(t, e, positions.sinusoidal(POSITIONS, e.d_model)),
        "learned": lambda: _table_panels(t, e, _learned(e)),
        "rotary": lambda: _table_panels(t, e, _turns(e.d_k)),
        "alibi": lambda: _bias_panels(t, e, head),
    }
    return figure(panels[e.encoding](), theme)


def effect_figure(t: Texts, e: Experiment, head: int, theme: Theme, *, is_scaled: bool) -> Figure:
    """What an encoding other than ALiBi does: to scores, or among its rows, and to lengths.

    Args:
        t: The reader's language.
        e: With a sinusoidal, learned or rotary encoding.
        head: Whose queries are turned.
        theme: Light or dark.
        is_scaled: Whether X is multiplied by √d_model before the encoding is added.
    """
    lengths = _length_panel(t, e, is_scaled) if is_added(e) else _turned_panel(t, e, head)
    other = _likeness_panel(t, e) if e.encoding == "learned" else _shift_panel(t, e)
    return figure([other, lengths], theme)


def _learned(e: Experiment) -> FloatArray:
    """(12, d_model): the whole table of this seed."""
    table: FloatArray = learned_positions(e.seed)[:, : e.d_model]
    return table


def _table_panels(t: Texts, e: Experiment, table: FloatArray) -> list[Panel]:
    """A table with a row for each position, and the same columns as curves."""
    places = np.arange(len(table))
    numbers = [str(column + 1) for column in range(table.shape[1])]
    curves = [
        Line(number, places, column, index)
        for index, (number, column) in enumerate(zip(numbers, table.T, strict=True))
    ]
    column, position = t("permutation.encodings.columns"), t("permutation.encodings.position")
    is_rotary = e.encoding == "rotary"
    title = t("permutation.encodings.turns") if is_rotary else t("permutation.encodings.heatmap")
    return [
        Map(title, table, column, position, columns=numbers),
        Chart(
            t("permutation.encodings.curves"),
            position,
            "",  # between two panels is no room for it on a phone
            curves,
            x_marks=[e.n_tokens - 0.5],
        ),
    ]


def _turns(d_k: int) -> FloatArray:
    """(POSITIONS, d_k): where rotary turns the pair (1, 0), which is cosine and sine."""
    units = np.zeros((POSITIONS, d_k))
    units[:, 0 : d_k - 1 : 2] = 1.0
    return positions.rotary(units)


def _length_panel(t: Texts, e: Experiment, is_scaled: bool) -> Chart:
    """How long the rows of X and of P are, token by token."""
    of_X, of_P = _lengths(e, is_scaled)
    name = t("permutation.encodings.scaled_X") if is_scaled else "X"
    return _bars(t, {name: of_X, "P": of_P})


def _turned_panel(t: Texts, e: Experiment, head: int) -> Chart:
    """How long the queries of a head are before they are turned, and after."""
    attention = e.trace().attention
    Q, turned = (row_lengths(of[head]) for of in (attention.projected_Q, attention.heads.Q))
    return _bars(t, {"Q": Q, "RoPE(Q)": turned})


def _bars(t: Texts, lengths: Mapping[str, FloatArray]) -> Chart:
    """Lengths of rows beside each other, token by token."""
    lines = [
        Line(name, [str(place + 1) for place in range(len(of))], of, index, "bars")
        for index, (name, of) in enumerate(lengths.items())
    ]
    title, token = t("permutation.encodings.lengths"), t("permutation.encodings.token")
    return Chart(title, token, "", lines)


def _likeness_panel(t: Texts, e: Experiment) -> Map:
    """How much every two rows of the learned table have in common."""
    table = _learned(e)
    position = t("permutation.encodings.position")
    return Map(t("permutation.encodings.likeness"), table @ table.T, position, position)


def _lengths(e: Experiment, is_scaled: bool) -> tuple[FloatArray, FloatArray]:
    table = e.trace().positions
    assert table is not None  # only asked of encodings that are added
    X = e.X * np.sqrt(e.d_model) if is_scaled else e.X
    return row_lengths(X), row_lengths(table)


def _shift_panel(t: Texts, e: Experiment) -> Chart:
    """How far the scores move if all positions do."""
    changes = shift_changes(e, SHIFTS)
    names = encoding_names(t)
    return Chart(
        t("permutation.encodings.shift"),
        t("permutation.encodings.shifted_by"),
        "",
        [
            Line(names[encoding], SHIFTS, np.where(change > 0, change, np.nan), colour)
            for colour, (encoding, change) in enumerate(changes.items(), _OTHER_COLOURS)
        ],
        is_y_log=True,
    )


def _bias_panels(t: Texts, e: Experiment, head: int) -> list[Panel]:
    """What ALiBi adds to the scores of one head, and to those of all over the distance."""
    bias = positions.alibi_bias(POSITIONS, POSITIONS, positions.alibi_slopes(e.n_heads))
    distances = np.arange(POSITIONS)
    return [
        Map(
            t("permutation.encodings.bias", number=head + 1),
            bias[head],
            t("permutation.encodings.key"),
            t("permutation.encodings.query"),
        ),
        Chart(
            t("permutation.encodings.bias_curves"),
            t("permutation.encodings.distance"),
            "",
            [Line(str(index + 1), distances, of[0], index) for index, of in enumerate(bias)],
            x_marks=[e.n_tokens - 0.5],
        ),
    ]


def encodings_found(
    t: Texts, e: Experiment, measured: Sequence[EncodingGap], *, is_scaled: bool
) -> list[str]:
    """For which combinations places do not matter, and what is particular to this encoding."""
    if e.n_tokens == 1:
        return [t("permutation.order.single")]
    names = encoding_names(t)
    without = [
        t("permutation.encodings.with_causal", encoding=names[each.encoding])
        if each.is_causal
        else t("permutation.encodings.without_mask", encoding=names[each.encoding])
        for each in measured
        if each.is_rounding
    ]
    listed, count = _listed(t, without), len(measured)
    if len(without) == 1:
        said = [t("permutation.encodings.only", count=count, encoding=listed)]
    else:
        said = [t("permutation.encodings.several", count=count, encodings=listed)]
    if is_added(e):
        of_X, of_P = (float(lengths.mean()) for lengths in _lengths(e, is_scaled))
        name = t("permutation.encodings.scaled_X") if is_scaled else "X"
        X, P = f"{of_X:.3g}", f"{of_P:.3g}"
        said.append(t("permutation.encodings.size", name=name, X=X, P=P))
    if e.encoding == "learned":
        rows, columns = _learned(e).shape
        said.append(t("permutation.encodings.rows", rows=rows, columns=columns))
    if e.encoding in ("sinusoidal", "rotary"):
        changes = shift_changes(e, SHIFTS)
        rotary, sinusoidal = (number(float(changes[of].max())) for of in ("rotary", "sinusoidal"))
        said.append(
            t(
                "permutation.encodings.shifts",
                most=SHIFTS[-1],
                rotary=rotary,
                sinusoidal=sinusoidal,
            )
        )
    if e.encoding == "alibi":
        slopes = positions.alibi_slopes(e.n_heads)
        steepest, flattest = f"{slopes.max():.3g}", f"{slopes.min():.3g}"
        if e.n_heads == 1:
            said.append(t("permutation.encodings.slope", slope=steepest))
        else:
            said.append(t("permutation.encodings.slopes", steepest=steepest, flattest=flattest))
    return said


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
        gap = number(float(gaps(e, [order])[0]))
        return [t("permutation.search.untried", n_tokens=e.n_tokens, total=total, gap=gap)]
    count = f"{found.n_tried:,}"
    if n_moving(e) == e.n_tokens:
        said = [t("permutation.search.all_tried", count=count)]
    else:
        moving = n_moving(e)
        said = [t("permutation.search.some_tried", count=count, moving=moving, total=total)]
    if found.n_changing == 0:
        bound = number(rounding(e).output)
        return [*said, t("permutation.search.none", gap=number(found.gap), bound=bound)]
    names = token_names(e)
    tokens = _listed(t, [names[token] for token in found.order])
    changing = f"{found.n_changing:,}"
    said.append(
        t("permutation.search.most", changing=changing, gap=number(found.gap), order=tokens)
    )
    return [*said, *blamed(t, e, found.order)]

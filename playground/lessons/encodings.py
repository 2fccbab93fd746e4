"""What the lesson on order and positions shows of encodings: a table, figures and sentences."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from attention_core import Experiment, positions
from attention_core.arrays import FloatArray
from attention_core.canvas import learned_positions
from attention_core.permutation import EncodingGap, row_lengths, shift_changes
from attention_core.presets import Encoding
from playground.charts import Chart, Line, Map, Panel, figure
from playground.figures import Figure
from playground.lessons.permutation import listed
from playground.numerals import size
from playground.palette import Theme
from playground.texts import Texts

POSITIONS = 64  # that are drawn of an encoding
SHIFTS = range(1, 65)  # by which all positions are moved

_OTHER_COLOURS = 2  # the first that the panel beside does not use


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


def is_per_head(e: Experiment, shown: str) -> bool:
    """Whether what is shown of the encoding differs from head to head."""
    return e.encoding == "alibi" or (e.encoding == "rotary" and shown == "effect")


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
                gap = size(each.gap)
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


def found(
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
    combinations, count = listed(t, without), len(measured)
    said = []
    if len(without) == 1:
        said.append(t("permutation.encodings.only", count=count, encoding=combinations))
    elif without:
        said.append(t("permutation.encodings.several", count=count, encodings=combinations))
    n_unclear = sum(each.is_unclear for each in measured)
    if n_unclear:
        said.append(t("permutation.encodings.unclear", count=count, unclear=n_unclear))
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
        rotary, sinusoidal = (size(float(changes[of].max())) for of in ("rotary", "sinusoidal"))
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

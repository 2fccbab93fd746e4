"""What the step on gradients shows: what one number depends on, and how wide heads learn."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from attention_core import Experiment, ExperimentTrace
from attention_core.arrays import FloatArray
from playground import charts
from playground.charts import Chart, Line
from playground.exhibit import Exhibit
from playground.figures import Figure
from playground.lessons import tokens
from playground.numerals import short, size
from playground.palette import Theme
from playground.pipeline import Matrix, axis_labels
from playground.texts import Texts, escaped

if TYPE_CHECKING:
    from attention_core.neural.gradients import Learning, Slopes, Width

View: TypeAlias = Literal["experiment", "widths"]
Letter: TypeAlias = Literal["Q", "K", "V"]

LETTERS: tuple[Letter, ...] = ("Q", "K", "V")
WIDTHS = tuple(2**power for power in range(10))  # 1 to 512
MOST_CHOICES = 12  # that stand beside each other

_ROUNDING = 1e-9  # as a share: what is closer than this is the same
_AGREES = 1e-6  # as a share: central differences of a smooth function come closer than this
_MOST_LARGE = 8  # tokens: with more of them, all matrices are drawn small
_MOST_COLUMNS = 24  # of numbers in one matrix, before all are drawn small
_MOST_BESIDE = 16  # columns of the weights beside each other, before they are drawn small
_DIGITS = 10  # of both slopes of a cell, so that one sees where they part


def views(t: Texts) -> dict[View, str]:
    """What can be looked at."""
    return {
        "experiment": t("pytorch.gradients.view_experiment"),
        "widths": t("pytorch.gradients.view_widths"),
    }


# --- one number of the output


@dataclass(frozen=True, eq=False, slots=True)
class Measured:
    """What one number of the output depends on, by PyTorch and by differences."""

    token: int
    feature: int
    head: int
    autograd: "Slopes"
    quotients: "Slopes"

    def gap(self) -> float:
        """How far the two lie apart, at most."""
        pairs = zip(_all(self.autograd), _all(self.quotients), strict=True)
        return max(_most(one - other) for one, other in pairs)

    def largest(self) -> float:
        """The largest slope, by PyTorch."""
        return max(map(_most, _all(self.autograd)))


def _all(slopes: "Slopes") -> tuple[FloatArray, ...]:
    return slopes.X, slopes.W_Q, slopes.W_K, slopes.W_V


def _most(values: FloatArray) -> float:
    return float(np.abs(values).max())


def measured(e: Experiment, token: int, feature: int, head: int) -> Measured:
    """The slopes of one number of the output, both ways."""
    from attention_core.neural.gradients import gradients, quotients

    cell = token, feature, head
    return Measured(*cell, gradients(e, *cell), quotients(e, *cell))


def feature_names(t: Texts, e: Experiment) -> dict[int, str]:
    """The columns of the output, as an input shows them."""
    return {column: escaped(name) for column, name in enumerate(_columns(t, e))}


def _columns(t: Texts, e: Experiment) -> Sequence[str]:
    labels = axis_labels(e, t.group("feature"))
    return labels[_width(e)]


def _width(e: Experiment) -> str:
    return "concatenated" if e.W_O is None else "features"


def exhibit(t: Texts, e: Experiment, trace: ExperimentTrace, m: Measured) -> Exhibit:
    """The cell, and the slopes of all numbers of X and of one head beside these."""
    output = trace.attention.output
    is_cell = np.zeros(output.shape, dtype=bool)
    is_cell[m.token, m.feature] = True
    cell = Matrix(
        "output",
        "O",
        "output",
        output,
        "tokens",
        _width(e),
        operation={"kind": "told", "text": t("pytorch.gradients.output_told")},
        is_compact=_is_compact(e, output),
        name=t("pytorch.gradients.output"),
        about=t("pytorch.gradients.output_about"),
        marked=is_cell,
        mark=t("pytorch.gradients.mark"),
    )
    return Exhibit(
        "pytorch.gradients",
        {
            "output": t("pytorch.gradients.output_stage"),
            "inputs": t("pytorch.gradients.inputs_stage"),
            "weights": t("pytorch.gradients.weights_stage", number=m.head + 1),
        },
        [
            cell,
            *_pair(t, "X", "inputs", e.X, m, "tokens", "features", is_compact=_is_compact(e)),
            *(
                matrix
                for letter in LETTERS
                for matrix in _pair(
                    t,
                    f"W_{letter}",
                    "weights",
                    getattr(e, f"W_{letter}")[m.head],
                    m,
                    "features",
                    "dims",
                    chain=letter,
                    is_compact=len(LETTERS) * e.d_k > _MOST_BESIDE,
                )
            ),
        ],
        axis_labels(e, t.group("feature")),
    )


def _is_compact(e: Experiment, values: FloatArray | None = None) -> bool:
    n_columns = 0 if values is None else values.shape[-1]
    return e.n_tokens > _MOST_LARGE or n_columns > _MOST_COLUMNS


def _pair(
    t: Texts,
    name: str,
    stage: str,
    values: FloatArray,
    m: Measured,
    rows: str,
    columns: str,
    **more: Any,
) -> list[Matrix]:
    """Some numbers, and how fast the cell moves with each of them."""
    slopes: FloatArray = getattr(m.autograd, name)
    quotients: FloatArray = getattr(m.quotients, name)
    given = Matrix(
        f"given_{name}",  # by its own name the board would let it be edited
        name,
        stage,
        values,
        rows,
        columns,
        text=name,
        operation={"kind": "told", "text": t("pytorch.gradients.given_told")},
        **more,
    )
    about = "pytorch.gradients.slope_about" if name == "X" else "pytorch.gradients.slope_W_about"
    # Slopes of all weights on one scale, as one step size goes for all of them in training.
    together = [slopes] if name == "X" else [getattr(m.autograd, f"W_{x}") for x in LETTERS]
    told = [
        [
            t("pytorch.gradients.slope_told", slope=_digits(slope), quotient=_digits(quotient))
            for slope, quotient in zip(*line, strict=True)
        ]
        for line in zip(slopes.tolist(), quotients.tolist(), strict=True)
    ]
    slope = Matrix(
        f"slope_{name}",
        f"∂{name}",
        stage,
        slopes,
        rows,
        columns,
        operation={"kind": "told", "texts": told, "text": t("pytorch.gradients.given_told")},
        reach=max(map(_most, together)) or 1.0,
        name=t("pytorch.gradients.slope", of=name),
        about=t(about),
        **more,
    )
    return [given, slope]


def _digits(value: float) -> str:
    return short(value, _DIGITS)


def found(t: Texts, e: Experiment, m: Measured) -> list[str]:
    """What the cell depends on most, what reaches the weights, and whether both ways agree."""
    return [*_of_X(t, e, m), *_of_weights(t, e, m), _check(t, m)]


def _of_X(t: Texts, e: Experiment, m: Measured) -> list[str]:
    slopes = np.abs(m.autograd.X)
    largest = float(slopes.max())
    if largest == 0:
        return [t("pytorch.gradients.X_nothing")]
    most = np.argwhere(slopes >= (1 - _ROUNDING) * largest).tolist()
    row, column = most[0]
    if len(most) == 1:
        said = t(
            "pytorch.gradients.X_most",
            token=tokens.named(e, row),
            column=escaped(axis_labels(e, t.group("feature"))["features"][column]),
            slope=short(float(m.autograd.X[row, column])),
        )
    else:
        said = t("pytorch.gradients.X_tied", count=len(most), slope=short(largest))
    n_idle = int(np.count_nonzero(~slopes.any(axis=-1)))
    if n_idle:
        return [said, t("pytorch.gradients.X_idle", count=n_idle, n_tokens=e.n_tokens)]
    return [said]


def _of_weights(t: Texts, e: Experiment, m: Measured) -> list[str]:
    """The sizes of the gradients of the three matrices, and why some are 0."""
    owner = m.feature // e.d_k
    if e.W_O is None and owner != m.head:
        return [t("pytorch.gradients.other_head", number=m.head + 1, owner=owner + 1)]
    norms = [float(np.linalg.norm(getattr(m.autograd, f"W_{letter}"))) for letter in LETTERS]
    said = t(
        "pytorch.gradients.norms",
        number=m.head + 1,
        W_Q=short(norms[0]),
        W_K=short(norms[1]),
        W_V=short(norms[2]),
    )
    n_keys = int(np.count_nonzero(e.mask.allowed(e.n_tokens)[m.token]))
    if n_keys == 1:
        return [said, t("pytorch.gradients.one_key")]
    if n_keys == 0:
        return [said, t("pytorch.gradients.no_key")]
    return [said]


def _check(t: Texts, m: Measured) -> str:
    gap, largest = m.gap(), m.largest()
    n_cells = sum(slopes.size for slopes in _all(m.autograd))
    if gap == 0:
        return t("pytorch.gradients.no_gap", count=n_cells)
    if largest == 0:
        return t("pytorch.gradients.gap_from_0", count=n_cells, gap=size(gap))
    key = "pytorch.gradients.agree"
    if gap > _AGREES * largest:
        key = "pytorch.gradients.too_coarse"
    return t(key, count=n_cells, gap=size(gap), share=size(gap / largest))


# --- wider heads


def widths(at_width: Callable[[int, int], "Width"], seed: int) -> "list[Width]":
    """Random heads of each width.

    Args:
        at_width: Gives those of one width, from d_k and seed.
        seed: Draws them.
    """
    return [at_width(d_k, seed) for d_k in WIDTHS]


def at_width(d_k: int, seed: int) -> "Width":
    """Random heads of one width; a result depends on nothing else."""
    from attention_core.neural.gradients import at_width

    return at_width(d_k, seed)


def drawn(t: Texts, measured: "Sequence[Width]") -> str:
    """What was drawn for each width."""
    one = measured[0]
    return t("pytorch.gradients.drawn", n_samples=one.n_samples, n_tokens=one.n_tokens)


def width_names() -> dict[int, str]:
    """The widths that can be chosen."""
    return {d_k: str(d_k) for d_k in WIDTHS}


def chosen(measured: "Sequence[Width]", d_k: int) -> "Width":
    """The heads of this width."""
    return next(width for width in measured if width.d_k == d_k)


def figure(t: Texts, measured: "Sequence[Width]", d_k: int, theme: Theme) -> Figure:
    """What reaches each matrix, over d_k: without and with 1/√d_k."""
    both = [[width.unscaled for width in measured], [width.scaled for width in measured]]
    medians = [getattr(each, f"W_{x}") for learning in both for each in learning for x in LETTERS]
    shown = [median for median in medians if median > 0]
    reach = (min(shown) / 2, 2 * max(shown)) if shown else None
    titles = t("pytorch.gradients.unscaled"), t("pytorch.gradients.scaled")
    panels = [
        Chart(
            title,
            t("pytorch.gradients.width"),
            "",  # too narrow for it; a sentence above says what is drawn
            [
                Line(
                    f"W_{letter}",
                    [width.d_k for width in measured],
                    # 0 has no place on a logarithmic axis; the sentences tell of it.
                    [getattr(each, f"W_{letter}") or None for each in learning],
                    colour,
                    "dashed" if letter == "K" else "line",  # it lies close to W_Q
                )
                for colour, letter in enumerate(LETTERS)
            ],
            is_x_log=True,
            is_y_log=True,
            y_range=reach,
            x_marks=[d_k],
        )
        for title, learning in zip(titles, both, strict=True)
    ]
    drawn = charts.figure(panels, theme)
    for axis in ("yaxis", "yaxis2"):
        drawn["layout"][axis] |= {"dtick": 1}  # powers of ten alone
    return drawn


def table(t: Texts, width: "Width") -> dict[str, list[str]]:
    """The numbers at one d_k, column by column: without scaling, and with it."""
    both = (width.unscaled, width.scaled)
    return {
        t("pytorch.gradients.of_scores"): [
            t("pytorch.gradients.unscaled"),
            t("pytorch.gradients.scaled"),
        ],
        t("pytorch.gradients.of_median", of="W_Q"): [short(of.W_Q) for of in both],
        t("pytorch.gradients.of_median", of="W_K"): [short(of.W_K) for of in both],
        t("pytorch.gradients.of_median", of="W_V"): [short(of.W_V) for of in both],
        t("pytorch.gradients.of_largest"): [short(of.mean_largest) for of in both],
        t("pytorch.gradients.of_zeros"): [f"{of.n_zeros} / {width.n_samples}" for of in both],
    }


def widths_found(t: Texts, measured: "Sequence[Width]", d_k: int) -> list[str]:
    """What scaling changes at this width, where the gradient is largest, and zeros."""
    width = chosen(measured, d_k)
    without, within = width.unscaled, width.scaled
    if d_k == 1:
        said = [t("pytorch.gradients.alike", median=short(without.W_Q))]
    else:
        said = [
            _beside(t, width),
            t(
                "pytorch.gradients.largest",
                unscaled=short(without.mean_largest),
                scaled=short(within.mean_largest),
            ),
            t(
                "pytorch.gradients.values",
                unscaled=short(without.W_V),
                scaled=short(within.W_V),
            ),
        ]
    peak = max(measured, key=lambda each: each.unscaled.W_Q)
    said.append(t("pytorch.gradients.peak", d_k=peak.d_k, median=short(peak.unscaled.W_Q)))
    absent = [str(each.d_k) for each in measured if _has_zero(each.unscaled, each.scaled)]
    if absent:
        listed = t("narrate.comma").join(absent)
        said.append(t("pytorch.gradients.absent", widths=listed))
    return said


def _beside(t: Texts, width: "Width") -> str:
    """The gradient of W_Q without scaling, beside that with it."""
    without, within, d_k = width.unscaled.W_Q, width.scaled.W_Q, width.d_k
    unscaled, scaled = short(without), short(within)
    if not without or not within:
        return t("pytorch.gradients.beside", d_k=d_k, unscaled=unscaled, scaled=scaled)
    key = "pytorch.gradients.larger"
    if without < within:
        key = "pytorch.gradients.smaller"
    factor = short(max(without / within, within / without))
    return t(key, d_k=d_k, unscaled=unscaled, scaled=scaled, factor=factor)


def _has_zero(*both: "Learning") -> bool:
    return any(getattr(each, f"W_{letter}") == 0 for each in both for letter in LETTERS)

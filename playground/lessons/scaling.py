"""What the lesson on scaling and softmax shows: exhibits, figures and sentences."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

import numpy as np

from attention_core import AttentionTrace, Experiment, entropy
from attention_core.arrays import BoolArray, FloatArray
from attention_core.precision import (
    PRECISIONS,
    PreciseSoftmax,
    Precision,
    Step,
    are_wrong,
    first_fault,
    largest_exponent,
    least_exponent,
    log_of_largest,
    softmax_in,
)
from attention_core.scaling import (
    DEAD,
    N_TOKENS,
    Sample,
    jacobian_norm,
    multiplied,
    sample,
)
from attention_core.shifts import SHIFTS, UNNOTICED, Shift, added, shifted, spread
from attention_core.softmax import softmax_or_zeros
from playground import charts
from playground.charts import Chart, Line, Shape
from playground.exhibit import Exhibit
from playground.figures import Figure
from playground.jobs import Tell, Work
from playground.lessons import tokens
from playground.palette import Theme
from playground.pipeline import Matrix, axis_labels
from playground.texts import Texts

Look: TypeAlias = Literal["scores", "weights", "gradient"]

WIDTHS = tuple(2**power for power in range(11))  # 1 to 1024
FACTORS = (
    *(0.0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7),
    *(1.0, 1.5, 2.0, 3.0, 5.0, 7.0, 10.0, 15.0, 20.0, 30.0, 50.0, 70.0, 100.0),
)
OFFSETS = (
    *(-1000, -750, -740, -500, -110, -100, -50, -20, -15, -10, 0),
    *(5, 8, 10, 11, 12, 20, 50, 80, 88, 90, 100, 500, 700, 709, 710, 750, 1000),
)
ROWS = (256, 512, 1024, 2048, 4096, 8192)
MOST_AT_ONCE = 2048  # rows; those of all widths take 0.2 s of a core

_MOST_LARGE = 8  # tokens: with more of them, several matrices are drawn small
_ROUNDING = 1e-9  # what float64 makes of sums and products of everyday size stays far below
_UNSCALED, _SCALED, _THEORY = 1, 0, 6  # colours of the palette


def plain(value: float) -> str:
    """A number with three digits, as a sentence shows it."""
    if value == 0:
        return "0"
    if 0.001 <= abs(value) < 99_999.5:
        text = np.format_float_positional(value, 3, fractional=False, trim="-")
        text = text if abs(value) < 1000 else f"{value:.0f}"
    else:
        digits, exponent = f"{value:.2e}".split("e")
        text = f"{digits.rstrip('0').rstrip('.')}e{int(exponent)}"
    return text.replace("-", "−")


# --- sampling


def looks(t: Texts) -> dict[Look, str]:
    """What can be looked at, in the order in which one makes the next."""
    return {
        "scores": t("scaling.sampling.look_scores"),
        "weights": t("scaling.sampling.look_weights"),
        "gradient": t("scaling.sampling.look_gradient"),
    }


def work(n_rows: int, seed: int) -> Work:
    """Draws random scores of every width."""

    def draw_all(tell: Tell) -> list[Sample]:
        samples = []
        for count, d_k in enumerate(WIDTHS):
            tell(count / len(WIDTHS))
            samples.append(drawn(d_k, n_rows, seed))
        return samples

    return draw_all


def drawn(d_k: int, n_rows: int, seed: int) -> Sample:
    """Random scores of this width; the sample of one width depends on no other."""
    return sample(np.random.default_rng([seed, d_k]), d_k, n_rows // N_TOKENS)


def sampled(t: Texts, samples: Sequence[Sample], of: Sample, look: Look, theme: Theme) -> Figure:
    """The scores, the weights or the gradient over d_k, and at one of them."""
    widths = [sample.d_k for sample in samples]

    def both(name: str, shape: Shape = "line") -> list[Line]:
        unscaled = [getattr(sample.unscaled, name) for sample in samples]
        scaled = [getattr(sample.scaled, name) for sample in samples]
        return [
            Line(t("scaling.sampling.unscaled"), widths, unscaled, _UNSCALED, shape),
            Line(t("scaling.sampling.scaled"), widths, scaled, _SCALED, shape),
        ]

    def over(title: str, lines: Sequence[Line], **more: Any) -> Chart:
        x_title = t("scaling.sampling.width")
        return Chart(title, x_title, "", lines, is_x_log=True, x_marks=[of.d_k], **more)

    if look == "scores":
        heights = [float(width) for width in widths], [1.0] * len(widths)
        theory = [
            Line(t("scaling.sampling.theory"), widths, height, _THEORY, "dashed")
            for height in heights
        ]
        variance = [*theory, *both("variance", "points")]
        panels = [
            over(t("scaling.sampling.variance"), variance, is_y_log=True),
            _histogram(t, of),
        ]
    elif look == "weights":
        most = float(np.log(of.n_keys))
        entropy = t("scaling.sampling.entropy", most=plain(most))
        panels = [
            over(t("scaling.sampling.largest"), both("mean_largest"), y_range=(0.0, 1.0)),
            over(entropy, both("mean_entropy"), y_range=(0.0, most)),
        ]
    else:
        dead = t("scaling.sampling.dead", dead=plain(DEAD))
        means = [
            replace(line, name=t("scaling.sampling.mean"))
            for line in both("mean_jacobian", "dashed")
        ]
        norms = [*both("median_jacobian"), *means]
        panels = [
            over(t("scaling.sampling.norm"), norms, is_y_log=True),
            over(dead, both("dead_share"), y_range=(0.0, 1.0)),
        ]
    return charts.figure(panels, theme)


def _histogram(t: Texts, of: Sample) -> Chart:
    lines = [
        Line(t("scaling.sampling.unscaled"), of.bins, of.unscaled.density, _UNSCALED, "steps"),
        Line(t("scaling.sampling.scaled"), of.bins, of.scaled.density, _SCALED, "steps"),
    ]
    title = t("scaling.sampling.histogram", d_k=of.d_k)
    return Chart(title, t("scaling.sampling.score"), "", lines)


def sampled_table(t: Texts, sample: Sample) -> dict[str, list[str]]:
    """The numbers at one d_k, column by column: without scaling, and with it."""
    both = (sample.unscaled, sample.scaled)
    dead = t("scaling.sampling.of_dead", dead=plain(DEAD))
    return {
        t("scaling.sampling.scores"): [
            t("scaling.sampling.unscaled"),
            t("scaling.sampling.scaled"),
        ],
        t("scaling.sampling.of_variance"): [plain(of.variance) for of in both],
        t("scaling.sampling.of_largest"): [plain(of.mean_largest) for of in both],
        t("scaling.sampling.of_entropy"): [plain(of.mean_entropy) for of in both],
        t("scaling.sampling.of_mean"): [plain(of.mean_jacobian) for of in both],
        t("scaling.sampling.of_median"): [plain(of.median_jacobian) for of in both],
        dead: [percent(of.dead_share) for of in both],
        t("scaling.sampling.of_gradient"): [plain(of.mean_gradient) for of in both],
    }


def percent(share: float) -> str:
    """A share such as 53.0 %; 0 and 100 only where it is so."""
    if share in (0, 1):
        return f"{share:.0%}".replace("%", " %")
    return f"{min(max(100 * share, 0.1), 99.9):.1f} %"


def sampled_found(t: Texts, sample: Sample) -> list[str]:
    """The variance beside the theory, who stops learning, and what still reaches the queries."""
    without, within, d_k = sample.unscaled, sample.scaled, sample.d_k
    if d_k == 1:
        return [t("scaling.sampling.alike", variance=plain(without.variance))]
    said = [
        t(
            "scaling.sampling.spread",
            d_k=d_k,
            unscaled=plain(without.variance),
            scaled=plain(within.variance),
        )
    ]
    key = "scaling.sampling.some_dead"
    if without.dead_share > 0.5:
        key = "scaling.sampling.most_dead"
    said.append(
        t(
            key,
            share=percent(without.dead_share),
            scaled_share=percent(within.dead_share),
            dead=plain(DEAD),
            median=plain(without.median_jacobian),
            scaled_median=plain(within.median_jacobian),
        )
    )
    key = "scaling.sampling.gradient"
    is_kept = without.mean_gradient >= within.mean_gradient
    if without.dead_share > 0.5 and is_kept and without.top_share > within.top_share:
        key = "scaling.sampling.gradient_kept"
    said.append(
        t(
            key,
            unscaled=plain(without.mean_gradient),
            scaled=plain(within.mean_gradient),
            top=percent(without.top_share),
            scaled_top=percent(within.top_share),
        )
    )
    return said


# --- factor


def factor_names(t: Texts) -> dict[float, str]:
    """What the scores can be multiplied by, each with its temperature."""
    return {factor: _factor_name(t, factor) for factor in FACTORS}


def _factor_name(t: Texts, factor: float) -> str:
    return t("scaling.factor.stop", factor=plain(factor), temperature=temperature(factor))


def temperature(factor: float) -> str:
    """1 / factor, as text."""
    return plain(1 / factor) if factor else "∞"


def factored(t: Texts, e: Experiment, trace: AttentionTrace, factor: float) -> Exhibit:
    """The scores of one head times a factor, the weights, and what they let through."""
    scores = multiplied(trace.masked_scores, factor)
    weights = softmax_or_zeros(scores)
    return Exhibit(
        "scaling.factor",
        {
            "scores": t("scaling.factor.scores_stage"),
            "weights": t("scaling.factor.weights_stage"),
        },
        [
            own_scores(t, trace),
            Matrix(
                "times",
                "c S",
                "scores",
                scores,
                "tokens",
                "tokens",
                f"{plain(factor)} · S",
                {"kind": "times", "of": ["scores"], "factor": factor},
                reach=largest(trace.masked_scores),
                name=t("scaling.factor.times"),
                about=t("scaling.factor.times_about"),
            ),
            Matrix(
                "weights",
                "A",
                "weights",
                weights,
                "tokens",
                "tokens",
                "softmax({times})",
                {"kind": "softmax", "of": ["times"]},
                are_weights=True,
                name=t("scaling.factor.weights"),
                about=t("scaling.factor.weights_about"),
            ),
            _measures(t, scores, weights, factor),
        ],
        axis_labels(e, t.group("feature"))
        | {"measures": [t("scaling.factor.entropy"), "‖J‖", "c·‖J‖"]},
    )


def own_scores(t: Texts, trace: AttentionTrace) -> Matrix:
    """The scores of the experiment, as softmax takes them."""
    return Matrix(
        "scores",
        "S",
        "scores",
        trace.masked_scores,
        "tokens",
        "tokens",
        operation={"kind": "told", "text": t("scaling.own.scores_told")},
        name=t("scaling.own.scores"),
        about=t("scaling.own.scores_about"),
    )


def largest(scores: FloatArray) -> float | None:
    """The size of the largest finite one, so that two matrices share their colours."""
    finite = np.abs(scores[np.isfinite(scores)])
    return float(finite.max(initial=0.0)) or None


def _measures(t: Texts, scores: FloatArray, weights: FloatArray, factor: float) -> Matrix:
    """(n_tokens, 3): entropy, norm of the Jacobian, and what reaches the scores."""
    spread, norms = entropy(weights), jacobian_norm(weights)
    values = np.stack([spread, norms, factor * norms], axis=-1)
    n_allowed = np.isfinite(scores).sum(axis=-1).tolist()
    told = [
        _measures_told(t, *row, factor) if row[-1] else [t("scaling.factor.empty_told")] * 3
        for row in zip(spread.tolist(), norms.tolist(), n_allowed, strict=True)
    ]
    return Matrix(
        "measures",
        "",
        "weights",
        values,
        "tokens",
        "measures",
        operation={"kind": "told", "texts": told},
        reach=max(math.log(len(weights)), float(values.max())) or None,  # the most entropy
        name=t("scaling.factor.measures"),
        about=t("scaling.factor.measures_about"),
    )


def _measures_told(
    t: Texts, spread: float, norm: float, n_allowed: int, factor: float
) -> list[str]:
    most, reach = plain(math.log(n_allowed)), plain(factor * norm)
    return [
        t("scaling.factor.entropy_told", entropy=plain(spread), most=most, count=n_allowed),
        t("scaling.factor.norm_told", norm=plain(norm)),
        t("scaling.factor.reach_told", factor=plain(factor), norm=plain(norm), reach=reach),
    ]


def factored_found(t: Texts, trace: AttentionTrace, factor: float) -> list[str]:
    """How sharp the weights are, what gets through, at which factor most does, and T."""
    rows = trace.masked_scores[np.isfinite(trace.masked_scores).any(axis=-1)]
    if not len(rows):
        return [t("scaling.own.empty")]
    weights = softmax_or_zeros(multiplied(rows, factor))
    spread = plain(float(entropy(weights).mean()))
    norms = jacobian_norm(weights)
    if factor == 0:
        said = [t("scaling.factor.even", entropy=spread)]
    else:
        largest = plain(float(weights.max(axis=-1).mean()))
        most = plain(float(np.log(np.isfinite(rows).sum(axis=-1)).mean()))
        said = [
            t(
                "scaling.factor.sharp",
                factor=plain(factor),
                largest=largest,
                entropy=spread,
                most=most,
            )
        ]
    reach = [_reach(rows, each) for each in FACTORS]
    best = int(np.argmax(reach))
    said.append(
        t(
            "scaling.factor.through",
            reach=plain(_reach(rows, factor)),
            best=plain(FACTORS[best]),
            most=plain(reach[best]),
        )
        if reach[best]
        else t("scaling.factor.nothing")
    )
    n_dead = int((norms < DEAD).sum())
    if n_dead:
        said.append(t("scaling.factor.dead", count=n_dead, n_rows=len(rows), dead=plain(DEAD)))
    return [*said, _sampling_at(t, factor)]


def _reach(rows: FloatArray, factor: float) -> float:
    """How far the weights move for small steps of the scores, on average over the rows."""
    return factor * float(jacobian_norm(softmax_or_zeros(multiplied(rows, factor))).mean())


def _sampling_at(t: Texts, factor: float) -> str:
    """The same factor, as who draws words from a model calls it."""
    if factor == 0:
        return t("scaling.factor.temperature_infinite")
    if factor == 1:
        return t("scaling.factor.temperature_1")
    if factor > 1:
        return t("scaling.factor.temperature_low", temperature=temperature(factor))
    return t("scaling.factor.temperature_high", temperature=temperature(factor))


# --- stability


def written(value: float) -> str:
    """As `plain`, also what is no number."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    return plain(value)


def offset_names() -> dict[int, str]:
    """What can be added to the scores."""
    return {offset: f"{offset:+d}".replace("-", "−") if offset else "0" for offset in OFFSETS}


@dataclass(frozen=True, eq=False, slots=True)
class Both:
    """The softmax of one row in one precision: the textbook form and the shifted one."""

    scores: FloatArray  # (n,)  without the offset, as the experiment has them
    precision: Precision
    offset: int
    textbook: PreciseSoftmax
    shifted: PreciseSoftmax


def both_ways(trace: AttentionTrace, token: int, precision: Precision, offset: int) -> Both | None:
    """Both forms for the row of a token; None where it may attend to nothing."""
    scores = trace.masked_scores[token]
    if np.isneginf(scores).all():
        return None
    textbook, shifted = (
        softmax_in(scores, precision, offset=offset, is_shifted=is_shifted)
        for is_shifted in (False, True)
    )
    return Both(scores, precision, offset, textbook, shifted)


def stable(t: Texts, e: Experiment, token: int, both: Both) -> Exhibit:
    """Every step of both forms, each as a column."""
    return Exhibit(
        "scaling.stability",
        {
            "textbook": t("scaling.stability.textbook_stage", precision=both.precision),
            "shifted": t("scaling.stability.shifted_stage", precision=both.precision),
        },
        [
            *_columns(t, both, both.textbook, "textbook"),
            *_columns(t, both, both.shifted, "shifted"),
        ],
        axis_labels(e, t.group("feature"))
        | {"row": [e.tokens[token]], "maximum": ["max"], "total": ["Σ"]},
    )


def _columns(t: Texts, both: Both, trace: PreciseSoftmax, stage: str) -> list[Matrix]:
    names = _step_names(t)
    of_fault = first_fault(trace, both.scores)
    return [
        Matrix(
            f"{stage}_{step}",
            "",
            stage,
            values[:, None].astype(np.float64),
            step if step in ("maximum", "total") else "tokens",
            "row",
            operation={"kind": "told", "texts": [[text] for text in texts]},
            are_weights=step == "weights",
            marked=are_wrong(step, values, both.scores)[:, None],
            mark=t("scaling.stability.broken"),
            name=names[step],
            about=t("scaling.stability.first_about")
            if of_fault and of_fault[0] == step
            else t("scaling.stability.step_about", precision=both.precision),
        )
        for (step, values), texts in zip(trace.steps(), _told(t, both, trace), strict=True)
    ]


def _told(t: Texts, both: Both, trace: PreciseSoftmax) -> list[list[str]]:
    """For each step, the arithmetic of its cells."""
    sums, maximum, shifted, exponentials, total, weights = (
        [] if values is None else [written(value) for value in values.tolist()]
        for values in (
            trace.scores,
            trace.maximum,
            trace.shifted,
            trace.exponentials,
            trace.total,
            trace.weights,
        )
    )

    def told(arithmetic: str) -> str:
        return t("scaling.stability.told", arithmetic=arithmetic, precision=both.precision)

    own = [written(score) for score in both.scores.tolist()]
    powers = shifted or sums
    steps = [
        [
            told(f"{a} + {_factor(written(both.offset))} = {b}")
            for a, b in zip(own, sums, strict=True)
        ],
        [told(f"max({', '.join(sums)}) = {m}") for m in maximum],
        [told(f"{a} − {_factor(maximum[0])} = {b}") for a, b in zip(sums, shifted, strict=False)],
        [told(f"e^{_factor(a)} = {b}") for a, b in zip(powers, exponentials, strict=True)],
        [told(f"{' + '.join(exponentials)} = {total[0]}")],
        [told(f"{a} / {total[0]} = {b}") for a, b in zip(exponentials, weights, strict=True)],
    ]
    return [step for step in steps if step]


def _factor(text: str) -> str:
    """A number after an operator: negative ones in brackets."""
    return f"({text})" if text.startswith("−") else text


def _step_names(t: Texts) -> dict[Step, str]:
    return {
        "scores": t("scaling.stability.scores"),
        "maximum": t("scaling.stability.maximum"),
        "shifted": t("scaling.stability.shifted"),
        "exponentials": t("scaling.stability.exponentials"),
        "total": t("scaling.stability.total"),
        "weights": t("scaling.stability.weights"),
    }


def stable_found(t: Texts, e: Experiment, token: int, both: Both | None) -> list[str]:
    """Where each form breaks first, what the shift keeps, and from where on e^x is infinite."""
    if both is None:
        return [t("scaling.stability.empty", token=tokens.named(e, token))]
    said = [
        _verdict(t, both, both.textbook, t("scaling.stability.textbook")),
        _verdict(t, both, both.shifted, t("scaling.stability.with_shift")),
    ]
    weights = both.shifted.weights
    if np.isfinite(weights).all():
        gap = float(np.abs(weights - softmax_or_zeros(both.scores)).max())
        said.append(t("scaling.stability.gap", gap=plain(gap)))
    else:
        said.append(t("scaling.stability.too_large", precision=both.precision))
    said.append(
        t(
            "scaling.stability.threshold",
            precision=both.precision,
            threshold=f"{largest_exponent(both.precision):.2f}",
            log=f"{log_of_largest(both.precision):.2f}",
        )
    )
    return said


def _verdict(t: Texts, both: Both, trace: PreciseSoftmax, form: str) -> str:
    """Where a form breaks first, and what becomes of the weights."""
    fault = first_fault(trace, both.scores)
    if fault is None:
        return t("scaling.stability.fine", form=form, precision=both.precision)
    step, what = _step_names(t)[fault[0]], written(fault[1])
    n_lost = int(np.isnan(trace.weights).sum())
    if n_lost:
        return t(
            "scaling.stability.breaks",
            form=form,
            step=step,
            what=what,
            count=n_lost,
            n_weights=trace.weights.size,
        )
    if not trace.weights.any():
        return t("scaling.stability.vanishes", form=form, step=step, what=what)
    return t("scaling.stability.survives", form=form, step=step, what=what)


def thresholds(t: Texts) -> dict[str, list[str]]:
    """From where on e^x breaks in each type, found by trying, beside what its range says."""
    largest = [float(np.finfo(precision).max) for precision in PRECISIONS]
    least = [f"{least_exponent(precision):.4f}" for precision in PRECISIONS]
    return {
        t("scaling.stability.of_type"): list(PRECISIONS),
        t("scaling.stability.of_largest"): [plain(number) for number in largest],
        t("scaling.stability.of_log"): [f"{log_of_largest(each):.4f}" for each in PRECISIONS],
        t("scaling.stability.of_finite"): [
            f"{largest_exponent(precision):.4f}" for precision in PRECISIONS
        ],
        t("scaling.stability.of_positive"): [number.replace("-", "−") for number in least],
    }


# --- axis


def down_columns(scores: FloatArray) -> FloatArray:
    """Softmax of each column, as it comes of the wrong axis; a column of -inf gives zeros."""
    return softmax_or_zeros(scores.T).T


def both_axes(t: Texts, e: Experiment, trace: AttentionTrace) -> Exhibit:
    """Softmax along the rows and down the columns, each with the sums of both."""
    is_compact = e.n_tokens > _MOST_LARGE
    rows = Matrix(
        "rows",
        "",
        "rows",
        trace.weights,
        "tokens",
        "tokens",
        operation={"kind": "softmax", "of": ["scores"]},
        are_weights=True,
        is_compact=is_compact,
        name=t("scaling.axis.rows"),
        about=t("scaling.axis.rows_about"),
    )
    columns = replace(
        rows,
        id="columns",
        stage="columns",
        values=down_columns(trace.masked_scores),
        operation={"kind": "softmax_columns", "of": ["scores"]},
        name=t("scaling.axis.columns"),
        about=t("scaling.axis.columns_about"),
    )
    return Exhibit(
        "scaling.axis",
        {
            "scores": t("scaling.axis.scores_stage"),
            "rows": t("scaling.axis.rows_stage"),
            "columns": t("scaling.axis.columns_stage"),
        },
        [
            replace(own_scores(t, trace), is_compact=is_compact),
            rows,
            *_sums_of(t, rows),
            columns,
            *_sums_of(t, columns),
        ],
        axis_labels(e, t.group("feature")) | {"sum": ["Σ"], "keys": list(e.tokens)},
    )


def _sums_of(t: Texts, matrix: Matrix) -> list[Matrix]:
    """The sum of each row and of each column of weights."""
    of_rows = matrix.values.sum(axis=1, keepdims=True)
    row_sums = Matrix(
        f"{matrix.id}_row_sums",
        "",
        matrix.stage,
        of_rows,
        "tokens",
        "sum",
        operation={"kind": "row_sums", "of": [matrix.id]},
        marked=~are_one(of_rows),
        mark=t("scaling.axis.not_one"),
        reach=float(matrix.values.shape[0]),
        name=t("scaling.axis.row_sums"),
        about=t("scaling.axis.row_sums_about"),
    )
    column_sums = Matrix(
        f"{matrix.id}_column_sums",
        "",
        matrix.stage,
        matrix.values.sum(axis=0, keepdims=True),
        "sum",
        "keys",
        operation={"kind": "column_sums", "of": [matrix.id]},
        reach=float(matrix.values.shape[0]),
        name=t("scaling.axis.column_sums"),
        about=t("scaling.axis.column_sums_about"),
    )
    if matrix.is_compact:  # its columns are narrower than numbers, so these do not stand below it
        return [row_sums, column_sums]
    return [replace(column_sums, chain=matrix.id), row_sums]


def are_one(sums: FloatArray) -> BoolArray:
    """Which sums are 1, but for rounding."""
    is_one: BoolArray = np.abs(sums - 1) < 1e-9
    return is_one


def both_axes_found(t: Texts, e: Experiment, trace: AttentionTrace) -> list[str]:
    """Which sums are 1, and what an output of weights that do not sum to 1 is."""
    right, wrong = trace.weights, down_columns(trace.masked_scores)
    if not right.any():
        return [t("scaling.own.empty")]
    row_sums = wrong.sum(axis=1)
    said = [
        t(
            "scaling.axis.right",
            count=_n_ones(right.sum(axis=1)),
            n_tokens=e.n_tokens,
            low=plain(right.sum(axis=0).min()),
            high=plain(right.sum(axis=0).max()),
        ),
        t(
            "scaling.axis.wrong",
            count=_n_ones(wrong.sum(axis=0)),
            n_tokens=e.n_tokens,
            low=plain(row_sums.min()),
            high=plain(row_sums.max()),
        ),
    ]
    worst = int(np.abs(row_sums - 1).argmax())
    token = tokens.named(e, worst)
    if are_one(row_sums).all():
        # Where a column has one key, its weight is 1 whatever the scores are.
        can_move = bool((trace.allowed.sum(axis=0) > 1).any())
        key = "scaling.axis.by_chance" if can_move else "scaling.axis.by_mask"
        said.append(t(key))
    elif row_sums[worst] == 0:
        said.append(t("scaling.axis.none", token=token))
    else:
        said.append(t("scaling.axis.mixed", token=token, sum=plain(row_sums[worst])))
    gap = float(np.abs(wrong @ trace.V - trace.output).max())
    return [*said, t("scaling.axis.moved", gap=plain(gap))]


def _n_ones(sums: FloatArray) -> int:
    return int(are_one(sums).sum())


# --- shift


@dataclass(frozen=True, eq=False, slots=True)
class Shifted:
    """What became of one head when something was added."""

    shift: Shift
    by: int
    token: int
    before: AttentionTrace
    after: AttentionTrace

    @property
    def added(self) -> FloatArray:
        """(n_tokens, n_tokens): to each score, in the end."""
        return added(self.before, self.after)

    @property
    def moved(self) -> float:
        """How far a score moves at most."""
        return float(np.abs(self.added).max())

    @property
    def gap(self) -> float:
        """How far a weight moves at most."""
        return float(np.abs(self.after.weights - self.before.weights).max())


def shifts(e: Experiment, head: int, by: int, token: int) -> dict[Shift, Shifted]:
    """Each kind of shift, of this size, in this head of the experiment."""
    trace = e.trace()
    before = trace.attention.head(head)
    bias = None if trace.bias is None else trace.bias[head]
    return {
        shift: Shifted(
            shift, by, token, before, shifted(before, shift, by, token, scale=e.scale, bias=bias)
        )
        for shift in SHIFTS
    }


def shift_names(t: Texts) -> dict[Shift, str]:
    """What can be added to."""
    return {
        "row": t("scaling.shift.row"),
        "keys": t("scaling.shift.keys"),
        "queries": t("scaling.shift.queries"),
        "key": t("scaling.shift.key"),
    }


def shift_exhibit(t: Texts, e: Experiment, of: Shifted) -> Exhibit:
    """Scores and weights before, after, and what moved."""
    matrices = [
        own_scores(t, of.before),
        Matrix(
            "shifted",
            "S′",
            "scores",
            of.after.masked_scores,
            "tokens",
            "tokens",
            operation={"kind": "told", "text": t("scaling.shift.shifted_told")},
            name=t("scaling.shift.shifted"),
            about=t("scaling.shift.shifted_about"),
        ),
        Matrix(
            "added",
            "S′ − S",
            "scores",
            of.added,
            "tokens",
            "tokens",
            operation={"kind": "told", "texts": _added_told(t, of)},
            name=t("scaling.shift.added"),
            about=t("scaling.shift.added_about"),
        ),
        _shift_weights(of.before, "weights", "A", "scores", t("scaling.shift.weights"), t),
        _shift_weights(of.after, "after", "A′", "shifted", t("scaling.shift.after"), t),
        Matrix(
            "moved",
            "A′ − A",
            "weights",
            of.after.weights - of.before.weights,
            "tokens",
            "tokens",
            operation={"kind": "difference", "of": ["after", "weights"]},
            reach=1.0,
            name=t("scaling.shift.moved"),
            about=t("scaling.shift.moved_about"),
        ),
    ]
    is_compact = e.n_tokens > _MOST_LARGE
    return Exhibit(
        "scaling.shift",
        {"scores": t("scaling.shift.scores_stage"), "weights": t("scaling.shift.weights_stage")},
        [replace(matrix, is_compact=is_compact) for matrix in matrices],
        axis_labels(e, t.group("feature")),
    )


def _shift_weights(
    trace: AttentionTrace, id: str, symbol: str, of: str, name: str, t: Texts
) -> Matrix:
    return Matrix(
        id,
        symbol,
        "weights",
        trace.weights,
        "tokens",
        "tokens",
        operation={"kind": "softmax", "of": [of]},
        are_weights=True,
        name=name,
        about=t("scaling.shift.weights_about"),
    )


def _added_told(t: Texts, of: Shifted) -> list[list[str]]:
    before, after = of.before.masked_scores.tolist(), of.after.masked_scores.tolist()
    return [
        [
            t(
                "scaling.shift.added_told",
                before=_factor(plain(s)),
                after=plain(s2),
                added=plain(d),
            )
            if math.isfinite(s)
            else t("scaling.shift.forbidden_told")
            for s, s2, d in zip(*rows, strict=True)
        ]
        for rows in zip(before, after, of.added.tolist(), strict=True)
    ]


def shift_table(t: Texts, of: Mapping[Shift, Shifted]) -> dict[str, list[str]]:
    """For each kind of shift how far scores and weights move at most."""
    names = shift_names(t)
    each = of.values()
    spreads = [spread(one.added, one.before.allowed) for one in each]
    return {
        t("scaling.shift.of_shift"): [names[shift] for shift in of],
        t("scaling.shift.of_score"): [plain(one.moved) for one in each],
        t("scaling.shift.of_spread"): [plain(size) for size in spreads],
        t("scaling.shift.of_weight"): [plain(one.gap) for one in each],
    }


def shift_found(t: Texts, of: Shifted) -> list[str]:
    """How far scores and weights move, and whether that is rounding, or luck."""
    if not of.before.weights.any():
        return [t("scaling.own.empty")]
    if of.by == 0:
        return [t("scaling.shift.zero")]
    size = max(largest(each.masked_scores) or 0.0 for each in (of.before, of.after))
    moved = t(
        "scaling.shift.scores_move",
        moved=plain(of.moved),
        spread=plain(spread(of.added, of.before.allowed)),
    )
    if of.shift in UNNOTICED:
        if of.gap < _ROUNDING:
            return [moved, t("scaling.shift.unnoticed", gap=plain(of.gap))]
        return [moved, t("scaling.shift.rounding", gap=plain(of.gap), size=plain(size))]
    if of.before.allowed.sum(axis=-1).max() == 1:
        return [moved, t("scaling.shift.single")]
    if of.gap < _ROUNDING:
        return [moved, t("scaling.shift.by_chance", gap=plain(of.gap))]
    return [moved, t("scaling.shift.noticed", gap=plain(of.gap))]

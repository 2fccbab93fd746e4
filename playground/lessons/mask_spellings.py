"""What the lesson on masks shows of how a mask is written: three spellings, two polarities."""

from dataclasses import dataclass

import numpy as np

from attention_core import Experiment, ExperimentTrace
from attention_core.arrays import BoolArray, FloatArray
from attention_core.leaks import masked_weights
from attention_core.patterns import forbidding
from attention_core.polarity import blocked
from attention_core.spellings import (
    SPELLINGS,
    Precision,
    Spelling,
    largest_gap,
    masked,
    plain_softmax,
    rounded,
    row_kind,
    spacing,
    stored,
)
from playground.exhibit import Exhibit
from playground.lessons import tokens
from playground.numerals import short, size
from playground.pipeline import Matrix, axis_labels
from playground.texts import Texts

MOST_ROWS = 5  # on the board of the spellings, which has six matrices or more


@dataclass(frozen=True, eq=False, slots=True)
class Spelt:
    """One head under a mask, in each of the three spellings."""

    precision: Precision
    scores: FloatArray  # (n_tokens, n_tokens), in that precision
    allowed: BoolArray
    masked_scores: dict[Spelling, FloatArray]
    weights: dict[Spelling, FloatArray]
    unmasked: FloatArray  # weights without any mask
    ours: FloatArray  # weights of the core


def spelt(
    e: Experiment, trace: ExperimentTrace, head: int, precision: Precision, *, is_emptied: bool
) -> Spelt:
    """The three spellings of the mask; where a row is emptied, it is the last one."""
    scores = trace.attention.head(head).biased_scores
    allowed = forbidding(e)[0].copy()
    if is_emptied:
        allowed[-1] = False
    masked_scores = {each: masked(scores, allowed, each, precision) for each in SPELLINGS}
    return Spelt(
        precision,
        rounded(scores, precision),
        allowed,
        masked_scores,
        {each: plain_softmax(values) for each, values in masked_scores.items()},
        plain_softmax(rounded(scores, precision)),
        masked_weights(scores, allowed, None),
    )


def spellings(t: Texts, e: Experiment, s: Spelt) -> Exhibit:
    """For each spelling the last rows of scores and weights; ours too, where a row is empty."""
    rows = "tokens" if e.n_tokens <= MOST_ROWS else "tokens_last"
    names = {
        "boolean": t("masks.spellings.boolean"),
        "additive": t("masks.spellings.additive"),
        "finite": t("masks.spellings.finite"),
    }
    told = {
        "boolean": t("masks.spellings.boolean_told"),
        "additive": t("masks.spellings.additive_told"),
        "finite": t("masks.spellings.finite_told", stored=written(float(stored(s.precision)))),
    }

    def of(id: str, stage: str, values: FloatArray, told: str, name: str, about: str) -> Matrix:
        return Matrix(
            id,
            "",
            stage,
            values[-MOST_ROWS:].astype(np.float64),
            rows,
            "tokens",
            operation={"kind": "told", "text": told},
            are_weights=id.endswith("weights"),
            name=name,
            about=about,
            chain=stage,
            reach=_reach(s.scores),
        )

    matrices = []
    for spelling in SPELLINGS:
        matrices += [
            of(
                f"{spelling}_scores",
                spelling,
                s.masked_scores[spelling],
                told[spelling],
                t("masks.spellings.masked"),
                t("masks.spellings.masked_about"),
            ),
            of(
                f"{spelling}_weights",
                spelling,
                s.weights[spelling],
                t("masks.spellings.weights_told", precision=s.precision),
                t("masks.spellings.weights"),
                t("masks.spellings.weights_about"),
            ),
        ]
    ours = of(
        "ours_weights",
        "ours",
        s.ours,
        t("masks.spellings.ours_told"),
        t("masks.spellings.weights"),
        t("masks.spellings.ours_about"),
    )
    return Exhibit(
        f"masks.spellings.{s.precision}",
        names | {"ours": t("masks.spellings.ours")},
        matrices if s.allowed.any(axis=-1).all() else [*matrices, ours],
        axis_labels(e) | {"tokens_last": e.tokens[-MOST_ROWS:]},
    )


def rows_told(t: Texts, e: Experiment) -> str:
    """That not all rows are on the board, where there are many; else nothing."""
    if e.n_tokens <= MOST_ROWS:
        return ""
    return t("masks.spellings.rows", shown=MOST_ROWS, count=e.n_tokens)


def _reach(scores: FloatArray) -> float:
    """The colours are those of the scores, however large the number is that forbids."""
    finite = np.abs(scores[np.isfinite(scores)].astype(np.float64))
    return float(finite.max(initial=0.0)) or 1.0


def spellings_found(t: Texts, e: Experiment, s: Spelt) -> list[str]:
    """How far the spellings lie apart, and what each makes of an empty row."""
    size = written(float(stored(s.precision)))
    if np.isfinite(stored(s.precision)):
        step = short(spacing(s.precision), 2)
        said = [t("masks.spellings.stored", precision=s.precision, stored=size, step=step)]
    else:
        said = [t("masks.spellings.not_stored", precision=s.precision, stored=size)]
    return [*said, *_rows_with_keys(t, s), *_empty_row(t, e, s)]


def _rows_with_keys(t: Texts, s: Spelt) -> list[str]:
    has_key = s.allowed.any(axis=-1)
    if not has_key.any():
        return []
    is_nan = np.array([np.isnan(s.weights[each]).any(axis=-1) for each in SPELLINGS])
    broken = has_key & is_nan.any(axis=0)
    said = []
    if broken.any():
        count = int(broken.sum())
        said.append(t("masks.spellings.overflow", count=count, precision=s.precision))
    whole = has_key & ~broken
    if not whole.any():
        return said
    first, *others = (s.weights[each][whole] for each in SPELLINGS)
    gap = max(largest_gap(first, other) for other in others)
    if gap == 0:
        said.append(t("masks.spellings.same"))
    else:
        said.append(t("masks.spellings.apart", gap=size(gap)))
    leak = float(s.weights["finite"][whole][~s.allowed[whole]].max(initial=0.0))
    if leak:
        said.append(t("masks.spellings.leak", leak=size(leak)))
    return said


def _empty_row(t: Texts, e: Experiment, s: Spelt) -> list[str]:
    empty = np.flatnonzero(~s.allowed.any(axis=-1))
    if not len(empty):
        return [t("masks.spellings.none_empty")]
    row = int(empty[-1])
    return [
        t(
            "masks.spellings.empty",
            token=tokens.named(e, row),
            boolean=_became(t, s, s.weights["boolean"][row], row),
            additive=_became(t, s, s.weights["additive"][row], row),
            finite=_became(t, s, s.weights["finite"][row], row),
            ours=_became(t, s, s.ours[row], row),
        )
    ]


def _became(t: Texts, s: Spelt, weights: FloatArray, row: int) -> str:
    """What one row of weights is, in words."""
    match row_kind(weights, s.unmasked[row]):
        case "nan":
            return "NaN"
        case "zeros":
            return t("masks.spellings.zeros")
        case "uniform":
            return t("masks.spellings.uniform", weight=short(float(weights[0])))
        case "unmasked":
            return t("masks.spellings.unmasked")
        case "other":
            gap = largest_gap(weights, s.unmasked[row])
            return t("masks.spellings.other", gap=size(gap))


def written(value: float) -> str:
    """-1e9 as one writes it: −1e9, or −∞."""
    if np.isneginf(value):
        return "−∞"
    digits, _, exponent = f"{value:.0e}".partition("e")
    return f"{digits}e{int(exponent)}".replace("-", "−")


# --- polarity


def polarity(t: Texts, e: Experiment, trace: ExperimentTrace, head: int) -> Exhibit:
    """The mask in both polarities as 0 and 1, and the weights under the right and the wrong one."""
    allowed = forbidding(e)[0]
    scores = trace.attention.head(head).biased_scores

    def of(id: str, stage: str, values: FloatArray, told: str, name: str, about: str) -> Matrix:
        return Matrix(
            id,
            "",
            stage,
            values,
            "tokens",
            "tokens",
            operation={"kind": "told", "text": told},
            are_weights=True,
            name=name,
            about=about,
        )

    return Exhibit(
        "masks.polarity",
        {
            "masks": t("masks.polarity.masks_stage"),
            "weights": t("masks.polarity.weights_stage"),
        },
        [
            of(
                "may_attend",
                "masks",
                allowed.astype(np.float64),
                t("masks.polarity.may_attend_told"),
                "may_attend",
                t("masks.polarity.may_attend_about"),
            ),
            of(
                "is_blocked",
                "masks",
                blocked(allowed).astype(np.float64),
                t("masks.polarity.is_blocked_told"),
                "is_blocked",
                t("masks.polarity.is_blocked_about"),
            ),
            of(
                "right_weights",
                "weights",
                masked_weights(scores, allowed, None),
                t("masks.polarity.weights_told"),
                t("masks.polarity.right"),
                t("masks.polarity.right_about"),
            ),
            of(
                "wrong_weights",
                "weights",
                masked_weights(scores, blocked(allowed), None),
                t("masks.polarity.weights_told"),
                t("masks.polarity.wrong"),
                t("masks.polarity.wrong_about"),
            ),
        ],
        axis_labels(e),
    )


def polarity_found(t: Texts, e: Experiment, trace: ExperimentTrace, head: int) -> list[str]:
    """What the weights are under the wrong polarity."""
    allowed = forbidding(e)[0]
    weights = masked_weights(trace.attention.head(head).biased_scores, blocked(allowed), None)
    n_empty = int((~blocked(allowed).any(axis=-1)).sum())
    said = [t("masks.polarity.empty", count=n_empty, n_tokens=e.n_tokens)]
    if n_empty < e.n_tokens:
        forbidden = float(np.where(allowed, 0.0, weights).sum() / weights.sum())
        said.append(t("masks.polarity.forbidden", share=f"{100 * forbidden:.0f}"))
    return said

"""What the lesson on masks shows of patterns: the mask of the experiment and what it does."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from attention_core import Experiment, ExperimentTrace, Mask
from attention_core.patterns import KINDS, Pattern, forbidding, pattern_of
from playground.exhibit import Exhibit
from playground.lessons import tokens
from playground.pipeline import Matrix, axis_labels, pipeline
from playground.texts import Texts

MOST_ROUNDS = 6
BUCKETS = (2, 4, 6, 8)

_STAGES = {"V": "output", "head_output": "output", "mask": "mask"}


def pattern(e: Experiment, setting: Callable[[str, Any], Any]) -> Pattern:
    """The pattern that the lesson is set to; while it is not, what the experiment's rules say.

    Args:
        e: Sizes are kept within its number of tokens.
        setting: Gives a setting of the lesson, or the default.
    """
    own, n = pattern_of(e.mask), e.n_tokens

    def size(name: str, most: int) -> int:
        return min(int(setting(f"masks.{name}", getattr(own, name))), most)

    kinds = setting("masks.kinds", own.kinds)
    return Pattern(
        tuple(kind for kind in KINDS if kind in kinds),
        how=setting("masks.how", own.how),
        n_padding=size("n_padding", n),
        before=size("before", n - 1),
        after=size("after", n - 1),
        n_global=size("n_global", n),
        n_random=size("n_random", n),
        n_buckets=setting("masks.n_buckets", own.n_buckets),
        n_rounds=size("n_rounds", MOST_ROUNDS),
        draw=setting("masks.draw", own.draw),
    )


def patterns(
    t: Texts, e: Experiment, trace: ExperimentTrace, head: int, chosen: Pattern
) -> Exhibit:
    """Mask, masked scores, weights and output of one head; the mask can be painted."""
    shown = e if e.mask.kinds else replace(e, mask=Mask(("painted",)))
    steps = {matrix.id: matrix for matrix in pipeline(shown, trace, head)}
    before, _ = steps["masked_scores"].operation["of"]
    last = "head_output" if "head_output" in steps else "output"
    wanted = ("mask", before, "masked_scores", "weights", "V", last)
    differs = chosen.differs(e)
    mask = replace(
        steps["mask"],
        marked=differs if differs.any() else None,
        mark=t("masks.patterns.mark"),
    )
    return Exhibit(
        "masks.patterns",
        {
            "mask": t("masks.patterns.mask_stage"),
            "scores": t("stage.scores"),
            "weights": t("masks.patterns.weights_stage"),
            "output": t("stage.output"),
        },
        [_alone(t, (steps | {"mask": mask})[id], wanted) for id in wanted],
        axis_labels(e, t.group("feature")),
    )


def _alone(t: Texts, matrix: Matrix, present: Iterable[str]) -> Matrix:
    """The matrix, and words for it where those that it is made of are not on the board."""
    matrix = replace(matrix, stage=_STAGES.get(matrix.id, matrix.stage))
    if set(matrix.operation.get("of", ())) <= set(present):
        return matrix
    told = {"kind": "told", "text": t("masks.patterns.told")}
    expression = "" if "{" in matrix.expression else matrix.expression
    return replace(matrix, operation=told, expression=expression)


def patterns_found(t: Texts, e: Experiment, trace: ExperimentTrace, head: int) -> list[str]:
    """How many pairs are allowed, which weights that forces to 0, which rows it leaves empty."""
    steps = trace.attention.head(head)
    allowed, n = steps.allowed, e.n_tokens
    forced = int(np.count_nonzero(steps.weights[~allowed] == 0))
    if forced:
        count = int(allowed.sum())
        said = [t("masks.patterns.forced", allowed=count, pairs=n * n, forced=forced)]
    else:
        said = [t("masks.patterns.all", pairs=n * n)]
    empty = np.flatnonzero(~allowed.any(axis=-1))
    if len(empty):
        said.append(t("masks.patterns.empty", count=len(empty), rows=tokens.listed(t, e, empty)))
    else:
        said.append(t("masks.patterns.none_empty"))
    return said


def difference(t: Texts, e: Experiment, chosen: Pattern) -> str:
    """How many cells are not as the pattern has them; nothing where all are."""
    count = int(np.count_nonzero(chosen.differs(e)))
    if not count:
        return ""
    if not chosen.kinds:
        return t("masks.patterns.by_hand", count=count)
    return t("masks.patterns.differs", count=count)


def buckets(t: Texts, e: Experiment, chosen: Pattern) -> str:
    """Which bucket each token falls into, round by round."""
    rounds = [
        t("masks.patterns.round", number=number, buckets=" ".join(map(str, row.tolist())))
        for number, row in enumerate(chosen.buckets(e), start=1)
    ]
    return t("masks.patterns.buckets", rounds=t("masks.separator").join(rounds))


def instead(t: Texts, e: Experiment) -> str:
    """That a causal mask is looked at, where the experiment forbids nothing; else nothing."""
    return "" if forbidding(e)[1] else t("masks.instead")


def index(number: int) -> int:
    """Where the token of this number stands, counted from 0."""
    return number - 1


def half(e: Experiment) -> int:
    """A split that leaves tokens on both sides, where there are two."""
    return (e.n_tokens + 1) // 2

"""What the lesson on masks shows of broken masks: what moves that must not."""

import numpy as np

from attention_core import Experiment
from attention_core.arrays import BoolArray, FloatArray
from attention_core.leaks import Leak, Probe, mask_for
from playground.exhibit import Exhibit
from playground.lessons import tokens
from playground.numerals import short
from playground.pipeline import Matrix, axis_labels
from playground.texts import Texts


def leaks(t: Texts, e: Experiment, right: Probe, broken: Probe, token: int, leak: Leak) -> Exhibit:
    """Weights and outputs of one head under the broken mask and under the right one."""
    allowed = mask_for(e, leak)
    reach = float(max(np.abs(p.before).max() for p in (right, broken))) or 1.0
    return Exhibit(
        f"masks.leaks.{leak}",
        {"broken": t("masks.leaks.broken_stage"), "right": t("masks.leaks.right_stage")},
        [
            *_under(t, "broken", broken, allowed, token, reach),
            *_under(t, "right", right, allowed, token, reach),
        ],
        axis_labels(e, t.group("feature")),
    )


def _under(
    t: Texts, mask: str, probe: Probe, allowed: BoolArray, token: int, reach: float
) -> list[Matrix]:
    def of(id: str, values: FloatArray, columns: str, told: str, name: str, about: str) -> Matrix:
        return Matrix(
            f"{mask}_{id}",
            "",
            mask,
            values,
            "tokens",
            columns,
            operation={"kind": "told", "text": told},
            are_weights=columns == "tokens",
            reach=None if columns == "tokens" else reach,
            name=name,
            about=about,
            marked=_marked(id, values, probe, allowed),
            mark=t("masks.leaks.mark_weights") if id == "weights" else t("masks.leaks.mark"),
        )

    number = token + 1
    is_broken = mask == "broken"
    weights_told = t("masks.leaks.weights_told") if is_broken else t("masks.leaks.right_told")
    return [
        of(
            "weights",
            probe.weights,
            "tokens",
            weights_told,
            t("masks.leaks.weights"),
            t("masks.leaks.weights_about"),
        ),
        of(
            "before",
            probe.before,
            "dims",
            t("masks.leaks.before_told"),
            t("masks.leaks.before"),
            t("masks.leaks.before_about"),
        ),
        of(
            "after",
            probe.after,
            "dims",
            t("masks.leaks.after_told", number=number),
            t("masks.leaks.after"),
            t("masks.leaks.after_about", number=number),
        ),
    ]


def _marked(id: str, values: FloatArray, probe: Probe, allowed: BoolArray) -> BoolArray | None:
    """Weights where there must be none; outputs that moved and must not have."""
    if id == "before":
        return None
    if id == "weights":
        marked: BoolArray = ~allowed & (values != 0)
    else:
        marked = probe.leaking[:, None] & (probe.after != probe.before)
    return marked if marked.any() else None


def mask_told(t: Texts, e: Experiment, leak: Leak) -> str:
    """Which mask the leak is shown on, where it is not simply that of the experiment."""
    if leak == "on_rows":
        n_padding = int((~mask_for(e, leak)).all(axis=0).sum())
        return t("masks.leaks.padding_alone", count=n_padding)
    return "" if not e.mask.allowed(e.n_tokens).all() else t("masks.instead")


def leaks_found(t: Texts, e: Experiment, right: Probe, broken: Probe, token: int) -> list[str]:
    """Which outputs moved that must not, under the right mask and under the broken one."""
    if e.n_tokens == 1:
        return [t("masks.leaks.alone")]
    name, n_hidden = tokens.named(e, token), int(right.must_stay.sum())
    if not n_hidden:
        return [t("masks.leaks.all_see", token=name)]
    said = [_moved(t, e, broken, name, n_hidden)]
    if right.leaking.any():
        said.append(t("masks.leaks.right_moves", count=int(right.leaking.sum())))
    else:
        said.append(t("masks.leaks.right_stays", count=n_hidden))
    sums = broken.weights.sum(axis=-1)
    if np.abs(sums - 1).max() > 1e-9:
        said.append(t("masks.leaks.sums", low=short(sums.min()), high=short(sums.max())))
    return said


def _moved(t: Texts, e: Experiment, broken: Probe, name: str, n_hidden: int) -> str:
    rows = np.flatnonzero(broken.leaking)
    if not len(rows):
        return t("masks.leaks.still", token=name, count=n_hidden)
    return t(
        "masks.leaks.moved",
        token=name,
        count=len(rows),
        hidden=n_hidden,
        rows=tokens.listed(t, e, rows),
        most=short(broken.moved_by[rows].max()),
    )

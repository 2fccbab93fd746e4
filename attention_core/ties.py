"""How close weights can come to a target where keys are tied and rows share their scores.

    least over c of  Σᵣ Σⱼ Tᵣⱼ ln(Tᵣⱼ / Aᵣⱼ),   Aᵣ = softmax over allowed j of c(j) + biasᵣⱼ

Keys of one class have one score c(j) in every row, whatever is chosen; bias and mask may differ
from row to row. Within a class nothing can be chosen. Between classes it is a convex problem, that
of a log-linear model, solved by Newton's method; where the least lies at infinity, it comes within
about 1e-10 of it.

Source: Boyd and Vandenberghe 2004, "Convex Optimization", sections 7.1.1 and 9.5.
Axes: r rows, n keys, k classes.
"""

import numpy as np
import numpy.typing as npt

from attention_core.arrays import BoolArray, FloatArray

_MOST_STEPS = 200
_MOST_HALVINGS = 60
_RIDGE = 1e-12  # a shift of all scores changes nothing, so the Hessian alone is singular
_STILL = 1e-14  # a slope, or what a step gains, below this is rounding


def least_divergence(
    target: FloatArray, allowed: BoolArray, bias: FloatArray, classes: npt.NDArray[np.intp]
) -> float:
    """The sum of divergences that no scores of the classes can go below.

    Args:
        target: (r, n), rows that sum to 1 and ask for nothing that is not allowed.
        allowed: (r, n), True = may be attended.
        bias: (r, n), added to the scores.
        classes: (n,), keys with the same number have the same score.
    """
    is_member = classes == np.unique(classes)[:, None]  # (k, n)
    wanted = target @ is_member.T  # (r, k)
    is_wanted = wanted.any(axis=0)  # what nobody asks for is best at -inf
    is_member, wanted = is_member[is_wanted], wanted[:, is_wanted]
    parts = np.where(allowed, np.exp(bias), 0.0)  # (r, n), of e^score
    sizes = parts @ is_member.T  # (r, k)
    asked = target > 0
    of_class, of_target = (sizes @ is_member)[asked], (wanted @ is_member)[asked]
    within = target[asked] * np.log(target[asked] / of_target * of_class / parts[asked])
    return float(within.sum()) + _between(wanted, sizes)


def _between(wanted: FloatArray, sizes: FloatArray) -> float:
    """The least sum of divergences of wanted from shares ∝ e^c · sizes, (r, k) both."""
    with np.errstate(divide="ignore"):
        logs = np.log(sizes)  # -inf where a row may attend to nothing of a class
    c = np.log(wanted.sum(axis=0) / sizes.sum(axis=0))  # (k,), best where all rows are alike
    least, shares = _divergence(wanted, c + logs)
    for _ in range(_MOST_STEPS):
        slope = (shares - wanted).sum(axis=0)  # (k,)
        if np.abs(slope).max() < _STILL:
            break
        bend = np.diag(shares.sum(axis=0)) - shares.T @ shares  # (k, k)
        step = np.linalg.solve(bend + _RIDGE * np.eye(len(c)), slope)
        for _ in range(_MOST_HALVINGS):
            there, shares_there = _divergence(wanted, c - step + logs)
            if there <= least:
                break
            step = step / 2
        gain = least - there
        if gain < _STILL:
            break
        c, least, shares = c - step, there, shares_there
    return least


def _divergence(wanted: FloatArray, logs: FloatArray) -> tuple[float, FloatArray]:
    """The sum over rows, and the shares (r, k): softmax of each row of logs."""
    shifted = logs - logs.max(axis=-1, keepdims=True)
    log_shares = shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))
    asked = wanted > 0
    total = float((wanted[asked] * (np.log(wanted[asked]) - log_shares[asked])).sum())
    return total, np.exp(log_shares)

"""Gradient descent on W_Q and W_K of one head, until its weights follow a pattern.

    loss(W_Q, W_K) = 1/n Σᵢ Σⱼ Tᵢⱼ ln(Tᵢⱼ / Aᵢⱼ),   A = softmax(masked scores)

the mean Kullback–Leibler divergence of the weights A from the target T, over the n rows that the
target says something about. It is 0 exactly where A = T.

Source of the optimizer: Loshchilov and Hutter 2019, "Decoupled Weight Decay Regularization",
as `torch.optim.AdamW` with its usual settings.
Axes: n_tokens queries and keys of one head.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
import torch

from attention_core.arrays import BoolArray, FloatArray, check_broadcast, check_counts
from attention_core.errors import ForbiddenError, NotFiniteError, RangeError
from attention_core.experiment import Experiment
from attention_core.neural.forward import Leaves, forward, leaves
from attention_core.ties import least_divergence

Pattern: TypeAlias = Literal["previous", "identity", "first", "uniform", "painted"]
Beginning: TypeAlias = Literal["drawn", "own"]
Cells: TypeAlias = Iterable[tuple[int, int]]

MOST_MOMENTS = 100  # that are kept of a fit
_DIGITS = 4  # of the weights that are kept: what is looked at is what can be taken along


@dataclass(frozen=True, eq=False, slots=True)
class Moment:
    """The fitted matrices after so many steps."""

    step: int  # 0 before the first
    loss: float
    W_Q: FloatArray  # (d_model, d_k), of the one head
    W_K: FloatArray  # (d_model, d_k)


@dataclass(frozen=True, eq=False, slots=True)
class Course:
    """How a fit has gone so far."""

    experiment: Experiment  # that it started from
    head: int
    target: FloatArray  # (n_tokens, n_tokens)
    learning_rate: float
    n_steps: int  # as many as were asked for
    losses: tuple[float, ...]  # before the first step, and after each
    moments: tuple[Moment, ...]  # the first, the last, and some between

    def at(self, moment: Moment) -> Experiment:
        """The experiment with the matrices of that moment."""
        return with_head(self.experiment, self.head, moment.W_Q, moment.W_K)


# --- targets


def pattern(name: Pattern, allowed: BoolArray, painted: Cells = ()) -> FloatArray:
    """The weights that are asked for.

    Args:
        name: "identity": each token itself; "previous": the one before, and the first itself;
            "first": the first; "uniform": all it may attend to, equally; "painted": those cells.
        allowed: (n_tokens, n_tokens), True = may attend.
        painted: (query, key) of each cell; a row is shared equally among its cells.

    Returns:
        (n_tokens, n_tokens); a row sums to 1, or is 0 where nothing is asked for.
    """
    n_tokens = len(allowed)
    wanted = np.zeros((n_tokens, n_tokens), dtype=bool)
    match name:
        case "identity":
            np.fill_diagonal(wanted, True)
        case "previous":
            wanted[np.arange(n_tokens), np.maximum(np.arange(n_tokens) - 1, 0)] = True
        case "first":
            wanted[:, 0] = True
        case "uniform":
            wanted = allowed.copy()
        case "painted":
            for query, key in painted:
                if max(query, key) < n_tokens:
                    wanted[query, key] = True
    shares: FloatArray = wanted / np.maximum(wanted.sum(axis=-1, keepdims=True), 1)
    return shares


def forbidden(target: FloatArray, allowed: BoolArray) -> BoolArray:
    """(n_tokens, n_tokens): what is asked for although the mask forbids it."""
    cells: BoolArray = (target > 0) & ~allowed
    return cells


def least_loss(e: Experiment, head: int, target: FloatArray) -> float:
    """A loss that no W_Q and W_K can go below, from equal inputs alone.

    Two tokens with the same inputs score every key alike, and two keys with the same inputs get
    the same score from every token; the mask and ALiBi may then tell them apart. A token whose
    inputs are all 0 has the scores 0 whatever the matrices are. Where positions turn queries and
    keys, that alone is left of it.

    Args:
        e: Gives inputs, mask and positions.
        head: From 0.
        target: (n_tokens, n_tokens), rows that sum to 1 or are 0, and ask for nothing forbidden.

    Returns:
        0, but for rounding, where nothing forbids a perfect fit, though more may stand in the way
        of one.
    """
    asked = np.flatnonzero(target.sum(axis=-1) > 0)
    if not len(asked):
        return 0.0
    trace, allowed = e.trace(), e.mask.allowed(e.n_tokens)
    unmoved = replace(e, W_Q=np.zeros_like(e.W_Q)).trace().attention.heads.weights[head]
    bias = np.zeros_like(unmoved) if trace.bias is None else trace.bias[head]
    classes = _classes(e, trace.inputs)
    total = 0.0
    for one in np.unique(classes[asked]):
        rows = asked[classes[asked] == one]
        if trace.inputs[rows[0]].any():
            total += least_divergence(target[rows], allowed[rows], bias[rows], classes)
        else:
            total += sum(_divergence(target[row], unmoved[row]) for row in rows)
    return total / len(asked)


def _classes(e: Experiment, inputs: FloatArray) -> npt.NDArray[np.intp]:
    """(n_tokens,): the same number for tokens whose scores are the same."""
    if turns(e):
        return np.where(inputs.any(axis=-1), np.arange(len(inputs)), -1)
    _, classes = np.unique(inputs, axis=0, return_inverse=True)
    return classes.reshape(-1)


def turns(e: Experiment) -> bool:
    """Whether positions turn queries and keys: one feature alone cannot be turned."""
    return e.is_rotary and e.d_k > 1


def twins(e: Experiment) -> list[list[int]]:
    """The places of tokens that have the same inputs, though not zeros."""
    groups: dict[bytes, list[int]] = {}
    for place, row in enumerate(e.trace().inputs):
        if row.any():
            groups.setdefault(row.tobytes(), []).append(place)
    return [places for places in groups.values() if len(places) > 1]


def loss_of(target: FloatArray, weights: FloatArray) -> float:
    """The loss of these weights: the mean divergence over the rows that ask for something.

    Args:
        target: (n_tokens, n_tokens), rows that sum to 1 or are 0.
        weights: (n_tokens, n_tokens).

    Returns:
        0 where nothing is asked for; infinite where a weight of 0 is to be more.
    """
    asked = target.sum(axis=-1) > 0
    rows = zip(target[asked], weights[asked], strict=True)
    return sum(_divergence(*pair) for pair in rows) / max(int(asked.sum()), 1)


def _divergence(target: FloatArray, weights: FloatArray) -> float:
    asked = target > 0
    with np.errstate(divide="ignore"):
        # Not the logarithm of a quotient, as 1 divided by the smallest float64 is infinite.
        return float((target[asked] * (np.log(target[asked]) - np.log(weights[asked]))).sum())


# --- the fit


def fit(
    e: Experiment,
    head: int,
    target: FloatArray,
    *,
    learning_rate: float,
    n_steps: int,
    begin_at: Beginning = "drawn",
    tell: Callable[[float, Course], None] | None = None,
) -> Course:
    """Move W_Q and W_K of one head downhill, step by step; all else stays as it is.

    Args:
        e: The experiment.
        head: From 0.
        target: (n_tokens, n_tokens), rows that sum to 1, or are 0 where nothing is asked for.
        learning_rate: Of AdamW, above 0.
        n_steps: At least 1.
        begin_at: "own" matrices of the experiment, or "drawn" from its seed.
        tell: Called before the first step and after each with the share that is done, from 0 to 1,
            and the course so far; what it raises ends the fit.

    Returns:
        The whole course.

    Raises:
        ShapeError: The target does not fit the tokens.
        RangeError: There is no such head, no step, or no learning rate.
        ForbiddenError: The target asks for what the mask forbids.
        NotFiniteError: The loss is no finite number any more; `index` is the step.
    """
    check_broadcast("target", target, (e.n_tokens, e.n_tokens))
    check_counts(1, n_steps=n_steps)
    if not 0 <= head < e.n_heads:
        raise RangeError("head", head, 0, e.n_heads - 1)
    if not 0 < learning_rate < float("inf"):
        raise RangeError("learning_rate", learning_rate, 0, float("inf"))
    cells = np.argwhere(forbidden(target, e.mask.allowed(e.n_tokens))).tolist()
    if cells:
        raise ForbiddenError(cells)
    torch.set_num_threads(1)  # of this thread, which need not be the one that loaded the library
    start = beginning(e, head) if begin_at == "drawn" else e
    given = leaves(start)
    W_Q = given.W_Q[head].clone().requires_grad_()  # (d_model, d_k)
    W_K = given.W_K[head].clone().requires_grad_()
    wanted = torch.tensor(target)  # (n_tokens, n_tokens)
    asked = wanted.sum(dim=-1) > 0
    optimizer = torch.optim.AdamW([W_Q, W_K], lr=learning_rate)
    every = -(-n_steps // MOST_MOMENTS)
    losses, moments = list[float](), list[Moment]()
    for step in range(n_steps + 1):
        loss = _loss(e, given, W_Q, W_K, head, wanted, asked)
        losses.append(max(loss.item(), 0.0))  # which rounding may leave just below 0
        if not np.isfinite(losses[-1]):
            raise NotFiniteError("loss", (step,))
        now = Moment(step, losses[-1], _kept(W_Q), _kept(W_K))
        if step % every == 0 or step == n_steps:
            moments.append(now)
        latest = moments if moments[-1] is now else [*moments, now]
        course = Course(start, head, target, learning_rate, n_steps, tuple(losses), tuple(latest))
        if tell:
            tell(step / n_steps, course)
        if step < n_steps and loss.requires_grad:
            optimizer.zero_grad()
            torch.autograd.backward(loss)
            optimizer.step()
    return course


def beginning(e: Experiment, head: int) -> Experiment:
    """The experiment with W_Q and W_K of this head drawn from its seed, small enough to learn."""
    rng = np.random.default_rng([e.seed, head])
    W_Q, W_K = (rng.normal(scale=e.d_model**-0.5, size=(e.d_model, e.d_k)) for _ in range(2))
    return with_head(e, head, W_Q.round(_DIGITS), W_K.round(_DIGITS))


def with_head(e: Experiment, head: int, W_Q: FloatArray, W_K: FloatArray) -> Experiment:
    """The experiment with these matrices in one head: W_Q, W_K (d_model, d_k)."""
    both: dict[str, Any] = {"W_Q": e.W_Q.copy(), "W_K": e.W_K.copy()}
    both["W_Q"][head], both["W_K"][head] = W_Q, W_K
    return replace(e, **both)


def _loss(
    e: Experiment,
    given: Leaves,
    W_Q: torch.Tensor,
    W_K: torch.Tensor,
    head: int,
    wanted: torch.Tensor,
    asked: torch.Tensor,
) -> torch.Tensor:
    """The mean divergence of the asked rows; 0 where none is."""
    if not asked.any():
        return (W_Q * 0).sum()
    at = torch.arange(e.n_heads)[:, None, None] == head
    numbers = replace(
        given, W_Q=torch.where(at, W_Q, given.W_Q), W_K=torch.where(at, W_K, given.W_K)
    )
    scores = forward(e, numbers).masked_scores[head]  # (n_tokens, n_tokens)
    # Logarithms straight from the scores: those of weights that have become 0 would be -inf.
    logs = torch.log_softmax(scores[asked], dim=-1)
    share = wanted[asked]
    terms = torch.where(share > 0, share * (share.clamp_min(1e-300).log() - logs), 0.0)
    return terms.sum(dim=-1).mean()


def _kept(W: torch.Tensor) -> FloatArray:
    kept: FloatArray = W.detach().numpy().round(_DIGITS)
    return kept

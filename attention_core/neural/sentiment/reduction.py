"""What trained attention does with one sentence, small enough for an experiment.

    S = Q Kᵀ / √d, less the mean of each row       (H, n, n): what softmax makes the weights of
    [S_h … S_hᵀ … V_h] = U Σ Rᵀ                    of all heads, with V faint
    X = √n U_r                                     (n, r), the r directions that matter most
    W_Q W_Kᵀ = U_rᵀ S U_r √d_k / n = A Bᵀ          so that X A (X B)ᵀ / √d_k is S
    W_V = U_rᵀ V P / √n                            with P the d_k main directions of V

A softmax takes no notice of what is added to a whole row, so S gives the weights that Q Kᵀ gives.
For as many tokens as an experiment has features U_r spans them all, and the weights are the same.
For more of them, for rounded numbers and for narrow values the error is measured. The directions of
the token vectors themselves would be another choice, but attention may depend on small ones: with
12 tokens the largest error of a weight was then, in the median, 3 to 20 times as large.

Source of the singular value decomposition as best approximation: Eckart and Young 1936, "The
approximation of one matrix by another of lower rank". Axes: n tokens, E features of a token, H
heads, d features of a head in the model, d_k = min(r, d) in the experiment.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from torch import Tensor

from attention_core.arrays import FloatArray
from attention_core.canvas import MAX_D_K, MAX_D_MODEL, MAX_TOKENS
from attention_core.errors import ChoiceError, TokenError
from attention_core.experiment import MAX_TOKEN_LENGTH, Experiment, check_token
from attention_core.neural.sentiment.model import KINDS, Reading, TextClassifier, head_weights

FEWEST_DECIMALS, MOST_DECIMALS = 2, 6
FEWEST_TOKENS = MAX_D_MODEL  # that are kept of more, as so many have exactly their weights
TOLERANCE = 0.05  # of a weight: as many tokens are kept as stay within this
ROUNDING = 1e-3  # of a weight: what leaving out decimals may change
_FAINT = 1e-2  # how much values count against scores in the choice of directions
_NOTHING = 1e-10  # of the largest singular value: what is below is 0 up to rounding
_UNSEEN = "□"  # in place of a token that has nothing to see


class Weights(NamedTuple):
    """The projections of all heads, each (H, E, d) for a multiplication from the right."""

    W_Q: FloatArray
    W_K: FloatArray
    W_V: FloatArray


@dataclass(frozen=True, eq=False, slots=True)
class Reduction:
    """An experiment that attends as the model does, and how nearly."""

    experiment: Experiment
    kept: tuple[int, ...]  # the places of its tokens in the sentence, in order
    n_tokens: int  # of the sentence
    n_decimals: int  # to which its numbers are rounded
    weights: FloatArray  # (H, n, n): of the model, among the tokens that are kept
    weights_error: float  # the largest difference of a weight in the experiment from these
    context_error: float  # of what the heads give: norm of the difference / norm


def reduced(model: TextClassifier, reading: Reading, tokens: Sequence[str]) -> Reduction:
    """One sentence with its trained Q, K and V as an experiment.

    All tokens are kept, or else the most attended ones: at most 12, and as many as leave no weight
    further off than `TOLERANCE`. Their weights are then those that they would have without the
    others: each row sums to 1 again. Output projection, residual and all that follows in the
    model are left out.

    Args:
        model: With attention.
        reading: Of this sentence alone.
        tokens: Of the sentence.

    Raises:
        ChoiceError: The model has no attention.
        RangeError: It has more heads than an experiment.
    """
    if model.attention is None or reading.attended is None:
        has_attention = tuple(kind for kind in KINDS if "attention" in kind)
        raise ChoiceError("kind", model.architecture.kind, has_attention)
    attended, H = _numbers(reading.attended[0]), _numbers(reading.states[0])
    W = Weights(*(_numbers(weights) for weights in head_weights(model.attention)))
    most = min(MAX_TOKENS, len(tokens))
    for n_kept in range(most, min(FEWEST_TOKENS, most) - 1, -1):
        kept = most_attended(attended, n_kept)
        named = tuple(_visible(tokens[place]) for place in kept)
        found = _rounded(H[list(kept)], W, named, kept, len(tokens))
        if found.weights_error <= TOLERANCE:
            break
    return found


def most_attended(attended: FloatArray, count: int) -> tuple[int, ...]:
    """The places of so many tokens, in the order of the sentence."""
    falling = np.argsort(-attended, kind="stable")[:count]
    return tuple(sorted(falling.tolist()))


def projected(H: FloatArray, W: Weights, tokens: tuple[str, ...]) -> tuple[Experiment, FloatArray]:
    """An experiment with full numbers, and (H, d, d_k): the directions P of each head's values.

    Args:
        H: (n, E), the token vectors.
        W: What they are multiplied by.
        tokens: (n,), their names.
    """
    V, d = H @ W.W_V, W.W_Q.shape[-1]
    S = _scores(H, W)
    S = S - S.mean(axis=-1, keepdims=True)
    faint = _FAINT * (np.linalg.norm(S) or 1.0) / (np.linalg.norm(V) or 1.0)
    U, sizes, _ = np.linalg.svd(np.concatenate([*S, *S.swapaxes(-1, -2), *V * faint], axis=-1))
    rank = max(1, int((sizes > _NOTHING * sizes.max(initial=0.0)).sum()))
    r = min(rank, MAX_D_MODEL)
    U, n, d_k = U[:, :r], len(H), min(r, d, MAX_D_K)
    left, sizes, up = np.linalg.svd(U.T @ S @ U * np.sqrt(d_k) / n)
    shares = np.sqrt(sizes[:, None, :d_k])  # half of each size on either side
    inside = U.T @ V
    directions = np.linalg.svd(inside, full_matrices=False)[2][:, :d_k].swapaxes(-1, -2)
    return (
        Experiment(
            tokens,
            U * np.sqrt(n),
            left[..., :d_k] * shares,
            up.swapaxes(-1, -2)[..., :d_k] * shares,
            inside @ directions / np.sqrt(n),
        ),
        directions,
    )


def _rounded(
    H: FloatArray, W: Weights, tokens: tuple[str, ...], kept: tuple[int, ...], n_tokens: int
) -> Reduction:
    """With as few decimals as change no weight by more than they may."""
    full, directions = projected(H, W, tokens)
    wanted = attention_of(H, W)
    exact = full.trace().attention.heads.weights
    for n_decimals in range(FEWEST_DECIMALS, MOST_DECIMALS + 1):
        e = _with_decimals(full, n_decimals)
        heads = e.trace().attention.heads
        if np.abs(heads.weights - exact).max() <= ROUNDING:
            break
    context = wanted @ (H @ W.W_V)
    missing = context - heads.output @ directions.swapaxes(-1, -2)
    size = np.linalg.norm(context) or 1.0
    return Reduction(
        e,
        kept,
        n_tokens,
        n_decimals,
        wanted,
        float(np.abs(heads.weights - wanted).max()),
        float(np.linalg.norm(missing) / size),
    )


def attention_of(H: FloatArray, W: Weights) -> FloatArray:
    """(H, n, n): the weights of the model among these token vectors."""
    scores = _scores(H, W)
    raised = np.exp(scores - scores.max(axis=-1, keepdims=True))
    weights: FloatArray = raised / raised.sum(axis=-1, keepdims=True)
    return weights


def _scores(H: FloatArray, W: Weights) -> FloatArray:
    """(H, n, n), scaled."""
    scores: FloatArray = (H @ W.W_Q) @ (H @ W.W_K).swapaxes(-1, -2) / np.sqrt(W.W_Q.shape[-1])
    return scores


def _with_decimals(e: Experiment, n_decimals: int) -> Experiment:
    return replace(
        e, **{name: getattr(e, name).round(n_decimals) for name in ("X", "W_Q", "W_K", "W_V")}
    )


def _visible(token: str) -> str:
    """The token as an experiment may name it."""
    short = token[:MAX_TOKEN_LENGTH]
    try:
        check_token(0, short)
    except TokenError:
        return _UNSEEN
    return short


def _numbers(tensor: Tensor) -> FloatArray:
    numbers: FloatArray = tensor.detach().double().numpy()
    return numbers

"""What trained attention does with one sentence, small enough for an experiment.

    H = U S Rᵀ                       singular values: H (n, E) has n at most that are not 0
    X = U S  of the first r          (n, r), so that H ≈ X R_rᵀ, exactly where r = n
    W_Q W_Kᵀ  becomes  R_rᵀ W_Q W_Kᵀ R_r √(d_k / d) = A Bᵀ     so that X A (X B)ᵀ / √d_k gives the
    W_V       becomes  R_rᵀ W_V P    scores of the model, and P the d_k main directions of H W_V

Scores go by the product W_Q W_Kᵀ alone, and only by what the token vectors of this sentence let
through of it. So for as many tokens as an experiment has features the weights are the same; for
more of them, for rounded numbers and for narrow values the error is measured.

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
ROUNDING = 1e-3  # of a weight: what leaving out decimals may change
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

    Of more tokens than an experiment holds the most attended ones are kept. Their weights are
    then those that they would have without the others: each row sums to 1 again. Output
    projection, residual and all that follows in the model are left out.

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
    kept = most_attended(_numbers(reading.attended[0]))
    H = _numbers(reading.states[0])[kept]
    W = Weights(*(_numbers(weights) for weights in head_weights(model.attention)))
    named = tuple(_visible(tokens[place]) for place in kept)
    return _rounded(H, W, named, tuple(kept), len(tokens))


def most_attended(attended: FloatArray) -> list[int]:
    """The places of the tokens that are kept, in the order of the sentence."""
    falling = np.argsort(-attended, kind="stable")[:MAX_TOKENS]
    return sorted(falling.tolist())


def projected(H: FloatArray, W: Weights, tokens: tuple[str, ...]) -> tuple[Experiment, FloatArray]:
    """An experiment with full numbers, and (H, d, d_k): the directions P of each head's values.

    Args:
        H: (n, E), the token vectors.
        W: What they are multiplied by.
        tokens: (n,), their names.
    """
    U, S, right = np.linalg.svd(H, full_matrices=False)
    r = min(len(S), MAX_D_MODEL)
    d = W.W_Q.shape[-1]
    d_k = min(r, d, MAX_D_K)
    R = right[:r].T  # (E, r)
    scores = R.T @ W.W_Q @ W.W_K.swapaxes(-1, -2) @ R * np.sqrt(d_k / d)  # (H, r, r)
    left, sizes, up = np.linalg.svd(scores)
    shares = np.sqrt(sizes[:, None, :d_k])  # half of each size on either side
    directions = np.linalg.svd(H @ W.W_V, full_matrices=False)[2][:, :d_k].swapaxes(-1, -2)
    return (
        Experiment(
            tokens,
            U[:, :r] * S[:r],
            left[..., :d_k] * shares,
            up.swapaxes(-1, -2)[..., :d_k] * shares,
            R.T @ W.W_V @ directions,
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
    scores = (H @ W.W_Q) @ (H @ W.W_K).swapaxes(-1, -2) / np.sqrt(W.W_Q.shape[-1])
    raised = np.exp(scores - scores.max(axis=-1, keepdims=True))
    weights: FloatArray = raised / raised.sum(axis=-1, keepdims=True)
    return weights


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

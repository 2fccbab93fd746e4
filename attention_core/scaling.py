"""What 1/√d_k is for: how far scores spread, and how much gradient softmax then lets through.

    Var(q · k) = d_k   where all entries are independent, of mean 0 and variance 1
    J = diag(w) - w wᵀ   moves the weights w of a row when its scores move

Source: Vaswani et al. 2017, "Attention Is All You Need", section 3.2.1 and its footnote 4.
Axes: sequences of n_tokens, each with a query and a key for every token.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from attention_core.arrays import FloatArray, as_floats
from attention_core.errors import RangeError, ShapeError
from attention_core.softmax import entropy, softmax

DEAD = 1e-3  # a row whose Jacobian is smaller hardly learns

N_TOKENS = 16  # of a sequence: so many keys share the attention of a row

_N_BINS = 81  # odd, so that one lies in the middle
_REACH = 4.0  # of the histogram, in standard deviations of the wider scores


@dataclass(frozen=True, eq=False, slots=True)
class RowStatistics:
    """What softmax made of many rows of scores."""

    variance: float  # of the scores
    density: FloatArray  # (n_bins,)  histogram of the scores, of area 1 over all of them
    mean_largest: float  # of the largest weight of each row
    mean_entropy: float  # in nats
    mean_jacobian: float  # of the Frobenius norm of each row's Jacobian
    median_jacobian: float
    dead_share: float  # of the rows whose norm is below DEAD
    mean_gradient: float  # of the norm of ∂w/∂q: what reaches the query
    top_share: float  # of all that reaches the queries, the part of the tenth that gets most


@dataclass(frozen=True, eq=False, slots=True)
class Sample:
    """The same random queries and keys, scored without and with 1/√d_k."""

    d_k: int
    n_rows: int
    n_keys: int
    bins: FloatArray  # (n_bins,)  the middle of each, the same for both histograms
    unscaled: RowStatistics
    scaled: RowStatistics


def sample(
    rng: np.random.Generator, d_k: int, n_sequences: int, *, n_tokens: int = N_TOKENS
) -> Sample:
    """Draw queries and keys from N(0, 1), and measure their rows with and without 1/√d_k.

    Args:
        rng: Draws them.
        d_k: Features per query and key, at least 1.
        n_sequences: At least 1; each gives n_tokens rows.
        n_tokens: Queries, and keys, per sequence; at least 2.

    Raises:
        RangeError: A count is too small.
    """
    for name, count, least in (
        ("d_k", d_k, 1),
        ("n_sequences", n_sequences, 1),
        ("n_tokens", n_tokens, 2),
    ):
        if count < least:
            raise RangeError(name, count, least, float("inf"))
    Q = rng.standard_normal((n_sequences, n_tokens, d_k))
    K = rng.standard_normal((n_sequences, n_tokens, d_k))
    scores = Q @ np.swapaxes(K, -1, -2)  # (n_sequences, n_tokens, n_tokens)
    reach = _REACH * np.sqrt(d_k)
    edges = np.linspace(-reach, reach, _N_BINS + 1)
    unscaled, scaled = (
        _statistics(scores, K, scale, edges) for scale in (1.0, float(1 / np.sqrt(d_k)))
    )
    bins = (edges[:-1] + edges[1:]) / 2
    return Sample(d_k, n_sequences * n_tokens, n_tokens, bins, unscaled, scaled)


def _statistics(
    scores: FloatArray, K: FloatArray, scale: float, edges: FloatArray
) -> RowStatistics:
    scaled_scores = scores * scale
    weights = softmax(scaled_scores)
    norms = jacobian_norm(weights)
    gradients = query_gradient_norm(weights, K, scale=scale)
    counts, _ = np.histogram(scaled_scores, edges)
    return RowStatistics(
        variance=float(scaled_scores.var()),
        density=counts / (scores.size * (edges[1] - edges[0])),
        mean_largest=float(weights.max(axis=-1).mean()),
        mean_entropy=float(entropy(weights).mean()),
        mean_jacobian=float(norms.mean()),
        median_jacobian=float(np.median(norms)),
        dead_share=float((norms < DEAD).mean()),
        mean_gradient=float(gradients.mean()),
        top_share=top_tenth(gradients),
    )


def top_tenth(values: npt.ArrayLike) -> float:
    """Which part of a sum the largest tenth of its terms makes up, rounded up to whole terms.

    Args:
        values: Any shape, at least one number, none below 0.

    Returns:
        From 0.1 (all alike) to 1; 0 where all are 0.
    """
    ordered = np.sort(np.asarray(values, dtype=np.float64), axis=None)
    n_top = -(-ordered.size // 10)
    return float(ordered[-n_top:].sum() / (ordered.sum() or 1.0))


def jacobian_norm(weights: npt.ArrayLike) -> FloatArray:
    """How far all weights of a row move for small steps of its scores: ‖diag(w) - w wᵀ‖.

    The Frobenius norm, without building the matrix. With m for the largest weight and j, k for
    the others:

        ‖J‖² = m² (Σ w_j)² + Σ w_j² (1 - w_j)² + 2 m² Σ w_j² + (Σ w_j²)² - Σ w_j⁴

    1 - m stands there as the sum of the others, and these in units of the largest of them, since
    1 - m loses all digits and their squares vanish in just the rows this is about: Σ w² - 2 Σ w³
    + (Σ w²)², which is the same, is 0 or below from m = 1 - 1e-9 on.

    Args:
        weights: (..., n), each row a distribution, or all 0.

    Returns:
        (...), from 0 (one-hot, or no weight at all).
    """
    weights = as_floats("weights", weights, ("n",))
    if weights.shape[-1] < 2:
        return np.zeros(weights.shape[:-1])
    ordered = np.sort(weights, axis=-1)
    largest, others = ordered[..., -1], ordered[..., :-1]
    unit = others[..., -1]  # the largest of the others
    w = others / np.where(unit == 0, 1.0, unit)[..., None]
    squares = (w**2).sum(axis=-1)
    total = (
        (largest * w.sum(axis=-1)) ** 2
        + (w**2 * (1 - others) ** 2).sum(axis=-1)
        + 2 * largest**2 * squares
        + unit**2 * (squares**2 - (w**4).sum(axis=-1))
    )
    norm: FloatArray = unit * np.sqrt(total)
    return norm


def multiplied(masked_scores: npt.ArrayLike, factor: float) -> FloatArray:
    """The scores times a factor, which is 1 / temperature; what is forbidden stays so.

    Args:
        masked_scores: (..., n), -inf where a query may not attend.
        factor: Finite and not below 0; 0 leaves nothing to tell the allowed keys apart.

    Raises:
        RangeError: The factor is below 0 or not finite.
    """
    masked_scores = as_floats("masked_scores", masked_scores, ("n",))
    if not 0 <= factor < float("inf"):
        raise RangeError("factor", factor, 0, float("inf"))
    is_allowed = ~np.isneginf(masked_scores)
    times: FloatArray = np.multiply(
        masked_scores, factor, out=masked_scores.copy(), where=is_allowed
    )
    return times


def query_gradient_norm(weights: npt.ArrayLike, K: npt.ArrayLike, *, scale: float) -> FloatArray:
    """How far the weights of a query move for small steps of its features: ‖scale · J K‖.

    Row j of J K is w_j (k_j - Σ w_i k_i); its length follows from the dot products of the keys.

    Args:
        weights: (..., n_q, n_k), each row a distribution.
        K: (..., n_k, d_k), with the same leading axes.
        scale: What the scores were multiplied by.

    Returns:
        (..., n_q)

    Raises:
        ShapeError: An argument does not have the shape above.
    """
    weights = as_floats("weights", weights, ("n_q", "n_k"))
    K = as_floats("K", K, (weights.shape[-1], "d_k"))
    if K.shape[:-2] != weights.shape[:-2]:
        raise ShapeError("K", (*weights.shape[:-2], *K.shape[-2:]), K.shape)
    products = K @ np.swapaxes(K, -1, -2)  # (..., n_k, n_k)
    with_mean = weights @ products  # (..., n_q, n_k)  (Σ w_i k_i) · k_j
    of_mean = (weights * with_mean).sum(axis=-1, keepdims=True)  # |Σ w_i k_i|²
    lengths = np.diagonal(products, axis1=-2, axis2=-1)[..., None, :]  # |k_j|²
    distances = np.maximum(lengths - 2 * with_mean + of_mean, 0.0)  # |k_j - Σ w_i k_i|²
    norm: FloatArray = abs(scale) * np.sqrt((weights**2 * distances).sum(axis=-1))
    return norm

"""Ways to tell attention where a token stands.

Attention alone is permutation equivariant: it cannot know the order of its tokens. Two of
these are added to X, one rotates queries and keys, one lowers the scores with distance.
"""

from operator import index
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from attention_core.arrays import FloatArray, as_floats, check_counts
from attention_core.errors import ChoiceError

Pairing: TypeAlias = Literal["interleaved", "half_split"]
PAIRINGS: tuple[Pairing, ...] = ("interleaved", "half_split")


def sinusoidal(n_positions: int, d_model: int, *, base: float = 10_000.0) -> FloatArray:
    """Sines and cosines of many wavelengths, to be added to X.

        P[p, 2i] = sin(p / base^(2i / d_model)),   P[p, 2i + 1] = cos(same angle)

    Source: Vaswani et al. 2017, section 3.5.

    Args:
        n_positions: Number of rows; the first position is 0, so row 0 is (0, 1, 0, 1, ...).
        d_model: Number of columns; if odd, the last sine has no cosine.
        base: The longest wavelength is about 2π · base.

    Returns:
        (n_positions, d_model).
    """
    check_counts(1, n_positions=n_positions, d_model=d_model)
    frequencies = base ** (-np.arange(0, d_model, 2) / d_model)
    angles = np.arange(n_positions)[:, None] * frequencies
    table = np.empty((n_positions, d_model))
    table[:, 0::2] = np.sin(angles)
    table[:, 1::2] = np.cos(angles[:, : d_model // 2])
    return table


def learned(
    n_positions: int, d_model: int, rng: np.random.Generator, *, scale: float = 0.5
) -> FloatArray:
    """A table of free numbers, as a model would learn it, before any learning.

    Source: Gehring et al. 2017, "Convolutional Sequence to Sequence Learning", section 3.1.

    Args:
        n_positions: Number of rows.
        d_model: Number of columns.
        rng: Draws the table; the same seed gives the same table.
        scale: Standard deviation of each entry.

    Returns:
        (n_positions, d_model).
    """
    check_counts(1, n_positions=n_positions, d_model=d_model)
    return scale * rng.standard_normal((n_positions, d_model))


def rotary(
    vectors: npt.ArrayLike,
    *,
    offset: int = 0,
    pairing: Pairing = "interleaved",
    base: float = 10_000.0,
) -> FloatArray:
    """Rotate each pair of features by an angle that grows with the position.

    The score of a rotated query and key depends on their distance alone.
    Source: Su et al. 2021, "RoFormer", section 3.2.

    Args:
        vectors: (..., n_tokens, d_k), queries or keys. If d_k is odd, the last feature has no
            partner and stays as it is.
        offset: Position of the first token.
        pairing: "interleaved" pairs features (0, 1), (2, 3), ... as RoFormer does;
            "half_split" pairs feature i with feature i + d_k/2, as GPT-NeoX and Llama's
            published code do.
        base: As in `sinusoidal`.

    Returns:
        (..., n_tokens, d_k), each vector as long as before.

    Raises:
        ChoiceError: `pairing` is neither of the two.
    """
    vectors = as_floats("vectors", vectors, ("n_tokens", "d_k"))
    if pairing not in PAIRINGS:
        raise ChoiceError("pairing", pairing, PAIRINGS)
    n_tokens, d_k = vectors.shape[-2:]
    n_pairs = d_k // 2
    if pairing == "interleaved":
        first, second = slice(0, 2 * n_pairs, 2), slice(1, 2 * n_pairs, 2)
    else:
        first, second = slice(0, n_pairs), slice(n_pairs, 2 * n_pairs)

    cos, sin = rotation(n_tokens, n_pairs, offset=offset, base=base)  # (n_tokens, n_pairs)
    rotated = vectors.copy()
    rotated[..., first] = vectors[..., first] * cos - vectors[..., second] * sin
    rotated[..., second] = vectors[..., first] * sin + vectors[..., second] * cos
    return rotated


def rotation(
    n_tokens: int, n_pairs: int, *, offset: int = 0, base: float = 10_000.0
) -> tuple[FloatArray, FloatArray]:
    """Cosine and sine of the angle by which `rotary` turns each pair of features at each place.

    Args:
        n_tokens: Number of rows, may be 0.
        n_pairs: Number of columns, may be 0.
        offset, base: As in `rotary`.

    Returns:
        (n_tokens, n_pairs) twice.
    """
    frequencies = base ** (-np.arange(n_pairs) / max(n_pairs, 1))
    angles = (np.arange(n_tokens) + offset)[:, None] * frequencies
    return np.cos(angles), np.sin(angles)


def alibi_slopes(n_heads: int) -> FloatArray:
    """How steeply each head's scores fall with distance.

    For a power of two the slopes are 2^(-8/n), 2^(-16/n), ..., 2^(-8). For other counts the
    authors take those of the next lower power of two, and fill up with every second slope
    of the next higher one.
    Source: Press et al. 2022, "Train Short, Test Long", section 3, and the authors' code.

    Args:
        n_heads: At least 1.

    Returns:
        (n_heads,), all positive.
    """
    check_counts(1, n_heads=n_heads)
    lower = 1 << (index(n_heads).bit_length() - 1)  # the largest power of two that is not above
    slopes = _geometric_slopes(lower)
    missing = n_heads - lower
    return np.concatenate([slopes, _geometric_slopes(2 * lower)[0::2][:missing]])


def alibi_bias(n_q: int, n_k: int, slopes: npt.ArrayLike) -> FloatArray:
    """What ALiBi adds to the scaled scores: minus slope times distance.

    Args:
        n_q: Number of queries.
        n_k: Number of keys.
        slopes: (n_heads,), as from `alibi_slopes`.

    Returns:
        (n_heads, n_q, n_k), 0 on the diagonal and lower the farther away. The paper is causal
        and needs one side only; here both sides fall alike.
    """
    check_counts(1, n_q=n_q, n_k=n_k)
    slopes = as_floats("slopes", slopes, ("n_heads",), may_lead=False)
    distance = np.abs(np.arange(n_q)[:, None] - np.arange(n_k)[None, :])
    bias: FloatArray = -slopes[:, None, None] * distance + 0.0  # + 0.0: no -0.0 on the diagonal
    return bias


def _geometric_slopes(n_heads: int) -> FloatArray:
    slopes: FloatArray = 2.0 ** (-8.0 * np.arange(1, n_heads + 1) / n_heads)
    return slopes

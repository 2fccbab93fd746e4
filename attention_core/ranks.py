"""Whether two lists of numbers put the same things in the same order.

    τ_b = Σ sign(aᵢ - aⱼ) sign(bᵢ - bⱼ) / √(Σ sign(aᵢ - aⱼ)² · Σ sign(bᵢ - bⱼ)²)

with sums over all pairs i < j: 1 where every pair is ordered alike, -1 where every one is
reversed, 0 on average where nothing connects the two. Without ties, τ = 1/3 means that two pairs
in three are ordered alike.

Source: Kendall 1945, "The treatment of ties in ranking problems". Axes: n things.
"""

import numpy as np

from attention_core.arrays import FloatArray, as_floats, check_broadcast, check_finite


def kendall(a: FloatArray, b: FloatArray) -> FloatArray:
    """Kendall's τ_b of two rankings of the same things, ties counted as ties.

    Args:
        a: (..., n).
        b: The same shape.

    Returns:
        (...), from -1 to 1; NaN where all values of a or of b are equal, as these put nothing in
        any order.

    Raises:
        ShapeError: The shapes differ.
        NotFiniteError: A value is NaN or infinite.
    """
    a, b = as_floats("a", a, ("n",)), as_floats("b", b, ("n",))
    check_broadcast("b", b, a.shape)
    for name, values in (("a", a), ("b", b)):
        check_finite(name, values)
    of_a, of_b = _signs(a), _signs(b)  # (..., n, n), each pair twice
    alike = (of_a * of_b).sum(axis=(-2, -1))
    pairs = np.sqrt((of_a**2).sum(axis=(-2, -1)) * (of_b**2).sum(axis=(-2, -1)))
    with np.errstate(invalid="ignore"):
        tau: FloatArray = np.asarray(alike / pairs)
    return tau


def _signs(values: FloatArray) -> FloatArray:
    """(..., n, n): 1 where the row's value is larger, -1 where it is smaller."""
    rows, columns = values[..., :, None], values[..., None, :]
    # A difference would overflow for large values.
    signs: FloatArray = (rows > columns).astype(np.float64) - (rows < columns)
    return signs

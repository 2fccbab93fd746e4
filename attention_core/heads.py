"""How a width is shared among heads: counts, and what each head is.

    d_k = d_model / n_heads,   so that   n_heads · d_model · d_k = d_model²   whatever n_heads is

Source: Vaswani et al. 2017, section 3.2.2: "due to the reduced dimension of each head, the total
computational cost is similar to that of single-head attention with full dimensionality".
"""

from attention_core.errors import RangeError

_UNBOUNDED = float("inf")


def divisors(width: int) -> tuple[int, ...]:
    """Into how many equal heads a width can be cut, fewest first.

    Raises:
        RangeError: The width is below 1.
    """
    if width < 1:
        raise RangeError("width", width, 1, _UNBOUNDED)
    return tuple(count for count in range(1, width + 1) if width % count == 0)


def n_parameters(d_model: int, n_heads: int, d_k: int, *, has_W_O: bool) -> int:
    """How many weights W_Q, W_K, W_V and W_O hold together."""
    per_projection = n_heads * d_model * d_k
    return per_projection * (4 if has_W_O else 3)

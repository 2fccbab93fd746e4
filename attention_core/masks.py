"""Who may attend to whom: boolean matrices, True = may attend.

Rows are queries, columns are keys. This is the one polarity of the whole core, the one of
`F.scaled_dot_product_attention`; `nn.MultiheadAttention` uses the opposite.
"""

from functools import reduce
from typing import Literal

import numpy as np
import numpy.typing as npt

from attention_core.arrays import BoolArray, as_bools
from attention_core.errors import ChoiceError, RangeError, ShapeError

_UNBOUNDED = float("inf")


def causal(n_q: int, n_k: int | None = None, *, offset: int = 0) -> BoolArray:
    """Nobody sees the future: query i may attend to keys 0 to i + offset.

    Args:
        n_q: Number of queries.
        n_k: Number of keys; None means n_q.
        offset: 0 aligns the diagonal to the top left, as PyTorch's `is_causal` does.
            n_k - n_q aligns it to the bottom right: the queries are the last n_q tokens.

    Returns:
        (n_q, n_k), True = may attend.
    """
    return _distance(n_q, n_k) <= offset


def padding(is_token: npt.ArrayLike) -> BoolArray:
    """Nobody sees the filling: padded positions are forbidden as keys, for every query.

    Args:
        is_token: (..., n_k), True for a real token, False for padding.

    Returns:
        (..., 1, n_k), which broadcasts over the queries. Rows of padded queries stay: what
        they compute is ignored later, and forbidding them would leave empty rows.
    """
    array = as_bools("is_token", is_token)
    if array.ndim == 0:
        raise ShapeError("is_token", ("n_k",), ())
    return array[..., None, :]


def window(n_q: int, before: int, after: int, *, n_k: int | None = None) -> BoolArray:
    """Only neighbours: query i may attend to keys i - before to i + after.

    Args:
        n_q: Number of queries.
        before: How many tokens before its own a query may see; the token itself not counted.
        after: How many after it. 0 and 0 leave each token itself alone.
        n_k: Number of keys; None means n_q.

    Returns:
        (n_q, n_k), True = may attend.

    Raises:
        RangeError: `before` or `after` is negative.
    """
    for name, reach in (("before", before), ("after", after)):
        if reach < 0:
            raise RangeError(name, reach, 0, _UNBOUNDED)
    distance = _distance(n_q, n_k)
    return (-before <= distance) & (distance <= after)


def combine(*masks: npt.ArrayLike, how: Literal["and", "or"] = "and") -> BoolArray:
    """Several masks as one: allowed by all of them ("and"), or by at least one ("or").

    Args:
        masks: At least one, each broadcasting to the others.
        how: "and" or "or".

    Returns:
        Their common shape, True = may attend.

    Raises:
        ChoiceError: `how` is neither of the two.
        DtypeError: A mask is not boolean.
        ShapeError: The masks do not broadcast, or there is none.
    """
    if how not in ("and", "or"):
        raise ChoiceError("how", how, ("and", "or"))
    if not masks:
        raise ShapeError("masks", ("n_q", "n_k"), ())
    arrays = [as_bools("masks", mask) for mask in masks]
    shape: tuple[int, ...] = ()
    for array in arrays:
        try:
            shape = np.broadcast_shapes(shape, array.shape)
        except ValueError:
            raise ShapeError("masks", shape, array.shape) from None
    return reduce(np.logical_and if how == "and" else np.logical_or, arrays)


def _distance(n_q: int, n_k: int | None) -> npt.NDArray[np.int64]:
    """(n_q, n_k): how far each key lies after its query; negative before it."""
    n_k = n_q if n_k is None else n_k
    for name, count in (("n_q", n_q), ("n_k", n_k)):
        if count < 0:
            raise RangeError(name, count, 0, _UNBOUNDED)
    return np.arange(n_k)[None, :] - np.arange(n_q)[:, None]

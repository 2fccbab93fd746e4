"""Who may attend to whom: boolean matrices, True = may attend.

Rows are queries, columns are keys. This is the one polarity of the whole core, the one of
`F.scaled_dot_product_attention`; `nn.MultiheadAttention` uses the opposite.

Sources: sliding windows and global tokens, Beltagy et al. 2020, "Longformer", section 3.1; random
keys beside both, Zaheer et al. 2020, "Big Bird", section 2; hash buckets, Kitaev et al. 2020,
"Reformer", section 2.
"""

from functools import reduce
from typing import Literal

import numpy as np
import numpy.typing as npt

from attention_core.arrays import (
    BoolArray,
    FloatArray,
    as_bools,
    as_floats,
    check_broadcast,
    check_counts,
)
from attention_core.errors import ChoiceError, DivisibilityError, RangeError, ShapeError

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
    check_counts(0, before=before, after=after)
    distance = _distance(n_q, n_k)
    return (-before <= distance) & (distance <= after)


def global_tokens(n_tokens: int, n_global: int) -> BoolArray:
    """A few hubs: the first tokens see everyone, and everyone sees them.

    Args:
        n_tokens: Number of tokens.
        n_global: How many of them, from the first on, are global; more than there are means all.

    Returns:
        (n_tokens, n_tokens), True = may attend. Symmetric.

    Raises:
        RangeError: A count is negative.
    """
    check_counts(0, n_tokens=n_tokens, n_global=n_global)
    is_global = np.arange(n_tokens) < n_global
    return is_global[:, None] | is_global[None, :]


def random_keys(
    n_q: int,
    n_random: int,
    *,
    rng: np.random.Generator,
    n_k: int | None = None,
    beside: BoolArray | None = None,
) -> BoolArray:
    """Shortcuts: each query sees a few keys drawn at random, no key twice.

    Args:
        n_q: Number of queries.
        n_random: How many keys each of them draws; more than there are means all.
        rng: Draws them. A query that draws more keys keeps those that it drew with fewer.
        n_k: Number of keys; None means n_q.
        beside: (n_q, n_k), True for keys that a query sees anyway: these are not drawn, so that
            each one drawn is a key more. None means that there are no such keys.

    Returns:
        (n_q, n_k), True = may attend.

    Raises:
        RangeError: A count is negative.
        DtypeError, ShapeError: `beside` is not as above.
    """
    n_k = n_q if n_k is None else n_k
    check_counts(0, n_q=n_q, n_k=n_k, n_random=n_random)
    shuffled = rng.permuted(np.tile(np.arange(n_k), (n_q, 1)), axis=-1)  # each row by itself
    if beside is None:
        return shuffled < n_random
    seen = as_bools("beside", beside)
    check_broadcast("beside", seen, (n_q, n_k))
    rank = np.where(seen, n_k, shuffled).argsort(axis=-1).argsort(axis=-1)  # those seen come last
    drawn: BoolArray = (rank < n_random) & ~seen
    return drawn


def buckets(
    vectors: npt.ArrayLike, n_buckets: int, n_rounds: int, *, rng: np.random.Generator
) -> npt.NDArray[np.int64]:
    """Locality-sensitive hashing: vectors of a like direction tend to share a bucket.

        h(x) = argmax([x R; -x R]), R drawn from a normal distribution

    Args:
        vectors: (n_tokens, width), finite. Their lengths play no part.
        n_buckets: Even, at least 2.
        n_rounds: How often to hash, each time with an R of its own.
        rng: Draws R, (width, n_buckets / 2) in each round.

    Returns:
        (n_rounds, n_tokens), from 0 to n_buckets - 1.

    Raises:
        ShapeError: `vectors` does not have the shape above.
        RangeError: There is no round, or fewer than 2 buckets.
        DivisibilityError: `n_buckets` is odd.
    """
    vectors = as_floats("vectors", vectors, ("n_tokens", "width"), may_lead=False)
    if n_buckets < 2:
        raise RangeError("n_buckets", n_buckets, 2, _UNBOUNDED)
    if n_buckets % 2:
        raise DivisibilityError("n_buckets", n_buckets, "2", 2)
    if n_rounds < 1:
        raise RangeError("n_rounds", n_rounds, 1, _UNBOUNDED)
    R = rng.standard_normal((n_rounds, vectors.shape[1], n_buckets // 2))
    projected: FloatArray = vectors @ R  # (n_rounds, n_tokens, n_buckets / 2)
    bucket_of: npt.NDArray[np.int64] = np.concatenate([projected, -projected], axis=-1).argmax(-1)
    return bucket_of


def hash_buckets(bucket_of: npt.NDArray[np.int64]) -> BoolArray:
    """Tokens of one bucket see each other: those that met in any round.

    Reformer also keeps a token from itself unless it is alone; here each token sees itself, so
    that no row is empty.

    Args:
        bucket_of: (n_rounds, n_tokens), from `buckets`.

    Returns:
        (n_tokens, n_tokens), True = may attend. Symmetric, True on the diagonal.
    """
    met: BoolArray = (bucket_of[:, :, None] == bucket_of[:, None, :]).any(axis=0)
    return met


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
    check_counts(0, n_q=n_q, n_k=n_k)
    return np.arange(n_k)[None, :] - np.arange(n_q)[:, None]

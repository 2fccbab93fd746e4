"""What attention costs on paper, for one head: exact counts, for any number of tokens n.

Each pair of a query and a key whose score is needed costs d_k multiply-adds for the score and d_v
for its share of the output; projections, softmax and finding the pairs are not counted. The scores
that must be held at once become the weights in their place, so they are counted once.

    pattern     pairs                                                     scores held at once
    dense       n²                                                        all
    causal      n (n + 1) / 2                                             all
    window      n (b + 1 + a) - b (b + 1) / 2 - a (a + 1) / 2             all
    bigbird     g n + (n - g) (g + r) + the window among the n - g others  all
    buckets     rounds · Σ (size of a bucket)²                            those of one round
    blockwise   n²                                                        those of one block

Sources: Vaswani et al. 2017, section 4 (dense); Beltagy et al. 2020, "Longformer", section 3.1
(window); Zaheer et al. 2020, "Big Bird", section 2 (global, window and random keys); Kitaev et al.
2020, "Reformer", section 2 (hash buckets, here equal ones, as expected of a fair hash); Dao et al.
2022, "FlashAttention", section 3 (blockwise).
"""

from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

import numpy as np

from attention_core.errors import ChoiceError, RangeError

Pattern: TypeAlias = Literal["dense", "causal", "window", "bigbird", "buckets", "blockwise"]
PATTERNS: tuple[Pattern, ...] = get_args(Pattern)

FLOAT64, FLOAT32 = 8, 4  # bytes of a number


@dataclass(frozen=True, slots=True)
class Sizes:
    """What the patterns are made of, in tokens."""

    before: int = 64  # of a window: how many tokens before its own a query sees
    after: int = 64
    n_global: int = 16  # tokens that see all and are seen by all
    n_random: int = 16  # more keys for each other query, none of them global or in its window
    bucket: int = 64  # tokens of a hash bucket, at most
    n_rounds: int = 4  # of hashing, each with buckets of its own
    block: int = 256  # queries, and keys, of a block

    def __post_init__(self) -> None:
        for name in self.__dataclass_fields__:
            least = 1 if name in ("bucket", "n_rounds", "block") else 0
            _check(name, getattr(self, name), least)


@dataclass(frozen=True, slots=True)
class Cost:
    """What one head costs."""

    pairs: int  # of a query and a key, whose score is needed
    multiply_adds: int  # for the scores and for mixing the values
    n_bytes: int  # of the scores that are held at once


def cost(
    pattern: Pattern,
    n_tokens: int,
    sizes: Sizes,
    *,
    d_k: int,
    d_v: int,
    n_bytes_each: int = FLOAT64,
) -> Cost:
    """What a pattern costs for so many tokens.

    Args:
        pattern: One of `PATTERNS`.
        n_tokens: Queries, and keys.
        sizes: What the patterns are made of.
        d_k: Features per query and key.
        d_v: Features per value.
        n_bytes_each: Bytes of one number: FLOAT64 or FLOAT32.

    Returns:
        Exact whole numbers.

    Raises:
        ChoiceError: No such pattern.
        RangeError: A count is negative.
    """
    for name, count in (("d_k", d_k), ("d_v", d_v), ("n_bytes_each", n_bytes_each)):
        _check(name, count, 0)
    pairs = n_pairs(pattern, n_tokens, sizes)
    held = n_held(pattern, n_tokens, sizes)
    return Cost(pairs, pairs * (d_k + d_v), held * n_bytes_each)


def n_pairs(pattern: Pattern, n_tokens: int, sizes: Sizes) -> int:
    """How many scores a pattern needs; as many as its mask allows, if it has one."""
    match pattern:
        case "dense" | "blockwise":
            return dense_pairs(n_tokens)
        case "causal":
            return causal_pairs(n_tokens)
        case "window":
            return window_pairs(n_tokens, sizes.before, sizes.after)
        case "bigbird":
            return bigbird_pairs(n_tokens, sizes)
        case "buckets":
            return sizes.n_rounds * bucket_pairs(n_tokens, sizes.bucket)
    raise ChoiceError("pattern", pattern, PATTERNS)


def n_held(pattern: Pattern, n_tokens: int, sizes: Sizes) -> int:
    """How many of these scores must be held at once."""
    if pattern == "blockwise":
        return dense_pairs(min(n_tokens, sizes.block))
    if pattern == "buckets":
        return bucket_pairs(n_tokens, sizes.bucket)
    return n_pairs(pattern, n_tokens, sizes)


def dense_pairs(n_tokens: int) -> int:
    """Every query with every key."""
    _check("n_tokens", n_tokens, 0)
    return n_tokens**2


def causal_pairs(n_tokens: int) -> int:
    """Every query with itself and all before it."""
    _check("n_tokens", n_tokens, 0)
    return n_tokens * (n_tokens + 1) // 2


def window_pairs(n_tokens: int, before: int, after: int) -> int:
    """Every query with its neighbours, of which there are fewer at both ends."""
    for name, count in (("n_tokens", n_tokens), ("before", before), ("after", after)):
        _check(name, count, 0)
    b, a = (min(reach, max(n_tokens - 1, 0)) for reach in (before, after))
    return n_tokens * (b + 1 + a) - b * (b + 1) // 2 - a * (a + 1) // 2


def bigbird_pairs(n_tokens: int, sizes: Sizes) -> int:
    """Global tokens with all; every other one with those, its neighbours, and random keys."""
    _check("n_tokens", n_tokens, 0)
    n_global = min(n_tokens, sizes.n_global)
    others = n_tokens - n_global
    near = window_pairs(others, sizes.before, sizes.after)
    return n_global * n_tokens + others * n_global + near + _random_pairs(others, sizes)


def _random_pairs(n_tokens: int, sizes: Sizes) -> int:
    """Where the window leaves fewer keys than are to be drawn, all of these."""
    if sizes.before + 1 + sizes.after + sizes.n_random <= n_tokens:
        return n_tokens * sizes.n_random
    before = np.minimum(np.arange(n_tokens), sizes.before)
    after = np.minimum(np.arange(n_tokens)[::-1], sizes.after)
    left = n_tokens - (before + 1 + after)
    return int(np.minimum(left, sizes.n_random).sum())


def bucket_pairs(n_tokens: int, bucket: int) -> int:
    """Every query with those of its bucket, in one round; the buckets as equal as can be."""
    _check("n_tokens", n_tokens, 0)
    _check("bucket", bucket, 1)
    n_buckets = max(1, -(-n_tokens // bucket))
    size, n_larger = divmod(n_tokens, n_buckets)
    return n_larger * (size + 1) ** 2 + (n_buckets - n_larger) * size**2


def _check(name: str, count: int, least: int) -> None:
    if count < least:
        raise RangeError(name, count, least, float("inf"))

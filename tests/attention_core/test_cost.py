import itertools

import numpy as np
import pytest

from attention_core import Experiment, masks
from attention_core.cost import (
    FLOAT32,
    PATTERNS,
    Cost,
    Sizes,
    bigbird_pairs,
    bucket_pairs,
    causal_pairs,
    cost,
    n_held,
    n_pairs,
    window_pairs,
)
from attention_core.errors import ChoiceError, RangeError
from attention_core.patterns import Pattern

COUNTS = [0, 1, 2, 3, 7, 20, 33]


def count(mask):
    return int(mask.sum())


def bigbird_mask(n, sizes, rng):
    """Global, window and random keys of each query, one query after another."""
    mask = np.zeros((n, n), dtype=bool)
    for i in range(n):
        for j in range(n):
            is_near = -sizes.before <= j - i <= sizes.after
            mask[i, j] = i < sizes.n_global or j < sizes.n_global or is_near
        left = np.flatnonzero(~mask[i])
        mask[i, rng.permutation(left)[: sizes.n_random]] = True
    return mask


def bucket_mask(n, bucket):
    """As many buckets as it takes, the tokens dealt out one by one."""
    n_buckets = -(-n // bucket) or 1
    of = np.arange(n) % n_buckets
    return of[:, None] == of[None, :]


# --- by hand


def test_five_tokens_by_hand():
    sizes = Sizes(before=1, after=1, n_global=1, n_random=1, bucket=2, n_rounds=3, block=2)

    pairs = {pattern: n_pairs(pattern, 5, sizes) for pattern in PATTERNS}

    assert pairs == {
        "dense": 25,
        "causal": 15,
        "window": 13,  # 2 + 3 + 3 + 3 + 2
        "bigbird": 23,  # 5 for the global one; 4 others: 1 + (2 + 3 + 3 + 2 near) + 1, all told 18
        "buckets": 27,  # buckets of 2, 2 and 1: 9, in each of 3 rounds
        "blockwise": 25,
    }


def test_multiply_adds_and_bytes_by_hand():
    sizes = Sizes(block=2, bucket=2, n_rounds=3)

    def of(pattern, **more):
        return cost(pattern, 4, sizes, d_k=3, d_v=5, **more)

    assert of("dense") == Cost(pairs=16, multiply_adds=16 * 8, n_bytes=16 * 8)
    assert of("dense", n_bytes_each=FLOAT32).n_bytes == 16 * 4
    assert of("blockwise") == Cost(pairs=16, multiply_adds=16 * 8, n_bytes=4 * 8)
    assert of("buckets") == Cost(pairs=24, multiply_adds=24 * 8, n_bytes=8 * 8)


def test_100_000_tokens_on_paper_are_exact():
    sizes = Sizes(before=64, after=64, n_global=16, n_random=16, bucket=64, n_rounds=4, block=256)
    n = 100_000

    costs = {pattern: cost(pattern, n, sizes, d_k=64, d_v=64) for pattern in PATTERNS}

    assert costs["dense"] == Cost(10_000_000_000, 1_280_000_000_000, 80_000_000_000)
    assert costs["causal"].pairs == 5_000_050_000
    assert costs["window"].pairs == 100_000 * 129 - 64 * 65
    assert costs["blockwise"].n_bytes == 256 * 256 * 8
    near = 99_984 * 129 - 64 * 65
    assert costs["bigbird"].pairs == 16 * 100_000 + 99_984 * 32 + near
    assert all(type(each.pairs) is int for each in costs.values())


# --- the count of the mask


@pytest.mark.parametrize("n", COUNTS)
def test_dense_and_causal_pairs_are_those_of_the_mask(n):
    assert n_pairs("dense", n, Sizes()) == count(np.ones((n, n), dtype=bool))
    assert causal_pairs(n) == count(masks.causal(n))


@pytest.mark.parametrize("n", COUNTS)
@pytest.mark.parametrize(("before", "after"), [*itertools.product([0, 1, 5, 19, 50], repeat=2)])
def test_window_pairs_are_those_of_the_mask(n, before, after):
    assert window_pairs(n, before, after) == count(masks.window(n, before, after))


@pytest.mark.parametrize("n", COUNTS)
@pytest.mark.parametrize("n_global", [0, 1, 4, 40])
@pytest.mark.parametrize("n_random", [0, 2, 9])
@pytest.mark.parametrize(("before", "after"), [(0, 0), (3, 3), (2, 8), (12, 0)])
def test_bigbird_pairs_are_those_of_the_mask(n, n_global, n_random, before, after):
    sizes = Sizes(before=before, after=after, n_global=n_global, n_random=n_random)

    mask = bigbird_mask(n, sizes, np.random.default_rng(n))
    seen = masks.global_tokens(n, n_global) | masks.window(n, before, after)
    drawn = masks.random_keys(n, n_random, rng=np.random.default_rng(n), beside=seen)

    assert bigbird_pairs(n, sizes) == count(mask) == count(seen | drawn)


@pytest.mark.parametrize(("n_global", "n_random", "reach"), [(0, 3, 0), (2, 1, 1), (1, 12, 2)])
def test_bigbird_pairs_are_those_of_the_pattern_that_is_laid(n_global, n_random, reach):
    sizes = Sizes(before=reach, after=reach, n_global=n_global, n_random=n_random)
    for n in (1, 5, 12):
        e = Experiment.from_preset("random").resized(n_tokens=n)
        pattern = Pattern(
            ("bigbird",), before=reach, after=reach, n_global=n_global, n_random=n_random
        )

        assert count(pattern.laid(e).mask.allowed(n)) == bigbird_pairs(n, sizes)


@pytest.mark.parametrize("n", COUNTS)
@pytest.mark.parametrize("bucket", [1, 2, 5, 64])
def test_bucket_pairs_are_those_of_the_mask(n, bucket):
    mask = bucket_mask(n, bucket)

    assert bucket_pairs(n, bucket) == count(mask)
    assert n == 0 or mask.sum(axis=1).max() <= bucket
    assert n_pairs("buckets", n, Sizes(bucket=bucket, n_rounds=3)) == 3 * count(mask)


@pytest.mark.parametrize("n", [1, 5, 256, 257])
def test_blocks_hold_one_block_and_all_other_patterns_their_pairs(n):
    sizes = Sizes(block=256)

    assert n_held("blockwise", n, sizes) == min(n, 256) ** 2
    for pattern in ("dense", "causal", "window", "bigbird"):
        assert n_held(pattern, n, sizes) == n_pairs(pattern, n, sizes)


# --- laws


def test_twice_the_tokens_make_four_times_the_dense_pairs_and_twice_those_of_a_window():
    few, many = (
        {pattern: n_pairs(pattern, n, Sizes()) for pattern in PATTERNS} for n in (50_000, 100_000)
    )

    growth = {pattern: many[pattern] / few[pattern] for pattern in PATTERNS}

    for pattern in ("dense", "causal", "blockwise"):
        assert growth[pattern] == pytest.approx(4, rel=1e-4)
    for pattern in ("window", "bigbird", "buckets"):
        assert growth[pattern] == pytest.approx(2, rel=1e-2)


# --- what is refused


@pytest.mark.parametrize("name", ["bucket", "n_rounds", "block"])
def test_sizes_of_which_there_must_be_one(name):
    with pytest.raises(RangeError, match=f"{name} must lie between 1 and inf, got 0"):
        Sizes(**{name: 0})


@pytest.mark.parametrize("name", ["before", "after", "n_global", "n_random"])
def test_sizes_that_are_not_negative(name):
    assert getattr(Sizes(**{name: 0}), name) == 0
    with pytest.raises(RangeError, match=f"{name} must lie between 0 and inf, got -1"):
        Sizes(**{name: -1})


@pytest.mark.parametrize("pattern", PATTERNS)
def test_tokens_are_not_negative(pattern):
    with pytest.raises(RangeError, match="n_tokens must lie between 0 and inf, got -1"):
        cost(pattern, -1, Sizes(), d_k=1, d_v=1)


@pytest.mark.parametrize("name", ["d_k", "d_v", "n_bytes_each"])
def test_widths_are_not_negative(name):
    with pytest.raises(RangeError, match=f"{name} must lie between 0 and inf, got -1"):
        cost("dense", 1, Sizes(), **{"d_k": 1, "d_v": 1} | {name: -1})


def test_an_unknown_pattern_is_refused():
    with pytest.raises(ChoiceError, match="pattern must be one of dense, causal, "):
        n_pairs("dilated", 3, Sizes())


def test_a_window_and_a_bucket_on_their_own_are_checked_too():
    with pytest.raises(RangeError, match="before must lie"):
        window_pairs(3, -1, 0)
    with pytest.raises(RangeError, match="after must lie"):
        window_pairs(3, 0, -1)
    with pytest.raises(RangeError, match="bucket must lie"):
        bucket_pairs(3, 0)

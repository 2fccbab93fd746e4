"""Intervals: by hand, against the definition, their laws, and how often they hold what they say."""

import math

import numpy as np
import pytest

from attention_core.errors import RangeError
from attention_core.intervals import of_mean, of_share

Z = 1.959963984540054


def test_a_published_share():
    # Newcombe 1998, "Two-sided confidence intervals for the single proportion", has 81 of 263.
    assert of_share(81, 263) == pytest.approx((0.2553, 0.3662), abs=5e-5)


@pytest.mark.parametrize(("count", "n"), [(3, 10), (1, 50), (57.4, 400)])
def test_its_ends_are_the_shares_from_which_the_count_is_1_96_deviations_away(count, n):
    for end in of_share(count, n):
        assert abs(count / n - end) / math.sqrt(end * (1 - end) / n) == pytest.approx(Z)


@pytest.mark.parametrize("n", [1, 7, 400, 100_000])
def test_none_and_all_have_one_sided_intervals(n):
    none, every = of_share(0, n), of_share(n, n)

    assert none.lower == 0
    assert every.upper == 1
    assert none.upper == pytest.approx(Z**2 / (n + Z**2))
    assert every.lower == pytest.approx(1 - none.upper)


def test_more_cases_tell_more():
    few, many = of_share(3, 10), of_share(300, 1000)

    assert few.lower < many.lower < 0.3 < many.upper < few.upper


def test_counts_that_cannot_be_are_refused():
    with pytest.raises(RangeError, match="n must lie between 1 and inf, got 0"):
        of_share(0, 0)
    with pytest.raises(RangeError, match="count must lie between 0 and 3, got 4"):
        of_share(4, 3)


def test_the_interval_of_a_mean_by_hand():
    # Mean 2, deviation 1 (dividing by n - 1), so 2 ± 1.96 / √3.
    reach = Z / math.sqrt(3)

    assert of_mean(np.array([1.0, 2.0, 3.0])) == pytest.approx((2 - reach, 2 + reach))


def test_one_value_has_no_interval():
    assert all(map(math.isnan, of_mean(np.array([1.0]))))


def test_19_of_20_intervals_hold_the_truth():
    rng = np.random.default_rng(0)
    truths = rng.uniform(size=4000)  # of many, as the share for a single one goes up and down
    shares = [of_share(rng.binomial(40, truth), 40) for truth in truths]
    means = [of_mean(values) for values in rng.uniform(0, 2, size=(2000, 30))]

    held = [low <= truth <= high for truth, (low, high) in zip(truths, shares, strict=True)]
    assert np.mean(held) == pytest.approx(0.95, abs=0.01)
    assert np.mean([low <= 1.0 <= high for low, high in means]) == pytest.approx(0.95, abs=0.03)

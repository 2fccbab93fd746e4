"""Kendall's τ_b: by hand, by brute force in exact fractions, its laws, and what has no order."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from attention_core.errors import NotFiniteError, ShapeError
from attention_core.ranks import kendall


def exact(a, b):
    """τ_b by counting pairs; the root of a fraction, as a float."""
    alike, in_a, in_b = 0, 0, 0
    for i, j in itertools.combinations(range(len(a)), 2):
        of_a, of_b = np.sign(a[i] - a[j]), np.sign(b[i] - b[j])
        alike += int(of_a * of_b)
        in_a, in_b = in_a + int(of_a != 0), in_b + int(of_b != 0)
    return math.copysign(math.sqrt(Fraction(alike**2, in_a * in_b)), alike)


def drawn(n, *, seed, n_values):
    """Two lists with many ties."""
    return np.random.default_rng(seed).integers(0, n_values, size=(2, n)).astype(float)


def test_four_things_by_hand():
    # Of six pairs, only that of the last two is reversed: (5 - 1) / 6.
    assert kendall([1, 2, 3, 4], [1, 2, 4, 3]) == pytest.approx(4 / 6)


def test_ties_by_hand():
    # Pairs: (1, 1) tied in a; three ordered alike of 5 in a and 6 in b; two reversed.
    # a orders 5 pairs, b all 6; alike 4, reversed 1.
    assert kendall([1, 1, 2, 3], [1, 2, 4, 3]) == pytest.approx(3 / math.sqrt(5 * 6))


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("n_values", [3, 50])
def test_it_is_what_counting_pairs_gives(seed, n_values):
    a, b = drawn(9, seed=seed, n_values=n_values)

    assert kendall(a, b) == pytest.approx(exact(a, b), abs=1e-14)


def test_a_ranking_agrees_with_itself_and_not_with_its_reverse():
    a = drawn(12, seed=1, n_values=5)[0]

    assert kendall(a, a) == pytest.approx(1)
    assert kendall(a, -a) == pytest.approx(-1)


def test_only_the_order_counts_and_neither_ranking_comes_first():
    a, b = drawn(12, seed=2, n_values=6)

    assert kendall(np.exp(a), 3 * b + 1) == pytest.approx(kendall(a, b))
    assert kendall(b, a) == pytest.approx(kendall(a, b))


def test_the_same_things_in_another_order_are_as_alike():
    a, b = drawn(12, seed=3, n_values=6)
    order = np.random.default_rng(0).permutation(12)

    assert kendall(a[order], b[order]) == pytest.approx(kendall(a, b))


def test_of_all_orders_the_mean_is_0():
    orders = np.array(list(itertools.permutations(range(5))), dtype=float)

    assert kendall(orders, np.broadcast_to(np.arange(5.0), orders.shape)).mean() == pytest.approx(0)


@pytest.mark.parametrize(("a", "b"), [([1, 1, 1], [1, 2, 3]), ([1, 2, 3], [5, 5, 5]), ([1], [2])])
def test_what_puts_nothing_in_order_has_no_tau(a, b):
    assert np.isnan(kendall(a, b))


def test_each_row_is_ranked_by_itself():
    a, b = np.random.default_rng(0).normal(size=(2, 3, 4, 7))

    together = kendall(a, b)

    assert together.shape == (3, 4)
    assert together[2, 1] == kendall(a[2, 1], b[2, 1])


def test_values_whose_differences_overflow_are_still_ordered():
    assert kendall([-1e308, 0, 1e308], [1, 2, 3]) == pytest.approx(1)


def test_wrong_input_is_named():
    with pytest.raises(ShapeError, match=r"b must have shape \(3,\), got \(2,\)"):
        kendall([1, 2, 3], [1, 2])
    with pytest.raises(NotFiniteError, match=r"a must be finite, but is not at index \(1,\)"):
        kendall([1, float("nan")], [1, 2])

"""The least divergence where keys of one class have one score."""

import numpy as np
import pytest

from attention_core.ties import least_divergence

NONE = np.zeros((2, 3))
ALL = np.ones((2, 3), dtype=bool)
APART = np.arange(3)


def brute(target, allowed, bias, classes):
    """The least over a fine grid of scores of two classes, the first of which is at 0."""
    least = np.inf
    for score in np.linspace(-30, 30, 6001):
        e = np.where(allowed, np.exp(np.where(classes == 1, score, 0.0) + bias), 0.0)
        weights = e / e.sum(axis=-1, keepdims=True)
        asked = target > 0
        least = min(least, (target[asked] * np.log(target[asked] / weights[asked])).sum())
    return least


def test_what_each_row_asks_for_alone_is_within_reach():
    target = np.array([[0.2, 0.3, 0.5]])

    assert least_divergence(target, ALL[:1], NONE[:1], APART) == pytest.approx(0, abs=1e-12)


def test_two_rows_that_want_different_keys_share_one_row():
    target = np.array([[1.0, 0, 0], [0, 1, 0]])

    assert least_divergence(target, ALL, NONE, APART) == pytest.approx(2 * np.log(2))


def test_equal_keys_share_their_weight_evenly_or_as_the_bias_says():
    target, classes = np.array([[1.0, 0, 0]]), np.array([0, 0, 1])
    bias = np.log([[3.0, 1, 1]])

    assert least_divergence(target, ALL[:1], NONE[:1], classes) == pytest.approx(np.log(2))
    assert least_divergence(target, ALL[:1], bias, classes) == pytest.approx(np.log(4 / 3))


def test_rows_share_their_scores_whatever_the_mask_forbids_one_of_them():
    # The first has to rank 0 above 1, the second 1 above 0, though it sees one key more.
    target = np.array([[1.0, 0, 0], [0, 1, 0]])
    allowed = np.array([[1, 1, 0], [1, 1, 1]], dtype=bool)

    assert least_divergence(target, allowed, NONE, APART) == pytest.approx(2 * np.log(2))


def test_rows_that_only_have_to_rank_keys_get_as_close_as_one_likes():
    # 2 far above 0, and 0 far above 1: each has room, at infinity.
    target = np.array([[1.0, 0, 0], [0, 0, 1]])
    allowed = np.array([[1, 1, 0], [1, 1, 1]], dtype=bool)

    assert 0 <= least_divergence(target, allowed, NONE, APART) < 1e-10


def test_it_is_the_least_of_a_fine_grid():
    rng = np.random.default_rng(0)
    for _ in range(30):
        classes = np.array([0, *rng.integers(2, size=2), 1])
        allowed = rng.random((3, 4)) < 0.8
        allowed[np.arange(3), rng.integers(4, size=3)] = True
        bias = rng.normal(size=(3, 4))
        target = rng.random((3, 4)) * allowed
        target /= target.sum(axis=-1, keepdims=True)

        least = least_divergence(target, allowed, bias, classes)

        assert least == pytest.approx(brute(target, allowed, bias, classes), abs=1e-4)

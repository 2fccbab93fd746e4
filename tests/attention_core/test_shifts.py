import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attention_core import scaled_dot_product_attention
from attention_core.errors import ChoiceError, RangeError
from attention_core.shifts import SHIFTS, UNNOTICED, added, shifted, spread


def head(seed=0, n_tokens=4, d_k=3, allowed=None, bias=None, scale=0.5):
    Q, K, V = np.random.default_rng(seed).standard_normal((3, n_tokens, d_k))
    return scaled_dot_product_attention(
        Q, K, V, allowed=allowed, bias=bias, scale=scale, empty_rows="zeros"
    )


# shifted


def test_each_shift_by_hand():
    # One feature: q = (1, 2), k = (3, 5), so the scores are (3, 5) and (6, 10).
    trace = scaled_dot_product_attention([[1.0], [2.0]], [[3.0], [5.0]], np.eye(2), scale=1.0)

    def scores(shift):
        return shifted(trace, shift, 10.0, 1, scale=1.0).masked_scores.tolist()

    assert scores("row") == [[3, 5], [16, 20]]
    assert scores("keys") == [[13, 15], [26, 30]]
    assert scores("queries") == [[33, 55], [36, 60]]
    assert scores("key") == [[3, 15], [6, 30]]


@pytest.mark.parametrize("shift", SHIFTS)
def test_what_is_added_follows_from_the_dot_products(shift):
    bias = np.random.default_rng(9).standard_normal((4, 4))
    trace = head(bias=bias)

    after = shifted(trace, shift, 2.0, 3, scale=0.5, bias=bias)

    Q, K = trace.Q, trace.K
    expected = {
        "row": 2.0 * (np.arange(4) == 3)[:, None] * np.ones((4, 4)),
        "keys": 0.5 * 2.0 * Q.sum(axis=-1)[:, None] * np.ones((4, 4)),
        "queries": 0.5 * 2.0 * K.sum(axis=-1)[None, :] * np.ones((4, 4)),
        "key": 0.5 * 2.0 * Q.sum(axis=-1)[:, None] * (np.arange(4) == 3),
    }
    np.testing.assert_allclose(added(trace, after), expected[shift], rtol=1e-12, atol=1e-12)


@given(st.integers(0, 1000), st.floats(-10, 10), st.integers(0, 3), st.sampled_from(UNNOTICED))
def test_weights_do_not_notice_what_is_the_same_along_a_row(seed, by, token, shift):
    trace = head(seed)

    after = shifted(trace, shift, by, token, scale=0.5)

    np.testing.assert_allclose(after.weights, trace.weights, rtol=1e-9)
    assert spread(added(trace, after), trace.allowed) == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("shift", ["queries", "key"])
def test_weights_notice_what_differs_along_a_row(shift):
    trace = head()

    after = shifted(trace, shift, 3.0, 1, scale=0.5)

    assert np.abs(after.weights - trace.weights).max() > 0.05
    assert spread(added(trace, after), trace.allowed) > 0.5


@pytest.mark.parametrize("shift", SHIFTS)
def test_a_forbidden_key_stays_forbidden_and_an_empty_row_empty(shift):
    allowed = np.array([[True, False, True], [True, True, True], [False, False, False]])
    trace = head(n_tokens=3, allowed=allowed)

    after = shifted(trace, shift, 5.0, 0, scale=0.5)

    assert after.allowed.tolist() == allowed.tolist()
    assert after.weights[2].tolist() == [0, 0, 0]
    assert (added(trace, after)[~allowed] == 0).all()


def test_nothing_added_is_the_same_attention_to_the_last_digit():
    bias = np.random.default_rng(1).standard_normal((4, 4))
    trace = head(bias=bias)

    for shift in SHIFTS:
        after = shifted(trace, shift, 0.0, 0, scale=0.5, bias=bias)

        np.testing.assert_array_equal(after.weights, trace.weights)


def test_an_unknown_shift_and_an_unknown_token_are_refused():
    with pytest.raises(ChoiceError) as caught:
        shifted(head(), "values", 1.0, 0, scale=1.0)
    assert str(caught.value) == "shift must be one of row, keys, queries, key, got 'values'"

    with pytest.raises(RangeError) as caught:
        shifted(head(), "row", 1.0, 4, scale=1.0)
    assert str(caught.value) == "token must lie between 0 and 3, got 4"


# spread


def test_the_spread_is_the_largest_of_all_rows_by_hand():
    allowed = np.array([[True, True, False], [True, True, True], [False, False, False]])

    found = spread(np.array([[1.0, 3.0, 99.0], [4.0, 4.5, 4.0], [0.0, 7.0, 1.0]]), allowed)

    assert found == 2.0


def test_rows_without_keys_have_no_spread():
    assert spread(np.ones((2, 2)), np.zeros((2, 2), dtype=bool)) == 0

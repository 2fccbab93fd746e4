import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from attention_core.errors import (
    ChoiceError,
    DivisibilityError,
    DtypeError,
    RangeError,
    ShapeError,
)
from attention_core.masks import (
    buckets,
    causal,
    combine,
    global_tokens,
    hash_buckets,
    padding,
    random_keys,
    window,
)

COUNTS = st.integers(0, 7)
MASKS = st.lists(arrays(np.bool_, (3, 4)), min_size=1, max_size=4)


# causal


def test_causal_by_hand():
    allowed = causal(3)

    assert allowed.dtype == np.bool_
    np.testing.assert_array_equal(
        allowed,
        [
            [True, False, False],
            [True, True, False],
            [True, True, True],
        ],
    )


def test_causal_is_aligned_to_the_top_left():
    np.testing.assert_array_equal(causal(2, 3), [[True, False, False], [True, True, False]])


def test_an_offset_of_n_k_minus_n_q_is_aligned_to_the_bottom_right():
    np.testing.assert_array_equal(causal(2, 5, offset=3), causal(5)[-2:])


@given(COUNTS, COUNTS, st.integers(-8, 8))
def test_causal_agrees_with_pytorch_tril(n_q, n_k, offset):
    expected = torch.ones(n_q, n_k, dtype=torch.bool).tril(diagonal=offset)

    np.testing.assert_array_equal(causal(n_q, n_k, offset=offset), expected.numpy())


@pytest.mark.parametrize(
    ("counts", "message"),
    [
        ({"n_q": -1}, "n_q must lie between 0 and inf, got -1"),
        ({"n_q": 2, "n_k": -1}, "n_k must lie between 0 and inf, got -1"),
    ],
)
def test_causal_refuses_a_negative_count(counts, message):
    with pytest.raises(RangeError) as caught:
        causal(**counts)

    assert str(caught.value) == message


# padding


def test_padding_by_hand():
    allowed = padding([[True, True, False], [True, False, False]])

    np.testing.assert_array_equal(allowed, [[[True, True, False]], [[True, False, False]]])


def test_padding_forbids_the_filling_as_keys_and_not_as_queries():
    allowed = np.broadcast_to(padding([True, True, False]), (3, 3))

    assert not allowed[:, 2].any()
    assert allowed[:, :2].all()


@pytest.mark.parametrize("leading", [(), (2,), (2, 5)])
def test_padding_puts_an_axis_for_the_queries_before_the_keys(leading):
    assert padding(np.ones((*leading, 3), dtype=bool)).shape == (*leading, 1, 3)


def test_padding_of_a_lone_truth_value_is_refused():
    with pytest.raises(ShapeError) as caught:
        padding(True)

    assert str(caught.value) == "is_token must have shape (n_k,), got ()"


def test_padding_of_ones_and_zeros_is_refused():
    with pytest.raises(DtypeError) as caught:
        padding([1, 0])

    assert str(caught.value) == "is_token must hold booleans (True = may attend), got int64"


# window


def test_window_by_hand():
    np.testing.assert_array_equal(
        window(4, before=2, after=1),
        [
            [True, True, False, False],
            [True, True, True, False],
            [True, True, True, True],
            [False, True, True, True],
        ],
    )


@given(COUNTS, COUNTS, st.integers(0, 8), st.integers(0, 8))
def test_window_agrees_with_loops(n_q, n_k, before, after):
    expected = [[i - before <= j <= i + after for j in range(n_k)] for i in range(n_q)]

    allowed = window(n_q, before, after, n_k=n_k)

    np.testing.assert_array_equal(allowed, np.array(expected, dtype=bool).reshape(n_q, n_k))


def test_a_window_of_nothing_leaves_each_token_itself():
    np.testing.assert_array_equal(window(4, before=0, after=0), np.eye(4, dtype=bool))


@given(COUNTS)
def test_a_window_of_the_whole_past_is_causal(n_q):
    np.testing.assert_array_equal(window(n_q, before=n_q, after=0), causal(n_q))


@given(COUNTS, st.integers(0, 8), st.integers(0, 8))
def test_exchanging_before_and_after_transposes_the_window(n_q, before, after):
    np.testing.assert_array_equal(window(n_q, before, after), window(n_q, after, before).T)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_q": 2, "before": -1, "after": 0}, "before must lie between 0 and inf, got -1"),
        ({"n_q": 2, "before": 0, "after": -3}, "after must lie between 0 and inf, got -3"),
        ({"n_q": -1, "before": 0, "after": 0}, "n_q must lie between 0 and inf, got -1"),
        ({"n_q": 1, "before": 0, "after": 0, "n_k": -2}, "n_k must lie between 0 and inf, got -2"),
    ],
)
def test_window_refuses_what_is_negative(arguments, message):
    with pytest.raises(RangeError) as caught:
        window(**arguments)

    assert str(caught.value) == message


# global tokens


def test_global_tokens_by_hand():
    np.testing.assert_array_equal(
        global_tokens(4, 1),
        np.array([[1, 1, 1, 1], [1, 0, 0, 0], [1, 0, 0, 0], [1, 0, 0, 0]], dtype=bool),
    )


@given(COUNTS, st.integers(0, 9))
def test_global_tokens_agree_with_loops(n_tokens, n_global):
    expected = [[i < n_global or j < n_global for j in range(n_tokens)] for i in range(n_tokens)]

    np.testing.assert_array_equal(
        global_tokens(n_tokens, n_global),
        np.array(expected, dtype=bool).reshape(n_tokens, n_tokens),
    )


def test_a_negative_count_of_global_tokens_is_refused():
    with pytest.raises(RangeError) as caught:
        global_tokens(3, -1)

    assert str(caught.value) == "n_global must lie between 0 and inf, got -1"


# random keys


@given(COUNTS, COUNTS, st.integers(0, 9), st.integers(0, 9))
def test_each_query_draws_so_many_keys_and_none_twice(n_q, n_k, n_random, seed):
    drawn = random_keys(n_q, n_random, rng=np.random.default_rng(seed), n_k=n_k)

    assert drawn.shape == (n_q, n_k)
    assert (drawn.sum(axis=-1) == min(n_random, n_k)).all()


def test_drawing_more_keys_keeps_those_drawn_before():
    fewer, more = (random_keys(6, k, rng=np.random.default_rng(1)) for k in (2, 3))

    assert (more >= fewer).all()


@given(COUNTS, COUNTS, st.integers(0, 9), st.integers(0, 9))
def test_a_key_that_is_seen_anyway_is_not_drawn(n_q, n_k, n_random, seed):
    beside = np.random.default_rng(seed).random((n_q, n_k)) < 0.5

    fewer, drawn = (
        random_keys(n_q, k, rng=np.random.default_rng(seed), n_k=n_k, beside=beside)
        for k in (n_random, n_random + 1)
    )

    assert not (drawn & beside).any()
    np.testing.assert_array_equal(fewer.sum(axis=-1), np.minimum(n_random, (~beside).sum(axis=-1)))
    assert (drawn >= fewer).all()


def test_what_is_seen_anyway_has_the_shape_of_the_mask():
    with pytest.raises(ShapeError, match=r"beside must have shape \(3, 3\), got \(4, 3\)"):
        random_keys(3, 1, rng=np.random.default_rng(0), beside=np.ones((4, 3), dtype=bool))


def test_every_key_is_drawn_about_equally_often():
    drawn = random_keys(20_000, 2, rng=np.random.default_rng(0), n_k=5)

    np.testing.assert_allclose(drawn.mean(axis=0), 0.4, atol=0.02)


def test_a_negative_count_of_random_keys_is_refused():
    with pytest.raises(RangeError) as caught:
        random_keys(3, -2, rng=np.random.default_rng(0))

    assert str(caught.value) == "n_random must lie between 0 and inf, got -2"


# hash buckets


class FixedNormal:
    """Draws what it is told to."""

    def __init__(self, R):
        self.R = np.array(R, dtype=float)

    def standard_normal(self, shape):
        assert self.R.shape == shape
        return self.R


def test_buckets_by_hand():
    # x R is (1, 3), (-4, 1), (-1, -3); with -x R beside it, the largest stands at 1, 2 and 3.
    bucket_of = buckets([[1, 3], [-4, 1], [-1, -3]], 4, 1, rng=FixedNormal([np.eye(2)]))

    assert bucket_of.tolist() == [[1, 2, 3]]


@given(st.integers(1, 6), st.integers(1, 5), st.integers(1, 4), st.integers(0, 99))
def test_buckets_agree_with_loops(n_tokens, width, n_rounds, seed):
    vectors = np.random.default_rng(seed).standard_normal((n_tokens, width))

    bucket_of = buckets(vectors, 6, n_rounds, rng=np.random.default_rng(7))

    R = torch.tensor(np.random.default_rng(7).standard_normal((n_rounds, width, 3)))
    for round in range(n_rounds):
        for token in range(n_tokens):
            projected = torch.tensor(vectors[token]) @ R[round]
            expected = torch.cat([projected, -projected]).argmax()
            assert bucket_of[round, token] == expected


def test_opposite_vectors_never_meet_and_parallel_ones_always_do():
    rng = np.random.default_rng(2)
    for _ in range(50):
        x = rng.standard_normal(4)
        met = hash_buckets(buckets([x, 9 * x, -x], 8, 1, rng=rng))

        np.testing.assert_array_equal(met[0], [True, True, False])


def test_close_vectors_meet_more_often_than_far_ones():
    rng = np.random.default_rng(3)
    vectors = [[1, 0, 0], [0.9, 0.3, 0], [0, 0, 1]]

    bucket_of = buckets(vectors, 4, 2_000, rng=rng)

    close, far = ((bucket_of[:, 0] == bucket_of[:, k]).mean() for k in (1, 2))
    assert close > far + 0.2


def test_hash_buckets_by_hand():
    np.testing.assert_array_equal(
        hash_buckets(np.array([[0, 0, 1], [2, 3, 3]])),
        [[True, True, False], [True, True, True], [False, True, True]],
    )


def test_more_rounds_only_let_more_tokens_meet():
    vectors = np.random.default_rng(4).standard_normal((8, 3))
    bucket_of = buckets(vectors, 8, 5, rng=np.random.default_rng(5))

    fewer, more = hash_buckets(bucket_of[:2]), hash_buckets(bucket_of)

    assert (more >= fewer).all()
    assert fewer.diagonal().all()


@pytest.mark.parametrize(
    ("counts", "error", "message"),
    [
        ((0, 1), RangeError, "n_buckets must lie between 2 and inf, got 0"),
        ((3, 1), DivisibilityError, "n_buckets must be a multiple of 2, got 3 and 2"),
        ((2, 0), RangeError, "n_rounds must lie between 1 and inf, got 0"),
    ],
)
def test_buckets_refuse_counts_that_make_none(counts, error, message):
    with pytest.raises(error) as caught:
        buckets(np.eye(2), *counts, rng=np.random.default_rng(0))

    assert str(caught.value) == message


def test_buckets_refuse_a_vector_alone():
    with pytest.raises(ShapeError) as caught:
        buckets([1.0, 2.0], 2, 1, rng=np.random.default_rng(0))

    assert str(caught.value) == "vectors must have shape (n_tokens, width), got (2,)"


# combine


def test_combine_by_hand():
    first, second = [True, True, False, False], [True, False, True, False]

    np.testing.assert_array_equal(combine(first, second), [True, False, False, False])
    np.testing.assert_array_equal(combine(first, second, how="or"), [True, True, True, False])


@given(MASKS)
def test_combine_agrees_with_all_and_any(masks):
    np.testing.assert_array_equal(combine(*masks, how="and"), np.all(masks, axis=0))
    np.testing.assert_array_equal(combine(*masks, how="or"), np.any(masks, axis=0))


@given(MASKS)
def test_forbidding_by_all_is_allowing_by_none(masks):
    forbidden = [~mask for mask in masks]

    np.testing.assert_array_equal(~combine(*masks, how="and"), combine(*forbidden, how="or"))


@given(MASKS, st.sampled_from(["and", "or"]))
def test_the_order_of_masks_does_not_matter(masks, how):
    np.testing.assert_array_equal(combine(*masks, how=how), combine(*masks[::-1], how=how))


def test_masks_broadcast_to_their_common_shape():
    allowed = combine(causal(3), padding([[True, True, False], [False, True, True]]))

    np.testing.assert_array_equal(
        allowed,
        [
            [[True, False, False], [True, True, False], [True, True, False]],
            [[False, False, False], [False, True, False], [False, True, True]],
        ],
    )


def test_combine_does_not_write_into_its_arguments():
    first, second = causal(3), window(3, before=1, after=0)
    for mask in (first, second):
        mask.setflags(write=False)  # writing into one would raise

    combine(first, second)

    np.testing.assert_array_equal(first, causal(3))
    np.testing.assert_array_equal(second, window(3, before=1, after=0))


def test_an_unknown_way_to_combine_is_refused():
    with pytest.raises(ChoiceError) as caught:
        combine(causal(2), how="xor")

    assert str(caught.value) == "how must be one of and, or, got 'xor'"


@pytest.mark.parametrize("how", ["and", "or"])
def test_no_masks_are_refused(how):
    with pytest.raises(ShapeError) as caught:
        combine(how=how)

    assert str(caught.value) == "masks must have shape (n_q, n_k), got ()"


def test_a_mask_of_numbers_is_refused():
    with pytest.raises(DtypeError) as caught:
        combine(causal(2), np.ones((2, 2)))

    assert str(caught.value) == "masks must hold booleans (True = may attend), got float64"


def test_masks_that_do_not_broadcast_are_refused():
    with pytest.raises(ShapeError) as caught:
        combine(causal(2), causal(3))

    assert str(caught.value) == "masks must have shape (2, 2), got (3, 3)"


def test_the_mask_that_does_not_fit_is_the_one_reported():
    with pytest.raises(ShapeError) as caught:
        combine(causal(2), causal(3), causal(2))

    assert str(caught.value) == "masks must have shape (2, 2), got (3, 3)"

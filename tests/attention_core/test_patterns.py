from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attention_core import Experiment, Mask
from attention_core.errors import ChoiceError
from attention_core.masks import causal, global_tokens, hash_buckets, padding, random_keys, window
from attention_core.patterns import KINDS, Pattern, forbidding, pattern_of

SIZES = st.integers(0, 6)


def experiment(n_tokens=5, **mask):
    e = Experiment.from_preset("random", seed=3).resized(n_tokens=n_tokens)
    return replace(e, mask=Mask(**mask))


PATTERNS = st.builds(
    Pattern,
    st.lists(st.sampled_from(KINDS), unique=True).map(tuple),
    how=st.sampled_from(["and", "or"]),
    n_padding=SIZES,
    before=SIZES,
    after=SIZES,
    n_global=SIZES,
    n_random=SIZES,
    n_buckets=st.sampled_from([2, 4, 8]),
    n_rounds=st.integers(1, 4),
    draw=st.integers(0, 3),
)


def test_causal_or_window_by_hand():
    pattern = Pattern(("causal", "window"), how="or", before=0, after=1)

    np.testing.assert_array_equal(
        pattern.allowed(experiment(4)),
        np.array([[1, 1, 0, 0], [1, 1, 1, 0], [1, 1, 1, 1], [1, 1, 1, 1]], dtype=bool),
    )


@given(PATTERNS, st.integers(1, 12))
def test_a_pattern_that_is_laid_is_the_mask_of_the_experiment(pattern, n_tokens):
    e = pattern.laid(experiment(n_tokens, kinds=("painted",), painted=((0, 0, False),)))

    np.testing.assert_array_equal(e.mask.allowed(n_tokens), pattern.allowed(e))
    assert not pattern.differs(e).any()


@pytest.mark.parametrize(
    ("kinds", "how", "expected"),
    [
        ((), "and", ()),
        (("causal",), "or", ("causal",)),
        (("padding", "causal"), "and", ("causal", "padding")),
        (("causal", "window"), "or", ("painted",)),
        (("bigbird",), "and", ("painted",)),
        (("causal", "hashed"), "and", ("painted",)),
    ],
)
def test_a_pattern_becomes_rules_where_the_mask_has_them(kinds, how, expected):
    e = Pattern(kinds, how=how).laid(experiment())

    assert e.mask.kinds == expected


def test_cells_that_were_painted_are_forgotten():
    laid = Pattern(("causal",)).laid(experiment(kinds=("painted",), painted=((0, 0, False),)))

    assert laid.mask == Mask(("causal",))


def test_rules_take_their_sizes_and_leave_the_others():
    laid = Pattern(("window",), n_padding=3, before=2, after=0).laid(experiment(n_padding=4))

    assert (laid.mask.before, laid.mask.after, laid.mask.n_padding) == (2, 0, 4)


def test_rules_hold_for_a_token_that_comes_later_and_painted_cells_do_not():
    by_rule = Pattern(("causal",)).laid(experiment(3)).with_token_added()
    painted = Pattern(("causal", "window"), how="or").laid(experiment(3)).with_token_added()

    assert not by_rule.mask.allowed(4)[0, 3]
    assert painted.mask.allowed(4)[0, 3]


def test_bigbird_is_its_three_parts():
    e = experiment(8)
    pattern = Pattern(("bigbird",), before=1, after=0, n_global=1, n_random=2)

    allowed = pattern.allowed(e)

    rng = np.random.default_rng([e.seed, 0, 0])
    seen = global_tokens(8, 1) | window(8, 1, 0)
    parts = seen, random_keys(8, 2, rng=rng, beside=seen)
    np.testing.assert_array_equal(allowed, np.any(parts, axis=0))


def test_buckets_follow_the_vectors():
    e = experiment(4)
    twins = replace(e, X=np.stack([e.X[0], -e.X[0], 2 * e.X[0], -3 * e.X[0]]))
    pattern = Pattern(("hashed",), n_rounds=1)

    np.testing.assert_array_equal(
        pattern.allowed(twins), np.array([[1, 0, 1, 0], [0, 1, 0, 1]] * 2, dtype=bool)
    )
    np.testing.assert_array_equal(pattern.allowed(twins), hash_buckets(pattern.buckets(twins)))


def test_another_draw_gives_other_random_keys():
    e = experiment(12)
    first, second = (Pattern(("bigbird",), draw=draw).allowed(e) for draw in (0, 1))

    assert (first != second).any()
    np.testing.assert_array_equal(first, Pattern(("bigbird",), draw=0).allowed(e))


def test_where_a_cell_was_painted_the_mask_differs():
    pattern = Pattern(("causal",))
    e = pattern.laid(experiment(3)).with_painted([(0, 2), (1, 1)], True)
    e = e.with_painted([(2, 0)], False)

    assert np.argwhere(pattern.differs(e)).tolist() == [[0, 2], [2, 0]]


def test_the_pattern_of_a_mask_is_its_rules():
    mask = Mask(("causal", "window", "painted"), before=2, after=3, painted=((0, 0, False),))

    assert pattern_of(mask) == Pattern(("causal", "window"), before=2, after=3)


def test_an_unknown_kind_is_refused():
    with pytest.raises(ChoiceError) as caught:
        Pattern(("diagonal",))

    message = "pattern must be one of causal, padding, window, bigbird, hashed, got 'diagonal'"
    assert str(caught.value) == message


def test_a_mask_that_forbids_is_looked_at_and_else_a_causal_one():
    own, is_own = forbidding(experiment(3, kinds=("padding",)))
    instead, is_instead_own = forbidding(experiment(3))

    np.testing.assert_array_equal(own, np.broadcast_to(padding([True, True, False]), (3, 3)))
    np.testing.assert_array_equal(instead, causal(3))
    assert (is_own, is_instead_own) == (True, False)

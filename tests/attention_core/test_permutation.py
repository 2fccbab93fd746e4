"""Order: f(PX) = P f(X) where nothing goes by place, and what is measured where something does."""

from dataclasses import replace
from fractions import Fraction
from itertools import permutations
from math import comb, factorial

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st

from attention_core import Experiment, Mask
from attention_core.errors import FieldError, RangeError, ShapeError
from attention_core.permutation import (
    all_orders,
    breakers,
    compare,
    encoding_gaps,
    gaps,
    moved,
    n_orders,
    repaired,
    reversed_order,
    rounding,
    row_lengths,
    search,
    settings_on,
    shift_changes,
    shuffled,
    swapped,
    swaps,
    with_only,
)
from attention_core.presets import ENCODINGS
from tests.playground.experiments import experiments

MASKS = {
    "causal": Mask(("causal",)),
    "padding": Mask(("padding",), n_padding=1),
    "window": Mask(("window",), before=1, after=0),
    "painted": Mask(("painted",), painted=((0, 1, False), (2, 2, False))),
}


def random(n_tokens=5, n_heads=2, seed=3, **changes):
    start = Experiment.from_preset("random", seed=seed)
    sized = start.resized(n_tokens=n_tokens, d_model=4, d_k=3, n_heads=n_heads)
    return replace(sized.with_output_projection(True), **changes)


def mean_of_values(X, **changes):
    """W_Q is 0, so every output is the mean of the values that may be seen, which are X."""
    X = np.array(X, dtype=float)
    eye = np.eye(X.shape[1])[None]
    return Experiment(tuple("abcdefghijkl"[: len(X)]), X, 0 * eye, eye, eye, **changes)


orders = st.integers(1, 12).flatmap(lambda n: st.permutations(range(n)))


# --- orders


def test_an_order_is_repaired_and_nothing_of_it_is_lost():
    assert repaired((4, 2, 0, 1, 3), 3) == (2, 0, 1)
    assert repaired((2, 0, 1), 5) == (2, 0, 1, 3, 4)
    assert repaired((), 2) == (0, 1)
    assert repaired((1, 1, -1, 9, 0), 3) == (1, 0, 2)


@given(orders, st.integers(1, 12))
def test_a_repaired_order_holds_each_place_once(order, n_tokens):
    assert sorted(repaired(order, n_tokens)) == list(range(n_tokens))


def test_a_row_is_taken_out_and_put_in_again():
    assert moved("abcd", 0, 2) == tuple("bcad")
    assert moved("abcd", 3, 0) == tuple("dabc")
    assert moved("abcd", 1, 1) == tuple("abcd")


@pytest.mark.parametrize(("row", "to", "name"), [(-1, 0, "row"), (3, 0, "row"), (0, 3, "to")])
def test_a_row_that_is_not_there_is_named(row, to, name):
    with pytest.raises(RangeError, match=f"{name} must lie between 0 and 2"):
        moved((0, 1, 2), row, to)


def test_tokens_are_swapped_wherever_they_stand():
    assert swapped((2, 0, 1), 0, 1) == (2, 1, 0)
    assert swapped((2, 0, 1), 1, 1) == (2, 0, 1)
    assert reversed_order((2, 0, 1)) == (1, 0, 2)


def test_a_shuffle_is_another_order_and_each_one_comes():
    drawn = {shuffled((0, 1, 2), np.random.default_rng(seed)) for seed in range(60)}

    assert drawn == set(permutations(range(3))) - {(0, 1, 2)}
    assert shuffled((0,), np.random.default_rng(0)) == (0,)
    assert shuffled((0, 1), np.random.default_rng(0)) == (1, 0)


@pytest.mark.parametrize("n_tokens", range(1, 8))
def test_all_orders_are_there_once_with_their_own_first(n_tokens):
    found = [tuple(order) for order in all_orders(n_tokens).tolist()]

    assert set(found) == set(permutations(range(n_tokens)))
    assert len(found) == factorial(n_tokens) == n_orders(n_tokens)
    assert found[0] == tuple(range(n_tokens))


def test_orders_of_the_first_tokens_leave_the_rest():
    assert all_orders(4, 2).tolist() == [[0, 1, 2, 3], [1, 0, 2, 3]]


@pytest.mark.parametrize("n_moving", [0, 8, 13])
def test_too_many_orders_are_refused(n_moving):
    with pytest.raises(RangeError, match="n_moving must lie between 1 and 7"):
        all_orders(12, n_moving)


def test_every_swap_of_two_is_there():
    assert swaps(3).tolist() == [[1, 0, 2], [2, 1, 0], [0, 2, 1]]
    assert swaps(1).shape == (0, 1)
    assert len(swaps(12)) == comb(12, 2)


# --- f(PX) and P f(X)


def test_two_tokens_by_hand():
    # Causal, all weights equal: f(X) = (x_0, mean). Of (x_1, x_0): (x_1, mean).
    e = mean_of_values([[1, 0], [0, 3]], mask=MASKS["causal"])

    compared = compare(e, (1, 0))

    np.testing.assert_allclose(compared.moved_output, [[0.5, 1.5], [1, 0]])
    np.testing.assert_allclose(compared.of_moved.attention.output, [[0, 3], [0.5, 1.5]])
    np.testing.assert_allclose(compared.output_difference, [[-0.5, 1.5], [-0.5, 1.5]])
    np.testing.assert_allclose(compared.moved_weights[0], [[0.5, 0.5], [0, 1]])
    np.testing.assert_allclose(compared.weights_difference[0], [[0.5, -0.5], [0.5, -0.5]])
    np.testing.assert_allclose(compared.means, [[[0.75, 0.75]], [[0.25, 2.25]]])
    assert (compared.output_gap, compared.weights_gap, compared.mean_gap) == (1.5, 0.5, 1.5)


def test_the_same_as_permutation_matrices_in_torch():
    e, order = random(mask=MASKS["causal"]), (3, 0, 4, 2, 1)
    P = torch.eye(5, dtype=torch.float64)[list(order)]
    W = {name: torch.tensor(np.array(getattr(e, name))) for name in ("W_Q", "W_K", "W_V", "W_O")}

    def attend(X):
        heads = F.scaled_dot_product_attention(
            X @ W["W_Q"], X @ W["W_K"], X @ W["W_V"], is_causal=True
        )
        return heads.transpose(0, 1).reshape(5, -1) @ W["W_O"]

    X = torch.tensor(np.array(e.X))

    compared = compare(e, order)

    np.testing.assert_allclose(compared.moved_output, P @ attend(X), atol=1e-12)
    np.testing.assert_allclose(compared.of_moved.attention.output, attend(P @ X), atol=1e-12)
    weights = torch.tensor(compared.trace.attention.heads.weights)
    np.testing.assert_allclose(compared.moved_weights, P @ weights @ P.T, atol=1e-15)


@given(experiments(), st.integers(0, 99))
def test_without_what_goes_by_place_every_row_goes_along(experiment, seed):
    e = with_only(experiment, [])
    order = shuffled(range(e.n_tokens), np.random.default_rng(seed))

    compared, bound = compare(e, order), rounding(e)

    assert compared.output_gap <= bound.output
    assert compared.weights_gap <= bound.weights
    assert compared.mean_gap <= bound.output


@given(experiments())
def test_the_own_order_changes_nothing_whatever_is_on(experiment):
    compared = compare(experiment, range(experiment.n_tokens))

    assert (compared.output_gap, compared.weights_gap, compared.mean_gap) == (0, 0, 0)


@pytest.mark.parametrize("kind", MASKS)
def test_a_mask_goes_by_place_and_breaks_it(kind):
    e = random(mask=MASKS[kind])

    compared = compare(e, (4, 0, 1, 2, 3))

    assert compared.output_gap > 1e-3
    allowed = e.mask.allowed(5)
    assert (compared.of_moved.attention.heads.weights[0] > 0).tolist() == allowed.tolist()


@pytest.mark.parametrize("encoding", ENCODINGS[1:])
def test_an_encoding_breaks_it(encoding):
    assert compare(random(encoding=encoding), (1, 2, 0, 4, 3)).output_gap > 1e-3


def test_alibi_cannot_tell_an_order_from_its_mirror():
    e = random(encoding="alibi")

    assert compare(e, (4, 3, 2, 1, 0)).output_gap <= rounding(e).output


def test_an_order_of_another_length_is_refused():
    with pytest.raises(ShapeError, match=r"order must have shape \(5,\), got \(3,\)"):
        compare(random(), (0, 1, 2))


@pytest.mark.parametrize("order", [(0, 0, 1), (0, 1, 3), (-1, 0, 1)])
def test_an_order_that_is_none_is_refused(order):
    with pytest.raises(FieldError, match="order: must hold each place from 0 to 2 once"):
        compare(random(3), order)


# --- many orders at once


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("kinds", [(), ("causal", "painted"), ("padding", "window")])
def test_gaps_of_all_orders_are_those_of_each_experiment(encoding, kinds):
    """By an independent route: an experiment with the tokens in the other order."""
    mask = Mask(kinds, painted=((1, 2, False), (0, 3, True)))
    e = random(4, encoding=encoding, mask=mask)
    output = e.trace().attention.output
    expected = [
        np.abs(replace(e, X=e.X[list(p)]).trace().attention.output - output[list(p)]).max()
        for p in permutations(range(4))
    ]

    found = gaps(e, all_orders(4))

    np.testing.assert_allclose(found, expected, atol=1e-13)


@pytest.mark.parametrize(("n_tokens", "encoding"), [(7, "none"), (7, "rotary"), (1, "none")])
def test_a_search_ends_with_the_largest_of_all_gaps(n_tokens, encoding):
    e = random(n_tokens, encoding=encoding)
    orders = all_orders(n_tokens)

    steps = list(search(e, orders))

    end, all_gaps = steps[-1], gaps(e, orders)
    assert [step.n_tried for step in steps] == [
        min(240 * (i + 1), len(orders)) for i in range(len(steps))
    ]
    assert end.n_tried == end.n_orders == len(orders)
    assert end.gap == pytest.approx(all_gaps.max(), abs=1e-15)
    assert gaps(e, end.order)[0] == pytest.approx(end.gap, abs=1e-12)
    np.testing.assert_allclose(end.gaps, all_gaps, atol=1e-12)
    assert end.n_changing == (0 if encoding == "none" else len(orders) - 1)


# --- rounding


def exact_gap_is_rounding(e, order):
    """Whether the difference vanishes in exact arithmetic, where every weight is equal."""
    rows = [[Fraction(float(x)) for x in row] for row in e.X]
    mean = [sum(column) / len(rows) for column in zip(*rows, strict=True)]
    moved_mean = [sum(column) / len(rows) for column in zip(*[rows[i] for i in order], strict=True)]
    return mean == moved_mean


def test_a_sum_that_depends_on_its_order_is_within_the_bound():
    # 1e6 + 1e-10 - 1e6 is not 1e6 - 1e6 + 1e-10: a threshold of 1e-12 would call it a change.
    e = mean_of_values([[1e6], [1e-10], [-1e6]])
    order = (0, 2, 1)

    gap = compare(e, order).output_gap

    assert exact_gap_is_rounding(e, order)
    assert 1e-12 < gap <= rounding(e).output


def test_where_scores_are_huge_rounding_may_do_anything():
    e = replace(random(), X=random().X * 1e5, W_Q=random().W_Q * 1e5)

    assert rounding(e).weights == 1
    assert not rounding(e).is_small
    assert rounding(random()).is_small


def test_a_change_of_a_millionth_is_no_rounding():
    tiny = replace(random(), encoding="sinusoidal", W_Q=random().W_Q * 1e-6, W_V=random().W_V)

    assert compare(tiny, (1, 0, 2, 3, 4)).weights_gap > rounding(tiny).weights


# --- what breaks it


def test_each_setting_is_measured_alone_and_switched_off():
    e = random(
        encoding="rotary", mask=replace(MASKS["causal"], kinds=("causal", "window"), after=9)
    )
    order = (1, 0, 2, 4, 3)
    e = replace(e, mask=replace(e.mask, before=9))  # a window that cuts nothing off

    rotary, causal, window = breakers(e, order)

    assert [each.setting for each in (rotary, causal, window)] == ["encoding", "causal", "window"]
    assert [each.is_breaking for each in (rotary, causal, window)] == [True, True, False]
    assert rotary.alone == compare(replace(e, mask=Mask()), order).output_gap
    assert rotary.without == compare(replace(e, encoding="none"), order).output_gap
    assert causal.without == compare(random(encoding="rotary"), order).output_gap
    assert window.without == compare(e, order).output_gap


def test_two_settings_may_break_together_what_neither_breaks_alone():
    # All is padding, so all outputs are 0; one painted cell alone allows what is allowed anyway.
    mask = Mask(("padding", "painted"), n_padding=3, painted=((0, 2, True),))
    e = random(3, mask=mask)

    assert not any(breaker.is_breaking for breaker in breakers(e, (2, 1, 0)))
    assert compare(e, (2, 1, 0)).output_gap > rounding(e).output


def test_only_what_is_wanted_is_left_on():
    e = random(encoding="alibi", mask=Mask(("causal", "padding"), n_padding=2))

    assert settings_on(e) == ("encoding", "causal", "padding")
    assert settings_on(with_only(e, ["padding"])) == ("padding",)
    assert with_only(e, ["padding"]).mask.n_padding == 2
    assert settings_on(with_only(e, [])) == ()


# --- encodings


@pytest.mark.parametrize("seed", range(4))
def test_only_no_encoding_without_a_mask_has_no_gap(seed):
    found = encoding_gaps(random(seed=seed, encoding="rotary", mask=MASKS["window"]))

    assert [(each.encoding, each.is_causal) for each in found if each.is_rounding] == [
        ("none", False)
    ]
    assert len(found) == 2 * len(ENCODINGS)


def test_the_gap_of_an_encoding_is_the_largest_of_all_swaps():
    e = random(4)
    (sinusoidal,) = [
        g for g in encoding_gaps(e) if (g.encoding, g.is_causal) == ("sinusoidal", True)
    ]
    with_it = replace(e, encoding="sinusoidal", mask=Mask(("causal",)))

    each = [compare(with_it, order).output_gap for order in swaps(4).tolist()]

    assert sinusoidal.gap == pytest.approx(max(each), abs=1e-13)


def test_a_gap_that_may_be_rounding_is_not_taken_for_none_where_scores_are_huge():
    # The vectors are so long that what the encoding adds is lost, and any key may win by rounding.
    found = encoding_gaps(replace(random(), X=random().X * 1e5, W_Q=random().W_Q * 1e5))

    causal = {each.encoding: each for each in found if each.is_causal}
    assert causal["none"].gap > 1
    assert causal["none"].is_unclear
    assert not causal["none"].is_rounding
    assert not any(each.is_unclear for each in encoding_gaps(random()))


def test_alibi_sees_no_order_of_two():
    alibi = [each for each in encoding_gaps(random(2)) if each.encoding == "alibi"]

    assert [each.is_rounding for each in alibi] == [True, False]


def test_one_token_has_no_gap():
    assert {each.gap for each in encoding_gaps(random(1))} == {0.0}


def test_scores_of_rotary_stay_where_all_positions_move_and_sinusoidal_ones_do_not():
    e = random(4, n_heads=1)
    changes = shift_changes(e, [1, 30])

    assert 0 < changes["rotary"].max() < 1e-13  # turned, so that it is rounded otherwise
    assert changes["sinusoidal"].min() > 1e-3
    angles = (np.arange(4)[:, None] + 30) / 10_000.0 ** (np.array([0, 2]) / 4)
    P = np.stack([np.sin(angles), np.cos(angles)], axis=-1).reshape(4, 4)
    scores = (e.X + P) @ e.W_Q[0] @ e.W_K[0].T @ (e.X + P).T
    at_0 = replace(e, encoding="sinusoidal").trace().attention.heads.scores[0]
    assert changes["sinusoidal"][1] == pytest.approx(np.abs(scores - at_0).max())


def test_lengths_by_hand():
    assert row_lengths(np.array([[3.0, 4.0], [0.0, 0.0]])).tolist() == [5, 0]

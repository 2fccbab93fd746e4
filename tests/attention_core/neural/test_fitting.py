"""Gradient descent on W_Q and W_K until the weights follow a pattern."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from attention_core import Experiment
from attention_core.errors import ForbiddenError, NotFiniteError, RangeError, ShapeError
from attention_core.neural import fitting
from attention_core.neural.fitting import (
    fit,
    forbidden,
    least_loss,
    loss_of,
    pattern,
    twins,
)

CAT = Experiment.from_preset("cat")
REPEATED = Experiment.from_preset("repeated")  # the cat saw the cat
EVERYTHING = np.ones((3, 3), dtype=bool)


def divergence(target, weights):
    """The loss, written down once more: rows that ask for nothing do not count."""
    rows = [
        sum(t * np.log(t / a) for t, a in zip(wanted, got, strict=True) if t > 0)
        for wanted, got in zip(target, weights, strict=True)
        if wanted.sum() > 0
    ]
    return float(np.mean(rows))


def weights_of(e, head=0):
    return e.trace().attention.heads.weights[head]


# --- targets


def test_patterns_by_hand():
    causal = np.tri(3, dtype=bool)

    assert pattern("identity", EVERYTHING).tolist() == [[1, 0, 0], [0, 1, 0], [0, 0, 1]]
    assert pattern("previous", EVERYTHING).tolist() == [[1, 0, 0], [1, 0, 0], [0, 1, 0]]
    assert pattern("first", EVERYTHING).tolist() == [[1, 0, 0], [1, 0, 0], [1, 0, 0]]
    assert pattern("uniform", causal).tolist() == [[1, 0, 0], [0.5, 0.5, 0], [1 / 3] * 3]


def test_painted_cells_share_their_row_and_those_of_other_sizes_are_passed_over():
    target = pattern("painted", EVERYTHING, [(0, 1), (0, 2), (2, 2), (7, 0)])

    assert target.tolist() == [[0, 0.5, 0.5], [0, 0, 0], [0, 0, 1]]


def test_uniform_asks_nothing_of_a_token_that_may_attend_to_nothing():
    allowed = EVERYTHING.copy()
    allowed[1] = False

    assert pattern("uniform", allowed)[1].tolist() == [0, 0, 0]


def test_what_the_mask_forbids_is_found():
    target = pattern("first", EVERYTHING)

    assert np.argwhere(forbidden(target, ~np.eye(3, dtype=bool))).tolist() == [[0, 0]]


# --- the bound


def test_the_bound_by_hand():
    # "the" stands first and fourth. Asked for the first and the third token, its one row can give
    # each half at most, and the half for the first is shared with its twin, the fourth.
    target = np.zeros((5, 5))
    target[0, 0], target[3, 2] = 1, 1

    assert least_loss(REPEATED, 0, target) == pytest.approx((np.log(4) + np.log(2)) / 2)


def test_without_equal_tokens_or_with_positions_nothing_is_forbidden():
    target = pattern("previous", np.ones((5, 5), dtype=bool))

    assert least_loss(CAT, 0, pattern("previous", EVERYTHING)) == pytest.approx(0, abs=1e-9)
    for encoding in ("sinusoidal", "learned", "rotary"):
        e = replace(REPEATED, encoding=encoding)
        assert least_loss(e, 0, target) == pytest.approx(0, abs=1e-9)


def test_alibi_and_a_head_too_narrow_to_turn_do_not_free_equal_tokens():
    target = pattern("previous", np.ones((5, 5), dtype=bool))
    alibi, narrow = replace(REPEATED, encoding="alibi"), REPEATED.resized(d_k=1)

    course = fit(alibi, 0, target, learning_rate=0.1, n_steps=400)

    assert course.losses[-1] >= least_loss(alibi, 0, target) > 0.99 * course.losses[-1]
    assert least_loss(replace(narrow, encoding="rotary"), 0, target) > 0.8


def test_equal_tokens_that_may_look_at_different_tokens_still_stand_in_the_way():
    e = Experiment.from_preset("random")
    e = replace(e, X=e.X[[0, 1, 2, 2]], mask=e.mask.only("causal"))
    target = pattern("painted", e.mask.allowed(4), [(2, 0), (3, 1)])

    assert least_loss(e, 0, target) == pytest.approx(np.log(2))


def test_a_weight_that_is_the_smallest_number_has_a_finite_logarithm():
    target, weights = np.array([[1.0, 0]]), np.array([[5e-324, 1]])

    assert loss_of(target, weights) == pytest.approx(744.44, abs=0.01)


def test_a_token_of_zeros_looks_evenly_whatever_the_matrices_are():
    X = CAT.X.copy()
    X[0] = 0
    target = np.zeros((3, 3))
    target[0, 1] = 1

    assert least_loss(replace(CAT, X=X), 0, target) == pytest.approx(np.log(3))
    assert least_loss(replace(CAT, X=X, encoding="rotary"), 0, target) == pytest.approx(np.log(3))


def test_nothing_asked_for_is_nothing_lost():
    assert least_loss(REPEATED, 0, np.zeros((5, 5))) == 0
    assert loss_of(np.zeros((5, 5)), weights_of(REPEATED)) == 0


def test_the_loss_by_hand():
    target = np.array([[1, 0], [0.5, 0.5], [0, 0]])
    weights = np.array([[0.5, 0.5], [0.5, 0.5], [1, 0]])

    assert loss_of(target, weights) == pytest.approx(np.log(2) / 2)
    assert loss_of(target[:, ::-1], weights[::-1]) == np.inf


def test_tokens_with_the_same_inputs_are_found():
    assert twins(REPEATED) == [[0, 3], [1, 4]]
    assert twins(replace(REPEATED, encoding="sinusoidal")) == []
    assert twins(replace(REPEATED, encoding="alibi")) == [[0, 3], [1, 4]]
    assert twins(replace(REPEATED, X=0 * REPEATED.X)) == []
    assert twins(CAT) == []


@pytest.mark.parametrize("mask", [(), ("causal",), ("window",)])
@pytest.mark.parametrize("encoding", ["none", "alibi", "rotary"])
def test_no_matrices_go_below_the_bound(encoding, mask):
    rng = np.random.default_rng(0)
    e = replace(REPEATED, encoding=encoding, mask=replace(REPEATED.mask, kinds=mask))
    X = e.X.copy()
    X[2] = 0
    e = replace(e, X=X)
    allowed = e.mask.allowed(5)

    for _ in range(50):
        target = rng.random((5, 5)) * allowed * (rng.random((5, 5)) < 0.6)
        target /= np.maximum(target.sum(axis=-1, keepdims=True), 1e-9)
        bound = least_loss(e, 0, target)
        for scale in (0.1, 1, 5):
            W_Q, W_K = scale * rng.normal(size=(2, 1, 3, 2))
            if target.any():
                assert divergence(target, weights_of(replace(e, W_Q=W_Q, W_K=W_K))) >= bound - 1e-9


def test_the_bound_is_reached_where_only_equal_tokens_stand_in_the_way():
    target = pattern("previous", np.ones((5, 5), dtype=bool))

    course = fit(REPEATED, 0, target, learning_rate=0.1, n_steps=400)

    bound = least_loss(REPEATED, 0, target)
    assert bound > 0.8
    assert bound <= course.losses[-1] < bound + 0.005


# --- the fit


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("name", ["identity", "previous", "first", "uniform"])
def test_a_possible_pattern_is_found(name, seed):
    e = Experiment.from_preset("random", seed=seed)
    target = pattern(name, e.mask.allowed(4))

    course = fit(e, 0, target, learning_rate=0.1, n_steps=300)

    assert np.abs(weights_of(course.at(course.moments[-1])) - target).max() < 0.02
    assert course.losses[-1] < 0.05 < course.losses[0]


def test_the_loss_told_is_that_of_the_weights_the_core_computes():
    e = replace(Experiment.from_preset("random").resized(n_heads=2, d_k=3), encoding="alibi")
    e = replace(e, mask=e.mask.only("causal"))
    target = pattern("first", e.mask.allowed(4))

    course = fit(e, 1, target, learning_rate=0.05, n_steps=7)

    for moment in course.moments:
        weights = weights_of(course.at(moment), 1)
        assert moment.loss == pytest.approx(divergence(target, weights), abs=2e-3)
        assert moment.loss == course.losses[moment.step]


def test_one_step_is_that_of_adamw_on_a_gradient_by_finite_differences():
    target = pattern("previous", EVERYTHING)

    course = fit(CAT, 0, target, learning_rate=0.01, n_steps=1, begin_at="own")

    # The first step of Adam is the rate times the sign of the gradient, after a decay of 1 %.
    gradient = np.zeros_like(CAT.W_Q[0])
    for place in np.ndindex(gradient.shape):
        nudge = np.zeros_like(CAT.W_Q)
        nudge[0][place] = 1e-6
        up, down = (
            divergence(target, weights_of(replace(CAT, W_Q=CAT.W_Q + way * nudge)))
            for way in (1, -1)
        )
        gradient[place] = (up - down) / 2e-6
    assert np.abs(gradient).min() > 1e-3
    expected = CAT.W_Q[0] * (1 - 0.01 * 0.01) - 0.01 * np.sign(gradient)
    np.testing.assert_allclose(course.moments[-1].W_Q, expected, atol=1e-4)


def test_only_the_two_matrices_of_the_one_head_move():
    e = Experiment.from_preset("random").resized(n_heads=3, d_k=2)

    course = fit(
        e, 1, pattern("identity", np.ones((4, 4), dtype=bool)), learning_rate=0.1, n_steps=3
    )
    fitted = course.at(course.moments[-1])

    for name in ("X", "W_V"):
        np.testing.assert_array_equal(getattr(fitted, name), getattr(e, name))
    for name in ("W_Q", "W_K"):
        before, after = getattr(e, name), getattr(fitted, name)
        np.testing.assert_array_equal(after[[0, 2]], before[[0, 2]])
        assert (after[1] != before[1]).all()


def test_the_same_seed_gives_the_same_course_and_nothing_global_is_touched():
    target = pattern("first", EVERYTHING)
    state = torch.random.get_rng_state()

    one, other = (fit(CAT, 0, target, learning_rate=0.1, n_steps=5).losses for _ in range(2))
    third = fit(replace(CAT, seed=5), 0, target, learning_rate=0.1, n_steps=5).losses

    assert one == other != third
    assert torch.equal(torch.random.get_rng_state(), state)


def test_it_begins_at_its_own_matrices_if_asked():
    course = fit(CAT, 0, pattern("first", EVERYTHING), learning_rate=0.1, n_steps=1, begin_at="own")

    np.testing.assert_allclose(course.moments[0].W_Q, CAT.W_Q[0], atol=1e-4)


def test_it_tells_how_far_it_is_and_keeps_few_moments():
    told = []

    course = fit(
        CAT,
        0,
        pattern("first", EVERYTHING),
        learning_rate=0.1,
        n_steps=250,
        tell=lambda done, so_far: told.append((done, so_far)),
    )

    assert [done for done, _ in told] == [step / 250 for step in range(251)]
    assert [len(so_far.losses) for _, so_far in told] == [*range(1, 252)]
    assert all(so_far.moments[-1].step == len(so_far.losses) - 1 for _, so_far in told)
    assert [moment.step for moment in course.moments][:3] == [0, 3, 6]
    assert course.moments[-1].step == 250
    assert len(course.moments) <= fitting.MOST_MOMENTS + 2


def test_what_tell_raises_ends_it():
    def tell(done, course):
        if done >= 0.5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fit(CAT, 0, pattern("first", EVERYTHING), learning_rate=0.1, n_steps=10, tell=tell)


def test_weights_that_have_underflowed_to_0_still_have_a_loss_and_a_way_back():
    # A naive logarithm of the weights would be -inf here, and its gradient NaN.
    far = replace(CAT, W_Q=200 * CAT.W_Q, W_K=200 * CAT.W_K)
    target = pattern("identity", EVERYTHING)
    assert (weights_of(far)[target > 0] == 0).any()

    course = fit(far, 0, target, learning_rate=0.1, n_steps=3, begin_at="own")

    assert np.isfinite(course.losses).all()
    assert course.losses[-1] < course.losses[0]


def test_an_empty_row_and_one_that_is_not_asked_do_no_harm():
    e = CAT.with_painted([(0, 0), (0, 1), (0, 2)], False)
    target = np.zeros((3, 3))
    target[1, 2] = 1

    course = fit(e, 0, target, learning_rate=0.1, n_steps=100)

    assert course.losses[-1] < 0.05


def test_asked_for_nothing_it_has_no_loss():
    course = fit(CAT, 0, np.zeros((3, 3)), learning_rate=0.1, n_steps=2)

    assert course.losses == (0, 0, 0)


# --- errors


def test_what_the_mask_forbids_is_refused():
    e = replace(CAT, mask=CAT.mask.only("causal"))
    target = np.zeros((3, 3))
    target[0, 2] = target[1, 2] = 0.5

    with pytest.raises(ForbiddenError) as caught:
        fit(e, 0, target, learning_rate=0.1, n_steps=1)

    expected = "the mask forbids (query, key) (0, 2), (1, 2), which the target asks for"
    assert str(caught.value) == expected
    assert caught.value.cells == ((0, 2), (1, 2))


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"target": np.zeros((2, 3))}, ShapeError, "target must have shape (3, 3), got (2, 3)"),
        ({"head": 1}, RangeError, "head must lie between 0 and 0, got 1"),
        ({"n_steps": 0}, RangeError, "n_steps must lie between 1 and inf, got 0"),
        ({"learning_rate": 0.0}, RangeError, "learning_rate must lie between 0 and inf, got 0.0"),
    ],
)
def test_other_errors_name_the_argument(changes, error, message):
    given = {"head": 0, "target": np.eye(3), "learning_rate": 0.1, "n_steps": 1} | changes

    with pytest.raises(error) as caught:
        fit(CAT, given.pop("head"), given.pop("target"), **given)

    assert str(caught.value) == message


def test_a_loss_that_is_no_number_ends_it(monkeypatch):
    nan = torch.full((), torch.nan, requires_grad=True)
    monkeypatch.setattr(fitting, "_loss", lambda *_: nan * 1)

    with pytest.raises(NotFiniteError, match=r"loss must be finite, but is not at index \(0,\)"):
        fit(CAT, 0, np.eye(3), learning_rate=0.1, n_steps=3)

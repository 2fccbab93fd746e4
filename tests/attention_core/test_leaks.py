from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from attention_core import Experiment, Mask
from attention_core.errors import ChoiceError
from attention_core.experiment import MAX_VALUE
from attention_core.leaks import LEAKS, changed, mask_for, masked_weights, probes
from attention_core.masks import causal
from attention_core.presets import ENCODINGS

every_leak = pytest.mark.parametrize("leak", LEAKS)


def experiment(n_tokens=4, encoding="none", **mask):
    start = Experiment.from_preset("random", seed=11).resized(n_tokens=n_tokens)
    return replace(start, mask=Mask(**mask), encoding=encoding)


def probed(e, token, leak, head=0):
    return probes(e, e.trace().attention, head, token, leak)


def test_each_mistake_by_hand():
    # e^0 = 1, e^1 = e: all scores 0 (and 1 for the allowed ones where it is added).
    scores, allowed, e = np.zeros((2, 2)), causal(2), np.e

    got = {leak: masked_weights(scores, allowed, leak) for leak in (None, *LEAKS)}

    half = [0.5, 0.5]
    np.testing.assert_allclose(got[None], [[1, 0], half])
    np.testing.assert_allclose(got["zeroed"], [half, half])
    np.testing.assert_allclose(got["added"], [[e / (e + 1), 1 / (e + 1)], half])
    np.testing.assert_allclose(got["transposed"], [half, [0, 1]])
    np.testing.assert_allclose(got["after_softmax"], [[0.5, 0], half])


def test_padding_on_rows_empties_the_padded_rows_and_hides_no_key():
    allowed = np.array([[True, True, False]] * 3)

    weights = masked_weights(np.zeros((3, 3)), allowed, "on_rows")

    np.testing.assert_allclose(weights, [[1 / 3] * 3, [1 / 3] * 3, [0] * 3])


def test_a_row_without_a_key_gets_no_weight():
    allowed = np.array([[True, False], [False, False]])

    np.testing.assert_array_equal(masked_weights(np.ones((2, 2)), allowed, None), [[1, 0], [0, 0]])


@every_leak
def test_each_mistake_agrees_with_pytorch(leak):
    scores = np.random.default_rng(0).standard_normal((4, 4))
    S, A = torch.tensor(scores), torch.tensor(causal(4))
    written = {
        "zeroed": lambda: (S * A).softmax(-1),
        "added": lambda: (S + A.double()).softmax(-1),
        "transposed": lambda: S.masked_fill(~A.T, -torch.inf).softmax(-1),
        "on_rows": lambda: S.masked_fill(~A.T, -torch.inf).softmax(-1),
        "after_softmax": lambda: S.softmax(-1) * A,
    }

    got = masked_weights(scores, causal(4), leak)

    np.testing.assert_allclose(got, written[leak]().numpy(), rtol=1e-12)


@every_leak
def test_under_each_mistake_a_row_moves_that_must_not(leak):
    right, broken = probed(experiment(), 3, leak)

    assert broken.leaking.any()
    assert not right.leaking.any()


@given(
    st.integers(1, 8),
    st.sampled_from(ENCODINGS),
    st.lists(st.sampled_from(["causal", "padding", "window"]), unique=True),
    st.sampled_from(LEAKS),
    st.data(),
)
def test_nothing_leaks_through_the_right_mask(n_tokens, encoding, kinds, leak, data):
    e = experiment(n_tokens, encoding, kinds=tuple(kinds), n_padding=2)
    token = data.draw(st.integers(0, n_tokens - 1))

    right, broken = probed(e, token, leak)

    assert not right.leaking.any()
    np.testing.assert_array_equal(right.must_stay, broken.must_stay)


@given(st.integers(1, 8), st.sampled_from(ENCODINGS), st.data())
def test_the_right_mask_gives_what_the_experiment_gives(n_tokens, encoding, data):
    e = experiment(n_tokens, encoding, kinds=("causal", "window"))
    token = data.draw(st.integers(0, n_tokens - 1))

    right, _ = probed(e, token, "zeroed")

    np.testing.assert_allclose(right.weights, e.trace().attention.head(0).weights, atol=1e-12)
    np.testing.assert_allclose(right.before, e.trace().attention.head(0).output, atol=1e-12)
    after = changed(e, token).trace().attention.head(0).output
    np.testing.assert_allclose(right.after, after, atol=1e-12)


def test_which_rows_must_stay_by_hand():
    right, _ = probed(experiment(kinds=("causal",)), 2, "zeroed")

    assert right.must_stay.tolist() == [True, True, False, False]


def test_a_token_that_may_not_see_itself_may_move_all_the_same():
    e = experiment(3).with_painted([(1, 1), (0, 1)], False)

    right, _ = probed(e, 1, "zeroed")

    assert right.must_stay.tolist() == [True, False, False]
    assert not right.leaking.any()


def test_what_moved_by_hand():
    right, broken = probed(experiment(), 3, "zeroed")

    for probe in (right, broken):
        expected = np.abs(probe.after - probe.before).max(axis=-1)
        np.testing.assert_array_equal(probe.moved_by, expected)
        np.testing.assert_array_equal(probe.leaking, probe.must_stay & (expected > 0))


def test_the_mask_is_that_of_the_experiment_or_causal():
    own = experiment(3, kinds=("window",), before=0, after=0)

    np.testing.assert_array_equal(mask_for(own, "added"), np.eye(3, dtype=bool))
    np.testing.assert_array_equal(mask_for(experiment(3), "added"), causal(3))


@pytest.mark.parametrize(
    ("n_tokens", "mask", "n_padding"),
    [
        (4, {}, 1),
        (4, {"kinds": ("causal",)}, 1),
        (4, {"kinds": ("padding",), "n_padding": 2}, 2),
        (4, {"kinds": ("padding",), "n_padding": 0}, 1),
        (4, {"kinds": ("padding",), "n_padding": 12}, 3),
        (1, {}, 0),
    ],
)
def test_padding_on_rows_is_shown_on_padding_alone(n_tokens, mask, n_padding):
    allowed = mask_for(experiment(n_tokens, **mask), "on_rows")

    hidden = [column >= n_tokens - n_padding for column in range(n_tokens)]
    np.testing.assert_array_equal(allowed, [[not is_hidden for is_hidden in hidden]] * n_tokens)


def test_a_changed_token_has_1_more_everywhere():
    e = experiment()

    moved = changed(e, 1).X - e.X

    np.testing.assert_allclose(moved, [[0] * 4, [1] * 4, [0] * 4, [0] * 4], atol=1e-12)


@pytest.mark.parametrize("row", [[MAX_VALUE, -MAX_VALUE, 0, 0], [MAX_VALUE] * 4, [-MAX_VALUE] * 4])
def test_a_token_at_the_limit_is_changed_within_it(row):
    e = experiment().with_block("X", (0, 0), [row])

    after = changed(e, 0).X[0]

    assert (after != row).any()
    assert np.abs(after).max() <= MAX_VALUE


def test_an_unknown_mistake_is_refused():
    with pytest.raises(ChoiceError) as caught:
        masked_weights(np.zeros((1, 1)), causal(1), "painted")

    names = "zeroed, added, transposed, on_rows, after_softmax"
    assert str(caught.value) == f"leak must be one of {names}, got 'painted'"

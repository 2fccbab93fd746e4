"""The steps in PyTorch are those of the trace, and gradients flow back through them."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
import torch

from attention_core import PRESETS, Experiment, Mask, positions
from attention_core.experiment import MASK_KINDS
from attention_core.neural.forward import forward, leaves, rotary
from attention_core.presets import ENCODINGS
from tests.playground.experiments import every_setting

MASKS = [(), *((kind,) for kind in MASK_KINDS), MASK_KINDS]
PAINTED = ((0, 0, False), (1, 0, True), *((2, key, False) for key in range(12)))


def assert_same(e):
    steps, attention = forward(e, leaves(e)), e.trace().attention

    heads = attention.heads
    pairs = {
        "Q": heads.Q,
        "K": heads.K,
        "V": heads.V,
        "weights": heads.weights,
        "head_outputs": heads.output,
        "concatenated": attention.concatenated,
        "output": attention.output,
    }
    for name, expected in pairs.items():
        got = getattr(steps, name).numpy()
        assert got.shape == expected.shape, name
        np.testing.assert_allclose(got, expected, rtol=1e-12, atol=1e-12, err_msg=name)


def test_two_tokens_by_hand():
    # W_Q picks the first column, W_K is 0: even weights, and the output is the mean of X.
    X, one = np.array([[1.0, 2.0], [3.0, 4.0]]), np.eye(2)[None]
    e = Experiment(("a", "b"), X, W_Q=one, W_K=0 * one, W_V=one)

    steps = forward(e, leaves(e))

    assert steps.weights.tolist() == [[[0.5, 0.5], [0.5, 0.5]]]
    assert steps.output.tolist() == [[2.0, 3.0], [2.0, 3.0]]


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("preset", PRESETS)
def test_every_preset_under_every_encoding_and_mask_is_the_trace(preset, encoding):
    start = Experiment.from_preset(preset)
    for kinds, is_scaled in product(MASKS, (True, False)):
        mask = Mask(kinds, n_padding=2, before=1, after=1, painted=PAINTED)
        assert_same(replace(start, encoding=encoding, mask=mask, is_scaled=is_scaled))


@every_setting
def test_every_setting_is_the_trace(e):
    assert_same(e)


@pytest.mark.parametrize(
    "e",
    [
        Experiment.from_preset("random").resized(n_tokens=1, d_model=1, d_k=1, n_heads=1),
        Experiment.from_preset("random").resized(n_tokens=12, d_model=8, d_k=8, n_heads=8),
    ],
    ids=["smallest", "largest"],
)
@pytest.mark.parametrize("encoding", ENCODINGS)
def test_the_smallest_and_the_largest_are_the_trace(e, encoding):
    assert_same(replace(e, encoding=encoding))


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_several_sequences_at_once_are_each_by_itself(encoding):
    e = replace(Experiment.from_preset("random").resized(n_heads=2, d_k=3), encoding=encoding)
    X = np.stack([e.X, -e.X, 2 * e.X])
    given = replace(leaves(e), X=torch.tensor(X))

    steps = forward(e, given)

    for index, each in enumerate(X):
        expected = e.trace_of(each).attention.output
        np.testing.assert_allclose(steps.output[index], expected, rtol=0, atol=1e-12)


def test_another_mask_takes_the_place_of_the_experiments():
    e = Experiment.from_preset("random").resized(n_heads=2)
    causal = replace(e, mask=Mask(("causal",)))
    allowed = causal.mask.allowed(e.n_tokens)

    steps = forward(e, leaves(e), allowed=torch.tensor(allowed))

    np.testing.assert_allclose(steps.weights, causal.trace().attention.heads.weights, atol=1e-12)


def test_leaves_are_copies_that_gradients_reach():
    e = Experiment.from_preset("random").resized(n_heads=2).with_output_projection(True)
    before = e.X.copy()
    given = leaves(e, requires_grad=True)

    forward(e, given).output.square().sum().backward()
    with torch.no_grad():
        given.X.add_(1)

    for name in ("X", "W_Q", "W_K", "W_V", "W_O"):
        assert getattr(given, name).grad.any(), name
    np.testing.assert_array_equal(e.X, before)


def test_gradients_are_those_of_finite_differences():
    e = replace(
        Experiment.from_preset("random").resized(n_tokens=3, d_model=4, d_k=3, n_heads=2),
        encoding="rotary",
        mask=Mask(("causal",)),
    )
    given = leaves(e, requires_grad=True)

    forward(e, given).output[2, 1].backward()

    h = 1e-6
    for name, index in (("W_Q", (1, 2, 0)), ("W_K", (0, 1, 1)), ("W_V", (0, 3, 1))):
        low, high = (e.with_cell(name, index, getattr(e, name)[index] + step) for step in (-h, h))
        slope = (high.trace().attention.output - low.trace().attention.output)[2, 1] / (2 * h)
        assert getattr(given, name).grad[index] == pytest.approx(slope, abs=1e-7)


def test_float32_stays_float32():
    e = replace(Experiment.from_preset("random"), encoding="alibi")

    steps = forward(e, leaves(e, dtype=torch.float32))

    assert {steps.Q.dtype, steps.weights.dtype, steps.output.dtype} == {torch.float32}


@pytest.mark.parametrize("d_k", [1, 2, 3, 8])
def test_rotary_turns_as_the_core_does(d_k):
    vectors = np.random.default_rng(0).normal(size=(2, 5, d_k))

    turned = rotary(torch.tensor(vectors))

    np.testing.assert_allclose(turned, positions.rotary(vectors), rtol=0, atol=1e-14)

"""One experiment through all routes of PyTorch, and what cannot be expressed."""

import re
from dataclasses import replace

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings

from attention_core import PRESETS, Experiment, Mask
from attention_core.errors import ChoiceError
from attention_core.neural import parity as module
from attention_core.neural.parity import ROUTES, STAGES, Gap, parity
from attention_core.presets import ENCODINGS
from attention_core.rounding import FLOATS
from tests.playground.experiments import SETTINGS, experiments

RANDOM = Experiment.from_preset("random")
TWO = RANDOM.resized(n_tokens=4, d_model=4, d_k=2, n_heads=2)
EMPTY = replace(TWO, mask=Mask(("causal", "padding", "window"), n_padding=3))  # rows 3 and 4
every_precision = pytest.mark.parametrize("precision", FLOATS)


def given_by(p, route):
    return {stage: gap.values for stage, gap in p.passages[route].gaps.items()}


# --- one gap


def test_a_gap_by_hand():
    values = np.array([[[1.0, 2.0], [np.nan, 4.0]], [[5.0, 5.5], [7.0, 8.0]]])
    difference = np.array([[[0.0, -0.1], [np.nan, 0.0]], [[0.0, 0.5], [0.0, 0.0]]])

    gap = Gap(values, difference, np.full((2, 2, 2), 0.4))

    assert gap.largest == 0.5
    assert gap.place == (1, 0, 1)
    assert gap.bound_there == 0.4
    assert gap.per_head == [0.1, 0.5]
    assert gap.nan_rows == [1]
    assert not gap.is_within
    assert Gap(values, difference, np.full((2, 2, 2), 0.5)).is_within


def test_a_gap_of_nothing_but_nan_has_no_largest():
    nothing = np.full((1, 2, 2), np.nan)

    gap = Gap(nothing, nothing, np.ones((1, 2, 2)))

    assert gap.place is None
    assert np.isnan([gap.largest, gap.bound_there, *gap.per_head]).all()
    assert gap.nan_rows == [0, 1]


# --- the routes


@every_precision
@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("preset", PRESETS)
def test_every_route_agrees_on_every_preset_within_rounding(preset, encoding, precision):
    start = replace(Experiment.from_preset(preset), encoding=encoding)
    for kinds in ((), ("causal",), ("causal", "window")):
        p = parity(replace(start, mask=Mask(kinds)), precision=precision)

        assert p.is_within
        assert "function" in p.possible
        for passage in p.passages.values():
            assert set(passage.gaps) | set(passage.lacks) == set(STAGES)
            assert not set(passage.gaps) & set(passage.lacks)


@every_precision
@pytest.mark.parametrize("encoding", ENCODINGS)
def test_every_route_agrees_under_every_setting(encoding, precision):
    for e in SETTINGS[encoding][:: 3 if precision == "float64" else 7]:
        assert parity(e, precision=precision).is_within


@settings(max_examples=60)
@given(experiments())
def test_every_route_agrees_on_any_experiment(e):
    for precision in FLOATS:
        assert parity(e, precision=precision).is_within


def test_each_route_gives_what_its_own_call_gives():
    e = replace(TWO.with_output_projection(True), mask=Mask(("causal",)))
    X, allowed = torch.tensor(e.X), torch.tensor(e.mask.allowed(4))
    Q, K, V = (X @ torch.tensor(getattr(e, name)) for name in ("W_Q", "W_K", "W_V"))
    heads = F.scaled_dot_product_attention(Q, K, V, is_causal=True)
    layer = module.to_torch(e)
    output, weights = layer(
        X[None], X[None], X[None], attn_mask=~allowed, average_attn_weights=False
    )

    p = parity(e)

    np.testing.assert_allclose(given_by(p, "function")["head_outputs"], heads, rtol=0, atol=1e-14)
    by_layer = given_by(p, "torch_layer")
    np.testing.assert_allclose(by_layer["weights"], weights[0].detach(), rtol=0, atol=1e-14)
    np.testing.assert_allclose(by_layer["output"], output[0].detach(), rtol=0, atol=1e-14)
    for route in ("multi_head", "function"):
        np.testing.assert_allclose(given_by(p, route)["Q"], Q, rtol=0, atol=1e-14)
        np.testing.assert_allclose(given_by(p, route)["output"], output[0].detach(), atol=1e-14)


def test_one_head_goes_through_our_layer_of_one_head_too():
    e = RANDOM.resized(d_model=5, d_k=3, n_heads=1)

    p, with_W_O = parity(e), parity(e.with_output_projection(True))

    assert p.possible == list(ROUTES)
    assert set(p.passages["self_attention"].gaps) == set(STAGES)
    assert with_W_O.passages["self_attention"].lacks == {"output": "no_W_O"}


def test_float32_is_farther_apart_than_float64_and_the_reference_is_the_same():
    wide, narrow = parity(TWO), parity(TWO, precision="float32")

    for route in narrow.possible:
        gap = narrow.passages[route].gaps["output"]
        assert 1e-9 < gap.largest < 1e-5
        assert wide.passages[route].gaps["output"].largest < 1e-14
        reference = gap.values - gap.difference
        np.testing.assert_allclose(reference, TWO.trace().attention.output, rtol=0, atol=1e-14)


def test_the_worst_of_all_is_the_largest():
    p = parity(TWO, precision="float32")

    route, stage = p.worst

    sizes = [gap.largest for passage in p.passages.values() for gap in passage.gaps.values()]
    assert p.passages[route].gaps[stage].largest == max(sizes)


def test_without_its_mask_the_experiment_is_computed_as_if_it_had_none():
    p = parity(EMPTY, is_masked=False)

    assert p.trace.attention.heads.allowed.all()
    np.testing.assert_allclose(
        given_by(p, "torch_layer")["weights"], TWO.trace().attention.heads.weights, atol=1e-14
    )
    assert parity(EMPTY).experiment.mask == EMPTY.mask


# --- what cannot be expressed


@pytest.mark.parametrize(
    ("encoding", "n_heads", "lacks"),
    [
        ("none", 2, {"self_attention": "heads"}),
        ("sinusoidal", 1, {}),
        ("learned", 1, {}),
        ("alibi", 1, {"self_attention": "alibi", "multi_head": "alibi"}),
        ("alibi", 2, {"self_attention": "heads", "multi_head": "alibi"}),
        ("rotary", 1, dict.fromkeys(("self_attention", "multi_head", "torch_layer"), "rotary")),
    ],
)
def test_what_a_route_cannot_express_is_told_with_its_reason(encoding, n_heads, lacks):
    e = replace(RANDOM.resized(d_model=4, d_k=2, n_heads=n_heads), encoding=encoding)

    p = parity(e)

    assert {r: q.lack for r, q in p.passages.items() if q.lack is not None} == lacks
    assert p.possible == [route for route in ROUTES if route not in lacks]
    for route in lacks:
        assert set(p.passages[route].lacks) == set(STAGES)


def test_pytorchs_layer_gives_weights_and_output_alone():
    lacks = parity(TWO).passages["torch_layer"].lacks

    assert lacks == dict.fromkeys(("Q", "K", "V", "head_outputs"), "inside")


def test_alibi_goes_into_pytorchs_layer_as_a_mask_of_numbers():
    e = replace(EMPTY, encoding="alibi", mask=Mask(("causal",)))

    p = parity(e)

    weights = p.passages["torch_layer"].gaps["weights"]
    assert weights.largest < 1e-14
    plain = replace(e, encoding="none").trace().attention.heads.weights
    assert np.abs(weights.values - plain).max() > 0.01


# --- empty rows


@every_precision
@pytest.mark.parametrize("encoding", ["none", "alibi"])
def test_nan_of_pytorchs_layer_is_reported_row_by_row_and_all_else_is_a_number(encoding, precision):
    p = parity(replace(EMPTY, encoding=encoding), precision=precision)

    for stage in ("weights", "output"):
        gap = p.passages["torch_layer"].gaps[stage]
        assert gap.nan_rows == [2, 3]
        assert np.isnan(gap.values[..., 2:, :]).all()
        assert gap.is_within
    for route in set(p.possible) - {"torch_layer"}:
        for gap in p.passages[route].gaps.values():
            assert gap.nan_rows == []
        assert not p.passages[route].gaps["weights"].values[:, 2:].any()


def test_where_every_row_is_empty_nothing_of_the_layer_is_a_number():
    p = parity(replace(TWO, mask=Mask(("padding",), n_padding=4)))

    gap = p.passages["torch_layer"].gaps["output"]
    assert gap.place is None
    assert p.worst[0] != "torch_layer"
    assert p.is_within


# --- a verdict made of numbers


def test_a_route_that_computes_something_else_is_not_within(monkeypatch):
    forward = module.forward

    def wrong(e, given, **more):
        steps = forward(e, given, **more)
        return replace(steps, Q=steps.Q * (1 + 1e-9))

    monkeypatch.setattr(module, "forward", wrong)

    p = parity(TWO)

    assert not p.is_within
    assert not p.passages["function"].gaps["weights"].is_within
    assert p.passages["torch_layer"].gaps["weights"].is_within
    assert parity(TWO, precision="float32").is_within


def test_an_unknown_precision_is_named():
    message = "precision must be one of float64, float32, got 'float16'"
    with pytest.raises(ChoiceError, match=re.escape(message)):
        parity(TWO, precision="float16")

"""The weights of an experiment in PyTorch's layers, there and back."""

import io
import math
import re
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn

from attention_core import PRESETS, Experiment, Mask
from attention_core.errors import FieldError, NotFiniteError, RangeError, ShapeError
from attention_core.neural.layers import MultiHeadAttention
from attention_core.neural.weights import (
    Fit,
    fitted_inputs,
    from_layer,
    from_state,
    to_multi_head,
    to_ours,
    to_self_attention,
    to_state,
    to_torch,
    to_torchs,
)
from attention_core.presets import ENCODINGS

RANDOM = Experiment.from_preset("random")
SIZES = [
    {"d_model": 4, "d_k": 2, "n_heads": 2},  # as it is
    {"d_model": 5, "d_k": 2, "n_heads": 2},  # wider than its heads
    {"d_model": 3, "d_k": 4, "n_heads": 2},  # narrower
    {"d_model": 1, "d_k": 1, "n_heads": 8},
    {"d_model": 8, "d_k": 1, "n_heads": 1},
    {"d_model": 1, "d_k": 8, "n_heads": 1},
]


def every():
    for preset in PRESETS:
        yield Experiment.from_preset(preset)
    for sizes in SIZES:
        for has_W_O in (False, True):
            for is_scaled in (False, True):
                e = RANDOM.resized(**sizes).with_output_projection(has_W_O)
                yield replace(e, is_scaled=is_scaled)


def named(e):
    return f"{e.preset}-{e.sizes}-{e.W_O is not None}-{e.is_scaled}"


every_experiment = pytest.mark.parametrize("e", list(every()), ids=named)


def assert_same_weights(a, b):
    np.testing.assert_allclose(a.W_Q, b.W_Q, rtol=1e-15, atol=0)  # multiplied there, divided back
    np.testing.assert_array_equal(a.W_K, b.W_K)
    np.testing.assert_array_equal(a.W_V, b.W_V)
    assert (a.W_O is None) == (b.W_O is None)
    if a.W_O is not None:
        np.testing.assert_array_equal(a.W_O, b.W_O)


def scrambled(e):
    """The same settings with other weights, so that what comes back was in the layer."""
    others = {name: getattr(e, name) + 1.0 for name in ("W_Q", "W_K", "W_V")}
    return replace(e, W_O=None if e.W_O is None else e.W_O - 1.0, **others)


# --- there


def test_two_heads_by_hand():
    W = np.arange(8.0).reshape(2, 2, 2)[:, :, :1]  # (2 heads, 2, 1): (0, 2) and (4, 6)
    e = Experiment(
        ("a",), np.ones((1, 2)), W_Q=W, W_K=10 + W, W_V=20 + W, W_O=np.array([[1, 2], [3, 4.0]])
    )

    state = to_state(e)

    rows = [[0, 2], [4, 6], [10, 12], [14, 16], [20, 22], [24, 26]]  # head by head, transposed
    assert state["in_proj_weight"].tolist() == rows
    assert state["out_proj.weight"].tolist() == [[1, 3], [2, 4]]


@every_experiment
def test_pytorchs_layer_and_ours_compute_the_experiment(e):
    e = replace(e, encoding="none")
    x, width = fitted_inputs(e), e.n_heads * e.d_k if e.W_O is None else e.d_model

    output, weights = to_torch(e)(x, x, x, average_attn_weights=False)
    ours, our_weights = to_multi_head(e)(x)

    attention = e.trace().attention
    for got, got_weights in ((output, weights), (ours, our_weights)):
        np.testing.assert_allclose(got_weights[0].detach(), attention.heads.weights, atol=1e-12)
        result = got[0].detach().numpy()
        np.testing.assert_allclose(result[:, :width], attention.output, rtol=0, atol=1e-12)
        assert not result[:, width:].any()


@pytest.mark.parametrize("e", [e for e in every() if e.n_heads == 1], ids=named)
def test_our_layer_of_one_head_computes_the_head(e):
    e = replace(e, encoding="none", mask=Mask(("causal",)))
    mask = torch.tensor(e.mask.allowed(e.n_tokens))

    context, weights = to_self_attention(e)(fitted_inputs(e), mask)

    attention = e.trace().attention
    np.testing.assert_allclose(weights.detach(), attention.heads.weights, rtol=0, atol=1e-12)
    head = context[0, :, : e.d_k].detach()
    np.testing.assert_allclose(head, attention.head_outputs[0], rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("e", "fit"),
    [
        (RANDOM.resized(d_model=4, d_k=2, n_heads=2), Fit(4, 2, 1.0)),
        (RANDOM.resized(d_model=5, d_k=2, n_heads=2), Fit(6, 3, math.sqrt(3 / 2))),
        (RANDOM.resized(d_model=3, d_k=4, n_heads=2), Fit(8, 4, 1.0)),
        (replace(RANDOM.resized(d_model=4, d_k=4, n_heads=1), is_scaled=False), Fit(4, 4, 2.0)),
    ],
)
def test_the_sizes_of_the_layer_and_what_takes_back_its_scaling(e, fit):
    assert Fit.of(e) == fit
    assert fit.is_exact(e) == (fit == Fit(e.d_model, e.d_k, 1.0))


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_positions_go_into_the_inputs_and_never_into_the_weights(encoding):
    e = replace(RANDOM.resized(d_model=5, d_k=2, n_heads=2), encoding=encoding)

    x, state = fitted_inputs(e), to_state(e)

    np.testing.assert_array_equal(x[0, :, :5], e.trace().inputs)
    assert not x[..., 5:].any()
    for name, weight in to_state(replace(e, encoding="none")).items():
        torch.testing.assert_close(state[name], weight, rtol=0, atol=0)


def test_layers_come_in_eval_mode_and_in_the_precision_that_is_asked_for():
    e = RANDOM.resized(d_model=4, d_k=4, n_heads=1)
    for make in (to_torch, to_multi_head, to_self_attention):
        layer = make(e, dtype=torch.float32)
        assert not layer.training
        assert {parameter.dtype for parameter in layer.parameters()} == {torch.float32}
    assert fitted_inputs(e, dtype=torch.float32).dtype == torch.float32


# --- and back


def test_to_make_a_layer_moves_no_random_number_of_others():
    state = torch.random.get_rng_state()

    for make in (to_torch, to_multi_head, to_self_attention):
        make(RANDOM)

    assert torch.equal(torch.random.get_rng_state(), state)


@every_experiment
def test_weights_come_back_from_every_layer(e):
    other = scrambled(e)
    assert_same_weights(from_layer(other, to_torch(e)), e)
    assert_same_weights(from_layer(other, to_multi_head(e)), e)
    assert_same_weights(from_state(other, to_state(e)), e)


@pytest.mark.parametrize("e", [e for e in every() if e.n_heads == 1], ids=named)
def test_one_head_comes_back_and_keeps_W_O(e):
    other = scrambled(e)

    back = from_layer(other, to_self_attention(e))

    assert_same_weights(back, replace(e, W_O=other.W_O))


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_all_else_of_the_experiment_stays(encoding):
    e = replace(RANDOM, encoding=encoding, mask=Mask(("causal",)), is_scaled=False)

    back = from_layer(scrambled(e), to_torch(e))

    assert (back.encoding, back.mask, back.is_scaled, back.tokens) == (
        e.encoding,
        e.mask,
        e.is_scaled,
        e.tokens,
    )


@every_experiment
def test_a_state_dict_comes_back_from_a_file(e):
    file = io.BytesIO()
    torch.save(to_multi_head(e).state_dict(), file)
    file.seek(0)
    layer = MultiHeadAttention(Fit.of(e).embed_dim, e.n_heads, bias=False).double()
    layer.load_state_dict(torch.load(file, weights_only=True))

    assert_same_weights(from_layer(scrambled(e), layer), e)


def test_names_go_there_and_back():
    e = RANDOM.resized(d_model=4, d_k=2, n_heads=2)
    ours = to_ours(to_state(e))

    assert set(ours) == {"in_proj.weight", "out_proj.weight"}
    assert set(to_torchs(ours)) == set(to_state(e))
    with_bias = nn.MultiheadAttention(4, 2).state_dict()
    assert set(to_ours(with_bias)) == set(MultiHeadAttention(4, 2).state_dict())
    assert set(to_torchs(to_ours(with_bias))) == set(with_bias)


def test_biases_of_0_are_fine():
    e = RANDOM.resized(d_model=4, d_k=2, n_heads=2)
    layer = nn.MultiheadAttention(4, 2, batch_first=True, dtype=torch.float64)
    layer.load_state_dict(to_state(e), strict=False)

    assert_same_weights(from_layer(scrambled(e), layer), e)


# --- errors

PLAIN = RANDOM.resized(d_model=4, d_k=2, n_heads=2).with_output_projection(True)


def changed(e, name, change):
    state = to_state(e)
    change(state[name])
    return state


def set_last(value):
    def change(weight):
        weight[-1, -1] = value

    return change


def test_several_heads_do_not_fit_into_one():
    with pytest.raises(RangeError, match="n_heads must lie between 1 and 1, got 2"):
        to_self_attention(PLAIN)


@pytest.mark.parametrize("name", ["in_proj_weight", "out_proj.weight"])
def test_a_missing_weight_is_named(name):
    state = to_state(PLAIN)
    del state[name]

    with pytest.raises(FieldError, match=re.escape(f"{name}: is missing")):
        from_state(PLAIN, state)


def test_a_weight_of_another_shape_is_named():
    state = to_state(PLAIN) | {"in_proj_weight": torch.zeros(3, 4)}

    message = "in_proj_weight must have shape (12, 4), got (3, 4)"
    with pytest.raises(ShapeError, match=re.escape(message)):
        from_state(PLAIN, state)


@pytest.mark.parametrize("name", ["in_proj_bias", "out_proj.bias"])
def test_a_bias_has_no_place(name):
    state = to_state(PLAIN) | {name: torch.tensor([0.0, 1.0])}

    message = f"{name}: an experiment has no bias, so it must be 0"
    with pytest.raises(FieldError, match=re.escape(message)):
        from_state(PLAIN, state)


@pytest.mark.parametrize("name", ["in_proj_weight", "out_proj.weight"])
def test_a_number_where_the_layer_is_wider_has_no_place(name):
    e = RANDOM.resized(d_model=5, d_k=2, n_heads=2).with_output_projection(True)
    state = changed(e, name, set_last(1.0))

    message = f"{name}: holds numbers beyond the sizes of the experiment"
    with pytest.raises(FieldError, match=re.escape(message)):
        from_state(e, state)


def test_a_mixture_of_heads_has_no_place_without_W_O():
    e = RANDOM.resized(d_model=4, d_k=2, n_heads=2)
    state = changed(e, "out_proj.weight", set_last(2.0))

    message = "out_proj.weight: the experiment has no W_O that could hold it"
    with pytest.raises(FieldError, match=re.escape(message)):
        from_state(e, state)


def test_numbers_that_an_experiment_does_not_take_are_refused():
    with pytest.raises(NotFiniteError, match="W_V must be finite"):
        from_state(PLAIN, changed(PLAIN, "in_proj_weight", set_last(math.nan)))
    with pytest.raises(RangeError):
        from_state(PLAIN, changed(PLAIN, "in_proj_weight", set_last(1e7)))

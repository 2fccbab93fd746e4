"""Our layers of PyTorch: the same numbers as PyTorch's own, masks, empty rows, dropout, errors."""

import math
import re

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from attention_core.errors import DivisibilityError, RangeError, ShapeError
from attention_core.neural.layers import (
    MultiHeadAttention,
    SelfAttention,
    attention_weights,
    combined,
)

SHAPES = [(2, 4, 16), (2, 5, 64)]


def drawn(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def single(embed_dim, **more):
    torch.manual_seed(1)
    return SelfAttention(embed_dim, **more).double().eval()


def several(embed_dim, num_heads, **more):
    torch.manual_seed(1)
    layer = MultiHeadAttention(embed_dim, num_heads, **more).double().eval()
    with torch.no_grad():
        for name, parameter in layer.named_parameters():
            if name.endswith("bias"):  # they start at 0, where a mistake would not show
                parameter.copy_(drawn(*parameter.shape, seed=5))
    return layer


def torchs_own(ours, **more):
    """PyTorch's layer with the weights of ours."""
    bias = ours.in_proj.bias is not None
    theirs = nn.MultiheadAttention(
        ours.embed_dim, ours.num_heads, bias=bias, batch_first=True, dtype=torch.float64, **more
    )
    names = {"in_proj.weight": "in_proj_weight", "in_proj.bias": "in_proj_bias"}
    theirs.load_state_dict({names.get(k, k): v for k, v in ours.state_dict().items()})
    return theirs.eval()


def close(a, b, tolerance=1e-12):
    torch.testing.assert_close(a, b, rtol=0, atol=tolerance)


# --- the same numbers


def test_two_tokens_by_hand():
    # Queries, keys and values are x itself: scores 1 on the diagonal, 0 beside it, over √2.
    layer = single(2)
    with torch.no_grad():
        for part in (layer.query, layer.key, layer.value):
            part.weight.copy_(torch.eye(2))

    context, weights = layer(torch.eye(2, dtype=torch.float64)[None])

    e = math.exp(1 / math.sqrt(2))
    row = [e / (e + 1), 1 / (e + 1)]
    close(weights, torch.tensor([[row, row[::-1]]], dtype=torch.float64))
    close(context, weights)


@pytest.mark.parametrize("shape", SHAPES)
def test_one_head_gives_what_pytorchs_function_gives(shape):
    layer, x = single(shape[-1]), drawn(*shape)

    context, weights = layer(x)

    q, k, v = layer.query(x), layer.key(x), layer.value(x)
    assert context.shape == shape
    assert weights.shape == (*shape[:2], shape[1])
    close(context, F.scaled_dot_product_attention(q, k, v))
    close(weights.sum(-1), torch.ones(shape[:2], dtype=torch.float64))


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize(("shape", "num_heads"), [((2, 4, 16), 2), ((2, 5, 64), 1), ((1, 3, 6), 6)])
def test_several_heads_give_what_pytorchs_layer_gives(shape, num_heads, bias):
    layer, x = several(shape[-1], num_heads, bias=bias), drawn(*shape)

    output, weights = layer(x)

    expected, of_heads = torchs_own(layer)(x, x, x, average_attn_weights=False)
    assert weights.shape == (shape[0], num_heads, shape[1], shape[1])
    close(output, expected)
    close(weights, of_heads)


def test_a_layer_of_512_columns_and_8_heads():
    layer, x = several(512, 8), drawn(1, 3, 512)

    output, weights = layer(x)

    expected, of_heads = torchs_own(layer)(x, x, x, average_attn_weights=False)
    assert sum(weight.numel() for weight in layer.state_dict().values()) == 4 * 512 * 513
    close(output, expected)
    close(weights, of_heads)


def test_without_bias_a_layer_holds_none():
    assert set(several(8, 2, bias=False).state_dict()) == {"in_proj.weight", "out_proj.weight"}
    assert set(single(8).state_dict()) == {"query.weight", "key.weight", "value.weight"}


def test_heads_are_cut_and_put_together_again():
    layer, x = several(6, 3), drawn(2, 4, 6)

    cut = layer.split(x)

    assert cut.shape == (2, 3, 4, 2)
    torch.testing.assert_close(cut[1, 2, 3], x[1, 3, 4:6])
    torch.testing.assert_close(layer.merge(cut), x)


# --- masks


def random_mask(*shape, seed=0):
    mask = torch.rand(*shape, generator=torch.Generator().manual_seed(seed)) < 0.6
    mask[..., 0] = True  # no row is empty
    return mask


@pytest.mark.parametrize("kind", [torch.bool, torch.int64, torch.float64, torch.uint8])
@pytest.mark.parametrize("shape", [(4, 4), (2, 4, 4)])
def test_a_mask_of_ones_and_zeros_says_what_one_head_may_attend_to(shape, kind):
    layer, x, mask = single(16), drawn(2, 4, 16), random_mask(*shape)

    context, weights = layer(x, mask.to(kind))

    q, k, v = layer.query(x), layer.key(x), layer.value(x)
    close(context, F.scaled_dot_product_attention(q, k, v, attn_mask=mask))
    assert not weights[~mask.expand(2, 4, 4)].any()


@pytest.mark.parametrize("kind", [torch.bool, torch.int64])
@pytest.mark.parametrize("shape", [(4, 4), (2, 4, 4), (2, 1, 4, 4), (2, 2, 4, 4)])
def test_a_mask_of_ones_and_zeros_says_what_several_heads_may_attend_to(shape, kind):
    layer, x, mask = several(16, 2), drawn(2, 4, 16), random_mask(*shape)

    output, weights = layer(x, mask.to(kind))

    whole = mask[:, None] if len(shape) == 3 else mask
    whole = whole.expand(2, 2, 4, 4)
    blocked = ~whole.reshape(4, 4, 4)  # (B · H, T, T)
    expected, of_heads = torchs_own(layer)(x, x, x, attn_mask=blocked, average_attn_weights=False)
    close(output, expected)
    close(weights, of_heads)


def test_padding_hides_keys_from_every_query():
    layer, x = several(16, 2), drawn(2, 4, 16)
    padding = torch.tensor([[1, 1, 1, 0], [1, 1, 0, 0]])

    output, weights = layer(x, padding=padding)

    expected, of_heads = torchs_own(layer)(
        x, x, x, key_padding_mask=padding == 0, average_attn_weights=False
    )
    close(output, expected)
    close(weights, of_heads)
    assert not weights[1, :, :, 2:].any()


def test_causal_hides_the_future():
    layer, x = several(16, 2), drawn(2, 4, 16)
    is_later = nn.Transformer.generate_square_subsequent_mask(4).isinf()

    output, weights = layer(x, is_causal=True)

    expected, of_heads = torchs_own(layer)(x, x, x, attn_mask=is_later, average_attn_weights=False)
    close(output, expected)
    close(weights, of_heads)
    assert not weights.triu(1).any()


@pytest.mark.parametrize("make", [lambda: single(16), lambda: several(16, 2)], ids=["one", "two"])
def test_all_masks_hold_at_once(make):
    layer, x, mask = make(), drawn(2, 4, 16), random_mask(2, 4, 4)
    padding = torch.tensor([[1, 1, 1, 0], [1, 1, 1, 1]])

    both, weights = layer(x, mask, padding=padding, is_causal=True)

    allowed = mask & (padding == 1)[:, None, :] & torch.ones(4, 4, dtype=torch.bool).tril()
    alone, expected = layer(x, allowed)
    close(both, alone)
    close(weights, expected)
    hidden = ~allowed if weights.ndim == 3 else ~allowed[:, None].expand(2, 2, 4, 4)
    assert not weights[hidden].any()


def test_masks_that_are_alike_for_all_take_no_more_room_than_they_need():
    x = drawn(3, 4, 2)

    assert combined(x, None, None, is_causal=False) is None
    assert combined(x, None, None, is_causal=True, num_heads=2).shape == (4, 4)
    assert combined(x, None, torch.ones(3, 4), is_causal=False).shape == (3, 4, 4)
    assert combined(x, None, torch.ones(3, 4), is_causal=True, num_heads=2).shape == (3, 1, 4, 4)


def test_what_stands_in_a_hidden_token_changes_nothing_for_the_others():
    layer, x = several(16, 2), drawn(2, 4, 16)
    padding = torch.tensor([[1, 1, 1, 0]] * 2)
    other = x.clone()
    other[:, 3] = 1e3

    (before, _), (after, _) = (layer(each, padding=padding) for each in (x, other))

    close(before[:, :3], after[:, :3])


# --- rows without any key


@pytest.mark.filterwarnings("ignore:Anomaly Detection")
@pytest.mark.parametrize("make", [lambda: single(16), lambda: several(16, 2)], ids=["one", "two"])
def test_a_token_that_may_attend_to_nothing_gets_0_and_gradients_stay_finite(make):
    layer, x = make(), drawn(2, 4, 16).requires_grad_()
    mask = torch.ones(4, 4)
    mask[2] = 0

    with torch.autograd.detect_anomaly(check_nan=True):  # raises at the first NaN on the way
        output, weights = layer(x, mask)
        output.square().sum().backward()

    assert not weights[..., 2, :].any()
    mixed = output[:, 2] - (0 if isinstance(layer, SelfAttention) else layer.out_proj.bias)
    close(mixed, torch.zeros(2, 16, dtype=torch.float64))
    gradients = [x.grad, *(parameter.grad for parameter in layer.parameters())]
    assert all(torch.isfinite(gradient).all() for gradient in gradients)
    assert any(gradient.any() for gradient in gradients)


def test_an_empty_row_that_reaches_softmax_makes_gradients_nan():
    # What `attention_weights` avoids: the result becomes 0, but its gradient is NaN.
    Q, K = drawn(3, 2).requires_grad_(), drawn(3, 2, seed=1)
    mask = torch.zeros(3, 3, dtype=torch.float64)
    mask[1] = -torch.inf

    torch.softmax(Q @ K.T + mask, -1).nan_to_num(0.0).square().sum().backward()

    assert torch.isnan(Q.grad[1]).all()


def test_where_nothing_at_all_may_be_attended_all_is_0():
    x = drawn(2, 4, 16)

    context, weights = single(16)(x, padding=torch.zeros(2, 4))

    assert not context.any()
    assert not weights.any()


# --- the scale and the bias of the weights


def test_scale_and_bias_are_those_of_pytorchs_function():
    Q, K, bias = drawn(2, 3, 4), drawn(2, 3, 4, seed=1), drawn(3, 3, seed=2)

    weights = attention_weights(Q, K, scale=0.3, bias=bias)

    one = torch.eye(3, dtype=torch.float64).expand(2, 3, 3)
    expected = F.scaled_dot_product_attention(Q, K, one, attn_mask=bias, scale=0.3)
    close(weights, expected)


def test_scores_of_a_thousand_do_not_overflow():
    Q = torch.tensor([[1000.0], [-1000.0]])

    weights = attention_weights(Q, Q, scale=1.0)

    close(weights, torch.eye(2), 0.0)


# --- dropout


@pytest.mark.parametrize(
    "make", [lambda: single(16, dropout=0.5), lambda: several(16, 2, dropout=0.5)], ids=["1", "2"]
)
def test_dropout_acts_in_train_alone_and_never_on_the_weights_that_are_returned(make):
    layer, x = make(), drawn(2, 4, 16)
    plain, expected = layer(x)

    torch.manual_seed(0)
    dropped, weights = layer.train()(x)
    again, _ = layer.eval()(x)

    assert (dropped - plain).abs().max() > 0.01
    close(again, plain, 0.0)
    close(weights, expected, 0.0)
    close(weights.sum(-1), torch.ones(weights.shape[:-1], dtype=torch.float64))


def test_what_dropout_keeps_is_scaled_up_so_that_the_mean_stays():
    layer, x = single(4, dropout=0.25), drawn(1, 3, 4)
    torch.manual_seed(0)
    many = x.expand(4000, -1, -1)  # each sequence drops weights of its own

    mean = layer.train()(many)[0].mean(0, keepdim=True)

    close(mean, layer.eval()(x)[0], 0.1)


# --- initialisation


def test_weights_start_within_xaviers_bounds_and_biases_at_0():
    torch.manual_seed(0)
    one, two = SelfAttention(64), MultiHeadAttention(64, 8)

    bounds = {
        one.query.weight: math.sqrt(6 / 128),
        one.key.weight: math.sqrt(6 / 128),
        one.value.weight: math.sqrt(6 / 128),
        two.in_proj.weight: math.sqrt(6 / (64 + 192)),
        two.out_proj.weight: math.sqrt(6 / 128),
    }
    for weight, bound in bounds.items():
        assert 0.95 * bound < weight.abs().max() <= bound
        assert abs(weight.mean()) < 0.05 * bound
    assert not two.in_proj.bias.any()
    assert not two.out_proj.bias.any()


# --- errors


def test_sizes_that_do_not_fit_are_named():
    with pytest.raises(
        DivisibilityError, match="embed_dim must be a multiple of num_heads, got 10 and 3"
    ):
        MultiHeadAttention(10, 3)
    with pytest.raises(RangeError, match="embed_dim must lie between 1 and inf, got 0"):
        SelfAttention(0)
    with pytest.raises(RangeError, match="num_heads must lie between 1 and inf, got 0"):
        MultiHeadAttention(4, 0)


@pytest.mark.parametrize("make", [lambda: single(16), lambda: several(16, 2)], ids=["one", "two"])
@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"x": drawn(4, 16)}, "x must have shape (B, T, 16), got (4, 16)"),
        ({"x": drawn(2, 4, 8)}, "x must have shape (B, T, 16), got (2, 4, 8)"),
        ({"mask": torch.ones(3, 4)}, "mask must have shape (4, 4), got (3, 4)"),
        ({"mask": torch.ones(3, 4, 4)}, "mask must have shape (2, 4, 4), got (3, 4, 4)"),
        ({"mask": torch.ones(4)}, "mask must have shape (4, 4), got (4,)"),
        ({"padding": torch.ones(2, 3)}, "padding must have shape (2, 4), got (2, 3)"),
        ({"padding": torch.ones(4)}, "padding must have shape (2, 4), got (4,)"),
    ],
)
def test_an_argument_of_another_shape_is_named(make, given, message):
    with pytest.raises(ShapeError, match=re.escape(message)):
        make()(**({"x": drawn(2, 4, 16)} | given))


def test_a_mask_for_each_head_fits_the_heads():
    message = "mask must have shape (2, 2, 4, 4), got (2, 3, 4, 4)"
    with pytest.raises(ShapeError, match=re.escape(message)):
        several(16, 2)(drawn(2, 4, 16), torch.ones(2, 3, 4, 4))
    with pytest.raises(
        ShapeError, match=re.escape("mask must have shape (4, 4), got (2, 1, 4, 4)")
    ):
        single(16)(drawn(2, 4, 16), torch.ones(2, 1, 4, 4))

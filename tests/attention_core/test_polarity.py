"""The calls that are written out run here, and give what the core gives."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from attention_core import multi_head_attention, scaled_dot_product_attention
from attention_core.errors import DtypeError
from attention_core.masks import causal, combine, padding
from attention_core.polarity import blocked, padded, pytorch_calls

MASKS = st.integers(1, 6).flatmap(lambda n: arrays(np.bool_, (n, n)))
D_MODEL, N_HEADS = 4, 2


def run(allowed, seed=0):
    """Run the text with the reader's own names given; what it leaves behind."""
    torch.manual_seed(seed)
    n = len(allowed)
    mha = torch.nn.MultiheadAttention(D_MODEL, N_HEADS, batch_first=True).double()
    names = {name: torch.randn(1, n, 3, dtype=torch.float64) for name in "qkv"}
    names |= {"mha": mha, "x": torch.randn(1, n, D_MODEL, dtype=torch.float64)}
    first, second = pytorch_calls(allowed).split("# mha = ")
    exec(compile(first, "<first>", "exec"), names)
    fused = names["output"].numpy()[0]
    exec(compile("# mha = " + second, "<second>", "exec"), names)
    return names, fused


def expected_of_mha(names, allowed):
    """The core, with the weights of the PyTorch layer."""
    mha = names["mha"]
    W = [w.T.reshape(D_MODEL, N_HEADS, -1).transpose(0, 1) for w in mha.in_proj_weight.chunk(3)]
    with torch.no_grad():
        X = names["x"][0].numpy()
        W_Q, W_K, W_V = (w.detach().numpy() for w in W)
        assert not mha.in_proj_bias.any()
        trace = multi_head_attention(
            X, W_Q, W_K, W_V, mha.out_proj.weight.T.numpy(), allowed=allowed, empty_rows="zeros"
        )
        return trace, mha.out_proj.bias.numpy()


@given(MASKS)
def test_the_written_calls_mask_as_the_core_does(allowed):
    names, fused = run(allowed)

    q, k, v = (names[name][0].numpy() for name in "qkv")
    core = scaled_dot_product_attention(q, k, v, allowed=allowed, empty_rows="zeros")
    np.testing.assert_allclose(fused, core.output, atol=1e-12)

    trace, bias = expected_of_mha(names, allowed)
    has_key = allowed.any(axis=-1)
    output = names["output"].detach().numpy()[0]
    weights = names["weights"].detach().numpy()[0]
    np.testing.assert_allclose(output[has_key], (trace.output + bias)[has_key], atol=1e-12)
    mean = trace.heads.weights.mean(axis=0)
    np.testing.assert_allclose(weights[has_key], mean[has_key], atol=1e-12)


def test_the_text_by_hand():
    text = pytorch_calls(combine(causal(2), padding([True, False])))

    assert "may_attend = torch.tensor([\n    [ True, False],\n    [ True, False],\n])" in text
    assert "is_blocked = torch.tensor([\n    [False,  True],\n    [False,  True],\n])" in text
    assert "is_padding = torch.tensor([[False,  True]])" in text


def test_the_two_polarities_are_opposite():
    np.testing.assert_array_equal(blocked(causal(3)), np.triu(np.ones((3, 3), dtype=bool), k=1))


def test_only_a_key_that_nobody_may_see_is_padding():
    allowed = np.array([[True, False, False], [True, True, False], [False, False, False]])

    assert padded(allowed).tolist() == [False, False, True]


@pytest.mark.parametrize("function", [blocked, padded, pytorch_calls])
def test_ones_and_zeros_are_refused_as_they_could_mean_either(function):
    with pytest.raises(DtypeError) as caught:
        function(np.eye(2))

    assert str(caught.value) == "allowed must hold booleans (True = may attend), got float64"

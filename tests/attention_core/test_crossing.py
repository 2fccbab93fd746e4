from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from attention_core import Experiment, Mask
from attention_core.crossing import as_one_sequence, cross_attention, source_only
from attention_core.errors import RangeError
from attention_core.presets import ENCODINGS


def experiment(n_tokens=5, encoding="none", n_heads=1, is_scaled=True):
    start = Experiment.from_preset("random", seed=5)
    start = start.resized(n_tokens=n_tokens, d_k=3, n_heads=n_heads)
    return replace(start, encoding=encoding, is_scaled=is_scaled)


def test_by_hand():
    # The target's query is (1); keys (0), (ln 3); values 10, 20: weights 1/4 and 3/4.
    e = Experiment(
        ("a", "b", "c"),
        np.array([[0.0, 10.0, 0], [np.log(3), 20, 0], [0, 0, 1]]),
        W_Q=np.array([[[0.0], [0], [1]]]),
        W_K=np.array([[[1.0], [0], [0]]]),
        W_V=np.array([[[0.0], [1], [0]]]),
    )

    trace = cross_attention(e, 0, 2)

    np.testing.assert_allclose(trace.weights, [[0.25, 0.75]])
    np.testing.assert_allclose(trace.output, [[17.5]])


def test_source_only_by_hand():
    np.testing.assert_array_equal(source_only(3, 2), [[True, True, False]] * 3)


@given(
    st.integers(2, 8),
    st.sampled_from(ENCODINGS),
    st.integers(1, 3),
    st.booleans(),
    st.data(),
)
def test_two_sequences_give_what_one_gives_under_a_mask(n, encoding, n_heads, is_scaled, data):
    e = experiment(n, encoding, n_heads, is_scaled)
    n_source, head = data.draw(st.integers(1, n - 1)), data.draw(st.integers(0, n_heads - 1))

    two, one = cross_attention(e, head, n_source), as_one_sequence(e, head, n_source)

    assert two.weights.shape == (n - n_source, n_source)
    np.testing.assert_allclose(two.output, one.output[n_source:], atol=1e-12)
    np.testing.assert_allclose(two.weights, one.weights[n_source:, :n_source], atol=1e-12)
    assert not one.weights[:, n_source:].any()


def test_pytorch_agrees():
    e = experiment()
    X = torch.tensor(e.X)
    Q, K, V = X[2:] @ torch.tensor(e.W_Q[0]), *(X[:2] @ torch.tensor(w[0]) for w in (e.W_K, e.W_V))

    expected = torch.nn.functional.scaled_dot_product_attention(Q[None], K[None], V[None])[0]

    np.testing.assert_allclose(cross_attention(e, 0, 2).output, expected.numpy(), atol=1e-12)


def test_the_mask_of_the_experiment_plays_no_part():
    masked = replace(experiment(), mask=Mask(("causal", "padding"), n_padding=4))

    for function in (cross_attention, as_one_sequence):
        expected = function(experiment(), 0, 2).output
        np.testing.assert_array_equal(function(masked, 0, 2).output, expected)


@pytest.mark.parametrize("n_source", [0, 5])
def test_a_side_without_tokens_is_refused(n_source):
    with pytest.raises(RangeError) as caught:
        cross_attention(experiment(), 0, n_source)

    assert str(caught.value) == f"n_source must lie between 1 and 4, got {n_source}"

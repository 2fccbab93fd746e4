"""Sentences in one batch: padding is computed and changes nothing, where it is masked."""

import re
from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest
import torch
from torch import nn

from attention_core import Experiment, Mask
from attention_core.errors import RangeError, ShapeError
from attention_core.neural.batch import batched, multiply_adds, sentences
from attention_core.words import embedding

SEVERAL = Experiment.from_preset("random").resized(n_tokens=5, d_model=4, d_k=2, n_heads=2)
PROJECTED = SEVERAL.with_output_projection(True)
CAUSAL = replace(PROJECTED, mask=Mask(("causal",)))
WINDOW = replace(SEVERAL, mask=Mask(("window",), before=1, after=0))
LARGEST = Experiment.from_preset("random").resized(n_tokens=12, d_model=8, d_k=8, n_heads=8)
SMALLEST = Experiment.from_preset("random").resized(n_tokens=1, d_model=1, d_k=1, n_heads=1)
ENCODED = [replace(PROJECTED, encoding=kind) for kind in ("sinusoidal", "learned", "rotary")]
ALL = [SEVERAL, PROJECTED, CAUSAL, WINDOW, *ENCODED, replace(CAUSAL, encoding="alibi"), LARGEST]

every_experiment = pytest.mark.parametrize("e", ALL)


def lines(e):
    return [e.tokens, e.tokens[:2], ("new", "words", e.tokens[0]), e.tokens[:1]]


def by_hand():
    """One feature, weights of 1: the score of a query and a key is their product."""
    one = np.ones((1, 1, 1))
    return Experiment(("a", "b"), np.array([[1.0], [2.0]]), one, one, one)


# --- sentences


def test_a_known_word_keeps_its_row_and_a_new_one_gets_the_vector_of_its_text():
    (one,) = sentences(SEVERAL, [(SEVERAL.tokens[3], "pear")])

    np.testing.assert_array_equal(one.X[0], SEVERAL.X[3])
    np.testing.assert_array_equal(one.X[1], embedding("pear", SEVERAL.seed, 4))
    np.testing.assert_array_equal(one.W_K, SEVERAL.W_K)


def test_only_masks_that_mean_the_same_for_every_length_go_along():
    mask = Mask(("causal", "padding", "window", "painted"), before=2, painted=((0, 1, True),))

    (one,) = sentences(replace(SEVERAL, mask=mask), [SEVERAL.tokens])

    assert one.mask.kinds == ("causal", "window")
    assert (one.mask.before, one.mask.painted) == (2, ())


# --- a batch


def test_two_sentences_by_hand():
    # "b" alone looks at itself. The filling beside it has score 2 · 0, so unmasked it gets a part.
    pair = sentences(by_hand(), [("a", "b"), ("b",)])

    masked, open_ = batched(pair), batched(pair, is_masked=False)

    assert masked.X[1].tolist() == [[2.0], [0.0]]
    assert masked.weights[1, 0, 0].tolist() == [1.0, 0.0]
    assert masked.output[1, 0].tolist() == [2.0]
    share = np.exp(4) / (np.exp(4) + 1)
    np.testing.assert_allclose(open_.weights[1, 0, 0], [share, 1 - share])
    np.testing.assert_allclose(open_.output[1, 0], [2 * share])


@every_experiment
def test_each_sentence_gives_what_it_gives_alone(e):
    each = sentences(e, lines(e))

    batch = batched(each)

    for index, one in enumerate(each):
        n, attention = one.n_tokens, one.trace().attention
        np.testing.assert_allclose(
            batch.weights[index, :, :n, :n], attention.heads.weights, rtol=0, atol=1e-12
        )
        np.testing.assert_allclose(batch.output[index, :n], attention.output, rtol=0, atol=1e-12)


@every_experiment
def test_filling_gets_exactly_no_weight(e):
    batch = batched(sentences(e, lines(e)))

    for index in range(4):
        assert batch.on_filling(index).shape[-1] == e.n_tokens - batch.lengths[index]
        assert not batch.on_filling(index).any()
    assert not (batch.weights * ~batch.is_real[:, None, None, :]).any()


def test_without_the_mask_weight_leaks_to_filling():
    batch = batched(sentences(PROJECTED, lines(PROJECTED)), is_masked=False)

    assert [bool((batch.on_filling(index) > 0).all()) for index in (1, 2, 3)] == [True] * 3
    np.testing.assert_allclose(batch.weights.sum(axis=-1), 1.0)


def test_under_a_causal_mask_nothing_leaks_as_filling_stands_behind():
    batch = batched(sentences(CAUSAL, lines(CAUSAL)), is_masked=False)

    assert not any(batch.on_filling(index).any() for index in range(4))


def test_permuting_the_sentences_permutes_the_results():
    each = sentences(PROJECTED, lines(PROJECTED)[:3])
    straight = batched(each)
    for order in permutations(range(3)):
        batch = batched([each[index] for index in order])

        np.testing.assert_allclose(batch.output, straight.output[list(order)], rtol=0, atol=1e-14)
        np.testing.assert_allclose(batch.weights, straight.weights[list(order)], rtol=0, atol=1e-14)
        assert batch.lengths == tuple(straight.lengths[index] for index in order)


def test_sentences_of_one_length_have_no_filling():
    batch = batched(sentences(PROJECTED, [PROJECTED.tokens, PROJECTED.tokens[::-1]]))

    assert batch.is_real.all()
    assert (batch.n_places, batch.n_filled) == (10, 0)


@pytest.mark.parametrize("e", [SMALLEST, LARGEST])
def test_one_sentence_is_a_batch(e):
    batch = batched(sentences(e, [e.tokens]))

    np.testing.assert_allclose(batch.output[0], e.trace().attention.output, rtol=0, atol=1e-12)
    assert batch.n_filled == 0


def test_places_are_counted():
    batch = batched(sentences(SEVERAL, lines(SEVERAL)))

    assert batch.lengths == (5, 2, 3, 1)
    assert (batch.n_places, batch.n_filled) == (20, 9)
    assert batch.is_real.sum(axis=1).tolist() == [5, 2, 3, 1]


def test_the_shapes_are_those_of_the_tensors():
    batch = batched(sentences(PROJECTED, lines(PROJECTED)))

    assert batch.shapes == {
        "X": (4, 5, 4),
        "is_real": (4, 5),
        "Q": (4, 2, 5, 2),
        "weights": (4, 2, 5, 5),
        "head_outputs": (4, 2, 5, 2),
        "concatenated": (4, 5, 4),
        "output": (4, 5, 4),
    }
    assert (batch.X.shape, batch.output.shape) == (batch.shapes["X"], batch.shapes["output"])


def test_pytorchs_own_layer_gives_the_same_for_the_same_padding():
    # d_model = n_heads · d_k, so the weights fit PyTorch's layer as they are.
    each = sentences(PROJECTED, lines(PROJECTED))
    batch = batched(each)
    layer = nn.MultiheadAttention(4, 2, bias=False, batch_first=True, dtype=torch.float64)
    wide = [np.hstack(list(W)).T for W in (PROJECTED.W_Q, PROJECTED.W_K, PROJECTED.W_V)]
    layer.load_state_dict(
        {
            "in_proj_weight": torch.tensor(np.vstack(wide)),
            "out_proj.weight": torch.tensor(PROJECTED.W_O.T.copy()),
        }
    )
    X = torch.tensor(batch.X)
    is_blocked = torch.tensor(~batch.is_real)  # there True = may not be attended

    output, weights = layer(X, X, X, key_padding_mask=is_blocked, average_attn_weights=False)

    np.testing.assert_allclose(batch.output, output.detach(), rtol=0, atol=1e-12)
    np.testing.assert_allclose(batch.weights, weights.detach(), rtol=0, atol=1e-12)


def test_a_row_of_filling_that_may_see_nothing_is_0_and_no_nan():
    # The window of the last filling holds filling alone: softmax over nothing would be NaN.
    batch = batched(sentences(WINDOW, [WINDOW.tokens, WINDOW.tokens[:1]]))

    assert np.isfinite(batch.output).all()
    assert not batch.weights[1, :, -1].any()


def test_a_batch_writes_into_no_experiment():
    each = sentences(PROJECTED, lines(PROJECTED))
    before = [one.X.copy() for one in each]

    batched(each).X[:] = 7.0

    for one, X in zip(each, before, strict=True):
        np.testing.assert_array_equal(one.X, X)


def test_errors():
    with pytest.raises(RangeError, match="n_sentences must lie between 1 and inf, got 0"):
        batched([])
    other = SEVERAL.resized(d_model=3)
    with pytest.raises(ShapeError, match=re.escape("X must have shape (n_tokens, 4), got (5, 3)")):
        batched([SEVERAL, other])
    with pytest.raises(RangeError, match="n_tokens must lie between 1 and 12, got 13"):
        sentences(SEVERAL, [["a"] * 13])


# --- what it costs


def test_multiply_adds_by_hand():
    # One token, one feature: three projections, a score and its share of the value; then W_O.
    assert multiply_adds(SMALLEST, 1) == 5
    assert multiply_adds(SMALLEST.with_output_projection(True), 1) == 6
    assert multiply_adds(SMALLEST, 2) == 3 * 2 + 2 * 4


def test_multiply_adds_are_those_of_the_products():
    n, d, width = 5, 4, 2 * 2
    products = [(n, d, width)] * 3 + [(n, 2, n)] * 2 + [(n, n, 2)] * 2 + [(n, width, d)]

    assert multiply_adds(PROJECTED, 5) == sum(rows * inner * cols for rows, inner, cols in products)


def test_a_count_of_places_beyond_the_limits_is_named():
    with pytest.raises(RangeError, match="n_places must lie between 1 and 12, got 0"):
        multiply_adds(SEVERAL, 0)

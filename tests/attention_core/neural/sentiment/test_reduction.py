"""One sentence of a trained model as an experiment: the same weights, or an error that is told."""

import numpy as np
import pytest
import torch

from attention_core import from_plain, to_plain
from attention_core.errors import ChoiceError, RangeError
from attention_core.neural.sentiment.model import (
    Architecture,
    TextClassifier,
    batch,
    head_weights,
    projected,
)
from attention_core.neural.sentiment.reduction import (
    MOST_DECIMALS,
    ROUNDING,
    TOLERANCE,
    Weights,
    attention_of,
    most_attended,
    reduced,
)
from attention_core.neural.sentiment.reduction import projected as full


def drawn(n_tokens, n_heads=2, kind="lstm_attention", hidden=12, factor=4.0):
    """A model whose weights are far from even, and what it makes of a sentence."""
    architecture = Architecture(kind, 2 * hidden, hidden, n_heads=n_heads, dropout=0.0)
    generator = torch.Generator().manual_seed(n_tokens)
    model = TextClassifier(architecture, 40, generator=generator).double().eval()
    with torch.no_grad():
        for parameter in model.attention.parameters():
            parameter *= factor
    reading = model(batch([list(range(2, 2 + n_tokens))]))
    return model, reading, [f"w{i}" for i in range(n_tokens)]


def of(model, reading, kept=None):
    H = reading.states[0].detach().numpy()
    weights = Weights(*(w.detach().numpy() for w in head_weights(model.attention)))
    return (H if kept is None else H[list(kept)]), weights


@pytest.mark.parametrize("kind", ["lstm_attention", "attention"])
@pytest.mark.parametrize("n_heads", [1, 2, 4, 8])
@pytest.mark.parametrize("n_tokens", [1, 2, 5, 8])
def test_up_to_eight_tokens_have_exactly_their_weights(n_tokens, n_heads, kind):
    model, reading, tokens = drawn(n_tokens, n_heads, kind)

    e, directions = full(*of(model, reading), tuple(tokens))

    heads = e.trace().attention.heads
    np.testing.assert_allclose(heads.weights, reading.weights[0].detach(), atol=1e-9)
    if 24 // n_heads >= n_tokens:
        _, _, V = projected(model.attention, reading.states)
        expected = (reading.weights @ V)[0].detach()
        np.testing.assert_allclose(heads.output @ directions.swapaxes(1, 2), expected, atol=1e-9)


@pytest.mark.parametrize("n_heads", [1, 2])
@pytest.mark.parametrize("n_tokens", [1, 3, 8, 9, 10, 11, 12])
def test_the_error_that_is_told_is_the_one_there_is(n_tokens, n_heads):
    model, reading, tokens = drawn(n_tokens, n_heads)

    found = reduced(model, reading, tokens)

    heads, kept = found.experiment.trace().attention.heads, list(found.kept)
    trained = reading.weights[0].detach().numpy()[:, kept][:, :, kept]
    trained = trained / trained.sum(-1, keepdims=True)
    np.testing.assert_allclose(found.weights, trained, atol=1e-12)
    assert found.weights_error == pytest.approx(np.abs(heads.weights - trained).max(), abs=1e-12)
    assert found.weights_error <= TOLERANCE
    assert found.experiment.tokens == tuple(tokens[place] for place in kept)
    assert min(n_tokens, 8) <= len(kept) <= 12
    if n_tokens <= 8:
        assert found.kept == tuple(range(n_tokens))
        assert found.weights_error <= ROUNDING
        assert found.context_error < 0.01


def test_the_error_of_the_context_by_its_definition():
    model, reading, tokens = drawn(10, factor=1.0)
    found = reduced(model, reading, tokens)
    assert len(found.kept) == 10
    H, weights = of(model, reading)
    _, directions = full(H, weights, tuple(tokens))

    given = found.experiment.trace().attention.heads.output @ directions.swapaxes(1, 2)
    _, _, V = projected(model.attention, reading.states)
    context = (reading.weights @ V)[0].detach().numpy()

    expected = np.linalg.norm(given - context) / np.linalg.norm(context)
    assert found.context_error == pytest.approx(expected)


def test_without_the_factor_for_its_width_the_weights_would_differ():
    model, reading, tokens = drawn(5)
    H, W = of(model, reading)
    e, _ = full(H, W, tuple(tokens))

    naive, _ = full(H, W._replace(W_Q=W.W_Q * np.sqrt(12 / 5)), tuple(tokens))

    weights = [each.trace().attention.heads.weights for each in (e, naive)]
    assert np.abs(weights[0] - weights[1]).max() > 0.01


def test_a_score_is_what_it_is_above_the_mean_of_its_row():
    model, reading, tokens = drawn(6)
    e, _ = full(*of(model, reading), tuple(tokens))

    Q, K, _ = projected(model.attention, reading.states)
    scores = (Q @ K.mT / 12**0.5)[0].detach().numpy()
    for head in range(2):
        expected = scores[head] - scores[head].mean(axis=-1, keepdims=True)
        shown = e.trace().attention.head(head).scaled_scores
        np.testing.assert_allclose(shown, expected, atol=1e-9)


def test_of_a_long_sentence_the_most_attended_tokens_are_kept():
    model, reading, tokens = drawn(20)

    found = reduced(model, reading, tokens)

    attended = reading.attended[0].detach().numpy()
    kept = list(found.kept)
    assert kept == sorted(kept)
    assert 8 <= len(kept) <= 12
    assert attended[kept].min() >= np.delete(attended, kept).max()
    assert found.experiment.tokens == tuple(tokens[place] for place in kept)
    among = reading.weights[0].detach().numpy()[:, kept][:, :, kept]
    np.testing.assert_allclose(found.weights, among / among.sum(-1, keepdims=True), atol=1e-12)


def test_of_equals_the_first_are_kept():
    assert most_attended(np.full(14, 1 / 14), 12) == tuple(range(12))


@pytest.mark.parametrize(("kind", "n_kept"), [("lstm_attention", 12), ("attention", 8)])
def test_as_many_are_kept_as_have_nearly_their_weights(kind, n_kept):
    model, reading, tokens = drawn(20, kind=kind)

    found = reduced(model, reading, tokens)

    assert len(found.kept) == n_kept
    assert found.weights_error <= TOLERANCE


@pytest.mark.parametrize("kind", ["lstm_attention", "attention"])
def test_directions_of_the_token_vectors_would_be_a_worse_choice(kind):
    model, reading, tokens = drawn(12, 1, kind, factor=2.0)
    H, W = of(model, reading)
    e, _ = full(H, W, tuple(tokens))
    own = np.linalg.svd(H, full_matrices=False)[0][:, :8]

    weights = reading.weights[0].detach().numpy()
    naive = attention_of(own @ (own.T @ H), W)

    error = np.abs(e.trace().attention.heads.weights - weights).max()
    assert error < np.abs(naive - weights).max()


def test_where_all_scores_are_alike_values_are_kept():
    model, reading, tokens = drawn(5)
    with torch.no_grad():
        model.attention.in_proj.weight[:24] = 0.0
    reading = model(batch([list(range(2, 7))]))

    found = reduced(model, reading, tokens)

    np.testing.assert_allclose(found.experiment.trace().attention.heads.weights, 0.2)
    assert found.context_error < 0.01


def test_where_nothing_is_there_nothing_breaks():
    model, _, tokens = drawn(3)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.zero_()

    found = reduced(model, model(batch([[2, 3, 4]])), tokens)

    assert (found.weights_error, found.context_error) == (pytest.approx(0.0), 0.0)


@pytest.mark.parametrize("factor", [0.01, 1.0, 30.0])
def test_no_more_decimals_than_it_takes(factor):
    model, reading, tokens = drawn(6, factor=factor)
    found = reduced(model, reading, tokens)
    e, _ = full(*of(model, reading), tuple(tokens))

    def changed(n_decimals):
        rounded = {n: getattr(e, n).round(n_decimals) for n in ("X", "W_Q", "W_K", "W_V")}
        other = type(e)(e.tokens, **rounded)
        now, exact = (each.trace().attention.heads.weights for each in (other, e))
        return np.abs(now - exact).max()

    n = found.n_decimals
    for name in ("X", "W_Q", "W_K", "W_V"):
        values = getattr(found.experiment, name)
        np.testing.assert_array_equal(values, values.round(n))
    assert n == MOST_DECIMALS or changed(n) <= ROUNDING
    assert n == 2 or changed(n - 1) > ROUNDING


@pytest.mark.parametrize("n_tokens", [1, 12, 20])
def test_it_is_an_experiment_like_any_other(n_tokens):
    model, reading, tokens = drawn(n_tokens, 8)

    e = reduced(model, reading, tokens).experiment

    assert to_plain(from_plain(to_plain(e))) == to_plain(e)
    assert (e.encoding, e.mask.kinds, e.W_O, e.is_scaled) == ("none", (), None, True)
    assert max(e.d_model, e.d_k) <= 8


def test_tokens_that_cannot_be_seen_or_are_too_long_get_a_name():
    model, reading, _ = drawn(4)

    found = reduced(model, reading, ["\u200b", "x" * 500, "👩‍👩‍👧", "**a**"])

    assert found.experiment.tokens == ("□", "x" * 200, "👩‍👩‍👧", "**a**")


def test_a_model_without_attention_has_nothing_to_show():
    model = TextClassifier(Architecture("bag", embed_dim=4), 9).eval()

    with pytest.raises(
        ChoiceError, match="kind must be one of lstm_attention, attention, got 'bag'"
    ):
        reduced(model, model(batch([[2, 3]])), ["a", "b"])


def test_more_heads_than_an_experiment_has():
    model, reading, tokens = drawn(3, n_heads=12)

    with pytest.raises(RangeError, match="n_heads must lie between 1 and 8, got 12"):
        reduced(model, reading, tokens)

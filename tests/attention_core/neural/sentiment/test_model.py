"""Four models that read sentences: padding never counts, and each step is what it is said to be."""

import itertools
import math

import pytest
import torch
from torch import nn

from attention_core.errors import ChoiceError, DivisibilityError, RangeError
from attention_core.neural.sentiment import model as models
from attention_core.neural.sentiment.corpus import MOST_TOKENS, PADDING
from attention_core.neural.sentiment.model import (
    KINDS,
    POOLINGS,
    Architecture,
    TextClassifier,
    attended,
    batch,
    contributions,
    mix,
    pool,
    probability,
    projected,
    shapes,
    state_of,
    with_state,
)
from attention_core.neural.weights import to_torchs

N_WORDS = 9
SENTENCES = [[2, 3, 4, 5, 6], [7, 2], [3], [8, 8, 1, 2]]
REAL = [True, True, False]


def every_architecture():
    """All that can be made of kinds, poolings, heads, layers and a residual."""
    for kind, pooling, n_heads, n_layers, is_residual in itertools.product(
        KINDS, POOLINGS, (1, 2), (1, 2), (False, True)
    ):
        has_attention, has_lstm = "attention" in kind, "lstm" in kind
        if not has_attention and (n_heads > 1 or is_residual or pooling == "attended"):
            continue
        if not has_lstm and n_layers > 1:
            continue
        yield Architecture(kind, 6, 4, n_layers, n_heads, is_residual, pooling, 0.3)


ARCHITECTURES = [*every_architecture()]
every = pytest.mark.parametrize("architecture", ARCHITECTURES, ids=str)


def drawn(architecture, seed=1):
    generator = torch.Generator().manual_seed(seed)
    return TextClassifier(architecture, N_WORDS, generator=generator).double().eval()


def assert_like_alone(model, sentences=SENTENCES):
    together = model(batch(sentences))
    for index, ids in enumerate(sentences):
        alone, n = model(batch([ids])), len(ids)
        torch.testing.assert_close(together.logits[index], alone.logits[0])
        torch.testing.assert_close(together.pooled[index], alone.pooled[0])
        torch.testing.assert_close(together.states[index, :n], alone.states[0])
        torch.testing.assert_close(together.context[index, :n], alone.context[0])
        if alone.weights is not None:
            torch.testing.assert_close(together.weights[index, :, :n, :n], alone.weights[0])
            torch.testing.assert_close(together.attended[index, :n], alone.attended[0])
            assert not together.weights[index, :, :, n:].any()


# --- padding never counts


@every
def test_each_sentence_of_a_batch_is_read_as_alone(architecture):
    assert_like_alone(drawn(architecture))


@every
def test_nothing_that_stands_in_the_padding_reaches_anything(architecture):
    model, ids = drawn(architecture), batch(SENTENCES)
    embedded, is_real = model.embedding(ids), ids != PADDING
    broken = embedded.masked_fill(~is_real[..., None], torch.nan)

    torch.testing.assert_close(model.read(broken, is_real).logits, model(ids).logits)


@every
def test_padding_learns_nothing(architecture):
    model = drawn(architecture)
    embedded = model.embedding(batch(SENTENCES)).detach().requires_grad_()
    is_real = batch(SENTENCES) != PADDING

    (gradient,) = torch.autograd.grad(model.read(embedded, is_real).logits.sum(), embedded)

    assert not gradient[~is_real].any()
    assert gradient[is_real].any()


def test_an_lstm_that_reads_padding_would_differ(monkeypatch):
    def unpacked(lstm, x, is_real):
        states, (ends, _) = lstm(x)
        return states, torch.cat([*ends], dim=-1)

    monkeypatch.setattr(models, "_run", unpacked)

    with pytest.raises(AssertionError):
        assert_like_alone(drawn(Architecture("lstm", 6, 4)))


def test_attention_without_a_mask_would_differ(monkeypatch):
    model = drawn(Architecture("attention", 6))
    layer = model.attention.forward
    monkeypatch.setattr(model.attention, "forward", lambda x, padding: layer(x))

    with pytest.raises(AssertionError):
        assert_like_alone(model)


@pytest.mark.parametrize("pooling", ["mean", "max"])
def test_pooling_over_padding_would_differ(monkeypatch, pooling):
    naive = {"mean": lambda c: c.mean(dim=1), "max": lambda c: c.amax(dim=1)}[pooling]
    monkeypatch.setattr(models, "pool", lambda context, *_, **__: naive(context))

    with pytest.raises(AssertionError):
        assert_like_alone(drawn(Architecture("lstm", 6, 4, pooling=pooling)))


# --- by hand


def test_pooling_by_hand():
    context = torch.tensor([[[1.0, -2.0], [3.0, -4.0], [100.0, 100.0]]])
    is_real = torch.tensor([REAL])
    weights = torch.tensor([[[[0.5, 0.5, 0.0], [0.0, 1.0, 0.0], [1.0, 0.0, 0.0]]]])

    def pooled(how):
        return pool(context, is_real, how, weights=weights).tolist()

    assert pooled("mean") == [[2.0, -3.0]]
    assert pooled("max") == [[3.0, -2.0]]
    assert pooled("last") == [[3.0, -4.0]]
    # The two real tokens give (0.5 + 0) / 2 to the first and (0.5 + 1) / 2 to the second.
    assert attended(weights, is_real).tolist() == [[0.25, 0.75, 0.0]]
    assert pooled("attended") == [[0.25 * 1 + 0.75 * 3, 0.25 * -2 + 0.75 * -4]]


def test_the_last_state_of_an_lstm_is_where_each_direction_ends():
    model = drawn(Architecture("lstm", 6, 4, n_layers=2, pooling="last"))

    reading = model(batch(SENTENCES))

    for index, ids in enumerate(SENTENCES):
        forwards, backwards = reading.states[index, len(ids) - 1, :4], reading.states[index, 0, 4:]
        torch.testing.assert_close(reading.pooled[index], torch.cat([forwards, backwards]))


def test_a_bag_of_two_words_by_hand():
    model = drawn(Architecture("bag", embed_dim=2))
    with torch.no_grad():
        model.embedding.weight[2:4] = torch.tensor([[1.0, 2.0], [3.0, -6.0]])
        model.head.weight[:] = torch.tensor([[10.0, 1.0]])
        model.head.bias[:] = 0.5

    reading = model(batch([[2, 3]]))

    # The mean of the vectors is (2, -2).
    assert reading.logits.item() == 2 * 10 - 2 + 0.5
    assert contributions(model, reading).tolist() == [[(10 + 2) / 2, (30 - 6) / 2]]


def test_one_head_of_attention_by_hand():
    model = drawn(Architecture("attention", embed_dim=1))
    with torch.no_grad():
        model.positions.zero_()
        model.embedding.weight[2:4] = torch.tensor([[1.0], [2.0]])
        for layer, factor in (("query", 1.0), ("key", 0.5), ("value", 10.0)):
            getattr(model.attention, layer).weight[:] = factor
        model.head.weight[:], model.head.bias[:] = 1.0, 0.0

    reading = model(batch([[2, 3]]))

    e = torch.e  # scores: 1·0.5, 1·1 and 2·0.5, 2·1
    first, second = e**0.5 / (e**0.5 + e), e / (e + e**2)
    expected = torch.tensor([[first, 1 - first], [second, 1 - second]], dtype=torch.float64)
    torch.testing.assert_close(reading.weights[0, 0], expected)
    values = torch.tensor([10.0, 20.0], dtype=torch.float64)
    torch.testing.assert_close(reading.logits[0], (expected @ values).mean())


# --- oracles


@pytest.mark.parametrize("n_heads", [1, 2])
def test_attention_is_that_of_pytorch(n_heads):
    model = drawn(Architecture("attention", embed_dim=6, n_heads=n_heads))
    state = model.attention.state_dict()
    if n_heads == 1:  # it has no output projection
        blocks = [state[f"{name}.weight"] for name in ("query", "key", "value")]
        state = {"in_proj.weight": torch.cat(blocks), "out_proj.weight": torch.eye(6).double()}
    theirs = nn.MultiheadAttention(6, n_heads, bias=False, batch_first=True).double().eval()
    theirs.load_state_dict(to_torchs(state))
    ids = batch(SENTENCES)
    reading, is_real = model(ids), ids != PADDING

    context, weights = theirs(
        *[reading.states] * 3, key_padding_mask=~is_real, average_attn_weights=False
    )

    torch.testing.assert_close(reading.weights, weights)
    torch.testing.assert_close(reading.context, context)


@every
def test_the_gradient_is_that_of_finite_differences(architecture):
    model = drawn(architecture)
    ids = batch(SENTENCES[:2])
    embedded = model.embedding(ids).detach().requires_grad_()

    def logits(embedded):
        return model.read(embedded, ids != PADDING).logits

    assert torch.autograd.gradcheck(logits, embedded, fast_mode=True)


# --- laws


@every
def test_weights_are_shares_and_so_is_how_much_each_token_is_attended_to(architecture):
    reading = drawn(architecture)(batch(SENTENCES))

    if not architecture.has_attention:
        assert reading.weights is None
        assert reading.attended is None
        return
    is_real = reading.is_real[:, None, :, None].expand_as(reading.weights[..., :1])
    torch.testing.assert_close(
        reading.weights.sum(-1, keepdim=True)[is_real], torch.ones(int(is_real.sum())).double()
    )
    torch.testing.assert_close(reading.attended.sum(-1), torch.ones(len(SENTENCES)).double())
    assert not reading.attended[~reading.is_real].any()


ORDERS = [[2, 3, 4, 5, 6], [6, 4, 2, 5, 3]]


def logits_of(model, sentences=ORDERS):
    return model(batch(sentences)).logits


@pytest.mark.parametrize("pooling", ["mean", "max"])
def test_a_bag_is_blind_to_order(pooling):
    one, other = logits_of(drawn(Architecture("bag", 6, pooling=pooling)))

    torch.testing.assert_close(one, other)


@pytest.mark.parametrize("pooling", ["mean", "max", "attended"])
def test_attention_sees_order_by_its_positions_alone(pooling):
    model = drawn(Architecture("attention", 6, n_heads=2, pooling=pooling))

    one, other = logits_of(model)
    assert abs(one - other) > 1e-3
    model.positions.zero_()
    torch.testing.assert_close(*logits_of(model))


@pytest.mark.parametrize("kind", ["lstm", "lstm_attention"])
def test_an_lstm_sees_order(kind):
    one, other = logits_of(drawn(Architecture(kind, 6, 4)))

    assert abs(one - other) > 1e-3


@pytest.mark.parametrize("pooling", ["mean", "max", "last"])
def test_what_words_add_sums_to_the_logit(pooling):
    model = drawn(Architecture("bag", 6, pooling=pooling))
    reading = model(batch([*SENTENCES, [2, 2, 2]]))

    given = contributions(model, reading)

    torch.testing.assert_close(given.sum(dim=-1) + model.head.bias, reading.logits)
    assert not given[~reading.is_real].any()


@pytest.mark.parametrize("n_heads", [1, 2])
def test_its_own_weights_mix_to_its_own_context(n_heads):
    model = drawn(Architecture("lstm_attention", 6, 4, n_heads=n_heads))
    reading = model(batch(SENTENCES))

    mixed = mix(model.attention, reading.states, reading.weights)

    torch.testing.assert_close(mixed, reading.context)


@pytest.mark.parametrize("n_heads", [1, 2])
def test_queries_and_keys_give_the_weights(n_heads):
    model = drawn(Architecture("lstm_attention", 6, 4, n_heads=n_heads))
    reading = model(batch(SENTENCES[:1]))

    Q, K, V = projected(model.attention, reading.states)

    assert Q.shape == K.shape == V.shape == (1, n_heads, 5, 8 // n_heads)
    scores = Q @ K.mT / (8 / n_heads) ** 0.5
    torch.testing.assert_close(torch.softmax(scores, -1), reading.weights)


def test_other_weights_take_the_place_of_its_own():
    model = drawn(Architecture("lstm_attention", 6, 4, n_heads=2, is_residual=True))
    ids = batch(SENTENCES)

    same = model(ids, reweight=lambda weights, is_real: weights)
    other = model(ids, reweight=lambda weights, is_real: torch.full_like(weights, 0.2))

    torch.testing.assert_close(same.logits, model(ids).logits)
    assert (other.logits - same.logits).abs().max() > 1e-6
    assert torch.equal(other.weights, torch.full_like(same.weights, 0.2))


# --- randomness


@every
def test_its_own_generator_draws_everything(architecture):
    before = torch.random.get_rng_state()

    one, same, other = (drawn(architecture, seed) for seed in (1, 1, 2))
    for model in (one, same):
        model.train()
    first, second = (model(batch(SENTENCES)).logits for model in (one, same))

    assert torch.equal(torch.random.get_rng_state(), before)
    assert all(torch.equal(a, b) for a, b in zip(one.parameters(), same.parameters(), strict=True))
    assert not torch.equal(one.head.weight, other.head.weight)
    assert torch.equal(first, second)  # dropout, too
    assert not torch.equal(first, one.eval()(batch(SENTENCES)).logits)


def test_dropout_drops_its_share_and_scales_the_rest():
    model = drawn(Architecture("bag", 6, dropout=0.25)).train()

    dropped = model.dropped(torch.ones(100, 100))

    kept = dropped[dropped != 0]
    assert torch.equal(kept, torch.full_like(kept, 1 / 0.75))
    assert abs(len(kept) / 10_000 - 0.75) < 0.02
    assert torch.equal(model.eval().dropped(torch.ones(3)), torch.ones(3))


# --- parameters


@every
def test_the_shapes_are_those_of_the_model(architecture):
    state = state_of(drawn(architecture))

    assert shapes(architecture, N_WORDS) == {name: (*v.shape,) for name, v in state.items()}


@every
def test_a_state_makes_the_same_model(architecture):
    model = TextClassifier(architecture, N_WORDS).eval()
    state = state_of(model)

    again = with_state(architecture, state)

    assert torch.equal(again(batch(SENTENCES)).logits, model(batch(SENTENCES)).logits)
    with torch.no_grad():
        model.head.weight.zero_()
    assert state["head.weight"].any()  # a copy


# --- what cannot be


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"kind": "gru"}, ChoiceError, "kind must be one of bag, lstm, .*, got 'gru'"),
        ({"pooling": "sum"}, ChoiceError, "pooling must be one of mean, last, .*, got 'sum'"),
        (
            {"kind": "lstm", "pooling": "attended"},
            ChoiceError,
            "pooling must be one of mean, last, max, got 'attended'",
        ),
        ({"embed_dim": 0}, RangeError, "embed_dim must lie between 1 and inf, got 0"),
        ({"hidden": 0}, RangeError, "hidden must lie between 1 and inf, got 0"),
        ({"n_layers": 0}, RangeError, "n_layers must lie between 1 and inf, got 0"),
        ({"n_heads": 0}, RangeError, "n_heads must lie between 1 and inf, got 0"),
        ({"dropout": 1.0}, RangeError, "dropout must lie between 0 and 1, got 1.0"),
        (
            {"hidden": 4, "n_heads": 3},
            DivisibilityError,
            "width must be a multiple of n_heads, got 8 and 3",
        ),
    ],
)
def test_an_architecture_that_cannot_be(settings, error, message):
    with pytest.raises(error, match=message):
        Architecture(**settings)


def test_without_attention_any_heads_will_do():
    assert Architecture("lstm", hidden=4, n_heads=3).width == 8


@pytest.mark.parametrize("sentences", [[], [[2, 3], []]])
def test_an_empty_sentence_is_refused(sentences):
    with pytest.raises(RangeError, match="n_tokens must lie between 1 and inf, got 0"):
        batch(sentences)


def test_positions_end_somewhere():
    model = drawn(Architecture("attention", 6))
    longest = [2] * MOST_TOKENS

    assert model(batch([longest])).logits.isfinite().all()
    with pytest.raises(RangeError, match="n_tokens must lie between 1 and 64, got 65"):
        model(batch([[*longest, 2]]))


def test_words_add_nothing_that_could_be_told_in_other_models():
    model = drawn(Architecture("lstm", 6, 4))

    with pytest.raises(ChoiceError, match="kind must be one of bag, got 'lstm'"):
        contributions(model, model(batch(SENTENCES)))


def test_a_probability_is_that_of_the_logit_and_keeps_its_digits_where_it_is_small():
    logits = [0.0, math.log(3.0), -math.log(3.0), -40.0, 5.5]

    found = probability(logits)

    assert found[:3] == pytest.approx([0.5, 0.75, 0.25])
    assert found == pytest.approx(torch.sigmoid(torch.tensor(logits).double()).tolist(), rel=1e-6)
    # Half of 1 + tanh(z / 2) would be 0 there; 1 / (1 + e^-z) overflows at the second.
    assert probability(-40.0) == pytest.approx(math.exp(-40.0), rel=1e-12, abs=0.0)
    assert probability(-1000.0) == 0.0
    assert probability(1000.0) == 1.0

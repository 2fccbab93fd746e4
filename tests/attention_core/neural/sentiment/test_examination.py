"""What is asked of a model: each number against its definition, and the laws."""

import numpy as np
import pytest
import torch

from attention_core.errors import RangeError
from attention_core.neural.sentiment.examination import (
    Agreement,
    Examination,
    Statement,
    equal_weights,
    examine,
    level,
    looked_at,
    shuffled_weights,
    taus,
)
from attention_core.neural.sentiment.model import (
    Architecture,
    TextClassifier,
    attended,
    batch,
    state_of,
)

SENTENCES = [[2, 3, 4, 5], [4, 4], [6, 2, 3, 3, 7, 2], [5], [7, 6, 5]]
LABELS = [1, 0, 1, 1, 0]
MADE = [
    Architecture("bag", embed_dim=4),
    Architecture("lstm", embed_dim=4, hidden=3, n_layers=2, pooling="last"),
    Architecture("lstm_attention", embed_dim=4, hidden=4, n_heads=2, pooling="max"),
    Architecture("lstm_attention", embed_dim=4, hidden=3, is_residual=True, pooling="last"),
    Architecture("attention", embed_dim=6, pooling="attended"),
]
WITH_ATTENTION = MADE[2:]

every_model = pytest.mark.parametrize("architecture", MADE, ids=lambda a: f"{a.kind}-{a.pooling}")
with_attention = pytest.mark.parametrize(
    "architecture", WITH_ATTENTION, ids=lambda a: f"{a.kind}-{a.pooling}"
)


def made(architecture, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return TextClassifier(architecture, 8, generator=generator).double().eval()


def read(model, ids):
    """The logit of one sentence alone."""
    with torch.no_grad():
        return model(torch.tensor([ids])).logits.item()


# --- what is asked about each sentence


@every_model
def test_a_word_is_left_out_as_if_the_sentence_had_been_written_without_it(architecture):
    model = made(architecture)

    found = examine(model, SENTENCES, LABELS)

    asked = [ids for ids in SENTENCES if len(ids) > 1]
    for ids, of in zip(asked, found.statements, strict=True):
        expected = [read(model, ids[:i] + ids[i + 1 :]) for i in range(len(ids))]
        np.testing.assert_allclose(of.without, expected, atol=1e-12)
        assert of.logit == pytest.approx(read(model, ids), abs=1e-12)
        np.testing.assert_allclose(of.occlusion, np.abs(np.array(expected) - of.logit), atol=1e-12)


@every_model
def test_the_gradient_is_that_of_central_differences_as_an_embedding_fades(architecture):
    model, step = made(architecture), 1e-5

    found = examine(model, [SENTENCES[2]], [1]).statements[0]

    ids = torch.tensor([SENTENCES[2]])
    with torch.no_grad():
        embedded = model.embedding(ids)
        for i, gradient in enumerate(found.gradient):
            logits = []
            for scale in (1 + step, 1 - step):
                scaled = embedded.clone()
                scaled[0, i] *= scale
                logits.append(model.read(scaled, ids != 0).logits.item())
            slope = (logits[0] - logits[1]) / (2 * step)
            assert gradient == pytest.approx(abs(slope), rel=1e-5, abs=1e-9)


@every_model
def test_a_sentence_is_asked_the_same_alone_and_among_others(architecture):
    model = made(architecture)

    together = examine(model, SENTENCES, LABELS).statements
    alone = [examine(model, [ids], [1]).statements for ids in SENTENCES if len(ids) > 1]

    for of, (other,) in zip(together, alone, strict=True):
        for name in ("logit", "without", "gradient", "attention", "equal"):
            one, two = getattr(of, name), getattr(other, name)
            assert (one is None) == (two is None)
            if one is not None:
                np.testing.assert_allclose(one, two, atol=1e-12, err_msg=name)


@with_attention
def test_equal_and_shuffled_weights_are_put_in_place_of_those_of_attention(architecture):
    model = made(architecture)

    found = examine(model, SENTENCES, LABELS, n_draws=3)

    for ids, of in zip([s for s in SENTENCES if len(s) > 1], found.statements, strict=True):
        n = len(ids)
        with torch.no_grad():
            equal = model(torch.tensor([ids]), reweight=lambda w, _, n=n: torch.ones_like(w) / n)
        assert of.equal == pytest.approx(equal.logits.item(), abs=1e-12)
        assert len(of.shuffled) == 3


@with_attention
def test_the_weights_as_they_are_change_nothing(architecture):
    model, ids = made(architecture), batch(SENTENCES)

    with torch.no_grad():
        as_is, given = model(ids), model(ids, reweight=lambda weights, _: weights)

    torch.testing.assert_close(given.logits, as_is.logits, rtol=0, atol=1e-12)


@with_attention
def test_where_all_weights_are_equal_other_weights_change_nothing(architecture):
    model = made(architecture)
    with torch.no_grad():
        projection = getattr(model.attention, "query", None) or model.attention.in_proj
        projection.weight[: architecture.width].zero_()  # no query asks for anything

    found = examine(model, SENTENCES, LABELS)

    for of in found.statements:
        assert of.equal == pytest.approx(of.logit, abs=1e-12)
        assert of.shuffled == pytest.approx([of.logit] * 5, abs=1e-12)
        assert np.isnan(taus(of)["attention_occlusion"])  # rounding does not rank them
    assert found.effects["equal"].n_flipped == found.effects["shuffled"].n_flipped == 0


def test_a_shuffled_row_has_the_same_weights_in_another_order_and_none_on_padding():
    is_real = torch.tensor([[True] * 6, [True] * 4 + [False] * 2])
    weights = torch.rand(2, 3, 6, 6, generator=torch.Generator().manual_seed(0))
    weights = (weights * is_real[:, None, None]).softmax(-1) * is_real[:, None, None]

    shuffled = shuffled_weights(weights, is_real, torch.Generator().manual_seed(1))

    torch.testing.assert_close(shuffled.sort(-1).values, weights.sort(-1).values)
    assert (shuffled[1, ..., 4:] == 0).all()
    orders = {tuple(row.argsort().tolist()) for row in shuffled[0].flatten(0, 1)}
    assert len(orders) > 12  # of 18 rows: each is shuffled by itself


def test_each_order_of_a_row_is_as_likely():
    weights = torch.tensor([0.1, 0.2, 0.7]).expand(1, 1, 6000, 3)

    shuffled = shuffled_weights(
        weights, torch.ones(1, 3, dtype=torch.bool), torch.Generator().manual_seed(0)
    )

    _, counts = shuffled[0, 0].unique(dim=0, return_counts=True)
    assert counts.tolist() == pytest.approx([1000] * 6, abs=130)  # 4.5 standard deviations


def test_equal_weights_are_shared_among_real_tokens():
    is_real = torch.tensor([[True, True, False]])

    equal = equal_weights(torch.zeros(1, 2, 3, 3), is_real)

    assert equal.tolist() == [[[[0.5, 0.5, 0.0]] * 3] * 2]


# --- how much is looked at


@with_attention
def test_what_is_looked_at_is_what_is_pooled(architecture):
    model, ids = made(architecture), batch(SENTENCES)
    with torch.no_grad():
        reading = model(ids)

    looked = looked_at(reading, architecture.pooling)

    torch.testing.assert_close(looked.sum(-1), torch.ones(len(ids), dtype=torch.float64))
    assert (looked[ids == 0] == 0).all()
    if architecture.pooling == "last":
        torch.testing.assert_close(looked[0, :4], reading.weights[0, :, 3, :4].mean(0))
        torch.testing.assert_close(looked[1, :2], reading.weights[1, :, 1, :2].mean(0))
    else:
        torch.testing.assert_close(looked, attended(reading.weights, ids != 0))


def test_where_the_last_token_is_pooled_the_weights_of_others_never_reach_the_answer():
    model = made(MADE[3])

    def others_equal(weights, is_real):
        changed = equal_weights(weights, is_real).clone()
        last = is_real.sum(-1) - 1
        each = torch.arange(len(weights))
        changed[each, :, last] = weights[each, :, last]
        return changed

    with torch.no_grad():
        ids = batch(SENTENCES)
        torch.testing.assert_close(model(ids, reweight=others_equal).logits, model(ids).logits)


# --- the examination as a whole


def test_what_a_single_token_would_leave_is_nothing_so_it_is_counted_and_left_out():
    found = examine(made(MADE[0]), SENTENCES, LABELS)

    assert (len(found.statements), found.n_too_short, found.n_sentences) == (4, 1, 5)
    assert [of.label for of in found.statements] == [1, 0, 1, 0]


def test_of_single_tokens_alone_nothing_is_found():
    found = examine(made(MADE[4]), [[2], [3]], [0, 1])

    assert (found.statements, found.n_too_short, found.has_attention) == ((), 2, False)


def test_a_seed_gives_the_same_numbers_whatever_else_draws():
    torch.manual_seed(0)
    one = examine(made(MADE[2]), SENTENCES, LABELS, seed=3)
    torch.rand(7)
    before = torch.get_rng_state()
    two = examine(made(MADE[2]), SENTENCES, LABELS, seed=3)
    other = examine(made(MADE[2]), SENTENCES, LABELS, seed=4)

    assert torch.equal(torch.get_rng_state(), before)
    for a, b in zip(one.statements, two.statements, strict=True):
        assert a.shuffled.tolist() == b.shuffled.tolist()
    chances = [found.agreements["chance"].taus for found in (one, two)]
    np.testing.assert_array_equal(*chances)
    assert one.statements[0].shuffled.tolist() != other.statements[0].shuffled.tolist()


def test_the_model_is_left_as_it_was():
    model = made(MADE[2]).float().train()
    before = state_of(model)

    examine(model, SENTENCES, LABELS)

    assert model.training
    for name, parameter in model.named_parameters():
        assert torch.equal(parameter, before[name])
        assert parameter.grad is None
        assert parameter.requires_grad


def test_it_tells_of_the_first_ones_and_ends_when_it_is_not_wanted():
    told, asked = [], [SENTENCES[0]] * 70

    whole = examine(made(MADE[4]), asked, [1] * 70, tell=told.append)

    assert [len(each.statements) for each in told] == [16, 32, 48, 64, 70]
    assert told[3].statements == whole.statements[:64]
    assert {each.n_sentences for each in told} == {70}

    def refuse(_):
        raise InterruptedError

    with pytest.raises(InterruptedError):
        examine(made(MADE[4]), asked, [1] * 70, tell=refuse)


def test_wrong_input_is_named():
    with pytest.raises(RangeError, match="n_tokens must lie between 1 and inf, got 0"):
        examine(made(MADE[0]), [[2, 3], []], [0, 1])
    with pytest.raises(RangeError, match="n_draws must lie between 1 and inf, got 0"):
        examine(made(MADE[0]), SENTENCES, LABELS, n_draws=0)


# --- what follows


def statement(logit, without, *, label=1, attention=None, gradient=None, equal=None, shuffled=()):
    n = len(without)
    return Statement(
        label,
        logit,
        np.array(without, dtype=float),
        np.array(gradient or range(n), dtype=float),
        None if attention is None else np.array(attention),
        equal,
        np.array(shuffled, dtype=float),
    )


def examination(*statements):
    return Examination(statements, 0, len(statements), 0)


def test_effects_by_hand():
    # The most attended word turns 1 into -1; of three words, one turns the answer.
    one = statement(
        1.0, [-1.0, 0.5, 2.0], attention=[0.5, 0.2, 0.3], equal=-0.1, shuffled=[-2.0, 2.0]
    )
    # Taken for negative, which is wrong; no word changes that, and none moves more than the third.
    two = statement(
        -2.0, [-1.0, -3.0, -9.0], attention=[0.1, 0.6, 0.3], equal=-2.0, shuffled=[-2.0, -2.0]
    )

    found = examination(one, two)

    assert found.accuracy == 0.5
    flips = {name: effect.n_flipped for name, effect in found.effects.items()}
    assert flips == pytest.approx(
        {"most": 1, "random": 1 / 3, "least": 0, "strongest": 1, "equal": 1, "shuffled": 0.5}
    )
    assert found.effects["shuffled"].right.tolist() == [0.5, 0]
    assert found.effects["shuffled"].share == 0.25
    p = 1 / (1 + np.exp(-np.array([1.0, -1.0, -2.0, -3.0, -9.0])))
    assert found.effects["most"].moved == pytest.approx([p[0] - p[1], p[2] - p[3]])
    assert found.effects["strongest"].moved == pytest.approx([p[0] - p[1], p[2] - p[4]])
    each = np.abs(p[[1, 3, 4]] - p[2])  # p of -1 is that of the first statement's answer, too
    assert found.effects["random"].moved[1] == pytest.approx(each.mean())


def test_without_attention_only_words_are_left_out_and_two_rankings_compared():
    found = examination(statement(1.0, [0.5, 0.9]))

    assert [*found.effects] == ["random", "strongest"]
    assert [*found.agreements] == ["occlusion_gradient", "chance"]


def test_agreements_by_hand():
    # Occlusion 3, 2, 1; attention orders them alike, the gradient in reverse.
    of = statement(4.0, [1.0, 2.0, 3.0], attention=[0.5, 0.3, 0.2], gradient=[1, 2, 3])

    found = examination(of)

    assert {pair: one.mean for pair, one in found.agreements.items() if pair != "chance"} == {
        "attention_occlusion": 1,
        "attention_gradient": -1,
        "occlusion_gradient": -1,
    }
    assert taus(of) == {
        "attention_occlusion": 1,
        "attention_gradient": -1,
        "occlusion_gradient": -1,
    }


def test_rounding_ranks_no_token():
    moved_by_rounding = statement(2.0, [1.5, 1.5 + 1e-15, 1.5 - 1e-15], gradient=[1, 2, 3])
    flat = statement(2.0, [1.5, 1.6, 1.7], gradient=[1e-16, 2e-16, 3e-16])

    assert np.isnan([taus(each)["occlusion_gradient"] for each in (moved_by_rounding, flat)]).all()


def test_a_random_order_agrees_with_nothing_on_average():
    rng = np.random.default_rng(0)

    found = examination(*(statement(0.0, rng.normal(size=6)) for _ in range(400)))

    chance = found.agreements["chance"]
    assert len(chance.taus) == 4000
    assert chance.mean == pytest.approx(0, abs=0.02)
    # The variance of τ over random orders of n things is 2 (2 n + 5) / (9 n (n - 1)).
    assert chance.taus.var() == pytest.approx(2 * 17 / (9 * 6 * 5), rel=0.1)


def test_what_ranks_nothing_is_counted():
    found = Agreement(np.array([0.5, np.nan, 1.0, 0.0]))

    assert found.n_undefined == 1
    assert found.mean == 0.5
    assert found.quartiles == (0.25, 0.5, 0.75)
    nothing = Agreement(np.array([np.nan]))
    assert np.isnan([nothing.mean, *nothing.quartiles, *nothing.interval]).all()


def test_what_differs_by_rounding_is_level():
    assert len({*level(np.array([0.25, 0.25 + 1e-16, 0.25 - 1e-12]))}) == 1
    assert len({*level(np.array([0.25, 0.2501]))}) == 2
    assert level(np.array([1e-17, 3e-17]), 4.0).tolist() == [0, 0]
    assert level(np.zeros(3)).tolist() == [0, 0, 0]

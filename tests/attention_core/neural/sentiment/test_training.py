"""Training: by hand, against an oracle, the same by seed, stopped anywhere, and it does learn."""

import random
import threading
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
import torch

from attention_core.errors import AttentionError
from attention_core.neural.sentiment import training
from attention_core.neural.sentiment.corpus import Corpus, Example, Vocabulary
from attention_core.neural.sentiment.model import KINDS, Architecture, batch, with_state
from attention_core.neural.sentiment.training import WEIGHT_DECAY, Recipe, logits, result, train

GOOD, BAD = ("great", "fresh", "funny", "clever"), ("dull", "awful", "flat", "weak")
SUBJECTS = ("plot", "cast", "sound", "script")
SMALL = Architecture("lstm_attention", embed_dim=8, hidden=8, dropout=0.2)
STEADY = Recipe(warmup=0.0, is_decaying=False, clip=None, batch_size=16, n_epochs=2)


def contrasts(count, seed=0):
    """Distinct sentences such as "plot great but cast very dull": the last word decides."""
    rng, found = random.Random(seed), {}
    while len(found) < count:
        label = len(found) % 2
        ends = (BAD, GOOD) if label else (GOOD, BAD)
        first, last = map(rng.choice, ends)
        very = ["very"] * rng.randint(0, 2)
        tokens = (rng.choice(SUBJECTS), first, "but", rng.choice(SUBJECTS), *very, last)
        found.setdefault(tokens, Example(" ".join(tokens), tokens, label))
    return [*found.values()]


def corpus_of(n_train, n_validation):
    examples = contrasts(n_train + n_validation)
    train, validation = tuple(examples[:n_train]), tuple(examples[n_train:])
    return Corpus(train, validation, Vocabulary.of(each.tokens for each in train), "words")


CORPUS = corpus_of(48, 16)


def numbered(examples):
    return [CORPUS.vocabulary.ids(each.tokens) for each in examples]


def labels_of(examples):
    return np.array([each.label for each in examples], dtype=float)


def cross_entropy(z, y):
    return float(np.mean(np.log1p(np.exp(z)) - y * z))


# --- the learning rate


def test_the_rate_rises_to_its_highest_and_falls_by_hand():
    recipe = Recipe(learning_rate=0.3, warmup=0.5)

    # Two of four steps rise, in thirds; the other two fall, in halves.
    rates = [recipe.rate(step, 4) for step in range(4)]

    assert rates == pytest.approx([0.1, 0.2, 0.3, 0.15])


def test_without_decay_it_stays_and_without_warmup_it_begins_there():
    assert [Recipe(0.3, warmup=0.0, is_decaying=False).rate(step, 3) for step in range(3)] == [
        0.3,
        0.3,
        0.3,
    ]
    assert [Recipe(0.3, warmup=0.0).rate(step, 3) for step in range(3)] == pytest.approx(
        [0.3, 0.2, 0.1]
    )


@pytest.mark.parametrize("warmup", [0.0, 0.05, 0.1, 0.2, 0.99])
@pytest.mark.parametrize("n_steps", [1, 2, 7, 100])
def test_no_step_is_without_a_rate_and_none_is_above_the_highest(warmup, n_steps):
    recipe = Recipe(learning_rate=0.1, warmup=warmup)

    rates = [recipe.rate(step, n_steps) for step in range(n_steps)]

    assert all(0 < rate <= 0.1 for rate in rates)
    top = rates.index(max(rates))
    assert rates[: top + 1] == sorted(rates[: top + 1])
    assert rates[top:] == sorted(rates[top:], reverse=True)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"learning_rate": 0.0}, "learning_rate must lie between 0 and inf, got 0"),
        ({"learning_rate": float("nan")}, "learning_rate must lie between 0 and inf, got nan"),
        ({"learning_rate": float("inf")}, "learning_rate must lie between 0 and inf, got inf"),
        ({"clip": 0.0}, "clip must lie between 0 and inf, got 0"),
        ({"warmup": 1.0}, "warmup must lie between 0 and 1, got 1"),
        ({"warmup": -0.1}, "warmup must lie between 0 and 1, got -0.1"),
        ({"batch_size": 0}, "batch_size must lie between 1 and inf, got 0"),
        ({"n_epochs": 0}, "n_epochs must lie between 1 and inf, got 0"),
        ({"patience": -1}, "patience must lie between 0 and inf, got -1"),
    ],
)
def test_what_cannot_be_trained_with_is_named(changes, message):
    with pytest.raises(AttentionError, match=message):
        Recipe(**changes)


# --- a step


def one_step(**changes):
    """A run of one step on all sentences, without dropout."""
    recipe = replace(STEADY, **{"batch_size": 48, "n_epochs": 1} | changes)
    return train(CORPUS, replace(SMALL, dropout=0.0), recipe, 0)


def gradient(run):
    """Of the loss at the first parameters, by PyTorch from the equation."""
    model = with_state(run.architecture, run.states[0])
    z, y = model(batch(numbered(CORPUS.train))).logits, torch.tensor(labels_of(CORPUS.train))
    loss = (torch.log1p(torch.exp(z)) - y * z).mean()
    names, parameters = zip(*model.named_parameters(), strict=True)
    return dict(zip(names, torch.autograd.grad(loss, parameters), strict=True))


def test_the_first_loss_and_norm_are_those_of_the_equation():
    run = one_step()

    model = with_state(run.architecture, run.states[0])
    z = logits(model, numbered(CORPUS.train)).numpy()
    norm = np.sqrt(sum(float((g**2).sum()) for g in gradient(run).values()))
    assert run.losses == pytest.approx([cross_entropy(z, labels_of(CORPUS.train))], rel=1e-5)
    assert run.norms == pytest.approx([norm], rel=1e-5)
    assert run.rates == (0.01,)


def test_the_first_step_is_that_of_adamw():
    # Its means of the gradient and of its square begin, corrected, at g and g²: every parameter
    # goes by the rate against the sign of g, after the decay.
    run = one_step()

    for name, g in gradient(run).items():
        before, after = run.states[0][name], run.states[1][name]
        expected = before * (1 - 0.01 * WEIGHT_DECAY) - 0.01 * g / (g.abs() + 1e-8)
        is_clear = g.abs() > 1e-5  # of a smaller one rounding decides the sign
        torch.testing.assert_close(after[is_clear], expected[is_clear], atol=2e-5, rtol=1e-4)


def test_all_steps_are_those_of_a_plain_loop_over_the_same_batches():
    made_of = replace(SMALL, dropout=0.0)
    run = train(CORPUS, made_of, STEADY, 0)
    model = with_state(made_of, run.states[0])
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01, weight_decay=WEIGHT_DECAY)
    examples, rng = training._numbered(CORPUS.train, CORPUS.vocabulary), random.Random(0)

    losses = []
    for _ in range(STEADY.n_epochs):
        for ids, y in training._batches(examples, STEADY.batch_size, rng):
            z = model(ids).logits
            loss = (torch.log1p(torch.exp(z)) - y * z).mean()
            parameters = [*model.parameters()]
            for parameter, g in zip(parameters, torch.autograd.grad(loss, parameters), strict=True):
                parameter.grad = g
            optimizer.step()
            losses.append(loss.item())

    assert run.losses == pytest.approx(losses, rel=1e-4)


def test_dropout_acts_while_it_learns_in_every_epoch():
    plain, dropping = (
        train(CORPUS, replace(SMALL, dropout=share), replace(STEADY, learning_rate=1e-9), 0)
        for share in (0.0, 0.5)
    )

    # The parameters hardly move, so nothing else makes these losses differ.
    assert plain.epochs[0] == dropping.epochs[0]
    for one, other in zip(plain.losses, dropping.losses, strict=True):
        assert abs(one - other) > 1e-4


def test_a_longer_gradient_is_shortened_and_told_as_it_was(monkeypatch):
    seen, step = [], torch.optim.AdamW.step

    def spy(self, *args, **kwargs):
        own = [p.grad for group in self.param_groups for p in group["params"]]
        seen.append(float(torch.sqrt(sum((g**2).sum() for g in own))))
        return step(self, *args, **kwargs)

    monkeypatch.setattr(torch.optim.AdamW, "step", spy)

    free = train(CORPUS, SMALL, STEADY, 0)
    n_free = len(seen)
    clipped = train(CORPUS, SMALL, replace(STEADY, clip=0.05), 0)

    assert seen[:n_free] == pytest.approx(free.norms, rel=1e-4)
    assert seen[n_free:] == pytest.approx([0.05] * len(clipped.norms), rel=1e-4)
    assert clipped.norms[0] == pytest.approx(free.norms[0], rel=1e-6)
    assert min(clipped.norms) > 0.05


def test_every_sentence_is_read_once_in_an_epoch_and_lengths_stay_together():
    examples = [([place + 2] * (1 + place % 5), place % 2) for place in range(23)]

    parts = [[*training._batches(examples, 4, random.Random(seed))] for seed in (0, 1)]

    for part in parts:
        rows = [[i for i in row if i] for ids, _ in part for row in ids.tolist()]
        assert Counter(map(tuple, rows)) == Counter(tuple(ids) for ids, _ in examples)
        labels = [label for _, given in part for label in given.tolist()]
        assert labels == [(row[0] - 2) % 2 for row in rows]
        assert sum((ids == 0).sum() for ids, _ in part) <= 5 * 4  # where a batch spans two lengths
    orders = [[ids.tolist() for ids, _ in part] for part in parts]
    assert orders[0] != orders[1]
    widths = [len(ids[0]) for ids in orders[0]]
    assert widths != sorted(widths)  # or the long ones would always come last


# --- epochs, and where it ends


def test_an_epoch_is_measured_on_sentences_that_were_not_learnt_from():
    run = train(CORPUS, SMALL, STEADY, 0)

    for epoch, state in zip(run.epochs, run.states, strict=True):
        z = logits(with_state(SMALL, state), numbered(CORPUS.validation)).numpy()
        y = labels_of(CORPUS.validation)
        assert epoch.validation_loss == pytest.approx(cross_entropy(z, y), rel=1e-6)
        assert epoch.accuracy == np.mean((z > 0) == (y > 0.5))
    assert [epoch.number for epoch in run.epochs] == [0, 1, 2]
    assert run.epochs[0].train_loss is None
    assert run.epochs[2].train_loss == pytest.approx(np.mean(run.losses[3:]))
    assert (run.n_steps, len(run.losses), run.ending, run.kept) == (6, 6, "all", 2)


def contradicted():
    """Validation sentences with the other label: the better it learns, the worse they go."""
    other = tuple(replace(each, label=1 - each.label) for each in CORPUS.validation)
    return replace(CORPUS, validation=other)


EAGER = Recipe(learning_rate=0.02, batch_size=8, n_epochs=12, patience=2)


@pytest.mark.parametrize("keeps_states", [True, False])
def test_early_stop_keeps_the_epoch_of_the_lowest_validation_loss(keeps_states):
    run = train(contradicted(), SMALL, EAGER, 0, keeps_states=keeps_states)

    losses = [epoch.validation_loss for epoch in run.epochs]
    assert run.ending == "early"
    assert run.kept == 1 + int(np.argmin(losses[1:]))
    assert run.epochs[-1].number == run.kept + 2 < EAGER.n_epochs
    z = logits(result(run), numbered(CORPUS.validation)).numpy()
    y = 1 - labels_of(CORPUS.validation)
    assert cross_entropy(z, y) == pytest.approx(losses[run.kept], rel=1e-6)
    assert run.accuracy == np.mean((z > 0) == (y > 0.5))
    assert run.done == 1.0
    assert len(run.states) == (len(run.epochs) if keeps_states else 1)


def test_of_loss_and_accuracy_the_loss_decides_which_epoch_is_kept():
    run = training.Run(SMALL, EAGER, 0, 9, (training.Epoch(0, None, 0.1, 1.0),), states=({},))

    for number, (loss, accuracy) in enumerate([(0.5, 0.7), (0.4, 0.6), (0.6, 0.9)], start=1):
        epoch = training.Epoch(number, 0.5, loss, accuracy)
        run = training._after(run, epoch, {}, keeps_states=True)

    assert (run.kept, run.accuracy, run.ending) == (2, 0.6, "")


def test_without_patience_it_goes_to_the_end_and_keeps_the_last_epoch():
    run = train(contradicted(), SMALL, replace(EAGER, patience=0, n_epochs=6), 0)

    assert (run.ending, run.kept, len(run.epochs)) == ("all", 6, 7)
    assert min(epoch.validation_loss for epoch in run.epochs[1:]) < run.epochs[6].validation_loss


def test_patience_that_is_never_lost_ends_with_all_epochs():
    run = train(CORPUS, SMALL, replace(STEADY, patience=2), 0)

    assert (run.ending, len(run.epochs)) == ("all", 3)


@pytest.mark.parametrize("kind", ["bag", "attention"])
def test_what_is_no_number_ends_it_and_the_last_epoch_stays(kind):
    # At this rate weight decay alone multiplies all parameters by 1 - 1000 · 0.01 = -9.
    recipe = replace(STEADY, learning_rate=1000.0, batch_size=4, n_epochs=12)

    run = train(CORPUS, Architecture(kind, embed_dim=8), recipe, 0)

    assert run.ending == "not_finite"
    assert len(run.losses) < run.n_steps
    assert run.done == 1.0
    assert np.isfinite(run.losses[:-1]).all()
    assert np.isfinite([epoch.validation_loss for epoch in run.epochs]).all()
    assert all(torch.isfinite(value).all() for value in run.state.values())
    assert len(run.states) == len(run.epochs)


def test_a_measurement_that_is_no_number_ends_it_too(monkeypatch):
    def broken(model, examples, number, train_loss, between):
        return training.Epoch(number, train_loss, float("nan") if number else 1.0, 0.5)

    monkeypatch.setattr(training, "_measured", broken)

    run = train(CORPUS, SMALL, STEADY, 0)

    assert (run.ending, len(run.losses), len(run.epochs)) == ("not_finite", 3, 1)


# --- the same by seed, whatever else goes on


def numbers(run):
    states = [value.tolist() for state in run.states for value in state.values()]
    return run.losses, run.norms, run.epochs, states


def test_the_same_seed_gives_the_same_whatever_the_shared_generators_hold():
    torch.manual_seed(1)
    random.seed(1)
    before = torch.get_rng_state(), random.getstate()
    first = numbers(train(CORPUS, SMALL, STEADY, 3))
    assert torch.equal(torch.get_rng_state(), before[0])
    assert random.getstate() == before[1]
    torch.manual_seed(2)
    random.seed(2)

    assert numbers(train(CORPUS, SMALL, STEADY, 3)) == first


def test_another_seed_draws_other_parameters_and_another_order():
    one, other = (train(CORPUS, SMALL, STEADY, seed) for seed in (0, 1))

    assert one.epochs[0] != other.epochs[0]
    assert one.losses != other.losses


def test_two_at_once_give_what_each_gives_alone():
    alone = {seed: numbers(train(CORPUS, SMALL, STEADY, seed)) for seed in (0, 1)}
    together, meets = {}, threading.Barrier(2, timeout=20)

    def run(seed):
        # They go step by step together, so that anything they share would be torn.
        together[seed] = numbers(train(CORPUS, SMALL, STEADY, seed, tell=lambda _: meets.wait()))

    threads = [threading.Thread(target=run, args=(seed,)) for seed in alone]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert together == alone


# --- what it tells, and how it is stopped


def test_it_tells_each_step_and_goes_only_forward():
    told = []

    run = train(CORPUS, SMALL, STEADY, 0, tell=told.append)

    counts = [len(each.losses) for each in told]
    assert set(counts) == set(range(7))
    assert counts == sorted(counts)
    dones = [each.done for each in told]
    assert dones[0] == 0.0
    assert dones == sorted(dones)
    assert told[-1].ending == run.ending
    assert all(len(each.norms) == len(each.rates) == len(each.losses) for each in told)
    assert all(each.losses == run.losses[: len(each.losses)] for each in told)


class StoppedError(Exception):
    pass


@pytest.mark.parametrize("at", [0, 1, 2, 3, 4])
def test_it_ends_at_whichever_step_it_is_stopped(at):
    last = []

    def tell(run):
        last.append(run)
        if len(run.losses) == at and run.epochs:
            raise StoppedError

    with pytest.raises(StoppedError):
        train(CORPUS, SMALL, STEADY, 0, tell=tell)

    assert len(last[-1].losses) == at
    assert last[-1].done == pytest.approx(at / 6)


def test_a_long_measurement_can_be_stopped_too(monkeypatch):
    monkeypatch.setattr(training, "_AT_ONCE", 4)
    told = []

    train(CORPUS, SMALL, replace(STEADY, n_epochs=1), 0, tell=told.append)

    # Four parts before the first step, and once it is measured; four after the last of three.
    assert [len(run.losses) for run in told] == [0] * 5 + [1, 2, 3] + [3] * 4 + [3]


def test_it_says_how_many_bytes_it_takes():
    run = train(CORPUS, SMALL, STEADY, 0)

    parameters = sum(value.nbytes for state in run.states for value in state.values())
    assert parameters < run.nbytes < parameters + 1000


def test_sentences_read_in_parts_give_what_they_give_at_once(monkeypatch):
    model = result(train(CORPUS, SMALL, STEADY, 0)).train()
    sentences = numbered(CORPUS.validation)
    whole = logits(model, sentences)

    monkeypatch.setattr(training, "_AT_ONCE", 3)
    parts = logits(model, sentences)

    assert not model.training
    torch.testing.assert_close(parts, whole, atol=1e-6, rtol=1e-5)


def test_any_epoch_that_was_kept_can_be_looked_at():
    run = train(CORPUS, SMALL, STEADY, 0)

    for epoch, state in enumerate(run.states):
        model = result(run, epoch)
        for name, value in model.state_dict().items():
            torch.testing.assert_close(value, state[name], atol=0, rtol=0)


# --- it learns

ENOUGH = corpus_of(160, 60)


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("kind", ["lstm", "lstm_attention"])
def test_it_learns_which_word_decides(kind, seed):
    made_of = Architecture(kind, embed_dim=8, hidden=8, dropout=0.0)
    recipe = Recipe(learning_rate=0.03, batch_size=16, n_epochs=12)

    run = train(ENOUGH, made_of, recipe, seed, keeps_states=False)

    assert run.epochs[-1].train_loss < run.epochs[1].train_loss / 4
    assert run.epochs[-1].validation_loss < run.epochs[0].validation_loss / 2
    assert run.accuracy >= 0.9


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_learns_single_words(kind):
    words = [
        Example(" ".join(tokens), tokens, int(word in GOOD))
        for subject in SUBJECTS
        for word in (*GOOD, *BAD)
        for tokens in [(subject, word)]
    ]
    train_part, validation = tuple(words[:24]), tuple(words[24:])
    known = Vocabulary.of(each.tokens for each in train_part)
    recipe = Recipe(learning_rate=0.05, batch_size=8, n_epochs=12)

    run = train(
        Corpus(train_part, validation, known, "words"),
        Architecture(kind, embed_dim=8, hidden=8, dropout=0.0),
        recipe,
        0,
    )

    assert run.accuracy >= 0.8

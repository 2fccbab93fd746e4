"""The step on conventions of the lesson on PyTorch: each input does what it says."""

from dataclasses import replace

import numpy as np
import pytest

from attention_core import Experiment
from attention_core.neural import conventions
from attention_core.neural.conventions import CONVENTIONS
from playground import link
from tests.pages.driver import App

TWO = Experiment.from_preset("random").resized(n_tokens=4, d_model=4, d_k=2, n_heads=2)


@pytest.fixture
def app():
    return App("pytorch", e=link.encode(TWO), s="conventions")


def shown(app):
    return {
        matrix["id"]: np.array(matrix["values"], dtype=float) for matrix in app.board["matrices"]
    }


@pytest.mark.parametrize("convention", CONVENTIONS)
def test_each_trap_shows_the_code_that_was_run(app, convention):
    app.set("pytorch.convention", convention)

    (code,) = app.test.code
    assert code.value.strip() == conventions.source(convention).strip()
    app.assert_calm()


@pytest.mark.parametrize("head", [0, 1])
def test_the_board_follows_a_head(app, head):
    app.set("head", head)

    expected = conventions.shown(TWO, "polarity").arrays["same_mask"][head]
    np.testing.assert_allclose(shown(app)["same_mask"], expected, rtol=0, atol=1e-14)


def test_all_heads_at_once_need_no_head_to_follow(app):
    app.set("pytorch.convention", "averaged")

    assert not any(getattr(each, "key", None) == "head" for each in app.test)
    assert {"head_0", "head_1", "by_default"} == set(shown(app))


@pytest.mark.parametrize("n_queries", [2, 4])
def test_so_many_of_the_last_queries_are_looked_at(app, n_queries):
    app.set("pytorch.convention", "is_causal").set("pytorch.n_queries", n_queries)

    expected = conventions.shown(TWO, "is_causal", n_queries=n_queries).arrays["came_out"][0]
    np.testing.assert_allclose(shown(app)["came_out"], expected, rtol=0, atol=1e-14)
    assert app.board["axes"]["last"] == list(TWO.tokens[-n_queries:])
    app.assert_calm()


def test_fewer_tokens_take_the_queries_along(app):
    app.set("pytorch.convention", "is_causal").set("pytorch.n_queries", 4)

    app.visit("playground")
    one = App("pytorch", e=link.encode(TWO.resized(n_tokens=1)), s="conventions")
    one.set("pytorch.convention", "is_causal")

    assert shown(one)["came_out"].shape == (1, 1)
    one.assert_calm()


def test_dropout_drops_what_is_asked_and_draws_again(app):
    app.set("pytorch.convention", "dropout")
    first = shown(app)["train"]

    app.press(app.t("pytorch.conventions.draw"))
    second = shown(app)["train"]
    app.set("pytorch.p", 0.1)

    for got, p, seed in ((first, 0.5, 0), (second, 0.5, 1), (shown(app)["train"], 0.1, 1)):
        expected = conventions.shown(TWO, "dropout", p=p, seed=seed).arrays["train"][0]
        np.testing.assert_allclose(got, expected, rtol=0, atol=1e-14)
    assert ((first == 0) != (second == 0)).any()
    app.assert_calm()


def test_positions_that_are_left_out_are_told():
    app = App("pytorch", e=link.encode(replace(TWO, encoding="rotary")), s="conventions")

    told = app.t("pytorch.conventions.left_out", encoding=app.t("control.encoding_rotary"))
    assert any(told in markdown.value for markdown in app.test.markdown)

"""The step on relay and round table: its inputs move the strip, the figure and the sentences."""

import json
from dataclasses import replace

import pytest

from attention_core import Experiment, Mask
from playground import link
from playground.texts import Texts
from tests.pages.driver import App

T = Texts("en")
REPEATED = Experiment.from_preset("repeated")


@pytest.fixture
def app():
    return App("why_attention", s="relay", e=link.encode(REPEATED))


def strip(app):
    return json.loads(app._component("strip").bytes)


def found(app):
    (info,) = [each.value for each in app.test.info]
    return info


def rows(app):
    return app.test.table[0].value.to_numpy().tolist()


def test_the_strip_holds_the_tokens_of_the_experiment(app):
    shown = strip(app)

    app.assert_calm()
    assert shown["tokens"] == list(REPEATED.tokens)
    assert [lane["id"] for lane in shown["lanes"]] == ["relay", "table"]


def test_another_message_is_followed_from_its_own_token(app):
    app.set("why_attention.source", 3)

    assert strip(app)["source"] == 3
    assert r"Others that hear “the \(4\)”: 1 of 4 by the end" in found(app)


def test_a_mask_takes_links_away_and_is_named(app):
    before = strip(app)["lanes"][1]["passings"][1]["moment"]["links"]

    app.set("mask", ["causal"])

    after = strip(app)["lanes"][1]["passings"][1]["moment"]["links"]
    assert (len(before), len(after)) == (25, 15)
    assert "The table uses 15 of 25 possible links" in found(app)
    assert "The mask forbids the other 10." in found(app)


def test_the_sizes_move_mark_table_and_sentence(app):
    app.set("why_attention.n_tokens", 16).set("why_attention.d_model", 16)

    app.assert_calm()
    assert [shape["x0"] for shape in app.figure["layout"]["shapes"]] == [16]
    assert rows(app)[0] == [T("why_attention.relay.steps"), "16", "1"]
    assert rows(app)[3][1:] == ["8,192", "20,480"]
    assert "only from 17 tokens on" in found(app)


@pytest.mark.parametrize("quantity", ["path", "links", "multiply_adds"])
def test_what_is_drawn_is_chosen(app, quantity):
    app.set("why_attention.quantity", quantity)

    axis = app.figure["layout"]["yaxis"]["title"]["text"]
    assert axis == T(f"why_attention.relay.{quantity}")


def test_where_nothing_is_allowed_the_table_is_silent():
    mask = Mask(("window", "padding"), n_padding=12, before=0, after=0)
    app = App("why_attention", s="relay", e=link.encode(replace(REPEATED, mask=mask)))

    app.assert_calm()
    assert "The table uses 0 of 25 possible links" in found(app)


def test_a_token_that_is_gone_is_followed_no_more(app):
    app.set("why_attention.source", 4)

    app.visit("playground").set("preset", "apple").visit("why_attention")

    app.assert_calm()
    assert strip(app)["source"] == 0

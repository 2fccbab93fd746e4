"""A browser whose server has gone finds its work on another one, and what it touched meanwhile."""

from attention_core import PRESETS, to_plain
from tests.pages.driver import App


def add(number):
    return {"number": number, "kind": "add"}


def test_what_the_address_holds_is_there():
    app = App().set("n_heads", 2).set("language", "zh").set("head", 1)
    app.set("d_k", 3)

    other = app.on_another_server()

    other.assert_consistent(head=1)
    assert to_plain(other.experiment) == to_plain(app.experiment)
    assert (other.t.language, other.board["head"]) == ("zh", 1)
    assert other.board["session"] != app.board["session"]


def test_nothing_is_changed_by_coming_back():
    app = App().set("preset", "random").set("d_k", 3)

    other = app.on_another_server()

    assert not other.test.session_state["work"]["past"]


def test_edits_that_the_other_server_has_taken_are_not_taken_again():
    app = App().send(add(1))
    sent = app._with_state(edits=app.test.session_state["board"]["edits"])

    other = app.on_another_server(states=sent)
    other.press(other.t("control.randomize"))  # which takes first what the board has sent

    assert len(app.experiment.tokens) == len(other.experiment.tokens) == 4


def test_edits_that_no_server_has_answered_are_taken_once_when_they_are_sent_again():
    app = App()
    other = app.on_another_server()

    other.send(add(1), of=app.board["session"]).send(add(1)).send(add(1))

    assert len(other.experiment.tokens) == 4


def test_what_was_touched_while_no_server_was_there_is_taken():
    app = App()
    states = touched(app, "d_k", 3)

    other = app.on_another_server(states=states)

    other.assert_consistent()
    assert (app.experiment.d_k, other.experiment.d_k) == (2, 3)
    assert len(other.test.session_state["work"]["past"]) == 1


def test_a_lesson_is_set_as_its_inputs_show():
    app = App("masks").set("masks.kinds", ["window"])
    app.send({"number": 1, "kind": "paint", "matrix": "mask", "cells": [[0, 2]], "allowed": True})

    other = app.on_another_server("masks")

    other.assert_calm()
    assert other.test.session_state["masks.kinds"] == ["window"]
    assert to_plain(other.experiment) == to_plain(app.experiment)


def test_an_experiment_that_no_link_can_carry_stays_behind_and_is_told_of():
    app = App().set("preset", "random").set("d_k", 3)

    other = app.on_another_server(e="")

    assert other.experiment.preset == next(iter(PRESETS))
    assert other.experiment.d_k == 2
    assert other.warnings == [other.t("notice.left_behind")]


def touched(app, key, value):
    """What the inputs show when one was touched and no answer came."""
    (widget,) = [element for element in app.test if getattr(element, "key", None) == key]
    widget.set_value(value)
    return app.test._tree.get_widget_states()

"""Messages that no board of ours sends: the work is kept, nothing fails, and undo works."""

import json
import random

import numpy as np
import pytest
import streamlit as st
from streamlit.proto.WidgetStates_pb2 import WidgetState

from attention_core import Experiment, to_plain
from playground import session
from tests.hostile.nasty import TOKENS, UNFIT, VALUES, Watch, nested, places, replanted
from tests.pages.driver import App

CELL = {"kind": "cell", "matrix": "X", "head": None, "row": 0, "column": 0, "value": 2.0}
EDITS = {
    "cell": CELL | {"joins": False},
    "cell of a head": CELL | {"matrix": "W_Q", "head": 0},
    "block": {**CELL, "kind": "block", "values": [[1.0, 2.0], [3.0, 4.0]]},
    "paint": {"kind": "paint", "matrix": "mask", "cells": [[0, 1]], "allowed": False},
    "target": {"kind": "paint", "matrix": "target", "cells": [[0, 1]], "allowed": True},
    "rename": {"kind": "rename", "row": 0, "text": "x"},
    "add": {"kind": "add"},
    "remove": {"kind": "remove", "row": 0},
    "move": {"kind": "move", "row": 0, "to": 1},
}
ODD = [value for value in VALUES if not (isinstance(value, int) and abs(value) > 10**300)]
ODD += ["W_Q", "W_O", "mask", "tokens", "__class__", "canvas", [[0.5] * 9_000], [[0, 0]] * 9_000]
ODD += [2, 99, -5, [1, 2], [[1, 2], [3]], [["1"]], [[True]], TOKENS[0]]


@pytest.fixture(scope="module")
def app():
    """One page for all: what comes of one message may do no harm to the next."""
    return App()


def raw(app, text, component="board"):
    """Send a text as the state of a component, whatever it is."""
    states = app.test._tree.get_widget_states()
    sent = WidgetState(id=app._component(component).id)
    sent.json_value = text
    states.widgets.append(sent)
    return app._answer(states)


def message(app, *edits, **other):
    """What a board sends, as a text, with other fields in it."""
    seen = {
        "session": app.board["session"],
        "mount": "m",
        "revision": app.board["revision"],
        "attempt": 1,
        "edits": list(edits),
    }
    return json.dumps({"edits": seen | other})


def assert_sound(app):
    """The page is there as ever, and says nothing but that something was refused."""
    assert not app.test.exception
    assert app.errors == []
    app.assert_shows(app.experiment)
    assert np.isfinite(app.experiment.trace().attention.output).all()


def work(app):
    return to_plain(app.experiment)


# --- nothing of it can be meant


RAW = {
    "nothing": "",
    "no JSON": "{",
    "a number": "1",
    "null": "null",
    "a list": "[1]",
    "a text": '"edits"',
    "NaN": "NaN",
    "half a character": '"\\ud800"',
    "another state": '{"other": 1}',
    "edits of null": '{"edits": null}',
    "edits of a list": '{"edits": []}',
    "edits of a text": '{"edits": "x"}',
    "edits in edits": '{"edits": {"edits": {"edits": []}}}',
    "painted of a list": '{"painted": [1]}',
    "painted of an object": '{"painted": {"a": {}}, "edits": 5}',
    "deep": '{"edits": ' + nested(10_000) + "}",
    "deep objects": '{"edits": ' + nested(10_000, '{"edits":', "}").replace(":}", ":1}") + "}",
    "10 MB": json.dumps({"edits": "x" * 10_000_000}),
    "10 MB of edits": '{"edits": {"mount": "m", "revision": 0, "edits": ['
    + ",".join(['{"kind": "cell"}'] * 600_000)
    + "]}}",
}


@pytest.mark.parametrize("name", RAW)
def test_a_state_that_is_no_message_changes_nothing(app, name):
    before = work(app)

    raw(app, RAW[name])

    assert_sound(app)
    assert work(app) == before


@pytest.mark.parametrize("name", ["no JSON", "null", "half a character", "deep", "10 MB"])
def test_what_is_sent_to_the_address_bar_changes_nothing(name):
    app = App("guide")
    before = work(app)

    raw(app, RAW[name], component="address_bar")

    assert not app.test.exception
    assert app.errors == []
    assert work(app) == before


# --- a message around whose edits something is wrong


@pytest.fixture
def work_of(work):
    """A session without a page, into which thousands of messages go; gives its experiment."""
    return lambda: json.loads(work["text"])


def deliver(*edits, **other):
    """The session hears of a message, as from the board's callback."""
    seen = {
        "session": session.tag(),
        "mount": "m",
        "revision": session.revision(),
        "attempt": 1,
        "edits": list(edits),
    }
    st.session_state[session.BOARD_KEY] = {"edits": seen | other}
    session.take_waiting()
    session.heard()
    session.order()


@pytest.mark.parametrize("field", ["session", "mount", "revision", "attempt", "edits"])
def test_a_message_with_an_odd_field_is_dropped_or_taken_as_it_stands(work_of, field):
    for number, value in enumerate(ODD, start=1):
        before = work_of()

        deliver(EDITS["cell"] | {"number": number, "value": number + 10.0}, **{field: value})

        taken = before | {"X": before.get("X", {}) | {"0": number + 10.0}}
        assert work_of() in (before, taken), value
    assert len(session.taken()) <= 20
    assert all(len(mount) <= 40 for mount in session.taken())


@pytest.mark.parametrize("revision", [-1, 10**9, 0.5, "0", None, True])
def test_an_edit_of_another_revision_is_dropped(revision):
    app = App()
    app.press(app.t("control.reset"))
    before = work(app)

    raw(app, message(app, EDITS["cell"] | {"number": 1}, revision=revision))

    assert work(app) == before


# --- edits in which something is wrong


def odd_edits():
    """Each edit with everything odd in each of its places."""
    for edit in EDITS.values():
        for path in places(edit):
            for value in ODD:
                if path != () or isinstance(value, dict):
                    yield replanted(edit, path, value)


def test_every_edit_with_everything_odd_in_it_keeps_the_work_and_undo_works(work_of):
    edits = [*odd_edits()]
    random.Random(0).shuffle(edits)
    assert len(edits) > 1_500
    watch = Watch()
    for number, edit in enumerate(edits, start=1):
        watch(deliver, edit | {"number": number})
        assert session.taken() == {"m": number}
        assert np.isfinite(session.experiment().trace().attention.output).all()
        assert sorted(session.order()) == [*range(session.experiment().n_tokens)]
        assert all(0 <= place < 12 for cell in session.target() for place in cell)
    watch.assert_quick()

    before = work_of()
    deliver(EDITS["cell"] | {"number": 10**6, "value": 0.123})
    assert session.experiment().X[0, 0] == 0.123
    session.undo()
    assert work_of() == before


def test_odd_edits_leave_the_page_as_sound_as_the_session(app):
    rng = random.Random(1)
    for start in (1, 101, 201):
        few = rng.choices([*odd_edits()], k=40)
        edits = [edit | {"number": start + place} for place, edit in enumerate(few)]

        raw(app, message(app, *edits, mount="odd"))

        assert_sound(app)


def test_of_many_edits_in_one_message_the_first_are_taken_and_the_others_when_sent_again(work_of):
    edits = [CELL | {"number": number, "value": float(number)} for number in range(1, 121)]

    for last in (50, 100, 120, 120):
        deliver(*edits)

        assert session.taken() == {"m": last}
        assert session.experiment().X[0, 0] == last


@pytest.mark.parametrize(
    "edit",
    [
        CELL | {"matrix": "W_X"},
        CELL | {"matrix": "weights"},
        CELL | {"matrix": "W_O"},  # it is off
        CELL | {"row": 3},
        CELL | {"row": -1},
        CELL | {"column": 2},
        CELL | {"column": 10**30},
        CELL | {"head": 0},
        CELL | {"matrix": "W_Q"},
        CELL | {"matrix": "W_Q", "head": 1},
        CELL | {"value": "1"},
        CELL | {"value": True},
        CELL | {"value": None},
        CELL | {"value": [1]},
        CELL | {"row": 0.0},
        CELL | {"row": True},
        {"kind": "paint", "matrix": "mask", "cells": [[0, 3]], "allowed": True},
        {"kind": "paint", "matrix": "mask", "cells": [[0, 0, 0]], "allowed": True},
        {"kind": "paint", "matrix": "mask", "cells": [[0, 0]], "allowed": 1},
        {"kind": "block", **{k: CELL[k] for k in ("matrix", "head", "row", "column")}},
        {"kind": "move", "row": 0, "to": 9},
        {"kind": "remove", "row": 3},
        {"kind": "remove"},
        {"kind": "reset"},
        {},
    ],
    ids=str,
)
def test_an_edit_that_points_at_nothing_changes_nothing(edit):
    app = App()

    raw(app, message(app, edit | {"number": 1}))

    assert_sound(app)
    assert work(app) == to_plain(Experiment.from_preset())


@pytest.mark.parametrize("constant", ["NaN", "Infinity", "-Infinity", "1e400", "9" * 400])
def test_a_number_that_is_none_changes_nothing(app, constant):
    before = work(app)
    text = message(app, CELL | {"number": 30_000, "value": 0.5}, mount=constant)

    raw(app, text.replace("0.5", constant))

    assert_sound(app)
    assert work(app) == before


@pytest.mark.parametrize("text", UNFIT, ids=lambda text: repr(text)[:12])
def test_a_name_that_can_be_no_token_is_refused_and_the_old_one_stays(text):
    app = App()

    raw(app, message(app, {"kind": "rename", "number": 1, "row": 0, "text": text}))

    assert_sound(app)
    assert len(app.warnings) == 1  # a person may have pasted it
    assert app.experiment.tokens == Experiment.from_preset().tokens

"""The one experiment of a session: every change is kept, undone or refused as a whole."""

import copy
import json
import random
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from attention_core import PRESETS, Experiment, Mask, from_plain, to_plain
from attention_core.errors import ChoiceError, FieldError
from attention_core.experiment import MASK_KINDS
from attention_core.presets import ENCODINGS
from playground import link, session


@pytest.fixture
def work(monkeypatch):
    """A session that has just begun in an English browser; its state."""
    monkeypatch.setattr(st, "session_state", {})
    monkeypatch.setattr(st, "query_params", {})
    monkeypatch.setattr(st, "context", SimpleNamespace(locale="en-US"))
    session.start()
    return st.session_state["work"]


def set_cell(value, row=0, column=0, matrix="X"):
    """A change of one cell of X."""
    return lambda e: e.with_cell(matrix, (row, column), value)


def move(change):
    """A change after which cells may be others."""
    session.apply(change, moves_cells=True)


def x(row=0, column=0):
    return session.experiment().X[row, column]


# --- how it starts


def started(*, locale="en-US", **query):
    """A session that began with this address in a browser of this language."""

    def script():
        import streamlit as st

        from playground import session

        session.start()
        st.text(session.language())
        st.text((session.pop_notice() or {}).get("notice"))

    app = AppTest.from_function(script)
    app.context["locale"] = locale
    app.query_params.update(query)
    app.run()
    assert not app.exception
    plain = app.session_state["work"]["plain"]
    language, notice = (text.value for text in app.text)
    return SimpleNamespace(plain=plain, language=language, notice=notice, app=app)


def test_without_a_link_it_starts_from_the_default():
    begun = started()

    assert begun.plain == to_plain(Experiment.from_preset())
    assert begun.notice == "None"


def test_a_link_is_where_it_starts():
    experiment = Experiment.from_preset("cat", seed=3).with_cell("X", (0, 0), 1 / 3)

    begun = started(e=link.encode(experiment))

    assert begun.plain == to_plain(experiment)
    assert begun.notice == "None"


@pytest.mark.parametrize("text", ["1bPNHc3jaq1YqSy0qzsz", "nonsense", "é", "1" * 20_000])
def test_a_damaged_link_gives_a_notice_and_the_default(text):
    begun = started(e=text)

    assert begun.plain == to_plain(Experiment.from_preset())
    assert begun.notice == "damaged_link"


def test_an_empty_link_is_no_damage():
    assert started(e="").notice == "None"


def test_the_link_is_read_once():
    begun = started(e=link.encode(Experiment.from_preset("cat")))
    begun.app.query_params["e"] = link.encode(Experiment.from_preset("uniform"))

    begun.app.run()

    assert begun.app.session_state["work"]["plain"]["preset"] == "cat"


@pytest.mark.parametrize(
    ("locale", "query", "language"),
    [
        ("en-US", {}, "en"),
        ("zh-CN", {}, "zh"),
        (None, {}, "en"),
        ("en-US", {"lang": "zh"}, "zh"),
        ("zh-CN", {"lang": "en"}, "en"),
        ("zh-CN", {"lang": "fr"}, "zh"),
        ("en-US", {"lang": ""}, "en"),
    ],
)
def test_the_language_is_that_of_the_link_or_else_of_the_browser(locale, query, language):
    assert started(locale=locale, **query).language == language


def test_every_run_is_counted(work):
    assert session.run() == 1

    session.start()

    assert session.run() == 2


def test_a_chosen_language_stays(work):
    session.speak("zh")
    session.start()

    assert session.language() == "zh"


# --- changes, undo, redo


def test_a_change_is_kept_as_one_step(work):
    session.apply(set_cell(7.0))

    assert x() == 7.0
    assert session.can_undo()
    assert not session.can_redo()


def test_undo_and_redo_walk_through_every_change(work):
    for value in (5.0, 6.0, 7.0):
        session.apply(set_cell(value))

    seen = []
    for step in (session.undo, session.undo, session.undo, session.redo, session.redo):
        step()
        seen.append(x())

    assert seen == [6.0, 5.0, 1.0, 5.0, 6.0]
    assert session.can_undo()
    assert session.can_redo()


def test_undo_gives_exactly_what_was_before(work):
    move(lambda e: Experiment.from_preset("previous_token"))
    session.apply(lambda e: e.with_cell("W_Q", (0, 0, 0), 1 / 3))
    before = copy.deepcopy(work["plain"])

    move(lambda e: replace(e.resized(d_model=2, n_heads=5), mask=Mask(MASK_KINDS)))
    session.undo()

    assert work["plain"] == before


@pytest.mark.parametrize("step", [session.undo, session.redo])
def test_with_nothing_to_take_back_or_do_again_nothing_happens(work, step):
    before = copy.deepcopy(work)

    step()

    assert work == before


def test_a_new_change_ends_what_could_be_done_again(work):
    session.apply(set_cell(5.0))
    session.undo()

    session.apply(set_cell(6.0))
    session.redo()

    assert not session.can_redo()
    assert x() == 6.0


def test_a_change_that_changes_nothing_is_no_step(work):
    session.apply(set_cell(5.0))
    session.undo()

    session.apply(set_cell(1.0))

    assert not session.can_undo()
    assert session.can_redo()


def test_the_last_200_steps_can_be_taken_back(work):
    for value in range(1, 251):
        session.apply(set_cell(float(value) + 1))

    n_steps = 0
    while session.can_undo():
        session.undo()
        n_steps += 1

    assert n_steps == 200
    assert x() == 51.0


def test_the_history_stays_bounded_through_undo_and_redo(work):
    rng = random.Random(0)
    for number in range(600):
        session.apply(set_cell(float(number) + 2))
        rng.choice([session.undo, session.redo, lambda: None])()

    assert len(work["past"]) + len(work["future"]) <= 201


@pytest.mark.parametrize("how", [session.apply, move])
def test_a_refused_change_leaves_everything_as_it_was(work, how):
    session.apply(set_cell(5.0))
    session.apply(set_cell(6.0))
    session.undo()
    before = copy.deepcopy(work)

    how(set_cell(2e6))

    notice = work.pop("notice")
    assert notice["notice"] == "refused"
    assert notice["error"] == "RangeError"
    assert notice["fields"] == {"name": "X", "value": 2e6, "low": -1e6, "high": 1e6}
    assert work == {name: value for name, value in before.items() if name != "notice"}


def test_a_fault_of_ours_leaves_everything_as_it_was_and_is_told_and_logged(work, caplog):
    session.apply(set_cell(5.0))
    before = copy.deepcopy(work)

    def broken(_):
        raise ZeroDivisionError

    move(broken)

    assert session.pop_notice() == {"notice": "fault", "error": None, "fields": {}}
    assert work == before
    assert caplog.records[0].exc_info[0] is ZeroDivisionError


def test_reset_gives_the_preset_of_the_same_seed_and_can_be_undone(work):
    move(lambda e: Experiment.from_preset("random", seed=9))
    session.apply(set_cell(5.0))
    edited = work["plain"]

    session.reset()
    after = work["plain"]
    session.undo()

    assert after == to_plain(Experiment.from_preset("random", seed=9))
    assert work["plain"] == edited


# --- the revision


def test_only_changes_that_may_move_cells_raise_the_revision(work):
    seen = [session.revision()]
    for change in (
        lambda: session.apply(set_cell(5.0)),
        lambda: move(set_cell(6.0)),
        session.undo,
        session.redo,
        session.reset,
    ):
        change()
        seen.append(session.revision())

    assert seen == [0, 0, 1, 2, 3, 4]


def test_a_replacement_that_changes_nothing_or_is_refused_keeps_the_revision(work):
    move(lambda e: e)
    move(lambda e: e.resized(d_k=99))
    session.reset()
    session.undo()

    assert session.revision() == 0


# --- notices


def test_a_notice_is_given_once(work):
    session.notify("damaged_link")

    first, second = session.pop_notice(), session.pop_notice()

    assert first == {"notice": "damaged_link", "error": None, "fields": {}}
    assert second is None


def test_a_notice_tells_the_kind_of_the_error_and_its_fields(work):
    session.notify("damaged_file", FieldError("X.0", "must be a number"))

    notice = session.pop_notice()

    assert notice["error"] == "FieldError"
    assert notice["fields"] == {"field": "X.0", "reason": "must be a number"}


# --- edits of the board


def cell(number, value, row=0, column=0, matrix="X", head=None, joins=False):
    place = {"matrix": matrix, "head": head, "row": row, "column": column}
    return {"number": number, "kind": "cell", **place, "value": value, "joins": joins}


def send(*edits, revision=None, mount="board 1"):
    session.take(
        {
            "mount": mount,
            "revision": session.revision() if revision is None else revision,
            "edits": list(edits),
        }
    )


def test_an_edit_reaches_its_cell(work):
    move(lambda e: e.resized(n_heads=2).with_output_projection(True))

    send(
        cell(1, 0.5, 2, 1),
        cell(2, 1 / 3, 0, 1, "W_Q", 1),
        cell(3, -3, 1, 0, "W_K", 0),
        cell(4, 1e-3, 1, 1, "W_V", 1),
        cell(5, 9, 3, 1, "W_O"),
    )

    experiment = session.experiment()
    assert experiment.X[2, 1] == 0.5
    assert experiment.W_Q[1, 0, 1] == 1 / 3
    assert experiment.W_K[0, 1, 0] == -3
    assert experiment.W_V[1, 1, 1] == 1e-3
    assert experiment.W_O[3, 1] == 9
    assert session.taken() == {"board 1": 5}


def test_ten_edits_that_arrive_in_pieces_are_all_kept(work):
    edits = [cell(i, i + 0.5, *divmod(i - 1, 2)) for i in range(1, 7)]
    edits += [cell(i, i + 0.5, *divmod(i - 7, 2), "W_Q", 0) for i in range(7, 11)]

    for upto in (1, 4, 4, 9, 10):  # each message repeats what was not yet confirmed
        send(*edits[:upto])

    experiment = session.experiment()
    assert experiment.X.ravel().tolist() == [1.5, 2.5, 3.5, 4.5, 5.5, 6.5]
    assert experiment.W_Q.ravel().tolist() == [7.5, 8.5, 9.5, 10.5]
    assert len(work["past"]) == 10


def test_an_edit_is_applied_once_however_often_it_is_sent(work):
    send({"number": 1, "kind": "add"}, revision=0)
    send({"number": 1, "kind": "add"}, revision=0)
    send({"number": 1, "kind": "add"}, revision=1)

    assert session.experiment().n_tokens == 4


def test_of_two_edits_of_one_cell_the_later_wins(work):
    send(cell(1, 5.0), cell(2, 6.0))

    assert x() == 6.0


def test_each_board_counts_its_own_edits(work):
    send(cell(1, 5.0), cell(2, 6.0), mount="a")
    send(cell(1, 7.0), mount="b")

    assert x() == 7.0
    assert session.taken() == {"a": 2, "b": 1}


def test_the_latest_20_boards_are_remembered(work):
    for number in range(30):
        send(cell(1, float(number)), mount=f"board {number}")
    send(cell(1, 50.0), mount="board 29")

    assert list(session.taken()) == [f"board {number}" for number in range(10, 30)]
    assert x() == 29.0


def test_a_board_that_edits_again_is_not_forgotten(work):
    send(cell(1, 5.0), mount="first")
    for number in range(19):
        send(cell(1, float(number)), mount=f"board {number}")
    send(cell(2, 7.0), mount="first")
    send(cell(1, 8.0), mount="one more")

    assert session.taken()["first"] == 2


def test_a_late_edit_is_confirmed_and_not_put_on_new_numbers(work):
    move(lambda e: Experiment.from_preset("cat"))

    send(cell(1, 5.0), {"number": 2, "kind": "add"}, revision=0)

    assert work["plain"] == to_plain(Experiment.from_preset("cat"))
    assert session.taken() == {"board 1": 2}


def test_edits_behind_a_removal_are_dropped_since_rows_have_moved(work):
    send(cell(1, 5.0, row=2), {"number": 2, "kind": "remove", "row": 0}, cell(3, 9.0, row=1))

    experiment = session.experiment()
    assert experiment.tokens == ("喜欢", "苹果")
    assert experiment.X.tolist() == [[1, 1], [5, 1]]
    assert session.taken() == {"board 1": 3}


def test_edits_behind_a_refused_removal_stay(work):
    move(lambda e: e.resized(n_tokens=1))

    send({"number": 1, "kind": "remove", "row": 0}, cell(2, 9.0))

    assert x() == 9.0


def test_tokens_are_renamed_added_and_removed(work):
    send({"number": 1, "kind": "rename", "row": 1, "text": "<b>$x$"})
    send({"number": 2, "kind": "add"})
    send({"number": 3, "kind": "remove", "row": 0})

    assert session.experiment().tokens == ("<b>$x$", "苹果", "t4")
    assert session.revision() == 1  # a removal moves rows, an addition does not


def test_nudges_of_one_cell_are_one_step_of_undo(work):
    send(cell(1, 1.1))
    send(cell(2, 1.2, joins=True), cell(3, 1.3, joins=True))

    session.undo()

    assert x() == 1.0


def test_a_nudge_joins_no_step_of_another_cell(work):
    send(cell(1, 5.0, row=1))
    send(cell(2, 1.1, joins=True))

    session.undo()

    assert session.experiment().X[:2].tolist() == [[1, 0], [5, 1]]


def test_a_nudge_joins_no_step_that_is_not_an_edit(work):
    send(cell(1, 9.0))
    session.reset()
    send(cell(2, 1.1, joins=True), revision=1)

    session.undo()

    assert x() == 1.0


@pytest.mark.parametrize(
    "control",
    [
        lambda: session.apply(lambda e: replace(e, is_scaled=False)),
        lambda: move(lambda e: e.resized(d_k=3)),
    ],
)
def test_what_was_typed_before_a_control_was_touched_is_taken_first(work, control):
    st.session_state["board"] = {
        "edits": {"mount": "board 1", "revision": 0, "edits": [cell(1, 5.0)]}
    }

    control()
    session.take_waiting()
    session.undo()

    assert x() == 5.0
    session.undo()
    assert x() == 1.0


def test_undo_takes_back_what_was_typed_just_before(work):
    send(cell(1, 3.0))
    st.session_state["board"] = {
        "edits": {"mount": "board 1", "revision": 0, "edits": [cell(2, 7.0)]}
    }

    session.undo()

    assert x() == 3.0


@pytest.mark.parametrize(
    "edit",
    [
        cell(1, "0.5"),
        cell(1, " 1_0 "),
        cell(1, True),
        cell(1, 5.0, row="0"),
        cell(1, 5.0, row=0.9),
        cell(1, 5.0, row=True),
        cell(1, 5.0, column=-0.9),
        cell(1, 5.0, 0, 0, "W_Q", "0"),
        cell(1, 5.0, 0, 0, "W_Q", 0.5),
        {"number": 1, "kind": "rename", "row": "0", "text": "x"},
        {"number": 1, "kind": "rename", "row": 0, "text": None},
        {"number": 1, "kind": "rename", "row": 0, "text": ["x"]},
        {"number": 1, "kind": "rename", "row": 0, "text": 5},
        {"number": 1, "kind": "remove", "row": "0"},
        {"number": 1, "kind": "remove", "row": 0.9},
    ],
    ids=repr,
)
def test_a_value_of_the_wrong_type_is_malformed(work, edit):
    send(edit)

    assert work["plain"] == to_plain(Experiment.from_preset())


MALFORMED_MESSAGES = [
    None,
    5,
    "edits",
    [],
    {},
    {"edits": None},
    {"edits": {}},
    {"edits": "abc"},
    {"mount": "a", "revision": 0, "edits": [None, 5, "x", [], {}]},
    {"mount": None, "revision": None, "edits": [cell(1, 5.0)]},
    {"mount": "a", "revision": "0", "edits": [cell(1, 5.0)]},
    {"mount": "a", "revision": [], "edits": [cell(1, 5.0)]},
    {"mount": "a", "edits": [cell(1, 5.0)]},
]

MALFORMED_EDITS = [
    *({**cell(1, 5.0), "number": number} for number in (None, "1", 1.0, True, 0, -1, [])),
    *({**cell(1, 5.0), "kind": kind} for kind in (None, "cells", 5, [], {})),
    *({k: v for k, v in cell(1, 5.0).items() if k != name} for name in cell(1, 5.0)),
    *(cell(1, value) for value in (None, "abc", "", [], {}, [5.0])),
    *(cell(1, value) for value in (float("nan"), float("inf"), -float("inf"), 10**400)),
    *(cell(1, value) for value in (2e6, -2e6, 1e308)),
    *(cell(1, 5.0, row=row) for row in (None, "a", [], {}, float("nan"), float("inf"))),
    *(cell(1, 5.0, row=row) for row in (-1, 3, 10**400)),
    *(cell(1, 5.0, column=column) for column in (None, [], -1, 2, 10**400)),
    *(cell(1, 5.0, matrix=matrix) for matrix in (None, "", "x", "Q", "W_O", 5, [], "__class__")),
    *(cell(1, 5.0, 0, 0, "W_Q", head) for head in (None, -1, 1, 10**400, "a", [], {})),
    cell(1, 5.0, head=0),
    *({"number": 1, "kind": "rename", "row": row, "text": "x"} for row in (None, -1, 3, [], "a")),
    *({"number": 1, "kind": "rename", "row": 0, "text": t} for t in ("", " ", "\n", "x" * 201)),
    {"number": 1, "kind": "rename", "row": 0, "text": "\ud800"},
    {"number": 1, "kind": "rename", "row": 0},
    *({"number": 1, "kind": "remove", "row": row} for row in (None, -1, 3, 10**400, [], "a")),
    {"number": 1, "kind": "remove"},
]
# What a cell may be without: the head of X, and whether it joins.
COMPLETE = [{k: v for k, v in cell(1, 5.0).items() if k != name} for name in ("head", "joins")]
MALFORMED_EDITS = [edit for edit in MALFORMED_EDITS if edit not in COMPLETE]


@pytest.mark.parametrize("message", MALFORMED_MESSAGES, ids=lambda message: repr(message)[:60])
def test_a_malformed_message_is_dropped(work, message):
    session.take(message)

    assert work["plain"] == to_plain(Experiment.from_preset())
    assert not session.can_undo()


@pytest.mark.parametrize("edit", MALFORMED_EDITS, ids=lambda edit: repr(edit)[:90])
def test_a_malformed_edit_is_dropped_and_those_around_it_stay(work, edit):
    send(cell(1, 7.0, 1, 1), mount="before")

    send(edit, mount="malformed")
    send(cell(2, 8.0, 1, 1), mount="before")

    assert work["plain"] == to_plain(Experiment.from_preset().with_cell("X", (1, 1), 8.0))
    assert len(work["past"]) == 2


def test_a_number_that_json_reads_as_infinity_is_dropped(work):
    session.take(
        json.loads(json.dumps({"revision": 0, "edits": [cell(1, 5)]}).replace("5", "1e400"))
    )

    assert work["plain"] == to_plain(Experiment.from_preset())


# --- the head


def test_the_head_is_never_beyond_the_last_one(work):
    move(lambda e: e.resized(n_heads=4))
    session.show_head(3)
    shown = [session.head()]

    for n_heads in (2, 1, 8):
        move(lambda e, n_heads=n_heads: e.resized(n_heads=n_heads))
        shown.append(session.head())

    assert shown == [3, 1, 0, 3]


# --- a hot reload of the code


PLAIN = (str, int, float, bool, type(None))


def foreign(value, path="work"):
    """Where something lies that is neither plain data nor made of it."""
    if type(value) in (dict, list, tuple):
        items = value.items() if type(value) is dict else enumerate(value)
        return [place for key, item in items for place in foreign(item, f"{path}.{key}")]
    return [] if type(value) in PLAIN else [f"{path}: {type(value)}"]


def test_only_plain_data_is_kept_so_that_a_reload_of_the_code_breaks_nothing(work):
    changes = [
        *(lambda e, name=name: Experiment.from_preset(name) for name in PRESETS),
        lambda e: replace(e, mask=Mask(MASK_KINDS, 2, 1, 0)),
        *(lambda e, kind=kind: replace(e, encoding=kind) for kind in ENCODINGS),
        lambda e: replace(e, is_scaled=np.bool_(False)),
        lambda e: e.resized(d_model=np.int64(8), d_k=3, n_heads=2),
        lambda e: e.with_output_projection(True),
        lambda e: e.randomized(np.int64(5)),
        lambda e: e.with_cell("W_O", (0, 0), np.float32(0.5)),
        lambda e: e.with_token_renamed(0, "苹果"),
        lambda e: e.without_token(1),
    ]
    for change in changes:
        move(change)
    session.undo()
    session.speak("zh")
    session.show_head(1)
    send(cell(1, 0.25), cell(2, 9.0, row=99), cell(3, 1.0, matrix="nothing"))
    session.notify("refused", ChoiceError("preset", "pear", ["apple"]))

    assert foreign(work) == []
    assert from_plain(work["plain"]).n_heads == 2
    assert len(work["past"]) > 15

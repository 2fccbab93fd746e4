"""The one experiment of a session: every change is kept, undone or refused as a whole."""

import copy
import json
import pickle
import random
import sys
import tracemalloc
from dataclasses import FrozenInstanceError, replace
from types import SimpleNamespace

import numpy as np
import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from attention_core import PRESETS, Experiment, Mask, from_plain, to_plain
from attention_core.canvas import MATRICES
from attention_core.errors import ChoiceError, FieldError
from attention_core.experiment import MASK_KINDS
from attention_core.presets import ENCODINGS
from playground import link, session


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
    plain = json.loads(app.session_state["work"]["text"])
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

    assert json.loads(begun.app.session_state["work"]["text"])["preset"] == "cat"


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
    before = copy.deepcopy(work["text"])

    move(lambda e: replace(e.resized(d_model=2, n_heads=5), mask=Mask(MASK_KINDS)))
    session.undo()

    assert work["text"] == before


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


def largest(seed=0):
    """The largest experiment, every number of it changed."""
    rng = np.random.default_rng(seed)
    start = Experiment.from_preset("random", seed=seed)
    start = start.resized(n_tokens=12, d_model=8, d_k=8, n_heads=8).with_output_projection(True)
    numbers = {name: rng.uniform(-1, 1, getattr(start, name).shape) for name in MATRICES}
    return replace(start, **numbers)


def pasted(number):
    """A whole block of the largest experiment, each time another."""
    rng = np.random.default_rng(number)
    name, index = (("W_Q", (number % 8, 0, 0)), ("W_V", (0, 0, 0)), ("W_O", (8, 0)))[number % 3]
    return lambda e: e.with_block(name, index, rng.uniform(-1, 1, (8, 8)))


def test_edits_of_the_largest_experiment_take_little_memory_and_can_be_taken_back(work):
    move(lambda _: largest())
    versions = [work["text"]]
    for number in range(40):
        session.apply(pasted(number))
        versions.append(work["text"])

    assert pickled_bytes(work["past"]) < 40 * 2_000  # each version as it is takes 60,000
    for version in reversed(versions[:-1]):
        session.undo()
        assert work["text"] == version
    for version in versions[1:]:
        session.redo()
        assert work["text"] == version


def test_what_is_built_for_all_sessions_takes_little_memory():
    text = session._written(largest())
    tracemalloc.start()
    built = session._built(str(text))
    one, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert built.n_heads == 8
    assert session._built.cache_info().maxsize * (one + sys.getsizeof(text)) < 8e6


def test_experiments_that_have_nothing_in_common_are_kept_compressed(work):
    both = [largest(0), largest(1)]
    for number in range(20):
        move(lambda _, number=number: both[number % 2])

    assert pickled_bytes(work["past"]) < 20 * 30_000


def pickled_bytes(value):
    return len(pickle.dumps(value))


def test_a_drag_after_other_edits_is_one_step_whose_start_is_what_was_before_it(work):
    session.apply(set_cell(5.0))
    session.apply(lambda e: e.with_cell("W_Q", (0, 1, 1), 7.0))
    before = work["text"]
    for number, value in enumerate([6.0, 0.123456789, -70.5], start=1):
        send(cell(number, value) | {"joins": number > 1})

    session.undo()
    assert work["text"] == before
    session.redo()
    assert x() == -70.5


def test_no_more_layers_are_stacked_than_every_run_can_compute_again(work):
    move(lambda _: Experiment.from_preset("identity"))
    for _ in range(23):
        session.stack(is_residual=False)
    before = copy.deepcopy(work)

    session.stack(is_residual=False)

    notice = work.pop("notice")
    assert len(session.layers()) == 23  # and the present one
    assert notice["fields"] == {"name": "n_layers", "value": 25, "low": 1, "high": 24}
    assert work == {name: value for name, value in before.items() if name != "notice"}
    assert notice["notice"] == "refused"


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
    assert work == before | {"told": True}
    assert caplog.records[0].exc_info[0] is ZeroDivisionError


def test_reset_gives_the_preset_of_the_same_seed_and_can_be_undone(work):
    move(lambda e: Experiment.from_preset("random", seed=9))
    session.apply(set_cell(5.0))
    edited = work["text"]

    session.reset()
    after = work["text"]
    session.undo()

    assert json.loads(after) == to_plain(Experiment.from_preset("random", seed=9))
    assert work["text"] == edited


def test_a_number_that_is_dragged_and_brought_back_is_no_step(work):
    session.apply(set_cell(5.0))
    steps = len(work["past"])
    for number, value in enumerate([6.0, 7.0, 5.0], start=1):
        edit = {"kind": "cell", "matrix": "X", "head": None, "row": 0, "column": 0}
        edit |= {"number": number, "value": value, "joins": number > 1}
        send(edit)

    assert len(work["past"]) == steps
    assert session.experiment().X[0, 0] == 5.0


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


def block(number, values, row=0, column=0, matrix="X", head=None):
    place = {"matrix": matrix, "head": head, "row": row, "column": column}
    return {"number": number, "kind": "block", **place, "values": values}


def paint(number, cells, allowed=False, joins=False):
    edit = {"kind": "paint", "matrix": "mask", "cells": cells, "allowed": allowed}
    return edit | {"number": number, "joins": joins}


def send(*edits, revision=None, mount="board 1", of=None):
    session.take(
        {
            "session": of or session.tag(),
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

    assert json.loads(work["text"]) == to_plain(Experiment.from_preset("cat"))
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


def test_a_block_is_one_step_of_undo(work):
    before = session.experiment().X.tolist()

    send(block(1, [[1.5, 2], [3, -4e-3]], row=1))
    after = session.experiment().X.tolist()
    session.undo()

    assert after == [before[0], [1.5, 2], [3, -4e-3]]
    assert session.experiment().X.tolist() == before
    assert not session.can_undo()


def test_a_block_reaches_the_head_it_was_pasted_into(work):
    move(lambda e: e.resized(n_heads=2))
    first = session.experiment().W_K[0].tolist()

    send(block(1, [[7.0], [8.0]], 0, 1, "W_K", 1))

    assert session.experiment().W_K[0].tolist() == first
    assert session.experiment().W_K[1, :, 1].tolist() == [7, 8]


@pytest.mark.parametrize(
    ("edit", "error"),
    [
        (block(1, [[1, 2, 3]]), "ShapeError"),
        (block(1, [[9.0], [9.0]], row=2), "ShapeError"),
        (block(1, [[9.0, 9.0], [9.0]]), "ShapeError"),
        (block(1, [[9.0], [9.0], [2e6]]), "RangeError"),
        (block(1, [[9.0]], matrix="W_O"), "ChoiceError"),
        (paint(1, [[0, 0], [0, 3]]), "RangeError"),
        (paint(1, [[0, -1]]), "RangeError"),
        (paint(1, [[10**400, 0]]), "RangeError"),
    ],
    ids=lambda value: None if isinstance(value, str) else repr(value)[:80],
)
def test_a_block_or_stroke_that_does_not_fit_is_refused_as_a_whole(work, edit, error):
    send(edit)

    assert json.loads(work["text"]) == to_plain(Experiment.from_preset())
    assert not session.can_undo()
    notice = session.pop_notice()
    assert (notice["notice"], notice["error"]) == ("refused", error)


def test_painting_allows_and_forbids(work):
    session.apply(lambda e: replace(e, mask=Mask(("causal",))))

    send(paint(1, [[0, 1], [0, 2]], allowed=True), paint(2, [[2, 0]]))

    mask = session.experiment().mask
    assert mask.kinds == ("causal", "painted")
    assert mask.painted == ((0, 1, True), (0, 2, True), (2, 0, False))


def test_a_stroke_is_one_step_of_undo_and_the_next_one_another(work):
    send(paint(1, [[0, 1]]), paint(2, [[0, 2]], joins=True))
    send(paint(3, [[1, 2]], joins=True))
    send(paint(4, [[2, 0]]), paint(5, [[2, 1]], joins=True))

    seen = []
    for _ in range(2):
        seen.append(len(session.experiment().mask.painted))
        session.undo()

    assert seen == [5, 3]
    assert json.loads(work["text"]) == to_plain(Experiment.from_preset())


def test_a_stroke_joins_no_step_that_is_not_painting(work):
    send(paint(1, [[0, 1]]))
    send(cell(2, 5.0))
    send(paint(3, [[0, 2]], joins=True))

    session.undo()

    assert session.experiment().mask.painted == ((0, 1, False),)
    assert x() == 5.0


def test_a_nudge_joins_no_stroke_and_no_block(work):
    send(paint(1, [[0, 1]]), cell(2, 1.1, joins=True))
    send(block(3, [[3.0]]), cell(4, 1.2, joins=True))

    assert len(work["past"]) == 4


@pytest.mark.parametrize(
    "control",
    [
        lambda: session.apply(lambda e: replace(e, is_scaled=False)),
        lambda: move(lambda e: e.resized(d_k=3)),
    ],
)
def test_what_was_typed_before_a_control_was_touched_is_taken_first(work, control):
    st.session_state["board"] = {
        "edits": {
            "session": session.tag(),
            "mount": "board 1",
            "revision": 0,
            "edits": [cell(1, 5.0)],
        }
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
        "edits": {
            "session": session.tag(),
            "mount": "board 1",
            "revision": 0,
            "edits": [cell(2, 7.0)],
        }
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

    assert json.loads(work["text"]) == to_plain(Experiment.from_preset())


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
    *(block(1, values) for values in (None, 5, "12", {}, {"0": [1]}, [], [[]], [[], []])),
    *(block(1, values) for values in ([1, 2], ["12"], [None], [{}], [{1: 2}], [[1], 2])),
    *(block(1, [[5.0, value]]) for value in (None, True, "5", [5.0], {}, float("nan"))),
    *(block(1, [[5.0], [value]]) for value in (float("inf"), -float("inf"), 10**400, 2e6)),
    *(block(1, values) for values in ([[5.0, 6.0], [7.0]], [[[5.0]]], [[5.0] * 3])),
    *(block(1, [[5.0]], row=row) for row in (None, "0", True, 0.5, -1, 3, 10**400)),
    *(block(1, [[5.0]], matrix=matrix) for matrix in (None, "Q", "mask", [], "W_O")),
    *(block(1, [[5.0]], 0, 0, "W_Q", head) for head in (None, -1, 1, "0", True)),
    {k: v for k, v in block(1, [[5.0]]).items() if k != "values"},
    *(paint(1, cells) for cells in (None, 5, "ab", ["ab"], {}, {"ab": 1}, [], [[]], [0, 1])),
    *(paint(1, [[0, 1], cell]) for cell in (None, [0], [0, 1, 2], {}, {"a": 1, "b": 2}, "01")),
    *(paint(1, [[0, place]]) for place in (None, True, 1.0, "1", [], -1, 3, 10**400)),
    *(paint(1, [[0, 1]], allowed) for allowed in (None, 0, 1, "true", [], float("nan"))),
    *({k: v for k, v in paint(1, [[0, 1]]).items() if k != name} for name in ("cells", "allowed")),
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
    session.take(message | {"session": session.tag()} if isinstance(message, dict) else message)

    assert json.loads(work["text"]) == to_plain(Experiment.from_preset())
    assert not session.can_undo()


@pytest.mark.parametrize("of", ["another", None, 5, []])
def test_edits_sent_to_another_session_are_not_taken_again(work, of):
    edit = {"number": 1, "kind": "add"}

    session.take({"session": of, "mount": "a", "revision": session.revision(), "edits": [edit]})

    assert session.experiment().n_tokens == 3
    assert session.taken() == {}
    send(edit, mount="a")
    assert session.experiment().n_tokens == 4


@pytest.mark.parametrize("edit", MALFORMED_EDITS, ids=lambda edit: repr(edit)[:90])
def test_a_malformed_edit_is_dropped_and_those_around_it_stay(work, edit):
    send(cell(1, 7.0, 1, 1), mount="before")

    send(edit, mount="malformed")
    send(cell(2, 8.0, 1, 1), mount="before")

    assert json.loads(work["text"]) == to_plain(
        Experiment.from_preset().with_cell("X", (1, 1), 8.0)
    )
    assert len(work["past"]) == 2


@pytest.mark.parametrize(
    "edit",
    [
        block(1, [[1.0] * 1000] * 1000),
        block(1, [[1.0] * 1_000_000]),
        block(1, [[1.0]] * 1_000_000),
        paint(1, [[0, 1]] * 1_000_000),
    ],
    ids=["square", "row", "column", "stroke"],
)
def test_a_million_cells_are_not_even_read(work, monkeypatch, edit):
    n_read = []
    real = session._a
    monkeypatch.setattr(session, "_a", lambda *given: n_read.append(1) or real(*given))
    monkeypatch.setattr(session, "_number", lambda value: n_read.append(1) or float(value))

    send(edit)

    assert len(n_read) < 10
    assert json.loads(work["text"]) == to_plain(Experiment.from_preset())
    assert session.pop_notice() is None


def test_every_cell_of_the_largest_board_goes_through_one_edit(work):
    move(lambda e: e.resized(n_tokens=12, d_model=8, d_k=8, n_heads=8).with_output_projection(True))
    everywhere = [[query, key] for query in range(12) for key in range(12)]

    send(block(1, [[0.5] * 8] * 64, matrix="W_O"), paint(2, everywhere))

    assert (session.experiment().W_O == 0.5).all()
    assert len(session.experiment().mask.painted) == 144


def test_a_number_that_json_reads_as_infinity_is_dropped(work):
    session.take(
        json.loads(json.dumps({"revision": 0, "edits": [cell(1, 5)]}).replace("5", "1e400"))
    )

    assert json.loads(work["text"]) == to_plain(Experiment.from_preset())


# --- layers


def test_the_output_becomes_x_as_one_step_of_undo(work):
    start = session.experiment()

    session.stack(is_residual=False)
    plain = session.experiment().X
    session.undo()
    session.stack(is_residual=True)
    residual = session.experiment().X

    output = start.trace().attention.output
    np.testing.assert_array_equal(plain, output)
    np.testing.assert_array_equal(residual, start.X + output)
    assert len(work["past"]) == 1
    assert not session.can_redo()


def test_every_layer_is_kept_with_how_it_was_stacked(work):
    start = session.experiment()
    assert session.layers() == []

    session.stack(is_residual=True)
    session.apply(lambda e: e.with_cell("W_Q", (0, 0, 0), 0.25))
    session.stack(is_residual=False)

    first, second = session.layers()
    assert (first.is_residual, second.is_residual) == (True, False)
    assert to_plain(first.experiment) == to_plain(start)
    assert second.experiment.W_Q[0, 0, 0] == 0.25
    np.testing.assert_array_equal(second.experiment.X, start.X + start.trace().attention.output)
    np.testing.assert_array_equal(
        session.experiment().X, second.experiment.trace().attention.output
    )


def test_undo_and_redo_bring_layers_back(work):
    for is_residual in (True, False, True):
        session.stack(is_residual=is_residual)

    seen = [len(session.layers())]
    for step in (*[session.undo] * 3, *[session.redo] * 3, session.undo):
        step()
        seen.append(len(session.layers()))

    assert seen == [3, 2, 1, 0, 1, 2, 3, 2]
    assert [layer.is_residual for layer in session.layers()] == [True, False]


@pytest.mark.parametrize(
    "change",
    [
        lambda: session.apply(set_cell(9.0)),
        lambda: send(cell(1, 9.0)),
        lambda: send(block(1, [[9.0]])),
        lambda: send({"number": 1, "kind": "remove", "row": 0}),
        lambda: move(lambda e: e.resized(d_model=3)),
        session.reset,
    ],
)
def test_an_x_that_is_another_begins_anew_and_undo_brings_the_layers_back(work, change):
    session.stack(is_residual=False)

    change()
    ended = session.layers()
    session.undo()

    assert ended == []
    assert len(session.layers()) == 1


@pytest.mark.parametrize(
    "change",
    [
        lambda e: e.with_cell("W_V", (0, 0, 0), 0.5),
        lambda e: replace(e, mask=Mask(("causal",)), encoding="alibi", is_scaled=False),
        lambda e: e.with_painted([(0, 1)], False),
        lambda e: e.with_token_renamed(0, "other"),
        lambda e: e.resized(n_heads=2),
    ],
)
def test_another_layer_may_have_other_weights_and_masks(work, change):
    session.stack(is_residual=False)

    session.apply(change)

    assert len(session.layers()) == 1


def test_layers_that_ended_are_no_part_of_the_next_stack(work):
    session.stack(is_residual=False)
    session.apply(set_cell(9.0))

    session.stack(is_residual=True)

    (layer,) = session.layers()
    assert layer.experiment.X[0, 0] == 9.0


def test_stacking_moves_cells_so_older_edits_are_void(work):
    session.stack(is_residual=True)
    before = work["text"]

    send(cell(1, 9.0), revision=0)

    assert session.revision() == 1
    assert work["text"] == before


def test_a_layer_whose_output_is_its_x_is_a_step_all_the_same(work):
    identity = np.eye(2)[None]
    move(lambda e: replace(e, X=np.zeros((3, 2)), W_Q=identity, W_K=identity, W_V=identity))
    before = work["text"]

    session.stack(is_residual=False)

    assert work["text"] == before
    assert len(session.layers()) == 1
    session.undo()
    assert session.layers() == []


@pytest.mark.parametrize(
    ("change", "error"),
    [
        (lambda e: e.resized(d_k=3), "WidthError"),
        (lambda e: replace(e, X=np.full((3, 2), 1e6)), "RangeError"),
    ],
)
def test_a_layer_that_cannot_be_stacked_is_refused_and_no_layer_is_kept(work, change, error):
    move(change)
    before = copy.deepcopy(work)

    session.stack(is_residual=True)

    notice = work.pop("notice")
    assert (notice["notice"], notice["error"]) == ("refused", error)
    assert work == {name: value for name, value in before.items() if name != "notice"}


def test_what_was_typed_before_stacking_is_stacked(work):
    st.session_state["board"] = {
        "edits": {
            "session": session.tag(),
            "mount": "board 1",
            "revision": 0,
            "edits": [cell(1, 5.0)],
        }
    }

    session.stack(is_residual=False)

    assert session.layers()[0].experiment.X[0, 0] == 5.0
    session.undo()
    assert x() == 5.0


# --- an experiment is built once


@pytest.fixture
def n_built(monkeypatch):
    """A list that grows whenever an experiment is built from plain data."""
    built = []
    monkeypatch.setattr(session, "from_plain", lambda plain: built.append(1) or from_plain(plain))
    session._built.cache_clear()
    return built


def test_a_run_builds_its_experiment_once(work, n_built):
    for _ in range(3):
        session.start()
        session.experiment()
        session.head()
        session.layers()

    assert len(n_built) == 1
    session.apply(set_cell(5.0))
    session.experiment()
    session.head()
    assert len(n_built) == 2
    session.undo()
    assert x() == 1.0
    assert len(n_built) == 2


def test_two_sessions_may_share_what_was_built_since_nobody_can_write_into_it(work):
    built = session.experiment()

    assert session.experiment() is built
    for name in MATRICES:
        for array in (getattr(built, name), getattr(built.canvas, name)):
            if array is not None:
                with pytest.raises(ValueError, match="read-only"):
                    array[0, 0] = 7
    with pytest.raises(FrozenInstanceError):
        built.mask = Mask(("causal",))
    with pytest.raises(FrozenInstanceError):
        built.mask.kinds = ("causal",)
    trace = built.trace()
    trace.attention.output[:] = 7  # a trace is its own
    assert not (built.trace().attention.output == 7).any()


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


PLAIN = (str, bytes, int, float, bool, type(None))


def foreign(value, path="work"):
    """Where something lies that is neither plain data nor made of it."""
    if type(value) in (dict, list, tuple):
        items = value.items() if type(value) is dict else enumerate(value)
        return [place for key, item in items for place in foreign(item, f"{path}.{key}")]
    return [] if type(value) in PLAIN else [f"{path}: {type(value)}"]


def test_only_plain_data_is_kept_so_that_a_reload_of_the_code_breaks_nothing(work):
    changes = [
        *(lambda e, name=name: Experiment.from_preset(name) for name in PRESETS),
        lambda e: replace(e, mask=Mask(MASK_KINDS, 2, 1, 0, ((0, 1, True),))),
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
    session.stack(is_residual=True)
    session.stack(is_residual=False)
    session.undo()
    session.speak("zh")
    session.show_head(1)
    send(cell(1, 0.25), cell(2, 9.0, row=99), cell(3, 1.0, matrix="nothing"))
    send(block(4, [[1, 2.5]]), paint(5, [[0, 1]], allowed=True))
    session.notify("refused", ChoiceError("preset", "pear", ["apple"]))

    assert foreign(work) == []
    assert from_plain(json.loads(work["text"])).n_heads == 2
    assert len(work["past"]) > 15

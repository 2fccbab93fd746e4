"""A change runs and draws only what it makes stale, and all of that."""

import sys
from types import ModuleType, SimpleNamespace

import pytest
from streamlit.runtime.scriptrunner import RerunData, RerunException, get_script_run_ctx

from attention_core import Experiment
from playground import board, parts, shell
from tests.pages.driver import App


def cell(number, value, **more):
    place = {"kind": "cell", "matrix": "X", "head": None, "row": 0, "column": 0}
    return place | {"number": number, "value": value, "joins": False} | more


WHOLE, BOARD = (), (parts.BOARD,)


@pytest.fixture
def app():
    """A session whose experiment is no longer as the preset starts."""
    return App().set("preset", "cat").send(cell(1, 5.0))


def test_an_edit_of_the_board_leaves_the_page_alone(app, asked):
    app.send(cell(2, 6.0))

    assert asked == []
    assert app.experiment.X[0, 0] == 6.0
    app.assert_consistent()


@pytest.mark.parametrize(("key", "value"), [("d_model", 3), ("d_k", 4), ("n_heads", 2)])
def test_the_sizes_are_a_part_of_the_board(app, asked, key, value):
    app.set(key, value)

    assert asked == []
    app.assert_consistent()


@pytest.mark.parametrize(
    ("key", "value"),
    [("mask", ["causal"]), ("is_scaled", False), ("encoding", "rotary"), ("has_W_O", True)],
)
def test_a_control_that_stands_as_it_was_set_is_not_drawn_anew(app, asked, key, value):
    app.set(key, value)

    assert asked == [BOARD]
    assert not app.was_whole
    app.assert_consistent()


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("preset", "apple"),  # all stand otherwise
        ("seed", 9),  # it is as the preset starts again, with other numbers
        ("mask", ["padding"]),  # its size appears
        ("mask", ["window"]),
        ("seed", None),  # the number comes back
    ],
)
def test_the_page_is_drawn_anew_where_another_control_must_follow(app, asked, key, value):
    app.set(key, value)

    assert asked == [WHOLE]
    app.assert_consistent()


def test_the_page_is_drawn_anew_where_an_edit_moves_a_control(app, asked):
    app.set("mask", ["padding"]).send({"kind": "add", "number": 2})

    assert asked == [WHOLE, WHOLE]  # there may be one token more of filling


def test_the_first_edit_tells_that_all_is_no_longer_as_it_starts(app, asked):
    App().send(cell(1, 5.0))

    assert asked == [WHOLE]


def test_a_notice_comes_and_goes(app, asked):
    app.send(cell(2, 2e6))
    assert len(app.warnings) == 1

    app.send(cell(3, 1.0))
    assert app.warnings == []
    assert asked == [WHOLE, WHOLE]


def test_the_board_asks_for_the_rest_and_then_for_no_more(app, asked):
    app.test.toggle(key="is_scaled").set_value(False).run()
    assert app.board["is_first"]  # the equations are others now

    app.paint()

    assert asked == [BOARD, (["equations", parts.BOARD],)]
    assert not app.board["is_first"]
    equations = [text for text in app.markdown() if "softmax" in text]
    assert equations
    assert not any("sqrt" in text for text in equations)


def test_an_open_section_follows_the_board(app):
    app.unfold("back_row").test.run()

    app.send(cell(2, 7.0))

    assert app.figure == App(e=app.address["query"]["e"]).unfold("back_row").figure


def test_a_part_that_cannot_tell_what_it_shows_is_stale(app, monkeypatch):
    def fail(_):
        raise RuntimeError

    monkeypatch.setattr(Experiment, "trace", fail)
    app.test.slider(key="d_k").set_value(4).run()

    assert not app.test.exception
    assert app.errors == [app.t("fault.sentence")]


def test_a_part_that_fails_is_not_asked_for_again_and_again(monkeypatch):
    monkeypatch.setattr(parts.st, "session_state", {})
    faults = [ValueError("first"), ValueError("first"), KeyError("other")]

    def fail():
        raise faults.pop(0)

    monkeypatch.setattr(parts.session, "run", lambda: 1)
    parts.begin_page()
    parts.note("equations", fail)

    assert parts.stale() == []
    assert parts.stale() == ["equations"]  # another fault


def test_a_page_that_is_stale_when_the_board_is_painted_is_drawn_anew(monkeypatch):
    asked = []

    def rerun(*scope):
        asked.append(scope)
        raise RuntimeError  # as Streamlit's does, it comes back to nobody

    monkeypatch.setattr(parts.st, "rerun", rerun)
    drawn = {parts.BOARD: (lambda: 1, 1), parts.PAGE: (lambda: 2, 1)}
    monkeypatch.setattr(parts.st, "session_state", {"parts": {"of": "", "parts": drawn}})

    with pytest.raises(RuntimeError):
        parts.draw_rest()

    assert asked == [WHOLE]


# --- a page that was not drawn to its end


def faults(caplog):
    return [record for record in caplog.records if record.name == "playground.shell"]


@pytest.mark.parametrize("lesson", ["playground", "multi_head"])
def test_a_page_that_was_given_up_for_a_touch_is_drawn_as_a_whole(monkeypatch, caplog, lesson):
    """A touch in the middle of a run begins another, of which its callback asks for the board."""
    app, show = App(lesson).set("preset", "cat"), board.show

    def give_up(*_):
        monkeypatch.setattr(board, "show", show)
        asked = get_script_run_ctx().fragment_storage.resolve_target(parts.BOARD)
        raise RerunException(RerunData(fragment_id_queue=asked))

    monkeypatch.setattr(board, "show", give_up)
    app.test.run()

    assert faults(caplog) == []
    assert app.errors == []
    assert app.test.slider(key="d_k").value == 2
    assert app.test.selectbox(key="preset").value == "cat"  # the rest of the page is there, too


def test_after_a_fault_of_the_board_it_finds_all_its_places(monkeypatch, caplog, asked):
    def fail(_):
        raise RuntimeError

    app = App("multi_head").set("preset", "cat").set("d_k", 3)
    with monkeypatch.context() as broken:
        broken.setattr(Experiment, "trace", fail)
        app.test.run()
    caplog.clear()
    asked.clear()

    app.test.toggle(key="is_scaled").set_value(False).run()

    assert asked == [BOARD]
    assert faults(caplog) == []
    assert app.errors == []
    assert app.test.slider(key="d_k").value == 3


def test_the_same_things_are_shown_by_parts_and_as_a_whole(app):
    """What parts drew after many changes, a whole run would draw, too."""
    for key, value in [("d_k", 3), ("n_heads", 3), ("mask", ["causal"]), ("encoding", "alibi")]:
        app.set(key, value)
    app.send(cell(2, 0.25))

    fresh = App(e=app.address["query"]["e"])

    assert fresh.board["matrices"] == app.board["matrices"]
    assert fresh.markdown() == app.markdown()


@pytest.mark.parametrize(
    ("is_patient", "has_board", "expected"),
    [(False, True, [WHOLE]), (True, True, []), (True, False, [WHOLE])],
)
def test_who_is_patient_lets_the_board_come_first_if_there_is_one(
    monkeypatch, is_patient, has_board, expected
):
    asked = []
    drawn = {parts.BOARD: (lambda: 1, 1), parts.PAGE: (lambda: 2, 1)}
    state = {"parts": {"of": "", "parts": drawn, "has_board": has_board}}
    monkeypatch.setattr(parts.st, "rerun", lambda *scope: asked.append(scope))
    monkeypatch.setattr(parts.st, "session_state", state)
    monkeypatch.setattr(parts.session, "has_notice", lambda: False)

    parts.answering(lambda: None, on=parts.BOARD, is_patient=is_patient)()

    assert asked == expected


def test_who_leaves_a_page_is_not_called_back(monkeypatch):
    reruns = []
    monkeypatch.setattr(parts.st, "rerun", lambda *scope: reruns.append(scope))
    monkeypatch.setattr(parts.st, "session_state", {"parts": {"of": "another page", "parts": {}}})
    changes = []

    parts.answering(changes.append)("typed last")

    assert changes == ["typed last"]
    assert reruns == []


# --- what an input shows, and what is said of it


class Noting(dict):
    """Notes how often the input is written."""

    n_written = 0

    def __setitem__(self, key, value):
        self.n_written += key == "d_k"
        super().__setitem__(key, value)


@pytest.fixture
def begin(monkeypatch):
    """Begins a run of a part that polls, or of the whole page."""
    state = Noting()
    monkeypatch.setattr(parts.st, "session_state", state)
    monkeypatch.setattr(parts.session, "language", lambda: "en")

    def begin_run(number, *, is_whole=False, page="a page"):
        asked = None if is_whole else [BOARD]
        context = SimpleNamespace(fragment_ids_this_run=asked, page_script_hash=page)
        monkeypatch.setattr(parts.session, "run", lambda: number)
        monkeypatch.setattr(parts, "get_script_run_ctx", lambda: context)
        if is_whole:
            parts.begin_page()
            parts.note_polling()
        state.n_written = 0

    begin_run.state = state
    return begin_run


def write_on_board(value, *made_of):
    with parts.drawing(parts.BOARD):
        parts.write("d_k", value, *made_of)


def test_an_input_that_shows_what_it_shall_is_left_alone(begin):
    """What is written would take back what a hand has set there meanwhile."""
    begin(1, is_whole=True)
    write_on_board(3, 1, 8)
    assert begin.state.n_written == 1

    for number, is_whole in ((2, False), (3, True), (4, False)):
        begin(number, is_whole=is_whole)
        write_on_board(3, 1, 8)
        assert begin.state.n_written == 0


def test_a_part_that_was_given_up_for_a_later_touch_is_stale_until_it_is_drawn(begin):
    """The browser has a piece of it, or nothing: Undo stayed disabled after a quick second edit."""

    def draw(given_up=None):
        with parts.drawing("toolbar"):
            parts.note("toolbar", lambda: True)
            if given_up:
                raise given_up

    begin(1, is_whole=True)
    with pytest.raises(RerunException):
        draw(RerunException(RerunData()))
    assert parts.stale() == ["toolbar"]

    begin(2)
    draw()
    assert parts.stale() == []

    begin(3)
    with pytest.raises(RuntimeError):  # an apology stands in its place
        draw(RuntimeError())
    assert parts.stale() == []


@pytest.mark.parametrize("is_whole", [False, True])
def test_an_input_is_written_where_it_shall_show_something_else(begin, is_whole):
    begin(1, is_whole=True)
    write_on_board(3, 1, 8)

    begin(2, is_whole=is_whole)
    write_on_board(4, 1, 8)  # undone
    assert begin.state.n_written == 1

    begin(3, is_whole=is_whole)
    write_on_board(4, 1, 4)  # made of something else, it is a new one and stands anywhere
    assert begin.state.n_written == 1

    begin(4, is_whole=is_whole)
    with parts.drawing(parts.BOARD):
        pass
    begin(5, is_whole=is_whole)
    write_on_board(4, 1, 4)  # was not drawn in the run before, and is a new one, too
    assert begin.state.n_written == 1

    begin.state["d_k"] = 7  # the browser had not heard
    begin(6, is_whole=is_whole)
    write_on_board(4, 1, 4)
    assert begin.state.n_written == 1


@pytest.mark.parametrize("is_whole", [False, True])
def test_what_a_hand_sets_before_an_undo_has_come_is_not_taken_back_by_it(begin, is_whole):
    begin(1, is_whole=True)
    write_on_board(3)
    begin(2, is_whole=is_whole)
    write_on_board(4)  # undone; the browser hears of it later
    begin.state["d_k"] = 5  # set by hand before that, or after: who knows
    begin(3, is_whole=is_whole)
    write_on_board(5)
    assert begin.state.n_written == 1  # so that it stands in the end, in both cases

    begin(4, is_whole=is_whole)
    write_on_board(5)
    assert begin.state.n_written == 0


def test_a_new_input_may_be_touched_twice_before_an_answer(begin):
    """A browser that touches a new one has heard of it."""
    begin(1, is_whole=True)
    write_on_board(3)
    begin.state["d_k"] = 5  # by hand, and maybe 6 already
    begin(2)
    write_on_board(5)

    assert begin.state.n_written == 0


def test_an_input_is_written_anew_on_another_page(begin):
    begin(1, is_whole=True)
    parts.write("d_k", 3)

    begin(2, is_whole=True, page="another page")
    parts.write("d_k", 3)

    assert begin.state.n_written == 1


def test_what_was_written_before_a_page_is_drawn_again_is_written_again(begin, monkeypatch):
    """Nothing has come from the browser between the two runs."""
    monkeypatch.setattr(parts.st, "rerun", lambda: None)
    begin(1, is_whole=True)
    write_on_board(3)
    begin(2)
    write_on_board(4)
    parts.draw_page_again()

    for number, is_whole, n_written in ((3, True, 1), (4, False, 0), (5, True, 0)):
        begin(number, is_whole=is_whole)
        write_on_board(4)
        assert begin.state.n_written == n_written


def test_a_page_that_is_drawn_anew_writes_no_input_that_stands_as_it_was_set():
    app = App()
    assert app.test.toggle(key="is_scaled").proto.set_value

    app.set("mask", ["padding"])  # its size appears, and the whole page is drawn

    assert app.was_whole
    assert not app.test.toggle(key="is_scaled").proto.set_value
    assert not app.test.slider(key="d_k").proto.set_value
    app.press("Undo")
    assert app.experiment.mask.kinds == ()
    assert app.test.toggle(key="is_scaled").value


def begins(widget):
    """Where an input stands in a browser that has never heard of it, and where it shall stand."""
    proto = widget.proto
    if widget.type in ("selectbox",):
        return proto.default, widget.options.index(widget.format_func(widget.value))
    if widget.type == "slider":
        return [*proto.default], [widget.value]
    if widget.type == "select_slider":
        return [*proto.default], [widget.options.index(widget.format_func(widget.value))]
    if widget.type == "button_group":
        chosen = widget.value if isinstance(widget.value, list) else [widget.value]
        names = [option.content for option in proto.options]
        return [*proto.default], [names.index(widget.format_func(value)) for value in chosen]
    return proto.default, widget.value


INPUTS = ("selectbox", "slider", "select_slider", "button_group", "toggle", "text_area")


@pytest.mark.parametrize(
    ("lesson", "step"),
    [("playground", ""), ("multi_head", ""), ("pytorch", "fit"), ("sentiment", "train")],
)
def test_an_input_that_is_left_alone_begins_where_it_stands(lesson, step):
    """What was written before may not have come: a slider fell to its lowest value."""
    app = App(lesson, s=step)
    app.test.run()

    inputs = [widget for kind in INPUTS for widget in app.test.get(kind)]
    left_alone = [widget for widget in inputs if widget.key and not widget.proto.set_value]
    assert len(left_alone) > 2
    for widget in left_alone:
        begun, stands = begins(widget)
        assert begun == stands, widget.key


def test_what_a_poll_says_of_an_input_outside_of_it_is_not_believed(begin):
    begin(1, is_whole=True)
    parts.write("mask", ["causal"])

    assert not parts.is_echo("mask", [])  # a hand asks for the whole page
    begin(2)
    assert parts.is_echo("mask", [])
    begin.state["parts"]["is_polled"] = False
    assert not parts.is_echo("mask", [])


def test_what_an_input_showed_before_is_not_believed_until_the_browser_has_heard(begin):
    begin(1, is_whole=True)
    write_on_board(3)
    begin.state["d_k"] = 5  # as set by hand
    begin(2)
    write_on_board(3)  # and undone

    assert parts.is_echo("d_k", 5, on=parts.BOARD)
    assert not parts.is_echo("d_k", 4, on=parts.BOARD)

    begin(3)
    write_on_board(3)  # the browser said 3
    assert not parts.is_echo("d_k", 5, on=parts.BOARD)


# --- what the garbage collector looks through after each run


@pytest.fixture
def frozen(monkeypatch):
    """How often what is there was taken out of the collector's sight."""
    calls = []
    shell._freeze.cache_clear()
    collector = SimpleNamespace(collect=lambda: None, freeze=lambda: calls.append(1))
    monkeypatch.setattr(shell, "gc", collector)
    yield calls
    shell._freeze.cache_clear()


def test_modules_are_looked_through_once_however_many_runs_follow(frozen):
    app = App()

    app.set("d_model", 3).set("d_model", 2)

    assert len(frozen) == 1


def test_modules_that_come_later_are_too_also_where_only_a_part_was_run(frozen, monkeypatch):
    app = App("multi_head")

    for number in range(2 * shell._MANY_MODULES):
        monkeypatch.setitem(sys.modules, f"late_{number}", ModuleType(f"late_{number}"))
    app.set("multi_head.step", "fused")

    assert len(frozen) == 2

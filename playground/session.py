"""The one experiment of a learner's session: read it, change it, take changes back.

Session state holds plain data only, since objects of our own classes do not survive a hot
reload of the code. Widgets and the board are views: they are drawn from the experiment, and
their callbacks come here.
"""

import json
import logging
import math
from collections.abc import Callable, Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar
from uuid import uuid4

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from attention_core import AttentionError, Experiment, from_plain, to_plain
from attention_core.canvas import MAX_HEADS, MAX_TOKENS, check_count
from attention_core.permutation import Order, moved, repaired
from attention_core.stack import Layer, continues, stacked
from playground import invitation, link
from playground.difference import difference, restored
from playground.invitation import Invitation
from playground.texts import LANGUAGES, Language, first_guess

Plain = dict[str, Any]
T = TypeVar("T")

BOARD_KEY = "board"  # of the component's state

_KEY = "work"
_ORDER = "permutation.order"
_TARGET = "pytorch.fit.painted"
_MOST_STEPS = 200  # of undo
_MOST_LAYERS = 24  # all of which every run computes again
_MOST_MOUNTS = 20  # boards whose edits are remembered as taken
_MOST_EDITS = 50  # of a message that are taken; the board sends what is left again
_MOST_SETTINGS, _MOST_LETTERS = 40, 200  # of a lesson in a link, and of one that is a text
_MOST_LISTED = 144  # rows, numbers of a row, or cells of the mask in one edit

_log = logging.getLogger(__name__)


class Seen(NamedTuple):
    """What a learner sees, for a file that is made without asking the session."""

    experiment: Experiment
    language: Language = "en"
    head_chosen: int = 0  # the experiment may have fewer by now
    invitation: Mapping[str, str] = MappingProxyType({})  # its part of an address
    url: str = ""  # of the page, "" where that is not known

    @property
    def head(self) -> int:
        """Which head the board follows, from 0."""
        return min(self.head_chosen, self.experiment.n_heads - 1)


def start() -> None:
    """Begin a run, and with the first one the session: from the link, if there is one."""
    if not has_begun():
        _begin()
    count_run()


def has_begun() -> bool:
    """Whether this session has work of its own."""
    return _KEY in st.session_state


def count_run() -> None:
    """Begin a run, of the page or of a part of it."""
    _work()["run"] += 1


def run() -> int:
    """Counts the runs of this session; a test waits until the page shows the one it caused."""
    return int(_work()["run"])


def _begin() -> None:
    st.session_state[_KEY] = {
        "id": f"{_connection()} {uuid4().hex}",
        "text": _written(Experiment.from_preset()),
        "layers": [],
        "past": [],
        "future": [],
        "run": 0,
        "revision": 0,
        "cell": None,
        "taken": {},
        "notice": None,
        "told": False,
        "language": asked_language(),
        "head": _first_head(),
        "settings": {},
        "inputs": [],
        "asked_settings": _first_settings(),
        "place": ("", ""),
        "asked_step": st.query_params.get("s", ""),
        "invitation": invitation.read(st.query_params).query(),
    }
    text = st.query_params.get("e")
    if text:
        try:
            _work()["text"] = _written(link.decode(text))
        except link.LinkError as error:
            _log.info("damaged link: %s", error)
            notify("damaged_link")
        except Exception:  # anyone can write a link, and none may keep the page from opening
            _log.exception("a link failed")
            notify("damaged_link")


def id() -> str:
    """Names this session among all of the server: Streamlit's own name, and one of ours."""
    return str(_work()["id"])


def experiment() -> Experiment:
    """The current experiment."""
    return _built(_work()["text"])


def shown() -> list[Any]:
    """What anything that shows the experiment is drawn from, to be compared."""
    return [_work()[name] for name in ("text", "layers", "head", "revision", "taken")]


def tag() -> str:
    """Tells this session from others, to its own browser: what was sent to another is not ours."""
    return id().split()[-1]


def invited() -> Invitation:
    """What the link asked for beside the experiment, or was chosen since."""
    return invitation.read(_work()["invitation"])


def invite(chosen: Invitation) -> None:
    """Let this session, and its link, ask for something else."""
    _work()["invitation"] = chosen.query()


def is_projected() -> bool:
    """Whether the layout is that for a projector."""
    return invited().view == "projector"


def offers(control: str) -> bool:
    """Whether a control beside the page is shown."""
    shown = invited().controls
    return shown is None or control in shown


def latest() -> Callable[[], Seen]:
    """Gives what is seen when it is called, whoever calls it."""
    work, url = _work(), st.context.url or ""
    return lambda: Seen(
        _built(work["text"]), work["language"], int(work["head"]), work["invitation"], url
    )


def apply(change: Callable[[Experiment], Experiment], *, moves_cells: bool = False) -> None:
    """Change the experiment, as one step of undo.

    A change that the core refuses leaves everything as it was and tells the learner why; so
    does a fault of ours, which would otherwise reach the learner as Streamlit's own message.

    Args:
        change: Gives the new experiment for the current one.
        moves_cells: Whether a cell of the board may be another one afterwards. Edits that the
            board sent before it heard of this are then dropped, not put on other numbers.
    """
    take_waiting()
    _apply(change, moves_cells=moves_cells)


def stack(is_residual: bool) -> None:
    """Let the output be the next layer's X, or X + output; the layer that was run is kept."""
    take_waiting()
    layer = {"text": _work()["text"], "is_residual": is_residual}
    kept = _work()["layers"] if layers() else []

    def change(e: Experiment) -> Experiment:
        check_count("n_layers", len(kept) + 2, 1, _MOST_LAYERS)
        return stacked(e, is_residual=is_residual)

    _apply(change, moves_cells=True, layers=[*kept, layer])


def layers() -> list[Layer]:
    """The layers whose result became the present X, first one first; none if X was edited since."""
    kept = [
        Layer(_built(layer["text"]), is_residual=layer["is_residual"])
        for layer in _work()["layers"]
    ]
    return kept if continues(kept, experiment()) else []


def can_undo() -> bool:
    """Whether there is a step to take back."""
    return bool(_work()["past"])


def can_redo() -> bool:
    """Whether there is a step to do again."""
    return bool(_work()["future"])


def undo() -> None:
    """Take the last step back."""
    take_waiting()
    _walk("past", "future")


def redo() -> None:
    """Do the step again that was taken back last."""
    take_waiting()
    _walk("future", "past")


def reset() -> None:
    """Back to the preset as it was, with the same seed; can be undone."""
    apply(lambda e: Experiment.from_preset(e.preset, seed=e.seed), moves_cells=True)


def revision() -> int:
    """Counts the changes after which older edits of the board are void."""
    return int(_work()["revision"])


def taken() -> dict[str, int]:
    """For each board, the number of its last edit that was taken; a board is named by itself."""
    return dict(_work()["taken"])


def take_waiting() -> None:
    """Take what the board has sent with the control that is being answered.

    Streamlit puts all that changed in one moment into one message and calls the callbacks of
    controls before those of components, but the learner typed first and clicked then.
    """
    state = st.session_state.get(BOARD_KEY)
    if isinstance(state, Mapping):
        take(state.get("edits"))


def heard() -> dict[str, Any]:
    """Which message of a board came last: a board that has sent a later one waits for a run."""
    state = st.session_state.get(BOARD_KEY)
    message = state.get("edits") if isinstance(state, Mapping) else None
    if not isinstance(message, Mapping):
        return {}
    mount, attempt = message.get("mount"), message.get("attempt")
    is_known = isinstance(mount, str) and mount in _work()["taken"] and type(attempt) is int
    return {"mount": mount, "attempt": attempt} if is_known else {}


def take(message: Any) -> None:
    """Apply what the board sent: its edits so far, each once, in order.

    Args:
        message: {"session": tag of the one that drew the board, "mount": name of the board,
            "revision": the one it has seen, "edits": [...]}; what was sent to another session is
            in the experiment already, or will be sent again to this one. Each edit has a
            "number" that rises by one, and is one of
            {"kind": "cell", "matrix", "head", "row", "column", "value", "joins"},
            {"kind": "block", "matrix", "head", "row", "column", "values"},
            {"kind": "paint", "matrix", "cells": [[query, key], ...], "allowed", "joins"}, where
            a matrix other than "mask" is the target of a lesson,
            {"kind": "rename", "row", "text"}, {"kind": "add"}, {"kind": "remove", "row"},
            {"kind": "move", "row", "to"}, which changes the order of a lesson alone.
            It comes from a browser, so anything may be in it; what is malformed is dropped.
    """
    if not isinstance(message, Mapping) or not isinstance(message.get("edits"), list):
        return
    if message.get("session") != tag():
        return
    mount, seen = str(message.get("mount"))[:40], message.get("revision")
    work = _work()
    last, n_taken = work["taken"].get(mount, 0), 0
    for edit in message["edits"]:
        number = edit.get("number") if isinstance(edit, Mapping) else None
        if type(number) is not int or number <= last or n_taken == _MOST_EDITS:
            continue
        last, n_taken = number, n_taken + 1
        if seen == work["revision"]:  # an edit before it in this message may have raised it
            _take_one(edit)
    others = {name: count for name, count in work["taken"].items() if name != mount}
    work["taken"] = dict([*others.items(), (mount, last)][-_MOST_MOUNTS:])


def head() -> int:
    """Which head the board follows, from 0."""
    return min(int(_work()["head"]), experiment().n_heads - 1)


def show_head(index: int) -> None:
    """Let the board follow this head."""
    _work()["head"] = index


def setting(key: str, default: T) -> T:
    """What a lesson was set to, such as "masks.pattern"; nothing else depends on it."""
    value: T = _work()["settings"].get(key, default)
    return value


def settings(lesson: str) -> dict[str, Any]:
    """What the inputs of a lesson were set to, or a link asks them to be, as far as a link goes."""
    work, start = _work(), f"{lesson}."
    known = work["asked_settings"] | {key: work["settings"].get(key) for key in work["inputs"]}
    return {
        key: value
        for key, value in known.items()
        if key.startswith(start) and key != f"{start}step" and _is_short(value)
    }


def note_input(key: str) -> None:
    """An input of a lesson keeps what it is set to under this key; a link may carry that."""
    _work()["inputs"] = sorted({*_work()["inputs"], key})


def pop_asked_setting(key: str) -> Any:
    """What the link asks an input to be set to, once; None for nothing. Anything may be in it."""
    asked = dict(_work()["asked_settings"])
    value = asked.pop(key, None)
    _work()["asked_settings"] = asked
    return value


def pop_asked_step() -> str:
    """The step that the link asks for, once; it is for the lesson that the link leads to."""
    asked = str(_work()["asked_step"])
    _work()["asked_step"] = ""
    return asked


def step() -> str:
    """The step of the lesson that is shown; "" on other pages."""
    return str(_work()["place"][1])


def place() -> str:
    """The lesson and the step that are shown, such as "masks.cost"; "" on other pages."""
    return ".".join(filter(None, _work()["place"]))


def show_place(lesson: str = "", step: str = "") -> None:
    """This step of this lesson is shown; the link will lead to it."""
    _work()["place"] = (lesson, step)


def set_setting(key: str, value: Any) -> None:
    """Set a lesson to something."""
    _work()["settings"] = _work()["settings"] | {key: value}


def order() -> Order:
    """The places of the tokens in the order that the lesson on positions has put them in."""
    return repaired(setting(_ORDER, ()), experiment().n_tokens)


def reorder(change: Callable[[Order], Order]) -> None:
    """Put the tokens of that lesson in another order; the experiment keeps its own."""
    take_waiting()
    set_setting(_ORDER, change(order()))


def target() -> list[list[int]]:
    """(query, key) of each cell that is painted in the lesson in which weights are fitted."""
    return setting(_TARGET, [])


def language() -> Language:
    """The language of this session."""
    chosen: Language = _work()["language"]
    return chosen


def asked_language() -> Language:
    """The language that the link or else the browser asks for."""
    wanted = st.query_params.get("lang")
    for known in LANGUAGES:
        if wanted == known:
            return known
    return first_guess(st.context.locale)


def speak(chosen: Language) -> None:
    """Switch the language."""
    _work()["language"] = chosen


def notify(notice: str, error: AttentionError | None = None) -> None:
    """Leave a message for the learner, to be shown once: a text key below "notice"."""
    _work()["notice"] = {
        "notice": notice,
        "error": type(error).__name__ if error else None,
        "fields": dict(vars(error)) if error else {},
    }


def has_notice() -> bool:
    """Whether a message waits to be shown, or stands there and must go."""
    return bool(_work()["notice"] or _work()["told"])


def pop_notice() -> Plain | None:
    """The message that waits to be shown, once."""
    notice: Plain | None = _work()["notice"]
    _work().update(notice=None, told=notice is not None)
    return notice


def _written(experiment: Experiment) -> str:
    """The experiment as a text, of which nothing but the text is kept."""
    return json.dumps(to_plain(experiment), separators=(",", ":"))


@lru_cache(maxsize=64)  # the largest experiment takes 0.1 MB with its text
def _built(text: str) -> Experiment:
    """The experiment of a text, built once however often a run asks for it."""
    return from_plain(json.loads(text))


def _work() -> Plain:
    work: Plain = st.session_state[_KEY]
    return work


def _apply(
    change: Callable[[Experiment], Experiment],
    *,
    moves_cells: bool = False,
    cell: list[Any] | None = None,
    joins: bool = False,
    layers: list[Plain] | None = None,
) -> None:
    """The change itself; an edit of a cell may join the step before it, if that was the same."""
    work = _work()
    try:
        text = _written(change(experiment()))
    except AttentionError as error:
        notify("refused", error)
        return
    except Exception:
        _log.exception("a change failed")
        notify("fault")
        return
    past, start = work["past"], _state()
    if text == start["text"] and layers is None:
        return
    if joins and cell == work["cell"] and past:
        *past, step = past
        start = _reached(step)
    if text == start["text"] and layers is None:  # dragged, and back again: no step at all
        cell = None
    else:
        past = [*past, _step(start, text)][-_MOST_STEPS:]
    work.update(text=text, past=past, future=[], cell=cell)
    if layers is not None:
        work["layers"] = layers
    if moves_cells:
        work["revision"] += 1


def _state() -> Plain:
    """What a step of undo brings back."""
    return {name: _work()[name] for name in ("text", "layers")}


def _step(state: Plain, text: str) -> Plain:
    """A state as the history keeps it beside the one after it, which has this text."""
    return {"difference": difference(state["text"], text), "layers": state["layers"]}


def _reached(step: Plain) -> Plain:
    """The state to which a step leads from the present one."""
    return {"text": restored(step["difference"], _work()["text"]), "layers": step["layers"]}


def _walk(source: str, target: str) -> None:
    """One step along the history: from the end of one list to the end of the other."""
    work = _work()
    if not work[source]:
        return
    *work[source], step = work[source]
    state = _reached(step)
    work[target] = [*work[target], _step(_state(), state["text"])]
    work.update(state)
    work["revision"] += 1
    work["cell"] = None


def _take_one(edit: Mapping[str, Any]) -> None:
    try:
        match edit["kind"]:
            case "cell":
                value, (matrix, *index) = _number(edit["value"]), _place(edit)
                _apply(
                    lambda e: e.with_cell(matrix, tuple(index), value),
                    cell=[matrix, *index],
                    joins=edit.get("joins") is True,
                )
            case "block":
                matrix, *index = _place(edit)
                rows = [[_number(value) for value in _list(row)] for row in _list(edit["values"])]
                _apply(lambda e: e.with_block(matrix, tuple(index), rows))
            case "paint":
                cells = [(_a(int, query), _a(int, key)) for query, key in _list(edit["cells"])]
                is_allowed = _a(bool, edit["allowed"])
                if _a(str, edit["matrix"]) != "mask":
                    _paint_target(cells, is_allowed)
                    return
                _apply(
                    lambda e: e.with_painted(cells, is_allowed),
                    cell=["mask"],
                    joins=edit.get("joins") is True,
                )
            case "rename":
                row, text = _a(int, edit["row"]), _a(str, edit["text"])
                _apply(lambda e: e.with_token_renamed(row, text))
            case "add":
                _apply(lambda e: e.with_token_added())
            case "remove":
                row = _a(int, edit["row"])
                _apply(lambda e: e.without_token(row), moves_cells=True)
            case "move":
                row, to = _a(int, edit["row"]), _a(int, edit["to"])
                set_setting(_ORDER, moved(order(), row, to))
    except (KeyError, TypeError, ValueError, OverflowError, AttentionError) as error:
        _log.warning("malformed edit dropped: %s", error)


def _paint_target(cells: list[tuple[int, int]], is_asked: bool) -> None:
    """These cells asked for, or not, in the lesson in which weights are fitted."""
    for place in (place for cell in cells for place in cell):
        check_count("index", place, 0, MAX_TOKENS - 1)
    kept = {(query, key) for query, key in target()} - {*cells}
    set_setting(_TARGET, [list(cell) for cell in sorted(kept | ({*cells} if is_asked else set()))])


def _a(kind: type[T], value: Any) -> T:
    """The value, if it is exactly of this kind: a browser may send anything, and True is no 1."""
    if type(value) is not kind:
        raise TypeError(f"{value!r:.40} is no {kind.__name__}")
    return value


def _list(value: Any) -> list[Any]:
    """The value, if it is a list with something in it, and no longer than any of the board's."""
    if not 0 < len(_a(list, value)) <= _MOST_LISTED:
        raise ValueError(f"{len(value)} in a list")
    return list(value)


def _number(value: Any) -> float:
    if type(value) not in (int, float) or not math.isfinite(value):
        raise TypeError("no finite number")
    return float(value)


def _place(edit: Mapping[str, Any]) -> list[Any]:
    """Matrix, head if it has heads, row, column."""
    place = [_a(str, edit["matrix"]), _a(int, edit["row"]), _a(int, edit["column"])]
    if edit.get("head") is not None:
        place.insert(1, _a(int, edit["head"]))
    return place


def _connection() -> str:
    """Streamlit's own name of this session, the same for all in a test."""
    context = get_script_run_ctx()
    return context.session_id if context else ""


def _first_head() -> int:
    wanted = st.query_params.get("h", "")
    return int(wanted) - 1 if wanted in {str(h) for h in range(1, MAX_HEADS + 1)} else 0


def _first_settings() -> Plain:
    """What the link asks inputs of lessons to be set to; each sees itself whether it can be."""
    try:
        asked = link.unpack(st.query_params["l"])
    except (KeyError, link.LinkError):
        return {}
    fits = isinstance(asked, dict) and len(asked) <= _MOST_SETTINGS
    return {key: value for key, value in asked.items() if _is_short(value)} if fits else {}


def _is_short(value: Any) -> bool:
    """Whether this is a setting that a link carries: a number, a short text, or a few of them."""
    if isinstance(value, list):
        return len(value) <= _MOST_SETTINGS and not any(
            isinstance(each, list) or not _is_short(each) for each in value
        )
    return isinstance(value, int | float) or (
        isinstance(value, str) and len(value) <= _MOST_LETTERS
    )

"""The one experiment of a learner's session: read it, change it, take changes back.

Session state holds plain data only, since objects of our own classes do not survive a hot
reload of the code. Widgets and the board are views: they are drawn from the experiment, and
their callbacks come here.
"""

import logging
import math
from collections.abc import Callable, Mapping
from typing import Any

import streamlit as st

from attention_core import AttentionError, Experiment, from_plain, to_plain
from playground import link
from playground.texts import LANGUAGES, Language, first_guess

Plain = dict[str, Any]

_KEY = "work"
_MOST_STEPS = 200  # of undo
_MOST_MOUNTS = 20  # boards whose edits are remembered as taken

_log = logging.getLogger(__name__)


def start() -> None:
    """Begin a run, and with the first one the session: from the link, if there is one."""
    if _KEY not in st.session_state:
        _begin()
    _work()["run"] += 1


def run() -> int:
    """Counts the runs of this session, so that the browser can tell which one it shows."""
    return int(_work()["run"])


def _begin() -> None:
    st.session_state[_KEY] = {
        "plain": to_plain(Experiment.from_preset()),
        "past": [],
        "future": [],
        "run": 0,
        "revision": 0,
        "taken": {},
        "notice": None,
        "language": _first_language(),
        "head": 0,
    }
    text = st.query_params.get("e")
    if text:
        try:
            _work()["plain"] = to_plain(link.decode(text))
        except link.LinkError as error:
            _log.info("damaged link: %s", error)
            notify("damaged_link")


def experiment() -> Experiment:
    """The current experiment."""
    return from_plain(_work()["plain"])


def apply(change: Callable[[Experiment], Experiment], *, joins: bool = False) -> None:
    """Change the experiment, as one step of undo.

    A change that the core refuses leaves everything as it was and tells the learner why; so
    does a fault of ours, which would otherwise reach the learner as Streamlit's own message.

    Args:
        change: Gives the new experiment for the current one.
        joins: Whether this continues the last step (a nudge after a nudge of the same cell).
    """
    work = _work()
    try:
        plain = to_plain(change(experiment()))
    except AttentionError as error:
        notify("refused", error)
        return
    except Exception:
        _log.exception("a change failed")
        notify("fault")
        return
    if plain == work["plain"]:
        return
    if not (joins and work["past"]):
        work["past"] = [*work["past"], work["plain"]][-_MOST_STEPS:]
    work["future"] = []
    work["plain"] = plain


def replace(change: Callable[[Experiment], Experiment]) -> None:
    """Like `apply`, for changes after which a cell of the board may be another one.

    Edits that the board sent before it heard of this are dropped, not put on new numbers.
    """
    before = _work()["plain"]
    apply(change)
    if _work()["plain"] is not before:
        _work()["revision"] += 1


def can_undo() -> bool:
    """Whether there is a step to take back."""
    return bool(_work()["past"])


def can_redo() -> bool:
    """Whether there is a step to do again."""
    return bool(_work()["future"])


def undo() -> None:
    """Take the last step back."""
    _step("past", "future")


def redo() -> None:
    """Do the step again that was taken back last."""
    _step("future", "past")


def reset() -> None:
    """Back to the preset as it was, with the same seed; can be undone."""
    replace(lambda e: Experiment.from_preset(e.preset, seed=e.seed))


def revision() -> int:
    """Counts the changes after which older edits of the board are void."""
    return int(_work()["revision"])


def taken() -> dict[str, int]:
    """For each board, the number of its last edit that was taken; a board is named by itself."""
    return dict(_work()["taken"])


def take(message: Any) -> None:
    """Apply what the board sent: its edits so far, each once, in order.

    Args:
        message: {"mount": name of the board, "revision": the one it has seen, "edits": [...]};
            each edit has a "number" that rises by one, and is one of
            {"kind": "cell", "matrix", "head", "row", "column", "value", "joins"},
            {"kind": "rename", "row", "text"}, {"kind": "add"}, {"kind": "remove", "row"}.
            It comes from a browser, so anything may be in it; what is malformed is dropped.
    """
    if not isinstance(message, Mapping) or not isinstance(message.get("edits"), list):
        return
    mount, seen = str(message.get("mount"))[:40], message.get("revision")
    work = _work()
    last = work["taken"].get(mount, 0)
    for edit in message["edits"]:
        number = edit.get("number") if isinstance(edit, Mapping) else None
        if type(number) is not int or number <= last:
            continue
        last = number
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


def language() -> Language:
    """The language of this session."""
    chosen: Language = _work()["language"]
    return chosen


def speak(chosen: Language) -> None:
    """Switch the language."""
    _work()["language"] = chosen


def notify(notice: str, error: AttentionError | None = None) -> None:
    """Leave a message for the learner, to be shown once: a text key below "notice"."""
    fields = dict(vars(error)) if error else {}
    _work()["notice"] = {"notice": notice, "error": type(error).__name__, "fields": fields}


def pop_notice() -> Plain | None:
    """The message that waits to be shown, once."""
    notice: Plain | None = _work()["notice"]
    _work()["notice"] = None
    return notice


def _work() -> Plain:
    work: Plain = st.session_state[_KEY]
    return work


def _step(source: str, target: str) -> None:
    work = _work()
    if not work[source]:
        return
    work[target] = [*work[target], work["plain"]]
    *work[source], work["plain"] = work[source]
    work["revision"] += 1


def _take_one(edit: Mapping[str, Any]) -> None:
    try:
        match edit["kind"]:
            case "cell":
                value = float(edit["value"])
                index: tuple[int, ...] = (int(edit["row"]), int(edit["column"]))
                if not math.isfinite(value):
                    raise ValueError("not finite")
                matrix = str(edit["matrix"])
                if edit.get("head") is not None:
                    index = (int(edit["head"]), *index)
                apply(lambda e: e.with_cell(matrix, index, value), joins=edit.get("joins") is True)
            case "rename":
                row, text = int(edit["row"]), str(edit["text"])
                apply(lambda e: e.with_token_renamed(row, text))
            case "add":
                replace(lambda e: e.with_token_added())
            case "remove":
                row = int(edit["row"])
                replace(lambda e: e.without_token(row))
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        _log.warning("malformed edit dropped: %s", error)


def _first_language() -> Language:
    wanted = st.query_params.get("lang")
    for known in LANGUAGES:
        if wanted == known:
            return known
    return first_guess(st.context.locale)

"""Simulated learners: they speak Streamlit's own protocol, and live in a process of their own.

A tab asks for the page, opens the websocket, draws nothing but reads all of it, and says what a
browser would say: with each message what all inputs show, which long messages it has kept, and,
where the app asks to be asked again, that too. `python -m benchmarks.load protocol` compares what
such a tab sends with what Chromium sends.
"""

import asyncio
import json
import multiprocessing
import random
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from typing import Any
from urllib.parse import urlencode, urlsplit

import numpy as np
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.NumberInput_pb2 import NumberInput
from streamlit.proto.WidgetStates_pb2 import WidgetState
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidMessage

from attention_core import Experiment, to_plain
from playground import link
from playground.pipeline import pipeline

EVERY = 5.0  # seconds between two moves of one learner
PATIENCE = 60.0  # seconds after which an answer counts as lost
SAMPLED = 10  # of so many answers one is kept, to be compared with the core
WIDTHS = (1, 2, 3, 4, 3, 2)  # what the slider is moved to, in turn
ENDS = (ForwardMsg.FINISHED_SUCCESSFULLY, ForwardMsg.FINISHED_FRAGMENT_RUN_SUCCESSFULLY)
LOST = (ConnectionClosed, InvalidHandshake, InvalidMessage, OSError, TimeoutError)
_KEPT_RUNS = 2  # runs for which a browser keeps a long message, unless it comes again


@dataclass
class Report:
    """What one learner saw."""

    opened: float = 0.0  # seconds until all was there
    answers: list[float] = field(default_factory=list)  # seconds each
    rests: list[int] = field(default_factory=list)  # for each answer, how often the board asked on
    boards: list[dict[str, Any]] = field(default_factory=list)  # some of them
    cookies: set[str] = field(default_factory=set)
    n_returned: int = 0  # to another server
    differs: bool = False  # whether it found other numbers there
    lost: str = ""


class Tab:
    """One tab of a browser, on a page of some app."""

    path = "/"
    query = ""

    def __init__(self, url: str, seed: int = 0) -> None:
        self.url = url.rstrip("/")
        self.report = Report()
        self.random = random.Random(seed)
        self.cookie = ""
        self.session_id = ""
        self.page = ""
        self.states: dict[str, WidgetState] = {}  # what each input shows
        self.parts: dict[str, str] = {}  # on which part each stands
        self.polls: dict[str, asyncio.Task[None]] = {}  # of parts that ask for it
        self.buttons: dict[str, str] = {}  # by their labels
        self.sent: list[BackMsg] = []  # the last messages
        self.socket: ClientConnection
        self._kept: dict[str, tuple[ForwardMsg, int]] = {}  # long messages, and when they came
        self._n_runs = 0
        self._seen: set[str] = set()  # inputs that the present run of the page has drawn
        self._is_idle = False
        self._has_news = asyncio.Event()
        self._reader: asyncio.Task[None] | None = None

    # --- what a learner does

    async def open(self) -> None:
        """Ask for the page, then for its first run."""
        began = time.monotonic()
        await self._get(self.path)
        await self._connect()
        await self.ask()
        await self.until(self.is_there)
        self.report.opened = time.monotonic() - began

    def is_there(self) -> bool:
        """Whether the page has come."""
        return True

    async def move(self) -> None:
        """Do something, and wait for the answer."""
        raise NotImplementedError

    async def come_back(self) -> None:
        """The server has gone: connect again, as Streamlit's page does, and ask for all of it."""
        raise NotImplementedError

    async def live(self, seconds: float, every: float = EVERY) -> None:
        """Move now and then, until the time is over."""
        end = time.monotonic() + seconds
        await asyncio.sleep(self.random.uniform(0, every))
        while time.monotonic() < end:
            began = time.monotonic()
            try:
                await self.move()
            except (ConnectionClosed, ConnectionError):
                await self._find_another()
            await asyncio.sleep(max(0.0, began + every - time.monotonic()))

    async def close(self) -> None:
        self._poll_no_more()
        if self._reader:
            await self.socket.close()
            with suppress(*LOST):
                await self._reader

    async def press(self, label: str) -> None:
        """Press the button of this label."""
        id = self.buttons[label]
        await self.ask(self.parts[id], WidgetState(id=id, trigger_value=True))

    def input(self, key: str) -> str:
        """Streamlit's name of the input of this key."""
        (id,) = (id for id in self.states if id.endswith(f"-{key}"))
        return id

    async def set(self, state: WidgetState) -> None:
        """Set an input to something; its part is run."""
        self.states[state.id] = state
        await self.ask(self.parts[state.id])

    # --- what is said

    def address(self) -> str:
        """What follows "?" in the address bar."""
        return self.query

    async def ask(self, part: str = "", *touched: WidgetState, is_poll: bool = False) -> None:
        """Ask for a run of a part, or of the whole page."""
        message = BackMsg()
        state = message.rerun_script
        state.query_string = self.address()
        state.page_script_hash = self.page
        if not self.page:
            state.page_name = self.path.strip("/")
        state.fragment_id = part
        state.is_auto_rerun = is_poll
        state.widget_states.widgets.extend([*self.states.values(), *touched])
        state.cached_message_hashes.extend(self._kept)
        context = state.context_info
        context.timezone, context.timezone_offset, context.locale = "UTC", 0, "en-US"
        context.url, context.is_embedded = self.url + self.path, False
        context.color_scheme = "light"
        self.sent = [*self.sent[-9:], message]
        self._is_idle = False
        await self.socket.send(message.SerializeToString())

    # --- what is heard

    async def until(self, is_there: Callable[[], bool]) -> None:
        """Wait until all that was asked for has been drawn to its end, and this holds."""
        async with asyncio.timeout(PATIENCE):
            while not (self._is_idle and is_there()):
                assert self._reader is not None
                if self._reader.done():
                    self._reader.result()  # a fault of ours is not the server's
                    raise ConnectionError("the server has gone")
                self._has_news.clear()
                await self._has_news.wait()

    async def _read(self) -> None:
        try:
            while True:
                self._hear(ForwardMsg.FromString(await self.socket.recv(decode=False)))
        except ConnectionClosed:
            return
        finally:
            self._has_news.set()

    def _hear(self, message: ForwardMsg) -> None:
        kind = message.WhichOneof("type")
        if kind == "ref_hash":
            message, _ = self._kept[message.ref_hash]
            kind = message.WhichOneof("type")
        elif message.metadata.cacheable:
            self._kept[message.hash] = message, self._n_runs
        match kind:
            case "new_session":
                self.session_id = message.new_session.initialize.session_id
                self._is_idle = False
                if not message.metadata.run.fragment_ids:
                    self._poll_no_more()
                    self._seen = set()
            case "navigation":  # a new session names the script, and a page is not the script
                self.page = message.navigation.page_script_hash
            case "delta":
                self._draw(message.delta)
            case "auto_rerun":
                self._poll(message.auto_rerun.fragment_id, message.auto_rerun.interval)
            case "stop_auto_rerun":
                self._poll_no_more()
            case "script_finished" if message.script_finished in ENDS:
                self._end_run(message.script_finished == ForwardMsg.FINISHED_SUCCESSFULLY)

    def _end_run(self, is_whole: bool) -> None:
        self._n_runs += 1
        self._kept = {
            hash: (message, run)
            for hash, (message, run) in self._kept.items()
            if self._n_runs - run <= _KEPT_RUNS
        }
        if is_whole:
            self.states = {id: state for id, state in self.states.items() if id in self._seen}
        self._is_idle = True
        self._has_news.set()

    def _draw(self, delta: Any) -> None:
        """An element has come; the page's code may look at it before."""
        kind = delta.new_element.WhichOneof("type")
        if not kind:
            return
        element = getattr(delta.new_element, kind)
        id = getattr(element, "id", "")
        if id:
            self.parts[id] = delta.fragment_id
            self._seen.add(id)
        if kind == "button":
            self.buttons[element.label] = id
        elif state := shown(kind, element, is_new=id not in self.states):
            self.states[id] = state
        self.drawn(kind, element)

    def drawn(self, kind: str, element: Any) -> None:
        """An element has come."""

    def _poll(self, part: str, interval: float) -> None:
        async def ask_again() -> None:
            with suppress(ConnectionClosed):
                while True:
                    await asyncio.sleep(interval)
                    await self.ask(part, is_poll=True)

        if part in self.polls:
            self.polls.pop(part).cancel()
        self.polls[part] = asyncio.create_task(ask_again())

    def _poll_no_more(self) -> None:
        for task in self.polls.values():
            task.cancel()
        self.polls = {}

    # --- the connection

    async def _find_another(self) -> None:
        for wait in (0.5, 1, 2, 4, 8):  # Streamlit's page waits in this way
            try:
                await self.come_back()
                return
            except LOST:
                await asyncio.sleep(wait)
        raise TimeoutError("no server took this learner")

    async def _connect(self) -> None:
        self._poll_no_more()
        names = ["streamlit", "token", *filter(None, [self.session_id])]
        self.socket = await connect(
            self.url.replace("http", "ws", 1) + "/_stcore/stream",
            subprotocols=names,
            additional_headers={"Cookie": self.cookie} if self.cookie else None,
            origin=self.url,
            max_size=None,
            compression=None,
            open_timeout=PATIENCE,
            proxy=None,
        )
        self._note_cookie(self.socket.response.headers.get_all("Set-Cookie"))
        self._reader = asyncio.create_task(self._read())

    async def _get(self, path: str) -> bytes:
        """One request, as `curl` would make it."""
        at = urlsplit(self.url)
        reader, writer = await asyncio.open_connection(at.hostname, at.port)
        lines = [f"GET {path} HTTP/1.1", f"Host: {at.netloc}", "Connection: close"]
        if self.cookie:
            lines.append(f"Cookie: {self.cookie}")
        writer.write("\r\n".join([*lines, "", ""]).encode())
        answer = await asyncio.wait_for(reader.read(), PATIENCE)
        writer.close()
        head, _, body = answer.partition(b"\r\n\r\n")
        first, *headers = head.decode("latin-1").split("\r\n")
        if " 200 " not in f"{first} ":
            raise ConnectionError(first)
        pairs = [line.partition(":")[::2] for line in headers]
        self._note_cookie([value.strip() for name, value in pairs if name.lower() == "set-cookie"])
        return body

    def _note_cookie(self, lines: list[str]) -> None:
        for line in lines:
            self.cookie = line.partition(";")[0]
        if self.cookie:
            self.report.cookies.add(self.cookie)


class Learner(Tab):
    """Somebody who moves the d_k slider of the Playground."""

    def __init__(self, url: str, seed: int = 0) -> None:
        super().__init__(url, seed)
        self.board: dict[str, Any] = {}
        self.board_id = ""
        self.n_moves = 0

    async def open(self) -> None:
        await super().open()
        self._keep_board()
        await self._paint()

    def is_there(self) -> bool:
        return bool(self.board)

    def address(self) -> str:
        return query(self.board) if self.board else self.query

    async def move(self) -> None:
        """Move the slider, and wait until the board and the end of the run have come."""
        d_k = WIDTHS[self.n_moves % len(WIDTHS)]
        self.n_moves += 1
        slider = WidgetState(id=self.input("d_k"))
        slider.double_array_value.data.append(d_k)
        began = time.monotonic()
        await self.set(slider)
        await self.until(lambda: width(self.board) == d_k)
        self.report.answers.append(time.monotonic() - began)
        if len(self.report.answers) % SAMPLED == 0:
            self._keep_board()
        self.report.rests.append(await self._paint())

    async def come_back(self) -> None:
        before = self.board
        await self._connect()
        await self.ask()
        await self.until(lambda: self.board is not before)
        self.report.n_returned += 1
        # What was under way when the server went is on the slider, and is heard by the next one.
        asked = WIDTHS[(self.n_moves - 1) % len(WIDTHS)] if self.n_moves else width(before)
        expected = experiment(before).resized(d_k=asked)
        is_same = to_plain(experiment(self.board)) == to_plain(expected)
        self.report.differs |= not (is_same and is_right(self.board))
        await self._paint()

    async def _paint(self) -> int:
        """Where the board asks for it, say that it is painted, and read what else is drawn."""
        n = 0
        while self.board["is_first"]:
            n += 1
            run = self.board["address"]["run"]
            self.states[self.board_id] = WidgetState(
                id=self.board_id, json_value=json.dumps({"painted": run}, separators=(",", ":"))
            )
            await self.ask(self.parts[self.board_id])
            await self.until(lambda run=run: self.board["address"]["run"] != run)
        return n

    def drawn(self, kind: str, element: Any) -> None:
        if kind == "bidi_component" and element.component_name.startswith("playground.board-"):
            self.board_id = element.id
            self.board = json.loads(element.bytes)

    def _keep_board(self) -> None:
        kept = {name: self.board[name] for name in ("matrices", "head", "address")}
        self.report.boards.append(kept)


class OfFloor(Tab):
    """Somebody who moves the slider of the least app."""

    size = 4

    async def move(self) -> None:
        self.wanted = self.random.choice([size for size in range(1, 9) if size != self.size])
        (id,) = self.states
        slider = WidgetState(id=id)
        slider.double_array_value.data.append(self.wanted)
        began = time.monotonic()
        await self.set(slider)
        await self.until(lambda: self.size == self.wanted)
        self.report.answers.append(time.monotonic() - began)

    def drawn(self, kind: str, element: Any) -> None:
        if kind == "text":
            self.size = int(element.body.removeprefix("size "))


class Trainee(Tab):
    """Somebody who trains classifiers for long, each other ones, as equal work is done once."""

    path, query = "/sentiment", "lang=en&s=train"

    def __init__(self, url: str, seed: int = 0) -> None:
        super().__init__(url, seed)
        self.number = seed
        self.options: dict[str, list[str]] = {}  # of each slider

    def is_there(self) -> bool:
        return "Train" in self.buttons

    async def open(self) -> None:
        await super().open()
        rest = self.number
        for key in ("rate", "epochs", "seeds"):
            slider = WidgetState(id=self.input(f"sentiment.train.{key}"))
            options = self.options[slider.id]
            rest, below = divmod(rest, len(options))
            slider.string_array_value.data.append(options[-1 - below])
            await self.set(slider)
            await self.until(self.is_there)
        await self.press("Train")
        await self.until(lambda: bool(self.polls))

    async def move(self) -> None:
        """Look on."""

    def drawn(self, kind: str, element: Any) -> None:
        if kind == "slider":
            self.options[element.id] = list(element.options)


class Waiting(Tab):
    """Somebody who finds no place, and asks again, as the page has it."""

    def is_there(self) -> bool:
        return bool(self.polls)

    async def move(self) -> None:
        """Wait."""


KINDS: dict[str, type[Tab]] = {kind.__name__: kind for kind in (Learner, OfFloor, Trainee, Waiting)}


def shown(kind: str, element: Any, *, is_new: bool) -> WidgetState | None:
    """What an input shows that has just been drawn, if it is new or was set; None for others."""
    is_set = getattr(element, "set_value", False)
    if not (is_new or is_set):
        return None
    state = WidgetState(id=getattr(element, "id", ""))
    match kind:
        case "slider" if element.options:  # one of some texts
            texts = [element.options[int(index)] for index in element.default]
            state.string_array_value.data.extend(element.raw_value if is_set else texts)
        case "slider":
            value = element.value if is_set else element.default
            state.double_array_value.data.extend(value)
        case "selectbox":
            state.string_value = element.raw_value if is_set else element.options[element.default]
        case "button_group":
            default = [element.options[index].content for index in element.default]
            state.string_array_value.data.extend(element.raw_values if is_set else default)
            state.string_array_value.SetInParent()
        case "checkbox":
            state.bool_value = element.value if is_set else element.default
        case "number_input":
            value = element.value if is_set else element.default
            if element.data_type == NumberInput.INT:
                state.int_value = int(value)
            else:
                state.double_value = value
        case "text_input" | "text_area":
            state.string_value = element.value if is_set else element.default
        case _:
            return None
    return state


def query(board: dict[str, Any]) -> str:
    """The address that this board keeps."""
    return urlencode({name: text for name, text in board["address"]["query"].items() if text})


def width(board: dict[str, Any]) -> int:
    """d_k, as the board shows it."""
    return len(numbers(board)["W_Q"][0]) if board else 0


def numbers(board: dict[str, Any]) -> dict[str, Any]:
    """The numbers of each matrix."""
    return {matrix["id"]: matrix["values"] for matrix in board["matrices"]}


def experiment(board: dict[str, Any]) -> Experiment:
    """What the address holds that this board keeps."""
    return link.decode(board["address"]["query"]["e"])


def is_right(board: dict[str, Any]) -> bool:
    """Whether every number is the one that the core computes for the board's own address."""
    kept = experiment(board)
    computed = pipeline(kept, kept.trace(), board["head"])
    shown = numbers(board)
    return set(shown) == {matrix.id for matrix in computed} and all(
        np.array_equal(
            np.array(shown[matrix.id], dtype=float),
            np.where(np.isneginf(matrix.values), np.nan, matrix.values),
            equal_nan=True,
        )
        for matrix in computed
    )


# --- a class of them, in a process of its own


@dataclass(frozen=True, slots=True)
class Class:
    """So many learners, who come one after the other and stay for a while."""

    url: str
    count: int
    arrival: float  # seconds in which all come
    seconds: float  # that they stay, from when the last one has come
    every: float = EVERY
    kind: str = Learner.__name__


async def _one(plan: Class, index: int, end: float, tell: Callable[[str], None]) -> Report:
    learner = KINDS[plan.kind](plan.url, index)
    try:
        await asyncio.sleep(plan.arrival * index / plan.count)
        await learner.open()
        tell("opened")
        await learner.live(end - time.monotonic(), plan.every)
        tell("done")
    except Exception as error:  # whatever it is, this learner is lost, and is told of
        learner.report.lost = f"{type(error).__name__}: {error}"[:200]
        tell("lost")
    return learner.report


async def _all(plan: Class, pipe: Connection) -> None:
    end = time.monotonic() + plan.arrival + plan.seconds
    tasks = [_one(plan, index, end, pipe.send) for index in range(plan.count)]
    reports = await asyncio.gather(*tasks)
    n_wrong = sum(not is_right(board) for report in reports for board in report.boards)
    n_compared = sum(len(report.boards) for report in reports)
    for report in reports:
        report.boards.clear()
    pipe.send((reports, n_compared, n_wrong))
    await asyncio.to_thread(pipe.recv)  # who measures has seen what it wanted


def _run(plan: Class, pipe: Connection) -> None:
    asyncio.run(_all(plan, pipe))


class Lesson:
    """A class at work; `finish` waits for its end and gives what the learners saw."""

    def __init__(self, plan: Class) -> None:
        context = multiprocessing.get_context("spawn")
        self._plan = plan
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=_run, args=(plan, theirs), daemon=True)
        self._process.start()
        theirs.close()
        self.n_opened = self.n_ended = 0

    def __enter__(self) -> "Lesson":
        return self

    def __exit__(self, *_: object) -> None:
        """Let all leave."""
        if self._process.is_alive():
            self._pipe.send("leave")
        self._process.join(timeout=30)
        if self._process.is_alive():
            self._process.terminate()

    def wait(self, is_enough: Callable[["Lesson"], bool]) -> None:
        """Wait until so many have opened the page, or have ended."""
        longest = self._plan.arrival + self._plan.seconds + 3 * PATIENCE
        deadline = time.monotonic() + longest
        while not is_enough(self):
            if not self._pipe.poll(max(0.0, deadline - time.monotonic())):
                raise TimeoutError("the learners do not answer")
            word = self._pipe.recv()
            self.n_opened += word == "opened"
            self.n_ended += word in ("done", "lost")

    def finish(self) -> tuple[list[Report], int, int]:
        """What each saw; how many answers were compared with the core, and were wrong."""
        self.wait(lambda lesson: lesson.n_ended == self._plan.count)
        if not self._pipe.poll(3 * PATIENCE):
            raise TimeoutError("the learners do not report")
        return self._pipe.recv()


@asynccontextmanager
async def learner(url: str) -> AsyncIterator[Learner]:
    """One learner by itself, who has opened the page."""
    one = Learner(url)
    await one.open()
    try:
        yield one
    finally:
        await one.close()


def run(what: Coroutine[Any, Any, Any]) -> Any:
    """Run what one learner does."""
    return asyncio.run(what)

"""Simulated learners: they speak Streamlit's own protocol, and live in a process of their own.

A learner asks for the page, opens the websocket, draws nothing but reads all of it, and moves the
d_k slider again and again, as a browser would tell it: the value of the slider with the part that
it stands on, then the board's word that it is painted where the board asks for it.
"""

import asyncio
import json
import multiprocessing
import random
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from typing import Any
from urllib.parse import urlencode, urlsplit

import numpy as np
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidMessage

from attention_core import Experiment, to_plain
from playground import link
from playground.pipeline import pipeline

EVERY = 5.0  # seconds between two moves of one learner
PATIENCE = 60.0  # seconds after which an answer counts as lost
SAMPLED = 10  # of so many answers one is kept, to be compared with the core
MOST_PAINTED = 2  # messages after an answer, as a browser sends them
WIDTHS = (1, 2, 3, 4, 3, 2)  # what the slider is moved to, in turn
ENDS = (ForwardMsg.FINISHED_SUCCESSFULLY, ForwardMsg.FINISHED_FRAGMENT_RUN_SUCCESSFULLY)
LOST = (ConnectionClosed, InvalidHandshake, InvalidMessage, OSError, TimeoutError)


@dataclass
class Report:
    """What one learner saw."""

    opened: float = 0.0  # seconds until the board was there
    answers: list[float] = field(default_factory=list)  # seconds each
    boards: list[dict[str, Any]] = field(default_factory=list)  # some of them
    cookies: set[str] = field(default_factory=set)
    n_returned: int = 0  # to another server
    differs: bool = False  # whether it found other numbers there
    lost: str = ""


class Learner:
    """One tab of one learner."""

    def __init__(self, url: str, seed: int) -> None:
        self.url = url.rstrip("/")
        self.report = Report()
        self.random = random.Random(seed)
        self.cookie = ""
        self.session_id = ""
        self.page = ""
        self.board: dict[str, Any] = {}
        self.ids: dict[str, tuple[str, str]] = {}  # of a widget, with the part on which it stands
        self.values: dict[str, int] = {}
        self.n_moves = 0
        self.socket: ClientConnection

    async def open(self) -> None:
        """Ask for the page, then for its first run."""
        began = time.monotonic()
        await self._get("/")
        await self._connect()
        await self._ask("")
        await self._answered(lambda: bool(self.board))
        self.report.opened = time.monotonic() - began
        self._keep_board()
        await self._paint()

    async def move(self) -> None:
        """Move the slider, and wait until the board and the end of the run have come."""
        d_k = WIDTHS[self.n_moves % len(WIDTHS)]
        self.n_moves += 1
        self.values["d_k"] = d_k
        began = time.monotonic()
        await self._ask("d_k")
        await self._answered(lambda: width(self.board) == d_k)
        self.report.answers.append(time.monotonic() - began)
        if len(self.report.answers) % SAMPLED == 0:
            self._keep_board()
        await self._paint()

    async def come_back(self) -> None:
        """The server has gone: connect again, as Streamlit's page does, and ask for all of it."""
        before = self.board
        await self._connect()
        await self._ask("", is_back=True)
        await self._answered(lambda: self.board is not before)
        self.report.n_returned += 1
        # What was under way when the server went is on the slider, and is heard by the next one.
        expected = experiment(before).resized(d_k=self.values["d_k"])
        is_same = to_plain(experiment(self.board)) == to_plain(expected)
        self.report.differs |= not (is_same and is_right(self.board))
        await self._paint()

    async def live(self, seconds: float, every: float = EVERY) -> None:
        """Move now and then, until the time is over."""
        end = time.monotonic() + seconds
        await asyncio.sleep(self.random.uniform(0, every))
        while time.monotonic() < end:
            began = time.monotonic()
            try:
                await self.move()
            except ConnectionClosed:
                await self._find_another()
            await asyncio.sleep(max(0.0, began + every - time.monotonic()))

    async def close(self) -> None:
        await self.socket.close()

    async def _find_another(self) -> None:
        for wait in (0.5, 1, 2, 4, 8):  # Streamlit's page waits in this way
            try:
                await self.come_back()
                return
            except LOST:
                await asyncio.sleep(wait)
        raise TimeoutError("no server took this learner")

    async def _connect(self) -> None:
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

    async def _ask(self, of: str, *, is_back: bool = False, painted: int | None = None) -> None:
        """Ask for a run: of the part on which an input stands, or of the whole page."""
        message = BackMsg()
        state = message.rerun_script
        state.query_string = query(self.board) if self.board else ""
        state.page_script_hash = self.page
        if of:
            state.fragment_id = self.ids[of][1]
        if self.ids and (of or is_back):
            slider = state.widget_states.widgets.add(id=self.ids["d_k"][0])
            slider.double_array_value.data.append(self.values["d_k"])
        if painted is not None:
            state.widget_states.widgets.add(
                id=self.ids["board"][0], json_value=json.dumps({"painted": painted})
            )
        await self.socket.send(message.SerializeToString())

    async def _paint(self) -> None:
        """Where the board asks for it, say that it is painted, and read what else is drawn."""
        for _ in range(MOST_PAINTED):
            if not self.board["is_first"]:
                return
            run = self.board["address"]["run"]
            await self._ask("board", painted=run)
            await self._answered(lambda run=run: self.board["address"]["run"] != run)

    async def _answered(self, is_there: Callable[[], bool]) -> None:
        """Read until the board is as it should be and the run that drew it has ended."""
        async with asyncio.timeout(PATIENCE):
            has_come = False
            while True:
                message = ForwardMsg.FromString(await self.socket.recv(decode=False))
                kind = message.WhichOneof("type")
                if kind == "new_session":
                    self.page = message.new_session.page_script_hash
                    self.session_id = message.new_session.initialize.session_id
                elif kind == "delta":
                    self._read(message.delta)
                    has_come = is_there()
                elif kind == "script_finished" and has_come and message.script_finished in ENDS:
                    return

    def _read(self, delta: Any) -> None:
        element = delta.new_element
        match element.WhichOneof("type"):
            case "slider" if element.slider.id.endswith("-d_k"):
                self.ids["d_k"] = element.slider.id, delta.fragment_id
                first = element.slider.value or element.slider.default
                if element.slider.set_value or "d_k" not in self.values:
                    self.values["d_k"] = int(first[0])
            case "bidi_component" if element.bidi_component.component_name.startswith(
                "playground.board-"
            ):
                self.ids["board"] = element.bidi_component.id, delta.fragment_id
                self.board = json.loads(element.bidi_component.bytes)

    def _keep_board(self) -> None:
        kept = {name: self.board[name] for name in ("matrices", "head", "address")}
        self.report.boards.append(kept)


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


async def _one(plan: Class, index: int, end: float, tell: Callable[[str], None]) -> Report:
    learner = Learner(plan.url, index)
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
async def learner(url: str, seed: int = 0) -> AsyncIterator[Learner]:
    """One learner by itself, who has opened the page."""
    one = Learner(url, seed)
    await one.open()
    try:
        yield one
    finally:
        await one.close()


def run(what: Coroutine[Any, Any, Any]) -> Any:
    """Run what one learner does."""
    return asyncio.run(what)

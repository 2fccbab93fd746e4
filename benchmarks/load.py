"""A class at work, on this machine alone: `make load`, or `python -m benchmarks.load sessions`.

Everything goes over loopback and ends by itself, after some 19 minutes. `--quick` is for trying it:
few learners, short times; its numbers say nothing. Only all parts in full are written to a file.
"""

import argparse
import asyncio
import os
import platform
import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs
from urllib.request import urlopen

import streamlit
from streamlit.proto.BackMsg_pb2 import BackMsg

from attention_core import to_plain
from attention_core.document import from_json
from benchmarks.__main__ import load, processor
from benchmarks.learners import (
    EVERY,
    Class,
    Learner,
    Lesson,
    OfFloor,
    Report,
    Tab,
    Trainee,
    Waiting,
    learner,
    run,
)
from playground.admission import VARIABLE
from playground.jobs import MOST_WAITING
from playground.take_away import KINDS, SECTION_KEY
from playground.texts import Texts
from tests.browser.conftest import Server, chromium
from tests.browser.driver import Playground
from tests.browser.proxy import Proxy, find_haproxy, settings

RESULTS = Path(__file__).with_name("load.md")
T = Texts("en")
MB = 1e6
ARRIVAL = 0.2  # seconds between two learners who open the page
SETTLED = 0.2 * MB  # what memory may differ by within a second once all is done
STEADY = 0.5  # MB a minute that a memory counts as flat with; said before it was measured
LATEST = 0.8  # the share of a soak in which it has to be: before, what is built once is built

TEXT = """\
# Load

Written by `make load`; what each line measures stands in `benchmarks/load.py`.

- {date}
- {machine}
- {versions}
- load average {before} before, {after} after

Learners are simulated in a process of their own, which speaks Streamlit's protocol over loopback:
each moves the d_k slider every 5 s and waits until the board with the new numbers and the end of
the run have come; then it lets the rest of the page be drawn, as the board asks. With each message
it sends what all inputs show, as a browser does. What is slow in the browser itself is not in
here. One of ten answers is compared with the core, number by number. Memory is the process's own
(VmRSS), before and after the class, with a first learner there who has worked already.

{table}
"""
HEADER = "| | measured | bound | met |\n|---|---|---|---|"


@dataclass(frozen=True, slots=True)
class Plan:
    """How much is done."""

    classes: Sequence[int] = (50, 100, 200)
    stay: float = 40.0  # seconds that a class stays
    floor: int = 50  # learners of the least app
    waiting: int = 50  # who find no place
    interactions: int = 200
    behind_proxy: int = 40
    trainees: int = MOST_WAITING + max(1, (os.cpu_count() or 1) - 1)  # as many as are taken
    jobs: float = 20.0  # seconds
    soak: float = 600.0
    soaking: int = 50


QUICK = Plan((5,), 12.0, 5, 5, 30, 4, 4, 6.0, 30.0, 5)


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table."""

    what: str
    measured: str
    bound: str = "–"
    is_met: bool | None = None

    def __str__(self) -> str:
        word = {True: "yes", False: "**no**", None: "–"}[self.is_met]
        return f"| {self.what} | {self.measured} | {self.bound} | {word} |"


def at_most(what: str, value: float, bound: float, unit: str, shown: str = "") -> Row:
    return Row(what, shown or f"{value:,.3g} {unit}", f"≤ {bound:g} {unit}", value <= bound)


def none_of(what: str, number: int, of: int) -> Row:
    return Row(what, f"{number} of {of}", "0", number == 0)


# --- what is measured


@contextmanager
def served(n: int = 1, *, script: str = "app.py", most: int = 1000) -> Iterator[list[Server]]:
    """Replicas as a public host runs them, but for the place where they listen and their cap."""
    chosen = {
        name: value
        for name, value in settings().items()
        if name not in ("STREAMLIT_SERVER_ADDRESS", "STREAMLIT_SERVER_PORT")
    }
    chosen[VARIABLE] = str(most)  # the load is measured, not the cap
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        yield [
            stack.enter_context(Server(Path(folder) / f"log{index}.txt", script, settings=chosen))
            for index in range(n)
        ]


def memory(server: Server) -> float:
    """Bytes that the process holds in memory."""
    lines = Path(f"/proc/{server.pid}/status").read_text().splitlines()
    (line,) = (line for line in lines if line.startswith("VmRSS:"))
    return float(line.split()[1]) * 1024


def settled(server: Server) -> float:
    """Bytes that it holds once it has nothing to do: what is free by then has been given back."""
    before, now = float("inf"), memory(server)
    end = time.monotonic() + 10
    while abs(now - before) > SETTLED and time.monotonic() < end:
        time.sleep(1)  # Streamlit collects after each run
        before, now = now, memory(server)
    return now


def quantile(values: Sequence[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def answers(reports: Sequence[Report]) -> list[float]:
    return [1000 * seconds for report in reports for seconds in report.answers]


def told(values: Sequence[float]) -> str:
    median, late = statistics.median(values), quantile(values, 0.95)
    return f"median {median:,.0f} ms, 95 %: {late:,.0f} ms, slowest {max(values):,.0f} ms"


def of_class(count: int, finished: tuple[list[Report], int, int]) -> Iterator[Row]:
    """What is true of every class, wherever it works."""
    reports, n_compared, n_wrong = finished
    yield none_of(f"{count} learners: lost", sum(bool(r.lost) for r in reports), count)
    yield none_of(f"{count} learners: answers that differ from the core", n_wrong, n_compared)


def protocol(_: Plan) -> Iterator[Row]:
    """Whether a simulated learner sends what a browser sends."""
    with served() as (server,), chromium() as browser:
        sent: list[BackMsg] = []
        page = browser.new_page(locale="en-US", viewport={"width": 1280, "height": 720})
        page.on(
            "websocket",
            lambda socket: socket.on("framesent", lambda it: sent.append(BackMsg.FromString(it))),
        )
        playground = Playground(page, server.url).open()
        for key in ("Home", "ArrowRight", "ArrowRight"):
            playground.slide(T("control.d_k"), key)
    with served() as (server,):

        async def work() -> list[BackMsg]:
            async with learner(server.url) as one:
                await some_moves(one, 3)
                return one.sent

        ours = run(work())
    is_same = [*map(said, ours)] == [*map(said, sent)]
    yield Row(f"{len(sent)} messages of Chromium, and a learner's", *yes(is_same))


def said(message: BackMsg) -> tuple[Any, ...]:
    """What a message says, but for the order of it, and what names the server or the moment."""
    asked = message.rerun_script
    shown = sorted((state.id, state.SerializeToString()) for state in asked.widget_states.widgets)
    kept = len(asked.cached_message_hashes)
    query = set(parse_qs(asked.query_string))
    return shown, asked.fragment_id, asked.page_script_hash, asked.is_auto_rerun, kept, query


def sessions(plan: Plan) -> Iterator[Row]:
    """Classes of growing size on one process, then one learner who does not stop."""
    for count in plan.classes:
        finished, each, whole = class_alone(plan, count)
        reports = finished[0]
        opened = [1000 * report.opened for report in reports if report.opened]
        rests = [n for report in reports for n in report.rests]
        late = answers(reports)
        yield Row(f"{count} learners: page opened", told(opened))
        row = at_most(f"{count} learners: answer", quantile(late, 0.95), 1000, "ms", told(late))
        yield row if count <= 100 else Row(row.what, row.measured)
        yield Row(f"{count} learners: further runs after an answer, at most", f"{max(rests)}")
        yield at_most(f"{count} learners: memory of each after the first", each, 3, "MB")
        yield Row(f"{count} learners: memory of the process", f"{whole:,.0f} MB")
        yield from of_class(count, finished)
    _, each, _ = class_alone(plan, plan.floor, kind=OfFloor)
    yield Row(f"{plan.floor} learners of the least Streamlit app: memory of each", f"{each:.3g} MB")
    yield from waiting(plan)
    yield from busy(plan)


def class_alone(
    plan: Plan, count: int, *, kind: type[Tab] = Learner
) -> tuple[tuple[list[Report], int, int], float, float]:
    """A class on one process: what it saw, and MB for each after the first, and of all."""
    script = "benchmarks/floor.py" if kind is OfFloor else "app.py"
    with served(script=script) as (server,), first(server, kind):
        before = settled(server)
        there = Class(server.url, count, ARRIVAL * count, plan.stay, kind=kind.__name__)
        with Lesson(there) as lesson:
            finished = lesson.finish()
            after = settled(server)
    return finished, (after - before) / MB / count, after / MB


@contextmanager
def first(server: Server, kind: type[Tab] = Learner) -> Iterator[None]:
    """A first learner, who has moved some dozens of times and stays, doing nothing."""
    with Lesson(Class(server.url, 1, 0, 5.0, 0.15, kind.__name__)) as lesson:
        lesson.finish()
        yield


def waiting(plan: Plan) -> Iterator[Row]:
    """Many who find no place, while a few learn."""
    count, n_inside = plan.waiting, 5
    inside = Class(url="", count=n_inside, arrival=1.0, seconds=plan.stay + ARRIVAL * count)
    with served(most=n_inside) as (server,), Lesson(replace(inside, url=server.url)) as lesson:
        lesson.wait(lambda lesson: lesson.n_opened == n_inside)
        before = settled(server)
        who = Class(server.url, count, ARRIVAL * count, plan.stay / 2, kind=Waiting.__name__)
        with Lesson(who) as others:
            n_lost = sum(bool(report.lost) for report in others.finish()[0])
            each = (settled(server) - before) / MB / count
            finished = lesson.finish()
    yield Row(f"{count} in the waiting room: memory of each", f"{each:.3g} MB")
    yield none_of(f"{count} in the waiting room: lost", n_lost, count)
    yield Row(f"answer to {n_inside} learners meanwhile", told(answers(finished[0])))


async def some_moves(one: Learner, n: int) -> None:
    for _ in range(n):
        await one.move()


def busy(plan: Plan) -> Iterator[Row]:
    """One learner moves as fast as the answers come."""

    async def work(server: Server) -> tuple[float, float]:
        async with learner(server.url) as one:
            await some_moves(one, 12)
            before = await asyncio.to_thread(settled, server)
            began = worked(server)
            await some_moves(one, plan.interactions)
            each = (worked(server) - began) / plan.interactions
            return (await asyncio.to_thread(settled, server) - before) / MB, each

    with served() as (server,):
        grown, each = run(work(server))
    yield at_most(f"{plan.interactions} moves of one learner add", grown, 10, "MB")
    yield Row("work of the process for a move, with what follows", f"{1000 * each:.0f} ms")
    yield Row("learners who would keep one core busy, by that", f"{EVERY / each:,.0f}")


def replicas(plan: Plan) -> Iterator[Row]:
    """Two replicas behind HAProxy, of which one dies under a class and a real browser."""
    if not find_haproxy():
        yield Row("two replicas behind HAProxy", "there is no haproxy here")
        return
    count = plan.behind_proxy
    with (
        tempfile.TemporaryDirectory() as folder,
        served(2) as both,
        Proxy(Path(folder) / "proxy.txt", [server.url for server in both]) as proxy,
        chromium() as browser,
    ):
        page = browser.new_page(locale="en-US", viewport={"width": 1280, "height": 720})
        playground = Playground(page, proxy.url).open()
        playground.type("X", 0, 1, "1/3")
        with Lesson(Class(proxy.url, count, ARRIVAL * count, plan.stay)) as lesson:
            lesson.wait(lambda lesson: lesson.n_opened == count)
            yield Row("two replicas: sessions on each", " and ".join(map(str, on_each(both))))
            before = playground.experiment()
            is_saved = saved(playground) == to_plain(before)
            yield Row("two replicas: a file saved through HAProxy", *yes(is_saved))
            cookies = {cookie["name"]: cookie["value"] for cookie in page.context.cookies()}
            index = ("one", "two").index(cookies["replica"])
            began = time.monotonic()
            with page.expect_websocket(timeout=60_000):
                both[index].kill()
            playground.type("X", 1, 1, "7")  # which the other one has to answer
            seconds = time.monotonic() - began
            playground.assert_consistent()
            expected = before.with_cell("X", (1, 1), 7.0)
            is_same = to_plain(playground.experiment()) == to_plain(expected)
            yield Row("one of them killed: the browser finds the same numbers", *yes(is_same))
            yield Row("one of them killed: until it does", f"{seconds:.1f} s")
            is_saved = saved(playground) == to_plain(playground.experiment())
            yield Row("one of them killed: a file saved from the other", *yes(is_saved))
            finished = lesson.finish()
        reports = finished[0]
        moved = [report for report in reports if report.n_returned]
        strayed = [r for r in reports if len(r.cookies) > 1 + r.n_returned]
        yield none_of("learners who changed replicas without need", len(strayed), count)
        differ = sum(report.differs for report in moved)
        yield none_of("learners who found other numbers on the other", differ, len(moved))
        yield Row("answers meanwhile", told(answers(reports)))
        yield from of_class(count, finished)


def yes(is_so: bool) -> tuple[str, str, bool]:
    return "yes" if is_so else "no", "yes", is_so


def on_each(servers: Sequence[Server]) -> list[int]:
    """Sessions that each replica counts."""
    counts = []
    for server in servers:
        with urlopen(f"{server.url}/_stcore/metrics", timeout=10) as answer:
            lines = answer.read().decode().splitlines()
        counts += [int(float(s.split()[-1])) for s in lines if s.startswith("active_sessions ")]
    return counts


def saved(playground: Playground) -> dict[str, object]:
    """The experiment of the file that the browser saves, as plain data."""
    page = playground.page
    button = page.get_by_role("button", name=T(KINDS[0].text))
    if not button.is_visible():
        with playground.one_run():
            page.locator(f".st-key-{SECTION_KEY} summary").click()
    with page.expect_download() as download:
        button.click()
    return to_plain(from_json(Path(download.value.path()).read_bytes()))


def jobs(plan: Plan) -> Iterator[Row]:
    """As many train as are taken, each watching, while a load balancer asks for health."""
    count = plan.trainees
    who = Class("", count, count * ARRIVAL, 0, kind=Trainee.__name__)
    with served() as (server,), Lesson(replace(who, url=server.url)) as lesson:
        reports, _, _ = lesson.finish()  # they stay, and watch
        began, before = time.monotonic(), worked(server)
        waits = health(server, plan.jobs)
        share = (worked(server) - before) / (time.monotonic() - began)
    late = quantile(waits, 0.95)
    yield none_of(
        f"{count} who train or wait for it: lost", sum(bool(r.lost) for r in reports), count
    )
    yield Row("jobs at the limit: cores that the process keeps busy", f"{share:.2f}")
    yield at_most("jobs at the limit: /_stcore/health", late, 200, "ms", told(waits))


def worked(server: Server) -> float:
    """Seconds that the process has worked on any core."""
    fields = Path(f"/proc/{server.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def health(server: Server, seconds: float) -> list[float]:
    """Milliseconds that the question takes, ten times a second."""
    waits, end = [], time.monotonic() + seconds
    while (began := time.monotonic()) < end:
        with urlopen(f"{server.url}/_stcore/health", timeout=30) as answer:
            assert answer.read() == b"ok"
        waits.append(1000 * (time.monotonic() - began))
        time.sleep(max(0.0, began + 0.1 - time.monotonic()))
    return waits


def soak(plan: Plan) -> Iterator[Row]:
    """A class that stays for ten minutes, of which the last eight count."""
    count = plan.soaking
    samples: list[tuple[float, float]] = []
    is_over = threading.Event()
    with (
        served() as (server,),
        Lesson(Class(server.url, count, count * ARRIVAL, plan.soak)) as all_,
    ):

        def watch() -> None:
            while not is_over.wait(plan.soak / 120):
                samples.append((time.monotonic(), memory(server)))

        all_.wait(lambda lesson: lesson.n_opened == count)
        watcher = threading.Thread(target=watch)
        watcher.start()
        try:
            finished = all_.finish()
        finally:
            is_over.set()
            watcher.join()
    kept = samples[-int(LATEST * len(samples)) :]
    slope, _ = statistics.linear_regression(*zip(*kept, strict=True))
    minutes = (kept[-1][0] - kept[0][0]) / 60
    yield Row(f"soak of {count} learners: memory at the end", f"{kept[-1][1] / MB:,.0f} MB")
    what = f"soak: growth by the line through the last {minutes:.1f} minutes"
    yield at_most(what, 60 * slope / MB, STEADY, "MB a minute")
    yield Row("soak: answer", told(answers(finished[0])))
    yield from of_class(count, finished)


PARTS: dict[str, Callable[[Plan], Iterator[Row]]] = {
    "protocol": protocol,
    "sessions": sessions,
    "replicas": replicas,
    "jobs": jobs,
    "soak": soak,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", choices=[[], *PARTS], help="all, if none is named")
    parser.add_argument("--quick", action="store_true", help="only try whether it works")
    chosen = parser.parse_args()
    if not (chosen.quick or chosen.parts):
        print("This takes some 19 minutes.", flush=True)
    before, lines = load(), [HEADER]
    print(HEADER, flush=True)
    for name in chosen.parts or PARTS:
        for row in PARTS[name](QUICK if chosen.quick else Plan()):
            lines.append(str(row))
            print(row, flush=True)
    if chosen.quick or chosen.parts:
        return  # a part of the table is no table
    text = TEXT.format(
        date=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        machine=f"{processor()}, {os.cpu_count()} cores, {platform.system()}",
        versions=f"Python {platform.python_version()}, Streamlit {streamlit.__version__}",
        before=before,
        after=load(),
        table="\n".join(lines),
    )
    RESULTS.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()

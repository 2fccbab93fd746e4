"""A class at work, on this machine alone: `make load`, or `python -m benchmarks.load sessions`.

Everything goes over loopback and ends by itself, within half an hour. `--quick` is for trying it:
few learners, short times; its numbers say nothing.
"""

import argparse
import os
import platform
import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from urllib.request import urlopen

import streamlit
from playwright.sync_api import Page, expect

from attention_core import to_plain
from attention_core.document import from_json
from benchmarks.__main__ import load, processor
from benchmarks.learners import Class, Learner, Lesson, Report, learner, run
from playground.take_away import KINDS, SECTION_KEY
from playground.texts import Texts
from tests.browser.conftest import Server, chromium
from tests.browser.driver import Playground
from tests.browser.proxy import Proxy, find_haproxy, settings

RESULTS = Path(__file__).with_name("load.md")
T = Texts("en")
MB = 1e6
ARRIVAL = 0.2  # seconds between two learners who open the page

TEXT = """\
# Load

Written by `make load`; what each line measures stands in `benchmarks/load.py`.

- {date}
- {machine}
- {versions}
- load average {before} before, {after} after

Learners are simulated in a process of their own, which speaks Streamlit's protocol over loopback:
each moves the d_k slider every 5 s and waits until the board with the new numbers and the end of
the run have come. Some of the answers are compared with the core, number by number.

{table}
"""
HEADER = "| | measured | bound | met |\n|---|---|---|---|"


@dataclass(frozen=True, slots=True)
class Plan:
    """How much is done."""

    classes: Sequence[int] = (50, 100, 200)
    stay: float = 60.0  # seconds that a class stays
    interactions: int = 200
    behind_proxy: int = 40
    jobs: float = 30.0  # seconds
    soak: float = 600.0
    soaking: int = 50


QUICK = Plan((5,), 12.0, 30, 4, 6.0, 30.0, 5)


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
def served(n: int = 1) -> Iterator[list[Server]]:
    """Replicas as a public host runs them, but for the place where they listen and their cap."""
    chosen = {
        name: value
        for name, value in settings().items()
        if name not in ("STREAMLIT_SERVER_ADDRESS", "STREAMLIT_SERVER_PORT")
    }
    chosen["ATTENTION_MAX_SESSIONS"] = "1000"  # the load is measured, not the cap
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        yield [
            stack.enter_context(Server(Path(folder) / f"log{index}.txt", settings=chosen))
            for index in range(n)
        ]


def memory(server: Server) -> float:
    """Bytes that the process holds in memory."""
    lines = Path(f"/proc/{server.pid}/status").read_text().splitlines()
    (line,) = (line for line in lines if line.startswith("VmRSS:"))
    return float(line.split()[1]) * 1024


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


def sessions(plan: Plan) -> Iterator[Row]:
    """Classes of growing size on one process, then one learner who does not stop."""
    for count in plan.classes:
        with served() as (server,):
            first = memory_of_first(server)
            with Lesson(Class(server.url, count, ARRIVAL * count, plan.stay)) as lesson:
                finished = lesson.finish()
                each = (memory(server) - first) / MB / count
            late = answers(finished[0])
        opened = [1000 * report.opened for report in finished[0] if report.opened]
        yield Row(f"{count} learners: page opened", told(opened))
        bound = 1000.0 if count <= 100 else float("inf")
        row = at_most(f"{count} learners: answer", quantile(late, 0.95), bound, "ms", told(late))
        yield row if count <= 100 else Row(row.what, row.measured)
        yield at_most(f"{count} learners: memory of each after the first", each, 3, "MB")
        yield from of_class(count, finished)
    yield busy(plan)


def memory_of_first(server: Server) -> float:
    """Bytes once one learner has come, moved and stayed for a while."""

    async def come() -> float:
        async with learner(server.url) as one:
            await some_moves(one, 12)
            return memory(server)

    return float(run(come()))


async def some_moves(one: Learner, n: int) -> None:
    for _ in range(n):
        await one.move()


def busy(plan: Plan) -> Row:
    """One learner moves as fast as the answers come."""

    async def work(server: Server) -> float:
        async with learner(server.url) as one:
            await some_moves(one, 12)
            before = memory(server)
            await some_moves(one, plan.interactions)
            return (memory(server) - before) / MB

    with served() as (server,):
        return at_most(f"{plan.interactions} moves of one learner add", run(work(server)), 10, "MB")


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
    """Tabs that train as much as the limit lets them, while a load balancer asks for health."""
    with served() as (server,), chromium() as browser:
        pages = [start_job(browser.new_page(locale="en-US"), server) for _ in range(3)]
        waits = health(server, plan.jobs)
        busy_still = sum(bool(page.get_by_text("Stop", exact=True).count()) for page in pages)
    yield Row("tabs whose job ran or waited at the end", f"{busy_still} of {len(pages)}")
    late = quantile(waits, 0.95)
    yield at_most("jobs at the limit: /_stcore/health", late, 200, "ms", told(waits))


def start_job(page: Page, server: Server) -> Page:
    playground = Playground(page, server.url).open("/sentiment?lang=en&s=train")
    playground.slide("Epochs", "End")
    page.get_by_test_id("stMain").get_by_role("button", name="Train", exact=True).click()
    main = page.get_by_test_id("stMain")
    expect(main.get_by_role("button", name="Stop", exact=True)).to_be_visible(timeout=60_000)
    return page


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
    """A class that stays for ten minutes; the first fifth is left for what is built up once."""
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
    kept = samples[len(samples) // 5 :]
    slope, _ = statistics.linear_regression(*zip(*kept, strict=True))
    grown = slope * (kept[-1][0] - kept[0][0]) / MB
    minutes = (kept[-1][0] - kept[0][0]) / 60
    yield Row(f"soak of {count} learners: memory at the end", f"{kept[-1][1] / MB:,.0f} MB")
    yield at_most(f"soak: growth in the last {minutes:.1f} minutes, by the line", grown, 10, "MB")
    yield Row("soak: answer", told(answers(finished[0])))
    yield from of_class(count, finished)


PARTS: dict[str, Callable[[Plan], Iterator[Row]]] = {
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

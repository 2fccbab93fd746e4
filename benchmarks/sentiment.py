"""How long training on text takes, and what it needs: `python -m benchmarks.sentiment`.

Each line is measured in a process of its own, as peak memory is that of a whole process.
"""

import json
import resource
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks import bench
from benchmarks.bench import Row
from playground.jobs import Jobs
from playground.lessons import sentiment
from playground.texts import Texts

SOURCES = {"templates": 60, "reviews": 90}  # seconds that training at its defaults may take
STOPS_WITHIN = 1_000  # ms
N_EPOCHS = 4  # where the time of one is measured
N_STOPS = 3  # of each model


def measure() -> Iterator[Row]:
    for source, most in SOURCES.items():
        for kind in sentiment.MODELS:
            found = in_process("epoch", source, kind)
            what = f"{found['seconds']:.2f} s, {found['megabytes']:.0f} MB"
            yield plain(f"training on {source}, {kind}: an epoch, peak memory", what)
        found = in_process("all", source)
        what = f"training on {source} at its defaults: {found['runs']} runs, peak memory"
        seconds, megabytes = found["seconds"], found["megabytes"]
        is_met = seconds <= most
        yield plain(what, f"{seconds:.0f} s, {megabytes:.0f} MB", f"≤ {most} s", is_met)
        found = in_process("stop", source)
        what = f"training on {source}: Stop until its thread has ended"
        is_met = found["most"] <= STOPS_WITHIN
        yield plain(what, f"{found['most']:.0f} ms (longest)", f"≤ {STOPS_WITHIN:,} ms", is_met)
        found = in_process("wait", source)
        what = f"the same: how long another thread waits for the interpreter, {found['n']} times"
        yield plain(what, f"{found['usual']:.2g} ms, 99 %: {found['most']:.2g} ms")
    yield from threads("templates", ("lstm", "lstm_attention", "attention"))
    yield from threads("reviews", ("lstm_attention",))


def threads(source: str, kinds: Sequence[str]) -> Iterator[Row]:
    """One thread against two: more of them share out what is too small to be shared."""
    for kind in kinds:
        one, two = (in_process("epoch", source, kind, count) for count in ("1", "2"))
        what = (
            f"training on {source}, {kind}: an epoch with two threads (floor: one); of both cores"
        )
        ratio = f"{two['seconds'] / one['seconds']:.2f} ×"
        told = [f"{each['seconds']:.2f} s; {each['processor']:.2f} s" for each in (one, two)]
        yield Row(what, *told, ratio, "–", None)


def plain(what: str, found: str, bound: str = "–", is_met: bool | None = None) -> Row:
    """A line without a floor."""
    return Row(what, "–", found, "–", bound, is_met)


# --- in a process of its own


def in_process(name: str, *arguments: str) -> dict[str, Any]:
    """What one of the measurements below gives."""
    command = [sys.executable, "-m", "benchmarks.sentiment", name, *arguments]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def plan(source: str) -> sentiment.Plan:
    """The plan of a learner who has changed nothing but where the sentences come from."""
    return sentiment.plan(
        lambda key, default: source if key == "sentiment.texts.source" else default, Texts("en")
    )


def epoch(source: str, kind: str, n_threads: str = "1") -> dict[str, float]:
    """The time of an epoch, its measurement included: a mean, after one that loads everything."""
    import torch

    from attention_core.neural.sentiment.training import train

    torch.set_num_threads(int(n_threads))
    torch.set_num_threads = ignore  # training asks for one
    whole = plan(source)
    made_of = next(each for each in whole.architectures if each.kind == kind)
    recipe = replace(whole.recipe, n_epochs=N_EPOCHS)
    begins: dict[int, tuple[float, float]] = {}
    train(
        sentiment.corpus(whole.source),
        made_of,
        recipe,
        0,
        tell=lambda run: begins.setdefault(len(run.epochs), clocks()) and None,
    )
    spent = (
        (last - first) / (N_EPOCHS - 2)
        for first, last in zip(begins[2], begins[N_EPOCHS], strict=True)
    )
    return dict(zip(("seconds", "processor"), spent, strict=True)) | {"megabytes": megabytes()}


def clocks() -> tuple[float, float]:
    """Seconds of the clock on the wall, and of all cores together in this process."""
    return time.perf_counter(), time.process_time()


def whole_plan(source: str) -> dict[str, float]:
    """All runs of the defaults, from the first touch of the sentences on."""
    start = time.perf_counter()
    found = sentiment.work(plan(source))(ignore)
    seconds = time.perf_counter() - start
    return {"runs": len(found.runs), "seconds": seconds, "megabytes": megabytes()}


def stop(source: str) -> dict[str, float]:
    """The longest time from Stop until the thread has ended, at different places."""
    whole, longest = plan(source), 0.0
    sentiment.corpus(whole.source)
    for made_of in whole.architectures:
        for place in range(N_STOPS):
            jobs, name = Jobs(1), f"{made_of.kind} {place}"
            one = sentiment.Plan(whole.source, (made_of,), whole.recipe, (place,))
            jobs.start("ann", name, sentiment.work(one))
            until_has_learnt(jobs, name, (1 + place) / (N_STOPS + 3))
            (thread,) = jobs._running.values()
            start = time.perf_counter()
            jobs.stop("ann", name)
            thread.join()
            longest = max(longest, time.perf_counter() - start)
    return {"most": 1000 * longest}


def ignore(*_: object) -> None:
    """Whoever tells something is not listened to."""


def until_has_learnt(jobs: Jobs, name: str, share: float) -> None:
    """Wait until a job is so far."""
    while (view := jobs.view("ann", name)) is None or view.done < share:
        time.sleep(0.002)


def wait(source: str) -> dict[str, float]:
    """How much longer than it asked for a thread sleeps that wakes every few milliseconds."""
    whole = plan(source)
    waits: list[float] = []
    has_ended = threading.Event()

    def wake() -> None:
        while not has_ended.is_set():
            start = time.perf_counter()
            time.sleep(0.005)
            waits.append(1000 * (time.perf_counter() - start - 0.005))

    one = sentiment.Plan(whole.source, whole.architectures, whole.recipe, (0,))
    sentiment.corpus(whole.source)
    thread = threading.Thread(target=wake)
    thread.start()
    sentiment.work(one)(ignore)
    has_ended.set()
    thread.join()
    waits.sort()
    n = len(waits)
    return {"n": n, "usual": waits[n // 2], "most": waits[int(0.99 * n)]}


def megabytes() -> float:
    """The most memory that this process has held."""
    try:
        status = Path("/proc/self/status").read_text()
    except OSError:
        kilobytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return kilobytes / 1024 / (1024 if sys.platform == "darwin" else 1)
    # Linux counts what the parent held at the fork into `ru_maxrss`, but not into this.
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024


def main(arguments: Sequence[str]) -> None:
    if not arguments:
        bench.printed(measure())
        return
    measurements = {"epoch": epoch, "all": whole_plan, "stop": stop, "wait": wait}
    name, *rest = arguments
    print(json.dumps(measurements[name](*rest)))


if __name__ == "__main__":
    main(sys.argv[1:])

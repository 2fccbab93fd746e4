"""How soon the page answers, and what an answer weighs: `python -m benchmarks.interaction`.

A press is timed in the page: from the keydown event to the end of the first frame that shows
what Python computed from it.
"""

import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import cycle

from playwright.sync_api import Browser, Page, WebSocket

from attention_core import Experiment
from attention_core.experiment import MASK_KINDS
from benchmarks import bench
from benchmarks.bench import N, Row
from playground.texts import Texts
from tests.browser.conftest import chromium

SMALL = Experiment.from_preset("random").resized(n_tokens=6, d_model=4, d_k=4, n_heads=1)
LARGE = Experiment.from_preset("random").resized(n_tokens=12, d_model=8, d_k=8, n_heads=8)
LARGEST = replace(
    LARGE.with_output_projection(True).with_painted([(0, 3), (5, 1)], True),
    encoding="rotary",
    mask=replace(LARGE.mask, kinds=MASK_KINDS, n_padding=1, before=8, after=8),
)
CASES = (("6 tokens, widths 4, 1 head", SMALL, 1.3), ("12 tokens, widths 8, 8 heads", LARGE, 1.5))

TO_AND_FRO = ("ArrowLeft", "ArrowRight")
N_WARM_UP = 6
FRAME = 1000 / 60  # ms
DRAG_SECONDS = 3
REACH = 180  # pixels to either side
STRIDE = 12  # pixels between two moves, so that each changes the number
ANSWERS_PER_SECOND = 5


def measure(browser: Browser) -> Iterator[Row]:
    with bench.serve(bench.APP) as app, bench.serve(bench.FLOOR) as floor:
        floor_page = bench.open_page(browser, floor.url)
        focus_floor(floor_page)
        press_floor = presses(floor_page, TO_AND_FRO, bench.TEXT_ANSWERS)
        for size, experiment, at_most in CASES:
            page = bench.open_page(browser, bench.address(app.url, experiment))
            for what, focus, keys in (
                ("d_k slider", focus_slider, TO_AND_FRO),
                ("nudge of a cell", focus_cell, "+"),
            ):
                focus(page)
                times = in_turn(press_floor, presses(page, keys, bench.BOARD_ANSWERS))
                yield bench.against_floor(f"{what}, {size}", *times, at_most=at_most)
            page.close()
        page = bench.open_page(browser, bench.address(app.url, LARGEST))
        yield from dragging(page)
        page.close()
        yield from weights(browser, floor.url, app.url)


def focus_floor(page: Page) -> None:
    page.get_by_role("slider").focus()


def focus_slider(page: Page) -> None:
    name = Texts("en")("control.d_k")
    page.get_by_role("group", name=name, exact=True).get_by_role("slider").focus()


def focus_cell(page: Page) -> None:
    page.locator('[data-matrix="X"] [role=gridcell] input').first.focus()


def presses(page: Page, keys: Sequence[str], answers: str) -> Iterator[float]:
    """Times one press after the other, for as long as somebody asks."""
    return (bench.key_to_paint(page, key, answers) for key in cycle(keys))


def in_turn(floor: Iterator[float], ours: Iterator[float]) -> tuple[list[float], list[float]]:
    """One press on the floor app, one on ours, and so on."""
    pairs = [(next(floor), next(ours)) for _ in range(N_WARM_UP + N)][N_WARM_UP:]
    return [pair[0] for pair in pairs], [pair[1] for pair in pairs]


# --- dragging a number

# Chromium hands out a move of the pointer at the start of a frame. What the frame costs is the
# time from there until all that the move has led to is computed, laid out and painted.
_WATCH_DRAG = """() => {
  %s
  const board = boardOf();
  const seen = { frames: [], runs: new Set() };
  let isNoting = false;
  addEventListener("pointermove", () => {
    if (isNoting) return;
    isNoting = true;
    const began = performance.now();
    painted().then((now) => { isNoting = false; seen.frames.push(now - began); });
  }, { capture: true });
  const answered = new MutationObserver(() => seen.runs.add(board.dataset.run));
  answered.observe(board, { attributes: true, attributeFilter: ["data-run"] });
  window.seen = seen;
}"""
_SEEN = "() => ({ frames: window.seen.frames, runs: window.seen.runs.size })"


def dragging(page: Page) -> Iterator[Row]:
    """Drag a number of X to and fro; every move changes it and all that follows from it."""
    box = page.locator('[data-matrix="X"] [role=gridcell] input').first.bounding_box()
    assert box
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    there = range(STRIDE, REACH, STRIDE)
    places = cycle([*there, *reversed(there), *(-place for place in there)])

    def drag(seconds: float) -> float:
        began = time.monotonic()
        while time.monotonic() - began < seconds:
            page.mouse.move(x + next(places), y)
        return time.monotonic() - began

    page.mouse.move(x, y)
    page.mouse.down()
    drag(1)  # warms up
    page.evaluate(_WATCH_DRAG % bench.IN_PAGE)
    seconds = drag(DRAG_SECONDS)
    seen = page.evaluate(_SEEN)
    page.mouse.up()
    bench.settle(page)

    frames, rate = seen["frames"], seen["runs"] / seconds
    slowest = statistics.quantiles(frames, n=20, method="inclusive")[-1]
    text = f"{slowest:.1f} ms (median {statistics.median(frames):.1f}, {len(frames)} frames)"
    what = "dragging a number, largest board: 95th percentile of a frame's work"
    yield Row(what, "–", text, "–", f"≤ {FRAME:.1f} ms", slowest <= FRAME)
    what = "the same: numbers confirmed by Python"
    bound = f"≥ {ANSWERS_PER_SECOND} a second"
    yield Row(what, "–", f"{rate:.1f} a second", "–", bound, rate >= ANSWERS_PER_SECOND)


# --- bytes over the wire


class Scale:
    """Weighs what goes over the websocket of a page, before the browser's compression."""

    def __init__(self) -> None:
        self.up = self.down = 0

    def watch(self, socket: WebSocket) -> None:
        socket.on("framesent", lambda payload: self._add(up=len(payload)))
        socket.on("framereceived", lambda payload: self._add(down=len(payload)))

    def _add(self, up: int = 0, down: int = 0) -> None:
        self.up += up
        self.down += down


def weights(browser: Browser, floor_url: str, app_url: str) -> Iterator[Row]:
    """Bytes of one edit: a press on the floor app's slider, a nudge of a cell of ours."""
    floor = weighed(browser, floor_url, focus_floor, TO_AND_FRO, bench.TEXT_ANSWERS)
    address = bench.address(app_url, LARGEST)
    ours = weighed(browser, address, focus_cell, "+", bench.BOARD_ANSWERS)
    for direction, a, b in zip(("to the server", "to the browser"), floor, ours, strict=True):
        what = f"one edit, largest board: {direction}"
        yield bench.against_floor(what, a, b, unit="bytes")


def weighed(
    browser: Browser,
    address: str,
    focus: Callable[[Page], None],
    keys: Sequence[str],
    answers: str,
) -> tuple[list[int], list[int]]:
    """Bytes up and bytes down, of each of N presses and all that follows from it."""
    scale = Scale()
    page = bench.open_page(browser, address, on_websocket=scale.watch)
    focus(page)
    ups, downs = [], []
    times = presses(page, keys, answers)
    for _ in range(N):
        up, down = scale.up, scale.down
        next(times)
        bench.settle(page)
        ups.append(scale.up - up)
        downs.append(scale.down - down)
    page.close()
    return ups, downs


def main() -> None:
    with chromium() as browser:
        bench.printed(measure(browser))


if __name__ == "__main__":
    main()

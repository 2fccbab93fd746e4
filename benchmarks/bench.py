"""What the benchmarks stand on: servers, a Chromium, a clock in the page, and a table.

The floor app and ours are measured in turn, one of each at a time, so that a busy machine slows
both: the ratios mean something, the milliseconds only on this machine.
"""

import statistics
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import astuple, dataclass
from pathlib import Path

from playwright.sync_api import Browser, Page, WebSocket

from attention_core import Experiment
from playground import link
from tests.browser.conftest import Server
from tests.browser.driver import READY

N = 30  # measurements behind every median
APP, FLOOR = "app.py", "benchmarks/floor.py"
WINDOW = {"viewport": {"width": 1280, "height": 720}, "locale": "en-US"}
PATIENCE = 60_000  # ms, however busy the machine is


# --- results


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table, as text."""

    what: str
    floor: str
    ours: str
    ratio: str
    bound: str
    is_met: bool | None


def against_floor(
    what: str,
    floor: Sequence[float],
    ours: Sequence[float],
    *,
    at_most: float | None = None,
    unit: str = "ms",
) -> Row:
    """A line whose bound is a multiple of the floor's median."""
    ratio = statistics.median(ours) / statistics.median(floor)
    bound = f"≤ {at_most} ×" if at_most else "–"
    is_met = ratio <= at_most if at_most else None
    return Row(what, summary(floor, unit), summary(ours, unit), f"{ratio:.2f} ×", bound, is_met)


def summary(values: Sequence[float], unit: str) -> str:
    """The median and the quartiles."""
    low, middle, high = statistics.quantiles(values, n=4, method="inclusive")
    return f"{_short(middle)} {unit} ({_short(low)}–{_short(high)})"


def _short(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


HEADER = "| | floor | app | ratio | bound | met |\n|---|---|---|---|---|---|"


def printed(rows: Iterable[Row]) -> str:
    """The table as Markdown, each line printed as soon as it is measured."""
    lines = [HEADER]
    print(HEADER, flush=True)
    words = {True: "yes", False: "**no**", None: "–"}
    for row in rows:
        lines.append(f"| {' | '.join([*astuple(row)[:-1], words[row.is_met]])} |")
        print(lines[-1], flush=True)
    return "\n".join(lines)


# --- servers and a browser


@contextmanager
def serve(script: str, port: int | None = None) -> Iterator[Server]:
    with (
        tempfile.TemporaryDirectory() as folder,
        Server(Path(folder) / "log.txt", script, port) as server,
    ):
        yield server


def open_page(
    browser: Browser, url: str, on_websocket: Callable[[WebSocket], None] | None = None
) -> Page:
    """A page in a window of its own, as on a projector."""
    page = browser.new_page(**WINDOW)
    page.set_default_timeout(PATIENCE)
    if on_websocket:
        page.on("websocket", on_websocket)
    page.goto(url)
    settle(page)
    return page


def address(url: str, experiment: Experiment) -> str:
    """The app with this experiment in it."""
    return f"{url}/?lang=en&e={link.encode(experiment)}"


# --- the clock in the page

# `painted` waits for the end of the frame that shows what has just changed.
IN_PAGE = """
const painted = () => new Promise((go) => requestAnimationFrame(() => {
  const { port1, port2 } = new MessageChannel();
  port1.onmessage = () => go(performance.now());
  port2.postMessage(0);
}));
const boardOf = () => [...document.querySelectorAll("*")]
  .map((node) => node.shadowRoot?.querySelector(".board")).find(Boolean);
"""

# Each gives the node in which the answer of Python shows, and a test whether it does.
BOARD_ANSWERS = """
  const node = boardOf(), { run } = node.dataset;
  const answers = () => node.dataset.run !== run && node.dataset.pending === "0";
"""
TEXT_ANSWERS = """
  const node = document.querySelector("[data-testid=stText]"), text = node.textContent;
  const answers = () => node.textContent !== text;
"""
# Plotly builds the DOM of a figure anew at most changes, and sometimes keeps its outermost node.
PLOT_ANSWERS = """
  const node = document.querySelector("[data-testid=stMain]");
  const shown = () => {
    const { data, layout } = document.querySelector(".js-plotly-plot") ?? {};
    return JSON.stringify([data, layout?.shapes]);
  };
  const before = shown();
  const answers = () => {
    const plot = document.querySelector(".js-plotly-plot");
    return plot?.data && plot.querySelector(".main-svg .xtick") && shown() !== before;
  };
"""
_ALL = "{ subtree: true, childList: true, characterData: true, attributes: true }"
_WATCH = """() => {
  %s
  window.answer = new Promise((go) => {
    let pressed;
    const note = () => { pressed = performance.now(); };
    addEventListener("keydown", note, { capture: true, once: true });
    const observer = new MutationObserver(() => {
      if (pressed === undefined || !answers()) return;
      observer.disconnect();
      painted().then((now) => go(now - pressed));
    });
    observer.observe(node, %s);
  });
}"""
_QUIET = f"""() => new Promise((go) => {{
  {IN_PAGE}
  let timer = setTimeout(go, 300);
  const observer = new MutationObserver(() => {{
    clearTimeout(timer);
    timer = setTimeout(() => {{ observer.disconnect(); go(); }}, 300);
  }});
  for (const root of [document, boardOf()?.getRootNode()]) {{
    if (root) observer.observe(root, {_ALL});
  }}
}})"""


def settle(page: Page) -> None:
    """Wait until the script has ended and nothing has changed on the page for a while."""
    page.wait_for_selector(READY)
    page.evaluate(_QUIET)


def key_to_paint(page: Page, key: str, answers: str) -> float:
    """Milliseconds from a key press to the end of the frame that shows Python's answer."""
    settle(page)
    page.evaluate(_WATCH % (IN_PAGE + answers, _ALL))
    page.keyboard.press(key)
    return in_time(page, "window.answer")


def in_time(page: Page, promise: str) -> float:
    """The number that a promise in the page gives; a fault rather than a wait for ever."""
    limit = f"new Promise((_, fail) => setTimeout(() => fail('no answer'), {PATIENCE}))"
    return float(page.evaluate(f"Promise.race([{promise}, {limit}])"))

"""How soon the board is there after a start: `python -m benchmarks.start_up`.

From the start of the server's process until the first frame that shows the board with numbers
that can be edited; for the floor app, its slider and its text. Each measurement has a process
of its own. With a cold cache the browser has never been here; with a warm one it has loaded the
page from the same address before.
"""

from collections.abc import Iterator

from playwright.sync_api import Browser, BrowserContext

from benchmarks import bench
from benchmarks.bench import N, Row
from tests.browser.conftest import chromium, free_port

AT_MOST = 1.4

BOARD_IS_THERE = """() => {
  const board = boardOf();
  return board?.dataset.pending === "0" && board.querySelector("[role=gridcell] input") !== null;
}"""
TEXT_IS_THERE = """() => ["stSlider", "stText"]
  .every((name) => document.querySelector(`[data-testid=${name}]`))"""
_WATCH = """
(() => {
  %s
  const isThere = %s;
  window.firstPaint = new Promise((go) => {
    const look = () => {
      if (isThere()) painted().then((now) => go(performance.timeOrigin + now));
      else requestAnimationFrame(look);
    };
    look();
  });
})();
"""


class Site:
    """One of the two apps, always at the same address, or the cache would not know it."""

    def __init__(self, script: str, is_there: str, browser: Browser) -> None:
        self.script, self.is_there, self.browser = script, is_there, browser
        self.port = free_port()
        self.known = self.visitor()  # a browser that has been here before
        self.start(self.known)

    def visitor(self) -> BrowserContext:
        context = self.browser.new_context(**bench.WINDOW)
        context.set_default_timeout(bench.PATIENCE)
        context.add_init_script(_WATCH % (bench.IN_PAGE, self.is_there))
        return context

    def start(self, visitor: BrowserContext) -> float:
        """Milliseconds from the start of the process to the first useful frame."""
        with bench.serve(self.script, self.port) as server:
            page = visitor.new_page()
            page.goto(server.url, wait_until="commit")
            there = bench.in_time(page, "window.firstPaint")
            bench.settle(page)
            page.close()
        return there - 1000 * server.started

    def cold(self) -> float:
        visitor = self.visitor()
        time = self.start(visitor)
        visitor.close()
        return time

    def warm(self) -> float:
        return self.start(self.known)


def measure(browser: Browser) -> Iterator[Row]:
    floor = Site(bench.FLOOR, TEXT_IS_THERE, browser)
    app = Site(bench.APP, BOARD_IS_THERE, browser)
    for cache, start in (("cold", Site.cold), ("warm", Site.warm)):
        pairs = [(start(floor), start(app)) for _ in range(N)]
        floors, ours = zip(*pairs, strict=True)
        what = f"server start to first usable board, {cache} browser cache"
        yield bench.against_floor(what, floors, ours, at_most=AT_MOST)


def main() -> None:
    with chromium() as browser:
        bench.printed(measure(browser))


if __name__ == "__main__":
    main()

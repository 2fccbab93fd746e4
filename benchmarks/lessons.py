"""How soon the lessons answer: `python -m benchmarks.lessons`, or some of them by their places.

Each case presses a key on one input of a step, and waits for the board or the figure that shows
the answer.
"""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from playwright.sync_api import Browser, Page

from attention_core import Experiment
from benchmarks import bench
from benchmarks.bench import BOARD_ANSWERS, PLOT_ANSWERS, TEXT_ANSWERS, Row
from benchmarks.interaction import TO_AND_FRO, focus_floor, in_turn, presses
from playground import link
from tests.browser.conftest import chromium

EXPERIMENT = replace(
    Experiment.from_preset("random").resized(n_tokens=6, d_model=4, d_k=2, n_heads=2),
    mask=Experiment.from_preset("random").mask.only("causal"),
    encoding="sinusoidal",
)
UP_AND_DOWN = ("Alt+ArrowDown", "Alt+ArrowUp")
AT_MOST = {BOARD_ANSWERS: 1.5, PLOT_ANSWERS: 3.0}


@dataclass(frozen=True, slots=True)
class Case:
    """One input of a step."""

    place: str  # "lesson.step"
    what: str
    input: str  # where the keyboard is, as CSS
    keys: Sequence[str]
    answers: str = BOARD_ANSWERS


def slider(key: str) -> str:
    return f"{of(key)} input[type=range]"


def switch(key: str) -> str:
    return f"{of(key)} input"


def of(key: str) -> str:
    """Streamlit names the element of a widget after its key."""
    return f".st-key-{key.replace('.', '-')}"


HEADS_ON = f"multi_head.on.{EXPERIMENT.n_heads}"
CASES = (
    Case("multi_head.heads", "a head off and on", f"{of(HEADS_ON)} button", " "),
    Case("multi_head.grouped", "width d_model", slider("d_model"), TO_AND_FRO),
    Case("masks.patterns", "a pattern on and off", f"{of('masks.kinds')} button", " "),
    Case("masks.spellings", "a row emptied and filled", switch("masks.is_emptied"), " "),
    Case("masks.leaks", "another token", slider("masks.token"), TO_AND_FRO),
    Case("masks.cross", "another split", slider("masks.n_source"), TO_AND_FRO),
    Case("masks.cache", "mask off and on", switch("masks.is_causal"), " "),
    Case("masks.cost", "tokens", slider("masks.cost_n_tokens"), TO_AND_FRO, PLOT_ANSWERS),
    Case("scaling.sampling", "d_k", slider("scaling.d_k"), TO_AND_FRO, PLOT_ANSWERS),
    Case("scaling.factor", "factor", slider("scaling.factor"), TO_AND_FRO),
    Case("scaling.stability", "offset", slider("scaling.offset"), TO_AND_FRO),
    Case("scaling.shift", "how much", slider("scaling.by"), TO_AND_FRO),
    Case("permutation.order", "a row down and up", ".sortable", UP_AND_DOWN),
    Case("permutation.encodings", "width d_model", slider("d_model"), TO_AND_FRO, PLOT_ANSWERS),
    Case("pytorch.parity", "width d_model", slider("d_model"), TO_AND_FRO),
    Case("pytorch.conventions", "width d_model", slider("d_model"), TO_AND_FRO),
    Case("pytorch.batch", "padding mask off and on", switch("pytorch.batch_is_masked"), " "),
    Case("pytorch.gradients", "width d_model", slider("d_model"), TO_AND_FRO),
    Case("pytorch.fit", "steps", slider("pytorch.fit.steps"), TO_AND_FRO),
    Case(
        "why_attention.relay", "tokens", slider("why_attention.n_tokens"), TO_AND_FRO, PLOT_ANSWERS
    ),
)


def measure(browser: Browser, places: Sequence[str] = ()) -> Iterator[Row]:
    with bench.serve(bench.APP) as app, bench.serve(bench.FLOOR) as floor:
        floor_page = bench.open_page(browser, floor.url)
        focus_floor(floor_page)
        press_floor = presses(floor_page, TO_AND_FRO, TEXT_ANSWERS)
        for case in CASES:
            if places and case.place not in places:
                continue
            page = opened(browser, app.url, case)
            times = in_turn(press_floor, presses(page, case.keys, case.answers))
            at_most = AT_MOST[case.answers]
            yield bench.against_floor(f"{case.place}: {case.what}", *times, at_most=at_most)
            page.close()


def opened(browser: Browser, url: str, case: Case) -> Page:
    lesson, step = case.place.split(".")
    address = f"{url}/{lesson}?lang=en&s={step}&e={link.encode(EXPERIMENT)}"
    page = bench.open_page(browser, address)
    page.locator(case.input).first.focus()
    return page


def main() -> None:
    with chromium() as browser:
        bench.printed(measure(browser, sys.argv[1:]))


if __name__ == "__main__":
    main()

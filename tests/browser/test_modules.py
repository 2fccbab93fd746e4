"""The board's ES modules, each by itself, in the browser that runs them."""

import functools
import http.server
import json
import math
import re
import threading
from collections.abc import Iterator
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from playwright.sync_api import BrowserContext, Page

from attention_core import Experiment, Mask
from attention_core.presets import ENCODINGS
from playground.board.board import board_data
from playground.texts import Texts
from tests.browser.conftest import ROOT

ASSETS = ROOT / "playground" / "board" / "assets"


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="module")
def modules(context: BrowserContext) -> Iterator[Page]:
    """A blank page that can import the modules by their names."""
    handler = functools.partial(Quiet, directory=ASSETS)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as files:
        threading.Thread(target=files.serve_forever, daemon=True).start()
        page = context.new_page()
        page.goto(f"http://127.0.0.1:{files.server_port}/number.js")
        page.set_content("<main></main>")
        yield page
        page.close()
        files.shutdown()


def call(page: Page, module: str, function: str, *arguments: object) -> object:
    code = f"async (args) => (await import('/{module}.js')).{function}(...args)"
    return page.evaluate(code, list(arguments))


def answer(page: Page, code: str, given: object) -> object:
    """What this function makes of what is given; much of both goes as JSON far more quickly."""
    calling = f"async (given) => JSON.stringify(await ({code})(JSON.parse(given)), {_ANY_NUMBER})"
    return json.loads(page.evaluate(calling, json.dumps(given)), object_hook=_number)


# JSON has no way to write NaN and infinities.
_ANY_NUMBER = """(_, value) =>
  typeof value === "number" && !Number.isFinite(value) ? { number: String(value) } : value"""


def _number(given: dict) -> object:
    return float(given["number"]) if list(given) == ["number"] else given


# --- number.js


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0", 0),
        (".05", 0.05),
        ("-.5", -0.5),
        ("5.", 5),
        ("1e-3", 1e-3),
        ("-1e3", -1e3),
        ("1E+2", 100),
        ("1/3", 1 / 3),
        ("-1/.5", -2),
        ("2,5", 2.5),
        ("-2,5", -2.5),
        ("0,125", 0.125),
        ("1,5/2,5", 0.6),
        ("−3", -3),
        (" 7 ", 7),
        ("１２．５", 12.5),
        ("－２", -2),
        ("0。5", 0.5),
        ("½", 0.5),
        ("1000000", 1e6),
    ],
)
def test_a_number_is_read_as_written(modules: Page, text: str, value: float):
    assert call(modules, "number", "parseNumber", text, 1e6) == {"value": value}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "empty"),
        ("  ", "empty"),
        ("abc", "not_a_number"),
        ("1..2", "not_a_number"),
        ("1,2,3", "not_a_number"),
        ("--1", "not_a_number"),
        ("e5", "not_a_number"),
        (".", "not_a_number"),
        ("1/2/3", "not_a_number"),
        ("1/", "not_a_number"),
        ("NaN", "not_a_number"),
        ("Infinity", "not_a_number"),
        ("0x10", "not_a_number"),
        ("1_000", "not_a_number"),
        ("1,000", "ambiguous"),
        ("12,345,678", "ambiguous"),
        ("1/0", "zero_division"),
        ("0/0", "zero_division"),
        ("1e400", "too_large"),
        ("-1000001", "too_large"),
        ("1e6/1e-6", "too_large"),
    ],
)
def test_what_is_no_number_is_named(modules: Page, text: str, problem: str):
    assert call(modules, "number", "parseNumber", text, 1e6) == {"problem": problem}


def test_minus_zero_is_zero(modules: Page):
    assert modules.evaluate(
        "async () => Object.is((await import('/number.js')).parseNumber('-0', 1).value, 0)"
    )


@pytest.mark.parametrize(
    ("values", "decimals"),
    [
        ([], 0),
        ([0, 1, -2], 0),
        ([0.5, 1], 1),
        ([0.25, 1], 2),
        ([1 / 3, 1], 3),
        ([1 / 3, 12], 2),
        ([1 / 3, 123], 1),
        ([1 / 3, 1234], 0),
        ([1 / 3, -1e9], 3),  # written with an exponent
    ],
)
def test_a_matrix_gets_as_few_decimals_as_it_needs(modules: Page, values: list, decimals: int):
    assert call(modules, "number", "decimalsFor", values) == decimals


@pytest.mark.parametrize(
    ("value", "decimals", "text"),
    [
        (0.18386, 3, "0.184"),
        (-0.5, 3, "−0.500"),
        (-0.0001, 3, "−1e−4"),
        (0.0, 3, "0"),
        (-12.3456, 2, "−12.35"),
        (123456.0, 0, "1.2e5"),
        (-3e22, 0, "−3.0e22"),
    ],
)
def test_a_computed_number_fits_its_cell(modules: Page, value: float, decimals: int, text: str):
    assert call(modules, "number", "formatCell", value, decimals) == text
    assert len(text) <= 7


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (1.0, "1"),
        (0.1, "0.1"),
        (-2.5, "−2.5"),
        (1 / 3, "0.3333"),
        (0.0005, "5e−4"),
        (1e-12, "1e−12"),
        (123456.0, "1.23e5"),
        (100.0, "100"),
        (99999.0, "99999"),
    ],
)
def test_a_number_in_its_own_right_is_short(modules: Page, value: float, text: str):
    assert call(modules, "number", "formatNumber", value) == text


def test_what_is_shown_can_be_typed_back(modules: Page):
    rng = np.random.default_rng(0)
    for value in (rng.standard_normal(50) * 10.0 ** rng.integers(-6, 6, 50)).tolist():
        text = call(modules, "number", "formatNumber", value)

        again = call(modules, "number", "parseNumber", text, 1e6)

        assert math.isclose(again["value"], value, rel_tol=6e-2), text


# --- colour.js


def test_the_middle_of_a_signed_scale_is_the_background(modules: Page):
    shade = call(modules, "colour", "shade", 0, -2, 2, ["#ff0000", "#ffffff", "#0000ff"])

    assert shade == {"background": "rgb(255, 255, 255)", "ink": "#000000"}


def test_values_beyond_the_scale_take_its_ends(modules: Page):
    assert call(modules, "colour", "shade", 9, 0, 1, ["#ffffff", "#08306b"]) == {
        "background": "rgb(8, 48, 107)",
        "ink": "#ffffff",
    }


def test_a_matrix_of_zeros_has_a_colour(modules: Page):
    shade = call(modules, "colour", "shade", 0, 0, 0, ["#000000", "#ffffff", "#000000"])

    assert shade["background"] == "rgb(255, 255, 255)"


# --- graph.js


def settings() -> Iterator[Experiment]:
    """One experiment for each encoding, mask, scaling, head count and output projection."""
    masks = (Mask(), Mask(("causal", "padding")), Mask(("window",), before=0, after=0))
    for encoding, mask, is_scaled, n_heads, has_W_O in product(
        ENCODINGS, masks, (True, False), (1, 3), (True, False)
    ):
        start = Experiment.from_preset("random", seed=5).resized(
            n_tokens=3, d_model=3, d_k=3, n_heads=n_heads
        )
        changed = replace(start, encoding=encoding, mask=mask, is_scaled=is_scaled)
        yield changed.with_output_projection(has_W_O)


_EXPLAIN_ALL = """async (data) => {
  const { explain } = await import("/graph.js");
  const { sayFrom } = await import("/element.js");
  const { opened } = await import("/opened.js");
  const say = sayFrom(data.texts);
  const open = (_, row) => ({ ...opened(data, row, say), id: `softmax${row}` });
  const rows = data.axes.tokens.map(open);
  const shown = [...data.matrices, ...rows];
  const matrices = new Map(shown.map((matrix) => [matrix.id, matrix]));
  const all = [];
  for (const matrix of shown) {
    matrix.values.forEach((row, r) => row.forEach((value, c) => {
      const cell = { id: matrix.id, row: r, column: c };
      all.push({ ...cell, value, ...explain(matrices, cell, say) });
    }));
  }
  return all;
}"""


def test_the_arithmetic_of_every_cell_gives_its_number(modules: Page):
    n_checked = 0
    for experiment in settings():
        data = board_data(Texts("en"), experiment, experiment.trace(), experiment.n_heads - 1)
        data = json.loads(json.dumps(data))
        for cell in answer(modules, _EXPLAIN_ALL, data):
            text = "".join(
                f"**({p['text']})" if p.get("raised") else p["text"]
                for p in cell["parts"]
                if p.get("role") != "note"
            )
            result, sign, sum_ = re.match(r"(\S+) ([=≈]) (.*)|", text).groups()
            if sum_ is None or cell["value"] is None:
                continue
            assert evaluated(result) == pytest.approx(cell["value"], abs=6e-5, rel=6e-3)
            tolerance = 1e-12 if sign == "=" else 2e-3 * (1 + abs(cell["value"]))
            assert evaluated(sum_) == pytest.approx(cell["value"], abs=tolerance), text
            n_checked += 1
    assert n_checked > 2_000


def evaluated(text: str) -> float:
    """The number that an arithmetic text stands for."""
    code = re.sub(r" [(][^()]* · [^()]*[)]$", "", text)
    code = code.replace("−∞", "-inf").replace("−", "-").replace("·", "*")
    code = code.replace("10000^", "10000**")
    code = re.sub(r"\|(\d+) - (\d+)\|", r"abs(\1 - \2)", code)
    code = re.sub(r"√(\d+)", r"sqrt(\1)", code)
    code = re.sub(r"(\d)e(-?\d)", r"\1E\2", code)
    names = {"e": math.e, "inf": math.inf, "sin": math.sin, "cos": math.cos, "sqrt": math.sqrt}
    return float(eval(code, {"__builtins__": {}, "abs": abs} | names))


def test_the_sources_of_every_cell_are_the_cells_that_move_it(modules: Page):
    """Change one cell of an operand; only results that name it as a source may differ."""
    experiment = Experiment.from_preset("random", seed=5).resized(n_tokens=3, d_model=2, d_k=2)
    data = json.loads(json.dumps(board_data(Texts("en"), experiment, experiment.trace(), 0)))
    explained = answer(modules, _EXPLAIN_ALL, data)
    named = {
        (cell["id"], cell["row"], cell["column"]): {
            (source["id"], source["row"], source["column"]) for source in cell["sources"]
        }
        for cell in explained
    }

    assert named["Q", 1, 0] == {("X", 1, 0), ("X", 1, 1), ("W_Q", 0, 0), ("W_Q", 1, 0)}
    assert named["scores", 0, 2] == {("Q", 0, 0), ("Q", 0, 1), ("K", 2, 0), ("K", 2, 1)}
    assert named["scaled_scores", 0, 2] == {("scores", 0, 2)}
    assert named["weights", 1, 2] == {("scaled_scores", 1, k) for k in range(3)}
    assert named["output", 2, 1] == {("weights", 2, k) for k in range(3)} | {
        ("V", k, 1) for k in range(3)
    }
    assert named["X", 0, 0] == set()


# --- view.js


_BUILD = """async (data) => {
  const { View } = await import("/view.js");
  const { sayFrom } = await import("/element.js");
  const player = { signs: [], bar: { node: document.createElement("div") } };
  window.view = new View(document.querySelector("main"), data, data.matrices, null, player);
  view.fit(data.matrices, data.axes.tokens.length);
  window.scene = {
    data,
    matrices: data.matrices,
    palette: data.palette,
    theme: "light",
    changes: new Map(),
    editing: null,
    say: sayFrom(data.texts),
  };
  view.paint(scene);
  view.finish();
}"""


def test_the_view_builds_labelled_grids_and_shows_markup_as_text(modules: Page):
    experiment = Experiment.from_preset("apple").with_token_renamed(
        0, "<img src=x onerror=alert(1)>"
    )
    experiment = replace(experiment, mask=Mask(("causal",)))
    data = json.loads(json.dumps(board_data(Texts("en"), experiment, experiment.trace(), 0)))

    modules.evaluate(_BUILD, data)

    assert modules.locator("img").count() == 0
    weights = modules.locator('[data-matrix="weights"]')
    assert weights.locator("table").get_attribute("role") == "grid"
    assert weights.locator("table").get_attribute("aria-label") == "weights, 3 × 3"
    cell = weights.locator('[data-row="1"][data-column="0"]')
    assert cell.get_attribute("aria-label").startswith("weights, from 喜欢 to <img src=x")
    assert cell.get_attribute("aria-label").endswith(": 0.1956")
    masked = modules.locator('[data-matrix="masked_scores"] [data-row="0"][data-column="1"]')
    assert masked.get_attribute("class") == "masked"
    assert masked.inner_text() == "−∞"
    assert modules.locator('[data-matrix="X"] input.number').count() == 6


def test_a_cell_that_is_being_typed_into_is_not_painted_over(modules: Page):
    experiment = Experiment.from_preset("apple")
    data = json.loads(json.dumps(board_data(Texts("en"), experiment, experiment.trace(), 0)))
    modules.evaluate(_BUILD, data)
    field = modules.locator('[data-matrix="X"] [data-row="0"][data-column="0"] input')
    field.fill("12")

    modules.evaluate(
        """() => {
          const edited = view.cellAt({ id: "X", row: 0, column: 0 });
          view.paint({ ...scene, editing: edited });
        }"""
    )

    assert field.input_value() == "12"


# --- board.js


_RETURN = """async (data) => {
  const board = (await import("/board.js")).default;
  const main = document.querySelector("main");
  main.innerHTML = '<div><div class="board" style="background: white"></div></div>';
  const sent = [];
  const component = {
    parentElement: main.firstChild,
    data: {
      ...data,
      revision: 0,
      taken: {},
      heard: {},
      is_first: false,
      address: { query: {}, language: "en", run: 1 },
    },
    setStateValue: (_, message) => sent.push(structuredClone(message)),
  };
  const leave = board(component);
  const input = main.querySelector('[data-matrix="X"] [role=gridcell] input');
  input.focus();
  input.value = "0.2";
  input.dispatchEvent(new Event("input", { bubbles: true }));
  leave();
  board(component);
  const typed = main.querySelector('[data-matrix="X"] [role=gridcell] input').value;
  input.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", bubbles: true }));
  return { typed, sent };
}"""


def test_a_board_that_streamlit_leaves_and_comes_back_to_goes_on(modules: Page):
    """It does so when two runs follow fast; seen on 1.67."""
    experiment = Experiment.from_preset("apple")
    data = json.loads(json.dumps(board_data(Texts("en"), experiment, experiment.trace(), 0)))

    came = modules.evaluate(_RETURN, data)

    assert came["typed"] == "0.2"
    assert [len(message["edits"]) for message in came["sent"]] == [1]
    assert came["sent"][0]["edits"][0]["value"] == 0.2


_ELSEWHERE = """async ([before, now]) => {
  const board = (await import("/board.js")).default;
  const main = document.querySelector("main");
  main.innerHTML = '<div><div class="board" style="background: white"></div></div>';
  const sent = [];
  const show = (data, session, revision) => board({
    parentElement: main.firstChild,
    data: {
      ...data,
      session,
      revision,
      taken: {},
      heard: {},
      is_first: false,
      address: { query: {}, language: "en", run: 1 },
    },
    setStateValue: (_, message) => sent.push(structuredClone(message)),
  });
  const type = (matrix, text) => {
    const input = main.querySelector(`[data-matrix="${matrix}"] [role=gridcell] input`);
    input.focus();
    input.value = text;
    input.dispatchEvent(new Event("input", { bubbles: true }));
    input.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", bubbles: true }));
  };
  show(before, "one", 3);
  type("X", "0.2");
  type("W_K", "0.3");
  const last = sent.at(-1);
  show(now, "another", 1);
  await new Promise((go) => {
    const look = () => (sent.at(-1) === last ? setTimeout(look) : go());
    look();
  });
  return { last, next: sent.at(-1) };
}"""


def test_what_no_server_has_answered_is_sent_to_the_next_one_if_it_means_the_same(modules: Page):
    """An edit of a matrix that is another one there is given up."""
    experiment = Experiment.from_preset("apple")
    other = experiment.resized(d_k=3)
    data = [
        json.loads(json.dumps(board_data(Texts("en"), each, each.trace(), 0)))
        for each in (experiment, other)
    ]

    came = modules.evaluate(_ELSEWHERE, data)

    assert [edit["matrix"] for edit in came["last"]["edits"]] == ["X", "W_K"]
    assert (came["last"]["session"], came["last"]["revision"]) == ("one", 3)
    assert [edit["matrix"] for edit in came["next"]["edits"]] == ["X"]
    assert (came["next"]["session"], came["next"]["revision"]) == ("another", 1)
    assert came["next"]["attempt"] == 1
    assert came["next"]["mount"] == came["last"]["mount"]


_LEAVE = """async (data) => {
  const board = (await import("/board.js")).default;
  const main = document.querySelector("main");
  const links = '<a href="#here">here</a><a href="/guide">away</a>';
  main.innerHTML = `${links}<div><div class="board"></div></div>`;
  const [here, away, parentElement] = main.children;
  const sent = [];
  const show = (run) => board({
    parentElement,
    data: {
      ...data,
      revision: 0,
      taken: {},
      heard: {},
      is_first: true,
      address: { query: {}, language: "en", run },
    },
    setStateValue: (name, message) => sent.push([name, message]),
  });
  for (const link of [here, away]) {
    link.addEventListener("click", (event) => event.preventDefault());
  }
  const realNow = performance.now;
  let late = 0;
  performance.now = () => realNow.call(performance) + late;
  const realTimeout = window.setTimeout;
  const waits = [];
  window.setTimeout = (then, ms, ...rest) => {
    if (!(ms > 1000)) return realTimeout(then, ms, ...rest);
    waits.push(() => { late += ms; then(); });
  };
  const painted = () => new Promise((go) =>
    requestAnimationFrame(() => requestAnimationFrame(() => realTimeout(go))));
  const found = {};
  here.click();
  show(1);
  await painted();
  found.here = structuredClone(sent);
  away.click();
  show(2);
  await painted();
  found.away = structuredClone(sent);
  waits.forEach((then) => then());
  found.stayed = structuredClone(sent);
  away.click();
  show(3);
  await painted();
  parentElement.remove();
  waits.at(-1)();
  found.gone = structuredClone(sent);
  performance.now = realNow;
  window.setTimeout = realTimeout;
  return found;
}"""


def test_a_board_asks_for_nothing_while_its_page_is_being_left(modules: Page):
    """Streamlit would show its page again: a lesson chosen right after an edit did not open."""
    experiment = Experiment.from_preset("apple")
    data = json.loads(json.dumps(board_data(Texts("en"), experiment, experiment.trace(), 0)))

    sent = modules.evaluate(_LEAVE, data)

    assert sent["here"] == sent["away"] == [["painted", 1]]
    assert sent["stayed"] == sent["gone"] == [["painted", 1], ["painted", 2]]

"""What the board makes of a lesson's matrices: the core's numbers, and words for each of them."""

import importlib
import json

import numpy as np
import pytest
from playwright.sync_api import Page

from playground.board import exhibit_data
from playground.catalog import LESSONS
from playground.texts import Texts
from tests.browser.conftest import ROOT
from tests.browser.test_modules import answer

ASSETS = ROOT / "playground" / "board" / "assets"
EXHIBITS = sorted(path.stem for path in (ROOT / "tests/playground/lessons").glob("of_*.py"))

_READ = """async ([folder, data]) => {
  const { evaluated } = await import(`${folder}/evaluate.js`);
  const { explain } = await import(`${folder}/graph.js`);
  const { sayFrom } = await import(`${folder}/element.js`);
  const say = sayFrom(data.texts);
  const matrices = new Map(data.matrices.map((matrix) => [matrix.id, matrix]));
  const told = data.matrices.flatMap(({ id, values }) =>
    values.flatMap((line, row) => line.map((_, column) => {
      const { parts, sources } = explain(matrices, { id, row, column }, say);
      const isThere = sources.every((s) => matrices.get(s.id).values[s.row][s.column] === s.value);
      const text = parts.map((part) => part.text).join("");
      return { id, row, column, text, isThere };
    })));
  const values = Object.fromEntries(evaluated(data).matrices.map((m) => [m.id, m.values]));
  return { told, values };
}"""


@pytest.fixture
def modules(page: Page):
    """A blank page that can import the modules of the board."""
    page.route(
        "http://board/*",
        lambda route: route.fulfill(
            body=(ASSETS / route.request.url.rpartition("/")[2]).read_text()
            if route.request.url.endswith(".js")
            else "<title>board</title>",
            content_type="text/javascript" if route.request.url.endswith(".js") else "text/html",
        ),
    )
    page.goto("http://board/index.html")
    return page


def test_every_lesson_shows_its_exhibits_to_the_board():
    shown = {
        lesson.id for lesson in LESSONS for name in EXHIBITS if name.startswith(f"of_{lesson.id}")
    }

    assert shown == {lesson.id for lesson in LESSONS if lesson.steps}


@pytest.mark.parametrize("name", EXHIBITS)
def test_the_board_computes_what_the_core_does_and_explains_every_cell(modules, name):
    exhibits = importlib.import_module(f"tests.playground.lessons.{name}").exhibits()
    count = 0
    for exhibit in exhibits:
        data = json.loads(json.dumps(exhibit_data(Texts("en"), exhibit), allow_nan=False))

        read = answer(modules, _READ, ["http://board", data])

        for matrix in data["matrices"]:
            expected, got = (
                np.array(
                    [[v if isinstance(v, int | float) else np.nan for v in row] for row in values]
                )
                for values in (matrix["values"], read["values"][matrix["id"]])
            )
            of = f"{exhibit.of}, {matrix['id']}"
            np.testing.assert_allclose(got, expected, rtol=1e-9, atol=1e-9, err_msg=of)
        assert [told for told in read["told"] if not told["text"] or not told["isThere"]] == []
        assert not any("undefined" in told["text"] for told in read["told"])
        count += 1
    assert count > 0

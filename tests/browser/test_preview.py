"""What the board shows while an edit is under way is what the core will answer."""

import json
from dataclasses import replace
from itertools import cycle, product

import numpy as np
import pytest
from playwright.sync_api import Page

from attention_core import Experiment, Mask
from attention_core.canvas import MATRICES
from attention_core.experiment import MASK_KINDS
from attention_core.presets import ENCODINGS
from playground.board.board import board_data
from playground.texts import Texts
from tests.browser.test_modules import answer, modules  # noqa: F401

N_EXPERIMENTS = 200
PER_HEAD = ("W_Q", "W_K", "W_V")


def sent(experiment: Experiment, head: int) -> dict:
    """What the board receives, as JSON carries it."""
    return json.loads(json.dumps(board_data(Texts("en"), experiment, experiment.trace(), head)))


def random_experiment(rng: np.random.Generator, encoding: str, kinds: tuple, scaled: bool):
    sizes = [int(rng.integers(1, most + 1)) for most in (12, 8, 8, 8)]
    names = ("n_tokens", "d_model", "d_k", "n_heads")
    start = Experiment.from_preset("random", seed=int(rng.integers(1000)))
    start = start.resized(**dict(zip(names, sizes, strict=True)))
    n = start.n_tokens
    cells = [tuple(map(int, rng.integers(0, n, 2))) for _ in range(4)]
    counts = [int(count) for count in rng.integers(0, 4, 3)]
    experiment = replace(
        start.with_output_projection(bool(rng.integers(2))),
        encoding=encoding,
        is_scaled=scaled,
        mask=Mask((), *counts),
    ).with_painted(cells, bool(rng.integers(2)))
    return replace(experiment, mask=replace(experiment.mask, kinds=kinds))


def random_edits(rng: np.random.Generator, experiment: Experiment):
    """Some edits as the board sends them, and the experiment after them."""
    edits = []
    for _ in range(int(rng.integers(1, 4))):
        present = [name for name in MATRICES if getattr(experiment, name) is not None]
        name = str(rng.choice(present))
        *head, row, column = (int(rng.integers(n)) for n in getattr(experiment, name).shape)
        value = float(np.round(rng.normal(scale=2), 6))
        place = {"matrix": name, "head": head[0] if head else None, "row": row, "column": column}
        edits.append({"kind": "cell", **place, "value": value})
        experiment = experiment.with_cell(name, (*head, row, column), value)
    block = np.round(rng.normal(size=(1, experiment.d_model)), 3)
    place = {"matrix": "X", "head": None, "row": 0, "column": 0}
    edits.append({"kind": "block", **place, "values": block.tolist()})
    experiment = experiment.with_block("X", (0, 0), block)
    if experiment.mask.kinds:
        cells = [list(map(int, rng.integers(0, experiment.n_tokens, 2))) for _ in range(3)]
        is_allowed = bool(rng.integers(2))
        edits.append({"kind": "paint", "matrix": "mask", "cells": cells, "allowed": is_allowed})
        experiment = experiment.with_painted([tuple(cell) for cell in cells], is_allowed)
    return edits, experiment


SETTINGS = cycle(
    product(
        ENCODINGS,
        [(), *((kind,) for kind in MASK_KINDS), MASK_KINDS],
        (True, False),
    )
)
_PREVIEW = """async ([data, edits]) => {
  const { withEdits } = await import("/evaluate.js");
  const { matrices, softmax } = withEdits(data, edits);
  return { softmax, matrices: matrices.map(({ id, values }) => ({ id, values })) };
}"""


def array(values: list) -> np.ndarray:
    return np.array([[-np.inf if v is None else v for v in row] for row in values])


def test_the_preview_of_random_experiments_is_the_trace_of_the_core(modules: Page):  # noqa: F811
    rng = np.random.default_rng(20)
    n_numbers = 0
    for setting, _ in zip(SETTINGS, range(N_EXPERIMENTS), strict=False):
        before = random_experiment(rng, *setting)
        head = int(rng.integers(before.n_heads))
        edits, after = random_edits(rng, before)

        shown = answer(modules, _PREVIEW, [sent(before, head), edits])

        expected = sent(after, head)
        ids = [matrix["id"] for matrix in expected["matrices"]]
        assert [matrix["id"] for matrix in shown["matrices"]] == ids
        for ours, theirs in zip(shown["matrices"], expected["matrices"], strict=True):
            preview, core = array(ours["values"]), array(theirs["values"])
            np.testing.assert_allclose(preview, core, rtol=0, atol=1e-9, err_msg=ours["id"])
            n_numbers += core.size
        for step, rows in expected["softmax"].items():
            np.testing.assert_allclose(
                array(shown["softmax"][step]), array(rows), rtol=0, atol=1e-9, err_msg=step
            )
    assert n_numbers > 100_000


_SWITCH = """async ([data, head]) => {
  const { atHead } = await import("/evaluate.js");
  return atHead(data, head).matrices.map(({ id, values }) => ({ id, values }));
}"""


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_another_head_is_evaluated_from_what_was_sent_for_this_one(modules: Page, encoding):  # noqa: F811
    start = Experiment.from_preset("random", seed=3).resized(n_tokens=5, n_heads=3)
    experiment = replace(start.with_output_projection(True), encoding=encoding)

    shown = modules.evaluate(_SWITCH, [sent(experiment, 2), 0])

    for ours, theirs in zip(shown, sent(experiment, 0)["matrices"], strict=True):
        np.testing.assert_allclose(array(ours["values"]), array(theirs["values"]), atol=1e-9)


_CHANGES = """async ([before, now]) => {
  const { changesSince, countOf } = await import("/compare.js");
  const changes = changesSince(before, now);
  const cells = (rows) => rows.flatMap((row, r) =>
    row.flatMap((old, c) => (old === undefined ? [] : [[r, c, old]])));
  return {
    count: countOf(changes),
    cells: Object.fromEntries([...changes].map(([id, rows]) => [id, cells(rows)])),
  };
}"""


def test_what_moved_is_marked_with_its_old_number(modules: Page):  # noqa: F811
    before = Experiment.from_preset()
    after = before.with_cell("W_V", (0, 0, 0), 3.0)

    changes = modules.evaluate(_CHANGES, [sent(before, 0), sent(after, 0)])

    V, output = before.trace().attention.heads.V[0], before.trace().attention.output
    moved = {
        "W_V": [[0, 0, 1]],
        "V": [[row, 0, V[row, 0]] for row in range(3)],
        "output": [[row, 0, pytest.approx(output[row, 0], abs=1e-12)] for row in range(3)],
    }
    assert changes["cells"] == moved
    assert changes["count"] == 7


@pytest.mark.parametrize(
    ("matrix", "unmoved"),
    [
        ("W_V", {"W_Q", "Q", "W_K", "K", "scores", "scaled_scores", "weights"}),
        ("W_Q", {"X", "W_K", "K", "W_V", "V"}),
        ("W_O", {"X", "Q", "K", "V", "scores", "weights", "head_output", "concatenated"}),
        ("X", {"W_Q", "W_K", "W_V", "W_O"}),
    ],
)
def test_what_cannot_have_moved_is_not_marked(modules: Page, matrix: str, unmoved: set):  # noqa: F811
    sizes = {"n_tokens": 12, "d_model": 7, "d_k": 5, "n_heads": 3}
    before = Experiment.from_preset("random").resized(**sizes).with_output_projection(True)
    index = (1, 1) if matrix in ("X", "W_O") else (1, 1, 1)
    after = before.with_cell(matrix, index, 0.123)

    changes = modules.evaluate(_CHANGES, [sent(before, 1), sent(after, 1)])

    assert set(changes["cells"]) & unmoved == set()
    assert matrix in changes["cells"]


def test_matrices_of_another_shape_are_not_compared(modules: Page):  # noqa: F811
    before = Experiment.from_preset("random")
    after = before.resized(d_k=3)

    changes = modules.evaluate(_CHANGES, [sent(before, 0), sent(after, 0)])

    assert set(changes["cells"]) == {"scores", "scaled_scores", "weights"}

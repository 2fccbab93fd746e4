"""What the step player says of every step is what the core's numbers say."""

import json
import re
from dataclasses import replace
from string import Formatter

import numpy as np
import pytest
from playwright.sync_api import Page

from attention_core import PRESETS, Experiment, Mask
from playground.board.board import board_data
from playground.pipeline import Matrix, axis_labels, pipeline
from playground.texts import LANGUAGES, Texts
from tests.browser.driver import reads_as
from tests.browser.test_modules import answer, modules  # noqa: F401
from tests.playground.experiments import SETTINGS

ROUNDING = 1e-12
PER_HEAD = {"projections", "scores", "weights"}

TELL = """async (boards) => {
  const { sentence } = await import("/sentence.js");
  const { askable, steps } = await import("/player.js");
  const { sayFrom } = await import("/element.js");
  return boards.map((data) => {
    const of = new Map(data.matrices.map((matrix) => [matrix.id, matrix]));
    return steps(data.matrices).map((matrix) => ({
      id: matrix.id,
      told: data.axes.tokens.map((_, row) =>
        sentence(of, matrix.id, row, data, sayFrom(data.texts))),
      askable: data.axes.tokens.map((_, row) =>
        askable(matrix, (matrix.operation.of ?? []).map((id) => of.get(id)), row)),
    }));
  });
}"""


class Said:
    """A text as a pattern, and the numbers that it holds, which are told to some digits."""

    def __init__(self, pattern: str, numbers: list[float]) -> None:
        self.pattern, self.numbers = pattern, numbers

    def assert_is(self, text: str) -> None:
        match = re.fullmatch(self.pattern, text)
        assert match, (text, self.pattern)
        for shown, number in zip(match.groups(), self.numbers, strict=True):
            assert reads_as(shown, number), (text, shown, number)


class Oracle:
    """The sentences of one experiment, from the core's numbers."""

    def __init__(self, t: Texts, experiment: Experiment, head: int) -> None:
        self.t, self.experiment, self.head = t, experiment, head
        matrices = pipeline(experiment, experiment.trace(), head)
        self.matrices = {matrix.id: matrix for matrix in matrices}
        self.axes = axis_labels(experiment, t.group("feature"))

    def steps(self) -> list[Matrix]:
        return [m for m in self.matrices.values() if m.id == "X" or "of" in m.operation]

    def say(self, key: str, **fields: object) -> Said:
        pattern, numbers = "", []
        for literal, name, _, _ in Formatter().parse(self.t(f"board.play_{key}")):
            pattern += re.escape(literal)
            field = fields.get(name) if name else ""
            if isinstance(field, Said):
                pattern, numbers = pattern + field.pattern, numbers + field.numbers
            elif isinstance(field, float):
                pattern, numbers = pattern + r"(−?[\d.]+(?:e−?\d+)?)", [*numbers, field]
            else:
                pattern += re.escape(str(field))
        return Said(pattern, numbers)

    def label(self, axis: str, index: int, quote: str = "{}") -> str:
        labels = self.axes[axis]
        number = f" ({index + 1})" if labels.count(labels[index]) > 1 else ""
        return quote.format(labels[index]) + number

    def name(self, token: int) -> str:
        return self.label("tokens", token, "“\u2068{}\u2069”")

    def listed(self, parts: list) -> Said:
        said = [p if isinstance(p, Said) else Said(re.escape(p), []) for p in parts]
        comma = re.escape(self.t("board.play_comma"))

        def joined(some: list[Said]) -> Said:
            return Said(comma.join(s.pattern for s in some), [n for s in some for n in s.numbers])

        if len(said) > 4:
            return self.say("more", listed=joined(said[:4]), count=len(said) - 4)
        if len(said) == 1:
            return said[0]
        return self.say("list", listed=joined(said[:-1]), last=said[-1])

    def names(self, tokens) -> Said:
        return self.listed([self.name(token) for token in tokens])

    def peaks(self, matrix: Matrix, row: int) -> Said:
        values = matrix.values[row].tolist()
        return self.listed(
            [
                self.say("number", value=values[c], column=self.label(matrix.columns, c))
                for c in tops(np.abs(values))
            ]
        )

    def changes(self, matrix: Matrix, before: np.ndarray, row: int, columns) -> Said:
        return self.listed(
            [
                self.say(
                    "change",
                    column=self.label(matrix.columns, c),
                    before=float(before[row, c]),
                    after=float(matrix.values[row, c]),
                )
                for c in columns
            ]
        )

    def sentence(self, matrix: Matrix, row: int) -> Said:
        said = self.plain(matrix, row)
        is_of_head = matrix.stage in PER_HEAD or matrix.id == "head_output"
        if self.experiment.n_heads > 1 and is_of_head:
            return self.say("in_head", head=self.head + 1, sentence=said)
        return said

    def plain(self, matrix: Matrix, row: int) -> Said:
        values, token = matrix.values[row], self.name(row)
        operands = [self.matrices[id] for id in matrix.operation.get("of", [])]
        before = operands[0].values if operands else None
        trace = self.experiment.trace()
        steps = trace.attention.head(self.head)
        allowed = np.flatnonzero(steps.allowed[row])
        vector = {
            "X": "X",
            **{name: letter for letter in "QKV" for name in (letter, f"projected_{letter}")},
        }
        kind = matrix.operation["kind"]
        if kind == "rotate":
            moved = np.flatnonzero(values != before[row])
            key = "turned" if len(moved) else "unturned"
            changes = self.changes(matrix, before, row, moved) if len(moved) else ""
            return self.say(key, token=token, place=row, changes=changes)
        if matrix.id in vector or (kind == "matmul" and operands[1].id == "W_O"):
            key = vector.get(matrix.id, "projected")
            if not values.any():
                return self.say(f"{key}_zero", token=token)
            return self.say(key, token=token, width=len(values), peaks=self.peaks(matrix, row))
        if matrix.id == "inputs":
            added = np.abs(trace.positions[row])
            if not added.any():
                return self.say("placed_same", token=token)
            return self.say(
                "placed", token=token, changes=self.changes(matrix, before, row, tops(added))
            )
        if matrix.id == "scores":
            best = tops(values)
            form = "_tied" if len(best) > 1 else ""
            form = "_even" if len(best) == len(values) else form
            form = "_one" if len(values) == 1 else form
            found = {"keys": self.names(best), "value": float(values[best[0]])}
            return self.say(f"scores{form}", token=token, **found)
        if matrix.id == "scaled_scores":
            best = tops(values)[0]
            if self.experiment.d_k == 1 or not values.any():
                return self.say("scaled_same", token=token, d_k=self.experiment.d_k)
            reach = {"before": float(before[row, best]), "after": float(values[best])}
            return self.say("scaled", token=token, d_k=self.experiment.d_k, **reach)
        if matrix.id == "biased_scores":
            bias = trace.bias[self.head][row]
            if len(bias) == 1:
                return self.say("biased_same", token=token)
            least = tops(-bias)
            amount = float(bias[least[0]])
            return self.say("biased", token=token, keys=self.names(least), amount=amount)
        if matrix.id == "masked_scores":
            form = "_none" if not len(allowed) else ""
            form = "_all" if len(allowed) == len(values) else form
            keys = self.names(allowed) if len(allowed) else ""
            counts = {"count": len(allowed), "total": len(values)}
            return self.say(f"masked{form}", token=token, keys=keys, **counts)
        if matrix.id == "weights":
            if not len(allowed):
                return self.say("weights_none", token=token)
            return self.shared("weights", token, values, len(allowed))
        if kind == "concat":
            width = self.experiment.n_heads * self.experiment.d_k
            return self.say("joined", token=token, count=self.experiment.n_heads, width=width)
        shares = steps.weights[row]
        given = np.flatnonzero(shares)
        if not len(given):
            return self.say("mixed_none", token=token)
        return self.shared("mixed", token, shares, len(given))

    def shared(self, what, token, shares, count: int):
        """Who gets most of what is shared among so many."""
        best = tops(shares)
        form = "_tied" if len(best) > 1 else ""
        form = "_even" if len(best) == count else form
        form = "_only" if count == 1 else form
        found = {"keys": self.names(best), "value": float(shares[best[0]])}
        return self.say(f"{what}{form}", token=token, count=count, **found)

    def askable(self, matrix: Matrix, row: int) -> list[int]:
        """Numbers that were computed, and do not stand in the matrix before."""
        kind = matrix.operation["kind"]
        if kind in ("given", "mask", "concat"):
            return []
        values = matrix.values[row]
        if kind in ("matmul", "matmul_transposed"):
            return list(range(len(values)))
        before = self.matrices[matrix.operation["of"][0]].values[row]
        is_open = ~np.isneginf(before) if kind == "softmax" else values != before
        return np.flatnonzero(is_open).tolist()


def tops(values) -> list[int]:
    """Where the largest is, with all that are as good as equal."""
    top = max(values)
    return [i for i, v in enumerate(values) if v >= top - ROUNDING * max(1, abs(top))]


def as_good_as_tied() -> Experiment:
    """Keys of 0.1 + 0.2 + 0.3 and of 0.3 + 0.2 + 0.1, which differ in the last bit alone."""
    e = Experiment.from_preset("apple").resized(d_model=3)
    e = e.with_block("X", (0, 0), np.array([[0.1, 0.2, 0.3], [0.3, 0.2, 0.1], [0, 0, 0.1]]))
    for name in ("W_Q", "W_K"):
        e = e.with_block(name, (0, 0, 0), np.ones((3, 2)))
    assert len(set(e.trace().attention.heads.K[0, :2, 0])) == 2
    return e


def crafted() -> list[Experiment]:
    """Zeros, one token, one allowed key, long and foreign tokens, more ties than are listed."""
    apple, uniform = Experiment.from_preset("apple"), Experiment.from_preset("uniform")
    one = Experiment.from_preset("random").resized(n_tokens=1, d_model=1, d_k=1)
    return [
        apple.with_block("X", (0, 0), np.zeros((1, 2))),
        as_good_as_tied(),
        replace(uniform, mask=Mask(("causal",))),
        apple.resized(d_model=5).with_block("X", (0, 0), np.ones((1, 5))),
        replace(one, encoding="alibi"),
        replace(one, encoding="sinusoidal"),
        replace(one, encoding="rotary"),
        replace(uniform.resized(n_tokens=12), encoding="alibi"),
        replace(apple, mask=Mask(("causal",))).with_output_projection(True),
        apple.with_output_projection(True).with_block("W_O", (0, 0), np.zeros((2, 2))),
    ]


def experiments(step: int = 5) -> list[Experiment]:
    settings = [e for each in SETTINGS.values() for e in each[::step]]
    return [*map(Experiment.from_preset, PRESETS), *crafted(), *settings]


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_sentence_is_what_the_core_computed(modules: Page, language):  # noqa: F811
    t = Texts(language)
    some = experiments(5 if language == "en" else 17)
    cases = [(e, head) for e in some for head in {0, e.n_heads - 1}]
    boards = [json.loads(json.dumps(board_data(t, e, e.trace(), head))) for e, head in cases]

    told = answer(modules, TELL, boards)

    for (experiment, head), steps in zip(cases, told, strict=True):
        oracle = Oracle(t, experiment, head)
        assert [step["id"] for step in steps] == [matrix.id for matrix in oracle.steps()]
        for step, matrix in zip(steps, oracle.steps(), strict=True):
            for row in range(experiment.n_tokens):
                oracle.sentence(matrix, row).assert_is(step["told"][row])
                assert step["askable"][row] == oracle.askable(matrix, row), (step["id"], row)


def test_every_sentence_is_said_somewhere(modules: Page):  # noqa: F811
    """No form of a sentence is out of reach of the experiments above."""
    t = Texts("en")
    marked = {key: key for key in t.group("board")}
    boards = []
    for e in experiments():
        data = json.loads(json.dumps(board_data(t, e, e.trace(), 0)))
        boards.append(data | {"texts": marked, "heads": [None]})

    told = answer(modules, TELL, boards)

    said = {text for board in told for step in board for text in step["told"]}
    sentences = {
        key
        for key, text in t.group("board").items()
        if key.startswith("play_") and "{token}" in text
    }
    assert sentences <= said


def test_a_token_of_another_direction_or_of_many_letters_keeps_to_itself(modules: Page):  # noqa: F811
    t = Texts("en")
    e = Experiment.from_preset().with_token_renamed(0, "\u202eabc").with_token_renamed(1, "x" * 200)
    data = json.loads(json.dumps(board_data(t, e, e.trace(), 0)))

    ((first, *_),) = answer(modules, TELL, [data])

    assert first["told"][0].startswith("“\u2068abc\u2069” enters")
    assert first["told"][1].startswith(f"“\u2068{'x' * 16}…\u2069” enters")

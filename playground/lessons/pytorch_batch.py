"""What the step on a batch shows: sentences of unequal length, together and alone."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from attention_core import Experiment, ExperimentTrace
from attention_core.arrays import FloatArray
from attention_core.canvas import MAX_TOKENS
from attention_core.rounding import bounds, sizes
from playground.exhibit import Exhibit
from playground.lessons import tokens
from playground.numerals import short, size
from playground.pipeline import Matrix, axis_labels
from playground.sentence import split
from playground.texts import Texts

if TYPE_CHECKING:
    from attention_core.neural.batch import Batch, Part

MOST_LINES = 4
MOST_TEXT = 8_000  # characters; what the experiment's own tokens need at most stays below

_HAN = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff]")
_ROUNDING = 1e-9  # as a share: what is closer than this is the same
_MOST_LARGE = 8  # tokens: with more of them, all matrices are drawn small
_MOST_COLUMNS = 24  # of numbers in one matrix, before all are drawn small

Words = tuple[str, ...]


# --- what was written


@dataclass(frozen=True, slots=True)
class Written:
    """The sentences of a text, and what of it was not taken."""

    lines: tuple[Words, ...]  # 1 to 4
    n_lines_left_out: int = 0
    are_cut: tuple[int, ...] = ()  # numbers of the lines with words that were left out


def own_lines(e: Experiment) -> list[Words]:
    """The experiment's own sentence, its first half, and its first word."""
    lengths = sorted({e.n_tokens, -(-e.n_tokens // 2), 1}, reverse=True)
    return [e.tokens[:length] for length in lengths]


def own_text(e: Experiment) -> str:
    """The same as a text that can be edited."""
    return "\n".join(map(_joined, own_lines(e)))


def _joined(words: Words) -> str:
    return " ".join(words)


def read(e: Experiment, text: str) -> Written:
    """The sentences of a text, one a line; the experiment's own where there is none.

    A line is split at spaces; a line in Chinese that has none, by dictionary. A line that the
    experiment gave is not split again, as its tokens may hold spaces.
    """
    own = {_joined(words).strip(): words for words in own_lines(e)}
    found, are_cut = [], []
    for line in filter(None, map(str.strip, text.splitlines())):
        words, n_left_out = (own[line], 0) if line in own else _split(e, line)
        if words:
            found.append(words)
            are_cut += [len(found)] if n_left_out and len(found) <= MOST_LINES else []
        if len(found) > 10 * MOST_LINES:  # enough to say that there are too many
            break
    kept = found[:MOST_LINES] or own_lines(e)
    return Written(tuple(kept), max(0, len(found) - MOST_LINES), tuple(are_cut))


def _split(e: Experiment, line: str) -> tuple[Words, int]:
    """The words of a line, and how many more there would be."""
    if line in e.tokens:
        return (line,), 0
    is_unspaced = len(line.split()) == 1 and _HAN.search(line)
    parts = split(line, "chinese" if is_unspaced else "spaces")
    return parts.words, parts.n_left_out + parts.is_cut


def remarks(t: Texts, e: Experiment, written: Written) -> list[str]:
    """What of the text or of the experiment does not go into the batch."""
    said = []
    if written.n_lines_left_out:
        said.append(t("pytorch.batch.lines_left_out", most=MOST_LINES))
    if written.are_cut:
        numbers = t("narrate.comma").join(map(str, written.are_cut))
        said.append(t("pytorch.batch.words_left_out", most=MAX_TOKENS, lines=numbers))
    if {"padding", "painted"} & {*e.mask.kinds}:
        said.append(t("pytorch.batch.masks_left_out"))
    return said


# --- what came of it


@dataclass(frozen=True, eq=False, slots=True)
class Compared:
    """Sentences in a batch by PyTorch, and each alone by the NumPy core."""

    batch: "Batch"
    sentences: tuple[Experiment, ...]
    alone: tuple[ExperimentTrace, ...]
    is_masked: bool

    def weights(self, index: int) -> FloatArray:
        """(n_heads, n, n): of one sentence in the batch, between its own tokens."""
        n = self.sentences[index].n_tokens
        return self.batch.weights[index, :, :n, :n]

    def output(self, index: int) -> FloatArray:
        """(n, d_out): of one sentence in the batch, of its own tokens."""
        return self.batch.output[index, : self.sentences[index].n_tokens]

    def gaps(self) -> tuple[float, float]:
        """How far weights, and outputs, of any sentence lie from those of it alone."""
        traces = [trace.attention for trace in self.alone]
        return (
            max(_most(self.weights(i) - one.heads.weights) for i, one in enumerate(traces)),
            max(_most(self.output(i) - one.output) for i, one in enumerate(traces)),
        )

    def are_same(self) -> bool:
        """Whether nothing but rounding lies between a sentence in the batch and alone."""
        of_weights, of_outputs = self.gaps()
        largest = max(1.0, *(_most(trace.attention.output) for trace in self.alone))
        return of_weights <= _ROUNDING and of_outputs <= _ROUNDING * largest

    def is_within(self) -> bool:
        """Whether rounding explains every difference."""
        for index, (e, trace) in enumerate(zip(self.sentences, self.alone, strict=True)):
            most, one = bounds(e, trace, "float64"), trace.attention
            of_weights = np.abs(self.weights(index) - one.heads.weights) <= most.weights
            of_outputs = np.abs(self.output(index) - one.output) <= most.output
            if not (of_weights.all() and of_outputs.all()):
                return False
        return True


def _most(values: FloatArray) -> float:
    return float(np.abs(values).max())


def compared(e: Experiment, lines: Sequence[Words], *, is_masked: bool) -> Compared:
    """These sentences with the experiment's weights, in one batch and each alone."""
    from attention_core.neural.batch import batched, sentences

    each = sentences(e, lines)
    traces = tuple(one.trace() for one in each)
    return Compared(batched(each, is_masked=is_masked), each, traces, is_masked)


def names(t: Texts, lines: Sequence[Words]) -> dict[int, str]:
    """What each sentence goes by in an input."""
    return {
        index: t("pytorch.batch.name", number=index + 1, n_tokens=len(words))
        for index, words in enumerate(lines)
    }


def first_shown(lines: Sequence[Words]) -> int:
    """The longest sentence that is padded; the first one where none is."""
    lengths = [len(words) for words in lines]
    padded = [length for length in lengths if length < max(lengths)]
    return lengths.index(max(padded)) if padded else 0


# --- shapes


def shapes(t: Texts, c: Compared) -> dict[str, list[str]]:
    """The shape of each tensor, as it was measured, column by column."""
    width = "H·d_k" if c.sentences[0].n_heads > 1 else "d_k"
    told: dict[Part, tuple[str, str, str]] = {
        "X": (t("pytorch.batch.of_X"), "pad_sequence(X, batch_first=True)", "B, T, d"),
        "is_real": (t("pytorch.batch.of_is_real"), "arange(T) < lengths[:, None]", "B, T"),
        "Q": (t("pytorch.batch.of_Q"), "X[:, None] @ W_Q", "B, H, T, d_k"),
        "weights": (t("pytorch.batch.of_weights"), "softmax(Q @ K.mT, dim=-1)", "B, H, T, T"),
        "head_outputs": (t("pytorch.batch.of_mixed"), "weights @ V", "B, H, T, d_k"),
        "concatenated": (
            t("pytorch.batch.of_joined"),
            ".transpose(1, 2).flatten(2)",
            f"B, T, {width}",
        ),
        "output": (t("pytorch.batch.of_output"), "joined @ W_O", "B, T, d"),
    }
    if c.sentences[0].W_O is None:  # then the heads side by side are the output
        del told["output"]
    return {
        t("pytorch.batch.step"): [step for step, _, _ in told.values()],
        t("pytorch.batch.code"): [f"`{code}`" for _, code, _ in told.values()],
        t("pytorch.batch.axes"): [axes for _, _, axes in told.values()],
        t("pytorch.batch.shape"): [_shape(c.batch.shapes[part]) for part in told],
    }


def _shape(sizes: tuple[int, ...]) -> str:
    return ", ".join(map(str, sizes))


# --- the board


def exhibit(t: Texts, c: Compared, index: int, head: int) -> Exhibit:
    """One sentence: its weights and outputs in the batch, alone, and the difference."""
    e, alone = c.sentences[index], c.alone[index].attention
    is_filling = ~c.batch.is_real[index]
    n_places, n_columns = len(is_filling), alone.output.shape[-1]
    width = "concatenated" if e.W_O is None else "features"
    is_compact = n_places > _MOST_LARGE or n_columns > _MOST_COLUMNS
    reach = max(_most(c.batch.output[index]), _most(alone.output)) or 1.0

    def of(
        id: str, symbol: str, stage: str, values: FloatArray, rows: str, columns: str, **more: Any
    ) -> Matrix:
        return Matrix(id, symbol, stage, values, rows, columns, is_compact=is_compact, **more)

    def marked(cells: FloatArray, *, on_columns: bool) -> dict[str, Any]:
        shape = np.shape(cells)
        flags = np.broadcast_to(is_filling if on_columns else is_filling[:, None], shape)
        return {"marked": flags, "mark": t("pytorch.batch.mark")} if flags.any() else {}

    X, together = c.batch.X[index], c.batch.weights[index, head]
    output = c.batch.output[index]
    in_batch = {"kind": "told", "text": t("pytorch.batch.batch_told")}
    by_itself = {"kind": "told", "text": t("pytorch.batch.alone_told")}
    padded, own = "tokens_padded", "tokens"
    return Exhibit(
        "pytorch.batch",
        {
            "batch": t("pytorch.batch.batch_stage"),
            "alone": t("pytorch.batch.alone_stage"),
            "apart": t("pytorch.batch.apart_stage"),
        },
        [
            of(
                "filled",  # as "X" the board would let tokens be added
                "X",
                "batch",
                X,
                padded,
                "features",
                operation={"kind": "told", "text": t("pytorch.batch.X_told")},
                name=t("pytorch.batch.X"),
                about=t("pytorch.batch.X_about"),
                **marked(X, on_columns=False),
            ),
            of(
                "together",
                "A",
                "batch",
                together,
                padded,
                padded,
                operation=in_batch,
                are_weights=True,
                name=t("pytorch.batch.weights"),
                about=t("pytorch.batch.together_about"),
                **marked(together, on_columns=True),
            ),
            of(
                "output_together",
                "O",
                "batch",
                output,
                padded,
                width,
                operation=in_batch,
                reach=reach,
                name=t("pytorch.batch.output"),
                about=t("pytorch.batch.output_together_about"),
                **marked(output, on_columns=False),
            ),
            of(
                "alone",
                "A",
                "alone",
                alone.heads.weights[head],
                own,
                own,
                operation=by_itself,
                are_weights=True,
                name=t("pytorch.batch.weights"),
                about=t("pytorch.batch.alone_about"),
            ),
            of(
                "output_alone",
                "O",
                "alone",
                alone.output,
                own,
                width,
                operation=by_itself,
                reach=reach,
                name=t("pytorch.batch.output"),
                about=t("pytorch.batch.output_alone_about"),
            ),
            of(
                "weights_apart",
                "",
                "apart",
                alone.heads.weights[head] - c.weights(index)[head],
                own,
                own,
                operation={"kind": "difference", "of": ["alone", "together"]},
                reach=1.0,
                name=t("pytorch.batch.weights"),
                about=t("pytorch.batch.weights_apart_about"),
            ),
            of(
                "output_apart",
                "",
                "apart",
                alone.output - c.output(index),
                own,
                width,
                operation={"kind": "difference", "of": ["output_alone", "output_together"]},
                reach=reach,
                name=t("pytorch.batch.output"),
                about=t("pytorch.batch.output_apart_about"),
            ),
        ],
        axis_labels(e, t.group("feature"))
        | {padded: [*e.tokens, *[t("pytorch.batch.filling")] * int(is_filling.sum())]},
        {padded: [*range(n_places)]},
    )


# --- sentences


def found(t: Texts, c: Compared) -> list[str]:
    """Whether each sentence gives the same as alone, what padding gets, and what it costs."""
    if not c.batch.n_filled:
        return [*_agreement(t, c), t("pytorch.batch.no_filling", count=c.batch.n_places)]
    said = [*_agreement(t, c), *_received(t, c)] if c.is_masked else _leak(t, c)
    return [*said, _waste(t, c)]


def _agreement(t: Texts, c: Compared) -> list[str]:
    of_weights, of_outputs = c.gaps()
    if c.are_same():
        return [t("pytorch.batch.same", weights=size(of_weights), outputs=size(of_outputs))]
    if not c.is_within():
        return [t("pytorch.batch.apart", weights=size(of_weights), outputs=size(of_outputs))]
    summed = [sizes(*each) for each in zip(c.sentences, c.alone, strict=True)]
    if of_weights > _ROUNDING:
        return [
            t(
                "pytorch.batch.rounded",
                weights=size(of_weights),
                outputs=size(of_outputs),
                scores=short(max(_most(each.scores) for each in summed)),
            )
        ]
    return [
        t(
            "pytorch.batch.rounded_outputs",
            weights=size(of_weights),
            outputs=size(of_outputs),
            summands=short(max(_most(each.output) for each in summed)),
        )
    ]


def _received(t: Texts, c: Compared) -> list[str]:
    most = max(float(_given(c, index).max()) for index in range(len(c.sentences)))
    return [t("pytorch.batch.exactly_0")] if most == 0 else []


def _leak(t: Texts, c: Compared) -> list[str]:
    """What real tokens give to padding where nothing forbids it."""
    given = [_given(c, index) for index in range(len(c.sentences))]
    index = int(np.argmax([each.max() for each in given]))
    most = float(given[index].max())
    if most == 0:
        can_look = any(c.batch.allowed[i, :n, n:].any() for i, n in enumerate(c.batch.lengths))
        key = "pytorch.batch.vanishing" if can_look else "pytorch.batch.out_of_sight"
        return [t(key), *_agreement(t, c)]
    head, row = np.unravel_index(int(given[index].argmax()), given[index].shape)
    _, gap = c.gaps()
    return [
        t(
            "pytorch.batch.leak",
            share=percent(most),
            token=tokens.named(c.sentences[index], int(row)),
            number=index + 1,
            head=int(head) + 1,
        ),
        t("pytorch.batch.moved", gap=size(gap)),
    ]


def _given(c: Compared, index: int) -> FloatArray:
    """(n_heads, n): what each token of a sentence gives to padding in all."""
    given: FloatArray = c.batch.on_filling(index).sum(axis=-1)
    return given


def _waste(t: Texts, c: Compared) -> str:
    from attention_core.neural.batch import multiply_adds

    e = c.sentences[0]
    n_places = c.batch.is_real.shape[-1]
    done = len(c.sentences) * multiply_adds(e, n_places)
    needed = sum(multiply_adds(e, length) for length in c.batch.lengths)
    return t(
        "pytorch.batch.waste",
        filled=c.batch.n_filled,
        places=c.batch.n_places,
        wasted=f"{done - needed:,}",
        done=f"{done:,}",
        share=percent((done - needed) / done),
    )


def percent(share: float) -> str:
    """A share with three digits, as a number of hundredths."""
    return short(100 * share)

"""What the step "look" shows of one sentence: what a model says of it, and where it looks."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from attention_core import AttentionError, Experiment, to_plain
from attention_core.arrays import BoolArray, FloatArray
from playground import narrate
from playground.charts import Chart, Line, Map, Panel, figure
from playground.exhibit import Exhibit
from playground.figures import Figure
from playground.lessons.sentiment import Trained, percent
from playground.numerals import short, size
from playground.palette import Theme
from playground.pipeline import Matrix
from playground.texts import Texts, escaped

if TYPE_CHECKING:
    from attention_core.neural.sentiment.corpus import Corpus, Example
    from attention_core.neural.sentiment.model import TextClassifier
    from attention_core.neural.sentiment.reduction import Reduction
    from attention_core.neural.sentiment.training import Epoch, Run

MOST_CHARACTERS = 400  # of a sentence
MOST_ON_BOARD = 24  # tokens of a sentence that stands on the board
ALL_HEADS = 0  # else a head, counted from 1

_MOST_LARGE = 12  # tokens, beyond which a cell shows its colour alone
_MOST_NAMED = 3  # tokens in a sentence
_MOST_TICKS = 16  # beside a heatmap, or they would cover each other
_LEAST = 5e-4  # of a probability: nearer to 0 or 1 it is not written out


@dataclass(frozen=True, eq=False, slots=True)
class Look:
    """What a model makes of one sentence, after one epoch; all of it from one reading."""

    run: "Run"
    corpus: "Corpus"
    index: int  # of the parameters among those that the run has kept
    text: str
    tokens: tuple[str, ...]
    n_cut: int  # tokens beyond those that are read
    is_known: BoolArray  # (n,)
    logit: float
    scores: FloatArray | None  # (H, n, n), scaled
    weights: FloatArray | None  # (H, n, n)
    parts: FloatArray | None  # (n,): what each word adds to the logit of a bag
    bias: float  # of the logit

    @property
    def epoch(self) -> "Epoch":
        """What was measured with these parameters."""
        return moments(self.run)[self.index]

    @property
    def probability(self) -> float:
        """That the sentence is positive."""
        from attention_core.neural.sentiment.model import probability

        return float(probability(self.logit))

    @property
    def is_positive(self) -> bool:
        """What the model takes it for."""
        return self.logit > 0

    @property
    def n_heads(self) -> int:
        return 0 if self.weights is None else len(self.weights)

    @property
    def names(self) -> list[str]:
        """Of the tokens, no two alike."""
        return narrate.labels(self.tokens)


def moments(run: "Run") -> list["Epoch"]:
    """The epoch of each state that the run has kept."""
    if len(run.states) == len(run.epochs):
        return [*run.epochs]
    return [run.epochs[run.kept]]


def result_of(run: "Run") -> int:
    """Which of the states that the run has kept is its result."""
    return min(run.kept, len(run.states) - 1)


def look(trained: Trained, text: str, index: int) -> Look | None:
    """One sentence as the model reads it after an epoch; None if there is no token in it."""
    run, corpus = trained.run, trained.corpus
    return _look(run, corpus, text, index) if corpus.read(text) else None


@lru_cache(maxsize=8)  # each may keep a whole run
def _look(run: "Run", corpus: "Corpus", text: str, index: int) -> Look:
    from attention_core.neural.sentiment.corpus import UNKNOWN
    from attention_core.neural.sentiment.model import batch, contributions, projected

    tokens, model = corpus.read(text), _model(run, index)
    ids = corpus.vocabulary.ids(tokens)
    reading = model(batch([ids]))
    scores = weights = parts = None
    if model.attention is not None:
        Q, K, _ = projected(model.attention, reading.states)
        scores = _numbers(Q @ K.mT / Q.shape[-1] ** 0.5)[0]
        weights = _numbers(reading.weights)[0]
    if model.architecture.kind == "bag":
        parts = _numbers(contributions(model, reading))[0]
    return Look(
        run,
        corpus,
        index,
        text,
        tokens,
        _n_tokens(corpus, text) - len(tokens),
        np.array(ids) != UNKNOWN,
        reading.logits.item(),
        scores,
        weights,
        parts,
        model.head.bias.item(),
    )


def _made(run: "Run", index: int) -> "TextClassifier":
    """With twice the precision it was trained in, so that a board can compute the same."""
    from attention_core.neural.sentiment.model import with_state

    return with_state(run.architecture, run.states[index]).double()


_model = lru_cache(maxsize=8)(_made)  # each may keep a whole run


def _n_tokens(corpus: "Corpus", text: str) -> int:
    """How many there are, those too that are not read."""
    from attention_core.neural.sentiment.tokens import cut

    return len(cut(text, corpus.how, corpus.known or corpus.vocabulary.words))


@lru_cache(maxsize=8)  # each may keep a whole run
def course(run: "Run", ids: tuple[int, ...]) -> list[float]:
    """The probability of a sentence after each epoch that the run has kept."""
    from attention_core.neural.sentiment.model import batch, probability

    models = (_made(run, index) for index in range(len(run.states)))
    return [float(probability(model(batch([ids])).logits.item())) for model in models]


@lru_cache(maxsize=8)  # each may keep a whole run
def beginnings(run: "Run", index: int, ids: tuple[int, ...]) -> list[float]:
    """The probability of the first token alone, of the first two, and so on."""
    from attention_core.neural.sentiment.model import batch, probability

    firsts = [ids[: n + 1] for n in range(len(ids))]
    likely: list[float] = probability(_model(run, index)(batch(firsts)).logits.tolist()).tolist()
    return likely


def _numbers(tensor: Any) -> FloatArray:
    numbers: FloatArray = tensor.detach().numpy()
    return numbers


# --- sentences to look at


@dataclass(frozen=True, slots=True)
class Offered:
    """Sentences that the model was tried on."""

    right: tuple["Example", ...]
    wrong: tuple["Example", ...]  # the surest mistakes first

    def text(self, kind: str, count: int) -> str:
        """The sentence of this kind after so many others; after the last comes the first."""
        examples = self.right if kind == "right" else self.wrong
        return examples[count % len(examples)].text


@lru_cache(maxsize=8)
def _offered(run: "Run", corpus: "Corpus") -> Offered:
    from attention_core.neural.sentiment.training import logits, result

    examples = corpus.validation
    if not examples:
        return Offered((), ())
    given = logits(result(run), [corpus.vocabulary.ids(each.tokens) for each in examples]).tolist()
    tried = [*zip(given, examples, strict=True)]
    wrong = [pair for pair in tried if (pair[0] > 0) != (pair[1].label == 1)]
    wrong.sort(key=lambda pair: -abs(pair[0]))
    right = [each for logit, each in tried if (logit > 0) == (each.label == 1)]
    return Offered(tuple(right), tuple(each for _, each in wrong))


def offered(trained: Trained) -> Offered:
    """Validation sentences that the result of the training gets right, and wrong."""
    return _offered(trained.run, trained.corpus)


def first(t: Texts, trained: Trained) -> str:
    """The sentence that is looked at first."""
    examples = trained.corpus.validation
    return examples[0].text if examples else t("sentiment.look.first")


@lru_cache(maxsize=4)
def _labels(corpus: "Corpus") -> dict[str, tuple[bool, int]]:
    """For each sentence of a corpus whether it was learnt from, and its label."""
    learnt = {each.text: (True, each.label) for each in corpus.train}
    return learnt | {each.text: (False, each.label) for each in corpus.validation}


# --- what is shown


def head_names(t: Texts, n_heads: int) -> dict[int, str]:
    """All heads, and each by itself."""
    return {ALL_HEADS: t("sentiment.look.all_heads")} | {
        head: str(head) for head in range(1, n_heads + 1)
    }


def epoch_names(run: "Run") -> dict[int, str]:
    """The epoch of each state that can be looked at."""
    return {index: str(epoch.number) for index, epoch in enumerate(moments(run))}


def is_on_board(look: Look) -> bool:
    """Whether it is short enough to be read as numbers, and there is something to lay there."""
    has_matrix = look.weights is not None or look.parts is not None
    return has_matrix and len(look.tokens) <= MOST_ON_BOARD


def weights_of(look: Look, head: int) -> FloatArray:
    """(n, n): of one head, or the mean of all."""
    assert look.weights is not None
    weights: FloatArray = look.weights.mean(axis=0) if head == ALL_HEADS else look.weights[head - 1]
    return weights


def attended_in(look: Look, head: int) -> FloatArray:
    """(n,): how much each token is looked at, by all tokens alike."""
    attended: FloatArray = weights_of(look, head).mean(axis=0)
    return attended


def exhibit(t: Texts, look: Look, head: int) -> Exhibit:
    """The board: weights and what each token gets of them, or what each word adds."""
    return _of_attention(t, look, head) if look.parts is None else _of_bag(t, look)


def _of_attention(t: Texts, look: Look, head: int) -> Exhibit:
    is_one = head != ALL_HEADS or look.n_heads == 1
    mean, one = t("sentiment.look.mean_told", count=look.n_heads), t("sentiment.look.weight_told")
    told = {"kind": "told", "text": one if is_one else mean}
    is_compact = len(look.tokens) > _MOST_LARGE
    has_scores = is_one and not is_compact  # else two large squares would stand there
    matrices = []
    if has_scores:
        assert look.scores is not None
        matrices.append(
            Matrix(
                "look_scores",
                "S",
                "scores",
                look.scores[max(head, 1) - 1],
                "tokens",
                "tokens",
                operation={"kind": "told", "text": t("sentiment.look.scores_told")},
                name=t("sentiment.look.scores"),
                about=t("sentiment.look.scores_about"),
            )
        )
    matrices += [
        Matrix(
            "look_weights",
            "A",
            "weights",
            weights_of(look, head),
            "tokens",
            "tokens",
            "softmax({look_scores})" if has_scores else "",
            {"kind": "softmax", "of": ["look_scores"]} if has_scores else told,
            are_weights=True,
            name=t("sentiment.look.weights"),
            about=t("sentiment.look.weights_about"),
            is_compact=is_compact,
        ),
        Matrix(
            "look_attended",
            "",
            "attended",
            attended_in(look, head)[None],
            "all",
            "tokens",
            operation={"kind": "mean", "of": ["look_weights"]},
            are_weights=True,
            name=t("sentiment.look.attended"),
            about=t("sentiment.look.attended_about"),
            is_compact=is_compact,
        ),
    ]
    stages = {
        "scores": t("sentiment.look.scores_stage"),
        "weights": t("sentiment.look.weights_stage"),
        "attended": t("sentiment.look.attended_stage"),
    }
    axes = {"tokens": look.tokens, "all": [t("sentiment.look.all")]}
    return Exhibit(None, stages, matrices, axes)


def _of_bag(t: Texts, look: Look) -> Exhibit:
    assert look.parts is not None
    reach = float(np.abs(look.parts).max()) or 1.0
    total = np.array([[look.parts.sum()]])
    bias = np.array([[look.bias]])
    most = float(np.abs([total, bias, total + bias]).max()) or 1.0

    def of(id: str, stage: str, values: FloatArray, columns: str, **more: Any) -> Matrix:
        return Matrix(id, "", stage, values, "all", columns, **more)

    return Exhibit(
        None,
        {"parts": t("sentiment.look.parts_stage"), "sum": t("sentiment.look.sum_stage")},
        [
            of(
                "look_parts",
                "parts",
                look.parts[None],
                "tokens",
                operation={"kind": "told", "text": _part_told(t, look)},
                reach=reach,
                name=t("sentiment.look.parts"),
                about=t("sentiment.look.parts_about"),
                is_compact=len(look.tokens) > _MOST_LARGE,
            ),
            of(
                "look_sum",
                "sum",
                total,
                "one",
                operation={"kind": "row_sums", "of": ["look_parts"]},
                reach=most,
                name=t("sentiment.look.sum"),
                about=t("sentiment.look.sum_about"),
            ),
            of(
                "look_bias",
                "sum",
                bias,
                "one",
                operation={"kind": "told", "text": t("sentiment.look.bias_told")},
                reach=most,
                name=t("sentiment.look.bias"),
                about=t("sentiment.look.bias_about"),
            ),
            of(
                "look_logit",
                "sum",
                total + bias,
                "one",
                operation={"kind": "add", "of": ["look_sum", "look_bias"]},
                reach=most,
                name=t("sentiment.look.logit"),
                about=t("sentiment.look.logit_about"),
            ),
        ],
        {"tokens": look.tokens, "all": [t("sentiment.look.sentence")], "one": ["z"]},
    )


def _part_told(t: Texts, look: Look) -> str:
    match look.run.architecture.pooling:
        case "mean":
            return t("sentiment.look.part_of_mean", count=len(look.tokens))
        case "max":
            return t("sentiment.look.part_of_max")
        case _:
            return t("sentiment.look.part_of_last")


def panels(t: Texts, look: Look, head: int) -> list[Panel]:
    """What does not stand on the board: a long sentence, and how it went through the training."""
    shown: list[Panel] = []
    if look.weights is not None and not is_on_board(look):
        shown += _long(t, look, head)
    if look.parts is not None and not is_on_board(look):
        title, name = t("sentiment.look.parts_stage"), t("sentiment.look.parts")
        shown.append(_bars(title, name, look, look.parts))
    if look.weights is None and look.parts is None:
        ids = tuple(look.corpus.vocabulary.ids(look.tokens))
        values = beginnings(look.run, look.index, ids)
        shown.append(
            _bars(
                t("sentiment.look.beginnings"),
                t("sentiment.look.positive"),
                look,
                values,
                (0.0, 1.02),
            )
        )
    if len(look.run.states) > 1:
        shown.append(_course(t, look))
    return shown


def curves(t: Texts, look: Look, head: int, theme: Theme) -> Figure | None:
    """The figure of all panels, if there are any."""
    shown = panels(t, look, head)
    return figure(shown, theme, n_columns=1) if shown else None


def curves_alt(t: Texts, look: Look) -> str:
    """What the figure shows, for those who do not see it."""
    said = []
    if look.weights is not None and not is_on_board(look):
        said.append(t("sentiment.look.map_alt"))
    if look.parts is not None and not is_on_board(look):
        said.append(t("sentiment.look.parts_alt"))
    if look.weights is None and look.parts is None:
        said.append(t("sentiment.look.beginnings_alt"))
    if len(look.run.states) > 1:
        said.append(t("sentiment.look.course_alt"))
    return _joined(t, said)


def _long(t: Texts, look: Look, head: int) -> list[Panel]:
    every = -(-len(look.tokens) // _MOST_TICKS)
    ticks = [name if place % every == 0 else "" for place, name in enumerate(look.names)]
    of_weights = Map(
        t("sentiment.look.map"),
        weights_of(look, head),
        "",  # a title below would run into the panel below
        t("sentiment.look.looking"),
        are_weights=True,
        rows=ticks,
        columns=ticks,
    )
    title, name = t("sentiment.look.attended_stage"), t("sentiment.look.attended")
    return [of_weights, _bars(title, name, look, attended_in(look, head))]


def _bars(
    title: str,
    name: str,
    look: Look,
    values: Sequence[float] | FloatArray,
    y_range: tuple[float, float] | None = None,
) -> Chart:
    lines = [Line(name, look.names, [float(value) for value in values], shape="bars")]
    return Chart(title, "", "", lines, y_range=y_range)


def _course(t: Texts, look: Look) -> Chart:
    run = look.run
    epochs = moments(run)
    numbers = [epoch.number for epoch in epochs]
    ids = tuple(look.corpus.vocabulary.ids(look.tokens))
    return Chart(
        t("sentiment.look.course"),
        t("sentiment.look.epoch"),
        "",
        [
            Line(t("sentiment.look.positive"), numbers, course(run, ids)),
            Line(
                t("sentiment.look.accuracy"),
                numbers,
                [epoch.accuracy for epoch in epochs],
                1,
                "dashed",
            ),
        ],
        y_range=(0.0, 1.02),
        x_range=(numbers[0] - 0.2, numbers[-1] + 0.2),
        x_marks=[look.epoch.number],
    )


# --- sentences


def verdict(t: Texts, look: Look) -> str:
    """What the model takes the sentence for, and whether that is right, where it is known."""
    return _joined(t, [_verdict(t, look), *_label(t, look)])


def _joined(t: Texts, sentences: Sequence[str]) -> str:
    return ("" if t.language == "zh" else " ").join(sentences)


def found(t: Texts, look: Look, head: int) -> list[str]:
    """What the model knows of the sentence, where it looks, and how good it is."""
    said = _unread(t, look)
    if look.weights is not None:
        said += _looks(t, look, head)
    elif look.parts is not None:
        said += _adds(t, look)
    else:
        said.append(t("sentiment.look.no_weights"))
    return [*said, _accuracy(t, look)]


def _verdict(t: Texts, look: Look) -> str:
    side = look.probability if look.is_positive else 1 - look.probability
    label = t("sentiment.look.is_positive") if look.is_positive else t("sentiment.look.is_negative")
    return t(
        "sentiment.look.verdict",
        epoch=look.epoch.number,
        label=label,
        probability=probability(side),
    )


def probability(value: float) -> str:
    """With three decimals, or that it is nearer to 0 or 1 than they can tell."""
    if value < _LEAST:
        return "< 0.001"
    return "> 0.999" if value > 1 - _LEAST else f"{value:.3f}"


def _label(t: Texts, look: Look) -> list[str]:
    """Whether that is right, where it is known."""
    known = _labels(look.corpus).get(look.text)
    if known is None:
        return []
    is_learnt, label = known
    named = t("sentiment.look.is_positive") if label else t("sentiment.look.is_negative")
    key = "sentiment.look.learnt_label" if is_learnt else "sentiment.look.tried_label"
    is_right = look.is_positive == (label == 1)
    right = t("sentiment.look.is_right") if is_right else t("sentiment.look.is_wrong")
    return [t(key, label=named, right=right)]


def _unread(t: Texts, look: Look) -> list[str]:
    """Tokens that are not known, or not read at all."""
    said = []
    unknown = [
        token for token, is_known in zip(look.tokens, look.is_known, strict=True) if not is_known
    ]
    if len(unknown) == len(look.tokens):
        said.append(t("sentiment.look.all_unknown"))
    elif unknown:
        differing = [*dict.fromkeys(unknown)]
        said.append(t("sentiment.look.unknown", count=len(differing), tokens=_listed(t, differing)))
    if look.n_cut:
        said.append(t("sentiment.look.cut", most=len(look.tokens), count=look.n_cut))
    return said


def _listed(t: Texts, tokens: Sequence[str]) -> str:
    named = [escaped(name) for name in narrate.names(tokens[:_MOST_NAMED])]
    shown = t("narrate.comma").join(named)
    rest = len(tokens) - _MOST_NAMED
    return t("narrate.more", listed=shown, count=rest) if rest > 0 else shown


def _looks(t: Texts, look: Look, head: int) -> list[str]:
    """Who is looked at most, and how much each would be if all were alike."""
    attended, n = attended_in(look, head), len(look.tokens)
    if n == 1:
        return [t("sentiment.look.single")]
    names = narrate.names(look.tokens)
    order = np.argsort(-attended, kind="stable")[:_MOST_NAMED]
    listed = t("narrate.comma").join(
        t("narrate.with_number", name=escaped(names[place]), number=short(attended[place]))
        for place in order
    )
    said = [t("sentiment.look.looks", listed=listed, even=short(1 / n))]
    if look.run.architecture.pooling == "attended" and head == ALL_HEADS:
        said.append(t("sentiment.look.pools"))
    return said


def _adds(t: Texts, look: Look) -> list[str]:
    """Which words weigh most for either side."""
    assert look.parts is not None
    names, parts = narrate.names(look.tokens), look.parts
    most, least = int(parts.argmax()), int(parts.argmin())

    def named(place: int) -> str:
        return t("narrate.with_number", name=escaped(names[place]), number=short(parts[place]))

    said = [t("sentiment.look.adds")]
    if parts[most] > 0:
        said.append(t("sentiment.look.most_positive", token=named(most)))
    if parts[least] < 0:
        said.append(t("sentiment.look.most_negative", token=named(least)))
    return said


def _accuracy(t: Texts, look: Look) -> str:
    epoch, count = look.epoch, len(look.corpus.validation)
    if not count:
        return t("sentiment.look.claimed", share=percent(t, epoch.accuracy))
    key = "sentiment.look.untrained" if epoch.number == 0 else "sentiment.look.reached"
    return t(key, right=round(epoch.accuracy * count), count=count)


# --- to the Playground


@lru_cache(maxsize=8)  # each may keep a whole run
def reduction(look: Look) -> "Reduction | AttentionError":
    """The sentence as an experiment, or why it cannot be one."""
    from attention_core.neural.sentiment.model import batch
    from attention_core.neural.sentiment.reduction import reduced

    model = _model(look.run, look.index)
    reading = model(batch([look.corpus.vocabulary.ids(look.tokens)]))
    try:
        return reduced(model, reading, look.tokens)
    except AttentionError as error:
        return error


def is_taken(e: Experiment, taken: "Reduction") -> bool:
    """Whether the experiment is this one already."""
    return to_plain(e) == to_plain(taken.experiment)


def take_told(t: Texts, taken: "Reduction") -> str:
    """What of the model goes along, and how nearly."""
    e = taken.experiment
    said = [
        t(
            "sentiment.look.take_told",
            features=e.d_model,
            decimals=taken.n_decimals,
            weights=size(taken.weights_error),
            context=size(100 * taken.context_error),
        )
    ]
    if taken.n_tokens > e.n_tokens:
        said.insert(0, t("sentiment.look.take_some", kept=e.n_tokens, count=taken.n_tokens))
    return _joined(t, said)

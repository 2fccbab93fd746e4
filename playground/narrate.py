"""Sentences about what one head shows: who looks where, how sharply, and what made it so.

How sharp a row is is told as the number of keys it might as well have chosen from evenly:

    effective = exp(entropy(weights)),   from 1 (one-hot) to n (uniform)

Source: Hill 1973, "Diversity and evenness", Ecology 54, the number of order 1; in language
models the same number is called perplexity. A row that may attend to n keys is

    sharp    if effective <= 1 + (n - 1) / 4       3.75 of 12 keys, 1.25 of 2
    spread   if effective >= 1 + 9 (n - 1) / 10    10.9 of 12 keys, 1.9 of 2
    mixed    in between

The two ends differ since the number stays near n for long: weights of 0.5, 0.25 and 0.25 still
count as 2.83 of 3. A row with one key or none has nothing to choose and gets no such word.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias
from unicodedata import bidirectional

import numpy as np

from attention_core import AttentionTrace, Experiment, ExperimentTrace, entropy, softmax
from attention_core.arrays import FloatArray
from playground.texts import Texts

Kind: TypeAlias = Literal["summary", "sharpness", "looks", "empty", "equal", "masked", "adds"]
Sharpness: TypeAlias = Literal["sharp", "mixed", "spread"]

_ROUNDING = 1e-12  # nothing closer is told apart, nothing farther apart is called equal or all
_NEARLY_EVEN = 0.1  # every weight within a tenth of the mean
_CLOSE_BEHIND = 0.9  # of the strongest weight
_MOST_LISTED = 3  # tokens in one list; the rest are counted
_LONGEST = 16  # characters of a token in a sentence

_SHARPNESS = {"sharp": "narrate.sharp", "mixed": "narrate.mixed", "spread": "narrate.spread"}
_QUOTES = (("“", "”"), ("‘", "’"), ("«", "»"))
# Embeddings, overrides and isolates: one inside a token could end the isolate around it and
# turn round the rest of the sentence.
_DIRECTIONS = dict.fromkeys([*range(0x202A, 0x202F), *range(0x2066, 0x206A)])


@dataclass(frozen=True, slots=True)
class Sentence:
    """One thing that is seen, as plain text: what the learner typed is not escaped in it."""

    kind: Kind
    row: int | None  # the one query it is about; None for several, or the whole head
    text: str


def narrate(t: Texts, experiment: Experiment, trace: ExperimentTrace, head: int) -> list[Sentence]:
    """What this head shows, the point first: summary, rows, equal rows, mask, all heads."""
    one = trace.attention.head(head)
    say = _Speech(t, experiment.tokens)
    return [
        *_summary(say, one),
        *_sharp_rows(say, one),
        *_looks(say, one),
        *_equal(say, one, trace.inputs),
        *(_masked(say, one) if experiment.mask.kinds else ()),
        *_adds(say, trace.attention.contributions),
    ]


def sharpness(effective: float, count: int) -> Sharpness:
    """The word for a row that as good as chose from `effective` of `count` keys, at least 2."""
    share = (effective - 1) / (count - 1)
    return "sharp" if share <= 1 / 4 else "spread" if share >= 9 / 10 else "mixed"


def names(tokens: Sequence[str]) -> list[str]:
    """What each token goes by in a sentence: its label in quotes, such as “the (1)”."""
    return [_quoted(label) for label in labels(tokens)]


def labels(tokens: Sequence[str]) -> list[str]:
    """What each token goes by: cut if long, no two alike.

    Repeated ones are told apart by their place, as on the board: the (1).
    """
    shown = [_shown(token) for token in tokens]
    numbered = [f"{name} ({place})" for place, name in enumerate(shown, 1)]
    told = [
        with_place if shown.count(name) > 1 else name
        for name, with_place in zip(shown, numbered, strict=True)
    ]
    if len(set(told)) < len(told):  # one is itself called "the (1)"
        return numbered
    return told


def _shown(token: str) -> str:
    plain = token.translate(_DIRECTIONS)
    short = plain if len(plain) <= _LONGEST else f"{plain[: _LONGEST - 1]}…"
    runs_left = any(bidirectional(character) in ("R", "AL", "AN") for character in short)
    # Right-to-left letters would take the quotes and numbers beside them along.
    return f"\u2068{short}\u2069" if runs_left else short


def _quoted(name: str) -> str:
    unused = (pair for pair in _QUOTES if not set(pair) & set(name))
    start, end = next(unused, _QUOTES[0])
    return f"{start}{name}{end}"


class _Speech:
    """How tokens, numbers and lists are said in one language."""

    def __init__(self, t: Texts, tokens: Sequence[str]) -> None:
        self.t = t
        self.names = names(tokens)

    def key(self, row: int, key: int) -> str:
        t = self.t
        return t("narrate.itself") if row == key else self.names[key]

    def weight(self, value: float) -> str:
        """Two decimals, but neither 0.00 nor 1.00 for what only comes close to them."""
        t = self.t
        return t("narrate.over") if 0.99 < value < 1 - _ROUNDING else self.length(value)

    def length(self, value: float) -> str:
        t = self.t
        if value < 0.01:
            return t("narrate.under")
        if value < 99_999.5:
            return f"{value:.2f}"
        digits, exponent = f"{value:.1e}".split("e")
        return f"{digits}e{int(exponent)}"

    def effective(self, effective: float, count: int) -> str:
        t, number = self.t, f"{effective:.1f}"
        if number == "1.0":
            return t("narrate.little_more")
        if number == f"{count}.0":
            return t("narrate.almost", count=count)
        return t("narrate.number", number=number)

    def with_number(self, name: str, number: str) -> str:
        t = self.t
        return t("narrate.with_number", name=name, number=number)

    def all(self, parts: Sequence[str]) -> str:
        t = self.t
        *first, last = parts
        if not first:
            return last
        return t("narrate.and", first=t("narrate.comma").join(first), last=last)

    def some(self, parts: Sequence[str]) -> str:
        """A list that stays short."""
        t, n_more = self.t, len(parts) - _MOST_LISTED
        if n_more <= 1:  # "and 1 more" is no shorter than the name
            return self.all(parts)
        listed = t("narrate.comma").join(parts[:_MOST_LISTED])
        return t("narrate.more", listed=listed, count=n_more)


def _strongest(values: Sequence[float]) -> list[int]:
    """Where the largest value stands; several places if they differ by rounding alone."""
    least = max(values) * (1 - _ROUNDING)
    return [place for place, value in enumerate(values) if value >= least]


def _descending(places: Iterable[int], values: Sequence[float]) -> list[int]:
    return sorted(places, key=lambda place: -values[place])


def _only(rows: Sequence[int]) -> int | None:
    return rows[0] if len(rows) == 1 else None


# --- the head as a whole


def _summary(say: _Speech, one: AttentionTrace) -> list[Sentence]:
    """Which key gets most of what all queries have to give."""
    t = say.t
    n_looking = np.count_nonzero(one.allowed.any(axis=-1))
    if n_looking == 0:
        return [Sentence("summary", None, t("narrate.summary_empty"))]
    received: list[float] = (one.weights.sum(axis=0) / n_looking).tolist()
    most = _strongest(received)
    top = received[most[0]]
    to, share = say.some([say.names[key] for key in most]), say.weight(top)
    if top >= 1 - _ROUNDING:
        text = t("narrate.summary_all", to=to)
    elif len(most) == len(received):
        text = t("narrate.summary_even", share=share)
    elif len(most) > 1:
        text = t("narrate.summary_tied", to=to, share=share)
    else:
        text = t("narrate.summary_one", to=to, share=share)
    return [Sentence("summary", None, text)]


def _sharp_rows(say: _Speech, one: AttentionTrace) -> list[Sentence]:
    """How many queries, of those that have a choice, are sharp."""
    t = say.t
    rows = zip(_effective(one), one.allowed.sum(axis=-1).tolist(), strict=True)
    words = [sharpness(effective, count) for effective, count in rows if count > 1]
    if not words:
        return []
    text = t(
        "narrate.sharpness",
        sharp=words.count("sharp"),
        mixed=words.count("mixed"),
        spread=words.count("spread"),
    )
    return [Sentence("sharpness", None, text)]


def _effective(one: AttentionTrace) -> list[float]:
    effective: list[float] = np.exp(entropy(one.weights)).tolist()
    return effective


# --- row by row


def _looks(say: _Speech, one: AttentionTrace) -> list[Sentence]:
    """For each query, where it looks and how sharply."""
    t = say.t
    rows = zip(one.weights.tolist(), one.allowed.tolist(), _effective(one), strict=True)
    return [
        Sentence("looks", row, _row(say, row, weights, allowed, effective))
        if any(allowed)
        else Sentence("empty", row, t("narrate.empty", row=say.names[row]))
        for row, (weights, allowed, effective) in enumerate(rows)
    ]


def _row(
    say: _Speech, row: int, weights: list[float], allowed: list[bool], effective: float
) -> str:
    t, name, count = say.t, say.names[row], sum(allowed)
    most = _strongest(weights)
    top = weights[most[0]]
    if count == 1:
        return t("narrate.only", row=name, to=say.key(row, most[0]))
    if top >= 1 - _ROUNDING:
        return t("narrate.looks_all", row=name, to=say.key(row, most[0]))
    if len(most) == count:
        return t("narrate.even", row=name, count=count, weight=say.weight(top))
    seen = (weight for weight, is_allowed in zip(weights, allowed, strict=True) if is_allowed)
    if all(abs(weight * count - 1) <= _NEARLY_EVEN for weight in seen):
        return t("narrate.nearly_even", row=name, count=count, mean=say.weight(1 / count))
    return _uneven_row(say, row, weights, effective, count)


def _uneven_row(say: _Speech, row: int, weights: list[float], effective: float, count: int) -> str:
    """A row in which some of several keys stand out."""
    t, name = say.t, say.names[row]
    most = _strongest(weights)
    top = weights[most[0]]
    close = [key for key, w in enumerate(weights) if w >= _CLOSE_BEHIND * top and key not in most]
    to, weight = say.some([say.key(row, key) for key in most]), say.weight(top)
    word = sharpness(effective, count)
    how = t(_SHARPNESS[word], effective=say.effective(effective, count), count=count)
    if len(most) > 1:
        return t("narrate.looks_tied", row=name, to=to, weight=weight, sharpness=how)
    if close:
        keys = _descending(close, weights)
        others = [say.with_number(say.key(row, key), say.weight(weights[key])) for key in keys]
        behind = say.some(others)
        return t(
            "narrate.looks_close", row=name, to=to, weight=weight, others=behind, sharpness=how
        )
    if top > 0.99:
        return t("narrate.looks_almost_all", row=name, to=to, weight=weight, sharpness=how)
    if top > 0.5 and word != "spread":
        return t("narrate.looks_mostly", row=name, to=to, weight=weight, sharpness=how)
    return t("narrate.looks_most", row=name, to=to, weight=weight, sharpness=how)


def _equal(say: _Speech, one: AttentionTrace, inputs: FloatArray) -> list[Sentence]:
    """Which queries attend in the same way; those that attend to nothing are left out."""
    t, n_tokens = say.t, len(say.names)
    apart = np.abs(one.weights[:, None] - one.weights[None]).max(axis=-1)  # (n_q, n_q)
    same = (apart <= _ROUNDING).tolist()
    left: list[int] = np.flatnonzero(one.allowed.any(axis=-1)).tolist()
    sentences = []
    while left:
        rows = [row for row in left if same[left[0]][row]]
        left = [row for row in left if row not in rows]
        if len(rows) == 1:
            continue
        named = say.some([say.names[row] for row in rows])
        if (inputs[rows] == inputs[rows[0]]).all():
            text = t("narrate.equal_vectors", rows=named)
        elif len(rows) == n_tokens:
            text = t("narrate.equal_all", count=n_tokens)
        else:
            text = t("narrate.equal_rows", rows=named)
        sentences.append(Sentence("equal", None, text))
    return sentences


# --- what the mask took


def _masked(say: _Speech, one: AttentionTrace) -> list[Sentence]:
    """What each query would have given to the keys that it may not attend to."""
    t = say.t
    taken = np.where(one.allowed, 0.0, softmax(one.biased_scores))  # (n_q, n_k)
    totals: list[float] = taken.sum(axis=-1).tolist()
    sentences, kept = [], []
    for row, (total, lost) in enumerate(zip(totals, taken.tolist(), strict=True)):
        losers = _descending((k for k, weight in enumerate(lost) if weight > _ROUNDING), lost)
        if not losers:
            kept.append(row)
            continue
        to = say.some([say.with_number(say.names[k], say.weight(lost[k])) for k in losers])
        if total >= 1 - _ROUNDING:
            text = t("narrate.masked_all", row=say.names[row], to=to)
        else:
            text = t("narrate.masked", row=say.names[row], lost=say.weight(total), to=to)
        sentences.append(Sentence("masked", row, text))
    if len(kept) == len(totals):
        return [Sentence("masked", None, t("narrate.unmasked_all"))]
    if kept:
        text = t("narrate.unmasked", rows=say.some([say.names[row] for row in kept]))
        sentences.append(Sentence("masked", _only(kept), text))
    return sentences


# --- what the heads add


def _adds(say: _Speech, contributions: FloatArray) -> list[Sentence]:
    """How long the part of each head is, over all tokens and where a token differs from that."""
    t, n_heads = say.t, len(contributions)
    if n_heads == 1:
        return []
    of_rows = _lengths(contributions)  # (n_heads, n_tokens)
    sizes: list[float] = _lengths(of_rows).tolist()  # n_heads
    adding = [head for head, size in enumerate(sizes) if size > 0]
    if not adding:
        return [Sentence("adds", None, t("narrate.adds_none"))]
    named = [t("narrate.head", number=head + 1) for head in range(n_heads)]
    most = _strongest(sizes)
    heads, length = say.all([named[head] for head in most]), say.length(sizes[most[0]])
    if len(adding) == 1:
        text = t("narrate.adds_only", heads=heads, length=length)
    elif len(most) == n_heads:
        text = t("narrate.adds_even", count=n_heads, length=length)
    elif len(most) > 1:
        text = t("narrate.adds_tied", heads=heads, length=length)
    else:
        text = t("narrate.adds_most", heads=heads, length=length)
    texts = [text]
    less = _descending((head for head in adding if head not in most), sizes)
    if less:
        sized = [say.with_number(named[head], say.length(sizes[head])) for head in less]
        texts.append(t("narrate.adds_less", heads=say.all(sized)))
    idle = [name for name, size in zip(named, sizes, strict=True) if size == 0]
    if idle:
        texts.append(t("narrate.adds_nothing", heads=say.all(idle)))
    overall = [Sentence("adds", None, text) for text in texts]
    return overall + _adds_elsewhere(say, of_rows, most, named)


def _adds_elsewhere(
    say: _Speech, of_rows: FloatArray, most: list[int], named: list[str]
) -> list[Sentence]:
    """The tokens whose largest part comes from other heads than that of the whole."""
    t = say.t
    led_by: dict[tuple[int, ...], list[int]] = {}
    for row, sizes in enumerate(of_rows.T.tolist()):
        leaders = _strongest(sizes)
        if leaders != most and max(sizes) > 0:
            led_by.setdefault(tuple(leaders), []).append(row)
    sentences = []
    for same, rows in led_by.items():
        lengths = map(say.length, of_rows[same[0], rows].tolist())
        sized = [
            t("narrate.with_length", name=say.names[row], length=length)
            for row, length in zip(rows, lengths, strict=True)
        ]
        heads = say.all([named[head] for head in same])
        if len(same) > 1:
            text = t("narrate.adds_tied_here", rows=say.some(sized), heads=heads)
        else:
            text = t("narrate.adds_most_here", rows=say.some(sized), heads=heads)
        sentences.append(Sentence("adds", _only(rows), text))
    return sentences


def _lengths(vectors: FloatArray) -> FloatArray:
    """(..., n) to (...): Euclidean lengths in which no square overflows or becomes 0."""
    largest = np.abs(vectors).max(axis=-1, keepdims=True)
    unit = vectors / np.where(largest == 0, 1.0, largest)
    lengths: FloatArray = largest[..., 0] * np.sqrt((unit**2).sum(axis=-1))
    return lengths

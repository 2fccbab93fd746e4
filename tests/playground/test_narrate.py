"""Sentences about a trace: each is read back and held against the arrays, in both languages."""

import math
import re
import string
from dataclasses import replace
from itertools import chain, combinations, pairwise
from string import Formatter
from unicodedata import bidirectional

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attention_core import PRESETS, Experiment, Mask
from playground.narrate import names, narrate, sharpness
from playground.texts import LANGUAGES, Texts
from tests.playground.experiments import every_setting, experiments
from tests.playground.experiments import tokens as any_tokens

every_language = pytest.mark.parametrize("language", LANGUAGES)


def said(experiment, head=0, language="en"):
    return narrate(Texts(language), experiment, experiment.trace(), head)


def texts_of(experiment, head=0, language="en", row=None):
    return [s.text for s in said(experiment, head, language) if row is None or s.row == row]


# --- experiments with wanted numbers


def looking(*rows, mask=None, tokens=string.ascii_lowercase):
    """A head with exactly these weights, up to rounding; tokens a, b, c, ..."""
    n = len(rows)
    with np.errstate(divide="ignore"):
        scores = np.maximum(np.log(np.array(rows, dtype=float)), -1000)  # exp(-1000) is 0
    return Experiment(
        tuple(tokens[:n]),
        np.eye(n),
        W_Q=scores[None],
        W_K=np.eye(n)[None],
        W_V=np.eye(n)[None],
        mask=mask or Mask(),
        is_scaled=False,
    )


def adding(*heads):
    """Heads in which each token looks at itself alone; a head gives token i a part of heads[i]."""
    n_tokens = len(heads[0])
    start = looking(*np.eye(n_tokens))
    return replace(
        start,
        W_Q=np.repeat(start.W_Q, len(heads), axis=0),
        W_K=np.repeat(start.W_K, len(heads), axis=0),
        W_V=np.array([np.diag(sizes) for sizes in heads], dtype=float),
        canvas=None,
    )


def padded(n):
    return Mask(("padding",), n_padding=n)


CAUSAL = Mask(("causal",))
EVEN3 = [1 / 3] * 3


# --- every text, in the numbers that call for it and in others that do not

#   key: (experiment that calls for it, one that does not, English, Chinese)
CASES = {
    "summary_all": (
        looking([0, 1], [0, 1]),
        looking([0, 1], [0.001, 0.999]),
        "All attention goes to “b”.",
        "所有注意力都给了“b”。",
    ),
    "summary_one": (
        looking([0.6, 0.3, 0.1], [0.2, 0.5, 0.3], [0.1, 0.1, 0.8]),
        looking([0.6, 0.3, 0.1], [0.2, 0.5, 0.3], [0.1, 0.2, 0.7]),
        "“c” gets the most attention: 0.40 of all there is.",
        "在全部注意力中，“c”得到的最多（0.40）。",
    ),
    "summary_tied": (
        looking([0.5, 0.25, 0.25], [0.25, 0.5, 0.25], [0.45, 0.45, 0.1]),
        looking([0.5, 0.25, 0.25], [0.25, 0.5, 0.25], [0.4501, 0.4499, 0.1]),
        "“a” and “b” get the most attention, equally much: 0.40 of all there is for each.",
        "在全部注意力中，“a”和“b”得到的最多，而且一样多（各 0.40）。",
    ),
    "summary_even": (
        looking([0.7, 0.3], [0.3, 0.7]),
        looking([0.7, 0.3], [0.3001, 0.6999]),
        "All tokens get equally much attention (0.50 of it each).",
        "每个词元得到的注意力一样多（各 0.50）。",
    ),
    "summary_empty": (
        looking(EVEN3, EVEN3, EVEN3, mask=padded(3)),
        looking(EVEN3, EVEN3, EVEN3, mask=padded(2)),
        "No token may attend to anything, so all weights are 0.",
        "没有一个词元有可以关注的对象，所以权重全是 0。",
    ),
    "sharpness": (
        looking([0.9, 0.05, 0.05], [0.6, 0.3, 0.1], EVEN3),
        looking([0.8, 0.1, 0.1], [0.6, 0.3, 0.1], EVEN3),
        "How many tokens attend sharply: 1; mixed: 1; spread out: 1.",
        "注意力集中的词元：1 个；居中：1 个；分散：1 个。",
    ),
    "only": (
        looking([0.6, 0.4], [0.5, 0.5], mask=CAUSAL),
        looking([0.6, 0.4], [0.5, 0.5]),
        "“a” may attend to itself alone, so all its weight is there.",
        "“a”只能关注自己，所以全部权重都在那里。",
    ),
    "looks_all": (
        looking([0, 1], [0.5, 0.5]),
        looking([1e-9, 1 - 1e-9], [0.5, 0.5]),
        "“a” gives all its attention to “b”: as sharp as can be.",
        "“a”把全部注意力给了“b”，集中到了极点。",
    ),
    "looks_almost_all": (
        looking([0.004, 0.996], [0.5, 0.5]),
        looking([0.012, 0.988], [0.5, 0.5]),
        "“a” gives almost all its attention to “b” (over 0.99): "
        "sharp, as if it chose among little more than 1 of 2 tokens.",
        "“a”把几乎全部注意力给了“b”（超过 0.99）：很集中，相当于只看 2 个词元中的略多于 1 个。",
    ),
    "looks_mostly": (
        looking([0.6, 0.3, 0.1], EVEN3, EVEN3),
        looking([0.3, 0.6, 0.1], EVEN3, EVEN3),
        "“a” looks mostly at itself (0.60): mixed, as if it chose among 2.5 of 3 tokens.",
        "“a”主要关注自己（0.60）：集中程度居中，相当于平均看 3 个词元中的 2.5 个。",
    ),
    "looks_most": (
        looking([0.2, 0.48, 0.32], EVEN3, EVEN3),
        looking([0.1, 0.58, 0.32], EVEN3, EVEN3),
        "“a” looks most at “b” (0.48): spread out, as if it chose among 2.8 of 3 tokens.",
        "“a”最关注“b”（0.48）：很分散，相当于平均看 3 个词元中的 2.8 个。",
    ),
    "looks_close": (
        looking([0.5004, 0.4996, 0], EVEN3, EVEN3),
        looking([0.5, 0.5, 0], EVEN3, EVEN3),
        "“a” looks most at itself (0.50), with “b” (0.50) close behind: "
        "mixed, as if it chose among 2.0 of 3 tokens.",
        "“a”最关注自己（0.50），紧随其后的是“b”（0.50）："
        "集中程度居中，相当于平均看 3 个词元中的 2.0 个。",
    ),
    "looks_tied": (
        looking([0.5, 0.5, 0], EVEN3, EVEN3),
        looking([0.5004, 0.4996, 0], EVEN3, EVEN3),
        "“a” looks most at itself and “b”, equally strongly (0.50 each): "
        "mixed, as if it chose among 2.0 of 3 tokens.",
        "“a”最关注自己和“b”，程度相同（各 0.50）：集中程度居中，相当于平均看 3 个词元中的 2.0 个。",
    ),
    "even": (
        looking(EVEN3, EVEN3, EVEN3),
        looking([0.333, 0.333, 0.334], EVEN3, EVEN3),
        "“a” spreads its attention evenly over all 3 tokens it may see (0.33 each).",
        "“a”把注意力平均分给能看到的 3 个词元（各 0.33）。",
    ),
    "nearly_even": (
        looking([0.32, 0.33, 0.35], EVEN3, EVEN3),
        looking([0.29, 0.33, 0.38], EVEN3, EVEN3),
        "“a” spreads its attention almost evenly over all 3 tokens it may see (about 0.33 each).",
        "“a”把注意力几乎平均地分给能看到的 3 个词元（各约 0.33）。",
    ),
    "empty": (
        looking([0.6, 0.4], [0.5, 0.5], mask=Mask(("padding", "window"), 1, before=0, after=1)),
        looking([0.6, 0.4], [0.5, 0.5], mask=Mask(("padding", "window"), 1, before=1, after=1)),
        "“b” may attend to nothing: all its weights are 0, and so is its output. "
        "Plain softmax would have to compute 0/0, which has no value.",
        "“b”没有任何可以关注的对象：权重全是 0，输出也是 0。"
        "普通的 softmax 在这里要算 0/0，得不出结果。",
    ),
    "equal_vectors": (
        Experiment.from_preset("repeated"),
        Experiment.from_preset("repeated").with_cell("X", (3, 2), 0.25),
        "“the (1)” and “the (4)” have the same vector and the same row of weights: "
        "here attention cannot tell them apart.",
        "“the (1)”和“the (4)”的向量相同，权重也相同：注意力在这里分不清它们。",
    ),
    "equal_rows": (
        looking([0.6, 0.3, 0.1], [0.6, 0.3, 0.1], EVEN3),
        looking([0.6, 0.3, 0.1], [0.601, 0.299, 0.1], EVEN3),
        "“a” and “b” attend in the same way, so this head gives them the same output.",
        "“a”和“b”分配注意力的方式完全相同，所以在这个头里输出也相同。",
    ),
    "equal_all": (
        looking(EVEN3, EVEN3, EVEN3),
        looking(EVEN3, EVEN3, [0.3, 0.3, 0.4]),
        "All 3 tokens attend in the same way, so this head gives them the same output.",
        "全部 3 个词元分配注意力的方式完全相同，所以在这个头里输出也相同。",
    ),
    "masked": (
        looking([0.5, 0.3, 0.2], EVEN3, EVEN3, mask=CAUSAL),
        looking([0.4, 0.4, 0.2], EVEN3, EVEN3, mask=CAUSAL),
        "The mask takes 0.50 of the attention of “a”: "
        "without it, that would go to “b” (0.30) and “c” (0.20).",
        "掩码拿走了“a”的一部分注意力（0.50）；没有掩码时，这部分会分给“b”（0.30）和“c”（0.20）。",
    ),
    "masked_all": (
        looking([0.6, 0.4], [0.25, 0.75], mask=padded(2)),
        looking([0.6, 0.4], [0.25, 0.75], mask=padded(1)),
        "The mask takes all the attention of “b”: "
        "without it, that would go to “b” (0.75) and “a” (0.25).",
        "掩码拿走了“b”的全部注意力；没有掩码时，这些会分给“b”（0.75）和“a”（0.25）。",
    ),
    "unmasked": (
        looking(EVEN3, [0.5, 0.5, 0], EVEN3, mask=CAUSAL),
        looking(EVEN3, [0.5, 0.4, 0.1], EVEN3, mask=CAUSAL),
        "The mask takes nothing away from “b” and “c”.",
        "掩码没有拿走“b”和“c”的任何注意力。",
    ),
    "unmasked_all": (
        looking([1, 0], [0.5, 0.5], mask=CAUSAL),
        looking([0.9, 0.1], [0.5, 0.5], mask=CAUSAL),
        "The mask takes nothing away from any token.",
        "掩码没有拿走任何词元的注意力。",
    ),
    "adds_most": (
        adding([3, 4], [0, 1]),
        adding([3, 4], [5, 1]),
        "The largest part of the output comes from head 1 (length 5.00).",
        "输出中最大的一部分来自第 1 个头（长度：5.00）。",
    ),
    "adds_only": (
        adding([0, 0], [3, 4]),
        adding([0, 1e-30], [3, 4]),
        "The whole output comes from head 2 (length 5.00).",
        "输出全部来自第 2 个头（长度：5.00）。",
    ),
    "adds_tied": (
        adding([3, 4], [4, 3], [1, 0]),
        adding([3, 4], [4, 3.001], [1, 0]),
        "The largest parts of the output come from head 1 and head 2, "
        "equally large (length 5.00 each).",
        "输出中最大的部分来自第 1 个头和第 2 个头，大小相同（长度都是：5.00）。",
    ),
    "adds_even": (
        adding([3, 4], [4, 3]),
        adding([3, 4], [4, 3.001]),
        "All 2 heads add equally large parts to the output (length 5.00 each).",
        "2 个头给输出的部分一样大（长度都是：5.00）。",
    ),
    "adds_none": (
        adding([0, 0], [0, 0]),
        adding([0, 0], [0, 1e-30]),
        "No head adds anything: the output is 0.",
        "没有一个头给出任何东西：输出是 0。",
    ),
    "adds_less": (
        adding([3, 4], [0, 1], [0, 2e6 / 4]),
        adding([3, 4], [1, 1], [0, 2e6 / 4]),
        "Less comes from head 1 (5.00) and head 2 (1.00).",
        "其次是第 1 个头（5.00）和第 2 个头（1.00）。",
    ),
    "adds_nothing": (
        adding([3, 4], [0, 0]),
        adding([3, 4], [0, 5e-324]),
        "Nothing comes from head 2.",
        "什么也没有给出的头：第 2 个头。",
    ),
    "adds_most_here": (
        adding([3, 4], [0, 4.5]),
        adding([3, 4], [0, 3.5]),
        "For “b” (length 4.50), the largest part comes from head 2.",
        "对“b”（长度：4.50）来说，最大的一部分来自第 2 个头。",
    ),
    "adds_tied_here": (
        adding([3, 4], [3, 2]),
        adding([3, 4], [2.9, 2]),
        "For “a” (length 3.00), the largest parts come from head 1 and head 2, equally large.",
        "对“a”（长度：3.00）来说，最大的部分来自第 1 个头和第 2 个头，大小相同。",
    ),
}

every_case = pytest.mark.parametrize("case", CASES)


@every_case
def test_a_sentence_stands_where_the_numbers_call_for_it_and_goes_with_them(case):
    calls, calls_not, english, chinese = CASES[case]

    assert english in texts_of(calls, language="en")
    assert chinese in texts_of(calls, language="zh")
    assert english not in texts_of(calls_not, language="en")
    assert chinese not in texts_of(calls_not, language="zh")


@every_language
def test_every_text_has_its_case(language):
    class Recording(Texts):
        def __call__(self, key, **values):
            asked.add(key.removeprefix("narrate."))
            return super().__call__(key, **values)

    asked = set()
    wide = looking(*np.full((8, 8), 1 / 8), mask=padded(8))  # a list that is cut
    for experiment in [wide, *chain(*(case[:2] for case in CASES.values()))]:
        narrate(Recording(language), experiment, experiment.trace(), 0)

    assert asked == set(Texts("en").group("narrate"))
    assert set(CASES) == {
        key for key, text in Texts("en").group("narrate").items() if text[-1] == "."
    }


# --- read back: a sentence as the text it was made from and what was filled in

SELF = {"en": "itself", "zh": "自己"}
NAME = {"en": r"“[^”]+”|itself|head \d", "zh": r"“[^”]+”|自己|第 \d 个头"}
NUMBER = {
    "en": r"\d+\.\d\d|\d\.\de\d+|under 0\.01|over 0\.99",
    "zh": r"\d+\.\d\d|\d\.\de\d+|不到 0\.01|超过 0\.99",
}
BRACKETS = {"en": (r" \((?:length )?", r"\)"), "zh": (r"（(?:长度：)?", r"）")}
JOINED = {"en": (", ", " and ", r" and \d+ more"), "zh": ("、", "和", r"和另外 \d+ 个")}
COUNTS = ("count", "sharp", "mixed", "spread")
LISTS = ("to", "rows", "others", "heads")


def _list(language):
    start, end = BRACKETS[language]
    item = rf"(?:{NAME[language]})(?:{start}(?:{NUMBER[language]}){end})?"
    comma, last, more = JOINED[language]
    return rf"{item}(?:{comma}{item})*(?:{last}{item}|{more})?"


def _pattern(language, text):
    parts = []
    for literal, field, _, _ in Formatter().parse(text):
        parts.append(re.escape(literal))
        if field is not None:
            what = r"\d+" if field in COUNTS else NUMBER[language]
            what = _list(language) if field in LISTS else what
            what = "“[^”]+”" if field == "row" else what
            what = ".+" if field in ("sharpness", "effective") else what
            parts.append(f"(?P<{field}>{what})")
    return re.compile("".join(parts))


READERS = {
    language: {
        key: _pattern(language, text)
        for key, text in Texts(language).group("narrate").items()
        if key in CASES or key in ("sharp", "mixed", "spread")
    }
    for language in LANGUAGES
}


def read(language, text):
    """(key, fields): the one text that this can have been made from."""
    found = [
        (key, match.groupdict())
        for key, reader in READERS[language].items()
        if (match := reader.fullmatch(text))
    ]
    assert len(found) == 1, (text, found)
    return found[0]


def items(language, text):
    """([(name, number)], how many more): a list, read back."""
    start, end = BRACKETS[language]
    more = re.search(JOINED[language][2] + "$", text)
    listed = text[: more.start()] if more else text
    found = re.findall(f"({NAME[language]})(?:{start}({NUMBER[language]}){end})?", listed)
    return found, int(re.search(r"\d+", more[0])[0]) if more else 0


def fits(text, value):
    """Whether a number in a sentence is the value, rounded, or true as a bound."""
    if "0.01" in text and text != "0.01":
        return 0 < value < 0.01
    if "0.99" in text and text != "0.99":
        return 0.99 < value < 1
    if "e" in text:
        return abs(float(text) / value - 1) < 0.051
    return abs(float(text) - value) <= 0.005 + 1e-9 and not 0 < value < 0.0099


# --- what each sentence claims, recomputed without NumPy or the code that is tested

SAME = 1e-12


class Facts:
    """The arrays of one head as lists, and a little arithmetic on them."""

    def __init__(self, experiment, head, language):
        trace = experiment.trace()
        one = trace.attention.head(head)
        self.language = language
        self.tokens = experiment.tokens
        self.weights, self.allowed = one.weights.tolist(), one.allowed.tolist()
        self.inputs, self.output = trace.inputs.tolist(), one.output.tolist()
        self.V, self.biased_scores = one.V.tolist(), one.biased_scores.tolist()
        self.contributions = trace.attention.contributions.tolist()
        self.n = len(self.tokens)
        self.place = {name: row for row, name in enumerate(names(self.tokens))}
        self.kinds = experiment.mask.kinds

    def counts(self):
        return [sum(row) for row in self.allowed]

    def effective(self, row):
        return math.exp(-sum(w * math.log(w) for w in self.weights[row] if w > 0))

    def taken(self, row):
        """What a softmax over all keys gives to those that are forbidden."""
        top = max(self.biased_scores[row])
        exponentials = [math.exp(score - top) for score in self.biased_scores[row]]
        weights = [e / math.fsum(exponentials) for e in exponentials]
        return [0 if may else w for w, may in zip(weights, self.allowed[row], strict=True)]

    def keys(self, text, row=None):
        """Places of the tokens in a list, their numbers, and how many more there are."""
        listed, more = items(self.language, text)
        places = [row if name == SELF[self.language] else self.place[name] for name, _ in listed]
        assert len(set(places)) == len(places)
        return places, [number for _, number in listed], more

    def heads(self, text):
        listed, more = items(self.language, text)
        assert more == 0
        return [int(re.search(r"\d", name)[0]) - 1 for name, _ in listed], [n for _, n in listed]

    def same_row(self, one, other):
        pairs = zip(self.weights[one], self.weights[other], strict=True)
        return all(abs(a - b) <= SAME for a, b in pairs)

    def length(self, head, row=None):
        rows = self.contributions[head] if row is None else [self.contributions[head][row]]
        return math.hypot(*chain(*rows))


def are_level(values, tolerance=2 * SAME):
    return max(values) - min(values) <= tolerance * max(values)


def check_summary(facts, key, fields):
    n_looking = sum(count > 0 for count in facts.counts())
    assert (key == "summary_empty") == (n_looking == 0)
    if n_looking == 0:
        return
    received = [math.fsum(column) / n_looking for column in zip(*facts.weights, strict=True)]
    if key == "summary_even":
        assert are_level(received)
        assert fits(fields["share"], 1 / facts.n)
        return
    places, _, more = facts.keys(fields["to"])
    named = [received[place] for place in places]
    assert are_level([*named, max(received)])
    if key == "summary_all":
        assert len(places) == 1
        assert abs(named[0] - 1) <= 2 * SAME
        return
    assert fits(fields["share"], named[0])
    others = [r for place, r in enumerate(received) if place not in places]
    assert sum(are_level([r, named[0]], SAME / 2) for r in others) <= more
    assert (key == "summary_tied") == (len(places) + more > 1)


def word_of(effective, count):
    if effective <= 1 + (count - 1) / 4:
        return "sharp"
    return "spread" if effective >= 1 + 0.9 * (count - 1) else "mixed"


def check_sharpness(facts, key, fields):
    counts = facts.counts()
    words = [
        word_of(facts.effective(row), counts[row]) for row in range(facts.n) if counts[row] > 1
    ]
    assert words
    assert {word: int(fields[word]) for word in ("sharp", "mixed", "spread")} == {
        word: words.count(word) for word in ("sharp", "mixed", "spread")
    }


def check_how_sharp(facts, row, count, text):
    key, fields = read(facts.language, text)
    effective = facts.effective(row)
    assert key == word_of(effective, count)
    assert int(fields["count"]) == count
    told = fields["effective"].strip()
    if told in ("little more than 1", "略多于 1"):
        assert 1 < effective < 1.05
    elif told in (f"almost {count}", f"将近 {count}"):
        assert count - 0.05 <= effective < count
    else:
        assert abs(float(told) - effective) <= 0.05 + 1e-9
        assert 1 < float(told) < count


def check_row(facts, sentence, key, fields):
    row = sentence.row
    weights, count = facts.weights[row], facts.counts()[row]
    assert facts.place[fields["row"]] == row
    assert (key == "empty") == (count == 0)
    assert (key == "only") == (count == 1)
    if key == "empty":
        assert set(weights) == {0.0}
        assert set(facts.output[row]) == {0.0}
        return
    seen = [w for w, may in zip(weights, facts.allowed[row], strict=True) if may]
    top = max(seen)
    if key in ("even", "nearly_even"):
        assert int(fields["count"]) == count
        assert fits(fields.get("weight") or fields["mean"], 1 / count)
        assert all(abs(w - 1 / count) <= 0.1 / count + 1e-9 for w in seen)
        assert are_level(seen) == (key == "even")
        return
    places, _, more = facts.keys(fields["to"], row)
    strongest = [place for place, w in enumerate(weights) if w >= top * (1 - SAME)]
    assert set(places) <= set(strongest)
    assert len(places) + more == len(strongest)
    if key in ("only", "looks_all"):
        assert top >= 1 - SAME
        assert len(places) == 1
        return
    assert not all(abs(w * count - 1) <= 0.1 - 1e-9 for w in seen)
    assert fits(fields["weight"], top)
    check_how_sharp(facts, row, count, fields["sharpness"])
    assert (key == "looks_tied") == (len(strongest) > 1)
    assert (key == "looks_almost_all") == (top > 0.99)
    if key == "looks_mostly":
        assert top > 0.5
    if key == "looks_close":
        close, numbers, more = facts.keys(fields["others"], row)
        assert len(close) + more == sum(0.9 * top <= w < top * (1 - SAME) for w in weights)
        assert all(0.9 * top <= weights[place] < top for place in close)
        assert all(weights[a] >= weights[b] for a, b in pairwise(close))
        assert all(fits(n, weights[place]) for n, place in zip(numbers, close, strict=True))
    elif key != "looks_tied":
        assert sum(w >= 0.9 * top for w in weights) == 1


def check_equal(facts, key, fields):
    """Returns the rows that the sentence is about."""
    if key == "equal_all":
        rows = list(range(facts.n))
        assert int(fields["count"]) == facts.n
    else:
        places, _, more = facts.keys(fields["rows"])
        rows = [r for r in range(facts.n) if facts.same_row(places[0], r)]
        assert set(places) <= set(rows)
        assert len(places) + more == len(rows)
    assert all(facts.same_row(*pair) for pair in combinations(rows, 2))
    assert all(any(facts.allowed[row]) for row in rows)
    reach = max(1.0, *map(abs, chain(*facts.V)))
    for one, other in combinations(rows, 2):
        pairs = zip(facts.output[one], facts.output[other], strict=True)
        assert all(abs(a - b) <= 1e-11 * reach for a, b in pairs)
    has_same_vectors = len({tuple(facts.inputs[row]) for row in rows}) == 1
    assert has_same_vectors == (key == "equal_vectors")
    return rows


def check_masked(facts, sentence, key, fields):
    """Returns the rows that the sentence is about, and whether something was taken from them."""
    if key == "unmasked_all":
        return list(range(facts.n)), False
    if key == "unmasked":
        places, _, more = facts.keys(fields["rows"])
        untouched = [r for r in range(facts.n) if max(facts.taken(r)) <= SAME]
        assert set(places) <= set(untouched)
        assert len(places) + more == len(untouched)
        assert sentence.row == (untouched[0] if len(untouched) == 1 else None)
        return untouched, False
    row, taken = sentence.row, facts.taken(sentence.row)
    assert facts.place[fields["row"]] == row
    assert (key == "masked_all") == (math.fsum(taken) >= 1 - SAME)
    if key == "masked":
        assert fits(fields["lost"], math.fsum(taken))
    places, numbers, more = facts.keys(fields["to"], row)
    assert all(fits(n, taken[place]) for n, place in zip(numbers, places, strict=True))
    assert not any(facts.allowed[row][place] for place in places)
    assert len(places) + more == sum(weight > SAME for weight in taken)
    named = [taken[place] for place in places]
    assert all(b <= a * (1 + 1e-9) for a, b in pairwise(named))
    rest = [weight for place, weight in enumerate(taken) if place not in places]
    assert max(rest, default=0) <= named[-1] * (1 + 1e-9)
    return [row], True


def check_adds(facts, sentences):
    """All of them together: each head is told of once, and rows only where they differ."""
    n_heads = len(facts.contributions)
    sizes = [facts.length(head) for head in range(n_heads)]
    top, told, elsewhere = max(sizes), [], set()
    most = {head for head in range(n_heads) if sizes[head] >= top * (1 - SAME)}
    for sentence, (key, fields) in sentences:
        heads, numbers = facts.heads(fields["heads"]) if "heads" in fields else ([], [])
        if key == "adds_none":
            assert top == 0
            return
        if key == "adds_even":
            assert int(fields["count"]) == n_heads
            heads = list(range(n_heads))
        if key in ("adds_most", "adds_only", "adds_tied", "adds_even"):
            assert set(heads) == most
            assert fits(fields["length"], top)
            assert (key in ("adds_most", "adds_only")) == (len(most) == 1)
            assert (key == "adds_only") == (sum(size > 0 for size in sizes) == 1)
            told += heads
        if key == "adds_less":
            assert all(fits(n, sizes[head]) for n, head in zip(numbers, heads, strict=True))
            assert [sizes[h] for h in heads] == sorted((sizes[h] for h in heads), reverse=True)
            assert sizes[heads[0]] < top
            told += heads
        if key == "adds_nothing":
            assert all(sizes[head] == 0 for head in heads)
            assert set(chain(*chain(*(facts.contributions[head] for head in heads)))) == {0.0}
            told += heads
        if key in ("adds_most_here", "adds_tied_here"):
            assert set(heads) != most
            assert (key == "adds_tied_here") == (len(heads) > 1)
            rows, numbers, more = facts.keys(fields["rows"])
            led = [row for row in range(facts.n) if leaders(facts, row) == set(heads)]
            assert set(rows) <= set(led)
            assert len(rows) + more == len(led)
            lengths = [facts.length(heads[0], row) for row in rows]
            assert all(fits(n, size) for n, size in zip(numbers, lengths, strict=True))
            assert sentence.row == (led[0] if len(led) == 1 else None)
            elsewhere |= set(led)
    assert sorted(told) == list(range(n_heads))
    assert elsewhere == {r for r in range(facts.n) if leaders(facts, r) not in (most, set())}


def leaders(facts, row):
    """The heads whose part of this row is the longest; none if all are 0."""
    sizes = [facts.length(head, row) for head in range(len(facts.contributions))]
    return {h for h, size in enumerate(sizes) if size >= max(sizes) * (1 - SAME) and size > 0}


ORDER = ("summary", "sharpness", "looks", "equal", "masked", "adds")


def check(experiment, head, language):
    """Every sentence is true of the arrays, and none is missing."""
    facts = Facts(experiment, head, language)
    sentences = said(experiment, head, language)
    read_back = [(sentence, read(language, sentence.text)) for sentence in sentences]
    of = {kind: [pair for pair in read_back if pair[0].kind == kind] for kind in (*ORDER, "empty")}

    order = ["looks" if s.kind == "empty" else s.kind for s in sentences]
    assert order == sorted(order, key=ORDER.index)
    assert sum(map(len, of.values())) == len(sentences)
    ((summary, told),) = of["summary"]
    check_summary(facts, *told)
    assert summary is sentences[0]
    assert len(of["sharpness"]) == any(count > 1 for count in facts.counts())
    for _, told in of["sharpness"]:
        check_sharpness(facts, *told)
    assert [s.row for s in sentences if s.kind in ("looks", "empty")] == list(range(facts.n))
    for sentence, told in of["looks"] + of["empty"]:
        assert (sentence.kind == "empty") == (told[0] == "empty")
        check_row(facts, sentence, *told)
    groups = [check_equal(facts, *told) for _, told in of["equal"]]
    alike = {
        pair
        for pair in combinations([r for r in range(facts.n) if any(facts.allowed[r])], 2)
        if facts.same_row(*pair)
    }
    assert alike == {pair for rows in groups for pair in combinations(rows, 2)}
    masked = [check_masked(facts, sentence, *told) for sentence, told in of["masked"]]
    assert sorted(chain(*(rows for rows, _ in masked))) == (
        list(range(facts.n)) * bool(facts.kinds)
    )
    for rows, is_taken in masked:
        assert all((max(facts.taken(row)) > SAME) == is_taken for row in rows)
    assert bool(of["adds"]) == (experiment.n_heads > 1)
    if of["adds"]:
        check_adds(facts, of["adds"])


def plainly_named(experiment):
    """Other names that a test can read back; equal ones stay equal."""
    letters = {
        token: string.ascii_letters[i] for i, token in enumerate(dict.fromkeys(experiment.tokens))
    }
    return replace(experiment, tokens=tuple(letters[token] for token in experiment.tokens))


@every_setting
def test_every_sentence_is_true_of_the_arrays_in_every_setting(experiment):
    for head in range(experiment.n_heads):
        for language in LANGUAGES:
            check(experiment, head, language)


@settings(deadline=None, max_examples=200)
@given(experiment=experiments(), language=st.sampled_from(list(LANGUAGES)))
def test_every_sentence_is_true_of_the_arrays_of_any_experiment(experiment, language):
    for head in range(experiment.n_heads):
        check(plainly_named(experiment), head, language)


@every_language
@pytest.mark.parametrize("preset", PRESETS)
def test_every_sentence_about_a_preset_is_true(preset, language):
    check(Experiment.from_preset(preset), 0, language)


@every_language
@every_case
def test_every_sentence_of_a_case_is_true(case, language):
    for experiment in CASES[case][:2]:
        for head in range(experiment.n_heads):
            check(experiment, head, language)


# --- made by hand


@pytest.mark.parametrize(
    ("language", "sentence"),
    [
        ("en", "“猫” looks mostly at “追” (0.60): mixed, as if it chose among 2.5 of 3 tokens."),
        ("zh", "“猫”主要关注“追”（0.60）：集中程度居中，相当于平均看 3 个词元中的 2.5 个。"),
    ],
)
def test_the_cat_gives_most_to_what_it_does(language, sentence):
    assert texts_of(Experiment.from_preset("cat"), language=language, row=0) == [sentence]


def test_one_token_alone_needs_two_sentences():
    experiment = Experiment.from_preset("cat").resized(n_tokens=1)

    assert texts_of(experiment) == [
        "All attention goes to “猫”.",
        "“猫” may attend to itself alone, so all its weight is there.",
    ]


def test_the_head_that_looks_at_itself_says_so_in_every_row():
    experiment = Experiment.from_preset("identity")

    for row in range(4):
        assert " to itself (over 0.99): sharp" in texts_of(experiment, row=row)[0]


def test_huge_scores_are_one_hot_and_told_without_an_infinity():
    experiment = looking(EVEN3, EVEN3, EVEN3)
    for row, key in ((0, 1), (1, 0), (2, 0)):
        experiment = experiment.with_cell("W_Q", (0, row, key), 1e6)

    assert texts_of(experiment)[:3] == [
        "“a” gets the most attention: 0.67 of all there is.",
        "How many tokens attend sharply: 3; mixed: 0; spread out: 0.",
        "“a” gives all its attention to “b”: as sharp as can be.",
    ]


@pytest.mark.parametrize("size", [1e-300, 1e-200, 1e6])
def test_the_length_of_a_part_neither_vanishes_nor_overflows(size):
    experiment = adding([size, 0], [0, size / 2], [0, 0])

    assert any("from head 1 (length" in text for text in texts_of(experiment))
    assert any(text.startswith("Less comes from head 2 (") for text in texts_of(experiment))
    assert "Nothing comes from head 3." in texts_of(experiment)


def test_a_large_length_is_short():
    assert "The largest part of the output comes from head 1 (length 5.0e5)." in texts_of(
        adding([3e5, 4e5], [0, 1])
    )


def test_which_head_is_shown_changes_its_rows_and_not_what_all_heads_add():
    experiment = Experiment.from_preset("random").resized(n_heads=2)
    first, second = said(experiment, 0), said(experiment, 1)

    def adds(sentences):
        return [sentence for sentence in sentences if sentence.kind == "adds"]

    assert adds(first) == adds(second) != []
    assert first[0] != second[0]


def test_crumbs_that_only_add_up_to_something_are_not_told_as_taken():
    crumbs = [3e-13] * 7
    experiment = looking([1 - sum(crumbs), *crumbs], *np.eye(8)[1:], mask=CAUSAL)

    assert "The mask takes nothing away from any token." in texts_of(experiment)


def test_positions_make_equal_tokens_different_even_where_their_rows_are_equal():
    same = replace(looking([0.5, 0.5], [0.5, 0.5]), tokens=("x", "x"), X=np.ones((2, 2)))
    told = "“x (1)” and “x (2)” have the same vector and the same row of weights"

    assert any(text.startswith(told) for text in texts_of(same))
    assert not any(told in text for text in texts_of(replace(same, encoding="sinusoidal")))
    check(replace(same, encoding="sinusoidal"), 0, "en")


def test_without_a_mask_nothing_is_said_about_one():
    assert "masked" not in {s.kind for s in said(looking([1, 0], [0, 1]))}


@every_language
def test_a_painted_row_is_told_like_any_other(language):
    forbidden = [(0, key) for key in range(3)]
    experiment = looking([0.6, 0.3, 0.1], EVEN3, EVEN3).with_painted(forbidden, False)

    kinds = [s.kind for s in said(experiment, language=language) if s.row == 0]

    assert kinds == ["empty", "masked"]
    check(experiment, 0, language)


@pytest.mark.parametrize(
    ("effective", "count", "word"),
    [
        (1.0, 2, "sharp"),
        (1.25, 2, "sharp"),
        (1.26, 2, "mixed"),
        (1.89, 2, "mixed"),
        (1.91, 2, "spread"),
        (3.75, 12, "sharp"),
        (3.76, 12, "mixed"),
        (10.89, 12, "mixed"),
        (10.91, 12, "spread"),
        (12.0, 12, "spread"),
    ],
)
def test_how_sharp_is_measured_by_the_keys_a_row_may_see(effective, count, word):
    assert sharpness(effective, count) == word


@pytest.mark.parametrize(
    ("weights", "told"),
    [
        ([0.904, 0.048, 0.048], "sharp, as if it chose among 1.5 of 3 tokens"),
        ([0.997, 0.0015, 0.0015], "sharp, as if it chose among little more than 1 of 3 tokens"),
        ([0.3, 0.33, 0.37], "spread out, as if it chose among almost 3 of 3 tokens"),
    ],
)
def test_the_number_of_keys_is_never_rounded_to_a_claim_that_is_false(weights, told):
    (sentence,) = texts_of(looking(weights, EVEN3, EVEN3), row=0)

    assert sentence.endswith(f"{told}.")


@pytest.mark.parametrize(
    ("weight", "told"),
    [
        (0.994, "gives almost all its attention to “b” (over 0.99)"),
        (0.9999999, "gives almost all its attention to “b” (over 0.99)"),
        (0.99, "looks mostly at “b” (0.99)"),
        (1, "gives all its attention to “b”:"),
    ],
)
def test_a_weight_is_not_rounded_up_to_all(weight, told):
    assert told in texts_of(looking([1 - weight, weight], [1, 0]), row=0)[0]


def test_what_the_mask_took_is_not_rounded_down_to_nothing():
    experiment = looking([0.9999, 0.0001], [0.5, 0.5], mask=CAUSAL)

    assert texts_of(experiment, row=0)[1] == (
        "The mask takes under 0.01 of the attention of “a”: "
        "without it, that would go to “b” (under 0.01)."
    )


def test_those_close_behind_come_in_the_order_of_their_weights():
    (sentence,) = texts_of(looking([0.34, 0.31, 0.33, 0.02], *np.eye(4)[1:]), row=0)

    assert "at itself (0.34), with “c” (0.33) and “b” (0.31) close behind" in sentence


@pytest.mark.parametrize(
    ("n_tied", "told"),
    [
        (3, "“b”, “c” and “d”, equally"),
        (4, "“b”, “c”, “d” and “e”, equally"),
        (5, "“b”, “c”, “d” and 2 more, equally"),
    ],
)
def test_a_long_list_is_cut_and_the_rest_counted(n_tied, told):
    weights = [0, *[1 / n_tied] * n_tied, *[0] * (7 - n_tied)]

    assert told in texts_of(looking(weights, *np.eye(8)[1:]), row=0)[0]


@every_language
def test_the_list_stays_short_with_twelve_tokens_and_eight_heads(language):
    experiment = replace(
        Experiment.from_preset("random").resized(n_tokens=12, d_model=8, d_k=8, n_heads=8),
        mask=Mask(("causal", "padding"), n_padding=2),
    )
    sentences = said(experiment, language=language)

    assert (
        max(len([s for s in sentences if s.row == row and s.kind != "adds"]) for row in range(12))
        <= 2
    )
    assert len([s for s in sentences if s.kind == "adds"]) <= 3 + 8
    assert max(len(s.text) for s in sentences) < 200
    assert "looks" in {s.kind for s in sentences[:3]}


# --- names


@pytest.mark.parametrize(
    ("tokens", "named"),
    [
        (["the", "cat", "the"], ["“the (1)”", "“cat”", "“the (3)”"]),
        (["the", "the", "the (1)"], ["“the (1)”", "“the (2)”", "“the (1) (3)”"]),
        (["a" * 16], [f"“{'a' * 16}”"]),
        (["a" * 17], [f"“{'a' * 15}…”"]),
        (["a" * 200, "a" * 199 + "b"], [f"“{'a' * 15}… (1)”", f"“{'a' * 15}… (2)”"]),
        (
            ["1", "2020-01-01", "<b>", "{row}", "%s"],
            ["“1”", "“2020-01-01”", "“<b>”", "“{row}”", "“%s”"],
        ),
        (["say “hi”"], ["‘say “hi”’"]),
        (["“‘"], ["«“‘»"]),
        (["“‘«"], ["““‘«”"]),
        (['"', "it's"], ['“"”', "“it's”"]),
        (["שלום", "שלום"], ["“\u2068שלום\u2069 (1)”", "“\u2068שלום\u2069 (2)”"]),
        (["مرحبا"], ["“\u2068مرحبا\u2069”"]),
        (["٣"], ["“\u2068٣\u2069”"]),
        (["a\u202eb", "x\u2069\u202ey"], ["“ab”", "“xy”"]),
        (["ש\u2069\u202ea"], ["“\u2068שa\u2069”"]),
    ],
)
def test_a_name_is_quoted_cut_told_apart_and_kept_in_its_direction(tokens, named):
    assert names(tokens) == named


@given(st.lists(any_tokens, min_size=1, max_size=12))
def test_no_two_names_are_alike(tokens):
    assert len(set(names(tokens))) == len(tokens)


@settings(deadline=None)
@given(experiment=experiments(), language=st.sampled_from(list(LANGUAGES)))
def test_no_token_breaks_out_of_its_sentence(experiment, language):
    for text in texts_of(experiment, language=language):
        assert text[-1] in ".。"
        assert len(text.splitlines()) == 1
        outside = re.sub("\u2068[^\u2068\u2069]*\u2069", "", text)
        assert not any(bidirectional(c) in ("R", "AL", "AN") for c in outside)
        assert not re.search("[\u202a-\u202e\u2066-\u2069]", outside)


@settings(deadline=None)
@given(experiment=experiments(), language=st.sampled_from(list(LANGUAGES)))
def test_no_sentence_shows_what_is_no_number(experiment, language):
    plain = plainly_named(experiment)
    for head in range(plain.n_heads):
        for text in texts_of(plain, head, language):
            assert not re.search(r"nan|inf|[{}]|-0|\d\.\d{3}", text, re.IGNORECASE)


def test_a_token_is_never_taken_for_a_template():
    experiment = looking([0.6, 0.4], [0.4, 0.6], tokens=["{row}", "{0}"])

    assert texts_of(experiment, row=0)[0].startswith("“{row}” looks most at itself (0.60)")

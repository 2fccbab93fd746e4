"""A small language of opinions, in English and Chinese, whose sentences come with their label.

    sentence   = simple | addition | contrast | concession, with fillers between
    simple     = clause
    addition   = clause and clause            both of one mind
    contrast   = clause but clause            the second one counts
    concession = although clause, clause      the one without "although" counts
    clause     = aspect, opinion, and maybe a degree ("very") or a negation ("not")

A clause is as its opinion, or the opposite where it is negated; a degree changes nothing, a filler
("we saw it on friday") says nothing. Where two clauses are of opposite minds, the same words in
another order make the opposite sentence, so that words alone cannot tell.
"""

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from attention_core.arrays import check_counts
from attention_core.errors import ChoiceError, RangeError
from attention_core.neural.sentiment.corpus import Corpus, Example, Vocabulary, divided

Language: TypeAlias = Literal["en", "zh"]
Construction: TypeAlias = Literal["simple", "negation", "addition", "contrast", "concession"]
CONSTRUCTIONS: tuple[Construction, ...] = (
    *("simple", "negation", "addition", "contrast", "concession"),
)
MOST_FILLERS = 3
FEWEST_WORDS, MOST_WORDS = 2, 12
_TRIES = 40  # for each sentence, until a new one is found


@dataclass(frozen=True, slots=True)
class Words:
    """The vocabulary of one language; a space parts tokens."""

    aspects: tuple[str, ...]
    positive: tuple[str, ...]
    negative: tuple[str, ...]
    plain: tuple[str, ...]  # clauses with {aspect} and {opinion}
    negated: tuple[str, ...]  # the same, turned into the opposite
    additions: tuple[str, ...]  # sentences with {first}, {second} and {filler}
    contrasts: tuple[str, ...]  # {second} counts
    concessions: tuple[str, ...]  # {second} counts, wherever it stands
    fillers: tuple[str, ...]
    comma: str
    stop: str


WORDS: dict[Language, Words] = {
    "en": Words(
        aspects=(
            "plot",
            "acting",
            "music",
            "pacing",
            "ending",
            "dialogue",
            "cast",
            "script",
            "camera",
            "humour",
            "editing",
            "sound",
        ),
        positive=(
            "great",
            "wonderful",
            "brilliant",
            "moving",
            "clever",
            "charming",
            "gripping",
            "fresh",
            "funny",
            "beautiful",
            "superb",
            "delightful",
        ),
        negative=(
            "dull",
            "awful",
            "weak",
            "boring",
            "clumsy",
            "flat",
            "tedious",
            "messy",
            "shallow",
            "annoying",
            "dreadful",
            "bland",
        ),
        plain=(
            "the {aspect} is {opinion}",
            "the {aspect} is very {opinion}",
            "the {aspect} is quite {opinion}",
            "the {aspect} is really {opinion}",
            "the {aspect} is so {opinion}",
        ),
        negated=(
            "the {aspect} is not {opinion}",
            "the {aspect} is hardly {opinion}",
            "the {aspect} is not really {opinion}",
        ),
        additions=("{first} {filler}, and {second}", "{first} {filler}, and besides {second}"),
        contrasts=(
            "{first} {filler}, but {second}",
            "{first} {filler}, yet {second}",
            "{first} {filler}; however {second}",
        ),
        concessions=(
            "although {first} {filler}, {second}",
            "even though {first} {filler}, {second}",
            "{second} {filler}, although {first}",
            "{second} {filler}, even though {first}",
        ),
        fillers=(
            "we saw it on friday",
            "my sister came along",
            "it runs for two hours",
            "the cinema was full",
            "a friend had told me about it",
            "we sat in the last row",
            "it was raining outside",
            "they made it in spain",
        ),
        comma=",",
        stop=".",
    ),
    "zh": Words(
        aspects=(
            "剧情",
            "演技",
            "音乐",
            "节奏",
            "结局",
            "特效",
            "画面",
            "对白",
            "剪辑",
            "服装",
            "摄影",
            "台词",
        ),
        positive=(
            "精彩",
            "感人",
            "出色",
            "有趣",
            "动人",
            "新颖",
            "优秀",
            "流畅",
            "迷人",
            "惊艳",
            "细腻",
            "棒",
        ),
        negative=(
            "无聊",
            "糟糕",
            "拖沓",
            "平淡",
            "混乱",
            "乏味",
            "生硬",
            "老套",
            "难看",
            "俗气",
            "敷衍",
            "差",
        ),
        plain=(
            "{aspect} 很 {opinion}",
            "{aspect} 非常 {opinion}",
            "{aspect} 真 {opinion}",
            "{aspect} 太 {opinion} 了",
            "{aspect} 相当 {opinion}",
        ),
        negated=(
            "{aspect} 不 {opinion}",
            "{aspect} 并不 {opinion}",
            "{aspect} 一点 也 不 {opinion}",
        ),
        additions=("{first} {filler}，而且 {second}", "不仅 {first} {filler}，而且 {second}"),
        contrasts=(
            "{first} {filler}，但 {second}",
            "{first} {filler}，可是 {second}",
            "{first} {filler}，不过 {second}",
        ),
        concessions=(
            "虽然 {first} {filler}，但 {second}",
            "尽管 {first} {filler}，{second}",
            "{second} {filler}，虽然 {first}",
            "{second} {filler}，尽管 {first}",
        ),
        fillers=(
            "我们 周五 去 看 的",
            "姐姐 也 来 了",
            "片长 两 小时",
            "影院 坐满 了",
            "朋友 跟 我 提起 过",
            "我们 坐 在 最后 一 排",
            "外面 下着 雨",
            "它 是 在 上海 拍 的",
        ),
        comma="，",
        stop="。",
    ),
}


@dataclass(frozen=True, slots=True)
class Templates:
    """A source of sentences of this language."""

    language: Language = "en"
    constructions: tuple[Construction, ...] = ("contrast", "concession")
    n_fillers: int = 1  # at most so many in a sentence
    n_words: int = MOST_WORDS  # aspects, and opinions of each kind, that are used
    n_train: int = 1_200
    n_validation: int = 400
    seed: int = 0

    def __post_init__(self) -> None:
        if self.language not in WORDS:
            raise ChoiceError("language", self.language, tuple(WORDS))
        for construction in self.constructions:
            if construction not in CONSTRUCTIONS:
                raise ChoiceError("construction", construction, CONSTRUCTIONS)
        check_counts(1, constructions=len(self.constructions), n_train=self.n_train)
        check_counts(1, n_validation=self.n_validation)
        if not 0 <= self.n_fillers <= MOST_FILLERS:
            raise RangeError("n_fillers", self.n_fillers, 0, MOST_FILLERS)
        if not FEWEST_WORDS <= self.n_words <= MOST_WORDS:
            raise RangeError("n_words", self.n_words, FEWEST_WORDS, MOST_WORDS)

    def corpus(self) -> Corpus:
        """Distinct sentences; fewer than asked for where the grammar has no more."""
        rng = random.Random(f"{self.language} {self.seed}")
        wanted = self.n_train + self.n_validation
        found: dict[str, Example] = {}
        for _ in range(_TRIES * wanted):
            if len(found) == wanted:
                break
            label = len(found) % 2  # so that both are equally frequent
            example = sentence(self, label, rng)
            found.setdefault(example.text, example)
        share = self.n_validation / wanted
        n_validation = min(self.n_validation, max(1, round(share * len(found))))
        train, validation = divided([*found.values()], n_validation, self.seed)
        vocabulary = Vocabulary.of(example.tokens for example in train)
        return Corpus(train, validation, vocabulary, "known" if self.language == "zh" else "words")


def sentence(source: Templates, label: int, rng: random.Random) -> Example:
    """One sentence of this label."""
    w = WORDS[source.language]
    construction = rng.choice(source.constructions)
    may_negate = "negation" in source.constructions
    main = _clause(source, label, rng, is_negated=may_negate and rng.random() < 0.5)
    fillers = [
        f"{w.comma} {filler}" for filler in rng.sample(w.fillers, rng.randint(0, source.n_fillers))
    ]
    shapes: dict[Construction, Sequence[str]] = {
        "addition": w.additions,
        "contrast": w.contrasts,
        "concession": w.concessions,
    }
    if construction in shapes:
        other = label if construction == "addition" else 1 - label
        is_negated = may_negate and rng.random() < 0.5
        first = _clause(source, other, rng, is_negated=is_negated)
        n_between = rng.randint(0, len(fillers))
        text = rng.choice(shapes[construction]).format(
            first=first, second=main, filler=" ".join(fillers[:n_between])
        )
        text = " ".join([text, *fillers[n_between:]])
    else:
        if construction == "negation":
            main = _clause(source, label, rng, is_negated=True)
        text = " ".join([main, *fillers])
    tokens = _tokens(f"{text} {w.stop}")
    return Example(_written(tokens, source.language), tokens, label)


def _clause(source: Templates, label: int, rng: random.Random, *, is_negated: bool) -> str:
    w = WORDS[source.language]
    opinions = w.positive if label != is_negated else w.negative
    frame = rng.choice(w.negated if is_negated else w.plain)
    aspect = rng.choice(w.aspects[: source.n_words])
    return frame.format(aspect=aspect, opinion=rng.choice(opinions[: source.n_words]))


_TOKEN = re.compile(r"[^\s,.;，。；]+|[,.;，。；]")


def _tokens(text: str) -> tuple[str, ...]:
    return tuple(_TOKEN.findall(text))


def _written(tokens: Sequence[str], language: Language) -> str:
    if language == "zh":
        return "".join(tokens)
    return re.sub(r" ([,.;])", r"\1", " ".join(tokens)).capitalize()

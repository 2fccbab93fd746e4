"""What the step on mistakes shows: the worst ones, counts, how sure it was, and traits."""

from functools import lru_cache
from typing import TYPE_CHECKING

from attention_core.intervals import Interval, of_share
from playground.lessons.sentiment import Trained, names, percent
from playground.numerals import short
from playground.texts import Texts, escaped

if TYPE_CHECKING:
    from attention_core.neural.sentiment.corpus import Corpus
    from attention_core.neural.sentiment.mistakes import Answer, Bin, Mistakes, Trait
    from attention_core.neural.sentiment.training import Run

N_WORST = 8  # mistakes that are listed


def mistakes(trained: Trained) -> "Mistakes":
    """What the model makes of the validation sentences, of which there must be some."""
    return _mistakes(trained.run, trained.corpus)


@lru_cache(maxsize=4)  # each may keep a whole run
def _mistakes(run: "Run", corpus: "Corpus") -> "Mistakes":
    from attention_core.neural.sentiment.mistakes import mistakes
    from attention_core.neural.sentiment.training import result

    return mistakes(result(run), corpus)


# --- tables, column by column


def worst(t: Texts, of: "Mistakes") -> dict[str, list[str]]:
    """The worst mistakes, numbered."""
    listed = of.wrong[:N_WORST]
    return {
        t("sentiment.errors.number"): [*numbered(of).values()],
        t("sentiment.errors.sentence"): [escaped(answer.example.text) for answer in listed],
        t("sentiment.errors.label"): [_labels(t)[answer.example.label] for answer in listed],
        t("sentiment.errors.probability"): [short(answer.probability) for answer in listed],
        t("sentiment.errors.unknown_words"): [_unknown(t, answer) for answer in listed],
    }


def numbered(of: "Mistakes") -> dict[int, str]:
    """By place among the mistakes, the number of each that is listed."""
    return {place: str(place + 1) for place in range(len(of.wrong[:N_WORST]))}


def confusion(t: Texts, of: "Mistakes") -> dict[str, list[str]]:
    """How many of each label were taken for what, with totals."""
    counts = of.confusion[::-1, ::-1].tolist()  # positive first
    rows = [[*row, sum(row)] for row in counts]
    rows.append([sum(column) for column in zip(*rows, strict=True)])
    negative, positive = _labels(t)
    total = t("sentiment.errors.total")
    heads = (
        t("sentiment.errors.said_positive"),
        t("sentiment.errors.said_negative"),
        total,
    )
    columns = [[str(cell) for cell in column] for column in zip(*rows, strict=True)]
    return {
        t("sentiment.errors.label"): [positive, negative, total],
        **dict(zip(heads, columns, strict=True)),
    }


def sureness(t: Texts, of: "Mistakes") -> dict[str, list[str]]:
    """How often the model is right where it is so sure."""
    return {
        t("sentiment.errors.sure"): [
            t("sentiment.errors.from_to", lower=_limit(each.lower), upper=_limit(each.upper))
            for each in of.bins
        ],
        t("sentiment.errors.right_of"): [
            t("sentiment.errors.count_of", count=each.n_right, n=each.n) for each in of.bins
        ],
        t("sentiment.errors.share"): [_with_interval(t, each.n_right, each.n) for each in of.bins],
    }


def traits(t: Texts, of: "Mistakes") -> dict[str, list[str]]:
    """How frequent each trait is among mistakes and among right answers."""
    n_wrong, n_right = len(of.wrong), len(of.answers) - len(of.wrong)
    return {
        t("sentiment.errors.trait"): [_trait(t, of, each) for each in of.traits],
        t("sentiment.errors.of_wrong"): [_share(t, each.n_wrong, n_wrong) for each in of.traits],
        t("sentiment.errors.of_right"): [_share(t, each.n_right, n_right) for each in of.traits],
    }


# --- sentences


def found(t: Texts, trained: Trained, of: "Mistakes") -> list[str]:
    """How often it is right, how often the sure answers are, and what mistakes share."""
    name = names(t)[trained.run.architecture.kind]
    n, n_wrong = len(of.answers), len(of.wrong)
    if not n_wrong:
        lower = percent(t, of_share(n, n).lower)
        said = [t("sentiment.errors.none", name=name, n=n, lower=lower)]
    else:
        said = [_right(t, name, of)]
    return [*said, _positive(t, of), *_sure(t, of), *_shared(t, of)]


def _right(t: Texts, name: str, of: "Mistakes") -> str:
    n = len(of.answers)
    n_right = n - len(of.wrong)
    lower, upper = of_share(n_right, n)
    return t(
        "sentiment.errors.accuracy",
        name=name,
        right=n_right,
        n=n,
        share=percent(t, n_right / n),
        lower=percent(t, lower),
        upper=percent(t, upper),
    )


def _positive(t: Texts, of: "Mistakes") -> str:
    (_, _), (missed, found) = of.confusion.tolist()
    said = int(of.confusion[:, 1].sum())
    if not said:
        return t("sentiment.errors.none_positive", positive=missed)
    if not missed + found:
        return t("sentiment.errors.no_positive", said=said)
    return t(
        "sentiment.errors.precision",
        said=said,
        found=found,
        precision=percent(t, of.precision),
        positive=missed + found,
        recall=percent(t, of.recall),
    )


def _sure(t: Texts, of: "Mistakes") -> list[str]:
    """Whether surer answers are right more often, of the surest and least sure that there are."""
    there = [each for each in of.bins if each.n]
    if len(there) < 2:
        return []
    low, high = there[0], there[-1]
    key = "sentiment.errors.sure_open"
    if _interval(high).lower > _interval(low).upper:
        key = "sentiment.errors.sure_more"
    elif _interval(low).lower > _interval(high).upper:
        key = "sentiment.errors.sure_less"
    return [
        t(
            key,
            high_from=_limit(high.lower),
            high_right=high.n_right,
            high_n=high.n,
            low_to=_limit(low.upper),
            low_right=low.n_right,
            low_n=low.n,
        )
    ]


def _shared(t: Texts, of: "Mistakes") -> list[str]:
    from attention_core.neural.sentiment.mistakes import FEWEST

    if not of.wrong:
        return []
    if min(len(of.wrong), len(of.answers) - len(of.wrong)) < FEWEST:
        return [t("sentiment.errors.too_few", n=len(of.wrong), least=FEWEST)]
    differing = [each for each in of.traits if each.differs(of)]
    if not differing:
        return [t("sentiment.errors.nothing_shared")]
    return [
        t(
            "sentiment.errors.shared",
            trait=_trait(t, of, each),
            wrong=_share(t, each.n_wrong, len(of.wrong)),
            right=_share(t, each.n_right, len(of.answers) - len(of.wrong)),
        )
        for each in differing
    ]


# --- words and numbers


def _labels(t: Texts) -> tuple[str, str]:
    return t("sentiment.errors.negative"), t("sentiment.errors.positive")


def _unknown(t: Texts, answer: "Answer") -> str:
    listed = t("narrate.comma").join(escaped(token) for token in dict.fromkeys(answer.unknown))
    return listed or t("sentiment.errors.nothing_unknown")


def _trait(t: Texts, of: "Mistakes", trait: "Trait") -> str:
    said = {
        "long": t("sentiment.errors.long", middle=short(of.middle)),
        "unknown": t("sentiment.errors.has_unknown"),
        "turn": t("sentiment.errors.turn"),
        "negation": t("sentiment.errors.negation"),
    }
    return said[trait.name]


def _share(t: Texts, count: int, n: int) -> str:
    return t("sentiment.errors.share_of", count=count, n=n, share=percent(t, count / n))


def _with_interval(t: Texts, count: int, n: int) -> str:
    if not n:
        return t("sentiment.errors.no_share")
    lower, upper = (percent(t, end) for end in of_share(count, n))
    return t("sentiment.errors.interval", share=percent(t, count / n), lower=lower, upper=upper)


def _interval(of: "Bin") -> Interval:
    return of_share(of.n_right, of.n)


def _limit(share: float) -> str:
    """Where a bin begins or ends, in hundredths."""
    return f"{100 * share:g}"

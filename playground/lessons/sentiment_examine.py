"""What the step on cross-examination shows: effects, agreements, a verdict, and one sentence."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from attention_core.arrays import FloatArray
from playground import charts
from playground.charts import Chart, Line
from playground.figures import Figure
from playground.jobs import Tell, View, Work
from playground.lessons.sentiment import Trained, names, percent
from playground.numerals import short
from playground.palette import Theme
from playground.texts import Texts, escaped

if TYPE_CHECKING:
    from attention_core.neural.sentiment.corpus import Corpus
    from attention_core.neural.sentiment.examination import (
        Agreement,
        Effect,
        Examination,
        Intervention,
        Pair,
        Statement,
    )
    from attention_core.neural.sentiment.model import Kind
    from attention_core.neural.sentiment.training import Run
    from attention_core.neural.sentiment.verdict import Verdict

MOST = 400  # validation sentences that are examined: a few seconds
_SEED = 0  # of the shuffles
_BINS = np.linspace(-1, 1, 11)  # of τ
_MORE_LEGEND = 80  # pixels: its names are long, so that it takes four lines on a phone
_BETWEEN = 0.3  # tokens, as a share of the width of each


@dataclass(frozen=True, eq=False, slots=True)
class Examined:
    """What was found out about one model, which need not be the one that is chosen now."""

    identity: str
    kind: "Kind"
    pools_last: bool  # whether the last token alone is pooled
    examination: "Examination"

    @property
    def nbytes(self) -> int:
        """About as many bytes as it takes."""
        return self.examination.nbytes


# --- the examination as a job


def identity(trained: Trained) -> str:
    """Of the model and of the sentences that it is asked about: equal where all of that is."""
    run, corpus = trained.run, trained.corpus
    digest = hashlib.sha256(repr(run.architecture).encode())
    for name, value in run.state.items():
        digest.update(name.encode())
        digest.update(value.numpy().tobytes())
    asked = [(example.tokens, example.label) for example in corpus.validation[:MOST]]
    digest.update(repr((asked, corpus.vocabulary.words)).encode())
    return digest.hexdigest()


def work(trained: Trained) -> Work:
    """Examines it; the same model and sentences give the same numbers to everyone."""

    def examine_all(tell: Tell) -> Examined:
        from attention_core.neural.sentiment.examination import examine
        from attention_core.neural.sentiment.training import result

        of, architecture = identity(trained), trained.run.architecture

        def examined(examination: "Examination") -> Examined:
            pools_last = architecture.pooling == "last"
            return Examined(of, architecture.kind, pools_last, examination)

        def told(so_far: "Examination") -> None:
            tell((len(so_far.statements) + so_far.n_too_short) / n, examined(so_far))

        asked = trained.corpus.validation[:MOST]
        n = len(asked)
        sentences = [trained.corpus.vocabulary.ids(example.tokens) for example in asked]
        labels = [example.label for example in asked]
        return examined(examine(result(trained.run), sentences, labels, seed=_SEED, tell=told))

    return examine_all


def examined(view: View | None) -> Examined | None:
    """What a job has found so far, if that is anything; at its end that may be nothing."""
    found: Examined | None = view.latest if view else None
    if found is None or found.examination.statements or found.examination.is_whole:
        return found
    return None


def progress(t: Texts, so_far: Examined) -> str:
    """How far it is."""
    n = len(so_far.examination.statements) + so_far.examination.n_too_short
    return t("sentiment.examine.progress", done=n, n=so_far.examination.n_sentences)


# --- all sentences: a figure and two tables


def figure(t: Texts, of: "Examination", theme: Theme) -> Figure:
    """How many answers each intervention changes, and how τ is spread over the sentences."""
    shares = [100 * effect.share for effect in of.effects.values()]
    x = [_short_names(t)[name] for name in of.effects]
    bars = Line(t("sentiment.examine.changed"), x, shares, 0, "bars")
    middles = (_BINS[:-1] + _BINS[1:]) / 2
    lines = [
        Line(name, middles, _spread(of.agreements[pair]), colour, "steps")
        for colour, (pair, name) in enumerate(_pairs(t).items(), start=1)
        if pair in of.agreements
    ]
    panels = [
        Chart(
            t("sentiment.examine.effects_chart"),
            "",
            t("sentiment.examine.changed_axis"),
            [bars],
        ),
        Chart(
            t("sentiment.examine.taus_chart"),
            t("sentiment.examine.tau_axis"),
            "",
            lines,
            x_range=(-1.0, 1.0),
        ),
    ]
    drawn = charts.figure(panels, theme)
    drawn["data"][0]["showlegend"] = False  # the bars' title names them
    drawn["layout"]["height"] += _MORE_LEGEND
    drawn["layout"]["margin"]["t"] += _MORE_LEGEND
    drawn["layout"]["legend"] |= {"yref": "container", "y": 1, "yanchor": "top"}
    return drawn


def effects(t: Texts, of: "Examination") -> dict[str, list[str]]:
    """What each intervention does, column by column; first what is so without any."""
    n = len(of.statements)
    own = [*of.effects.items()]
    return {
        t("sentiment.examine.intervention"): [
            t("sentiment.examine.nothing"),
            *(_interventions(t)[name] for name, _ in own),
        ],
        t("sentiment.examine.changed"): [
            _NOTHING,
            *(_changed(t, effect, n) for _, effect in own),
        ],
        t("sentiment.examine.right"): [
            percent(t, of.accuracy),
            *(percent(t, float(effect.right.mean())) for _, effect in own),
        ],
        t("sentiment.examine.moved"): [
            _NOTHING,
            *(short(float(effect.moved.mean()), 2) for _, effect in own),
        ],
    }


_NOTHING = "—"


def agreements(t: Texts, of: "Examination") -> dict[str, list[str]]:
    """How alike each pair of rankings is, column by column."""
    own = [(_pairs(t)[pair], of.agreements[pair]) for pair in _pairs(t) if pair in of.agreements]
    return {
        t("sentiment.examine.pair"): [name for name, _ in own],
        t("sentiment.examine.median"): [_tau(t, agreement.quartiles[1]) for _, agreement in own],
        t("sentiment.examine.middle_half"): [
            _from_to(t, *agreement.quartiles[::2]) for _, agreement in own
        ],
        t("sentiment.examine.mean"): [
            t(
                "sentiment.examine.with_interval",
                mean=_tau(t, agreement.mean),
                interval=_from_to(t, *agreement.interval),
            )
            for _, agreement in own
        ],
        t("sentiment.examine.undefined"): [_undefined(of, agreement) for _, agreement in own],
    }


def _undefined(of: "Examination", agreement: "Agreement") -> str:
    """Of how many sentences, of which each may have several orders, as those by chance do."""
    return str(agreement.n_undefined * len(of.statements) // len(agreement.taus))


def _spread(of: "Agreement") -> list[float]:
    """The share of sentences, in hundredths, in each bin."""
    counts, _ = np.histogram(of.defined, _BINS)
    shares: list[float] = (100 * counts / max(1, len(of.defined))).tolist()
    return shares


def _changed(t: Texts, effect: "Effect", n: int) -> str:
    return t(
        "sentiment.examine.changed_of",
        count=_tenths(effect.n_flipped),
        n=n,
        share=percent(t, effect.share),
        lower=percent(t, effect.interval.lower),
        upper=percent(t, effect.interval.upper),
    )


# --- sentences


def known(t: Texts, trained: Trained) -> list[str]:
    """What is certain before anything was measured."""
    lengths = [len(example.tokens) for example in trained.corpus.validation[:MOST]]
    asked = [length for length in lengths if length > 1]
    return [
        t("sentiment.examine.nothing_yet", button=t("sentiment.examine.start")),
        t(
            "sentiment.examine.known",
            n=len(asked),
            readings=f"{sum(asked):,}",
        ),
    ]


def found(t: Texts, of: Examined, trained: Trained, view: View) -> list[str]:
    """The verdict and what it follows from, or that there is nothing to examine."""
    name, e = names(t)[of.kind], of.examination
    said = []
    if e.statements:
        said = _judged(t, name, of) if e.has_attention else _without_attention(t, name, e)
    if e.n_too_short:
        said.append(t("sentiment.examine.too_short", n=e.n_too_short))
    if not (view.is_active or e.is_whole):
        said.append(t("sentiment.examine.stopped", n=e.n_sentences))
    if identity(trained) != of.identity:
        said.append(t("sentiment.examine.other", name=name))
    return said


def rules(t: Texts) -> list[str]:
    """How a verdict comes about, with its limits."""
    from attention_core.neural.sentiment import verdict as v

    flipped = t("sentiment.percent", share=f"{100 * v.LEAST_FLIPPED:g}")
    return [
        t("sentiment.examine.rule_answers", fewest=v.FEWEST),
        t("sentiment.examine.rule_needs", flipped=flipped),
        t("sentiment.examine.rule_points", moved=short(v.LEAST_MOVED)),
        t("sentiment.examine.rule_agrees", tau=short(v.LEAST_TAU)),
        t("sentiment.examine.rule_verdict"),
        t("sentiment.examine.rule_measures"),
        t("sentiment.examine.rule_limits"),
        t("sentiment.examine.rule_sources"),
    ]


def _judged(t: Texts, name: str, of: Examined) -> list[str]:
    from attention_core.neural.sentiment.verdict import FEWEST, verdict

    e = of.examination
    v, n = verdict(e), len(e.statements)
    conclusions = {
        "explains": t("sentiment.examine.explains", name=name, n=n),
        "does_not": t("sentiment.examine.does_not", name=name, n=n),
        "partly": t("sentiment.examine.partly", name=name, n=n),
        "open": t("sentiment.examine.open", name=name, n=n),
        "too_few": t("sentiment.examine.too_few", name=name, n=n, fewest=FEWEST),
    }
    said = [conclusions[v.conclusion], _needs(t, e, v), _points(t, e, v), _agrees(t, e, v)]
    if of.pools_last:
        said.append(t("sentiment.examine.pools_last"))
    return said


def _needs(t: Texts, e: "Examination", v: "Verdict") -> str:
    keys = {
        "yes": "sentiment.examine.needs_yes",
        "no": "sentiment.examine.needs_no",
        "open": "sentiment.examine.needs_open",
    }
    return t(
        keys[v.needs],
        n=len(e.statements),
        equal=_tenths(e.effects["equal"].n_flipped),
        shuffled=_tenths(e.effects["shuffled"].n_flipped),
        draws=len(e.statements[0].shuffled),
    )


def _points(t: Texts, e: "Examination", v: "Verdict") -> str:
    keys = {
        "yes": "sentiment.examine.points_yes",
        "no": "sentiment.examine.points_no",
        "open": "sentiment.examine.points_open",
    }
    lower, upper = (short(end, 2) for end in v.beyond_random)
    return t(
        keys[v.points],
        most=short(float(e.effects["most"].moved.mean()), 2),
        random=short(float(e.effects["random"].moved.mean()), 2),
        beyond=short(v.beyond_random_mean, 2),
        interval=t("sentiment.examine.from_to", lower=lower, upper=upper),
    )


def _agrees(t: Texts, e: "Examination", v: "Verdict") -> str:
    keys = {
        "yes": "sentiment.examine.agrees_yes",
        "no": "sentiment.examine.agrees_no",
        "open": "sentiment.examine.agrees_open",
    }
    own = e.agreements["attention_occlusion"]
    return t(
        keys[v.agrees],
        tau=_tau(t, own.mean),
        interval=_from_to(t, *own.interval),
        gradient=_tau(t, e.agreements["occlusion_gradient"].mean),
        chance=_tau(t, e.agreements["chance"].mean),
    )


def _without_attention(t: Texts, name: str, e: "Examination") -> list[str]:
    own = e.agreements["occlusion_gradient"]
    return [
        t("sentiment.examine.no_attention", name=name),
        t(
            "sentiment.examine.yardstick",
            n=len(e.statements),
            tau=_tau(t, own.mean),
            interval=_from_to(t, *own.interval),
            chance=_tau(t, e.agreements["chance"].mean),
        ),
    ]


# --- one sentence


@dataclass(frozen=True, eq=False, slots=True)
class Witness:
    """One sentence and what was asked about it."""

    tokens: tuple[str, ...]
    label: int | None  # None where nobody has said
    statement: "Statement"


def ways(t: Texts) -> dict[str, str]:
    """Where the one sentence can come from."""
    return {
        "validation": t("sentiment.examine.of_validation"),
        "look": t("sentiment.examine.of_look"),
    }


def of_validation(trained: Trained, number: int) -> Witness | None:
    """The validation sentence of this number, counted from 1; None where it is too short."""
    example = trained.corpus.validation[number - 1]
    return _witness(trained, example.tokens, example.label)


def of_text(trained: Trained, text: str) -> Witness | None:
    """Any text; None where it is too short."""
    return _witness(trained, trained.corpus.read(text), None)


def _witness(trained: Trained, tokens: tuple[str, ...], label: int | None) -> Witness | None:
    statement = _statement(trained.run, trained.corpus, tokens) if len(tokens) > 1 else None
    return Witness(tokens, label, statement) if statement else None


@lru_cache(maxsize=8)  # each may keep a whole run
def _statement(run: "Run", corpus: "Corpus", tokens: tuple[str, ...]) -> "Statement":
    from attention_core.neural.sentiment.examination import examine
    from attention_core.neural.sentiment.training import result

    ids = corpus.vocabulary.ids(tokens)
    return examine(result(run), [ids], [0]).statements[0]  # no label comes into it


def bars(t: Texts, of: Witness, theme: Theme) -> Figure:
    """The share of each token in attention, occlusion and gradient, side by side."""
    panel = Chart(
        t("sentiment.examine.one_chart"),
        "",
        t("sentiment.examine.one_axis"),
        [
            Line(name, np.arange(len(of.tokens)), 100 * values, colour, "bars")
            for colour, (name, values) in enumerate(_parts(t, of.statement))
        ],
        x_names=of.tokens,
    )
    drawn = charts.figure([panel], theme)
    drawn["layout"]["bargap"] = _BETWEEN
    return drawn


def _parts(t: Texts, of: "Statement") -> list[tuple[str, FloatArray]]:
    own = [
        (t("sentiment.examine.by_attention"), of.attention),
        (t("sentiment.examine.by_occlusion"), of.occlusion),
        (t("sentiment.examine.by_gradient"), of.gradient),
    ]
    return [(name, values / (values.sum() or 1.0)) for name, values in own if values is not None]


def of_one(t: Texts, of: Witness) -> list[str]:
    """What the model says to it, which tokens come first, and how alike the rankings are."""
    from attention_core.neural.sentiment.examination import taus
    from attention_core.neural.sentiment.model import probability

    likely = short(float(probability(of.statement.logit)))
    said = [t("sentiment.examine.one_answer", probability=likely)]
    if of.label is not None:
        labels = (t("sentiment.examine.is_negative"), t("sentiment.examine.is_positive"))
        said.append(labels[of.label])
    listed = t("narrate.comma").join(
        t("sentiment.examine.first", by=name, tokens=_leaders(t, of.tokens, values))
        for name, values in _parts(t, of.statement)
    )
    said.append(t("sentiment.examine.firsts", listed=listed))
    own = taus(of.statement)
    pairs = t("narrate.comma").join(
        t("sentiment.examine.one_tau", pair=name, tau=_tau(t, own[pair]))
        for pair, name in _pairs(t).items()
        if pair in own
    )
    return [*said, t("sentiment.examine.one_taus", listed=pairs)]


def _leaders(t: Texts, tokens: Sequence[str], values: FloatArray) -> str:
    """The token with the largest value, and its place."""
    place = int(np.argmax(values))
    return t("sentiment.examine.token", token=escaped(tokens[place]), place=place + 1)


# --- words and numbers


def _interventions(t: Texts) -> dict["Intervention", str]:
    return {
        "most": t("sentiment.examine.most"),
        "random": t("sentiment.examine.random"),
        "least": t("sentiment.examine.least"),
        "strongest": t("sentiment.examine.strongest"),
        "equal": t("sentiment.examine.equal"),
        "shuffled": t("sentiment.examine.shuffled"),
    }


def _short_names(t: Texts) -> dict["Intervention", str]:
    """Of the interventions, as there is room for below a bar."""
    return {
        "most": t("sentiment.examine.most_short"),
        "random": t("sentiment.examine.random_short"),
        "least": t("sentiment.examine.least_short"),
        "strongest": t("sentiment.examine.strongest_short"),
        "equal": t("sentiment.examine.equal_short"),
        "shuffled": t("sentiment.examine.shuffled_short"),
    }


def _pairs(t: Texts) -> dict["Pair", str]:
    return {
        "attention_occlusion": t("sentiment.examine.attention_occlusion"),
        "attention_gradient": t("sentiment.examine.attention_gradient"),
        "occlusion_gradient": t("sentiment.examine.occlusion_gradient"),
        "chance": t("sentiment.examine.chance"),
    }


def _from_to(t: Texts, lower: float, upper: float) -> str:
    return t("sentiment.examine.from_to", lower=_tau(t, lower), upper=_tau(t, upper))


def _tau(t: Texts, value: float) -> str:
    """A number between -1 and 1 with two decimals, as more would be noise."""
    if np.isnan(value):
        return t("sentiment.examine.no_number")
    return f"{value + 0.0:.2f}".replace("-0.00", "0.00").replace("-", "−")


def _tenths(value: float) -> str:
    """With one decimal, where that is not 0: more of a count is noise."""
    return f"{value:.1f}".removesuffix(".0")

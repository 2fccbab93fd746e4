"""The step on cross-examination: figure, tables, verdict and sentences are what was measured."""

import re
from dataclasses import replace

import numpy as np
import pytest

from attention_core.neural.sentiment import verdict as rules
from attention_core.neural.sentiment.corpus import Corpus
from attention_core.neural.sentiment.examination import examine, taus
from attention_core.neural.sentiment.table import Table
from attention_core.neural.sentiment.training import Recipe, result
from attention_core.neural.sentiment.verdict import verdict
from playground.jobs import StoppedError, View
from playground.lessons import sentiment
from playground.lessons import sentiment_examine as step
from playground.lessons.sentiment import Trained
from playground.lessons.sentiment_examine import Examined
from playground.texts import LANGUAGES, Texts
from tests.attention_core.neural.sentiment import planted
from tests.sentiment import ARCHITECTURES, training

EN = Texts("en")
DONE = View("sentiment.examine", "done")
every_language = pytest.mark.parametrize("language", LANGUAGES)


def trained(kind="lstm_attention"):
    return sentiment.choices(training())[kind, 0]


def silent(done, shown=None):
    pass


@pytest.fixture(scope="module")
def found():
    return step.work(trained())(silent)


@pytest.fixture(scope="module")
def without_attention():
    return step.work(trained("bag"))(silent)


def of_planted(model, n=100, **changes):
    made = Examined("of another", "attention", False, examine(model, *planted.sentences(n)))
    return replace(made, **changes)


def numbers(text):
    plain = text.replace("−", "-").replace(",", "")
    return [float(number) for number in re.findall(r"-?\d+(?:\.\d+)?(?:e-?\d+)?", plain)]


# --- the job


def test_the_work_examines_the_validation_sentences_of_the_model(found):
    of = trained()
    told = []

    step.work(of)(lambda done, shown=None: told.append((done, shown)))

    ids = [of.corpus.vocabulary.ids(example.tokens) for example in of.corpus.validation]
    labels = [example.label for example in of.corpus.validation]
    expected = examine(result(of.run), ids, labels)
    assert len(found.examination.statements) == len(ids)
    for one, two in zip(found.examination.statements, expected.statements, strict=True):
        np.testing.assert_array_equal(one.without, two.without)
        np.testing.assert_array_equal(one.shuffled, two.shuffled)
    assert [done for done, _ in told] == [16 / 40, 32 / 40, 1]
    assert found.examination.accuracy == pytest.approx(of.run.accuracy)
    assert EN("sentiment.examine.progress", done=16, n=40) == step.progress(EN, told[0][1])


def test_the_work_ends_when_it_is_not_wanted():
    def refuse(done, shown=None):
        raise StoppedError

    with pytest.raises(StoppedError):
        step.work(trained())(refuse)


def test_at_most_so_many_sentences_are_examined(monkeypatch):
    monkeypatch.setattr(step, "MOST", 7)

    assert step.work(trained("bag"))(silent).examination.n_sentences == 7


def test_the_same_model_is_known_again_and_another_is_not():
    of = trained()
    again = Trained(replace(of.run), of.corpus)
    epoch_before = Trained(replace(of.run, kept=of.run.kept - 1), of.corpus)
    fewer = Corpus(of.corpus.train, of.corpus.validation[1:], of.corpus.vocabulary, "words")

    assert step.identity(of) == step.identity(again)
    others = [trained("bag"), epoch_before, Trained(of.run, fewer)]
    assert len({step.identity(each) for each in [of, *others]}) == 4


def test_before_a_job_has_told_anything_there_is_nothing(found):
    assert step.examined(None) is None
    assert step.examined(View("sentiment.examine", "waiting")) is None
    empty = replace(found, examination=replace(found.examination, statements=()))
    assert step.examined(View("sentiment.examine", "running", shown=empty)) is None
    assert step.examined(View("sentiment.examine", "stopped", shown=found)) is found


@every_language
def test_what_is_known_counts_the_readings(language):
    press, known = step.known(Texts(language), trained())

    n = sum(len(example.tokens) for example in trained().corpus.validation)
    assert Texts(language)("sentiment.examine.start") in press
    assert numbers(known) == [40, n]


# --- the figure and the tables


def test_the_bars_are_the_shares_that_change_and_the_steps_the_spread_of_tau(found):
    e = found.examination

    figure = step.figure(EN, e, "light")

    bars, *steps = figure["data"]
    assert bars["type"] == "bar"
    assert bars["y"] == pytest.approx([100 * effect.share for effect in e.effects.values()])
    assert len(bars["x"]) == len(set(bars["x"])) == 6
    assert len(steps) == len(e.agreements) == 4
    order = ("attention_occlusion", "attention_gradient", "occlusion_gradient", "chance")
    for line, pair in zip(steps, order, strict=True):
        values = e.agreements[pair].defined
        assert sum(line["y"]) == pytest.approx(100)
        inside = ((values >= 0.2) & (values < 0.4)).mean()
        assert line["y"][6] == pytest.approx(100 * inside, abs=1e-6)
        assert line["x"][6] == pytest.approx(0.3)


def test_without_attention_there_are_fewer_bars_and_lines(without_attention):
    figure = step.figure(EN, without_attention.examination, "dark")

    assert [len(figure["data"][0]["x"]), len(figure["data"])] == [2, 3]


@every_language
def test_the_tables_are_the_numbers_that_were_measured(language, found):
    t, e = Texts(language), found.examination

    done, changed, right, moved = step.effects(t, e).values()
    pairs, median, half, mean, undefined = step.agreements(t, e).values()

    assert len(set(done)) == 7
    assert numbers(right[0]) == [pytest.approx(100 * e.accuracy, abs=0.05)]
    for index, effect in enumerate(e.effects.values(), start=1):
        told = numbers(changed[index])
        assert {40.0, round(effect.n_flipped, 1), round(100 * effect.share, 1)} <= set(told)
        assert told[-2:] == pytest.approx([100 * end for end in effect.interval], abs=0.051)
        assert numbers(right[index]) == [pytest.approx(100 * effect.right.mean(), abs=0.051)]
        assert numbers(moved[index]) == [pytest.approx(effect.moved.mean(), rel=0.06)]
    assert len(set(pairs)) == 4
    for index, pair in enumerate(
        ("attention_occlusion", "attention_gradient", "occlusion_gradient", "chance")
    ):
        agreement = e.agreements[pair]
        lower, middle, upper = agreement.quartiles
        assert numbers(median[index]) == [pytest.approx(middle, abs=0.006)]
        assert numbers(half[index]) == pytest.approx([lower, upper], abs=0.006)
        told = [agreement.mean, *agreement.interval]
        assert numbers(mean[index]) == pytest.approx(told, abs=0.006)
        assert undefined[index] == str(agreement.n_undefined)


# --- the verdict


@every_language
def test_the_limits_of_the_verdict_are_told(language):
    told = numbers(" ".join(step.rules(Texts(language))))

    for limit in (100 * rules.LEAST_FLIPPED, rules.LEAST_MOVED, 0.333, rules.FEWEST):
        assert limit in told
    assert pytest.approx(0.333, abs=0.001) == rules.LEAST_TAU


@every_language
@pytest.mark.parametrize(
    ("model", "conclusion"), [("explained", "explains"), ("unmoved", "does_not")]
)
def test_a_planted_model_gets_the_verdict_that_is_known(language, model, conclusion):
    t = Texts(language)
    of = of_planted(getattr(planted, model)())

    said = step.found(t, of, trained(), DONE)

    name = t("sentiment.attention")
    assert said[0] == t(f"sentiment.examine.{conclusion}", name=name, n=100)
    e = of.examination
    told = set(numbers(said[1]))
    assert {100.0, 5.0, round(e.effects["equal"].n_flipped, 1)} <= told
    assert round(e.effects["shuffled"].n_flipped, 1) in told


@every_language
def test_a_model_that_does_not_need_its_weights_is_said_hardly_to_need_them(language):
    t = Texts(language)

    said = step.found(t, of_planted(planted.unmoved()), trained(), DONE)

    assert said[1] == t("sentiment.examine.needs_no", n=100, equal="0", shuffled="0", draws=5)


@every_language
def test_the_sentences_are_what_was_measured(language, found):
    t, e = Texts(language), found.examination
    v = verdict(e)

    conclusion, needs, points, agrees = step.found(t, found, trained(), DONE)

    assert t(f"sentiment.examine.{v.conclusion}", **fields(t, v, e)) == conclusion
    assert {40.0, 5.0, round(e.effects["equal"].n_flipped, 1)} <= set(numbers(needs))
    moved = [e.effects[name].moved.mean() for name in ("most", "random")]
    expected = [*moved, v.beyond_random_mean, 95, *v.beyond_random]
    assert numbers(points) == pytest.approx(expected, rel=0.06)
    own = e.agreements["attention_occlusion"]
    others = [e.agreements[pair].mean for pair in ("occlusion_gradient", "chance")]
    assert numbers(agrees) == pytest.approx([own.mean, 95, *own.interval, *others], abs=0.006)


def fields(t, v, e):
    given = {"name": t("sentiment.lstm_attention"), "n": len(e.statements)}
    return given | ({"fewest": rules.FEWEST} if v.conclusion == "too_few" else {})


def test_of_few_sentences_there_is_no_verdict():
    said = step.found(EN, of_planted(planted.explained(), 12), trained(), DONE)

    assert said[0] == EN("sentiment.examine.too_few", name="Attention alone", n=12, fewest=30)


@every_language
def test_without_attention_there_is_nothing_to_examine_but_the_yardstick(
    language, without_attention
):
    t = Texts(language)

    said = step.found(t, without_attention, trained("bag"), DONE)

    own = without_attention.examination.agreements["occlusion_gradient"]
    assert said[0] == t("sentiment.examine.no_attention", name=t("sentiment.bag"))
    told = numbers(said[1])
    assert 40 in told
    assert any(number == pytest.approx(own.mean, abs=0.006) for number in told)
    assert len(said) == 2


def test_what_limits_the_numbers_is_told(found):
    short_of = replace(found.examination, n_too_short=3, n_sentences=50)
    limited = replace(found, identity="other", pools_last=True, examination=short_of)
    keys = {
        "too_short": {"n": 3},
        "stopped": {"n": 50},
        "other": {"name": "LSTM + attention"},
        "pools_last": {},
    }
    expected = {EN(f"sentiment.examine.{key}", **given) for key, given in keys.items()}

    limited_said = step.found(EN, limited, trained(), View("sentiment.examine", "stopped"))
    running = step.found(EN, limited, trained(), View("sentiment.examine", "running"))

    assert expected <= set(limited_said)
    assert EN("sentiment.examine.stopped", n=50) not in running
    assert not expected & set(step.found(EN, found, trained(), DONE))


# --- one sentence


@every_language
def test_the_bars_of_a_sentence_are_shares_over_its_tokens(language):
    of = trained()

    witness = step.of_validation(of, 3)
    figure = step.bars(Texts(language), witness, "light")

    example = of.corpus.validation[2]
    assert witness.tokens == example.tokens
    assert witness.label == example.label
    assert figure["layout"]["xaxis"]["ticktext"] == [*example.tokens]
    own = witness.statement
    measures = (own.attention, own.occlusion, own.gradient)
    for bars, values in zip(figure["data"], measures, strict=True):
        assert bars["x"] == [*range(len(example.tokens))]  # repeated words stay apart
        assert bars["y"] == pytest.approx(100 * values / values.sum())


@every_language
def test_what_is_said_of_a_sentence_is_what_was_asked_about_it(language):
    t = Texts(language)
    witness = step.of_validation(trained(), 3)

    said = step.of_one(t, witness)

    own = witness.statement
    probability, label, firsts, alike = said
    assert numbers(probability) == [pytest.approx(1 / (1 + np.exp(-own.logit)), rel=0.01)]
    key = ("is_negative", "is_positive")[witness.label]
    assert label == t(f"sentiment.examine.{key}")
    places = [int(np.argmax(values)) for values in (own.attention, own.occlusion, own.gradient)]
    assert numbers(firsts) == [place + 1 for place in places]
    assert all(witness.tokens[place] in firsts for place in places)
    assert numbers(alike)[2:] == pytest.approx([*taus(own).values()], abs=0.006)


def test_a_learners_text_has_no_label_and_its_tokens_are_shown_letter_by_letter():
    witness = step.of_text(trained("bag"), "*good* music")

    assert witness.tokens == ("*", "good", "*", "music")
    assert witness.label is None
    said = step.of_one(EN, witness)
    assert len(said) == 3
    assert "“*”" not in said[1]


@pytest.mark.parametrize("text", ["", "music", "   "])
def test_of_less_than_two_tokens_nothing_can_be_left_out(text):
    assert step.of_text(trained(), text) is None


def test_a_token_of_markup_is_a_plain_tick():
    witness = step.of_validation(trained(), 1)
    hostile = replace(witness, tokens=("<b>", *witness.tokens[1:]))

    figure = step.bars(EN, hostile, "light")

    assert figure["layout"]["xaxis"]["ticktext"][0] == "&lt;b&gt;"


def test_where_nothing_moves_no_share_is_divided_by_0():
    witness = step.of_validation(trained(), 1)
    still = np.zeros(len(witness.tokens))
    statement = replace(witness.statement, gradient=still, without=still + witness.statement.logit)

    figure = step.bars(EN, replace(witness, statement=statement), "light")
    said = step.of_one(EN, replace(witness, statement=statement))

    assert figure["data"][1]["y"] == still.tolist()
    assert EN("sentiment.examine.no_number") in said[-1]


def of_short_sentences():
    """A model whose sentences have one token each."""
    source = Table("text,label\n" + "".join(f"w{i},{i % 2}\n" for i in range(60)))
    plan = sentiment.Plan(source, ARCHITECTURES[3:], Recipe(n_epochs=1), (0,))
    return next(iter(sentiment.choices(sentiment.work(plan)(silent)).values()))


def test_sentences_of_one_token_are_not_promised_and_at_the_end_that_is_told():
    of = of_short_sentences()

    examined = step.work(of)(silent)

    assert numbers(step.known(EN, of)[1]) == [0, 0]
    view = replace(DONE, result=examined)
    assert step.examined(view) is examined
    n = len(of.corpus.validation)
    assert step.found(EN, examined, of, view) == [EN("sentiment.examine.too_short", n=n)]


def test_sentences_without_an_order_are_counted_once_however_many_orders_are_drawn():
    made = examine(planted.explained(), [[2, 2]] * 40, [0, 1] * 20)  # the same word twice

    counts = step.agreements(EN, made)[EN("sentiment.examine.undefined")]
    with_occlusion = [counts[0], *counts[2:]]
    assert with_occlusion == ["40"] * 3

"""The step "warmup": the same runs with warm-up and without, and what that changed."""

import math
import re
from dataclasses import replace

import pytest

from attention_core.neural.sentiment.model import Architecture
from attention_core.neural.sentiment.training import Recipe, train
from playground.jobs import View
from playground.lessons import sentiment, sentiment_warmup
from playground.lessons.sentiment import Plan, Training
from playground.lessons.sentiment_warmup import Pair, Plans
from playground.shelf import Shelf
from playground.texts import LANGUAGES, Texts
from tests.playground.lessons.test_sentiment_train import corpus_of, lines_of, numbers, run_of
from tests.sentiment import ARCHITECTURES, SOURCES

EN = Texts("en")
RECIPE = Recipe(learning_rate=0.1, n_epochs=3, batch_size=16)
SMALL = ARCHITECTURES[2]
every_language = pytest.mark.parametrize("language", LANGUAGES)


@pytest.fixture(autouse=True)
def shelf(monkeypatch):
    """Nothing was trained before."""
    monkeypatch.setattr(sentiment, "_RUNS", Shelf(most=50, most_bytes=2**24))


def plans_of(made_of=SMALL, recipe=RECIPE):
    with_warmup, without = (
        Plan(SOURCES["en"], (made_of,), replace(recipe, warmup=share), (0, 1, 2))
        for share in (0.2, 0.0)
    )
    return Plans(with_warmup, without)


def pair_of(with_warmup, without, *, ending="all"):
    """Runs of these accuracies."""
    plans = plans_of(Architecture("lstm"))
    trainings = []
    for plan, accuracies in ((plans.with_warmup, with_warmup), (plans.without, without)):
        runs = tuple(
            run_of("lstm", accuracy, seed, ending=ending, recipe=plan.recipe)
            for seed, accuracy in enumerate(accuracies)
        )
        trainings.append(Training(plan, corpus_of(), runs, (0.1,) * len(runs)))
    return Pair(*trainings)


def setting(**changed):
    given = {f"sentiment.{name.replace('_', '.')}": value for name, value in changed.items()}
    return lambda key, default: given.get(key, default)


# --- what is trained


def test_both_plans_differ_in_nothing_but_the_warmup():
    plans = sentiment_warmup.plans(setting(), EN)

    assert plans.with_warmup.recipe.warmup == 0.2
    assert plans.without.recipe.warmup == 0.0
    assert replace(plans.with_warmup, recipe=plans.without.recipe) == plans.without
    assert replace(plans.with_warmup.recipe, warmup=0.0) == plans.without.recipe
    assert plans.without.recipe.learning_rate == 0.1
    assert plans.without.recipe.n_epochs == 12
    assert plans.without.seeds == (0, 1, 2)
    assert plans.without.architectures == (Architecture("lstm_attention"),)


def test_every_input_counts_and_the_rest_is_as_on_the_step_about_training():
    plans = sentiment_warmup.plans(
        setting(
            warmup_model="attention",
            warmup_rate=0.3,
            warmup_share=0.4,
            warmup_epochs=2,
            train_clip=0.0,
            train_embedding=16,
            train_patience=2,
            train_rate=0.001,
        ),
        EN,
    )

    recipe = plans.with_warmup.recipe
    assert (recipe.learning_rate, recipe.warmup, recipe.n_epochs) == (0.3, 0.4, 2)
    assert (recipe.clip, recipe.patience) == (None, 0)
    assert plans.without.architectures == (Architecture("attention", embed_dim=16),)


def test_long_sentences_are_read_less_often():
    assert sentiment_warmup.n_epochs(setting(texts_source="reviews")) == 4


def test_the_values_at_first_can_be_set():
    inputs = sentiment_warmup.inputs(EN, setting())

    assert [each.id for each in inputs] == ["rate", "share", "epochs"]
    for each in inputs:
        assert each.default in each.options
        assert len(set(each.options.values())) == len(each.options)


def test_other_plans_have_another_key():
    keys = {
        sentiment_warmup.key(plans)
        for plans in (
            plans_of(),
            plans_of(recipe=replace(RECIPE, clip=None)),
            plans_of(made_of=ARCHITECTURES[1]),
            plans_of(),
        )
    }

    assert len(keys) == 3


def test_both_are_trained_seed_by_seed_as_the_core_does():
    told, plans = [], plans_of()

    pair = sentiment_warmup.work(plans)(lambda done, shown=None: told.append((done, shown)))

    assert told.pop(0) == (0.0, None)  # the sentences are made

    corpus = SOURCES["en"].corpus()
    for training in pair.both:
        expected = [train(corpus, SMALL, training.plan.recipe, seed) for seed in (0, 1, 2)]
        assert [run.losses for run in training.runs] == [run.losses for run in expected]
    assert pair.plans == plans
    assert pair.done == 1.0
    assert pair.nbytes == sum(each.nbytes for each in pair.both)
    dones = [done for done, _ in told]
    assert dones == sorted(dones)
    assert all(done == shown.done for done, shown in told)
    # Neither is ahead of the other by more than a seed.
    assert all(0 <= len(shown.with_warmup.runs) - len(shown.without.runs) <= 1 for _, shown in told)


def test_what_a_job_gave_goes_before_what_it_told():
    one, other = pair_of([0.5], [0.5]), pair_of([0.6], [0.6])

    assert sentiment_warmup.trained(None) is None
    assert sentiment_warmup.trained(View("", "running", shown=one)) is one
    assert sentiment_warmup.trained(View("", "done", shown=one, result=other)) is other


# --- what is shown


@every_language
def test_the_table_has_a_row_with_and_a_row_without(language):
    t = Texts(language)

    table = sentiment_warmup.table(t, pair_of([0.9, 1.0], [0.5, 0.5]), is_active=True)

    names, first, second, third, mean = table.values()
    assert numbers(names[0]) == [20]
    assert names[1] == t("sentiment.warmup.without")
    assert first == [t("sentiment.percent", share="90.0"), t("sentiment.percent", share="50.0")]
    assert [numbers(each) for each in second] == [[100], [50]]
    assert third == [t("sentiment.train.is_waiting")] * 2
    assert numbers(mean[0]) == [95, 90, 100]
    assert numbers(mean[1]) == [50]


def test_the_curves_are_those_of_the_runs_and_their_rates():
    pair = sentiment_warmup.work(plans_of())(lambda done, shown=None: None)

    figure = sentiment_warmup.curves(EN, pair, "light")

    runs = [run for each in pair.both for run in each.runs]
    for axis, measure in (("y2", "losses"), ("y3", "norms"), ("y4", "rates")):
        for run, line in zip(runs, lines_of(figure, axis), strict=True):
            assert line["y"] == pytest.approx(getattr(run, measure), rel=1e-3)
            assert line["x"] == [*range(1, run.n_steps + 1)]
    for run, line in zip(runs, lines_of(figure, "y"), strict=False):
        assert line["y"] == pytest.approx([100 * epoch.accuracy for epoch in run.epochs], rel=1e-3)
    rates = [line["y"] for line in lines_of(figure, "y4")]
    assert rates[0][0] < rates[3][0] == 0.1
    assert sum(line["showlegend"] for line in figure["data"]) == 3


def test_the_rates_of_a_long_run_are_those_of_some_steps():
    rates = tuple(float(step) for step in range(1, 1001))
    pair = pair_of([0.5], [0.5])
    run = replace(pair.without.runs[0], rates=rates, n_steps=1000)

    figure = sentiment_warmup.curves(
        EN, replace(pair, without=replace(pair.without, runs=(run,))), "light"
    )

    line = lines_of(figure, "y4")[1]
    assert len(line["y"]) == 100
    assert line["x"] == line["y"]


def test_before_the_first_step_there_is_nothing_but_a_frame():
    pair = pair_of([], [])

    sentiment_warmup.curves(EN, pair, "dark")
    assert sentiment_warmup.progress(EN, pair) == EN("sentiment.train.begins")


# --- sentences


def found(t, pair):
    return sentiment_warmup.found(t, pair, pair.plans)


@every_language
def test_both_accuracies_are_told_and_in_how_many_seeds_it_helped(language):
    told, _, seeds, norms = found(Texts(language), pair_of([0.9, 0.5, 0.7], [0.6, 0.6, 0.7]))

    assert numbers(told) == [0.1, 100, 70, 50, 90, 63.3, 60, 70, 50]
    assert numbers(seeds) == [3, 1, 1, 1]
    assert numbers(norms) == [0.5, 0.5]


@pytest.mark.parametrize(
    ("with_warmup", "without", "key", "gap"),
    [
        ([0.9, 0.92], [0.6, 0.62], "better", 30),
        ([0.6, 0.62], [0.9, 0.92], "worse", -30),
        ([0.9, 0.5], [0.6, 0.62], "same", 9),
        ([0.52, 0.53], [0.51, 0.51], "same", 1.5),  # too few sentences for that
    ],
)
@every_language
def test_the_difference_is_told_both_ways_and_where_there_is_none(
    language, with_warmup, without, key, gap
):
    t = Texts(language)

    difference = found(t, pair_of(with_warmup, without))[1]

    assert numbers(difference) == [pytest.approx(gap)]
    pattern = re.escape(t(f"sentiment.warmup.{key}")).replace(r"\{gap\}", ".*")
    assert re.fullmatch(pattern, difference)


@every_language
def test_what_did_not_come_to_its_end_is_told_and_not_counted(language):
    t = Texts(language)

    said = found(t, pair_of([0.5, 0.5], [0.5], ending=""))

    assert [sorted(numbers(sentence)) for sentence in said] == [[0, 3], [0, 3]]


@every_language
def test_other_settings_than_those_that_were_compared_are_told(language):
    t, pair = Texts(language), pair_of([0.5], [0.5])

    for plans in (plans_of(), None):
        assert t("sentiment.train.other") in sentiment_warmup.found(t, pair, plans)
    assert t("sentiment.train.other") not in found(t, pair)


def test_before_anything_is_compared_the_button_is_explained():
    (sentence,) = sentiment_warmup.found_before(EN, plans_of())

    assert numbers(sentence) == [6, 3, 3, 3]


@every_language
def test_the_progress_names_the_run_that_goes_on(language):
    t, pair = Texts(language), pair_of([0.9], [0.5])
    going = replace(pair.without.runs[0], ending="", losses=(0.5,) * 15)
    pair = replace(pair, without=replace(pair.without, runs=(going,)))

    told = sentiment_warmup.progress(t, pair)

    # 45 steps in 0.2 s; 15 and two more seeds of both are ahead.
    assert numbers(told) == [0, 3, 3, 1]


def test_the_largest_gradient_is_that_of_steps_whose_gradient_is_a_number():
    pair = pair_of([0.5, 0.5], [0.5, 0.5])
    lost = replace(pair.without.runs[1], ending="not_finite", norms=(float("nan"), 7.0, 9.0))
    # Whoever stops it before the first step of a run leaves one without any.
    begun = replace(pair.with_warmup.runs[1], ending="", losses=(), norms=(), rates=())
    with_warmup = replace(pair.with_warmup, runs=(pair.with_warmup.runs[0], begun))
    without = replace(pair.without, runs=(lost, pair.without.runs[0]))

    (norms,) = [
        each for each in found(EN, Pair(with_warmup, without)) if each.startswith("Largest")
    ]

    assert numbers(norms) == [0.5, 9]


def test_at_each_moment_at_which_it_can_be_stopped_there_is_something_to_say():
    plans, moments = plans_of(recipe=replace(RECIPE, n_epochs=1)), []

    sentiment_warmup.work(plans)(lambda done, shown=None: moments.append(shown))
    moments.remove(None)

    # The last runs begin while others have come to their end.
    assert any(not run.norms for pair in moments for each in pair.both for run in each.runs[1:])
    for pair in moments:
        for is_active in (True, False):
            sentiment_warmup.table(EN, pair, is_active=is_active)
        sentiment_warmup.found(EN, pair, plans)


def test_a_gradient_that_is_no_number_is_not_the_largest():
    pair = pair_of((0.9, 0.8), (0.9, 0.8))
    lost = replace(pair.without.runs[0], norms=(math.nan, 3.0, math.nan))
    without = replace(pair.without, runs=(lost, *pair.without.runs[1:]))

    said = " ".join(sentiment_warmup.found(EN, replace(pair, without=without), None))

    assert "nan" not in said
    assert "3 without" in said

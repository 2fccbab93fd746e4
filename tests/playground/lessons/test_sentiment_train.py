"""The step "train": its table, curves and sentences are what the runs hold."""

import re
from dataclasses import replace

import numpy as np
import pytest

from attention_core.neural.sentiment.corpus import Corpus, Example, Vocabulary
from attention_core.neural.sentiment.model import Architecture
from attention_core.neural.sentiment.training import Epoch, Recipe, Run, train
from playground.lessons import sentiment, sentiment_train
from playground.lessons.sentiment import Plan, Training
from playground.lessons.sentiment_train import MOST_POINTS, Result, differ, error, thinned
from playground.texts import LANGUAGES, Texts
from tests.sentiment import SOURCES, training

EN = Texts("en")
RECIPE = Recipe(n_epochs=3)
every_language = pytest.mark.parametrize("language", LANGUAGES)


def corpus_of(n_positive=50, n_negative=50):
    labels = [1] * n_positive + [0] * n_negative
    examples = tuple(Example(str(i), (str(i),), label) for i, label in enumerate(labels))
    return Corpus(examples[:1], examples, Vocabulary.of([["a"]]), "words")


def run_of(kind="lstm", accuracy=0.5, seed=0, *, ending="all", recipe=RECIPE, n_steps=30, **more):
    epochs = tuple(Epoch(number, 0.5 if number else None, 0.4, accuracy) for number in range(4))
    numbers = (0.5,) * n_steps
    made_of = Architecture(kind)
    run = Run(made_of, recipe, seed, 30, epochs, numbers, numbers, numbers, kept=3, ending=ending)
    return replace(run, **more)


def training_of(accuracies, *, corpus=None, recipe=RECIPE, runs=()):
    """A training of these accuracies by kind, for each seed, all of them ended."""
    n_seeds = max((len(each) for each in accuracies.values()), default=1)
    plan = Plan(SOURCES["en"], tuple(map(Architecture, accuracies)), recipe, (*range(n_seeds),))
    runs = (*runs,) or tuple(
        run_of(kind, accuracy, seed, recipe=recipe)
        for kind, own in accuracies.items()
        for seed, accuracy in enumerate(own)
    )
    return Training(plan, corpus or corpus_of(), runs, (0.1,) * len(runs))


def numbers(text):
    plain = text.replace("−", "-").replace(",", "")
    return [float(number) for number in re.findall(r"[-+]?\d+(?:\.\d+)?", plain)]


def key_of(t, sentence):
    """Which of the texts a sentence is, whatever stands in its fields."""
    found = [
        key
        for key, text in t.group("sentiment.train").items()
        if re.fullmatch(re.sub(r"\\\{\w+\\\}", ".*", re.escape(text)), sentence, re.DOTALL)
        and not text.startswith("{")
    ]
    return max(found, key=lambda key: len(t(f"sentiment.train.{key}")))


def said(t, training):
    return {
        key_of(t, sentence): sentence
        for sentence in sentiment_train.found(t, training, training.plan)
    }


# --- the statistics, by hand


def test_chance_is_the_share_of_the_more_frequent_label():
    assert sentiment_train.chance(corpus_of(30, 70).validation) == pytest.approx(0.7)
    assert sentiment_train.chance(corpus_of(70, 30).validation) == pytest.approx(0.7)
    assert sentiment_train.chance(corpus_of(5, 5).validation) == 0.5


def test_the_error_of_a_share_by_hand_and_by_drawing():
    assert error(0.5, 96) == pytest.approx(0.05)  # √(0.5 · 0.5 / 100)
    assert error(1.0, 96) == pytest.approx(0.014)  # √(0.98 · 0.02 / 100): no share is certain

    drawn = np.random.default_rng(0).binomial(400, 0.8, size=20_000) / 400
    assert error(0.8, 400) == pytest.approx(drawn.std(), rel=0.02)


@pytest.mark.parametrize(
    ("one", "other", "count", "is_so"),
    [
        ((0.9, 0.92), (0.7, 0.72), 400, True),
        ((0.7, 0.72), (0.9, 0.92), 400, True),
        ((0.9, 0.92), (0.7, 0.9), 400, False),  # the seeds meet
        ((0.9, 0.92), (0.85, 0.95), 400, False),  # one lies within the other
        ((0.9, 0.92), (0.7, 0.72), 10, False),  # too few sentences: two errors are 0.33
        ((0.8,), (0.79,), 400, False),
        ((1.0, 1.0), (1.0, 1.0), 400, False),
    ],
)
def test_models_differ_where_neither_seeds_nor_sentences_explain_it(one, other, count, is_so):
    assert differ(Result(one), Result(other), count) == is_so


def test_only_runs_that_came_to_their_end_count():
    runs = [
        run_of("lstm", 0.9, 0),
        run_of("lstm", 0.7, 1, ending="early"),
        run_of("lstm", 0.1, 2, ending=""),
        run_of("bag", 0.1, ending="not_finite"),
    ]

    assert sentiment_train.results(runs) == {"lstm": Result((0.9, 0.7))}
    assert sentiment_train.result(runs[2:]) is None
    assert Result((0.9, 0.7)).mean == pytest.approx(0.8)


# --- the table


def test_the_table_tells_how_far_each_run_is():
    runs = [
        run_of("bag", 0.5, 0),
        run_of("lstm", 0.9, 0, ending="early", kept=2),
        run_of("bag", 0.6, 1, ending="not_finite", n_steps=17),
        run_of("lstm", 0.6, 1, ending="", epochs=run_of().epochs[:2]),
    ]
    shown = training_of({"bag": [0, 0, 0], "lstm": [0, 0, 0]}, runs=runs)

    active = sentiment_train.table(EN, shown, is_active=True)
    ended = sentiment_train.table(EN, shown, is_active=False)

    assert active == {
        "Model": ["Bag of words", "LSTM"],
        "Seed 0": ["50.0\u00a0%", "90.0\u00a0% (kept: epoch 2)"],
        "Seed 1": ["no number any more at step 17", "epoch 2 of 3"],
        "Seed 2": ["waiting", "waiting"],
        "Mean (lowest to highest seed)": ["50.0\u00a0%", "90.0\u00a0%"],
    }
    assert ended["Seed 1"][1] == "stopped in epoch 2 of 3"
    assert ended["Seed 2"] == ["—", "—"]


def test_the_mean_stands_with_the_lowest_and_the_highest():
    table = sentiment_train.table(
        EN, training_of({"bag": [0.5, 0.9], "lstm": [1.0, 1.0]}), is_active=False
    )

    assert table["Mean (lowest to highest seed)"] == [
        "70.0\u00a0% (50.0\u00a0% to 90.0\u00a0%)",
        "100.0\u00a0%",
    ]


def test_one_seed_has_no_mean():
    table = sentiment_train.table(EN, training_of({"bag": [0.5]}), is_active=False)

    assert [*table] == ["Model", "Seed 0"]


def test_a_run_that_is_being_measured_first_has_nothing_to_show_yet():
    new = Run(Architecture("lstm"), RECIPE, 0, 30)
    found = training_of({"lstm": [0]}, runs=[new])

    assert sentiment_train.table(EN, found, is_active=True)["Seed 0"] == ["epoch 0 of 3"]
    assert numbers(sentiment_train.progress(EN, found))[:3] == [0, 0, 3]
    assert lines_of(sentiment_train.curves(EN, found, "light"), "y")[0]["y"] == []


def test_while_a_run_is_measured_at_its_end_it_is_in_its_last_epoch():
    run = run_of(ending="")  # all four measurements are there, but not the word that it has ended

    assert sentiment_train.state(EN, run, is_active=True) == "epoch 3 of 3"


# --- the figure


def lines_of(figure, axis):
    return [line for line in figure["data"] if line["yaxis"] == axis]


def test_the_curves_are_what_was_measured():
    found = training()

    figure = sentiment_train.curves(EN, found, "light")

    accuracy, loss = lines_of(figure, "y"), lines_of(figure, "y2")
    for run, line, other in zip(found.runs, accuracy, loss, strict=False):
        assert line["name"] == sentiment.names(EN)[run.architecture.kind]
        assert line["x"] == [0, 1, 2, 3]
        assert line["y"] == pytest.approx([100 * epoch.accuracy for epoch in run.epochs], rel=1e-3)
        losses = [epoch.validation_loss for epoch in run.epochs]
        assert other["y"] == pytest.approx(losses, rel=1e-3)
    assert accuracy[-1]["y"] == [50, 50]  # chance, from the first epoch to the last
    assert accuracy[-1]["x"] == [0, 3]
    for run, line, norm in zip(
        found.runs, lines_of(figure, "y4"), lines_of(figure, "y3"), strict=True
    ):
        assert line["y"] == pytest.approx(run.losses, rel=1e-3)  # few steps: each is shown
        assert line["x"] == [*range(1, run.n_steps + 1)]
        assert norm["y"] == pytest.approx(run.norms, rel=1e-3)
    assert figure["layout"]["yaxis3"]["type"] == "log"


def test_each_model_has_one_colour_and_one_entry_in_the_legend():
    found = training_of({"bag": [0.5, 0.6], "lstm": [0.7, 0.8]})

    figure = sentiment_train.curves(EN, found, "light")

    colours = {(line["name"], line["line"]["color"]) for line in figure["data"]}
    assert len(colours) == 3  # with chance
    assert sum(line["showlegend"] for line in figure["data"]) == 3


def test_no_title_of_an_axis_lies_over_the_panel_to_its_left_on_a_phone():
    layout = sentiment_train.curves(EN, training_of({"bag": [0.5]}), "light")["layout"]

    beside = [layout[f"yaxis{number}"]["title"]["text"] for number in ("", 2, 3, 4)]
    assert beside == ["", "", EN("sentiment.train.norm"), ""]


def test_long_runs_are_thinned_to_the_mean_of_some_steps():
    assert thinned([1.0, 3.0, 5.0, 7.0, 100.0], 2) == ([2, 4], [2.0, 6.0])
    assert thinned([], 3) == ([], [])
    assert thinned([1.0, 2.0], 3) == ([], [])

    long = run_of(n_steps=12_345)
    figure = sentiment_train.curves(
        EN, training_of({"lstm": [0]}, runs=[replace(long, n_steps=12_345)]), "light"
    )
    assert all(len(line["y"]) <= MOST_POINTS for line in figure["data"])
    assert figure["layout"]["xaxis3"]["title"]["text"] == "Step (mean of 124)"


def test_the_axes_do_not_move_while_it_goes_on():
    begun = run_of(ending="", n_steps=2, epochs=run_of().epochs[:1])

    layouts = [
        sentiment_train.curves(EN, training_of({"lstm": [0]}, runs=[run]), "light")["layout"]
        for run in (begun, run_of())
    ]

    for axis in ("xaxis", "xaxis2", "xaxis3", "xaxis4"):
        assert layouts[0][axis] == layouts[1][axis]


def test_what_is_no_number_is_left_out():
    run = run_of(ending="not_finite", losses=(0.5, float("inf")), norms=(1.0, float("nan")))

    figure = sentiment_train.curves(EN, training_of({"lstm": [0]}, runs=[run]), "light")

    assert lines_of(figure, "y4")[0]["y"] == [0.5, None]
    assert lines_of(figure, "y3")[0]["y"] == [1.0, None]


def test_nothing_but_a_beginning_can_be_drawn():
    empty = replace(training_of({"lstm": [0]}), runs=(), spent=())

    sentiment_train.curves(EN, empty, "dark")
    assert sentiment_train.progress(EN, empty) == "Making the sentences"


# --- sentences


@every_language
def test_the_accuracies_are_told_with_spread_and_chance(language):
    t = Texts(language)

    found = said(t, training_of({"bag": [0.5, 0.6], "lstm": [0.9, 0.9]}))

    assert numbers(found["told"]) == [100, 55, 50, 60, 90, 50]
    # The largest is that of a share of 0.55: √(0.548 · 0.452 / 104).
    assert numbers(found["uncertain"]) == [4.9]


@every_language
def test_one_seed_is_said_to_tell_nothing_of_chance(language):
    found = said(Texts(language), training_of({"bag": [0.5]}))

    assert numbers(found["uncertain"]) == [4.9]
    assert "one_seed" in found
    assert "one_seed" not in said(Texts(language), training_of({"bag": [0.5, 0.5]}))


@every_language
def test_who_is_behind_and_who_is_near_is_told_apart(language):
    t = Texts(language)
    accuracies = {
        "bag": [0.5, 0.52],
        "lstm": [0.95, 0.97],
        "lstm_attention": [0.98, 1.0],
        "attention": [0.7, 0.99],
    }

    found = said(t, training_of(accuracies))

    assert numbers(found["behind"]) == [-48]
    names = sentiment.names(t)
    assert names["bag"] in found["behind"]
    assert names["lstm_attention"] in found["behind"]
    assert all(names[kind] in found["near"] for kind in ("lstm", "attention"))
    assert names["bag"] in found["at_chance"]
    assert names["lstm"] not in found["at_chance"]


@pytest.mark.parametrize(
    ("plain", "attentive", "key", "gap"),
    [
        ([0.7, 0.72], [0.9, 0.92], "added", 20),
        ([0.9, 0.92], [0.7, 0.72], "added_less", -20),
        ([0.8, 0.82], [0.81, 0.83], "added_nothing", 1),
        ([1.0, 1.0], [1.0, 1.0], "added_nothing", 0),
    ],
)
@every_language
def test_what_attention_added_is_told_both_ways(language, plain, attentive, key, gap):
    found = said(Texts(language), training_of({"lstm": plain, "lstm_attention": attentive}))

    assert numbers(found[key]) == [gap]
    assert len(found.keys() & {"added", "added_less", "added_nothing"}) == 1


def test_without_both_nothing_is_said_of_what_attention_added():
    found = said(EN, training_of({"bag": [0.5, 0.5], "attention": [0.9, 0.9]}))

    assert not found.keys() & {"added", "added_less", "added_nothing"}


@every_language
def test_a_run_that_was_lost_is_explained_by_its_numbers(language):
    t = Texts(language)
    lost = run_of(
        ending="not_finite",
        seed=1,
        losses=(0.7, 12.5, float("inf")),
        rates=(1.0, 1000.0, 1000.0),
    )

    (by_decay,) = sentiment_train.endings(t, training_of({"lstm": [0]}, runs=[lost]))
    low = replace(lost, rates=(1.0, 2.0, 3.0))
    (by_growth,) = sentiment_train.endings(t, training_of({"lstm": [0]}, runs=[low]))

    assert [n for n in numbers(by_decay) if n != 32] == [1, 3, 1000, 12.5, -9]
    assert [n for n in numbers(by_growth) if n != 32] == [1, 3, 3, 12.5]


@every_language
def test_a_rate_that_a_learner_can_choose_comes_to_that(language):
    t, recipe = Texts(language), Recipe(max(sentiment.RATES), n_epochs=8, batch_size=16)
    run = train(SOURCES["en"].corpus(), Architecture("attention", embed_dim=8), recipe, 0)

    assert run.ending == "not_finite"
    (sentence,) = sentiment_train.endings(t, training_of({"attention": [0]}, runs=[run]))
    assert str(len(run.losses)) in sentence


@every_language
def test_several_lost_runs_are_counted(language):
    t = Texts(language)
    runs = [run_of(seed=seed, ending="not_finite") for seed in (0, 1)] + [run_of(seed=2)]

    _, count = sentiment_train.endings(t, training_of({"lstm": [0, 0, 0]}, runs=runs))

    assert numbers(count) == ([2, 3] if language == "en" else [3, 2])


@every_language
def test_what_was_stopped_is_counted(language):
    t = Texts(language)
    runs = [run_of(), run_of(seed=1, ending="")]

    (sentence,) = sentiment_train.endings(t, training_of({"lstm": [0, 0, 0]}, runs=runs))

    assert sorted(numbers(sentence)) == [1, 3]


@every_language
def test_an_early_stop_says_what_chose_the_epoch(language):
    t = Texts(language)
    patient = replace(RECIPE, patience=2)

    assert "chosen" in said(t, training_of({"lstm": [0.5, 0.6]}, recipe=patient))
    assert "chosen" not in said(t, training_of({"lstm": [0.5, 0.6]}))


@every_language
def test_other_settings_than_those_that_were_trained_are_told(language):
    t, found = Texts(language), training_of({"lstm": [0.5, 0.6]})
    other = replace(found.plan, seeds=(0,))

    for plan in (other, None):
        assert t("sentiment.train.other") in sentiment_train.found(t, found, plan)
    assert t("sentiment.train.other") not in sentiment_train.found(t, found, found.plan)


def test_before_anything_is_trained_the_button_is_explained():
    plan = training_of({"bag": [0, 0, 0], "lstm": [0, 0, 0]}).plan

    (sentence,) = sentiment_train.found_before(EN, plan)

    assert numbers(sentence) == [6, 2, 3, 3]


@every_language
def test_the_progress_names_the_run_and_the_time_that_is_left(language):
    t = Texts(language)
    runs = [
        run_of("bag"),
        run_of("lstm", seed=0, ending="", n_steps=15, epochs=run_of().epochs[:2]),
    ]
    found = replace(training_of({"bag": [0], "lstm": [0]}, runs=runs), spent=(3.0, 4.5))

    told = sentiment_train.progress(t, found)

    assert numbers(told) == [0, 2, 3, 5]  # half of its steps are left, in 0.3 s each
    assert sentiment.names(t)["lstm"] in told
    unknown = replace(found, spent=(0.0, 0.0))
    assert numbers(sentiment_train.progress(t, unknown)) == [0, 2, 3]


# --- the inputs


def test_each_input_shows_its_first_value_by_name():
    def default(key, value):
        return value

    for each in (
        *sentiment_train.inputs(EN, default),
        *sentiment_train.inputs_of_recipe(EN),
        *sentiment_train.inputs_of_models(EN),
    ):
        assert each.default in each.options
        assert len(set(each.options.values())) == len(each.options)
    names = {each.id: each.options for each in sentiment_train.inputs_of_recipe(EN)}
    assert names["clip"][0.0] == "none"
    assert names["patience"][0] == "never"
    assert names["warmup"][0.05] == "5\u00a0%"


def test_models_that_cannot_pool_as_it_is_set_are_named():
    given = {"sentiment.train.pooling": "attended"}
    few = given | {"sentiment.train.models": ["attention", "lstm_attention"]}

    told = sentiment_train.fallback(EN, lambda key, default: given.get(key, default))

    assert told.endswith("take the mean instead: Bag of words, LSTM.")
    assert sentiment_train.fallback(EN, lambda key, default: few.get(key, default)) == ""
    assert sentiment_train.fallback(EN, lambda key, default: default) == ""

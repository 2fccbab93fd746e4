"""What the steps on trained attention share: the plan of the inputs, and training as a job."""

from dataclasses import replace

import pytest

from attention_core.neural.sentiment.model import Architecture
from attention_core.neural.sentiment.table import Table
from attention_core.neural.sentiment.training import Recipe, Run, train
from playground.lessons import sentiment
from playground.lessons.sentiment import Course, Plan, Training, seconds_left
from playground.shelf import Shelf
from playground.texts import Texts
from tests.attention_core.neural.sentiment.test_table import lines
from tests.sentiment import ARCHITECTURES, SOURCES

EN = Texts("en")
RECIPE = Recipe(learning_rate=0.02, n_epochs=2, batch_size=32)
PLAN = Plan(SOURCES["en"], ARCHITECTURES[:2], RECIPE, (0, 1))


@pytest.fixture(autouse=True)
def shelf(monkeypatch):
    """Nothing was trained before."""
    own = Shelf(most=50, most_bytes=2**24)
    monkeypatch.setattr(sentiment, "_RUNS", own)
    return own


def settings(**changed):
    """The settings of a learner who has changed these of the step "train"."""
    given = {f"sentiment.train.{name}": value for name, value in changed.items()}
    return lambda key, default: given.get(key, default)


def of_source(source):
    return lambda key, default: source if key == "sentiment.texts.source" else default


# --- what the inputs describe


def test_at_first_all_four_models_are_trained_from_three_seeds():
    plan = sentiment.plan(settings(), EN)

    assert [made_of.kind for made_of in plan.architectures] == [*sentiment.MODELS]
    assert plan.seeds == (0, 1, 2)
    assert plan.recipe == Recipe(n_epochs=8)
    assert plan.source == sentiment.source(settings(), EN)
    assert set(plan.architectures) == {Architecture(kind) for kind in sentiment.MODELS}


@pytest.mark.parametrize(
    ("name", "value", "field", "expected"),
    [
        ("rate", 0.05, "learning_rate", 0.05),
        ("warmup", 0.2, "warmup", 0.2),
        ("decay", False, "is_decaying", False),
        ("clip", 0.5, "clip", 0.5),
        ("clip", 0.0, "clip", None),
        ("batch", 64, "batch_size", 64),
        ("epochs", 2, "n_epochs", 2),
        ("patience", 4, "patience", 4),
    ],
)
def test_each_input_of_the_recipe_counts(name, value, field, expected):
    recipe = sentiment.recipe(settings(**{name: value}))

    assert recipe == replace(sentiment.recipe(settings()), **{field: expected})


@pytest.mark.parametrize(
    ("name", "value", "field"),
    [
        ("embedding", 16, "embed_dim"),
        ("width", 64, "hidden"),
        ("layers", 2, "n_layers"),
        ("heads", 4, "n_heads"),
        ("residual", True, "is_residual"),
        ("pooling", "max", "pooling"),
        ("dropout", 0.5, "dropout"),
    ],
)
def test_each_input_of_the_models_counts(name, value, field):
    made_of = sentiment.architecture("lstm_attention", settings(**{name: value}))

    assert made_of == replace(Architecture(), **{field: value})


def test_every_choice_of_the_inputs_makes_a_model():
    for kind in sentiment.MODELS:
        for width in sentiment.WIDTHS:
            for heads in sentiment.HEADS:
                given = settings(width=width, embedding=width, heads=heads, pooling="attended")
                assert sentiment.architecture(kind, given).n_heads == heads


@pytest.mark.parametrize("kind", sentiment.MODELS)
def test_only_what_attends_pools_by_attention(kind):
    made_of = sentiment.architecture(kind, settings(pooling="attended"))

    assert made_of.pooling == ("attended" if "attention" in kind else "mean")


def test_models_and_seeds_are_those_that_are_chosen():
    plan = sentiment.plan(settings(models=["attention", "bag"], seeds=5), EN)

    assert [made_of.kind for made_of in plan.architectures] == ["bag", "attention"]
    assert plan.seeds == (0, 1, 2, 3, 4)


def test_long_sentences_are_read_less_often_unless_that_is_set():
    assert sentiment.recipe(of_source("reviews")).n_epochs == 4
    assert sentiment.recipe(of_source("templates")).n_epochs == 8
    both = {"sentiment.texts.source": "reviews", "sentiment.train.epochs": 12}
    assert sentiment.recipe(lambda key, default: both.get(key, default)).n_epochs == 12


@pytest.mark.parametrize(
    ("n_texts", "n_words", "n_epochs"),
    [(40, 3, 8), (2_800, 50, 8), (3_100, 50, 6), (20_000, 28, 2), (20_000, 58, 1)],
)
def test_of_a_large_table_fewer_epochs_are_asked_for(n_texts, n_words, n_epochs):
    # Each text has two tokens more, of which one tells it from the others.
    table = lines(n_texts, form="w " * n_words + "no {i},{label}\n")
    given = {"sentiment.texts.source": "own", "sentiment.texts.table": table}

    assert sentiment.n_epochs(lambda key, default: given.get(key, default)) == n_epochs


def test_a_table_that_cannot_be_used_and_the_example_ask_for_the_usual_epochs():
    given = {"sentiment.texts.source": "own", "sentiment.texts.table": "a,1"}

    assert sentiment.n_epochs(lambda key, default: given.get(key, default)) == 8
    assert sentiment.n_epochs(of_source("own")) == 8


def test_the_values_at_first_can_be_set():
    for choices, first in (
        (sentiment.SEEDS, sentiment.N_SEEDS),
        (sentiment.EPOCHS, sentiment.N_EPOCHS),
        (sentiment.EPOCHS, sentiment.N_EPOCHS_OF_REVIEWS),
        (sentiment.RATES, sentiment.RATE),
        (sentiment.WARMUPS, sentiment.WARMUP),
        (sentiment.CLIPS, sentiment.CLIP),
        (sentiment.BATCHES, sentiment.BATCH),
        (sentiment.PATIENCES, sentiment.PATIENCE),
        (sentiment.EMBEDDINGS, sentiment.EMBEDDING),
        (sentiment.WIDTHS, sentiment.WIDTH),
        (sentiment.LAYERS, sentiment.N_LAYERS),
        (sentiment.HEADS, sentiment.N_HEADS),
        (sentiment.DROPOUTS, sentiment.DROPOUT),
    ):
        assert first in choices


# --- training as a job


def trained(plan, tell=lambda done, shown=None: None):
    return sentiment.work(plan)(tell)


def test_every_model_is_trained_from_every_seed_as_the_core_does():
    training = trained(PLAN)

    corpus = PLAN.source.corpus()
    expected = [
        train(corpus, made_of, RECIPE, seed) for seed in (0, 1) for made_of in PLAN.architectures
    ]
    assert [run.losses for run in training.runs] == [run.losses for run in expected]
    assert [run.epochs for run in training.runs] == [run.epochs for run in expected]
    assert training.done == 1.0


def test_the_epochs_of_the_first_seed_alone_are_kept():
    training = trained(PLAN)

    assert [len(run.states) for run in training.runs] == [3, 3, 1, 1]
    of_runs = sum(run.nbytes for run in training.runs)
    assert training.nbytes == of_runs + training.corpus.nbytes
    assert min(of_runs, training.corpus.nbytes) > 0


def test_a_training_counts_the_table_that_it_comes_from():
    table = Table(lines(400) + " " * 100_000)
    plan = Plan(table, ARCHITECTURES[:1], replace(RECIPE, n_epochs=1), (0,))

    training = trained(plan)

    assert training.nbytes > table.nbytes > len(table.text) > 100_000
    texts = sum(len(each.text) for each in (*training.corpus.train, *training.corpus.validation))
    assert training.corpus.nbytes > texts


def test_what_tells_a_run_from_others_holds_no_table(shelf):
    table = Table(lines(40))
    plan = Plan(table, ARCHITECTURES[:1], replace(RECIPE, n_epochs=1), (0,))
    first = trained(plan)

    assert trained(plan).runs[0] is first.runs[0]
    assert trained(replace(plan, source=Table(lines(41)))).runs[0] is not first.runs[0]
    assert (
        trained(replace(plan, source=replace(table, how="characters"))).runs[0]
        is not (first.runs[0])
    )
    assert len(shelf) == 3
    assert not any(isinstance(part, Table) for key in shelf._kept for part in key)


def test_it_tells_how_far_all_runs_are():
    told = []

    training = trained(PLAN, lambda done, shown=None: told.append((done, shown)))

    assert told.pop(0) == (0.0, None)  # the sentences are made
    dones = [done for done, _ in told]
    assert dones[0] == 0.0
    assert dones == sorted(dones)
    assert dones[-1] == pytest.approx(1.0)
    assert all(done == shown.done for done, shown in told)
    assert {len(shown.runs) for _, shown in told} == {1, 2, 3, 4}
    assert all(len(shown.spent) == len(shown.runs) for _, shown in told)
    # Each step of each run, and more often while it is measured.
    assert len(told) >= sum(len(run.losses) for run in training.runs)


def test_a_run_that_was_trained_before_is_taken_as_it_is():
    first = trained(PLAN)
    told = []

    again = trained(replace(PLAN, seeds=(0, 1, 2)), lambda done, shown=None: told.append(shown))

    assert all(a is b for a, b in zip(first.runs, again.runs, strict=False))
    assert again.spent[:4] == (0.0,) * 4
    assert min(again.spent[4:]) > 0
    assert min(len(shown.runs) for shown in told[1:]) == 5


def test_another_recipe_seed_or_text_is_another_run(shelf):
    trained(PLAN)
    n_runs = len(shelf)

    for other in (
        replace(PLAN, recipe=replace(RECIPE, warmup=0.5)),
        replace(PLAN, source=SOURCES["zh"]),
        replace(PLAN, architectures=(replace(ARCHITECTURES[0], dropout=0.1),)),
    ):
        trained(replace(other, architectures=other.architectures[:1], seeds=(0,)))
        n_runs += 1
        assert len(shelf) == n_runs


def test_a_run_that_was_stopped_is_not_kept(shelf):
    class StoppedError(Exception):
        pass

    def tell(done, shown=None):
        if shown and len(shown.runs) == 2:
            raise StoppedError

    with pytest.raises(StoppedError):
        trained(PLAN, tell)

    assert len(shelf) == 1


def test_a_course_can_keep_results_alone():
    course = Course(PLAN, keeps_states=False)

    course.train(ARCHITECTURES[0], 0, lambda: None)

    assert len(course.training.runs[0].states) == 1


# --- the time that is left


def run_of(kind, n_done, seed=0, n_steps=100):
    numbers = (1.0,) * n_done
    ending = "all" if n_done == n_steps else ""
    made_of = Architecture(kind)
    return Run(made_of, RECIPE, seed, n_steps, (), numbers, numbers, numbers, ending=ending)


def training_of(runs, spent, kinds=("bag", "lstm"), seeds=(0, 1)):
    plan = Plan(SOURCES["en"], tuple(map(Architecture, kinds)), RECIPE, seeds)
    return Training(plan, None, tuple(runs), tuple(spent))


def test_the_time_left_is_at_the_pace_of_each_kind_by_hand():
    # A bag takes 0.01 s a step, an LSTM 0.1: 50 and 100 more of the LSTM, 100 of a bag.
    training = training_of([run_of("bag", 100), run_of("lstm", 50)], [1.0, 5.0])

    assert training.left == pytest.approx(15.0 + 1.0)


def test_a_kind_that_has_not_begun_is_taken_for_an_average_one():
    training = training_of([run_of("bag", 50)], [0.5])

    assert training.left == pytest.approx(0.01 * (50 + 100 + 200))


def test_what_was_trained_before_tells_no_pace():
    training = training_of([run_of("bag", 100), run_of("lstm", 50)], [0.0, 5.0])

    assert training.left == pytest.approx(0.1 * (50 + 100 + 100))
    assert training_of([run_of("bag", 100)], [0.0]).left is None
    assert training_of([], []).left is None


def test_at_the_end_no_time_is_left():
    runs = [run_of(kind, 100, seed) for seed in (0, 1) for kind in ("bag", "lstm")]

    assert training_of(runs, [1.0] * 4).left == 0
    assert seconds_left([training_of(runs, [1.0] * 4)] * 2) == 0


# --- numbers


@pytest.mark.parametrize(
    ("share", "en", "zh"),
    [
        (0.5394, "53.9\u00a0%", "53.9%"),
        (1.0, "100.0\u00a0%", "100.0%"),
        (0.0, "0.0\u00a0%", "0.0%"),
    ],
)
def test_an_accuracy_is_written_in_one_way(share, en, zh):
    assert [sentiment.percent(Texts(language), share) for language in ("en", "zh")] == [en, zh]


@pytest.mark.parametrize(
    ("gap", "told"),
    [(0.159, "+15.9"), (-0.461, "−46.1"), (0.0, "0.0"), (0.0004, "0.0"), (-0.0004, "0.0")],
)
def test_a_difference_of_accuracies_has_its_sign(gap, told):
    assert sentiment.points(Texts("en"), gap) == f"{told}\u00a0percentage points"

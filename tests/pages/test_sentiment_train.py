"""The steps in which models are trained: inputs, the job's life, and what came of it."""

import threading

import pytest

from playground.lessons import sentiment, sentiment_texts, sentiment_train
from playground.lessons.sentiment import TRAIN
from playground.shelf import Shelf
from tests.pages.driver import App
from tests.pages.jobs import WAIT, finished, job, until
from tests.sentiment import SOURCES, training, with_training

WARMUP = "sentiment.warmup"


@pytest.fixture(autouse=True)
def jobs(jobs, monkeypatch):
    """They are about a few sentences, and nothing was trained before."""
    monkeypatch.setattr(sentiment, "_RUNS", Shelf(most=50, most_bytes=2**24))
    monkeypatch.setattr(sentiment, "source", lambda setting, t: SOURCES[t.language])
    monkeypatch.setattr(sentiment_texts, "obstacle", lambda t, setting: "")
    return jobs


@pytest.fixture
def pace(monkeypatch):
    """Lets training go only as far as is asked: one step for each `release`."""
    steps = threading.Semaphore(0)
    work = sentiment.work

    def slow(plan):
        def run(tell):
            def told(done, shown=None):
                tell(done, shown)
                # What is stopped has to notice that.
                while not steps.acquire(timeout=0.02):
                    tell(done, shown)

            return work(plan)(told)

        return run

    monkeypatch.setattr(sentiment, "work", slow)
    return steps


def opened(step="train", **more):
    return App("sentiment", s=step, **more)


def quick(app):
    """Two models, a seed, two epochs."""
    app.set(f"{TRAIN}.models", ["bag", "lstm"]).set(f"{TRAIN}.seeds", 1)
    return app.set(f"{TRAIN}.epochs", 2)


def infos(app):
    return " ".join(info.value for info in app.test.info)


def table(app):
    (shown,) = app.test.table
    return shown.value


def button(app, label):
    (found,) = [each for each in app.test.button if each.label == label]
    return found


def inputs(app):
    names = {f"{TRAIN}.{name}" for name in ("models", "seeds", "epochs", "rate")}
    return [element for element in app.test if getattr(element, "key", None) in names]


@pytest.mark.parametrize("language", ["en", "zh"])
def test_models_are_trained_and_what_came_of_it_is_shown(language):
    app = quick(opened(lang=language))

    app.press(app.t("sentiment.train.start"))
    finished(app, TRAIN)

    trained = job(app, TRAIN).result
    assert [run.architecture.kind for run in trained.runs] == ["bag", "lstm"]
    assert table(app).iloc[:, 0].tolist() == [app.t("sentiment.bag"), app.t("sentiment.lstm")]
    assert table(app).iloc[:, 1].tolist() == [
        sentiment.percent(app.t, run.accuracy) for run in trained.runs
    ]
    assert app.figure["data"][0]["y"] == pytest.approx(
        [100 * epoch.accuracy for epoch in trained.runs[0].epochs], rel=1e-3
    )
    told = sentiment_train.found(app.t, trained, trained.plan)
    assert infos(app) == app.t("exhibit.found", what="\n- ".join(told))  # each in its own line
    app.assert_calm()


def test_the_rest_of_the_settings_is_drawn_when_it_is_asked_for_and_counts():
    app = quick(opened())
    assert not [each for each in app.test if getattr(each, "key", None) == f"{TRAIN}.batch"]

    app.unfold(f"{TRAIN}.more").set(f"{TRAIN}.batch", 64).set(f"{TRAIN}.warmup", 0.2)
    app.set(f"{TRAIN}.decay", False).set(f"{TRAIN}.pooling", "attended").set(f"{TRAIN}.heads", 2)
    assert any("take the mean instead: Bag of words, LSTM" in text for text in app.markdown())
    app.set(f"{TRAIN}.models", ["attention"]).press("Train")
    finished(app, TRAIN)

    (run,) = job(app, TRAIN).result.runs
    assert (run.recipe.batch_size, run.recipe.warmup, run.recipe.is_decaying) == (64, 0.2, False)
    assert (run.architecture.pooling, run.architecture.n_heads) == ("attended", 2)
    app.assert_calm()


def test_without_a_model_it_cannot_begin():
    app = opened().set(f"{TRAIN}.models", [])

    assert button(app, "Train").disabled
    assert app.warnings == ["Choose at least one model."]
    app.set(f"{TRAIN}.models", ["bag"])
    assert not button(app, "Train").disabled
    app.assert_calm()


@pytest.mark.parametrize(("step", "label"), [("train", "Train"), ("warmup", "Compare")])
def test_without_sentences_it_cannot_begin_and_keeps_what_was_trained(monkeypatch, step, label):
    app = with_training(opened(step))

    monkeypatch.setattr(sentiment_texts, "obstacle", lambda t, setting: "No sentences")
    app.test.run()

    assert button(app, label).disabled
    assert app.warnings == ["No sentences"]
    assert not app.test.exception
    if step == "train":
        assert len(table(app)) == 4
        assert infos(app).endswith(app.t("sentiment.train.other"))


def test_while_it_runs_the_inputs_wait_and_it_can_be_stopped(pace):
    app = quick(opened())
    app.press("Train")
    pace.release(12)
    until(app, TRAIN, lambda view: view.shown is not None and len(view.shown.runs[0].epochs) > 1)

    assert {element.disabled for element in inputs(app)} == {True}
    assert table(app).iloc[:, 1].tolist()[1] == "waiting"
    assert infos(app) == ""  # a screen reader would read it aloud at every look
    app.press("Stop")

    assert job(app, TRAIN).status == "stopped"
    assert {element.disabled for element in inputs(app)} == {False}
    assert "Stopped: of 2 runs 0 had come to an end" in infos(app)
    assert app.figure["data"]
    app.assert_calm()


def test_it_goes_on_elsewhere_and_is_there_again(pace):
    app = quick(opened())
    app.press("Train")
    pace.release(5)
    until(app, TRAIN, lambda view: view.shown is not None)

    app.visit("masks")
    assert [each.proto.label for each in app.test.get("page_link")] == ["Training on text"]
    pace.release(10_000)
    finished(app, TRAIN)
    app.visit("sentiment")

    assert len(table(app)) == 2
    assert app.t("sentiment.lstm") in infos(app)
    app.assert_calm()


def test_who_has_to_wait_sees_the_queue_and_who_asks_for_the_same_shares_it(pace):
    first, same, other = (quick(opened()) for _ in range(3))
    first.press("Train")
    pace.release(3)
    until(first, TRAIN, lambda view: view.shown is not None)

    same.press("Train")
    other.set(f"{TRAIN}.epochs", 1).press("Train")

    assert job(same, TRAIN).status == "running"
    assert job(other, TRAIN).status == "waiting"
    (bar,) = other.test.get("progress")
    assert bar.proto.text == "In the queue; before you: 1"
    pace.release(100_000)
    finished(first, TRAIN)
    assert job(same, TRAIN).result is job(first, TRAIN).result
    finished(other, TRAIN)


def test_the_same_settings_again_are_there_at_once():
    app = quick(opened())
    app.press("Train")
    finished(app, TRAIN)

    other = quick(opened())
    other.press("Train")

    assert job(other, TRAIN).status == "done"
    assert job(other, TRAIN).result is job(app, TRAIN).result


def test_other_settings_are_told_from_those_that_were_trained():
    app = quick(opened())
    app.press("Train")
    finished(app, TRAIN)
    assert app.t("sentiment.train.other") not in infos(app)

    app.set(f"{TRAIN}.rate", 0.05)
    assert app.t("sentiment.train.other") in infos(app)
    app.set(f"{TRAIN}.rate", 0.01)
    assert app.t("sentiment.train.other") not in infos(app)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_what_is_no_number_any_more_is_explained(language):
    app = quick(opened(lang=language))
    app.set(f"{TRAIN}.models", ["attention"]).set(f"{TRAIN}.rate", 1000.0)
    app.set(f"{TRAIN}.epochs", 24)

    app.press(app.t("sentiment.train.start"))
    finished(app, TRAIN)

    (run,) = job(app, TRAIN).result.runs
    step = len(run.losses)
    assert run.ending == "not_finite"
    assert table(app).iloc[0, 1] == app.t("sentiment.train.is_lost", step=step)
    assert "−9" in infos(app) or "AdamW" in infos(app)
    app.assert_calm()
    app.set(f"{TRAIN}.rate", 0.01).press(app.t("sentiment.train.start"))
    finished(app, TRAIN)
    assert job(app, TRAIN).result.runs[0].ending == "all"


def test_a_training_that_fails_says_so_and_can_be_started_again(monkeypatch):
    app = quick(opened())

    def fail(plan):
        def run(tell):
            raise ZeroDivisionError("on purpose")

        return run

    with monkeypatch.context() as broken:
        broken.setattr(sentiment, "work", fail)
        app.press("Train")
        finished(app, TRAIN)

    assert app.errors == [app.t("job.failed")]
    app.press("Train")
    finished(app, TRAIN)
    app.assert_calm()


def test_to_leave_ends_a_training_that_nobody_waits_for(monkeypatch, pace, jobs):
    app = quick(opened())
    app.press("Train")
    pace.release(3)
    until(app, TRAIN, lambda view: view.shown is not None)
    threads = [*jobs._running.values()]

    monkeypatch.setattr(jobs, "_is_there", lambda owner: False)
    monkeypatch.setattr(jobs, "_clock", lambda: float("inf"))
    for thread in threads:
        thread.join(WAIT)

    assert not any(thread.is_alive() for thread in threads)
    assert jobs._running == {}


# --- warm-up


@pytest.mark.parametrize("language", ["en", "zh"])
def test_warmup_on_and_off_are_trained_and_compared(language):
    app = opened("warmup", lang=language)
    app.set(f"{WARMUP}.model", "lstm").set(f"{WARMUP}.epochs", 1).set(f"{WARMUP}.rate", 0.3)

    app.press(app.t("sentiment.warmup.start"))
    finished(app, WARMUP)

    pair = job(app, WARMUP).result
    assert [len(each.runs) for each in pair.both] == [3, 3]
    assert {each.plan.recipe.learning_rate for each in pair.both} == {0.3}
    assert len(table(app)) == 2
    accuracies = [100 * run.epochs[-1].accuracy for each in pair.both for run in each.runs]
    drawn = [line["y"][-1] for line in app.figure["data"] if line["yaxis"] == "y"]
    assert drawn[:6] == pytest.approx(accuracies, rel=1e-3)
    assert app.t("sentiment.lstm") in infos(app)
    app.assert_calm()


def test_warmup_can_be_stopped_and_does_not_touch_what_was_trained():
    app = with_training(opened("warmup"))

    app.press("Compare")
    until(app, WARMUP, lambda view: view.shown is not None)
    app.press("Stop")

    assert job(app, WARMUP).status == "stopped"
    assert "Stopped" in infos(app)
    assert job(app, TRAIN).result is training()
    app.assert_calm()

"""The step on influence: a press starts the measurement, and its result stays and is shared."""

import time

import pytest

from attention_core.neural.influence import influence
from playground import jobs as jobs_module
from playground.jobs import View
from playground.lessons import why_influence
from playground.lessons.why_influence import Settings
from tests.pages.driver import App
from tests.pages.jobs import job

pytestmark = pytest.mark.usefixtures("jobs")


def at(length=8, width=8, n_seeds=30):
    app = App("why_attention").set("why_attention.step", "influence")
    app.set("why_attention.influence.length", length).set("why_attention.influence.width", width)
    return app.set("why_attention.influence.n_seeds", n_seeds)


def measure(app):
    return app.press(app.t("why_attention.influence.measure"))


def finish(app):
    """Look again until the job has ended, as the page does by itself."""
    deadline = time.monotonic() + 30
    while is_running(app):
        assert time.monotonic() < deadline
        app.test.run()
    return app


def is_running(app):
    return any(button.label == app.t("job.stop") for button in app.test.button)


def said(app):
    return " ".join(info.value for info in app.test.info)


def shown_lines(app):
    return app.figure["data"]


def test_before_a_press_the_steps_are_counted_and_nothing_is_drawn():
    app = at(length=64)

    app.assert_calm()
    assert all(each in said(app) for each in why_influence.known(app.t, Settings(64, 8, 30)))
    assert not app.test.get("plotly_chart")
    assert not app.test.table


def test_a_press_measures_what_is_set():
    app = finish(measure(at(length=16, width=8, n_seeds=30)))

    expected = influence(16, 8, 30)
    app.assert_calm()
    assert shown_lines(app) == why_influence.curves(app.t, expected, "light")["data"]
    (table,) = app.test.table
    assert table.value.to_dict("list") == why_influence.table(app.t, expected)
    done = View("why_attention.influence", "done")
    sentences = why_influence.influence_found(app.t, expected, Settings(16, 8, 30), done)
    assert all(each in said(app) for each in sentences)


def test_another_setting_keeps_the_curves_and_says_what_they_are_of():
    app = finish(measure(at()))
    before = shown_lines(app)

    app.set("why_attention.influence.length", 32)

    assert shown_lines(app) == before
    assert app.t("why_attention.influence.other") in said(app)
    app.set("why_attention.influence.length", 8)
    assert app.t("why_attention.influence.other") not in said(app)


def test_a_second_learner_gets_the_result_at_once(monkeypatch):
    finish(measure(at()))
    monkeypatch.setattr(why_influence, "work", lambda settings: pytest.fail)

    second = measure(at())

    second.assert_calm()
    assert not is_running(second)
    assert (
        shown_lines(second) == why_influence.curves(second.t, influence(8, 8, 30), "light")["data"]
    )


def test_a_measurement_that_is_stopped_shows_what_it_has():
    app = measure(at(length=128, width=64, n_seeds=300))
    deadline = time.monotonic() + 30
    while not app.test.get("plotly_chart"):
        assert time.monotonic() < deadline
        app.test.run()
    before = job(app, "why_attention.influence")
    app.press(app.t("why_attention.influence.measure"))  # pressed twice, it goes on
    assert job(app, "why_attention.influence").done >= before.done > 0

    app.press(app.t("job.stop"))
    finish(app)

    app.assert_calm()
    assert len(shown_lines(app)) == 12
    seeds = int(said(app).partition("seeds: ")[2].partition(",")[0])
    assert 0 < seeds < 300
    assert app.t("why_attention.influence.other") not in said(app)


def test_a_measurement_that_failed_is_told_and_can_be_started_again(monkeypatch):
    faults, work = [RuntimeError("broken")], why_influence.work

    def works_the_second_time(settings):
        def measure(tell):
            if faults:
                raise faults.pop()
            return work(settings)(tell)

        return measure

    monkeypatch.setattr(why_influence, "work", works_the_second_time)
    app = finish(measure(at()))
    assert app.errors == [app.t("job.failed")]

    finish(measure(app))

    app.assert_calm()
    assert shown_lines(app)


@pytest.mark.parametrize("why", ["full", "own"])
def test_a_measurement_that_is_refused_is_explained_and_can_be_started_again(jobs, why):
    app = at()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(jobs_module, "MOST_WAITING", 0 if why == "full" else 30)
        patch.setattr(jobs_module, "MOST_OWN", 0 if why == "own" else 3)
        app.press(app.t("why_attention.influence.measure"))
        assert app.warnings == [app.t(f"job.refused.{why}", count=0)]

    finish(measure(app))

    app.assert_calm()
    assert shown_lines(app)


def test_the_result_is_there_after_another_page():
    app = finish(measure(at()))
    before = shown_lines(app)

    app.visit("playground").visit("why_attention")

    assert shown_lines(app) == before

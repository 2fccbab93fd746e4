"""The step on the price of waiting: a job is started, watched, stopped, shared, and told."""

import threading

import pytest

from attention_core.pace import WAYS, Pace, Timing, multiply_adds
from playground import running
from playground.jobs import Jobs
from playground.lessons import why_pace
from playground.texts import Texts
from tests.pages.driver import App

T = Texts("en")
MEASURE, STOP, NOT_YET = (
    T(key) for key in ("why_attention.pace.measure", "job.stop", "why_attention.pace.not_yet")
)
PATIENCE = 20  # seconds, for a condition that is awaited


class Runs:
    """Stands in for the measurement: takes as long as it is let, and no time else."""

    def __init__(self):
        self.asked = []
        self.may_end, self.has_begun, self.has_ended = (threading.Event() for _ in range(3))
        self.may_end.set()

    def __call__(self, counts, *, d_model, precision, rng, tell):
        self.asked.append((d_model, precision))
        tell(0.25)
        self.has_begun.set()
        try:
            while not self.may_end.wait(0.01):
                tell(0.25)
        finally:
            self.has_ended.set()
        timings = [
            Timing(
                way,
                n,
                {"steps": 0.002, "product": 0.001, "attention": 0.004}[way] * n,
                multiply_adds(way, n, d_model),
            )
            for n in counts
            for way in WAYS
        ]
        return Pace(d_model, precision, tuple(timings), ((counts[-1], 1e-15),))


@pytest.fixture
def runs(monkeypatch):
    fake, jobs = Runs(), Jobs(limit=1)
    monkeypatch.setattr(why_pace, "measure_pace", fake)
    monkeypatch.setattr(running, "_JOBS", jobs)
    yield fake
    jobs.close()


@pytest.fixture
def app(runs):
    return App("why_attention", s="pace")


def measured(app):
    """Press the button, and draw again when the job is done."""
    app.press(MEASURE)
    for thread in [*running._JOBS._running.values()]:
        thread.join(PATIENCE)
    app.test.run()
    return app


def found(app):
    (info,) = [each.value for each in app.test.info]
    return info


def axis(app):
    return app.figure["layout"]["yaxis"]["title"]["text"]


def is_running(app):
    """Whether progress is shown, and a way to stop it."""
    has_bar = bool(app.test.get("progress"))
    assert has_bar == (STOP in [button.label for button in app.test.button])
    return has_bar


def test_nothing_is_measured_before_it_is_asked_for(app, runs):
    app.assert_calm()
    assert runs.asked == []
    assert not is_running(app)
    assert NOT_YET in found(app)
    assert axis(app) == T("why_attention.pace.axis_counts")


def test_a_measurement_is_drawn_and_told(app, runs):
    measured(app)

    app.assert_calm()
    assert runs.asked == [(64, "float64")]
    assert not is_running(app)
    assert axis(app) == T("why_attention.pace.axis")
    assert "For 1,024 tokens: 2.05\u00a0s step by step, 1.02\u00a0s in one product" in found(app)
    assert T("why_attention.pace.never") in found(app)


def test_while_it_runs_it_tells_how_far_it_is_and_can_be_stopped(app, runs):
    runs.may_end.clear()
    app.press(MEASURE)
    assert runs.has_begun.wait(PATIENCE)
    app.test.run()

    assert is_running(app)
    assert NOT_YET in found(app)

    app.press(STOP)
    assert runs.has_ended.wait(PATIENCE)
    app.test.run()

    app.assert_calm()
    assert not is_running(app)
    assert NOT_YET in found(app)


def test_other_settings_wait_until_they_are_asked_for_too(app, runs):
    measured(app).set("why_attention.pace_width", 16).set("why_attention.precision", "float32")

    assert NOT_YET in found(app)
    assert runs.asked == [(64, "float64")]

    measured(app)

    assert NOT_YET not in found(app)
    assert runs.asked == [(64, "float64"), (16, "float32")]


def test_what_one_learner_has_measured_is_there_for_another_at_once(app, runs):
    measured(app)
    other = App("why_attention", s="pace")
    assert NOT_YET in found(other)

    other.press(MEASURE)

    assert found(other) == found(app)
    assert len(runs.asked) == 1


def test_a_measurement_stays_when_the_page_is_left(app, runs):
    measured(app).visit("playground").visit("why_attention")

    assert axis(app) == T("why_attention.pace.axis")
    assert len(runs.asked) == 1


def test_while_another_page_is_shown_the_menu_names_the_job(app, runs):
    runs.may_end.clear()
    app.press(MEASURE)
    assert runs.has_begun.wait(PATIENCE)

    app.visit("playground")

    labels = [getattr(each, "label", "") or "" for each in app.test]
    assert any(T("why_attention.pace.job") in str(label) for label in labels)
    runs.may_end.set()


def test_a_fault_is_told_calmly_and_it_can_be_measured_again(app, runs, monkeypatch):
    def fail(*_, **__):
        raise ZeroDivisionError

    monkeypatch.setattr(why_pace, "measure_pace", fail)
    measured(app)
    assert app.errors == [T("job.failed")]
    monkeypatch.setattr(why_pace, "measure_pace", runs)

    measured(app)

    app.assert_calm()
    assert NOT_YET not in found(app)

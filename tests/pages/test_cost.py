"""The step on cost: its inputs, and a measurement that is asked for, made, kept or refused."""

import threading

import pytest

from attention_core.measurement import LeftOut, Measured, Measurement
from playground import running
from playground.jobs import Jobs
from playground.lessons import cost
from playground.texts import Texts
from tests.pages.driver import App
from tests.pages.jobs import finished, job

T = Texts("en")
MEASURE = T("masks.cost.measure")
COST = "masks.cost"


@pytest.fixture
def runs(monkeypatch):
    """The numbers of tokens of each measurement, which takes no time here."""
    counted = []

    def measure(counts, sizes, *, tell, **more):
        counted.append(counts)
        tell(0.5, "window", counts[-1])
        measurements = [
            Measurement(way, n, n / 1000, 1000 * n) for n in counts for way in cost.WAYS
        ]
        return Measured(tuple(measurements), (LeftOut("dense", 99, "time"),), ((counts[-1], 0.0),))

    monkeypatch.setattr(cost, "measure", measure)
    monkeypatch.setattr(running, "_JOBS", Jobs(limit=1))  # that remember nothing
    yield counted
    running._JOBS.close()


@pytest.fixture
def app(runs):
    return App("masks", s="cost").set("masks.cost_n_tokens", 512)


def measure(app):
    """Ask for a measurement, and wait for it."""
    return finished(app.press(MEASURE), COST)


def found(app):
    (info,) = [each.value for each in app.test.info if each.value.startswith("**Measured**")]
    return info


def axis(app, name="yaxis"):
    return app.figure["layout"][name]["title"]["text"]


def marks(app):
    return [shape["x0"] for shape in app.figure["layout"]["shapes"]]


def rows(app):
    return app.test.table[0].value.to_numpy().tolist()


def names(app):
    return {trace["name"] for trace in app.figure["data"]}


def test_nothing_is_measured_before_it_is_asked_for(app, runs):
    assert runs == []
    assert axis(app) == "Pairs"
    assert "For 512 tokens" in found(app)
    assert "Dense attention:" not in found(app)
    app.assert_calm()


def test_the_number_of_tokens_moves_the_mark_the_table_and_the_sentence(app):
    app.set("masks.cost_n_tokens", 100_000)

    assert marks(app) == [100_000]
    assert rows(app)[0][1] == "10,000,000,000"
    assert "For 100,000 tokens dense attention needs 10,000,000,000 pairs" in found(app)


def test_the_window_moves_its_own_curve(app):
    app.set("masks.cost_reach", 512)

    assert "Window, 512 on each side" in names(app)
    assert rows(app)[3][:3] == ["Window, 512 on each side", "262,144", "100"]


def test_d_k_counts_for_multiply_adds_and_for_nothing_else(app):
    before = rows(app)

    app.set("masks.cost_d_k", 32).set("masks.cost_view", "multiply_adds")

    assert axis(app) == "Multiply-adds"
    (dense,) = [trace for trace in app.figure["data"] if trace["name"] == "Dense"]
    assert dict(zip(dense["x"], dense["y"], strict=True))[512] == 512 * 512 * 64
    assert [row[:3] + row[4:] for row in rows(app)] == [row[:3] + row[4:] for row in before]
    assert rows(app) != before


def test_memory_is_drawn_in_mb(app):
    app.set("masks.cost_view", "memory")

    assert axis(app) == "MB of scores held at once"


def test_time_without_a_measurement_says_so_and_keeps_the_rest(app):
    app.set("masks.cost_view", "time")

    app.assert_calm()
    assert T("masks.cost.not_yet") in [each.value for each in app.test.markdown]
    assert app.test.get("plotly_chart") == []
    assert len(rows(app)) == 6


def test_a_measurement_is_drawn_at_once_and_told(app, runs):
    measure(app)

    app.assert_calm()
    assert runs == [[256, 512]]
    assert axis(app) == "Milliseconds, measured here"
    assert "Windowed attention: 512\u00a0ms for 512 tokens, 2 times as long" in found(app)
    assert "Dense attention was not run from 99 tokens on" in found(app)
    assert app.test.get("progress") == []


def test_a_measurement_stays_while_the_view_changes_and_when_the_page_is_left(app, runs):
    measure(app).set("masks.cost_view", "memory")

    assert axis(app) == "MB, points measured here"
    app.visit("playground").visit("masks")

    assert axis(app) == "MB, points measured here"
    assert len(runs) == 1


@pytest.mark.parametrize(
    ("key", "value"),
    [("masks.cost_n_tokens", 1024), ("masks.cost_reach", 8), ("masks.cost_d_k", 16), ("seed", 3)],
)
def test_other_settings_wait_until_they_are_asked_for_too(app, runs, key, value):
    measure(app).set(key, value)

    assert len(runs) == 1
    assert "Dense attention:" not in found(app)

    measure(app)

    assert len(runs) == 2
    assert "Dense attention:" in found(app)


def test_the_second_run_comes_from_the_cache_for_another_learner_too(app, runs):
    measure(app)
    other = App("masks", s="cost").set("masks.cost_n_tokens", 512)

    other.press(MEASURE)

    assert len(runs) == 1
    assert found(other) == found(app)


def test_who_must_wait_sees_the_queue_and_goes_on_meanwhile(app, runs):
    may_end = threading.Event()
    running._JOBS.start("someone", "masks.cost", lambda tell: may_end.wait(20), is_alone=True)

    app.press(MEASURE)

    (bar,) = app.test.get("progress")
    assert bar.proto.text == "In the queue; before you: 1"
    assert runs == []
    app.set("masks.cost_view", "memory")
    assert axis(app) == "MB of scores held at once"
    app.assert_calm()
    may_end.set()
    finished(app, COST)
    assert len(runs) == 1
    assert axis(app) == "MB, points measured here"


def test_what_is_measured_just_now_is_told(app, monkeypatch):
    told, may_end = threading.Event(), threading.Event()

    def measure(counts, sizes, *, tell, **more):
        tell(0.5, "window", 512)
        told.set()
        assert may_end.wait(20)
        return Measured((), (), ((512, 0.0),))

    monkeypatch.setattr(cost, "measure", measure)
    app.press(MEASURE)
    assert told.wait(20)
    app.test.run()

    (bar,) = app.test.get("progress")
    assert bar.proto.text == cost.doing(T, "window", 512)
    may_end.set()
    finished(app, COST)


def test_a_fault_while_measuring_is_told_and_lets_the_next_one_in(app, monkeypatch):
    def fail(*_, **__):
        raise ZeroDivisionError

    with monkeypatch.context() as broken:
        broken.setattr(cost, "measure", fail)
        measure(app)
        assert app.errors == [T("job.failed")]

    measure(app)

    app.assert_calm()
    assert "Dense attention:" in found(app)


def test_a_real_measurement_holds_blockwise_to_dense(monkeypatch):
    monkeypatch.setattr(running, "_JOBS", Jobs(limit=1))
    app = App("masks", s="cost", locale="zh-CN").set("masks.cost_n_tokens", 256)

    finished(app.press(Texts("zh")("masks.cost.measure")), COST)

    app.assert_calm()
    measured = job(app, COST).result
    assert [each.way for each in measured.measurements] == ["dense", "blockwise", "window"]
    assert measured.gaps[0][1] < 1e-12
    (info,) = [each.value for each in app.test.info]
    assert cost.power(measured.gaps[0][1]) in info

"""The step in which gradient descent looks for a pattern: inputs, the job, and what is taken."""

import numpy as np
import pytest

from attention_core import Experiment, to_plain
from attention_core.neural.fitting import fit, pattern
from playground import link
from playground.lessons import pytorch_fit
from tests.pages.driver import App
from tests.pages.jobs import finished, job, until

FIT = "pytorch.fit"
CAT = Experiment.from_preset("cat")


@pytest.fixture
def app(monkeypatch, jobs):
    monkeypatch.setattr(pytorch_fit, "_PAUSE", 0.0)
    return App("pytorch", s="fit", e=link.encode(CAT))


def shown(app):
    return {matrix["id"]: matrix for matrix in app.board["matrices"]}


def infos(app):
    return " ".join(info.value for info in app.test.info)


def inputs(app):
    names = {f"{FIT}.{name}" for name in ("pattern", "rate", "steps", "begin")}
    return [element for element in app.test if getattr(element, "key", None) in names]


def painted(*cells, number=1, is_asked=True):
    edit = {"kind": "paint", "matrix": "target", "cells": [*map(list, cells)]}
    return edit | {"number": number, "allowed": is_asked, "joins": False}


def test_a_fit_runs_to_its_end_and_shows_what_it_found(app):
    app.set(f"{FIT}.steps", 50).set(f"{FIT}.pattern", "first").press("Start")

    finished(app, FIT)

    target = pattern("first", np.ones((3, 3), dtype=bool))
    expected = fit(CAT, 0, target, learning_rate=0.1, n_steps=50)
    weights = expected.at(expected.moments[-1]).trace().attention.heads.weights[0]
    assert job(app, FIT).result.losses == expected.losses
    np.testing.assert_array_equal(shown(app)["fitted_weights"]["values"], weights)
    assert app.figure["data"][0]["y"] == list(expected.losses)
    assert "After step 50" in infos(app)
    app.assert_calm()


def test_every_input_counts(app):
    app.set(f"{FIT}.steps", 100).set(f"{FIT}.rate", 0.03).set(f"{FIT}.begin", "own").press("Start")

    finished(app, FIT)

    target = pattern("previous", np.ones((3, 3), dtype=bool))
    expected = fit(CAT, 0, target, learning_rate=0.03, n_steps=100, begin_at="own")
    assert job(app, FIT).result.losses == expected.losses


def test_the_head_that_is_followed_is_fitted():
    app = App("pytorch", s="fit", h="2", e=link.encode(CAT.resized(n_heads=2)))

    app.set(f"{FIT}.steps", 50).press("Start")
    finished(app, FIT).press("Take these matrices")

    course = job(app, FIT).result
    assert course.head == 1
    np.testing.assert_array_equal(app.experiment.W_Q[1], course.moments[-1].W_Q)
    np.testing.assert_array_equal(app.experiment.W_Q[0], CAT.W_Q[0])


def test_while_it_runs_its_course_is_shown_and_the_inputs_wait(app, monkeypatch):
    monkeypatch.setattr(pytorch_fit, "_PAUSE", 0.05)
    app.press("Start")

    until(app, FIT, lambda view: view.shown is not None)

    assert {element.disabled for element in inputs(app)} == {True}
    assert app.board["of"] is None  # or all numbers would be marked as moved at every look
    assert any("After step" in text for text in app.markdown())
    assert infos(app) == ""  # a screen reader would read it aloud at every look
    app.press("Stop")
    assert {element.disabled for element in inputs(app)} == {False}
    assert job(app, FIT).status == "stopped"
    assert "After step" in infos(app)  # what was found so far
    app.assert_calm()


def test_one_can_look_back_at_any_kept_moment(app):
    app.set(f"{FIT}.steps", 50).press("Start")
    finished(app, FIT)

    app.set(f"{FIT}.at", 10)

    course = job(app, FIT).result
    weights = course.at(course.moments[10]).trace().attention.heads.weights[0]
    np.testing.assert_array_equal(shown(app)["fitted_weights"]["values"], weights)
    assert "After step 10" in infos(app)


def test_a_new_fit_shows_its_end(app):
    app.set(f"{FIT}.steps", 50).press("Start")
    finished(app, FIT).set(f"{FIT}.at", 10).set(f"{FIT}.steps", 100).press("Start")

    finished(app, FIT)

    assert "After step 100" in infos(app)


def test_what_was_found_becomes_the_experiment_and_can_be_undone(app):
    app.set(f"{FIT}.steps", 50).press("Start")
    finished(app, FIT)

    app.press("Take these matrices")

    moment = job(app, FIT).result.moments[-1]
    np.testing.assert_array_equal(app.experiment.W_Q[0], moment.W_Q)
    np.testing.assert_array_equal(app.experiment.W_K[0], moment.W_K)
    np.testing.assert_array_equal(app.experiment.W_V, CAT.W_V)
    assert [button.disabled for button in app.test.button if button.label.startswith("Your exp")]
    assert "After step 50" in infos(app)  # it is still about this experiment
    app.press("Undo")
    assert to_plain(app.experiment) == to_plain(CAT)
    app.assert_calm()


def test_another_experiment_is_another_task(app):
    app.set(f"{FIT}.steps", 50).press("Start")
    finished(app, FIT)

    app.set("encoding", "sinusoidal")

    assert "After step" not in infos(app)
    assert "Take these matrices" not in [button.label for button in app.test.button]


def test_a_target_is_painted_and_fitted(app):
    app.set(f"{FIT}.pattern", "painted")
    assert [button.disabled for button in app.test.button if button.label == "Start"] == [True]
    assert "asks for nothing yet" in infos(app)

    app.send(painted((0, 2), (1, 1))).send(painted((1, 2), (0, 2), number=2))
    app.send(painted((0, 2), number=3, is_asked=False))

    expected = [[0, 0, 0], [0, 0.5, 0.5], [0, 0, 0]]
    assert shown(app)["target"]["values"] == expected
    assert shown(app)["target"]["paintable"]
    app.set(f"{FIT}.steps", 50).press("Start")
    finished(app, FIT)
    assert job(app, FIT).result.target.tolist() == expected
    assert app.experiment.mask.kinds == ()  # a target is no mask
    app.assert_calm()


def test_a_named_target_is_not_painted(app):
    assert not shown(app)["target"]["paintable"]


@pytest.mark.parametrize(
    "changes",
    [
        {"cells": [[0, 12]]},
        {"cells": [[-1, 0]]},
        {"cells": [[0.5, 0]]},
        {"cells": []},
        {"matrix": 3},
        {"allowed": 1},
    ],
)
def test_malformed_paint_is_dropped(app, changes):
    app.set(f"{FIT}.pattern", "painted")

    app.send(painted((0, 0)) | changes)

    assert shown(app)["target"]["values"] == [[0, 0, 0]] * 3
    app.assert_calm()


def test_what_the_mask_forbids_cannot_begin_and_is_explained(app):
    app.set("mask", ["causal"]).set(f"{FIT}.pattern", "painted").send(painted((0, 2)))

    assert [button.disabled for button in app.test.button if button.label == "Start"] == [True]
    assert "The mask forbids cells that the target asks for (1, dashed)" in infos(app)


# --- on other pages


def test_a_job_goes_on_elsewhere_and_is_shown_there(app, monkeypatch):
    monkeypatch.setattr(pytorch_fit, "_PAUSE", 0.05)
    app.press("Start")
    until(app, FIT, lambda view: view.shown is not None)

    app.visit("masks")

    links = [element.proto.label for element in app.test.get("page_link")]
    assert links == ["Gradient descent"]
    assert job(app, FIT).is_active
    app.visit("pytorch")
    assert app.test.get("page_link") == []
    app.press("Stop").visit("masks")
    assert app.test.get("page_link") == []


def test_on_another_step_of_the_lesson_it_is_shown_too(app, monkeypatch):
    monkeypatch.setattr(pytorch_fit, "_PAUSE", 0.05)
    app.press("Start")
    until(app, FIT, lambda view: view.shown is not None)

    app.set("pytorch.step", "parity")

    assert [element.proto.label for element in app.test.get("page_link")] == ["Gradient descent"]
    app.set("pytorch.step", "fit").press("Stop")


def test_who_has_to_wait_sees_the_queue(app, monkeypatch):
    monkeypatch.setattr(pytorch_fit, "_PAUSE", 0.05)
    other = App("pytorch", s="fit", e=link.encode(CAT))
    other.press("Start")

    app.press("Start")

    assert job(app, FIT).status == "waiting"
    (bar,) = app.test.get("progress")
    assert bar.proto.text == "In the queue; before you: 1"
    app.visit("masks")
    (bar,) = app.test.get("progress")
    assert bar.proto.text == "Waiting, 1 before it"
    app.visit("pytorch").press("Stop")
    assert job(app, FIT).status == "stopped"
    other.press("Stop")


def test_a_fit_that_fails_says_so_and_can_be_started_again(app, monkeypatch):
    def fail(of):
        def run(tell):
            raise ZeroDivisionError("on purpose")

        return run

    with monkeypatch.context() as broken:
        broken.setattr(pytorch_fit, "work", fail)
        app.press("Start")
        finished(app, FIT)

    assert app.errors == [app.t("job.failed")]
    app.set(f"{FIT}.steps", 50).press("Start")
    finished(app, FIT)
    app.assert_calm()
    assert "After step 50" in infos(app)

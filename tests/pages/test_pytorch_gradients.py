"""The step on gradients: each input does what it says."""

import numpy as np
import pytest

from attention_core import Experiment
from attention_core.neural.gradients import at_width, gradients
from playground import link
from tests.pages.driver import App

WIDE = Experiment.from_preset("random").resized(n_tokens=4, d_model=4, d_k=2, n_heads=2)
PROJECTED = WIDE.with_output_projection(True)
LARGEST = WIDE.resized(n_tokens=12, d_model=8, d_k=8, n_heads=8)


def opened(e):
    return App("pytorch", e=link.encode(e)).set("pytorch.step", "gradients")


@pytest.fixture
def app():
    return opened(PROJECTED)


def assert_shows(app, e, token, feature, head):
    shown = {matrix["id"]: np.array(matrix["values"]) for matrix in app.board["matrices"]}
    slopes = gradients(e, token, feature, head)
    for name in ("X", "W_Q", "W_K", "W_V"):
        np.testing.assert_array_equal(shown[f"slope_{name}"], getattr(slopes, name))
    app.assert_calm()


def test_the_first_number_is_looked_at_first(app):
    assert_shows(app, PROJECTED, 0, 0, 0)


def test_each_number_and_each_head_can_be_looked_at(app):
    app.set("pytorch.gradients_token", 2).set("pytorch.gradients_feature", 3)
    assert_shows(app, PROJECTED, 2, 3, 0)

    app.set("head", 1)

    assert_shows(app, PROJECTED, 2, 3, 1)


def test_many_columns_are_chosen_on_a_slider():
    app = opened(LARGEST).set("pytorch.gradients_feature", 63)

    assert_shows(app, LARGEST, 0, 63, 0)


def test_a_number_that_is_gone_gives_way(app):
    app.set("pytorch.gradients_token", 3).set("pytorch.gradients_feature", 3)

    app.set("d_model", 2)

    assert_shows(app, app.experiment, 3, 0, 0)


def test_wider_heads_are_drawn_from_the_seed(app):
    app.set("pytorch.gradients_view", "widths").set("pytorch.gradients_seed", 4)
    app.set("pytorch.gradients_d_k", 64)

    lines = app.figure["data"]
    width = at_width(64, 4)
    assert lines[0]["y"][6] == width.unscaled.W_Q
    assert lines[5]["y"][6] == width.scaled.W_V
    (table,) = app.test.table
    assert f"{width.unscaled.mean_largest:.3g}" in {*table.value.to_numpy().flat}
    app.assert_calm()


def test_going_back_shows_the_experiment_again(app):
    app.set("pytorch.gradients_view", "widths").set("pytorch.gradients_view", "experiment")

    assert_shows(app, PROJECTED, 0, 0, 0)

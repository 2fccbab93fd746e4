"""The lesson on scaling and softmax, as a learner uses it."""

import pytest

from playground.lessons import scaling
from tests.pages.driver import App


def said(app):
    (info,) = [each.value for each in app.test.info]
    return info


# --- sampling


def test_the_sample_is_that_of_the_inputs():
    app = App("scaling")

    app.set("scaling.d_k", 64).set("scaling.rows", 256).set("scaling.seed", 7)

    of = scaling.drawn(64, 256, 7)
    app.assert_calm()
    assert all(sentence in said(app) for sentence in scaling.sampled_found(app.t, of))
    assert scaling.sampled_table(app.t, of) in app.markdown()


@pytest.mark.parametrize("look", ["scores", "weights", "gradient"])
def test_the_figure_shows_what_is_looked_at(look):
    app = App("scaling").set("scaling.look", look)

    samples = [scaling.drawn(d_k, 2048, 0) for d_k in scaling.WIDTHS]
    expected = scaling.sampled(app.t, samples, samples[9], look, "light")
    assert app.figure["data"] == expected["data"]


def test_the_sample_is_there_at_once_the_second_time(monkeypatch):
    drawn, draw = [], scaling.drawn
    monkeypatch.setattr(scaling, "drawn", lambda *of: drawn.append(of) or draw(*of))
    app = App("scaling").set("scaling.seed", 1234)

    assert [of for of in drawn if of[2] == 1234] == [(d, 2048, 1234) for d in scaling.WIDTHS]
    drawn.clear()

    app.set("scaling.d_k", 1024).set("scaling.look", "weights")
    App("scaling").set("scaling.seed", 1234)

    assert drawn == []


def test_an_empty_seed_changes_nothing():
    app = App("scaling").set("scaling.seed", 3)
    before = said(app)

    app.set("scaling.seed", None)

    app.assert_calm()
    assert said(app) == before

"""The lesson on scaling and softmax, as a learner uses it."""

import threading

import pytest

from attention_core import Experiment
from playground import link
from playground.lessons import scaling
from tests.pages.driver import App
from tests.pages.jobs import WAIT, finished


def said(app):
    (info,) = [each.value for each in app.test.info]
    return info


def at(step, experiment=None):
    query = {"e": link.encode(experiment)} if experiment else {}
    return App("scaling", **query).set("scaling.step", step)


def shown(app, id):
    (matrix,) = [each for each in app.board["matrices"] if each["id"] == id]
    return matrix["values"]


def occupied(jobs):
    """Another's job holds the only place until what is given is set."""
    free = threading.Event()
    jobs.start("another", "other", lambda tell: free.wait(WAIT))
    return free


def progress(app):
    return [each.proto.text for each in app.test.get("progress")]


# --- sampling


def test_the_sample_is_that_of_the_inputs():
    app = App("scaling")

    app.set("scaling.d_k", 64).set("scaling.rows", 256).set("scaling.seed", 7)

    of = scaling.drawn(64, 256, 7)
    app.assert_calm()
    assert all(sentence in said(app) for sentence in scaling.sampled_found(app.t, of))
    (table,) = app.test.table
    assert table.value.to_dict("list") == scaling.sampled_table(app.t, of)


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


def test_many_rows_are_a_job_that_begins_by_itself_and_is_shared(jobs, monkeypatch):
    drawn, draw = [], scaling.drawn
    monkeypatch.setattr(scaling, "drawn", lambda *of: drawn.append(of) or draw(*of))
    free = occupied(jobs)
    app = App("scaling", l=link.pack({"scaling.rows": 4096, "scaling.seed": 5}))

    app.assert_calm()
    assert app.t("job.waiting", count=1) in progress(app)
    assert not app.test.info

    free.set()
    finished(app, "scaling.sampling")
    again = App("scaling").set("scaling.seed", 5).set("scaling.rows", 4096)

    of = draw(512, 4096, 5)
    for each in (app, again):
        each.assert_calm()
        assert not progress(each)
        assert all(sentence in said(each) for sentence in scaling.sampled_found(app.t, of))
    assert [of for of in drawn if of[1] == 4096] == [(d, 4096, 5) for d in scaling.WIDTHS]


def test_fewer_rows_are_there_at_once_and_the_job_is_not_wanted_any_more(jobs):
    free = occupied(jobs)
    app = App("scaling").set("scaling.rows", 8192)
    assert not app.test.info

    app.set("scaling.rows", 2048)

    app.assert_calm()
    assert said(app)
    assert not jobs.active(app.test.session_state["work"]["id"])
    free.set()


def test_a_full_queue_is_told_and_a_press_asks_again(jobs, monkeypatch):
    monkeypatch.setattr("playground.jobs.MOST_WAITING", 0)
    free = occupied(jobs)
    app = App("scaling").set("scaling.rows", 4096)

    assert app.warnings == [app.t("job.refused.full", count=0)]
    assert not app.test.info
    app.press(app.t("job.again"))
    assert len(app.warnings) == 1
    monkeypatch.setattr("playground.jobs.MOST_WAITING", 1)
    app.press(app.t("job.again"))
    app.assert_calm()
    free.set()

    assert said(finished(app, "scaling.sampling"))


def test_an_empty_seed_changes_nothing():
    app = App("scaling").set("scaling.seed", 3)
    before = said(app)

    app.set("scaling.seed", None)

    app.assert_calm()
    assert said(app) == before


# --- factor


def test_the_factor_multiplies_the_scores_of_the_head_that_is_shown():
    e = Experiment.from_preset("random").resized(n_heads=2)
    app = at("factor", e)

    app.set("head", 1).set("scaling.factor", 5.0)

    trace = e.trace().attention.head(1)
    app.assert_calm()
    assert shown(app, "scores") == trace.masked_scores.tolist()
    assert shown(app, "times") == (5 * trace.masked_scores).tolist()
    assert all(each in said(app) for each in scaling.factored_found(app.t, trace, 5.0))


def test_scores_follow_the_settings_of_the_experiment():
    app = at("factor")
    before = shown(app, "scores")

    app.set("is_scaled", False)

    for scaled, plain in zip(before, shown(app, "scores"), strict=True):
        assert plain == pytest.approx([2**0.5 * score for score in scaled])


def test_nobody_attends_and_all_is_calm():
    app = at("factor").set("mask", ["padding"]).set("n_padding", 3)

    app.assert_calm()
    assert app.t("scaling.own.empty") in said(app)


# --- stability


def test_the_offset_breaks_the_textbook_form_and_not_the_shifted_one():
    app = at("stability")
    weights = shown(app, "textbook_weights")

    app.set("scaling.offset", 12)

    app.assert_calm()
    assert all(0 < weight < 1 for (weight,) in weights)
    assert shown(app, "textbook_weights") == [["NaN"], ["NaN"], ["NaN"]]
    assert shown(app, "textbook_exponentials") == [["∞"], ["∞"], ["∞"]]
    assert sum(weight for (weight,) in shown(app, "shifted_weights")) == pytest.approx(1, abs=0.01)


def test_more_digits_hold_longer():
    app = at("stability").set("scaling.offset", 12)

    app.set("scaling.precision", "float32")

    assert all(0 < weight < 1 for (weight,) in shown(app, "textbook_weights"))


def test_the_row_is_that_of_the_chosen_token():
    e = Experiment.from_preset("apple")
    app = at("stability").set("scaling.precision", "float64").set("scaling.token", 2)

    scores = e.trace().attention.head(0).masked_scores[2]
    assert shown(app, "textbook_scores") == [[score] for score in scores]


def test_a_token_that_went_is_no_longer_looked_at():
    app = at("stability").set("scaling.token", 2)

    app.send({"number": 1, "kind": "remove", "row": 2})

    app.assert_calm()
    assert len(shown(app, "textbook_scores")) == 2


def test_a_row_without_scores_is_calm():
    app = at("stability").set("mask", ["padding"]).set("n_padding", 3)

    app.assert_calm()
    assert app.t("scaling.stability.empty", token="“我”") in said(app)


# --- axis


def test_the_wrong_axis_has_columns_that_sum_to_1():
    app = at("axis", Experiment.from_preset("cat"))

    app.assert_calm()
    assert shown(app, "rows_row_sums") == [[pytest.approx(1)]] * 3
    assert shown(app, "columns_column_sums") == [[pytest.approx(1)] * 3]
    assert shown(app, "columns_row_sums") != [[pytest.approx(1)]] * 3


# --- shift


def test_adding_to_every_key_moves_no_weight_and_adding_to_every_query_does():
    app = at("shift")

    app.set("scaling.shift", "keys")
    still = shown(app, "moved")
    app.set("scaling.shift", "queries").set("scaling.by", 10)

    app.assert_calm()
    assert max(abs(cell) for row in still for cell in row) < 1e-12
    assert max(abs(cell) for row in shown(app, "moved") for cell in row) > 0.1


def test_only_what_has_a_token_asks_for_one():
    app = at("shift")

    def keys():
        return {getattr(element, "key", None) for element in app.test}

    assert "scaling.token" in keys()
    app.set("scaling.token", 2).set("scaling.shift", "keys")
    assert "scaling.token" not in keys()
    app.set("scaling.shift", "key")

    added = shown(app, "added")
    assert [any(row[key] for row in added) for key in range(3)] == [False, False, True]


@pytest.mark.parametrize("step", ["factor", "stability", "axis", "shift"])
def test_numbers_as_large_as_can_be_are_calm(step):
    e = Experiment.from_preset("random").resized(n_tokens=4, d_model=8, d_k=8)
    for matrix, index in (("X", (0, 0)), ("X", (1, 1)), ("W_Q", (0, 0, 0)), ("W_K", (0, 1, 0))):
        e = e.with_cell(matrix, index, -1e6)

    app = at(step, e)

    app.assert_calm()

"""What the lesson says of gradient descent is true of the numbers."""

from dataclasses import replace

import numpy as np
import pytest

from attention_core import Experiment
from attention_core.neural.fitting import fit, least_loss, loss_of, pattern
from playground import charts
from playground.lessons import pytorch_fit
from playground.lessons.pytorch_fit import task
from playground.numerals import short
from playground.texts import LANGUAGES, Texts
from tests.playground.lessons.of_pytorch_fit import CAT, CAUSAL, EMPTY, REPEATED, SEVERAL

every_language = pytest.mark.parametrize("language", LANGUAGES)


def asked(e, painted=(), head=0, **settings):
    given = {f"pytorch.fit.{name}": value for name, value in settings.items()}
    return task(e, head, lambda key, default: given.get(key, default), painted)


def course_of(of, n_steps=30, rate=0.1):
    return fit(
        of.experiment,
        of.head,
        of.target,
        learning_rate=rate,
        n_steps=n_steps,
        begin_at=of.begin_at,
    )


def weights_of(e, head=0):
    return e.trace().attention.heads.weights[head]


# --- the task


def test_the_inputs_describe_the_task():
    of = asked(SEVERAL, [[0, 1], [0, 2]], 1, pattern="painted", rate=0.3, steps=50, begin="own")

    assert (of.head, of.learning_rate, of.n_steps, of.begin_at) == (1, 0.3, 50, "own")
    assert of.is_painted
    assert of.target.tolist() == [[0, 0.5, 0.5, 0], [0] * 4, [0] * 4, [0] * 4]


def test_untouched_they_ask_for_the_previous_token():
    of = asked(CAT)

    np.testing.assert_array_equal(of.target, pattern("previous", np.ones((3, 3), dtype=bool)))
    assert not of.is_painted
    assert (of.learning_rate, of.n_steps) == (pytorch_fit.RATE, pytorch_fit.N_STEPS)
    assert pytorch_fit.RATE in pytorch_fit.RATES
    assert pytorch_fit.N_STEPS in pytorch_fit.STEPS


def test_a_fit_begins_with_drawn_numbers_or_with_those_that_are_there():
    assert pytorch_fit.start(asked(CAT, begin="own")) is CAT
    drawn = pytorch_fit.start(asked(CAT))
    assert not np.array_equal(drawn.W_Q, CAT.W_Q)
    np.testing.assert_array_equal(drawn.W_V, CAT.W_V)


def test_the_job_computes_what_the_core_does_and_tells_every_step(monkeypatch):
    paused = []
    monkeypatch.setattr(pytorch_fit.time, "sleep", paused.append)
    of = asked(CAT, steps=50)
    told = []

    course = pytorch_fit.work(of)(lambda done, shown: told.append((done, shown)))

    assert course.losses == course_of(of, 50).losses
    assert [done for done, _ in told] == [step / 50 for step in range(51)]
    assert told[-1][1].losses == course.losses
    assert len(paused) == 51


def test_a_fit_takes_seconds_however_many_steps_it_has(monkeypatch):
    for n_steps in pytorch_fit.STEPS:
        paused = []
        monkeypatch.setattr(pytorch_fit.time, "sleep", paused.append)
        of = replace(asked(CAT), n_steps=n_steps)
        monkeypatch.setattr(
            "attention_core.neural.fitting.fit",
            lambda *_, n_steps, tell, **__: [tell(0, None) for _ in range(n_steps)],
        )

        pytorch_fit.work(of)(lambda done, shown: None)

        assert 0.5 < sum(paused) < 6
        assert max(paused) < 0.1  # so that it stops within a second


@pytest.mark.parametrize(
    ("change", "is_same"),
    [
        (lambda of, course: of, True),
        (
            lambda of, course: replace(
                of, experiment=pytorch_fit.with_moment(CAT, 0, course.moments[-1])
            ),
            True,
        ),
        (lambda of, course: replace(of, learning_rate=1.0, n_steps=7), True),
        (lambda of, course: replace(of, experiment=CAT.with_cell("X", (0, 0), 9)), False),
        (lambda of, course: replace(of, experiment=CAUSAL), False),
        (lambda of, course: replace(of, experiment=replace(CAT, encoding="alibi")), False),
        (lambda of, course: replace(of, experiment=CAT.resized(d_k=3)), False),
        (lambda of, course: replace(of, experiment=CAT.resized(n_tokens=4)), False),
        (lambda of, course: replace(of, target=np.eye(3)), False),
        (lambda of, course: replace(of, head=1), False),
    ],
)
def test_a_course_belongs_to_its_task_and_to_no_other(change, is_same):
    of = asked(CAT)
    course = course_of(of, 3)

    assert pytorch_fit.is_of(course, change(of, course)) == is_same


def test_matrices_that_are_taken_are_there():
    course = course_of(asked(SEVERAL, head=1), 3)
    moment = course.moments[-1]

    taken = pytorch_fit.with_moment(SEVERAL, 1, moment)

    assert pytorch_fit.has(taken, 1, moment)
    assert not pytorch_fit.has(SEVERAL, 1, moment)
    np.testing.assert_array_equal(taken.W_Q[1], moment.W_Q)
    np.testing.assert_array_equal(taken.W_Q[0], SEVERAL.W_Q[0])


# --- the board and the curve


def test_the_board_shows_the_weights_of_the_core_and_what_is_missing():
    target = asked(SEVERAL, head=1).target

    exhibit = pytorch_fit.fitted(Texts("en"), SEVERAL, 1, target)

    shown = {matrix.id: matrix.values for matrix in exhibit.matrices}
    np.testing.assert_array_equal(shown["target"], target)
    np.testing.assert_array_equal(shown["fitted_weights"], weights_of(SEVERAL, 1))
    np.testing.assert_array_equal(shown["missing"], weights_of(SEVERAL, 1) - target)
    np.testing.assert_array_equal(shown["fitted_W_K"], SEVERAL.W_K[1])


def test_cells_that_the_mask_forbids_are_pointed_out():
    target = pattern("painted", np.ones((3, 3), dtype=bool), [(0, 2), (2, 0)])

    marked, *_ = pytorch_fit.fitted(Texts("en"), CAUSAL, 0, target, is_paintable=True).matrices
    plain, *_ = pytorch_fit.fitted(Texts("en"), CAT, 0, target).matrices

    assert np.argwhere(marked.marked).tolist() == [[0, 2]]
    assert plain.marked is None
    assert (marked.is_paintable, plain.is_paintable) == (True, False)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_curve_holds_every_loss_and_the_bound(theme):
    of = asked(REPEATED)
    course = course_of(of, 12)

    drawn = pytorch_fit.curve(Texts("en"), course, 5, theme)

    losses, bound = drawn["data"]
    assert losses["y"] == list(course.losses)
    assert bound["y"] == [least_loss(REPEATED, 0, of.target)] * 2
    assert drawn["layout"]["xaxis"]["range"] == [0, 12]
    assert drawn["layout"]["shapes"][0]["x0"] == 5
    assert len(pytorch_fit.curve(Texts("en"), course_of(asked(CAT), 2), 0, theme)["data"]) == 1


def test_a_range_is_for_the_axis_that_asks_for_it():
    drawn = charts.figure([charts.Chart("", "", "", [])], "light")

    assert "range" not in drawn["layout"]["xaxis"]


# --- sentences


@every_language
def test_before_the_fit_it_says_how_far_the_weights_are(language):
    t, of = Texts(language), asked(CAT, begin="own")

    said = pytorch_fit.found_before(t, of)

    gap = short(float(np.abs(weights_of(CAT) - of.target).max()))
    loss = short(loss_of(of.target, weights_of(CAT)))
    assert said == [t("pytorch.fit.before", loss=loss, gap=gap), t("pytorch.fit.no_bound")]


def test_the_gap_is_that_of_rows_that_are_asked_for():
    e = Experiment.from_preset("identity")  # looks at itself
    of = asked(e, [[0, 0]], pattern="painted", begin="own")

    (said, _) = pytorch_fit.found_before(Texts("en"), of)

    assert short(float(1 - weights_of(e)[0, 0])) in said


def test_an_infinite_loss_is_written_so():
    far = replace(CAT, W_Q=1e5 * CAT.W_Q, W_K=10 * CAT.W_K)
    of = asked(far, pattern="identity", begin="own")
    assert loss_of(of.target, weights_of(far)) == np.inf

    assert "∞" in pytorch_fit.found_before(Texts("en"), of)[0]


@every_language
def test_what_stands_in_the_way_is_named(language):
    t = Texts(language)

    said = pytorch_fit.found_before(t, asked(REPEATED))

    bound = short(least_loss(REPEATED, 0, asked(REPEATED).target))
    comma = t("narrate.comma")
    assert t("pytorch.fit.twins", tokens=comma.join(["“the \\(1\\)”", "“the \\(4\\)”"])) in said
    assert t("pytorch.fit.twins", tokens=comma.join(["“cat \\(2\\)”", "“cat \\(5\\)”"])) in said
    assert said[-2:] == [t("pytorch.fit.alike"), t("pytorch.fit.bound", bound=bound)]
    assert said.count(t("pytorch.fit.alike")) == 1


def test_a_token_of_zeros_is_named():
    e = CAT.with_block("X", (0, 0), [[0.0, 0.0, 0.0]])
    t = Texts("en")

    said = pytorch_fit.found_before(t, asked(e, pattern="identity"))

    assert t("pytorch.fit.zeros", tokens="“猫”") in said
    assert t("pytorch.fit.alike") not in said


@pytest.mark.parametrize(
    ("e", "settings", "key", "fields"),
    [
        (CAT, {"pattern": "painted"}, "pytorch.fit.nothing", {}),
        (EMPTY, {"pattern": "identity"}, "pytorch.fit.forbidden", {"count": 1}),
        (EMPTY, {"pattern": "first"}, "pytorch.fit.forbidden", {"count": 1}),
    ],
)
def test_what_cannot_begin_is_explained(e, settings, key, fields):
    t = Texts("en")

    reason = pytorch_fit.obstacle(t, asked(e, **settings))

    assert reason == (t(key, **fields) if fields else t(key))
    assert pytorch_fit.found_before(t, asked(e, **settings)) == [reason]
    assert pytorch_fit.obstacle(t, asked(EMPTY, pattern="uniform")) == ""


@every_language
def test_after_the_fit_it_says_how_far_it_came(language):
    t = Texts(language)
    course = course_of(asked(CAT), 5)
    moment = course.moments[3]

    said, *_ = pytorch_fit.found_after(t, course, moment, is_running=True)

    gaps = np.abs(weights_of(course.at(moment)) - course.target)
    row = int(np.unravel_index(gaps.argmax(), gaps.shape)[0])
    token = f"“{CAT.tokens[row]}”"
    assert said == t(
        "pytorch.fit.after",
        step=3,
        first=short(course.losses[0]),
        loss=short(loss_of(course.target, weights_of(course.at(moment)))),
        gap=short(float(gaps.max())),
        token=token,
    )


def test_it_says_whether_the_lowest_loss_is_reached():
    t = Texts("en")
    long, brief = course_of(asked(REPEATED), 400), course_of(asked(REPEATED), 2)

    reached = pytorch_fit.found_after(t, long, long.moments[-1], is_running=False)
    not_yet = pytorch_fit.found_after(t, brief, brief.moments[-1], is_running=False)
    between = pytorch_fit.found_after(t, long, long.moments[3], is_running=False)

    assert reached[-1] == t("pytorch.fit.at_bound")
    assert not_yet[-1] == t("pytorch.fit.above_bound", d_k=2, d_model=3)
    assert between[-1] == t("pytorch.fit.bound", bound=short(0.8317766))


@pytest.mark.parametrize(
    ("encoding", "key", "has_bound"),
    [
        ("none", "pytorch.fit.alike", True),
        ("alibi", "pytorch.fit.alike_alibi", True),
        ("rotary", "pytorch.fit.alike_turned", False),
    ],
)
@every_language
def test_what_positions_leave_of_equal_inputs_is_said(language, encoding, key, has_bound):
    t, e = Texts(language), replace(REPEATED, encoding=encoding)

    first, second, alike, *bound = pytorch_fit.found_before(t, asked(e))[1:]

    comma = t("narrate.comma")
    the, cat = ["“the \\(1\\)”", "“the \\(4\\)”"], ["“cat \\(2\\)”", "“cat \\(5\\)”"]
    assert first == t("pytorch.fit.twins", tokens=comma.join(the))
    assert second == t("pytorch.fit.twins", tokens=comma.join(cat))
    assert alike == t(key)
    assert len(bound) == has_bound


@every_language
def test_the_loss_is_that_of_the_weights_beside_it_however_much_rounding_changes(language):
    t = Texts(language)
    tiny = replace(CAT, X=1e5 * CAT.X, W_Q=4e-5 * CAT.W_Q, W_K=4e-5 * CAT.W_K)
    course = course_of(asked(tiny, begin="own"), 1)
    moment = course.moments[0]
    loss = loss_of(course.target, weights_of(course.at(moment)))
    assert abs(loss - moment.loss) > 0.1

    said, told, *_ = pytorch_fit.found_after(t, course, moment, is_running=False)

    assert short(loss) in said
    assert told == t("pytorch.fit.rounded", loss=short(moment.loss))


def test_a_pattern_that_was_not_found_without_a_bound_is_said_so():
    t = Texts("en")
    one_feature = Experiment.from_preset("random").resized(n_tokens=6, d_model=1, d_k=1)

    course = course_of(asked(one_feature, pattern="identity"), 200)
    said = pytorch_fit.found_after(t, course, course.moments[-1], is_running=False)
    found = course_of(asked(CAT), 300)

    assert course.losses[-1] > 0.5
    assert said[-1] == t("pytorch.fit.unfinished", d_k=1, d_model=1)
    assert pytorch_fit.found_after(t, found, found.moments[-1], is_running=False)[-1] == t(
        "pytorch.fit.no_bound"
    )

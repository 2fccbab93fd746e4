"""Every step of every lesson, in both languages: it opens, and what it says is made of numbers."""

import json

import pytest
from streamlit.testing.v1 import AppTest

from attention_core import Experiment, to_plain
from playground import lesson as lesson_frame
from playground import link
from playground.catalog import LESSONS
from playground.texts import LANGUAGES, Texts
from tests.pages.driver import App

LOCALES = {"en": "en-GB", "zh": "zh-CN"}
STEPS = [(lesson.id, step) for lesson in LESSONS for step in lesson.steps]

# Others show nothing of the experiment.
ON_EXPERIMENT = [
    (lesson.id, step) for lesson in LESSONS for step in lesson.steps if lesson.is_on_experiment
]

every_step = pytest.mark.parametrize(("lesson", "step"), STEPS, ids=map(".".join, STEPS))
every_step_on_the_experiment = pytest.mark.parametrize(
    ("lesson", "step"), ON_EXPERIMENT, ids=map(".".join, ON_EXPERIMENT)
)
every_language = pytest.mark.parametrize("language", LANGUAGES)

SMALLEST = Experiment.from_preset("random").resized(n_tokens=1, d_model=1, d_k=1, n_heads=1)
LARGEST = Experiment.from_preset("random").resized(n_tokens=12, d_model=8, d_k=8, n_heads=8)


def opened(lesson, step, experiment=None, language="en"):
    query = {"e": link.encode(experiment)} if experiment else {}
    app = App(lesson, locale=LOCALES[language], **query)
    return app if step == first_step(lesson) else app.set(f"{lesson}.step", step)


def first_step(lesson):
    return next(each for each in LESSONS if each.id == lesson).steps[0]


@every_language
@every_step
def test_a_step_asks_tells_what_was_measured_and_gives_one_thing_to_try(lesson, step, language):
    app = opened(lesson, step, language=language)

    t = Texts(language)
    said = [element.value for element in app.test.markdown]
    app.assert_calm()
    assert t(f"{lesson}.{step}.ask") in said
    assert t("exhibit.next", what=t(f"{lesson}.{step}.next")) in said
    start = t("exhibit.found", what="")
    assert any(info.value.startswith(start) for info in app.test.info)


@every_step_on_the_experiment
@pytest.mark.parametrize("experiment", [SMALLEST, LARGEST], ids=["smallest", "largest"])
def test_a_step_takes_the_smallest_and_the_largest_experiment(lesson, step, experiment):
    app = opened(lesson, step, experiment)

    app.assert_calm()
    assert to_plain(app.experiment) == to_plain(experiment)


@every_step_on_the_experiment
def test_a_step_takes_every_mask_and_encoding(lesson, step):
    app = opened(lesson, step, Experiment.from_preset("previous_token"))

    app.set("mask", ["causal", "padding", "window"]).set("encoding", "alibi").set("n_padding", 5)

    app.assert_calm()


@every_step
def test_a_step_stays_where_the_learner_was(lesson, step):
    app = opened(lesson, step)

    app.visit("playground").visit(lesson)

    assert Texts("en")(f"{lesson}.{step}.ask") in [each.value for each in app.test.markdown]


@every_step
def test_a_hostile_token_is_shown_letter_by_letter(lesson, step):
    hostile = "<b>$x$ *y* `z` :red[a] [l](http://m) &amp; \\"
    app = opened(lesson, step, Experiment.from_preset("cat").with_token_renamed(0, hostile))

    app.assert_calm()
    assert not any(hostile in text for text in app.markdown())
    charts = [json.loads(chart.proto.spec) for chart in app.test.get("plotly_chart")]
    assert not any("<b>" in json.dumps(chart) for chart in charts)


@every_step
def test_the_link_leads_to_the_step_and_off_the_lesson_to_none(lesson, step):
    app = opened(lesson, step)

    again = App(lesson, s=app.address["query"]["s"])

    assert Texts("en")(f"{lesson}.{step}.ask") in [each.value for each in again.test.markdown]
    assert again.visit("playground").address["query"]["s"] == ""
    assert again.visit("guide").address["query"]["s"] == ""


def test_a_link_to_no_step_leads_to_the_first():
    app = App("multi_head", s="<b>")

    app.assert_calm()
    assert app.address["query"]["s"] == "heads"


# --- the frame of a lesson


def test_an_input_of_a_lesson_runs_the_boards_part_alone(asked):
    app = App("multi_head", e=link.encode(LARGEST))
    asked.clear()

    app.set("multi_head.on.8", [0])

    assert asked == []


def test_an_input_that_moves_another_control_asks_for_nothing_before_the_board_is_painted(asked):
    app = App("masks")
    asked.clear()

    app.set("masks.kinds", ["causal"])

    assert asked == []
    assert app.experiment.mask.kinds == ("causal",)


def test_where_a_step_has_no_board_a_change_draws_all_that_is_stale(asked):
    app = App("multi_head", s="shapes")
    asked.clear()

    app.set("is_scaled", False)

    assert asked == [()]  # there is a step to undo now, and no board that would ask for the toolbar
    assert not app.experiment.is_scaled


def test_an_input_without_a_choice_is_a_text():
    def draw():
        from playground import lesson, session

        session.start()
        lesson.slide("a.b", "Label", 3, 3, default=3)

    test = AppTest.from_function(draw).run()

    assert not test.exception
    assert [each.value for each in test.markdown] == ["Label: 3"]
    assert len(test.slider) == 0


def test_a_choice_that_is_taken_back_before_it_is_drawn_is_taken_back(monkeypatch):
    state, drawn, committed = {"work": {"run": 1, "language": "en"}}, {}, []
    monkeypatch.setattr(lesson_frame.st, "session_state", state)
    monkeypatch.setattr(
        lesson_frame.st, "segmented_control", lambda *_, **given: drawn.update(given)
    )
    lesson_frame.choose_for("a.b", "Label", {"x": "X", "y": "Y"}, "x", committed.append)

    for value in ("y", "y", "x"):  # the second is a late message, which brings nothing new
        state["a.b"] = value
        drawn["on_change"](*drawn["args"])

    assert committed == ["y", "x"]


def test_a_setting_that_no_longer_fits_gives_way_without_being_lost():
    def draw():
        from playground import lesson, parts, session

        session.start()
        parts.begin_page()
        session.set_setting("a.n", 9)
        session.set_setting("a.c", "gone")
        lesson.slide("a.n", "n", 1, 5, default=1)
        lesson.choose("a.c", "c", {"x": "X", "y": "Y"})

    test = AppTest.from_function(draw).run()

    assert not test.exception
    assert test.slider[0].value == 5
    assert test.session_state["work"]["settings"] == {"a.n": 9, "a.c": "gone"}

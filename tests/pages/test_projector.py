"""The layout for a projector: asked for by a link or a switch, kept by the link, left again."""

import pytest

from attention_core import Experiment
from playground.catalog import LESSONS
from tests.pages.driver import App


def has_equations(app):
    return any(r"\underset" in text for text in app.markdown())


@pytest.mark.parametrize("lesson", [lesson.id for lesson in LESSONS if lesson.id != "sentiment"])
def test_a_link_opens_every_page_for_a_projector(lesson):
    app = App(lesson, view="projector")

    app.assert_calm()
    assert app.address["query"]["view"] == "projector"
    assert app.test.toggle(key="projector").value


def test_the_switch_is_in_the_link_and_changes_no_number():
    app = App()
    before = app.address["query"]["e"]

    app.set("projector", True)

    assert app.address["query"] | {"view": ""} == app.address["query"] | {"view": "", "e": before}
    assert app.board["view"] == "projector"
    app.assert_consistent()


def test_the_board_has_the_screen_for_itself():
    app = App(view="projector")
    labels = {expander.label for expander in app.test.expander}

    assert not has_equations(app)
    assert app.t("layers.title") not in labels
    assert {"Undo", "Redo", "Reset"} <= {button.label for button in app.test.button}
    assert has_equations(App())


def test_several_heads_can_be_gone_through():
    app = App(view="projector")
    app.set("n_heads", 2)

    app.set("head", 1)

    app.assert_shows(Experiment.from_preset().resized(n_heads=2), head=1)


def test_a_button_beside_the_heading_leads_back():
    app = App(view="projector")

    app.test.button(key="leave_projector").click()
    app._answer()

    assert app.address["query"]["view"] == ""
    assert not app.test.toggle(key="projector").value
    assert has_equations(app)
    assert "leave_projector" not in {button.key for button in app.test.button}


def test_the_layout_stays_from_page_to_page():
    app = App()
    app.set("projector", True)

    app.visit("masks")

    assert app.board["view"] == "projector"
    assert app.address["query"]["view"] == "projector"

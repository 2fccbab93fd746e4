"""The board at full strength: drag, paste, paint, compare, follow, stack, take away."""

import ast
import re
from urllib.parse import parse_qs, urlsplit

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from attention_core import Experiment
from attention_core.stack import stacked
from playground import layers, link
from playground.texts import Texts
from tests.browser.conftest import Server
from tests.browser.driver import Playground, reads_as


@pytest.fixture
def playground(page: Page, server: Server) -> Playground:
    return Playground(page, server.url).open()


def opened(playground: Playground, experiment: Experiment) -> Playground:
    return playground.open(f"/?lang=en&e={link.encode(experiment)}")


# --- scrub


def test_a_number_follows_the_pointer_and_everything_downstream_with_it(playground: Playground):
    run = playground.page.locator("html").get_attribute("data-run")
    playground.drag("X", 1, 0, 60)

    expect(playground.input("X", 1, 0)).to_have_value("2")
    expect(playground.cell("Q", 1, 0)).to_have_text("2.0")
    playground.page.mouse.up()
    playground.settle()

    assert playground.experiment().X[1, 0] == 2
    assert playground.page.locator("html").get_attribute("data-run") != run
    playground.assert_consistent()


def test_a_drag_is_one_step_of_undo(playground: Playground):
    playground.drag("W_K", 0, 1, -100)
    playground.page.mouse.up()
    playground.settle()
    assert playground.experiment().W_K[0, 0, 1] == pytest.approx(-0.6)

    playground.press("Undo")

    playground.assert_shows(Experiment.from_preset())


def test_a_drag_shows_the_preview_before_python_answers(playground: Playground):
    """What is seen then is what the core gives for the dragged number."""
    playground.page.context.set_offline(True)  # Python cannot answer
    try:
        playground.drag("X", 2, 1, 42)
        expect(playground.input("X", 2, 1)).to_have_value("1.7")
        expect(playground.page.locator(".board")).not_to_have_attribute("data-pending", "0")
        expect(playground.page.locator(".board")).to_have_attribute("data-calm", "true")

        playground.assert_shows(Experiment.from_preset().with_cell("X", (2, 1), 1.7))
    finally:
        playground.page.context.set_offline(False)
    playground.page.mouse.up()


def test_shift_makes_the_steps_fine(playground: Playground):
    playground.page.keyboard.down("Shift")
    playground.drag("X", 0, 0, 30)
    playground.page.keyboard.up("Shift")
    playground.page.mouse.up()
    playground.settle()

    assert playground.experiment().X[0, 0] == 1.05


def test_escape_takes_a_drag_back(playground: Playground):
    playground.drag("X", 0, 0, 60)
    playground.page.keyboard.press("Escape")
    playground.page.mouse.up()
    playground.settle()

    playground.assert_shows(Experiment.from_preset())


def drag_and_type(playground: Playground, across: int, digit: str) -> None:
    """Pull the first number of X, let it go, and type at once."""
    playground.drag("X", 0, 0, across)
    playground.page.mouse.up()
    playground.page.keyboard.type(digit)
    playground.page.keyboard.press("Enter")
    playground.settle()


def test_a_click_is_no_drag(playground: Playground):
    before = playground.page.url
    drag_and_type(playground, 3, "4")

    assert playground.experiment().X[0, 0] == 4
    assert playground.page.url != before


def test_a_drag_of_another_cell_takes_its_own_number(playground: Playground):
    playground.type("X", 0, 0, "0.4")
    playground.type("X", 0, 1, "0.4")
    for column in (0, 1):
        playground.drag("X", 0, column, 8)
        playground.page.mouse.up()
    playground.settle()

    assert playground.experiment().X[0].tolist() == [0.5, 0.5]


def test_a_digit_after_a_drag_types_over(playground: Playground):
    drag_and_type(playground, 14, "7")

    assert playground.experiment().X[0, 0] == 7


def test_what_is_out_of_view_during_a_drag_is_right_after_it(playground: Playground):
    playground.page.set_viewport_size({"width": 1280, "height": 420})
    playground.page.get_by_role("button", name="Hold this version").click()
    playground.drag("X", 0, 0, 7)
    playground.page.mouse.move(640, 300)
    playground.page.mouse.up()
    playground.settle()
    playground.input("X", 0, 0).focus()
    playground.page.keyboard.press("-")

    playground.assert_consistent()


# --- paste and copy


BLOCKS = [
    "1.5\t2\n-3\t0.25",
    "1,5\t2\n-3\t0,25\r\n",
    "1.5,2\n-3,0.25\n",
    "1,5;2\n-3;0,25",
    "[[1.5, 2], [-3, 0.25]]",
    "np.array([[1.5, 2.], [-3., 0.25]])",
    "tensor([[ 1.5000,  2.0000],\n        [-3.0000,  0.2500]])",
    "[[ 1.5   2.  ]\n [-3.    0.25]]",
]


def test_a_block_is_pasted_from_the_chosen_cell_on_as_one_step(playground: Playground):
    for text in BLOCKS:
        playground.paste("X", 1, 0, text)
        playground.settle()

        assert playground.experiment().X.tolist() == [[1, 0], [1.5, 2], [-3, 0.25]], text
        playground.assert_consistent()
        playground.press("Undo")
        playground.assert_shows(Experiment.from_preset())


MISFITS = [
    ("1\t2\t3", "2"),
    ("1\t2\n3\t4\n5\t6", "3 × 2"),
    ("1\tx\n2\t3", "x"),
    ("1\t2\n3", "row 1 has 2, row 2 has 1"),
    ("[[1, 2], [3, nan]]", "nan"),
]


def test_a_block_that_does_not_fit_changes_nothing_and_says_why(playground: Playground):
    before = playground.page.url

    for text, reason in MISFITS:
        playground.paste("X", 1, 0, text)

        expect(playground.page.locator(".message")).to_contain_text(reason)
        expect(playground.page.locator(".message")).to_contain_text("Nothing was changed")
        assert playground.page.url == before, text
        playground.assert_shows(Experiment.from_preset())
        playground.close_message()


def test_one_number_is_pasted_into_the_text_of_its_cell(playground: Playground):
    playground.paste("X", 1, 0, "0,5")
    playground.page.keyboard.press("Enter")
    playground.settle()

    assert playground.experiment().X[1, 0] == 0.5


def test_a_copied_matrix_is_the_one_that_was_computed(playground: Playground):
    heads = Experiment.from_preset().trace().attention.heads

    for kind, name, separator in (
        ("For a spreadsheet", "weights", "\t"),
        ("As CSV", "scores", ","),
        ("As NumPy", "values", ""),
    ):
        playground.page.get_by_role("button", name=f"Copy {name}", exact=True).click()
        playground.page.get_by_role("menuitem", name=kind).click()
        expect(playground.page.locator(".message")).to_contain_text(f"Copied {name}, 3 ×")
        text = playground.copied()

        if separator:
            rows = [[float(cell) for cell in line.split(separator)] for line in text.splitlines()]
        else:
            rows = ast.literal_eval(re.search(r"\[\[.*\]\]", text, re.DOTALL)[0])
        computed = {"weights": heads.weights, "scores": heads.scores, "values": heads.V}[name]
        np.testing.assert_array_equal(rows, computed[0])


def test_copies_are_made_by_keyboard_alone_and_come_back_by_paste(playground: Playground):
    playground.matrix("V").get_by_role("button", name="Copy values").focus()
    playground.page.keyboard.press("Enter")
    playground.page.keyboard.press("ArrowDown")
    playground.page.keyboard.press("ArrowDown")
    playground.page.keyboard.press("Enter")
    expect(playground.page.locator(".message")).to_contain_text("Copied values")
    assert "np.array" in playground.copied()
    expect(playground.matrix("V").get_by_role("button", name="Copy values")).to_be_focused()

    playground.paste("X", 0, 0, playground.copied())
    playground.settle()

    V = Experiment.from_preset().trace().attention.heads.V[0]
    np.testing.assert_array_equal(playground.experiment().X, V)


# --- paint


def test_a_click_on_the_mask_forbids_and_allows(playground: Playground):
    playground.click("Causal")
    playground.cell("mask", 2, 0).click()
    playground.settle()
    playground.cell("mask", 0, 1).click()
    playground.settle()

    assert playground.experiment().mask.allowed(3).tolist() == [
        [True, True, False],
        [True, True, False],
        [False, True, True],
    ]
    playground.assert_consistent()
    playground.cell("mask", 0, 1).hover()
    expect(playground.page.locator(".explanation")).to_contain_text("allowed by hand")
    playground.cell("masked_scores", 2, 0).hover()
    expect(playground.page.locator(".explanation")).to_contain_text("forbidden by hand")
    playground.press("Undo")
    playground.press("Undo")
    assert playground.experiment().mask.kinds == ("causal",)


def test_a_drag_over_the_mask_empties_a_row_and_says_what_that_means(playground: Playground):
    playground.click("By hand")
    mouse = playground.page.mouse
    playground.matrix("mask").scroll_into_view_if_needed()
    boxes = [playground.cell("mask", 1, column).bounding_box() for column in range(3)]
    mouse.move(boxes[0]["x"] + 9, boxes[0]["y"] + 9)
    mouse.down()
    for box in boxes[1:]:
        mouse.move(box["x"] + 9, box["y"] + 9, steps=3)
    mouse.up()

    note = playground.page.locator(".message")
    expect(note).to_contain_text("“喜欢” may attend to nobody now")
    expect(note).to_contain_text("NaN")
    playground.settle()
    assert playground.text("weights", 1, 0) == "0"
    assert playground.experiment().mask.allowed(3)[1].tolist() == [False] * 3
    playground.assert_consistent()
    playground.press("Undo")  # the whole drag is one step
    assert playground.experiment().mask.allowed(3).all()


def test_the_mask_is_painted_by_keyboard(playground: Playground):
    playground.click("By hand")
    playground.cell("mask", 0, 0).focus()
    playground.page.keyboard.press("ArrowRight")
    playground.page.keyboard.press("Enter")
    playground.settle()

    assert playground.experiment().mask.allowed(3)[0].tolist() == [True, False, True]
    playground.assert_consistent()


def test_escape_takes_what_is_being_painted_back(playground: Playground):
    playground.click("By hand")
    playground.cell("mask", 0, 0).hover()
    playground.page.mouse.down()
    playground.cell("mask", 0, 1).hover()
    playground.page.keyboard.press("Escape")
    playground.page.mouse.up()
    playground.settle()

    assert playground.experiment().mask.allowed(3).all()
    playground.assert_consistent()


# --- what happens while Python is slow


def test_a_number_in_typing_outlives_a_board_that_is_built_anew(playground: Playground):
    """A token is added, which builds the board anew, while a number is being typed."""
    playground.matrix("X").locator(".add").focus()
    run = playground.page.locator("html").get_attribute("data-run")
    playground.page.keyboard.press("Enter")
    playground.input("W_V", 0, 0).focus()
    playground.page.keyboard.type("7")
    expect(playground.page.locator("html")).not_to_have_attribute("data-run", run)
    playground.page.keyboard.type("7")
    playground.page.keyboard.press("Enter")
    playground.settle()

    assert playground.experiment().n_tokens == 4
    assert playground.experiment().W_V[0, 0, 0] == 77
    playground.assert_consistent()


def test_the_copied_link_holds_what_was_just_typed(playground: Playground):
    playground.input("X", 0, 0).click()
    playground.page.keyboard.type("3.25")
    playground.page.get_by_role("button", name="Copy link").click()
    expect(playground.page.locator(".message")).to_have_text("The link is copied.")

    copied = parse_qs(urlsplit(playground.copied()).query)["e"][0]
    assert link.decode(copied).X[0, 0] == 3.25


def test_a_notice_goes_with_the_next_good_edit(playground: Playground):
    playground.type("X", 0, 0, "2")
    token = playground.matrix("X").locator("input.token").nth(1)
    token.click()
    token.fill("x" * 201)
    playground.page.keyboard.press("Enter")
    notice = playground.page.get_by_text("Nothing was changed")
    expect(notice).to_be_visible()
    playground.type("X", 0, 0, "3")

    expect(notice).to_have_count(0)
    assert playground.experiment().X[0, 0] == 3


# --- difference


def test_a_cell_that_moved_tells_its_old_number(playground: Playground):
    playground.type("W_V", 0, 0, "3")

    moved = playground.cell("output", 1, 0)
    moved.hover()

    before = Experiment.from_preset().trace().attention.output[1, 0]
    was = re.search(r"was (\S+)\)", moved.get_attribute("title"))[1]
    assert reads_as(was, before)
    expect(playground.page.locator(".explanation")).to_contain_text(f"(was {was})")
    expect(moved).to_have_attribute("aria-label", re.compile(rf", was {re.escape(was)}$"))
    expect(playground.page.locator(".moved-count")).to_have_text("◥ 7 moved with the last change")


def test_a_held_version_is_compared_with_until_it_is_let_go(playground: Playground):
    playground.page.get_by_role("button", name="Hold this version").click()
    expect(playground.page.locator(".moved-count")).to_have_text("Held: nothing differs yet")
    playground.type("W_V", 0, 0, "3")
    playground.type("W_V", 0, 1, "2")
    count = playground.page.locator(".moved-count")
    expect(count).to_have_text("◥ 14 differ from the held version")
    playground.visit("Guide", "What does each")
    playground.visit("Playground", "Change a number")
    expect(count).to_have_text("◥ 14 differ from the held version")
    playground.cell("W_V", 0, 0).hover()
    expect(playground.cell("W_V", 0, 0)).to_have_attribute("title", "(was 1)")

    playground.page.get_by_role("button", name="Let go of the held version").click()

    expect(count).to_have_text("◥ 7 moved with the last change")


def test_undo_marks_what_it_brought_back(playground: Playground):
    playground.type("W_V", 0, 0, "3")
    playground.press("Undo")

    expect(playground.page.locator(".moved-count")).to_have_text("◥ 7 moved with the last change")
    playground.cell("W_V", 0, 0).hover()
    expect(playground.cell("W_V", 0, 0)).to_have_attribute("title", "(was 3)")


# --- follow, and the softmax opened up


def test_a_token_is_followed_from_x_to_the_output(playground: Playground):
    playground.page.get_by_role("button", name="Follow “苹果” from X to the output").click()

    rows = playground.page.locator("tr.followed")
    ids = rows.evaluate_all("rows => rows.map((r) => r.closest('[data-matrix]').dataset.matrix)")
    assert ids == ["X", "Q", "K", "V", "scores", "scaled_scores", "weights", "output"]
    assert rows.evaluate_all("rows => rows.map((r) => r.rowIndex)") == [3] * len(ids)
    expect(playground.matrix("softmax").locator(".name")).to_have_text(
        "softmax of “苹果”, step by step"
    )
    expect(playground.page.locator(".seen li.followed")).to_contain_text("“苹果” looks")
    playground.visit("Guide", "What does each")
    playground.visit("Playground", "Change a number")
    expect(rows).to_have_count(len(ids))
    playground.page.get_by_role("button", name="Follow “苹果” from X to the output").press("Enter")
    expect(rows).to_have_count(0)


def test_the_softmax_of_the_pinned_row_is_opened_up(playground: Playground):
    for row in range(3):
        playground.cell("weights", row, 0).click()
        expect(playground.matrix("softmax")).to_have_attribute("data-opened", str(row))
        playground.assert_shows(Experiment.from_preset())
    playground.cell("softmax", 1, 0).hover()
    expect(playground.page.locator(".explanation")).to_contain_text("≈ 0.7778 − 1.5556")
    playground.cell("softmax", 3, 1).hover()
    expect(playground.page.locator(".explanation")).to_contain_text("≈ 1 / 1.956")


# --- stack


def test_the_output_becomes_the_next_x_and_undo_goes_back(playground: Playground):
    start = Experiment.from_preset()
    playground.unfold(layers.SECTION_KEY)
    with playground.one_run():
        playground.page.get_by_role("button", name="X + O becomes X").click()
    second = stacked(start, is_residual=True)
    expect(playground.page.get_by_text(re.compile("Layer 2"))).to_be_visible()
    playground.assert_shows(second)

    playground.press("Undo")

    playground.assert_shows(start)


# --- what outlives a change that did not begin on the board


def test_a_followed_token_is_found_again_when_another_goes(playground: Playground):
    opened(playground, Experiment.from_preset("cat"))
    chips = playground.page.locator(".chip")
    chips.nth(2).click()
    followed = chips.nth(2).inner_text()

    playground.matrix("X").locator(".remove").first.click()
    playground.settle()

    expect(chips).to_have_count(2)
    pressed = playground.page.locator(".chip[aria-pressed=true]")
    expect(pressed).to_have_text([followed])


def test_a_followed_token_that_goes_is_followed_no_more(playground: Playground):
    opened(playground, Experiment.from_preset("cat"))
    playground.page.locator(".chip").nth(1).click()

    playground.matrix("X").locator(".remove").nth(1).click()
    playground.settle()

    expect(playground.page.locator(".chip[aria-pressed=true]")).to_have_count(0)


def test_a_held_version_of_another_size_is_said_to_be_one(playground: Playground):
    t = Texts("en")
    playground.page.get_by_role("button", name=t("board.hold")).click()

    playground.slide(t("control.d_k"), "ArrowRight")

    # W_Q, W_K, W_V, Q, K and V are wider, and with them the output.
    said = t("board.held_other_sizes", count=7)
    expect(playground.page.locator(".moved-count")).to_contain_text(said)


def test_a_drag_ends_where_its_numbers_are_replaced(playground: Playground):
    playground.type("X", 0, 0, "0.5")
    playground.drag("X", 0, 0, 30)
    playground.settle()

    undo = playground.page.get_by_role("button", name="Undo", exact=True)
    with playground.one_run():
        undo.evaluate("(button) => button.click()")  # the pointer is still down on the number
    before = playground.experiment()
    playground.page.mouse.move(0, 0, steps=5)
    playground.page.mouse.up()

    playground.assert_consistent()
    assert np.array_equal(playground.experiment().X, before.X)


def test_what_stands_beside_the_board_is_left_alone_by_an_edit(playground: Playground):
    """And follows where it must: the sidebar at the first edit, the equations at a new size."""
    playground.type("X", 0, 0, "0.5")
    playground.page.evaluate(_NOTE_CHANGES)

    playground.type("X", 0, 1, "0.25")

    assert playground.page.evaluate("window.changed") == 0
    playground.slide("Width per head d_k", "ArrowRight")
    expect(playground.page.locator(".katex").first).to_contain_text("3")


# Counts what changes in the sidebar and in the equations.
_NOTE_CHANGES = """() => {
  window.changed = 0;
  const observer = new MutationObserver((changes) => { window.changed += changes.length; });
  const kinds = { subtree: true, childList: true, characterData: true };
  for (const part of ["[data-testid=stSidebar]", ".katex"]) {
    observer.observe(document.querySelector(part), kinds);
  }
}"""


# --- sentence


def test_a_sentence_becomes_tokens_the_same_for_everyone(playground: Playground):
    with playground.one_run():
        playground.page.get_by_text("Tokens from a sentence").click()
    field = playground.page.get_by_role("textbox", name="Sentence")
    field.fill("the cat saw the dog")
    with playground.one_run():
        field.press("Enter")

    experiment = playground.experiment()
    assert experiment.tokens == ("the", "cat", "saw", "the", "dog")
    np.testing.assert_array_equal(experiment.X[0], experiment.X[3])
    playground.assert_consistent()


# --- take away


def test_the_link_is_copied_with_one_press(playground: Playground):
    playground.type("X", 0, 0, "0.25")
    playground.page.get_by_role("button", name="Copy link").click()

    expect(playground.page.locator(".message")).to_have_text("The link is copied.")
    assert playground.copied() == playground.page.url
    copied = urlsplit(playground.copied())
    assert "e=" in copied.query


def test_the_board_is_saved_as_a_picture(playground: Playground):
    for kind, begins in (("svg", b"<svg"), ("png", b"\x89PNG")):
        playground.page.get_by_role("button", name="Picture").click()
        with playground.page.expect_download() as download:
            playground.page.get_by_role("menuitem", name=re.compile(kind.upper())).click()

        content = download.value.path().read_bytes()
        assert download.value.suggested_filename == f"attention.{kind}"
        assert content.startswith(begins)
        assert b"2.828" in content or kind == "png"


# --- reachable


def test_a_title_tells_how_its_matrix_is_computed_and_its_shape(playground: Playground):
    playground.matrix("Q").locator(".title").focus()

    explanation = playground.page.locator(".explanation")
    expect(explanation).to_contain_text("queries: What each token is looking for.")
    expect(explanation).to_contain_text("Q = X W_Q. 3 × 2: 3 rows, 2 columns")

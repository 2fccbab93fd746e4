"""The Playground in a real browser: what a person types is what the core computes."""

from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Page, expect

from attention_core import Experiment, to_plain
from tests.browser.conftest import Server
from tests.browser.driver import Playground


@pytest.fixture
def playground(page: Page, server: Server) -> Playground:
    return Playground(page, server.url).open()


def test_the_first_page_shows_what_the_core_computes(playground: Playground):
    playground.assert_shows(Experiment.from_preset())
    playground.assert_consistent()


TAKEN = [
    (".05", "0.05", 0.05),
    ("-.5", "−0.5", -0.5),
    ("1e-3", "0.001", 0.001),
    ("-1e3", "−1000", -1000.0),
    ("1/3", "0.3333", 1 / 3),
    ("2,5", "2.5", 2.5),
    ("-2,5", "−2.5", -2.5),
    ("−2", "−2", -2.0),
    ("２．５", "2.5", 2.5),
    ("+4", "4", 4.0),
    ("-1/4", "−0.25", -0.25),
]


def test_a_number_as_people_write_it_is_taken(playground: Playground):
    for typed, shown, value in TAKEN:
        playground.type("X", 0, 1, typed)

        assert playground.text("X", 0, 1) == shown, typed
        assert playground.experiment().X[0, 1] == value, typed
        playground.assert_consistent()


REFUSED = [
    ("abc", "is not a number"),
    ("1e400", "Numbers here go from −1,000,000 to 1,000,000"),
    ("2000000", "Numbers here go from"),
    ("1/0", "Division by 0"),
    ("1,000", "could be a thousand"),
    ("1/2/3", "is not a number"),
    (" ", "A cell needs a number"),
]


def test_bad_input_is_refused_at_the_cell_and_the_old_number_stays(playground: Playground):
    before = playground.page.url
    message = playground.page.locator(".message")

    for typed, reason in REFUSED:
        playground.type("X", 2, 0, typed)

        expect(message).to_contain_text(reason)
        expect(message).to_contain_text("Kept 0.1")
        assert playground.text("X", 2, 0) == "0.1", typed
        assert playground.page.url == before, typed
        playground.close_message()


def test_an_emptied_cell_is_refused(playground: Playground):
    playground.input("X", 2, 0).click()
    playground.page.keyboard.press("Backspace")
    playground.page.keyboard.press("Tab")

    expect(playground.page.locator(".message")).to_contain_text("A cell needs a number")
    assert playground.text("X", 2, 0) == "0.1"


def test_escape_gives_up_what_was_typed(playground: Playground):
    playground.input("X", 2, 0).click()
    playground.page.keyboard.type("77")
    playground.page.keyboard.press("Escape")
    playground.page.keyboard.press("Tab")

    playground.assert_shows(Experiment.from_preset())


def test_looking_at_a_rounded_number_does_not_round_it(playground: Playground):
    playground.type("X", 0, 0, "1/3")

    playground.input("X", 0, 0).click()
    playground.page.keyboard.press("F2")
    playground.page.keyboard.press("Enter")
    playground.settle()

    assert playground.experiment().X[0, 0] == 1 / 3


def test_plus_and_minus_nudge_by_a_tenth_and_undo_as_one_step(playground: Playground):
    playground.input("X", 2, 0).click()
    for _ in range(5):
        playground.page.keyboard.press("+")
    playground.page.keyboard.press("-")
    playground.settle()

    assert playground.experiment().X[2, 0] == 0.5
    playground.assert_consistent()
    playground.press("Undo")
    playground.assert_shows(Experiment.from_preset())


def test_a_minus_before_a_digit_is_a_sign_and_not_a_nudge(playground: Playground):
    playground.type("X", 2, 0, "-.25")

    assert playground.experiment().X[2, 0] == -0.25
    playground.press("Undo")
    playground.assert_shows(Experiment.from_preset())


def test_bad_input_after_a_minus_keeps_the_old_number_too(playground: Playground):
    for typed in ("-x", "-2x", "-1e400"):
        playground.type("X", 2, 0, typed)

        expect(playground.page.locator(".message")).to_contain_text("Kept 0.1")
        playground.assert_shows(Experiment.from_preset())
        assert playground.experiment().X[2, 0] == 0.1, typed
        playground.close_message()


def test_what_is_typed_is_kept_when_a_control_is_touched_instead_of_enter(playground: Playground):
    playground.input("X", 0, 0).click()
    playground.page.keyboard.type("7")
    playground.click("Divide scores by √d_k")

    # Two runs, of which the first may be over before the second has begun.
    expect(playground.matrix("scaled_scores")).to_have_count(0)
    playground.settle()
    assert playground.experiment().X[0, 0] == 7
    playground.assert_consistent()


def test_undo_takes_back_what_was_typed_last_even_without_enter(playground: Playground):
    playground.type("X", 0, 0, "3")
    playground.input("X", 0, 0).click()
    playground.page.keyboard.type("7")
    playground.press("Undo")
    expect(playground.input("X", 0, 0)).to_have_value("3")

    assert playground.experiment().X[0, 0] == 3
    playground.assert_consistent()


def test_a_page_change_keeps_what_was_just_typed(playground: Playground):
    playground.input("X", 0, 0).click()
    playground.page.keyboard.type("7")
    playground.page.get_by_role("link", name="Guide").click(delay=150)  # as long as a press takes
    expect(playground.page.get_by_role("heading", level=1)).to_contain_text("What does each")
    playground.visit("Playground", "Change a number")

    assert playground.experiment().X[0, 0] == 7
    assert playground.experiment().preset == "apple"
    playground.assert_consistent()


def test_a_matrix_may_go_while_its_title_is_pointed_at(playground: Playground):
    playground.click("Causal")
    playground.matrix("masked_scores").locator(".title").hover()
    expect(playground.page.locator(".explanation")).to_contain_text("masked scores: M adds 0")
    pill = playground.page.get_by_role("button", name="Causal")
    pill.focus()
    with playground.one_run():
        playground.page.keyboard.press("Enter")

    playground.assert_consistent()


def test_the_focus_stays_on_the_board_when_tokens_come_and_go(playground: Playground):
    add = playground.matrix("X").locator(".add")
    add.focus()
    for _ in range(2):
        with playground.one_run():
            playground.page.keyboard.press("Enter")
    expect(add).to_be_focused()
    remove = playground.page.get_by_role("button", name="Remove the token t5")
    remove.focus()
    with playground.one_run():
        playground.page.keyboard.press("Enter")

    expect(playground.page.get_by_role("button", name="Remove the token t4")).to_be_focused()
    playground.assert_consistent()


def test_the_numbers_that_moved_are_marked_and_no_others(playground: Playground):
    playground.type("W_V", 0, 0, "3")

    assert playground.matrix("V").locator(".moved").count() == 3
    assert playground.matrix("output").locator(".moved").count() == 3
    assert playground.matrix("weights").locator(".moved").count() == 0
    assert playground.matrix("scores").locator(".moved").count() == 0


def test_an_edit_of_each_editable_matrix_reaches_the_core(playground: Playground):
    playground.click("Output projection W_O")
    playground.slide("Heads", "ArrowRight")
    playground.click("Head 2")

    for index, matrix in enumerate(("X", "W_Q", "W_K", "W_V", "W_O")):
        playground.type(matrix, 1, 1, str(index + 3))

    experiment = playground.experiment()
    assert experiment.X[1, 1] == 3
    assert [experiment.W_Q[1, 1, 1], experiment.W_K[1, 1, 1], experiment.W_V[1, 1, 1]] == [4, 5, 6]
    assert experiment.W_O[1, 1] == 7
    assert experiment.W_Q[0, 1, 1] == 1
    playground.assert_consistent(head=1)


def test_a_preset_after_an_edit_is_exactly_the_preset(playground: Playground):
    playground.type("X", 0, 0, "9")

    playground.choose("Start from", "猫 追 老鼠, who listens to whom")

    playground.assert_shows(Experiment.from_preset("cat"))


def test_a_resize_and_back_keeps_every_number(playground: Playground):
    playground.type("W_Q", 1, 1, "0.7")
    before = playground.page.url

    playground.slide("Width per head d_k", "ArrowLeft")
    playground.assert_consistent()
    playground.slide("Width per head d_k", "ArrowRight", times=3)
    playground.assert_consistent()
    playground.slide("Width per head d_k", "ArrowLeft", times=2)

    assert playground.page.url == before
    playground.assert_consistent()


def test_undo_and_redo_walk_through_the_changes(playground: Playground):
    start = playground.page.url
    playground.type("X", 0, 0, "2")
    playground.type("W_V", 0, 0, "3")
    end = playground.page.url

    playground.press("Undo")
    playground.press("Undo")
    assert playground.page.url == start
    playground.assert_shows(Experiment.from_preset())
    playground.press("Redo")
    playground.press("Redo")

    assert playground.page.url == end
    playground.assert_consistent()


def test_reset_gives_the_preset_and_can_be_undone(playground: Playground):
    playground.type("X", 0, 0, "2")
    edited = playground.page.url

    playground.press("Reset")
    playground.assert_shows(Experiment.from_preset())
    playground.press("Undo")

    assert playground.page.url == edited


def test_ten_rapid_edits_are_all_kept(playground: Playground):
    places = [("X", r, c) for r in range(3) for c in range(2)]
    places += [("W_Q", r, c) for r in range(2) for c in range(2)]
    for index, (matrix, row, column) in enumerate(places):
        playground.input(matrix, row, column).click()
        playground.page.keyboard.type(f"{index + 2}")
        playground.page.keyboard.press("Enter")
    playground.settle()

    experiment = playground.experiment()
    assert experiment.X.ravel().tolist() == [2, 3, 4, 5, 6, 7]
    assert experiment.W_Q.ravel().tolist() == [8, 9, 10, 11]
    playground.assert_consistent()


def test_an_edit_by_keyboard_alone(playground: Playground):
    page = playground.page
    for _ in range(60):
        page.keyboard.press("Tab")
        focus = page.evaluate(_FOCUSED_LABEL)
        if focus and focus.startswith("token vectors of 我, column 1"):
            break
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowRight")
    page.keyboard.type("0.5")
    page.keyboard.press("Tab")
    assert page.evaluate(_FOCUSED_LABEL).startswith("token vectors of 苹果, column 1")
    page.keyboard.type("0,25")
    page.keyboard.press("Enter")
    playground.settle()

    experiment = playground.experiment()
    assert experiment.X.tolist() == [[1, 0], [1, 0.5], [0.25, 1]]
    playground.assert_consistent()


def test_pointing_at_a_weight_lights_its_row_and_writes_the_arithmetic(playground: Playground):
    playground.cell("weights", 1, 2).hover()

    lit = playground.matrix("scaled_scores").locator(".first, .second")
    assert lit.evaluate_all("cells => cells.map((c) => c.dataset.row)") == ["1", "1", "1"]
    explanation = playground.page.locator(".explanation")
    expect(explanation).to_contain_text("weights from 喜欢 to 苹果")
    expect(explanation).to_contain_text("0.1839 ≈ e1.5556 / (e1.4142 + e2.8284 + e1.5556)")


def test_a_pin_outlives_pointing_edits_and_page_changes_until_escape(playground: Playground):
    playground.cell("Q", 2, 0).click()
    playground.page.mouse.move(5, 5)
    explanation = playground.page.locator(".explanation")
    expect(explanation).to_contain_text("0.1 = 0.1·1 + 1·0")

    playground.type("X", 2, 0, "0.4")
    expect(explanation).to_contain_text("0.4 = 0.4·1 + 1·0")
    playground.visit("Guide", "What does each")
    playground.visit("Playground", "Change a number")
    expect(explanation).to_contain_text("0.4 = 0.4·1 + 1·0")

    playground.cell("K", 0, 0).focus()
    playground.page.keyboard.press("Escape")
    playground.page.mouse.move(5, 5)
    playground.input("X", 0, 0).blur()
    expect(playground.page.locator(".pinned")).to_have_count(0)


def test_tokens_are_renamed_added_and_removed_on_the_board(playground: Playground):
    token = playground.matrix("X").locator("input.token").nth(1)
    token.click()
    playground.page.keyboard.type("<b>$x$ *讨厌*")
    playground.page.keyboard.press("Enter")
    playground.settle()
    with playground.one_run():
        playground.matrix("X").locator(".add").click()
    expect(playground.matrix("X").locator("tbody tr")).to_have_count(4)
    playground.press("Remove the token 我")

    assert playground.experiment().tokens == ("<b>$x$ *讨厌*", "苹果", "t4")
    label = playground.matrix("weights").locator("tbody th").first
    expect(label).to_have_text("<b>$x$ *讨厌*")
    playground.assert_consistent()


def test_a_token_without_text_is_refused(playground: Playground):
    token = playground.matrix("X").locator("input.token").nth(1)
    token.click()
    playground.page.keyboard.press("Backspace")
    playground.page.keyboard.press("Enter")

    expect(playground.page.locator(".message")).to_contain_text("A token needs a text")
    expect(token).to_have_value("喜欢")


def test_language_and_page_changes_keep_everything(playground: Playground):
    playground.type("X", 0, 0, "0.3")
    playground.slide("Heads", "ArrowRight")
    playground.click("Causal")
    before = playground.experiment()

    playground.click("中文")
    expect(playground.page.get_by_role("heading", level=1)).to_contain_text("改一个数字")
    playground.settle()
    assert playground.page.evaluate("document.documentElement.lang") == "zh-CN"
    assert to_plain(playground.experiment()) == to_plain(before)
    playground.visit("指南", "每个符号")
    assert to_plain(playground.experiment()) == to_plain(before)
    playground.visit("实验台", "改一个数字")

    playground.assert_consistent()
    assert to_plain(playground.experiment()) == to_plain(before)


def test_back_returns_to_the_page_before_and_keeps_the_work(playground: Playground):
    playground.visit("Guide", "What does each")
    playground.visit("Playground", "Change a number")
    playground.type("X", 0, 0, "0.3")
    playground.type("X", 0, 0, "0.4")

    with playground.one_run():
        playground.page.go_back()
    expect(playground.page.get_by_role("heading", level=1)).to_contain_text("What does each")
    with playground.one_run():
        playground.page.go_forward()
    expect(playground.page.get_by_role("heading", level=1)).to_contain_text("Change a number")

    assert playground.experiment().X[0, 0] == 0.4
    playground.assert_consistent()


def test_a_reload_keeps_the_work(playground: Playground):
    playground.type("W_K", 0, 1, "1/3")

    playground.page.reload()
    playground.settle()

    assert playground.experiment().W_K[0, 0, 1] == 1 / 3
    playground.assert_consistent()


def test_the_link_shows_the_same_numbers_in_a_fresh_browser(playground: Playground, browser):
    playground.type("X", 1, 0, "-0.75")
    playground.choose("Positional encoding", "Rotary (turns Q and K)")
    playground.click("Window")
    address = urlsplit(playground.page.url)

    with browser.new_context(locale="zh-CN") as context:
        other = Playground(context.new_page(), playground.url)
        other.open(f"{address.path}?{address.query}")

        assert to_plain(other.experiment()) == to_plain(playground.experiment())
        other.assert_consistent()
        expect(other.page.get_by_role("heading", level=1)).to_contain_text("Change a number")


def test_a_damaged_link_gives_a_message_and_the_default(page: Page, server: Server):
    playground = Playground(page, server.url).open("/?e=1bPNHc3jaq1YqSy0qzsz")

    expect(page.get_by_text("This link is damaged")).to_be_visible()
    playground.assert_shows(Experiment.from_preset())


def test_new_random_numbers_show_their_seed(playground: Playground):
    playground.press("New random numbers")

    expect(playground.page.get_by_role("spinbutton", name="Seed")).to_have_value("1")
    assert playground.experiment().preset == "random"
    assert playground.experiment().tokens == ("我", "喜欢", "苹果")
    playground.assert_consistent()


@pytest.mark.parametrize(
    "encoding",
    ["Sinusoidal (added to X)", "Rotary (turns Q and K)", "ALiBi (lowers far scores)"],
)
def test_every_step_shows_for_masks_and_encodings(playground: Playground, encoding: str):
    playground.slide("Heads", "ArrowRight")
    playground.choose("Positional encoding", encoding)
    playground.assert_consistent()
    for mask in ("Causal", "Padding", "Window"):
        playground.click(mask)
    playground.assert_consistent()

    masked = playground.cell("masked_scores", 0, 2)
    expect(masked).to_have_text("−∞")
    masked.hover()
    expect(playground.page.locator(".explanation")).to_contain_text(
        "it lies in the future and it is padding and it is outside the window"
    )


def test_padding_of_every_token_gives_zeros_and_says_why(playground: Playground):
    playground.click("Padding")
    playground.slide("Padding tokens at the end", "End")

    assert playground.text("weights", 0, 0) == "0"
    playground.cell("weights", 0, 0).hover()
    expect(playground.page.locator(".explanation")).to_contain_text("may attend to nothing")
    playground.assert_consistent()


@pytest.mark.parametrize("preset", ["apple", "apple_company", "previous_token"])
def test_the_page_never_scrolls_sideways(page: Page, server: Server, preset: str):
    experiment = Experiment.from_preset(preset).resized(n_tokens=12, d_model=8)
    main = page.locator("[data-testid=stMain]")
    page.set_viewport_size({"width": 390, "height": 800})
    Playground(page, server.url).show(experiment)

    for width in (390, 1280, 1440):
        page.set_viewport_size({"width": width, "height": 800})
        assert main.evaluate("(node) => node.scrollWidth - node.clientWidth") == 0, width
        assert page.evaluate("document.documentElement.scrollWidth") <= width


_FOCUSED_LABEL = """() => {
  let node = document.activeElement;
  while (node?.shadowRoot?.activeElement) node = node.shadowRoot.activeElement;
  return node?.getAttribute("aria-label");
}"""

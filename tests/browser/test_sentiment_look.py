"""A learner looks at a sentence, head by head."""

from playwright.sync_api import Page, expect

from playground.lessons import sentiment, sentiment_look, sentiment_weights
from playground.texts import Texts
from tests.browser.conftest import Server
from tests.browser.driver import Playground
from tests.sentiment import training

EN = Texts("en")
TEXT = "The plot is good."
FILE = sentiment_weights.file(sentiment.choices(training())["lstm_attention", 0])


def with_model(page: Page, server: Server) -> Playground:
    """The step with a model from a file."""
    playground = Playground(page, server.url).open("/sentiment?lang=en&s=weights")
    page.locator("input[type=file]").set_input_files(
        {"name": "a.safetensors", "mimeType": "application/octet-stream", "buffer": FILE}
    )
    expect(page.get_by_test_id("stTable")).to_be_visible()
    playground.settle()
    playground.click("Where it looks")
    expect(page.get_by_role("textbox", name="Sentence")).to_be_visible()
    playground.settle()
    return playground


def test_each_head_stands_on_the_board_and_says_how_its_weights_come_about(
    page: Page, server: Server
):
    playground = with_model(page, server)
    looked = sentiment_look.look(sentiment.from_file(FILE), TEXT, 0)

    field = page.get_by_role("textbox", name="Sentence")
    field.fill(TEXT)
    with playground.one_run():
        field.press("Control+Enter")
    expect(page.get_by_test_id("stMain")).to_contain_text("probability 0.")
    playground.assert_exhibits(sentiment_look.exhibit(EN, looked, 0))
    with playground.one_run():
        page.get_by_role("radiogroup", name="Head").get_by_role("radio", name="2").click()
    playground.assert_exhibits(sentiment_look.exhibit(EN, looked, 2))
    playground.cell("look_weights", 1, 3).hover()
    expect(page.locator(".arithmetic")).to_contain_text("/ (e")

"""A learner saves a model and opens it again; a pickle is refused."""

import pickle
from pathlib import Path

from playwright.sync_api import Page, expect

from playground.lessons import sentiment, sentiment_weights
from playground.texts import Texts
from tests.browser.conftest import Server
from tests.browser.driver import Playground
from tests.sentiment import training

FILE = sentiment_weights.file(sentiment.choices(training("zh"))["attention", 0])
ZH = Texts("zh")


def upload(page: Page, name: str, content: bytes) -> None:
    page.locator("input[type=file]").set_input_files(
        {"name": name, "mimeType": "application/octet-stream", "buffer": content}
    )


def test_a_file_is_opened_saved_and_the_same_and_a_pickle_is_refused(page: Page, server: Server):
    playground = Playground(page, server.url).open("/sentiment?lang=zh&s=weights")
    expect(page.get_by_text(ZH("sentiment.choose.nothing"))).to_be_visible()

    upload(page, "a.safetensors", FILE)
    table = page.get_by_test_id("stTable")
    expect(table).to_contain_text("attention.query.weight")
    expect(page.get_by_test_id("stAlert")).to_contain_text(f"{len(FILE):,}")
    playground.settle()
    with page.expect_download() as saved:
        page.get_by_role("button", name=ZH("sentiment.weights.save")).click()
    assert saved.value.suggested_filename == "attention-playground-attention.safetensors"
    assert Path(saved.value.path()).read_bytes() == FILE

    upload(page, "b.pt", pickle.dumps({"a": 1}))
    reason = ZH("error.FileKindError", kind="pickle")
    expect(page.get_by_text(ZH("notice.no_model", reason=reason))).to_be_visible()
    expect(table).to_contain_text("attention.query.weight")

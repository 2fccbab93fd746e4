"""The whole way of the lesson on trained attention, from sentences to the Playground."""

import pickle
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Locator, Page, expect

from playground.lessons import sentiment, sentiment_errors, sentiment_look, sentiment_weights
from playground.lessons import sentiment_examine as examine
from playground.lessons import sentiment_train as train
from playground.texts import Texts
from tests.browser.conftest import Server
from tests.browser.driver import Playground
from tests.browser.test_robust import fit, serious, sideways

TEXT = {"en": "The plot is good, but it is too long.", "zh": "特效很棒，但剧情太无聊了。"}
SET = {
    "sentiment.texts.sentences": 75,
    "sentiment.train.models": ["bag", "attention"],
    "sentiment.train.seeds": 1,
    "sentiment.train.epochs": 2,
}


def trained_alike(t: Texts) -> tuple[sentiment.Plan, sentiment.Training]:
    """What the page trains, trained once more: the same settings give the same numbers."""
    plan = sentiment.plan(lambda key, default: SET.get(key, default), t)
    return plan, sentiment.work(plan)(lambda done, shown=None: None)


def assert_table(table: Locator, columns: dict[str, list[str]]) -> None:
    cells = [cell.replace("`", "") for row in zip(*columns.values(), strict=True) for cell in row]
    expect(table.locator("tbody").locator("td, th")).to_have_text(cells)


def assert_legible_on_a_phone(page: Page) -> None:
    """What only a trained model shows is legible there, too."""
    fit(page, (390, 844))
    assert serious(page) == []
    assert sideways(page) == 0
    fit(page, (1280, 720))
    # The sidebar slides in again and takes what a mouse is pressing from under it.
    expect(page.get_by_test_id("stSidebar")).to_be_in_viewport(ratio=1)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_learner_goes_from_sentences_to_the_playground(page: Page, server: Server, language: str):
    t, text = Texts(language), TEXT[language]
    plan, training = trained_alike(t)
    models = sentiment.choices(training)
    trained, bag = models["attention", 0], models["bag", 0]
    playground = Playground(page, server.url).open(f"/sentiment?lang={language}&s=texts")
    found, tables = page.get_by_test_id("stAlert"), page.get_by_test_id("stTable")

    def pick(name: str) -> None:
        with playground.one_run():
            page.get_by_role("radio", name=name, exact=True).click()

    def press(name: str) -> None:
        with playground.one_run():
            page.get_by_role("button", name=name, exact=True).click()

    def upload(content: bytes) -> None:
        with playground.one_run():
            page.locator("input[type=file]").set_input_files(
                {"name": "a", "mimeType": "application/octet-stream", "buffer": content}
            )

    def type_sentence() -> None:
        field = page.get_by_role("textbox", name=t("sentiment.look.text"))
        field.fill(text)
        with playground.one_run():
            field.press("Control+Enter")

    def look(model: sentiment.Trained, index: int) -> sentiment_look.Look:
        looked = sentiment_look.look(model, text, index)
        expect(page.get_by_test_id("stMain")).to_contain_text(
            sentiment_look.verdict(t, looked).replace("**", "")
        )
        playground.assert_exhibits(sentiment_look.exhibit(t, looked, sentiment_look.ALL_HEADS))
        return looked

    # Few sentences, two models, one seed, two epochs: what comes out is what the core computes.
    playground.slide(t("sentiment.texts.n_train"), "Home")
    press(t("sentiment.texts.go"))
    for name in (t("sentiment.lstm"), t("sentiment.lstm_attention")):
        press(name)
    playground.slide(t("sentiment.train.seeds"), "Home")
    playground.slide(t("sentiment.train.epochs"), "Home")
    playground.slide(t("sentiment.train.epochs"), "ArrowRight")
    page.get_by_role("button", name=t("sentiment.train.start"), exact=True).click()
    for sentence in train.found(t, training, plan):
        expect(found).to_contain_text(sentence, timeout=60_000)  # when all is trained
    assert_table(tables, train.table(t, training, is_active=False))

    # A sentence as it is read at the end, an epoch before, and by the other model.
    pick(t("sentiment.look.title"))
    type_sentence()
    look(trained, 2)
    playground.slide(t("sentiment.look.after"), "ArrowLeft")
    look(trained, 1)
    pick(t("sentiment.bag"))
    look(bag, 1)
    pick(t("sentiment.attention"))

    # The second mistake becomes the sentence that is looked at.
    pick(t("sentiment.errors.title"))
    mistakes = sentiment_errors.mistakes(trained)
    assert_table(tables.nth(1), sentiment_errors.confusion(t, mistakes))
    pick("2")
    press(t("sentiment.errors.look"))
    expect(page.get_by_role("textbox", name=t("sentiment.look.text"))).to_have_value(
        mistakes.wrong[1].example.text
    )

    # Examined on all sentences, then on this one.
    pick(t("sentiment.examine.title"))
    page.get_by_role("button", name=t("sentiment.examine.start")).focus()
    page.keyboard.press("Enter")
    examined = examine.work(trained)(lambda done, shown=None: None).examination
    assert_table(tables.nth(0), examine.effects(t, examined))
    assert_table(tables.nth(1), examine.agreements(t, examined))
    assert_legible_on_a_phone(page)
    pick(t("sentiment.examine.one"))
    pick(t("sentiment.examine.of_look"))
    witness = examine.of_text(trained, mistakes.wrong[1].example.text)
    for sentence in examine.of_one(t, witness):
        expect(found).to_contain_text(sentence)

    # Its weights are saved; a pickle is refused; the file looks at the sentence in the same way.
    pick(t("sentiment.weights.title"))
    assert_legible_on_a_phone(page)
    with page.expect_download() as saved:
        page.get_by_role("button", name=t("sentiment.weights.save")).press("Enter")
    assert saved.value.suggested_filename == sentiment_weights.file_name(trained)
    content = Path(saved.value.path()).read_bytes()
    assert content == sentiment_weights.file(trained)
    upload(pickle.dumps({"a": 1}))
    reason = t("error.FileKindError", kind="pickle")
    expect(page.get_by_text(t("notice.no_model", reason=reason))).to_be_visible()
    upload(content)
    # Two runs, of which the first takes the pickle away.
    expect(page.get_by_role("radio", name=t("sentiment.choose.file"))).to_be_checked()
    playground.settle()
    pick(t("sentiment.look.title"))
    type_sentence()
    looked = look(sentiment.from_file(content), 0)
    np.testing.assert_allclose(
        looked.weights, sentiment_look.look(trained, text, 2).weights, atol=1e-6
    )

    # On the Playground stand the weights that were promised, as nearly as was promised.
    press(t("sentiment.look.take"))
    with playground.one_run():
        page.get_by_role("link", name=t("sentiment.look.go")).click()
    playground.assert_consistent()
    taken, trace = sentiment_look.reduction(looked), playground.experiment().trace()
    most = taken.weights_error + 1e-9
    np.testing.assert_allclose(trace.attention.heads.weights, taken.weights, rtol=0, atol=most)

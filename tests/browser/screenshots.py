"""Takes the pictures of README and docs from this version: `make screenshots`."""

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page, expect

from attention_core import Experiment
from playground import link
from playground.session import Seen
from playground.take_away import HANDOUT
from playground.texts import LANGUAGES, Texts
from tests.browser.conftest import PROJECTOR, ROOT, Server, chromium
from tests.browser.driver import Playground
from tests.browser.test_phone import AGENT, SCREEN

IMAGES = ROOT / "docs" / "images"
USUAL = {"width": 1440, "height": 900}
A4 = {"width": 794, "height": 1123}  # CSS pixels
MARGIN = "12mm"


def take(playground: Playground, name: str) -> None:
    playground.page.screenshot(path=IMAGES / f"{name}.png")


def light(page: Page, url: str) -> None:
    playground = Playground(page, url).open()
    playground.cell("weights", 1, 2).click()
    take(playground, "playground")


def lesson(page: Page, url: str) -> None:
    link_to = link.encode(Experiment.from_preset("cat"))
    playground = Playground(page, url).open(f"/masks?lang=en&s=leaks&e={link_to}")
    take(playground, "masks")


def fit(page: Page, url: str) -> None:
    link_to = link.encode(Experiment.from_preset("previous_token"))
    playground = Playground(page, url).open(f"/pytorch?lang=en&s=fit&e={link_to}")
    playground.click("itself")
    page.get_by_role("button", name="Start", exact=True).click()
    expect(page.get_by_role("button", name="Take these matrices")).to_be_visible(timeout=60_000)
    playground.settle()
    take(playground, "fit")


def sentiment(page: Page, url: str) -> None:
    playground = Playground(page, url).open("/sentiment?lang=en&s=train")
    page.get_by_role("button", name="Train", exact=True).click()
    stop = page.get_by_test_id("stMain").get_by_role("button", name="Stop")
    expect(stop).to_be_visible()
    expect(stop).to_have_count(0, timeout=200_000)
    with playground.one_run():
        page.get_by_role("radio", name="Where it looks", exact=True).click()
    page.set_viewport_size({"width": 1440, "height": 1360})  # the whole board
    playground.settle()
    take(playground, "sentiment")


def dark_zh(page: Page, url: str) -> None:
    playground = Playground(page, url).open("/?lang=zh")
    playground.click("因果")
    playground.cell("masked_scores", 0, 2).click()
    take(playground, "playground-dark-zh")


# --- the pictures of the guide for teachers, in each language


def name(picture: str, t: Texts) -> str:
    return picture if t.language == "en" else f"{picture}-{t.language}"


def play(page: Page, url: str, t: Texts, query: str, step: int) -> Playground:
    """The player at a step, counted from 0."""
    playground = Playground(page, url).open(f"/?lang={t.language}&{query}")
    start = page.get_by_role("button", name=t("board.play"), exact=True)
    if start.is_visible():
        start.click()
    page.locator(".player .dot").nth(step).click()
    playground.settle()
    return playground


def projector(page: Page, url: str, t: Texts) -> None:
    cat = link.encode(Experiment.from_preset("cat"))
    take(play(page, url, t, f"view=projector&e={cat}", 6), name("projector", t))


def predict(page: Page, url: str, t: Texts) -> None:
    playground = play(page, url, t, "view=projector", 4)
    page.locator(".play-check").check()
    expect(page.locator(".guess")).to_be_visible()
    take(playground, name("predict", t))


def lesson_link(page: Page, url: str, t: Texts) -> None:
    playground = Playground(page, url).open(f"/?lang={t.language}&c=mask")
    panel = playground.unfold("share")
    field = panel.get_by_role("textbox", name=t("share.note"))
    field.fill(t("share.note_example"))
    made = panel.get_by_test_id("stCode")
    expect(made).to_contain_text("&n=")
    field.evaluate("(node) => node.scrollIntoView({ block: 'center' })")
    panel.get_by_role("button", name=t("share.qr"), exact=True).click()
    code = page.get_by_role("dialog").get_by_role("img", name=t("share.qr_alt"))
    expect(code).to_be_visible()
    playground.settle()
    take(playground, name("lesson-link", t))


def handout(page: Page, _url: str, t: Texts) -> None:
    """The first page, as it is printed."""
    file = Path(tempfile.mkdtemp()) / HANDOUT.file_name
    file.write_text(HANDOUT.make_of(Seen(Experiment.from_preset(), t.language)), encoding="utf-8")
    page.goto(file.as_uri())
    expect(page.locator("html")).to_have_attribute("data-steps", "shown")
    page.emulate_media(media="print")
    page.add_style_tag(content=f"body {{ padding: {MARGIN} }}")
    page.screenshot(path=IMAGES / f"{name('handout', t)}.png")


def phone(page: Page, url: str, t: Texts) -> None:
    playground = play(page, url, t, "", 6)
    page.locator(".player").evaluate("(node) => node.scrollIntoView({ block: 'start' })")
    page.get_by_test_id("stMain").evaluate("(node) => node.scrollBy(0, -64)")  # below the header
    take(playground, name("phone", t))


ON_A_PHONE = {"is_mobile": True, "has_touch": True, "user_agent": AGENT, "device_scale_factor": 2}


def shoot(
    browser: Browser, url: str, pictures: list[Callable[..., None]], *args: Any, **context: Any
) -> None:
    """Each picture in a browser of its own, in which nothing is kept of another."""
    for picture in pictures:
        with browser.new_context(**({"viewport": USUAL, "locale": "en-US"} | context)) as fresh:
            picture(fresh.new_page(), url, *args)


def main() -> None:
    IMAGES.mkdir(parents=True, exist_ok=True)
    log = Path(tempfile.mkdtemp()) / "log.txt"
    with Server(log) as server, chromium() as browser:
        shoot(browser, server.url, [light, lesson, fit, sentiment])
        shoot(browser, server.url, [dark_zh], color_scheme="dark")
        for language in LANGUAGES:
            t = Texts(language)
            shoot(browser, server.url, [projector, predict], t, viewport=PROJECTOR)
            shoot(browser, server.url, [lesson_link], t)
            shoot(browser, server.url, [handout], t, viewport=A4)
            shoot(browser, server.url, [phone], t, viewport=SCREEN, **ON_A_PHONE)


if __name__ == "__main__":
    main()

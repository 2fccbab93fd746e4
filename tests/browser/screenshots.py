"""Takes the pictures of the README from this version: `make screenshots`."""

import tempfile
from pathlib import Path

from playwright.sync_api import Page, expect

from attention_core import Experiment
from playground import link
from tests.browser.conftest import ROOT, Server, chromium
from tests.browser.driver import Playground

IMAGES = ROOT / "docs" / "images"


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


def main() -> None:
    IMAGES.mkdir(parents=True, exist_ok=True)
    log = Path(tempfile.mkdtemp()) / "log.txt"
    with Server(log) as server, chromium() as browser:
        pictures = [("light", shoot) for shoot in (light, lesson, fit, sentiment)]
        pictures.append(("dark", dark_zh))
        for scheme, shoot in pictures:
            size = {"width": 1440, "height": 900}
            context = browser.new_context(viewport=size, color_scheme=scheme, locale="en-US")
            shoot(context.new_page(), server.url)


if __name__ == "__main__":
    main()

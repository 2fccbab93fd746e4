"""A teacher makes a link, by mouse or by keyboard; a class opens it, or reads it off the screen."""

import io
from dataclasses import replace
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import numpy as np
import pytest
import zxingcpp
from PIL import Image
from playwright.sync_api import Locator, Page, expect

from attention_core import Experiment, to_plain
from playground import link
from playground.invitation import CONTROLS
from playground.texts import Texts
from tests.browser.driver import Playground

t = Texts("en")
NOTE = "Is $x$ **b** <b>0.5</b> -> :red[x] :smile: www.a.org?"
QR = t("share.qr")


@pytest.fixture
def made(page: Page) -> Locator:
    """The link in the section."""
    return page.locator(".st-key-share [data-testid=stCode]")


def query(address: str) -> dict[str, str]:
    return {name: value for name, (value,) in parse_qs(urlsplit(address).query).items()}


def codes(picture: bytes) -> list[str]:
    """The texts of all codes that a camera would see in a picture."""
    shown = np.array(Image.open(io.BytesIO(picture)).convert("L"))
    return [code.text for code in zxingcpp.read_barcodes(shown)]


def code_on_screen(page: Page) -> str:
    image = page.get_by_role("dialog").get_by_role("img", name=t("share.qr_alt"))
    image.evaluate("(image) => image.decode()")
    expect(image).to_be_in_viewport(ratio=1)
    (text,) = codes(page.screenshot(animations="disabled"))
    return text


def test_a_class_finds_exactly_what_a_teacher_has_chosen_with_the_mouse(page, server, made):
    teacher = Playground(page, server.url).open("/masks?lang=en&s=leaks")
    here = teacher.unfold("share")

    here.get_by_role("button", name=t("share.none"), exact=True).click()
    expect(made).to_contain_text("c=-")  # the pills have heard of it
    for name in ("mask", "d_k"):
        here.get_by_role("button", name=t(f"control.{name}"), exact=True).click()
    expect(made).to_contain_text("c=d_k.mask")
    here.get_by_role("textbox", name=t("share.note")).fill(NOTE)
    expect(made).to_contain_text("smile")
    # What is changed on the page is in the link as soon as it is on the board.
    page.get_by_role("radio", name=t("masks.leaks.transposed")).click()
    expect(made).to_contain_text("l=")
    teacher.slide(t("control.d_k"), "ArrowRight")
    address = made.inner_text()
    own = query(page.url)
    here.get_by_role("button", name=QR).click()
    seen = code_on_screen(page)
    page.keyboard.press("Escape")
    with page.context.expect_page() as opening:
        here.get_by_role("link", name=t("share.try")).click()

    assert query(address) == own | {"c": "d_k.mask", "n": NOTE}
    assert link.decode(own["e"]).d_k == 3
    assert seen == address
    assert query(page.url) == own  # nothing has changed here
    pupil = Playground(opening.value, server.url)
    pupil.settle()
    assert opening.value.url.partition("?")[0] == f"{server.url}/masks"
    assert query(opening.value.url) == query(address)
    finds_what_was_chosen(pupil)
    opening.value.reload()
    pupil.settle()
    finds_what_was_chosen(pupil)
    shows_all_again(pupil)
    opening.value.close()


def finds_what_was_chosen(pupil: Playground) -> None:
    page = pupil.page
    sidebar = page.get_by_test_id("stSidebar")
    expect(page.locator(".st-key-note").get_by_text(NOTE, exact=True)).to_be_visible()
    assert page.locator(".st-key-note").locator("a, b, img").count() == 0
    expect(sidebar.get_by_role("slider")).to_have_count(1)
    for name in CONTROLS:
        key = {"sentence": "sentence_section"}.get(name, name)
        expect(sidebar.locator(f".st-key-{key}")).to_have_count(int(name in ("d_k", "mask")))
    expect(page.get_by_role("radio", name=t("masks.leaks.transposed"))).to_be_checked()
    expect(page.get_by_role("radio", name=t("masks.leaks.title"))).to_be_checked()


def shows_all_again(pupil: Playground) -> None:
    before = to_plain(pupil.experiment())
    pupil.press(t("control.all"))
    pupil.press(t("share.note_close"))

    expect(pupil.page.locator(".st-key-preset")).to_be_visible()
    expect(pupil.page.locator(".st-key-note")).to_have_count(0)
    assert {"c", "n"}.isdisjoint(query(pupil.page.url))
    assert to_plain(pupil.experiment()) == before


def long() -> Experiment:
    """An experiment whose link is almost as long as a link may be."""
    start = Experiment.from_preset("random").resized(d_model=8, d_k=8, n_heads=3)
    W_Q, n_changed = start.W_Q.copy(), 130
    W_Q.flat[:n_changed] = np.random.default_rng(0).uniform(-1, 1, n_changed)
    return replace(start, W_Q=W_Q)


def test_the_keyboard_makes_a_long_link_that_is_read_off_a_dark_screen(page, server, made):
    page.emulate_media(color_scheme="dark")
    Playground(page, server.url).show(long())
    page.locator(".st-key-share summary").focus()
    page.keyboard.press("Enter")
    expect(made).to_be_visible()

    press_tab_until(page, "textbox", t("share.note"))
    page.keyboard.type("Hi")
    expect(made).to_contain_text("n=Hi")  # no key was needed to say that it is finished
    press_tab_until(page, "button", QR)
    page.keyboard.press("Enter")
    seen = code_on_screen(page)
    address = made.inner_text()
    with page.expect_download() as saved:
        press_tab_until(page, "button", t("board.picture_png"))
        page.keyboard.press("Enter")

    assert 1_850 < len(address) <= link.BUDGET
    assert seen == address
    assert query(address) == query(page.url) | {"n": "Hi"}
    assert codes(Path(saved.value.path()).read_bytes()) == [address]
    expect(page.get_by_role("dialog")).to_contain_text(str(145))
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(page.get_by_role("button", name=QR)).to_be_focused()


def press_tab_until(page: Page, role: str, name: str) -> None:
    wanted = page.get_by_role(role, name=name, exact=role == "textbox")
    for _ in range(40):
        if wanted.evaluate("(node) => node === document.activeElement"):
            return
        page.keyboard.press("Tab")
    raise AssertionError(f"the Tab key does not lead to {name}")

"""Every step of every lesson in a real browser: reached by a link, legible, and in place."""

import xml.etree.ElementTree as ET
from collections.abc import Iterator
from dataclasses import replace

import pytest
from playwright.sync_api import Browser, expect

from attention_core import Experiment
from playground import link
from playground.catalog import LESSONS
from playground.texts import Texts
from tests.browser.conftest import Server, watch_console
from tests.browser.driver import Playground
from tests.browser.test_robust import SIZES, cramped, fit, serious, sideways

STEPS = {lesson.id: lesson.steps for lesson in LESSONS if lesson.steps}
LOOKS = [("en", "light"), ("zh", "dark")]

# Masked cells, several heads, a long and a repeated token.
EXPERIMENT = replace(
    Experiment.from_preset("repeated").resized(d_model=4, d_k=2, n_heads=2),
    mask=Experiment.from_preset().mask.only("causal"),
    tokens=("the", "internationalization", "saw", "the", "cat"),
)


@pytest.fixture(scope="module")
def tab(browser: Browser, server: Server) -> Iterator[Playground]:
    with browser.new_context(viewport={"width": 1280, "height": 720}, locale="en-US") as context:
        page = context.new_page()
        page.add_init_script("localStorage.clear(); sessionStorage.clear()")
        faults = watch_console(page)
        yield Playground(page, server.url)
    assert faults == []


@pytest.mark.parametrize("lesson", STEPS)
def test_every_step_is_legible_and_fits_every_screen(tab: Playground, lesson: str):
    """A link leads to the last one; from there one goes through all."""
    language, theme = LOOKS[[*STEPS].index(lesson) % 2]  # the next lesson in the other one
    t, page, steps = Texts(language), tab.page, STEPS[lesson]
    page.emulate_media(color_scheme=theme)
    fit(page, SIZES[0])
    tab.open(f"/{lesson}?lang={language}&s={steps[-1]}&e={link.encode(EXPERIMENT)}")

    for step in (steps[-1], *steps[:-1]):
        if f"s={step}" not in page.url:
            with tab.one_run():
                page.get_by_role("radio", name=t(f"{lesson}.{step}.title"), exact=True).click()
        ask = t(f"{lesson}.{step}.ask")
        expect(page.get_by_text(ask.split("`")[0].split("**")[0][:40]).first).to_be_visible()
        assert f"s={step}" in page.url
        assert serious(page) == [], step
        for size in SIZES:
            fit(page, size)
            assert sideways(page) == 0, (step, size)
        assert cramped(page) == [], step
        fit(page, SIZES[0])


def test_a_picture_of_small_matrices_has_the_names_of_columns_upright(tab: Playground):
    large = Experiment.from_preset("random").resized(n_tokens=12, d_model=8, d_k=2, n_heads=4)
    fit(tab.page, SIZES[0])
    tab.open(f"/multi_head?lang=en&s=heads&e={link.encode(large)}")
    tab.page.locator(".picture").click()

    with tab.page.expect_download() as download:
        tab.page.get_by_role("menuitem").first.click()

    texts = ET.parse(download.value.path()).getroot().iter("{http://www.w3.org/2000/svg}text")
    upright = [text.text for text in texts if "rotate(-90" in text.get("transform", "")]
    assert upright[: large.n_tokens] == list(large.tokens)
    assert len(upright) == 4 * (large.n_tokens + 4 * 2)  # weights of four heads, what each adds

"""The step on relay and round table in a real browser: pass by pass, by hand, by key, by itself."""

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from attention_core import Experiment, Mask
from attention_core.relay import gathered, relayed
from playground import link
from playground.lessons import why_relay
from playground.strip.strip import strip_data
from playground.texts import Texts
from tests.browser.conftest import Server, watch_console
from tests.browser.driver import Playground
from tests.browser.test_robust import sideways

T = Texts("en")
LONG = replace(
    Experiment.from_preset("random").resized(n_tokens=12),
    tokens=("the", "x" * 200, "the", "<b>b</b>", "苹果", "W " * 90, "the", *"abcde"),
)
CAUSAL = replace(Experiment.from_preset("repeated"), mask=Mask(("causal",)))


class Strip:
    """The strip on a page."""

    def __init__(self, page: Page) -> None:
        self.root = page.locator(".strip")
        self.back, self.play, self.forward = (
            self.root.locator(f".{name}") for name in ("back", "play", "forward")
        )
        self.time = self.root.get_by_role("slider", name="Pass", exact=True)

    def lane(self, id: str) -> Locator:
        return self.root.locator(f'[data-lane="{id}"]')

    def at(self, step: int) -> None:
        """Wait for a step."""
        expect(self.root).to_have_attribute("data-step", str(step))

    def assert_shows(self, e: Experiment, source: int, step: int) -> None:
        """Both lanes are as the core has them at this step."""
        self.at(step)
        data = json.loads(json.dumps(strip_data(why_relay.strip(T, e, source))))
        of = {
            "relay": relayed(e.n_tokens, source),
            "table": gathered(e.mask.allowed(e.n_tokens), source),
        }
        for lane in data["lanes"]:
            moments = of[lane["id"]]
            now = min(step, len(moments) - 1)
            shown = self.lane(lane["id"])
            has_it = shown.locator("li").evaluate_all(_HAVE)
            assert has_it == list(moments[now].has_it)
            made = [each for moment in moments[: now + 1] for each in moment.links]
            arcs = [(a, b) for a, b in made if a != b]
            expect(shown.locator("path.made")).to_have_count(len(arcs))
            carrying = [
                (a, b)
                for before, moment in pairwise(moments[: now + 1])
                for a, b in moment.links
                if before.has_it[a] and a != b
            ]
            expect(shown.locator("path.carries")).to_have_count(len(carrying))
            expect(shown.locator("li.own")).to_have_count(len(made) - len(arcs))
            expect(shown.locator(".said")).to_have_text(lane["passings"][now]["said"])
        expect(self.time).to_have_attribute("aria-valuetext", data["steps"][step])
        expect(self.root.locator(".now")).to_have_text(data["steps"][step])


_HAVE = "(nodes) => nodes.map((node) => node.matches('.has'))"


def opened(page: Page, server: Server, e: Experiment, language: str = "en") -> Strip:
    path = f"/why_attention?lang={language}&s=relay&e={link.encode(e)}"
    Playground(page, server.url).open(path)
    strip = Strip(page)
    strip.at(0)
    return strip


def test_the_table_is_done_after_one_pass_and_the_relay_after_the_last(page: Page, server: Server):
    strip = opened(page, server, CAUSAL)
    strip.assert_shows(CAUSAL, 0, 0)

    strip.forward.click()

    strip.assert_shows(CAUSAL, 0, 1)
    expect(strip.lane("table").locator("li.has")).to_have_count(5)
    expect(strip.lane("relay").locator("li.has")).to_have_count(2)

    for step in (2, 3, 4):
        strip.forward.click()
        strip.assert_shows(CAUSAL, 0, step)

    expect(strip.lane("relay").locator("li.has")).to_have_count(5)
    expect(strip.lane("relay").locator(".said")).to_contain_text("it has arrived at the end")
    strip.forward.click(force=True)  # there is nothing after the last one
    strip.assert_shows(CAUSAL, 0, 4)
    expect(strip.forward).to_have_attribute("aria-disabled", "true")
    strip.back.click()
    strip.assert_shows(CAUSAL, 0, 3)


def test_a_learner_follows_the_last_token_and_lifts_the_mask(page: Page, server: Server):
    strip = opened(page, server, CAUSAL)
    lesson = Playground(page, server.url)
    found = page.get_by_test_id("stAlert").filter(has_text="Measured:")

    lesson.click("cat (5)")

    for _ in range(4):
        strip.forward.click()
    strip.assert_shows(CAUSAL, 4, 4)
    expect(found).to_contain_text("0 of 4 by the end of the relay, 0 of 4 after one pass")

    lesson.click("Causal")

    free = replace(CAUSAL, mask=Mask())
    strip.assert_shows(free, 4, 4)  # the clock goes on where it was
    expect(found).to_contain_text("0 of 4 by the end of the relay, 4 of 4 after one pass")
    expect(found).not_to_contain_text("forbids")

    with lesson.one_run():
        page.get_by_role("radio", name="Multiply-adds", exact=True).click()
    lesson.slide("Width d of a token", "ArrowLeft", times=5)

    expect(found).to_contain_text("from 17 tokens on, so they do here")
    strip.assert_shows(free, 4, 4)


@pytest.fixture
def timed(browser: Browser) -> Iterator[Page]:
    """A page whose time stands still unless a test lets it run; a clock is that of all its tabs."""
    with browser.new_context(viewport={"width": 1280, "height": 720}, locale="en-US") as context:
        page = context.new_page()
        faults = watch_console(page)
        yield page
    assert faults == []


def opened_at_rest(page: Page, server: Server, e: Experiment) -> Strip:
    """The strip, once all is there, with the time stopped."""
    strip = opened(page, server, e)
    page.clock.install(time=0)
    page.clock.pause_at(3_600_000)
    return strip


def test_it_plays_by_itself_to_the_end_and_is_paused_by_hand(timed: Page, server: Server):
    page, strip = timed, opened_at_rest(timed, server, CAUSAL)

    strip.play.click()

    expect(strip.play).to_have_text("Pause")
    for step in (1, 2):
        page.clock.run_for(1_100)
        strip.assert_shows(CAUSAL, 0, step)
    strip.play.click()
    expect(strip.play).to_have_text("Play")
    page.clock.run_for(10_000)
    strip.assert_shows(CAUSAL, 0, 2)

    strip.play.click()
    page.clock.run_for(5_000)

    strip.assert_shows(CAUSAL, 0, 4)
    expect(strip.play).to_have_text("Play")
    strip.play.click()  # from the end it begins anew
    strip.assert_shows(CAUSAL, 0, 0)
    page.clock.run_for(1_100)
    strip.assert_shows(CAUSAL, 0, 1)
    strip.back.click()  # a hand takes over
    expect(strip.play).to_have_text("Play")
    page.clock.run_for(10_000)
    strip.assert_shows(CAUSAL, 0, 0)


def test_it_goes_on_while_something_else_is_chosen(page: Page, server: Server):
    strip = opened(page, server, CAUSAL)
    strip.play.click()
    strip.at(1)

    with Playground(page, server.url).one_run():
        page.get_by_role("radio", name="Links between tokens").click()

    strip.assert_shows(CAUSAL, 0, 4)
    expect(strip.play).to_have_text("Play")


def test_all_of_it_can_be_done_by_keys(page: Page, server: Server):
    strip = opened(page, server, CAUSAL)
    strip.back.focus()
    keys = page.keyboard
    names = ["Play", "Forward"]

    for name in names:
        keys.press("Tab")
        expect(page.locator(".strip button:focus")).to_have_text(name)
    keys.press("Enter")
    strip.assert_shows(CAUSAL, 0, 1)
    keys.press("Space")
    strip.assert_shows(CAUSAL, 0, 2)
    keys.press("Tab")
    keys.press("End")
    strip.assert_shows(CAUSAL, 0, 4)
    keys.press("ArrowLeft")
    strip.assert_shows(CAUSAL, 0, 3)
    keys.press("Home")
    strip.assert_shows(CAUSAL, 0, 0)


def test_a_screen_reader_is_told_what_happened_and_who_has_it(page: Page, server: Server):
    strip = opened(page, server, CAUSAL)
    relay = strip.lane("relay")
    expect(relay.locator(".said")).to_have_attribute("aria-live", "polite")

    strip.forward.click()

    first, _, third = (relay.get_by_role("listitem").nth(index) for index in range(3))
    expect(first).to_have_text(re.compile("the.*has the message"), use_inner_text=False)
    expect(third).to_have_text(re.compile("does not have the message"), use_inner_text=False)
    expect(page.get_by_role("region", name="Relay: an RNN")).to_be_visible()


def test_who_wants_no_motion_gets_none(timed: Page, server: Server):
    timed.emulate_media(reduced_motion="reduce")
    page, strip = timed, opened_at_rest(timed, server, CAUSAL)

    expect(strip.play).to_be_hidden()
    page.clock.run_for(10_000)
    strip.at(0)

    strip.forward.click()

    strip.assert_shows(CAUSAL, 0, 1)
    envelope = strip.lane("relay").locator(".envelope").first
    assert envelope.evaluate("(node) => getComputedStyle(node).transitionDuration") == "0s"


def test_motion_that_is_unwanted_from_now_on_ends(timed: Page, server: Server):
    page, strip = timed, opened_at_rest(timed, server, CAUSAL)
    strip.play.click()
    page.clock.run_for(1_100)
    strip.at(1)

    page.emulate_media(reduced_motion="reduce")

    expect(strip.play).to_be_hidden()
    page.clock.run_for(10_000)
    strip.assert_shows(CAUSAL, 0, 1)


def test_the_message_lies_where_the_core_has_it(page: Page, server: Server):
    page.emulate_media(reduced_motion="reduce")  # it is there at once
    strip = opened(page, server, CAUSAL)
    for _ in range(2):
        strip.forward.click()

    places = {lane: strip.lane(lane).evaluate(_PLACES) for lane in ("relay", "table")}

    assert places["relay"] == list(relayed(5, 0)[2].at)
    _, after = gathered(CAUSAL.mask.allowed(5), 0)
    assert places["table"] == list(after.at)


# To which token each envelope is nearest, from the left: it lies at its right shoulder.
_PLACES = """(lane) => {
  const middle = (node) => {
    const { left, right } = node.getBoundingClientRect();
    return (left + right) / 2;
  };
  const dots = [...lane.querySelectorAll(".dot")].map(middle);
  return [...lane.querySelectorAll(".envelope")].map((node) => {
    const gaps = dots.map((dot) => Math.abs(dot - middle(node)));
    return gaps.indexOf(Math.min(...gaps));
  });
}"""


@pytest.mark.parametrize("width", [390, 1280])
def test_twelve_long_tokens_fit_and_stay_letter_by_letter(page: Page, server: Server, width: int):
    page.set_viewport_size({"width": width, "height": 844})
    strip = opened(page, server, LONG)

    strip.forward.click()

    strip.assert_shows(LONG, 0, 1)
    names = strip.lane("table").locator(".name")
    assert names.evaluate_all("(all) => all.map((node) => node.textContent)") == list(LONG.tokens)
    assert strip.root.locator("b").count() == 0
    assert sideways(page) == 0
    assert strip.root.evaluate(_STICKING_OUT) == []
    assert strip.lane("table").locator(".dot").all_inner_texts() == [
        str(place) for place in range(1, 13)
    ]


# What of the tokens reaches out of its lane, or into its neighbour.
_STICKING_OUT = """(root) => [...root.querySelectorAll(".lane")].flatMap((lane) => {
  const box = lane.getBoundingClientRect();
  const boxes = [...lane.querySelectorAll(".name")].map((node) => node.getBoundingClientRect());
  const isOut = ({ left, right }, index) =>
    left < box.left || right > box.right || (index && boxes[index - 1].right > left + 0.5);
  return boxes.filter(isOut).map(({ left }) => left);
})"""


@pytest.mark.parametrize("n_tokens", [1, 2])
def test_even_one_token_has_a_pass_to_go_to(page: Page, server: Server, n_tokens: int):
    e = Experiment.from_preset("random").resized(n_tokens=n_tokens)
    strip = opened(page, server, e)

    strip.forward.click()

    strip.assert_shows(e, 0, 1)
    expect(strip.forward).to_have_attribute("aria-disabled", "true")

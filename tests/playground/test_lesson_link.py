"""The address of a lesson link, for every page, wherever the app runs."""

from urllib.parse import parse_qsl, urlsplit

import numpy as np
import pytest

from attention_core import Experiment, to_plain
from playground import invitation, lesson_link, link
from playground.catalog import LESSONS
from playground.invitation import MOST_NOTE, Invitation
from playground.texts import LANGUAGES

FIRST, *OTHERS = [lesson.id for lesson in LESSONS]
NOTE = "Look: $x$ & **b** = <b>100 %</b> + #1 苹果?"
EDITED = Experiment.from_preset("cat").with_cell("X", (0, 0), 1 / 3)


def asked(experiment=EDITED, language="en", **more):
    return lesson_link.query(experiment, language, **{"invitation": Invitation(), **more})


def read(address):
    """Page and query of an address, as a browser reads them."""
    parts = urlsplit(address)
    assert parts.fragment == ""
    return parts.path, dict(parse_qsl(parts.query, strict_parsing=True))


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("base", ["/", "/app/", "/a/masks/"])
@pytest.mark.parametrize("lesson", [FIRST, *OTHERS])
def test_a_link_leads_to_its_page_below_any_path_with_all_that_was_chosen(lesson, base, language):
    chosen = Invitation("projector", ("d_k", "mask"), NOTE)
    query = asked(language=language, head=2, step="cost", invitation=chosen)

    path, found = read(lesson_link.whole(f"https://example.org{base}", lesson, query))

    assert path == base + ("" if lesson == FIRST else lesson)
    assert {name: found[name] for name in ("lang", "h", "s")} == {
        "lang": language,
        "h": "3",
        "s": "cost",
    }
    assert invitation.read(found) == chosen
    assert to_plain(link.decode(found["e"])) == to_plain(EDITED)


def test_what_is_as_ever_does_not_stand_in_a_link():
    address = lesson_link.whole("http://a/", FIRST, asked())

    assert address == f"http://a/?lang=en&e={link.encode(EDITED)}"


@pytest.mark.parametrize(
    ("url", "lesson", "app"),
    [
        ("http://a:8501", FIRST, "http://a:8501/"),
        ("http://a:8501/", FIRST, "http://a:8501/"),
        ("http://a/masks", "masks", "http://a/"),
        ("http://a/deep/path/masks/", "masks", "http://a/deep/path/"),
        ("http://a/masks/masks", "masks", "http://a/masks/"),
        (f"http://a/un{FIRST}", FIRST, f"http://a/un{FIRST}/"),
        ("http://a/masks", FIRST, "http://a/masks/"),  # the app's own path is called so
    ],
)
def test_the_app_is_where_its_page_is_without_the_name_of_the_page(url, lesson, app):
    assert lesson_link.of_app(url, lesson) == app


# --- the budget


def with_numbers(count):
    """An experiment in which so many numbers of one matrix are changed."""
    start = Experiment.from_preset("random").resized(d_model=8, d_k=8, n_heads=8)
    numbers = np.random.default_rng(0).uniform(-1, 1, start.W_Q.size)
    for index in list(np.ndindex(start.W_Q.shape))[:count]:
        start = start.with_cell(
            "W_Q", index, float(numbers[np.ravel_multi_index(index, start.W_Q.shape)])
        )
    return start


URL = "http://example.org"
LARGE = with_numbers(100)  # alone, it fits
CROWDED = with_numbers(200)  # no address holds it
SHORT, LONG = Invitation(note="Hello"), Invitation(note="苹" * MOST_NOTE)


@pytest.mark.parametrize(
    ("experiment", "invitation", "left_out"),
    [
        (EDITED, SHORT, set()),
        (LARGE, SHORT, set()),
        (LARGE, LONG, {"n"}),
        (CROWDED, SHORT, {"e"}),
        (CROWDED, LONG, {"e"}),
        (CROWDED, Invitation(note="🙂" * MOST_NOTE), {"n", "e"}),
    ],
)
def test_an_address_keeps_the_numbers_if_it_can_and_else_the_note(experiment, invitation, left_out):
    query = asked(experiment, invitation=invitation)

    kept = lesson_link.fitting(URL, query)

    assert {name for name in query if kept[name] != query[name]} == left_out
    assert all(kept[name] == "" for name in left_out)
    assert lesson_link.is_within_budget(lesson_link.whole(URL, FIRST, kept))


def test_an_address_of_the_budget_fits_and_one_character_more_does_not():
    query = {"e": "x" * (link.BUDGET - len(f"{URL}?e="))}

    assert lesson_link.fitting(URL, {"n": "", **query}) == {"n": "", **query}
    assert lesson_link.fitting(URL + "s", {"n": "", **query})["e"] == ""

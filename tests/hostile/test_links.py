"""Ten thousand links, random and crafted: each is read as it stands, or refused, and quickly."""

import json
import random
import string
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import streamlit as st

from attention_core import Experiment, Mask, to_plain
from attention_core.canvas import MATRICES, MAX_HEADS
from attention_core.experiment import MASK_KINDS
from playground import invitation, link, session
from playground.link import LinkError
from playground.texts import LANGUAGES, Texts
from tests.hostile.nasty import (
    FILES,
    TOKENS,
    UNFIT,
    VALUES,
    WINDOW_FLAG,
    Watch,
    content_of,
    link_of,
    mutated,
    nested,
    places,
    replanted,
)
from tests.pages.driver import App

UNTOUCHED = {"version": 1, "preset": "apple", "seed": 0}


def experiments():
    """One that is as it starts, one with something of everything, and the largest."""
    odd = Experiment.from_preset("cat", seed=7).resized(n_tokens=4, n_heads=2)
    odd = odd.with_output_projection(True).with_cell("X", (0, 1), 1 / 3)
    odd = odd.with_cell("W_Q", (1, 0, 0), -2.5).with_cell("W_O", (0, 0), 1e6)
    odd = odd.with_token_renamed(0, TOKENS[0]).with_token_renamed(3, "猫")
    mask = Mask(MASK_KINDS, 2, 1, 0, ((0, 3, True), (2, 0, False)))
    odd = replace(odd, mask=mask, encoding="rotary", is_scaled=False)
    large = Experiment.from_preset("random").resized(n_tokens=12, d_model=8, d_k=8, n_heads=8)
    block = np.random.default_rng(0).uniform(-1, 1, (8, 8)).round(2)
    return [Experiment.from_preset(), odd, large.with_block("W_V", (3, 0, 0), block)]


GOOD = [link.encode(experiment) for experiment in experiments()]


@pytest.fixture
def watch():
    watch = Watch()
    yield watch
    watch.assert_quick()


# --- what a link says, read here by itself


def numbers_in(packed):
    """Place and number of everything in a packed matrix."""
    decimals, gaps, values = packed
    unit = 1 if decimals is None else 10**decimals
    return list(zip(np.cumsum(gaps).tolist(), [value / unit for value in values], strict=True))


def assert_says(experiment, plain):
    """The experiment is what the link says, field by field, and the link's fields alone."""
    assert experiment.preset == plain["preset"]
    assert experiment.seed == plain["seed"]
    sizes = experiment.sizes._asdict()
    asked = {name: plain[name] for name in sizes if name in plain}
    assert asked.items() <= sizes.items()
    for name in ("is_scaled", "encoding"):
        assert getattr(experiment, name) == plain.get(name, getattr(experiment, name))
    assert plain.get("has_W_O", experiment.W_O is not None) == (experiment.W_O is not None)
    for name in ("tokens", "feature_names"):
        texts = getattr(experiment.canvas, name)
        assert all(texts[int(place)] == text for place, text in plain.get(name, {}).items())
    for name in MATRICES:
        array = getattr(experiment.canvas, name).ravel()
        stated = dict(numbers_in(plain[name])) if name in plain else {}
        assert all(array[place] == number for place, number in stated.items())
    mask = plain.get("mask", {})
    for name in ("n_padding", "before", "after"):
        assert getattr(experiment.mask, name) == mask.get(name, getattr(experiment.mask, name))
    if "kinds" in mask:
        assert {*experiment.mask.kinds} == {*mask["kinds"]}
    if "painted" in mask:
        cells = {str(12 * q + k): flag for q, k, flag in experiment.mask.painted}
        assert cells == mask["painted"]
    assert {*to_plain(experiment)} <= {*plain}


def assert_sound(experiment):
    """It can be traced: finite numbers, and weights that sum to 1, or to 0 where none may be."""
    attention = experiment.trace().attention
    assert np.isfinite(attention.output).all()
    sums = attention.heads.weights.sum(axis=-1)
    assert (np.isclose(sums, 1) | (sums == 0)).all()


def opened(watch, text):
    """The experiment, which then is just what the link says; None if it was refused."""
    try:
        experiment = watch(link.decode, text)
    except LinkError:
        return None
    assert_says(experiment, json.loads(content_of(text)))
    watch(assert_sound, experiment)
    return experiment


# --- ten thousand


@pytest.mark.parametrize("seed", range(4))
def test_2_000_links_of_random_characters_are_refused(watch, seed):
    rng = random.Random(seed)
    alphabet = (string.ascii_letters + string.digits + "-_", string.printable, "猫é\0\ud800🙂=%&1")
    for number in range(500):
        text = "".join(rng.choices(alphabet[number % 3], k=rng.choice([1, 20, 200, 2_000])))
        with pytest.raises(LinkError):
            watch(link.decode, ("1" if number % 2 else "") + text)


@pytest.mark.parametrize("good", GOOD, ids=["untouched", "odd", "large"])
def test_2_400_links_of_which_characters_were_changed_are_refused_or_the_same(watch, good):
    rng = random.Random(1)
    same = to_plain(link.decode(good))
    for _ in range(800):
        damaged = mutated(good.encode(), rng).decode("latin-1")
        try:
            experiment = watch(link.decode, damaged)
        except LinkError:
            continue
        assert to_plain(experiment) == same  # a bit that base64 does not use


@pytest.mark.parametrize("good", GOOD, ids=["untouched", "odd", "large"])
def test_3_000_links_whose_text_was_changed_below_a_right_checksum(watch, good):
    rng = random.Random(2)
    texts = [link_of(mutated(content_of(good), rng)) for _ in range(1_000)]

    found = [opened(watch, text) for text in texts]

    n_read = sum(experiment is not None for experiment in found)
    assert 0 < n_read < 1_000


def test_2_300_links_with_every_field_set_to_everything_odd(watch):
    plain = json.loads(content_of(GOOD[1]))
    ways = [*places(plain)]
    texts = [link_of(replanted(plain, path, value)) for path in ways for value in VALUES]
    texts += [link_of(UNTOUCHED | {name: value}) for name in (*plain, "x") for value in VALUES]
    assert len(texts) > 2_300

    found = [opened(watch, text) for text in texts]

    assert sum(experiment is not None for experiment in found) > 50
    assert found.count(None) > 2_000


BOMBS = {
    "50 MB of spaces": link_of(b"[" + b" " * 50_000_000),
    "50 MB of zeros": link_of(bytes(50_000_000)),
    "64 kB of digits": link_of(b'{"version":1,"preset":"apple","seed":' + b"9" * 65_000 + b"}"),
    "a number of 4,400 digits": link_of(b"9" * 4_400),
    "64 kB of lists": link_of(nested(32_000).encode()),
    "64 kB of objects": link_of(b'{"X":' * 12_000),
    "lists in a matrix": link_of(
        json.dumps(UNTOUCHED).encode()[:-1] + b',"X":' + nested(900).encode() + b"}"
    ),
    "a gap of 10^4000": link_of(UNTOUCHED | {"X": [0, [10**4_000], [1]]}),
    "a number of 10^4000": link_of(UNTOUCHED | {"X": [6, [0], [10**4_000]]}),
    "many gaps": link_of(UNTOUCHED | {"X": [0, [10**300] * 150, [1] * 150]}),
    "a link in a link": link_of(GOOD[1].encode()),
    "text of 16 kB": "1" + "A" * 16_383,
    "text of 1 MB": "1" + "A" * 1_000_000,
    **{f"a file: {name}": link_of(content) for name, content in FILES.items()},
}


@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_is_refused(watch, name):
    with pytest.raises(LinkError):
        watch(link.decode, BOMBS[name])


@pytest.mark.parametrize("token", UNFIT, ids=lambda token: repr(token)[:12])
def test_a_text_that_can_be_no_token_is_refused(watch, token):
    with pytest.raises(LinkError):
        watch(link.decode, link_of(UNTOUCHED | {"tokens": {"0": token}}))


# --- the rest of the address


def hostile_query(rng):
    """Something odd for every name that the app reads of its address."""
    odd = [*map(str, VALUES), *TOKENS, *UNFIT, "zh", "en", "1", "8", "9", "projector", "d_k.seed"]
    odd += ["٣", "１", "-", ".", "..", "a" * 100_000]
    names = ("lang", "h", "s", "c", "n", "view", "e")
    return {name: rng.choice(odd) for name in names if rng.random() < 0.8}


def test_a_session_begins_soundly_from_500_addresses(watch, monkeypatch):
    rng = random.Random(3)
    monkeypatch.setattr(st, "context", SimpleNamespace(locale="en-US"))
    for _ in range(500):
        query = hostile_query(rng)
        monkeypatch.setattr(st, "session_state", {})
        monkeypatch.setattr(st, "query_params", query)

        watch(session.start)

        assert session.language() in LANGUAGES
        assert session.experiment().tokens
        assert session.head() in range(MAX_HEADS)
        asked = session.invited()
        assert asked == invitation.read(asked.query())
        assert len(asked.note) <= invitation.MOST_NOTE
        assert asked.note.isprintable()
        is_damaged = bool(query.get("e"))
        assert (session.pop_notice() or {}).get("notice") == (
            "damaged_link" if is_damaged else None
        )


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("lesson", ["playground", "masks", "guide"])
def test_a_page_opens_calmly_from_a_hostile_address(lesson, language):
    query = {"h": "9" * 5_000, "s": TOKENS[0], "c": TOKENS[1], "n": TOKENS[2], "view": TOKENS[3]}

    app = App(lesson, lang=language, e=BOMBS["64 kB of lists"], **query)

    assert not app.test.exception
    assert app.errors == []
    assert app.warnings[0] == Texts(language)("notice.damaged_link", reason="")
    assert to_plain(app.experiment) == to_plain(Experiment.from_preset())
    assert not [text for text in app.markdown() if WINDOW_FLAG in text and "\\<" not in text]

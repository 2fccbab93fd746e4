"""An experiment as a text for the address bar: exact on the way back, and safe to read."""

import base64
import contextlib
import json
import random
import time
import tracemalloc
import zlib
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attention_core import PRESETS, Experiment, Mask, to_plain
from attention_core.canvas import MATRICES
from playground import link
from playground.link import BUDGET, LinkError
from tests.playground.experiments import experiments

UNTOUCHED = {"version": 1, "preset": "apple", "seed": 0}


def text_of(content, level=9):
    """A link that holds this JSON data, or these bytes, with the right checksum."""
    raw = content if isinstance(content, bytes) else json.dumps(content).encode()
    body = zlib.compress(raw, level)
    framed = zlib.crc32(body).to_bytes(4, "big") + body
    return "1" + base64.urlsafe_b64encode(framed).decode().rstrip("=")


def edited():
    """A few numbers, names and settings off the preset."""
    experiment = Experiment.from_preset("cat").with_cell("X", (0, 1), 0.25)
    experiment = experiment.with_cell("W_Q", (0, 2, 1), 1 / 3).with_token_renamed(0, "狗 <b>é")
    experiment = replace(experiment.resized(n_heads=2), mask=Mask(("causal",)), encoding="rotary")
    return experiment.with_painted([(0, 2)], True)


# --- there and back


@given(experiments())
@settings(max_examples=100, deadline=None)
def test_the_way_through_a_link_is_exact(experiment):
    back = link.decode(link.encode(experiment))

    assert to_plain(back) == to_plain(experiment)
    for name in MATRICES:
        np.testing.assert_array_equal(getattr(back, name), getattr(experiment, name))
    np.testing.assert_array_equal(
        back.trace().attention.output, experiment.trace().attention.output
    )


@pytest.mark.parametrize(
    "value", [1 / 3, 0.1, 0.1 + 0.2, 1e-7, 123456.789, -2.5, 5e-324, 1e6, 0.1234567]
)
def test_every_number_comes_back_to_the_last_bit(value):
    experiment = Experiment.from_preset().with_cell("X", (1, 1), value).with_cell("X", (2, 0), 0.5)

    back = link.decode(link.encode(experiment))

    assert back.X[1, 1] == value
    assert back.X[2, 0] == 0.5


def test_a_link_needs_no_escaping_in_an_address():
    text = link.encode(edited())

    assert set(text) <= set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")


def test_the_first_character_tells_the_version():
    assert link.encode(edited()).startswith("1")
    with pytest.raises(LinkError, match="unknown version"):
        link.decode("2" + link.encode(edited())[1:])


def test_a_link_of_today_opens_tomorrow():
    text = "1bPNHc3jaq1YqSy0qzszPU7Iy1FEqKEotTi1RslJKLCjISVXSUSpOTU1RsjKoBQAHvAy8"

    assert to_plain(link.decode(text)) == UNTOUCHED


# --- how long it is


@pytest.mark.parametrize("preset", PRESETS)
def test_an_untouched_experiment_takes_less_than_90_characters(preset):
    assert len(link.encode(Experiment.from_preset(preset))) < 90


def test_500_numbers_of_two_decimals_fit_into_the_budget():
    rng = np.random.default_rng(0)
    experiment = Experiment.from_preset("random").resized(d_model=8, d_k=8, n_heads=4)
    for name, size in (("W_Q", 256), ("W_K", 244)):
        numbers = getattr(experiment, name).ravel()
        numbers = np.where(np.arange(256) < size, rng.uniform(-1, 1, 256).round(2), numbers)
        experiment = replace(experiment, **{name: numbers.reshape(4, 8, 8)})

    text = link.encode(experiment)

    assert len(text) < BUDGET
    assert to_plain(link.decode(text)) == to_plain(experiment)


def test_a_mask_painted_in_every_cell_fits_into_the_budget():
    rng = np.random.default_rng(0)
    flags = rng.integers(0, 2, (12, 12), dtype=bool)
    painted = tuple((*cell, bool(flags[cell])) for cell in np.ndindex(12, 12))
    experiment = Experiment.from_preset("random").resized(n_tokens=12)
    experiment = replace(experiment, mask=Mask(("painted",), painted=painted))

    text = link.encode(experiment)

    assert len(text) < BUDGET / 2
    np.testing.assert_array_equal(link.decode(text).mask.allowed(12), flags)


# --- damaged ones


def truncated(text, rng):
    return text[: rng.randrange(len(text))]


def flipped(text, rng):
    # Not the last character: some of its bits are not used.
    place = rng.randrange(len(text) - 1)
    other = rng.choice([c for c in "ABCxyz019-_" if c != text[place]])
    return text[:place] + other + text[place + 1 :]


def swapped(text, rng):
    places = [i for i in range(1, len(text) - 2) if text[i] != text[i + 1]]
    place = rng.choice(places)
    return text[:place] + text[place + 1] + text[place] + text[place + 2 :]


def lengthened(text, rng):
    return text + rng.choice(["A", "AAAA", "%3D", " ", "\n", "é", "\ud800"])


def replaced(text, rng):
    return "1" + base64.urlsafe_b64encode(rng.randbytes(len(text))).decode().rstrip("=")


@pytest.mark.parametrize("damage", [truncated, flipped, swapped, lengthened, replaced])
def test_two_hundred_damaged_links_are_refused(damage):
    rng = random.Random(0)
    texts = [link.encode(Experiment.from_preset()), link.encode(edited())]

    for text in texts * 100:
        damaged = damage(text, rng)
        with pytest.raises(LinkError):
            link.decode(damaged)


@pytest.mark.parametrize("text", ["", "1", "11", "1=", "1====", "é", "1 ", "0" * 50, "1" * 20_000])
def test_what_was_never_a_link_is_refused(text):
    with pytest.raises(LinkError):
        link.decode(text)


def test_a_flipped_bit_of_the_checksum_is_damage():
    framed = bytearray(base64.urlsafe_b64decode(text_of(UNTOUCHED)[1:] + "=="))
    framed[0] ^= 1

    with pytest.raises(LinkError, match="damaged"):
        link.decode("1" + base64.urlsafe_b64encode(framed).decode().rstrip("="))


# --- well framed, but made to harm


def peak_of_refusing(text):
    """The most bytes in use while the link is refused."""
    tracemalloc.start()
    try:
        with pytest.raises(LinkError):
            link.decode(text)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("megabytes", [10, 50])
def test_a_bomb_is_refused_without_being_unpacked(megabytes):
    bomb = text_of(b"[" + b" " * (megabytes * 1_000_000))

    peak = peak_of_refusing(bomb)

    assert len(bomb) < 70_000
    assert peak < 1_000_000


def test_a_bomb_that_is_valid_json_is_refused_as_too_large():
    padded = text_of(json.dumps(UNTOUCHED).encode() + b" " * 1_000_000)

    with pytest.raises(LinkError, match="too large"):
        link.decode(padded)


def test_a_body_that_is_cut_off_is_refused():
    body = zlib.compress(json.dumps(UNTOUCHED).encode())[:-4]
    framed = zlib.crc32(body).to_bytes(4, "big") + body

    with pytest.raises(LinkError, match="cut off"):
        link.decode("1" + base64.urlsafe_b64encode(framed).decode().rstrip("="))


@pytest.mark.parametrize(
    "content",
    [
        b"[" * 60_000,
        b'{"X":' * 12_000,
        b'{"version":1,"preset":"apple","seed":0,"X":' + b"[" * 900 + b"]" * 900 + b"}",
        b'{"version":1,"preset":"apple","seed":0,"mask":{"kinds":'
        + b"[" * 900
        + b"]" * 900
        + b"}}",
        b"\xff\xfe\xfd",
        b"",
        b"nonsense",
        b"NaN",
        b'{"version":1,"preset":"apple","seed":' + b"9" * 5_000 + b"}",
        b'{"version":1,"preset":"apple","seed":1e999}',
    ],
    ids=lambda content: repr(content[:50]),
)
def test_bytes_that_are_no_experiment_are_refused(content):
    with pytest.raises(LinkError):
        link.decode(text_of(content))


@pytest.mark.parametrize("constant", ["NaN", "Infinity", "-Infinity", "1e400", "-1e400", "1e7"])
def test_a_number_beyond_the_limits_is_refused(constant):
    plain = json.dumps(UNTOUCHED | {"X": [None, [0], [0.5]]}).replace("0.5", constant)

    with pytest.raises(LinkError):
        link.decode(text_of(plain.encode()))


def test_a_packed_matrix_is_read_as_gaps_and_a_fixed_point():
    plain = UNTOUCHED | {"X": [1, [0, 2], [35, -4]]}

    experiment = link.decode(text_of(plain))

    assert experiment.canvas.X.flat[0] == 3.5
    assert experiment.canvas.X.flat[2] == -0.4


@pytest.mark.parametrize(
    "packed",
    [
        None,
        5,
        "abc",
        [],
        {},
        {"0": 1.0},
        [0, [0]],
        [0, [0], [1], []],
        [7, [0], [1]],
        [-1, [0], [1]],
        [0.5, [0], [1]],
        ["0", [0], [1]],
        [[], [0], [1]],
        [0, 0, 1],
        [0, "00", "11"],
        [0, [0, 1], [1]],
        [0, [0], [1, 2]],
        [0, [0.0], [1]],
        [0, [True], [1]],
        [0, [None], [1]],
        [0, ["0"], [1]],
        [0, [0], [True]],
        [0, [0], ["1"]],
        [0, [0], [None]],
        [0, [0], [[1]]],
        [0, [-1], [1]],
        [0, [96], [1]],
        [0, [10**30], [1]],
        [0, [0], [10**7]],
        [0, [0], [10**30]],
        [0, [0], [10**400]],  # too large for a float
        [None, [0], [10**400]],
    ],
    ids=lambda packed: repr(packed)[:30],
)
def test_a_packed_matrix_of_the_wrong_kind_is_refused(packed):
    with pytest.raises(LinkError):
        link.decode(text_of(UNTOUCHED | {"X": packed}))


# --- a thousand of all kinds, in bounded time

MOST_SECONDS = 0.05


def nasty_links():
    """By name, links that were made to harm; each must be refused."""
    good, body = link.encode(edited()), {**UNTOUCHED, "n_tokens": 12}
    return {
        "empty": "1",
        "cut": good[:-7],
        "foreign": "猫" * 300,
        "markup": "1<img src=x onerror=alert(1)>",
        "noise": "1" + base64.urlsafe_b64encode(random.Random(0).randbytes(900)).decode(),
        "bomb": text_of(b"[" + b" " * 5_000_000),  # as much as an address has room for
        "deep": text_of(b'{"X":' * 12_000),
        "large number": text_of(json.dumps(body).replace("12", "9" * 4_000).encode()),
        "long number": text_of(json.dumps(body).replace("12", "9" * 60_000).encode()),
        "many tokens": text_of(body | {"tokens": ["<b>"] * 9_000}),
        "many numbers": text_of(body | {"X": [0, [1] * 10_000, [1] * 10_000]}),
        "many cells": text_of(
            body | {"mask": {"kinds": ["painted"], "painted": [[0, 0, True]] * 4_000}}
        ),
        "wrong kinds": text_of(
            {name: [None, {"a": []}, "b"] for name in (*body, *MATRICES, "mask")}
        ),
        "text for a list": text_of(body | {"tokens": "012345678901", "mask": "causal"}),
    }


def seconds_of(decode, text):
    """Seconds of this process's own work; the least of three, since others may be at work."""
    least = np.inf
    for _ in range(3):
        start = time.process_time()
        with contextlib.suppress(LinkError):
            decode(text)
        least = min(least, time.process_time() - start)
        if least < MOST_SECONDS:
            break
    return least


@pytest.mark.parametrize("name", nasty_links())
def test_a_link_made_to_harm_is_refused_within_50_ms(name):
    text = nasty_links()[name]

    with pytest.raises(LinkError):
        link.decode(text)

    assert seconds_of(link.decode, text) < MOST_SECONDS


def rewritten(text, rng):
    """The same frame and a right checksum around JSON in which something was changed."""
    framed = base64.urlsafe_b64decode(text[1:] + "=" * (-len(text[1:]) % 4))
    plain = zlib.decompress(framed[4:]).decode()
    for _ in range(rng.randint(1, 3)):
        start = rng.randrange(len(plain))
        end = start + rng.choice([0, 1, 1, 5, 40])
        odd = ["", "9" * 400, "-", "1e308", "null", "true", '"', "[", "]", "{", "}", ",", ":", "é"]
        plain = plain[:start] + rng.choice([*odd, plain[: rng.randrange(60)]]) + plain[end:]
    return text_of(plain.encode())


def replanted(text, rng):
    """The same with one value of another kind, anywhere in it."""
    framed = base64.urlsafe_b64decode(text[1:] + "=" * (-len(text[1:]) % 4))
    plain = json.loads(zlib.decompress(framed[4:]))
    odd = [None, True, -1, 0, 10**30, 1e300, 0.5, "", "x" * 300, "\ud800", [], [[]], {}, {"0": 1}]
    node = plain
    while True:
        places = list(node) if isinstance(node, dict) else range(len(node))
        place = rng.choice(places)
        if not isinstance(node[place], (dict, list)) or not node[place] or rng.random() < 0.3:
            node[place] = rng.choice(odd)
            return text_of(plain)
        node = node[place]


def inserted(text, rng):
    place = rng.randrange(len(text))
    return text[:place] + rng.choice(["A", "=", "%", "猫", "\0", "🙂", " ", text]) + text[place:]


DAMAGES = [truncated, flipped, swapped, lengthened, replaced, inserted, rewritten, replanted]


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_thousand_damaged_links_are_refused_or_read_within_50_ms(damage):
    rng = random.Random(1)
    texts = [link.encode(Experiment.from_preset("apple_company")), link.encode(edited())]
    outcomes = {"read": 0, "refused": 0}

    for _ in range(1_000 // len(DAMAGES)):
        damaged = damage(rng.choice(texts), rng)
        assert seconds_of(link.decode, damaged) < MOST_SECONDS, damaged
        try:
            experiment = link.decode(damaged)
        except LinkError:
            outcomes["refused"] += 1
        else:
            outcomes["read"] += 1
            assert to_plain(link.decode(link.encode(experiment))) == to_plain(experiment)
            assert np.isfinite(experiment.trace().attention.output).all()

    assert outcomes["refused"] > 0
    assert sum(outcomes.values()) == 125


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=6,
)
settings_fields = ["n_tokens", "d_k", "is_scaled", "encoding", "has_W_O", "mask"]
number_fields = ["tokens", "feature_names", "X", "W_O", "unknown"]
fields = st.sampled_from(["version", "preset", "seed", *settings_fields, *number_fields])


@given(st.dictionaries(fields, json_values, max_size=3) | json_values)
@settings(max_examples=200, deadline=None)
def test_whatever_a_link_holds_it_is_an_experiment_or_refused(content):
    plain = UNTOUCHED | content if isinstance(content, dict) else content

    try:
        experiment = link.decode(text_of(plain))
    except LinkError:
        return

    assert isinstance(experiment, Experiment)


def test_half_a_character_is_refused_though_json_can_escape_it():
    body = zlib.compress(rb'{"\ud800": "\ud800"}')
    framed = zlib.crc32(body).to_bytes(4, "big") + body
    text = link.VERSION + base64.urlsafe_b64encode(framed).decode().rstrip("=")

    with pytest.raises(link.LinkError):
        link.unpack(text)


def test_a_text_that_no_address_can_hold_is_refused_without_being_read():
    noise = "".join(random.Random(0).choices("0123456789abcdef", k=30_000))

    with pytest.raises(link.LinkError, match="too long"):
        link.unpack(link.pack(noise))

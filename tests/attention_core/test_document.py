"""The JSON file: it comes back exactly, and no file at all does harm or goes unexplained."""

import json
import time
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attention_core import AttentionError, Experiment, Mask, from_plain, to_plain
from attention_core.document import MOST_BYTES, from_json, to_json
from attention_core.errors import ChoiceError, FieldError, RangeError
from attention_core.experiment import MAX_TOKEN_LENGTH
from tests.playground.experiments import experiments

START = '"version": 1, "preset": "apple", "seed": 0'


def with_fields(text):
    return f"{{{START}, {text}}}".encode()


def largest():
    """An experiment of which everything was changed, to what takes the most room."""
    rng = np.random.default_rng(1)
    start = Experiment.from_preset("random").with_output_projection(True)
    full = start.resized(n_tokens=12, d_model=8, d_k=8, n_heads=8)
    numbers = {
        name: -rng.uniform(1e5, 1e6, getattr(full, name).shape) / 3
        for name in ("X", "W_Q", "W_K", "W_V", "W_O")
    }
    painted = tuple((i, j, False) for i in range(12) for j in range(12))
    return replace(
        full,
        **numbers,
        tokens=("😀" * MAX_TOKEN_LENGTH,) * 12,
        feature_names=("😀" * MAX_TOKEN_LENGTH,) * 8,
        mask=Mask(("causal", "padding", "window", "painted"), 12, 12, 12, painted),
    )


@given(experiments())
@settings(max_examples=40)
def test_a_saved_experiment_opens_again_as_it_was(experiment):
    opened = from_json(to_json(experiment).encode())

    assert to_plain(opened) == to_plain(experiment)


@pytest.mark.parametrize(
    "encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32"]
)
def test_any_unicode_encoding_is_read(encoding):
    experiment = Experiment.from_preset("cat").with_token_renamed(0, "狗😀")

    assert from_json(to_json(experiment).encode(encoding)).tokens == experiment.tokens


def test_the_text_can_be_read_by_a_person():
    text = to_json(Experiment.from_preset("cat").with_token_renamed(0, "狗"))

    assert text.splitlines() == [
        "{",
        ' "version": 1,',
        ' "preset": "cat",',
        ' "seed": 0,',
        ' "tokens": {',
        '  "0": "狗"',
        " }",
        "}",
    ]


def test_the_largest_experiment_fits_twice_even_with_every_sign_escaped():
    plain = to_plain(largest())
    escaped = json.dumps(plain, indent=1).encode()

    assert to_plain(from_json(escaped)) == plain
    assert len(to_json(largest()).encode()) * 2 < MOST_BYTES
    assert len(escaped) < MOST_BYTES


# --- what is refused


@pytest.mark.parametrize("size", [MOST_BYTES + 1, 2**20])
def test_what_is_too_large_is_refused_before_it_is_read(monkeypatch, size):
    monkeypatch.setattr(json, "loads", lambda *_, **__: pytest.fail("it was read"))

    with pytest.raises(RangeError) as caught:
        from_json(b" " * size)

    assert (caught.value.name, caught.value.value) == ("n_bytes", size)


def test_blanks_up_to_the_limit_are_fine():
    text = with_fields('"d_k": 3')

    assert from_json(text + b" " * (MOST_BYTES - len(text))).d_k == 3


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b" ",
        b"nonsense",
        b"\xff\xfe",
        b"\x00",
        b"{",
        b"{'seed': 0}",
        b'{"seed": 0,}',
        b'{"seed": 01}',
        b'{"seed": +1}',
        b'{"seed": .5}',
        b'{"seed": 0x10}',
        b'{"seed": 0} {"seed": 1}',
        b'{"a": "\xff"}',
        b'{"a": "\n"}',
        b"\x80\x04\x95\x0e\x00\x00\x00\x00\x00\x00\x00\x8c\x02os\x94\x8c\x06system\x94\x93\x94.",
        b"PK\x03\x04",
    ],
    ids=repr,
)
def test_what_is_no_json_is_no_experiment_and_no_fault_of_the_core(content):
    with pytest.raises(ValueError, match=r"."):
        from_json(content)


DEEP = 100_000
TOO_LONG = "9" * 5_000


@pytest.mark.parametrize(
    ("text", "field", "reason"),
    [
        # there twice
        ('"seed": 1', "seed", "is there twice"),
        ('"X": {}, "X": {}', "X", "is there twice"),
        ('"X": {"0": 1, "0": 1}', "X.0", "is there twice"),
        ('"mask": {"kinds": [], "kinds": []}', "mask.kinds", "is there twice"),
        ('"\\u0058": {}, "X": {}', "X", "is there twice"),
        ('"\\u202e": 1, "\\u202e": 1', "\ufffd", "is there twice"),
        # numbers that are none
        ('"X": {"0": NaN}', "X.0", "must be a number of at most 1e+06"),
        ('"X": {"0": -Infinity}', "X.0", "must be a number of at most 1e+06"),
        ('"X": {"0": 1e400}', "X.0", "must be a number of at most 1e+06"),
        (f'"X": {{"0": {TOO_LONG}}}', "X.0", "must be a number of at most 1e+06"),
        (f'"X": {{"0": -{TOO_LONG}}}', "X.0", "must be a number of at most 1e+06"),
        ('"X": {"0": true}', "X.0", "must be a number of at most 1e+06"),
        ('"n_tokens": NaN', "n_tokens", "must be int"),
        ('"n_tokens": 3.0', "n_tokens", "must be int"),
        ('"n_tokens": 3e0', "n_tokens", "must be int"),
        ('"n_tokens": true', "n_tokens", "must be int"),
        (f'"n_tokens": {TOO_LONG}', "n_tokens", "must be int"),
        ('"is_scaled": 1', "is_scaled", "must be bool"),
        # objects where none belong
        ('"X": [1, 2]', "X", "must be dict"),
        ('"X": {"0": {"0": 1}}', "X.0", "must be a number of at most 1e+06"),
        ('"tokens": {"0": {}}', "tokens.0", "must be a text"),
        ('"tokens": {"0": "\\ud83d"}', "tokens.0", "holds control characters"),
        ('"mask": {"painted": {"0": 1}}', "mask.painted.0", "must be bool"),
        # nested deeply
        ('"X": ' + "[" * 500 + "]" * 500, "X", "must be dict"),
        ('"X": ' + '{"0":' * 300 + "1" + "}" * 300, "X.0", "must be a number of at most 1e+06"),
        ('"X": ' + "[" * DEEP + "]" * DEEP, "experiment", "is nested too deeply"),
        ('"X": ' + '{"0":' * 30_000 + "1" + "}" * 30_000, "experiment", "is nested too deeply"),
        # what no message could quote
        (f'"{"y" * 200_000}": 1', "y" * 40, "is unknown"),
        ('"\\u202eX": 1', "\ufffdX", "is unknown"),
        ('"\\ud800\\n": 1', "\ufffd\ufffd", "is unknown"),
        (f'"encoding": "{"y" * 200_000}"', "encoding", "is too long or cannot be shown"),
        ('"encoding": "\\u202e"', "encoding", "is too long or cannot be shown"),
        (f'"mask": {{"kinds": ["{"y" * 99}"]}}', "mask.kinds", "is too long or cannot be shown"),
        ('"mask": {"kinds": ["\\n"]}', "mask.kinds", "is too long or cannot be shown"),
    ],
    ids=lambda value: ascii(value)[:40],
)
def test_what_is_wrong_is_told_by_the_name_of_its_field(text, field, reason):
    with pytest.raises(FieldError) as caught:
        from_json(with_fields(text))

    assert (caught.value.field, caught.value.reason) == (field, reason)


@pytest.mark.parametrize("content", [b"null", b"[]", b"1", b'"seed"', b"true", b"NaN"])
def test_json_that_is_no_object_is_told(content):
    with pytest.raises(FieldError, match="experiment: must be an object"):
        from_json(content)


def test_a_choice_that_does_not_exist_is_told():
    with pytest.raises(ChoiceError, match="encoding must be one of"):
        from_json(with_fields('"encoding": "nope"'))


def test_integers_are_exact_up_to_the_longest_seed():
    assert from_json(b'{"version":1,"preset":"apple","seed":4294967295}').seed == 2**32 - 1


@pytest.mark.parametrize(
    "filling", ['"a":1,', "[],", "9", "[{", '{"":', '"\\u0041",', "1e9,", '{"a":{},"a":']
)
def test_no_file_takes_long(filling):
    count = (MOST_BYTES - 100) // len(filling)
    content = b'{"X":' + (filling * count).encode()

    start = time.process_time()
    with pytest.raises((ValueError, AttentionError)):
        from_json(content)

    assert time.process_time() - start < 1


PARTS = [
    START, "{" + START, "{", "}", "[", "]", ":", ",", '"X"', '"0"', '"mask"', '"kinds"', '"tokens"',
    '"apple"', '"causal"', '"\\u0000"', "1", "-1", "1e9", "NaN", "true", "null", "\ufeff",
]  # fmt: skip


@given(
    st.lists(st.sampled_from(PARTS), max_size=12).map("".join) | st.text(max_size=20),
    st.binary(max_size=4),
)
@settings(max_examples=200)
def test_no_file_at_all_fails_in_another_way(text, tail):
    for content in (text.encode(), text.encode() + tail, f"{{{START},{text}}}".encode()):
        try:
            experiment = from_json(content)
        except (ValueError, AttentionError):
            continue
        assert to_plain(from_plain(to_plain(experiment))) == to_plain(experiment)

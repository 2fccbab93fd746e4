"""An experiment as plain data: nothing is lost on the way, and nothing wrong comes back."""

import json
from dataclasses import fields, is_dataclass, replace

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from attention_core import (
    PRESETS,
    AttentionError,
    Experiment,
    Mask,
    from_plain,
    is_untouched,
    to_plain,
)
from attention_core.canvas import MATRICES, MAX_D_MODEL, MAX_SEED, MAX_TOKENS
from attention_core.errors import ChoiceError, FieldError, RangeError, TokenError
from attention_core.experiment import MASK_KINDS
from attention_core.presets import ENCODINGS
from tests.playground.experiments import LIMITS, experiments, numbers, tokens

UNTOUCHED = {"version": 1, "preset": "apple", "seed": 0}


def sent(experiment):
    """The experiment after a way through JSON."""
    return from_plain(json.loads(json.dumps(to_plain(experiment))))


def assert_same(actual, expected, name="experiment"):
    """Equal in every field of every part, and every number exactly."""
    if isinstance(expected, np.ndarray):
        np.testing.assert_array_equal(actual, expected, name)
    elif is_dataclass(expected):
        for field in fields(expected):
            of_field = (getattr(side, field.name) for side in (actual, expected))
            assert_same(*of_field, f"{name}.{field.name}")
    else:
        assert actual == expected, name


# --- there and back


@given(experiments())
@settings(max_examples=150, deadline=None)
def test_plain_data_gives_the_experiment_back_exactly(experiment):
    back = sent(experiment)

    assert to_plain(back) == to_plain(experiment)
    assert_same(back, experiment)
    assert_same(back.trace(), experiment.trace())


@pytest.mark.parametrize("value", [0.1, 1 / 3, 1e-300, 5e-324, -1e6, 0.1 + 0.2, 123456.789012345])
@pytest.mark.parametrize("matrix", MATRICES)
def test_every_bit_of_a_number_survives(matrix, value):
    start = Experiment.from_preset("apple").with_output_projection(True)
    index = (1, 1) if matrix in ("X", "W_O") else (0, 1, 1)

    back = sent(start.with_cell(matrix, index, value))

    assert getattr(back, matrix)[index] == value


def test_minus_zero_is_zero_from_the_start():
    start = Experiment.from_preset("apple")  # X[0, 1] is 0

    changed = start.with_cell("X", (0, 1), -0.0)

    assert not np.signbit(changed.X[0, 1])
    assert to_plain(changed) == to_plain(start)


def test_what_is_hidden_survives():
    start = Experiment.from_preset("cat").with_output_projection(True)
    edited = start.with_cell("X", (2, 2), 7).with_cell("W_O", (1, 2), 8).with_token_renamed(2, "x")
    small = edited.resized(n_tokens=1, d_model=1, d_k=1).with_output_projection(False)

    back = sent(small).resized(n_tokens=3, d_model=3, d_k=2).with_output_projection(True)

    assert_same(back, edited)


def test_a_removed_token_can_be_brought_back_after_the_way():
    removed = Experiment.from_preset("cat").without_token(0)

    assert_same(sent(removed).with_token_added(), removed.with_token_added())


def test_painted_cells_that_are_hidden_or_off_survive():
    start = Experiment.from_preset("cat").resized(n_tokens=12)
    painted = start.with_painted([(11, 11), (2, 0)], False)
    hidden = replace(painted.resized(n_tokens=1), mask=replace(painted.mask, kinds=()))

    back = sent(hidden)

    assert back.mask.painted == ((2, 0, False), (11, 11, False))
    assert_same(replace(back.resized(n_tokens=12), mask=painted.mask), painted)


# --- what is written


def test_only_what_differs_is_written():
    start = Experiment.from_preset("apple", seed=4)
    mask = Mask(("window", "causal"), before=3)

    changed = start.with_cell("X", (2, 0), 0.25).with_cell("W_Q", (0, 1, 1), 3)
    changed = changed.with_token_renamed(1, "爱").resized(n_tokens=5, d_k=1)
    changed = replace(changed, mask=mask, is_scaled=False, encoding="rotary")
    changed = changed.with_painted([(1, 0)], False).with_painted([(0, 2)], True)
    changed = replace(changed.with_output_projection(True), feature_names=("甜", ""))

    assert to_plain(changed) == {
        "version": 1,
        "preset": "apple",
        "seed": 4,
        "n_tokens": 5,
        "d_k": 1,
        "is_scaled": False,
        "encoding": "rotary",
        "has_W_O": True,
        "mask": {
            "kinds": ["causal", "window", "painted"],
            "before": 3,
            "painted": {"2": True, "12": False},  # query * 12 + key
        },
        "tokens": {"1": "爱"},
        "feature_names": {"0": "甜"},
        "X": {"16": 0.25},  # row 2 of a canvas with 8 columns
        "W_Q": {"9": 3.0},
    }


def test_what_a_preset_has_and_the_experiment_has_not_is_written():
    start = Experiment.from_preset("apple_company")

    changed = replace(start.with_output_projection(False), feature_names=())

    plain = to_plain(changed)
    assert plain["has_W_O"] is False
    assert plain["feature_names"] == {str(i): "" for i in range(6)}
    assert_same(from_plain(plain), changed)


def test_an_edit_taken_back_leaves_three_fields():
    start = Experiment.from_preset("previous_token", seed=8)

    there = start.with_cell("X", (0, 0), 9).resized(n_tokens=2).with_token_renamed(1, "dog")
    there = there.with_painted([(0, 1)], False)
    back = there.with_token_renamed(1, "cat").resized(n_tokens=5).with_cell("X", (0, 0), 0)
    back = back.with_painted([(0, 1)], True)
    back = replace(back, mask=replace(back.mask, kinds=()))

    assert to_plain(back) == {"version": 1, "preset": "previous_token", "seed": 8}


def test_reading_leaves_the_data_alone():
    plain = UNTOUCHED | {"mask": {"kinds": ["causal"]}, "X": {"0": 7}, "tokens": {"0": "x"}}
    before = json.loads(json.dumps(plain))

    from_plain(plain)

    assert plain == before


def test_every_feature_name_an_experiment_accepts_comes_back():
    start = Experiment.from_preset("cat")

    try:
        long = replace(start, feature_names=("a" * 201, "b", "c"))
    except AttentionError:
        return  # refusing it at the door is fine as well
    assert_same(sent(long), long)


# --- malformed data

INDEX = "must be an index"
BELOW_96 = "must be an index below 96"
NUMBER = "must be a number of at most 1e+06"
TEXT = "must be a text"
LONG = "is longer than 200 characters"
QUOTE = "is too long or cannot be shown"


@pytest.mark.parametrize(
    ("change", "field", "reason"),
    [
        # the head
        ({"version": ...}, "version", "is missing"),
        ({"preset": ...}, "preset", "is missing"),
        ({"seed": ...}, "seed", "is missing"),
        ({"version": 2}, "version", "must be 1"),
        ({"version": 0}, "version", "must be 1"),
        ({"version": True}, "version", "must be int"),
        ({"version": 1.0}, "version", "must be int"),
        ({"version": "1"}, "version", "must be int"),
        ({"temperature": 2}, "temperature", "is unknown"),
        ({"canvas": {}}, "canvas", "is unknown"),
        ({1: 2}, "1", "is unknown"),
        ({"preset": 5}, "preset", "must be str"),
        ({"preset": None}, "preset", "must be str"),
        ({"preset": ["apple"]}, "preset", "must be str"),
        ({"seed": "0"}, "seed", "must be int"),
        ({"seed": 0.0}, "seed", "must be int"),
        ({"seed": True}, "seed", "must be int"),
        # settings
        ({"n_tokens": "3"}, "n_tokens", "must be int"),
        ({"n_tokens": True}, "n_tokens", "must be int"),
        ({"n_tokens": 3.0}, "n_tokens", "must be int"),
        ({"d_model": None}, "d_model", "must be int"),
        ({"d_k": [2]}, "d_k", "must be int"),
        ({"n_heads": {}}, "n_heads", "must be int"),
        ({"is_scaled": 1}, "is_scaled", "must be bool"),
        ({"encoding": 0}, "encoding", "must be str"),
        ({"has_W_O": "yes"}, "has_W_O", "must be bool"),
        # mask
        ({"mask": ["causal"]}, "mask", "must be dict"),
        ({"mask": {"kind": []}}, "mask.kind", "is unknown"),
        ({"mask": {"kinds": "causal"}}, "mask.kinds", "must be list"),
        ({"mask": {"before": 1.5}}, "mask.before", "must be int"),
        ({"mask": {"n_padding": True}}, "mask.n_padding", "must be int"),
        ({"mask": {"after": None}}, "mask.after", "must be int"),
        ({"mask": {"painted": [7]}}, "mask.painted", "must be dict"),
        ({"mask": {"painted": {"7": 1}}}, "mask.painted.7", "must be bool"),
        ({"mask": {"painted": {"7": None}}}, "mask.painted.7", "must be bool"),
        ({"mask": {"painted": {"7": "True"}}}, "mask.painted.7", "must be bool"),
        ({"mask": {"painted": {"144": True}}}, "mask.painted.144", "must be an index below 144"),
        ({"mask": {"painted": {"-1": True}}}, "mask.painted.-1", INDEX),
        ({"mask": {"painted": {"07": True}}}, "mask.painted.07", INDEX),
        ({"mask": {"painted": {"0,7": True}}}, "mask.painted.0,7", INDEX),
        ({"mask": {"painted": {7: True}}}, "mask.painted.7", INDEX),
        # what a message would quote
        ({"preset": "a" * 41}, "preset", QUOTE),
        ({"encoding": "rotary\u202e"}, "encoding", QUOTE),
        ({"mask": {"kinds": ["causal", "a" * 41]}}, "mask.kinds", QUOTE),
        ({"mask": {"kinds": ["a\n"]}}, "mask.kinds", QUOTE),
        ({"x" * 50: 1}, "x" * 40, "is unknown"),
        ({"a\n\u202eb": 1}, "a\ufffd\ufffdb", "is unknown"),
        ({"X": {"\u202e1": 1}}, "X.\ufffd1", INDEX),
        # matrices
        ({"X": [1, 2]}, "X", "must be dict"),
        ({"W_Q": 5}, "W_Q", "must be dict"),
        ({"X": {"-1": 1}}, "X.-1", INDEX),
        ({"X": {"96": 1}}, "X.96", BELOW_96),
        ({"X": {"99999": 1}}, "X.99999", INDEX),
        ({"X": {"9999": 1}}, "X.9999", BELOW_96),
        ({"X": {"01": 1}}, "X.01", INDEX),
        ({"X": {"1" * 5000: 1}}, "X." + "1" * 40, INDEX),
        ({"X": {"x": 1}}, "X.x", INDEX),
        ({"X": {"": 1}}, "X.", INDEX),
        ({"X": {"1.0": 1}}, "X.1.0", INDEX),
        ({"X": {" 1": 1}}, "X. 1", INDEX),
        ({"X": {"٣": 1}}, "X.٣", INDEX),
        ({"X": {"²": 1}}, "X.²", INDEX),
        ({"X": {3: 1}}, "X.3", INDEX),
        ({"W_K": {"512": 1}}, "W_K.512", "must be an index below 512"),
        ({"W_O": {"512": 1}}, "W_O.512", "must be an index below 512"),
        ({"X": {"0": "1"}}, "X.0", NUMBER),
        ({"X": {"0": None}}, "X.0", NUMBER),
        ({"X": {"0": [1]}}, "X.0", NUMBER),
        ({"X": {"0": True}}, "X.0", NUMBER),
        ({"X": {"0": float("nan")}}, "X.0", NUMBER),
        ({"X": {"0": float("inf")}}, "X.0", NUMBER),
        ({"X": {"0": 1e7}}, "X.0", NUMBER),
        ({"X": {"0": -1e7}}, "X.0", NUMBER),
        ({"X": {"0": 10**400}}, "X.0", NUMBER),
        ({"X": {"95": 1e7}}, "X.95", NUMBER),  # hidden, so the experiment itself never looks
        ({"W_O": {"511": float("nan")}}, "W_O.511", NUMBER),
        # texts
        ({"tokens": ["a"]}, "tokens", "must be dict"),
        ({"tokens": {"0": 5}}, "tokens.0", TEXT),
        ({"tokens": {"0": None}}, "tokens.0", TEXT),
        ({"tokens": {"0": "x" * 201}}, "tokens.0", LONG),
        ({"tokens": {"11": "x" * 201}}, "tokens.11", LONG),
        ({"tokens": {"12": "x"}}, "tokens.12", "must be an index below 12"),
        ({"tokens": {"x": "x"}}, "tokens.x", INDEX),
        ({"feature_names": {"0": 5}}, "feature_names.0", TEXT),
        ({"feature_names": {"0": "x" * 201}}, "feature_names.0", LONG),
        ({"feature_names": {"8": "x"}}, "feature_names.8", "must be an index below 8"),
    ],
    ids=lambda value: None if isinstance(value, str) else ascii(value)[:40],
)
def test_a_malformed_field_is_refused_by_name(change, field, reason):
    plain = {name: value for name, value in (UNTOUCHED | change).items() if value is not ...}

    with pytest.raises(FieldError) as caught:
        from_plain(plain)

    assert (caught.value.field, caught.value.reason) == (field, reason)
    assert str(caught.value) == f"{field}: {reason}"


@pytest.mark.parametrize(
    ("change", "error", "name"),
    [
        ({"seed": -1}, RangeError, "seed"),
        ({"seed": 2**32}, RangeError, "seed"),
        ({"preset": "nope"}, ChoiceError, "preset"),
        ({"encoding": "nope"}, ChoiceError, "encoding"),
        ({"n_tokens": 0}, RangeError, "n_tokens"),
        ({"n_tokens": 13}, RangeError, "n_tokens"),
        ({"d_model": 9}, RangeError, "d_model"),
        ({"d_k": -1}, RangeError, "d_k"),
        ({"n_heads": 10**30}, RangeError, "n_heads"),
        ({"mask": {"kinds": ["causal", "nope"]}}, ChoiceError, "mask"),
        ({"mask": {"kinds": [["causal"]]}}, ChoiceError, "mask"),
        ({"mask": {"kinds": [None]}}, ChoiceError, "mask"),
        ({"mask": {"before": 99}}, RangeError, "before"),
        ({"mask": {"after": -1}}, RangeError, "after"),
        ({"mask": {"n_padding": 13}}, RangeError, "n_padding"),
    ],
)
def test_a_value_beyond_the_limits_is_refused_by_name(change, error, name):
    with pytest.raises(error) as caught:
        from_plain(UNTOUCHED | change)

    assert caught.value.name == name


def test_a_token_that_cannot_be_shown_is_refused_by_index():
    with pytest.raises(FieldError, match=r"tokens\.1: is empty"):
        from_plain(UNTOUCHED | {"tokens": {"1": " "}})


@pytest.mark.parametrize("token", ["", "\n", "a\x00"])
def test_a_hidden_token_that_cannot_be_shown_is_refused_too(token):
    # Otherwise the experiment is accepted and breaks when the learner adds a token.
    with pytest.raises(AttentionError):
        from_plain(UNTOUCHED | {"tokens": {"3": token}})


def test_a_later_version_is_refused_by_its_version():
    with pytest.raises(FieldError) as caught:
        from_plain(UNTOUCHED | {"version": 2, "temperature": 1})

    assert caught.value.field == "version"


@pytest.mark.parametrize("plain", [None, [], [UNTOUCHED], "experiment", 5, True, {1, 2}])
def test_what_is_no_mapping_is_refused(plain):
    with pytest.raises(FieldError) as caught:
        from_plain(plain)

    assert str(caught.value) == "experiment: must be an object"


# --- any data at all

scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(-2, 14)
    | st.floats()
    | st.text(max_size=5)
    | st.sampled_from(["0", "1", "causal", "rotary", *PRESETS])
)
indices = st.integers(-1, 600).map(str)
json_values = st.recursive(
    scalars,
    lambda values: (
        st.lists(values, max_size=3)
        | st.dictionaries(st.text(max_size=3) | indices, values, max_size=3)
    ),
    max_leaves=8,
)


def changes(values, size):
    """A few places on the canvas with new values."""
    return st.dictionaries(st.integers(0, size - 1).map(str), values, max_size=3)


right = st.fixed_dictionaries(
    {
        "version": st.just(1),
        "preset": st.sampled_from(list(PRESETS)),
        "seed": st.integers(0, MAX_SEED),
    },
    optional={
        **{name: st.integers(1, limit) for name, limit in LIMITS._asdict().items()},
        "is_scaled": st.booleans(),
        "has_W_O": st.booleans(),
        "encoding": st.sampled_from(ENCODINGS),
        "mask": st.fixed_dictionaries(
            {},
            optional={
                "kinds": st.lists(st.sampled_from(MASK_KINDS), max_size=4),
                **dict.fromkeys(("n_padding", "before", "after"), st.integers(0, MAX_TOKENS)),
                "painted": changes(st.booleans(), MAX_TOKENS**2),
            },
        ),
        "tokens": changes(tokens, MAX_TOKENS),
        "feature_names": changes(tokens | st.just(""), MAX_D_MODEL),
        "X": changes(numbers, MAX_TOKENS * MAX_D_MODEL),
        **dict.fromkeys(("W_Q", "W_K", "W_V", "W_O"), changes(numbers, 512)),
    },
)
names = (*MATRICES, "tokens", "feature_names", "mask", "encoding", "is_scaled", "has_W_O")
one_field = st.sampled_from((*names, *LIMITS._fields, "seed", "preset", "version"))
wrong_inside = st.dictionaries(
    indices | st.sampled_from(["kinds", "n_padding", "before", "after", "painted"]),
    json_values,
    max_size=2,
)


@given(json_values)
@example({})
@settings(max_examples=100, deadline=None)
def test_any_json_value_is_refused_with_an_error_of_the_core(value):
    with pytest.raises(AttentionError):
        from_plain(value)


@given(right)
@settings(max_examples=100, deadline=None)
def test_right_data_is_computed_with(plain):
    experiment = from_plain(plain)

    assert np.isfinite(experiment.trace().attention.output).all()
    assert_same(sent(experiment), experiment)


@given(right, st.dictionaries(one_field, json_values | wrong_inside, min_size=1, max_size=1))
@settings(max_examples=200, deadline=None)
def test_data_with_one_odd_field_is_refused_or_computed_with(plain, odd):
    try:
        experiment = from_plain(plain | odd)
    except AttentionError:
        return

    assert np.isfinite(experiment.trace().attention.output).all()
    assert_same(sent(experiment), experiment)


def test_only_an_experiment_as_it_starts_is_untouched():
    start = Experiment.from_preset("cat", seed=3)

    assert is_untouched(to_plain(start))
    assert is_untouched(to_plain(start.with_cell("X", (0, 0), 5).with_cell("X", (0, 0), 1)))
    assert not is_untouched(to_plain(start.with_cell("X", (0, 0), 5)))
    assert not is_untouched(to_plain(start.resized(d_k=3)))


@pytest.mark.parametrize("name", [" ", "\u200b", "\u2028", "\ud800"])
def test_a_feature_name_that_cannot_be_seen_is_refused(name):
    with pytest.raises(TokenError):
        replace(Experiment.from_preset("cat"), feature_names=(name, "b", "c"))

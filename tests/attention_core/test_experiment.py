"""The experiment: its limits, that it is frozen, what it computes, and how it is changed."""

from dataclasses import FrozenInstanceError, fields, replace
from itertools import combinations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from attention_core import Experiment, Mask, scaled_dot_product_attention
from attention_core.canvas import (
    MATRICES,
    MAX_D_K,
    MAX_D_MODEL,
    MAX_HEADS,
    MAX_SEED,
    MAX_TOKENS,
    drawn,
)
from attention_core.errors import (
    ChoiceError,
    DtypeError,
    NotFiniteError,
    RangeError,
    ShapeError,
    TokenError,
)
from attention_core.presets import ENCODINGS

KINDS = ("causal", "padding", "window")
SUBSETS = [kinds for n in range(4) for kinds in combinations(KINDS, n)]


def experiment(n_tokens=3, d_model=2, d_k=2, n_heads=1, **changes):
    """A small experiment in which every number is another one and every setting the default."""
    numbers = np.random.default_rng(0)
    given = {
        "tokens": tuple("abcdefghijklm"[:n_tokens]),
        "X": numbers.normal(size=(n_tokens, d_model)),
        "W_Q": numbers.normal(size=(n_heads, d_model, d_k)),
        "W_K": numbers.normal(size=(n_heads, d_model, d_k)),
        "W_V": numbers.normal(size=(n_heads, d_model, d_k)),
        "W_O": numbers.normal(size=(n_heads * d_k, d_model)),
    }
    return Experiment(**(given | changes))


def assert_same_canvas(actual, expected):
    assert actual.tokens == expected.tokens
    assert actual.feature_names == expected.feature_names
    for name in MATRICES:
        np.testing.assert_array_equal(getattr(actual, name), getattr(expected, name), name)


def assert_same_experiment(actual, expected):
    """Same settings, same shown part, same hidden part."""
    others = {field.name for field in fields(Experiment)} - {"canvas", *MATRICES}
    for name in others:
        assert getattr(actual, name) == getattr(expected, name), name
    assert actual.sizes == expected.sizes
    for name in MATRICES:
        np.testing.assert_array_equal(getattr(actual, name), getattr(expected, name), name)
    assert_same_canvas(actual.canvas, expected.canvas)


# --- limits

MILLION = "must lie between -1000000.0 and 1000000.0, got"


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        # counts
        (lambda: experiment(13), RangeError, "n_tokens must lie between 1 and 12, got 13"),
        (lambda: experiment(0), RangeError, "n_tokens must lie between 1 and 12, got 0"),
        (lambda: experiment(d_model=9), RangeError, "d_model must lie between 1 and 8, got 9"),
        (lambda: experiment(d_model=0), RangeError, "d_model must lie between 1 and 8, got 0"),
        (lambda: experiment(d_k=9), RangeError, "d_k must lie between 1 and 8, got 9"),
        (lambda: experiment(d_k=0), RangeError, "d_k must lie between 1 and 8, got 0"),
        (lambda: experiment(n_heads=9), RangeError, "n_heads must lie between 1 and 8, got 9"),
        (lambda: experiment(n_heads=0), RangeError, "n_heads must lie between 1 and 8, got 0"),
        # tokens
        (lambda: experiment(tokens=("a", "", "c")), TokenError, "token 1: is empty"),
        (lambda: experiment(tokens=("a", "b", " \u3000")), TokenError, "token 2: is empty"),
        (
            lambda: experiment(tokens=("a\n", "b", "c")),
            TokenError,
            "token 0: holds control characters",
        ),
        (
            lambda: experiment(tokens=("a", "b\x7f", "c")),
            TokenError,
            "token 1: holds control characters",
        ),
        (
            lambda: experiment(tokens=("a", "b", "c" * 201)),
            TokenError,
            "token 2: is longer than 200 characters",
        ),
        # values
        (
            lambda: experiment(X=[[1, 2], [3, np.nan], [5, 6]]),
            NotFiniteError,
            "X must be finite, but is not at index (1, 1)",
        ),
        (
            lambda: experiment(W_Q=[[[1, 2], [np.inf, 4]]]),
            NotFiniteError,
            "W_Q must be finite, but is not at index (0, 1, 0)",
        ),
        (
            lambda: experiment(W_K=[[[1, 2], [3, -np.inf]]]),
            NotFiniteError,
            "W_K must be finite, but is not at index (0, 1, 1)",
        ),
        (
            lambda: experiment(W_V=[[[np.nan, 2], [3, 4]]]),
            NotFiniteError,
            "W_V must be finite, but is not at index (0, 0, 0)",
        ),
        (
            lambda: experiment(W_O=[[1, np.nan], [3, 4]]),
            NotFiniteError,
            "W_O must be finite, but is not at index (0, 1)",
        ),
        (lambda: experiment(X=[[1, 2], [1e7, 4], [5, 6]]), RangeError, f"X {MILLION} 10000000.0"),
        (lambda: experiment(W_Q=[[[1, 2], [3, -1e7]]]), RangeError, f"W_Q {MILLION} -10000000.0"),
        (lambda: experiment(W_K=[[[1e7, 2], [3, 4]]]), RangeError, f"W_K {MILLION} 10000000.0"),
        (lambda: experiment(W_V=[[[1, 2e6], [3, 4]]]), RangeError, f"W_V {MILLION} 2000000.0"),
        (lambda: experiment(W_O=[[1, 2], [3, 1e6 + 1]]), RangeError, f"W_O {MILLION} 1000001.0"),
        # kinds of values
        (lambda: experiment(X=[["1", "2"]] * 3), DtypeError, "X must hold real numbers, got <U1"),
        (
            lambda: experiment(W_K=[[[True, False]] * 2]),
            DtypeError,
            "W_K must hold real numbers, got bool",
        ),
        # shapes
        (
            lambda: experiment(X=np.ones((2, 2))),
            ShapeError,
            "X must have shape (3, d_model), got (2, 2)",
        ),
        (
            lambda: experiment(W_Q=np.ones((1, 3, 2))),
            ShapeError,
            "W_Q must have shape (n_heads, 2, d_k), got (1, 3, 2)",
        ),
        (
            lambda: experiment(W_Q=np.ones((2, 2))),
            ShapeError,
            "W_Q must have shape (n_heads, 2, d_k), got (2, 2)",
        ),
        (
            lambda: experiment(W_K=np.ones((1, 2, 3))),
            ShapeError,
            "W_K must have shape (1, 2, 2), got (1, 2, 3)",
        ),
        (
            lambda: experiment(W_V=np.ones((2, 2, 2))),
            ShapeError,
            "W_V must have shape (1, 2, 2), got (2, 2, 2)",
        ),
        (
            lambda: experiment(W_O=np.ones((2, 3))),
            ShapeError,
            "W_O must have shape (2, 2), got (2, 3)",
        ),
        (
            lambda: experiment(n_heads=2, W_O=np.ones((2, 2))),
            ShapeError,
            "W_O must have shape (4, 2), got (2, 2)",
        ),
        (
            lambda: experiment(X=np.ones((1, 3, 2))),
            ShapeError,
            "X must have shape (3, d_model), got (1, 3, 2)",
        ),
        (
            lambda: experiment(W_Q=np.ones((1, 1, 2, 2))),
            ShapeError,
            "W_Q must have shape (n_heads, 2, d_k), got (1, 1, 2, 2)",
        ),
        (
            lambda: experiment(W_O=np.ones((1, 2, 2))),
            ShapeError,
            "W_O must have shape (2, 2), got (1, 2, 2)",
        ),
        (
            lambda: experiment(feature_names=("one",)),
            ShapeError,
            "feature_names must have shape (2,), got (1,)",
        ),
        # settings
        (lambda: experiment(seed=-1), RangeError, "seed must lie between 0 and 4294967295, got -1"),
        (
            lambda: experiment(seed=2**32),
            RangeError,
            "seed must lie between 0 and 4294967295, got 4294967296",
        ),
        (
            lambda: experiment(preset="pear"),
            ChoiceError,
            "preset must be one of apple, cat, apple_company, apple_fruit, repeated,"
            " previous_token, identity, uniform, random, got 'pear'",
        ),
        (
            lambda: experiment(encoding="binary"),
            ChoiceError,
            "encoding must be one of none, sinusoidal, learned, rotary, alibi, got 'binary'",
        ),
        (
            lambda: Mask(("causal", "sparse")),
            ChoiceError,
            "mask must be one of causal, padding, window, got 'sparse'",
        ),
        (
            lambda: Mask(n_padding=13),
            RangeError,
            "n_padding must lie between 0 and 12, got 13",
        ),
        (lambda: Mask(before=-1), RangeError, "before must lie between 0 and 12, got -1"),
        (lambda: Mask(after=99), RangeError, "after must lie between 0 and 12, got 99"),
        (
            lambda: Experiment.from_preset("pear"),
            ChoiceError,
            "preset must be one of apple, cat, apple_company, apple_fruit, repeated,"
            " previous_token, identity, uniform, random, got 'pear'",
        ),
        (
            lambda: Experiment.from_preset(seed=-1),
            RangeError,
            "seed must lie between 0 and 4294967295, got -1",
        ),
    ],
)
def test_what_is_beyond_a_limit_is_refused_by_name(make, error, message):
    with pytest.raises(error) as caught:
        make()

    assert str(caught.value) == message


def test_the_limits_themselves_are_allowed():
    largest = {"n_tokens": 12, "d_model": 8, "d_k": 8, "n_heads": 8}

    made = experiment(
        **largest,
        tokens=("x" * 200,) * 12,
        X=np.full((12, 8), -1e6),
        seed=MAX_SEED,
        mask=Mask(KINDS, n_padding=0, before=12, after=12),
    )

    assert made.sizes._asdict() == largest == experiment(**largest).sizes._asdict()
    experiment(1, 1, 1, 1, seed=0)


def test_numbers_at_the_limit_stay_finite():
    # 1e308 would be allowed by "finite" alone, and its scores would be inf, its weights NaN.
    largest = experiment(12, 8, 8, 8)
    million = {name: np.full(getattr(largest, name).shape, 1e6) for name in MATRICES}
    million["X"][::2] *= -1

    for is_scaled in (True, False):
        attention = replace(largest, **million, is_scaled=is_scaled).trace().attention
        assert np.isfinite(attention.heads.weights).all()
        assert np.isfinite(attention.output).all()


def test_a_text_that_utf_8_cannot_hold_is_refused():
    with pytest.raises(TokenError):
        experiment(tokens=("a", "b", "\ud800"))


def test_repeated_tokens_are_fine():
    assert experiment(tokens=("the", "cat", "the")).tokens == ("the", "cat", "the")


def test_feature_names_that_are_all_empty_are_none():
    assert experiment(feature_names=("", "")).feature_names == ()
    assert experiment(feature_names=("", "size")).feature_names == ("", "size")


# --- frozen


@pytest.mark.parametrize("name", [field.name for field in fields(Experiment)])
def test_no_field_can_be_set(name):
    made = experiment()

    with pytest.raises(FrozenInstanceError):
        setattr(made, name, getattr(made, name))


@pytest.mark.parametrize("name", MATRICES)
def test_no_array_can_be_written_into(name):
    made = experiment()

    for array in (getattr(made, name), getattr(made.canvas, name)):
        with pytest.raises(ValueError, match="read-only"):
            array[0, 0] = 7


@pytest.mark.parametrize("name", MATRICES)
def test_an_array_given_is_copied(name):
    given = np.array(getattr(experiment(), name))
    made = experiment(**{name: given})
    before = given.copy()

    given[...] = 7

    np.testing.assert_array_equal(getattr(made, name), before)
    assert 7 not in getattr(made.canvas, name)


def test_a_list_given_is_copied():
    tokens = ["a", "b", "c"]
    made = experiment(tokens=tokens)

    tokens[0] = "other"

    assert made.tokens == ("a", "b", "c")


def test_a_change_leaves_the_original_alone():
    made, untouched = experiment(), experiment()

    made.with_cell("X", (0, 0), 7)
    made.without_token(0).with_token_added().with_token_renamed(0, "other")
    made.resized(n_tokens=1, d_model=1, d_k=1).resized(n_heads=8)
    made.with_output_projection(False)
    made.randomized(9)

    assert_same_experiment(made, untouched)


# --- mask


def test_masks_that_are_on_are_listed_once_and_in_order():
    assert Mask(("window", "causal", "window")).kinds == ("causal", "window")
    assert Mask(("window", "causal")) == Mask(("causal", "window"))


def test_without_a_mask_all_may_attend_to_all():
    assert Mask(n_padding=3, before=0, after=0).allowed(4).tolist() == [[True] * 4] * 4


def test_masks_combine_by_hand():
    # Four tokens, the last one filling; one step back, none ahead.
    mask = Mask(KINDS, n_padding=1, before=1, after=2)

    allowed = mask.allowed(4)

    np.testing.assert_array_equal(
        allowed, np.array([[1, 0, 0, 0], [1, 1, 0, 0], [0, 1, 1, 0], [0, 0, 1, 0]], dtype=bool)
    )


@pytest.mark.parametrize("kinds", SUBSETS)
def test_a_key_is_allowed_by_all_masks_that_are_on(kinds):
    mask = Mask(kinds, n_padding=2, before=2, after=1)

    expected = [[may_attend(mask, 6, query, key) for key in range(6)] for query in range(6)]

    np.testing.assert_array_equal(mask.allowed(6), expected)


# --- what it computes


def may_attend(mask, n_tokens, query, key):
    """The masks in words, apart from attention_core.masks."""
    return (
        ("causal" not in mask.kinds or key <= query)
        and ("padding" not in mask.kinds or key < n_tokens - mask.n_padding)
        and ("window" not in mask.kinds or -mask.before <= key - query <= mask.after)
    )


def positions_added(encoding, n_tokens, d_model, seed):
    """The table that is added to X, from its definition."""
    table = np.zeros((n_tokens, d_model))
    if encoding == "sinusoidal":
        for p, column in np.ndindex(*table.shape):
            angle = p / 10_000 ** ((column - column % 2) / d_model)
            table[p, column] = np.cos(angle) if column % 2 else np.sin(angle)
    if encoding == "learned":
        drawn_table = np.random.default_rng([seed, 5]).standard_normal((MAX_TOKENS, MAX_D_MODEL))
        table += 0.5 * drawn_table[:n_tokens, :d_model]
    return table


def rotated(vectors):
    """Rotary positions as a product of complex numbers; for an even width."""
    n_tokens, width = vectors.shape
    speed = 10_000.0 ** (-np.arange(0, width, 2) / width)
    pairs = (vectors[:, 0::2] + 1j * vectors[:, 1::2]) * np.exp(
        1j * np.arange(n_tokens)[:, None] * speed
    )
    return np.stack([pairs.real, pairs.imag], axis=-1).reshape(n_tokens, width)


def head_arguments(made, head):
    """Q, K, V, allowed, bias and scale of one head, without the experiment's own route."""
    n = made.n_tokens
    inputs = made.X + positions_added(made.encoding, n, made.d_model, made.seed)
    Q, K, V = (inputs @ W[head] for W in (made.W_Q, made.W_K, made.W_V))
    if made.encoding == "rotary":
        Q, K = rotated(Q), rotated(K)
    # Press et al.: two heads fall by 2^-4 and 2^-8 a token, one head by 2^-8.
    slope = 2.0 ** (-8 * (head + 1) / made.n_heads) if made.encoding == "alibi" else 0
    bias = [[-slope * abs(query - key) for key in range(n)] for query in range(n)]
    allowed = [[may_attend(made.mask, n, query, key) for key in range(n)] for query in range(n)]
    scale = made.d_k**-0.5 if made.is_scaled else 1.0
    return Q, K, V, np.array(allowed), np.array(bias), scale


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("kinds", SUBSETS, ids="-".join)
@pytest.mark.parametrize("n_heads", [1, 2])
@pytest.mark.parametrize("is_scaled", [True, False])
def test_the_trace_is_that_of_the_core(encoding, kinds, n_heads, is_scaled):
    mask = Mask(kinds, n_padding=2, before=1, after=1)
    made = experiment(5, 3, 4, n_heads, mask=mask, encoding=encoding, is_scaled=is_scaled, seed=6)

    trace = made.trace()
    without_W_O = made.with_output_projection(False).trace()

    table = positions_added(encoding, 5, 3, seed=6)
    np.testing.assert_array_equal(trace.X, made.X)
    np.testing.assert_allclose(trace.inputs, made.X + table, atol=1e-12)
    assert (trace.positions is None) == (encoding not in ("sinusoidal", "learned"))
    assert (trace.bias is None) == (encoding != "alibi")
    for head in range(n_heads):
        Q, K, V, allowed, bias, scale = head_arguments(made, head)
        expected = scaled_dot_product_attention(
            Q, K, V, allowed=allowed, bias=bias, scale=scale, empty_rows="zeros"
        )
        steps = trace.attention.head(head)
        np.testing.assert_array_equal(steps.allowed, allowed)
        for name in (
            "Q",
            "K",
            "V",
            "scores",
            "scaled_scores",
            "masked_scores",
            "weights",
            "output",
        ):
            np.testing.assert_allclose(
                getattr(steps, name), getattr(expected, name), atol=1e-12, err_msg=name
            )
    concatenated = np.concatenate(trace.attention.head_outputs, axis=-1)
    np.testing.assert_array_equal(without_W_O.attention.output, concatenated)
    np.testing.assert_allclose(trace.attention.output, concatenated @ made.W_O, atol=1e-12)


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("is_scaled", [True, False])
def test_pytorch_gives_the_same_output(encoding, is_scaled):
    mask = Mask(KINDS, n_padding=1, before=2, after=1)
    made = experiment(6, 4, 4, 2, mask=mask, encoding=encoding, is_scaled=is_scaled, seed=6)

    output = made.trace().attention.output

    heads = []
    for head in range(made.n_heads):
        Q, K, V, allowed, bias, scale = head_arguments(made, head)
        Q, K, V, attn_mask = map(torch.tensor, (Q, K, V, np.where(allowed, bias, -np.inf)))
        heads.append(
            torch.nn.functional.scaled_dot_product_attention(
                Q, K, V, attn_mask=attn_mask, scale=scale
            )
        )
    expected = torch.cat(heads, dim=-1) @ torch.tensor(made.W_O)
    np.testing.assert_allclose(output, expected, atol=1e-12)


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("kinds", [("padding",), KINDS])
def test_when_all_is_padding_weights_and_output_are_zero(encoding, kinds):
    made = experiment(mask=Mask(kinds, n_padding=12), encoding=encoding)

    attention = made.trace().attention

    np.testing.assert_array_equal(attention.heads.weights, np.zeros((1, 3, 3)))
    np.testing.assert_array_equal(attention.output, np.zeros((3, 2)))


def test_a_token_that_sees_only_padding_gets_zero_and_the_others_their_share():
    made = experiment(mask=Mask(("padding", "window"), n_padding=1, before=0, after=0))

    weights = made.trace().attention.heads.weights

    np.testing.assert_array_equal(weights, [np.diag([1.0, 1.0, 0.0])])


# --- resizing

sizes = st.fixed_dictionaries(
    {},
    optional={
        "n_tokens": st.integers(1, MAX_TOKENS),
        "d_model": st.integers(1, MAX_D_MODEL),
        "d_k": st.integers(1, MAX_D_K),
        "n_heads": st.integers(1, MAX_HEADS),
    },
)


def resized_by(start, steps):
    for step in steps:
        start = start.resized(**step)
    return start


@given(st.lists(sizes, max_size=6), st.booleans())
@settings(max_examples=60, deadline=None)
def test_resizing_back_gives_back_everything(steps, has_W_O):
    start = experiment(4, 3, 2, 2, feature_names=("one", "", "three"))
    start = start.with_output_projection(has_W_O)

    back = resized_by(start, steps).resized(**start.sizes._asdict())

    assert_same_experiment(back, start)


@given(st.lists(sizes, max_size=4), st.lists(sizes, max_size=4), sizes)
@settings(max_examples=60, deadline=None)
def test_a_size_shows_the_same_numbers_whichever_way_it_is_reached(one_way, other_way, end):
    start = experiment(4, 3, 2, 2)
    end = start.sizes._asdict() | end

    assert_same_experiment(resized_by(start, [*one_way, end]), resized_by(start, [*other_way, end]))


def test_resizing_changes_only_the_sizes_asked_for():
    small = experiment(4, 3, 2, 2)

    resized = small.resized(n_tokens=5, d_k=1)

    assert resized.sizes == (5, 3, 1, 2)
    assert resized.X.shape == (5, 3)
    assert resized.W_Q.shape == resized.W_K.shape == resized.W_V.shape == (2, 3, 1)
    assert resized.W_O.shape == (2, 3)


def test_new_rows_and_columns_come_from_the_seed_and_their_place():
    small, canvas = experiment(seed=4), drawn(4)

    large = small.resized(n_tokens=12, d_model=8, d_k=8, n_heads=8)

    assert large.tokens == ("a", "b", "c", "t4", "t5", "t6", "t7", "t8", "t9", "t10", "t11", "t12")
    np.testing.assert_array_equal(large.X[:3, :2], small.X)
    np.testing.assert_array_equal(large.X[3:], canvas.X[3:])
    np.testing.assert_array_equal(large.X[:, 2:], canvas.X[:, 2:])
    for name in ("W_Q", "W_K", "W_V"):
        shown, small_part = getattr(large, name), getattr(small, name)
        np.testing.assert_array_equal(shown[:1, :2, :2], small_part)
        np.testing.assert_array_equal(shown[1:], getattr(canvas, name)[1:])
        np.testing.assert_array_equal(shown[:, 2:], getattr(canvas, name)[:, 2:])
        np.testing.assert_array_equal(shown[:, :, 2:], getattr(canvas, name)[:, :, 2:])


def test_a_head_keeps_its_rows_of_W_O_when_d_k_changes():
    two_heads = experiment(d_k=2, n_heads=2)

    narrow = two_heads.resized(d_k=1)

    np.testing.assert_array_equal(narrow.W_O, two_heads.W_O[[0, 2]])


@pytest.mark.parametrize(
    ("matrix", "index"),
    [("X", (3, 2)), ("W_Q", (1, 2, 1)), ("W_K", (1, 2, 1)), ("W_V", (1, 2, 1)), ("W_O", (3, 2))],
)
def test_an_edit_survives_shrinking_and_growing(matrix, index):
    edited = experiment(4, 3, 2, 2).with_cell(matrix, index, 0.125)

    smallest = edited.resized(n_tokens=1, d_model=1, d_k=1, n_heads=1)
    back = smallest.resized(n_tokens=4, d_model=3, d_k=2, n_heads=2)

    assert 0.125 not in getattr(smallest, matrix)
    assert getattr(back, matrix)[index] == 0.125


def test_an_edit_while_small_is_still_there_when_large():
    start = experiment()

    grown = start.resized(n_tokens=2, d_model=1).with_cell("X", (1, 0), 0.125).resized(n_tokens=3)

    assert grown.X.tolist() == [[start.X[0, 0]], [0.125], [start.X[2, 0]]]


@pytest.mark.parametrize(
    ("size", "message"),
    [
        ({"n_tokens": 13}, "n_tokens must lie between 1 and 12, got 13"),
        ({"d_model": 0}, "d_model must lie between 1 and 8, got 0"),
        ({"d_k": 9}, "d_k must lie between 1 and 8, got 9"),
        ({"n_heads": -1}, "n_heads must lie between 1 and 8, got -1"),
    ],
)
def test_a_size_beyond_its_limit_is_refused(size, message):
    with pytest.raises(RangeError) as caught:
        experiment().resized(**size)

    assert str(caught.value) == message


# --- the output projection


def test_switching_W_O_off_and_on_keeps_it():
    start = experiment(n_heads=2)

    off = start.with_output_projection(False)

    assert off.W_O is None
    assert_same_experiment(off.with_output_projection(True), start)


def test_W_O_is_kept_through_edits_and_resizes_while_off():
    start = experiment(n_heads=2)

    off = start.with_output_projection(False).with_cell("X", (0, 0), 7).resized(d_k=5, n_heads=8)
    back = off.resized(d_k=2, n_heads=2).with_output_projection(True)

    np.testing.assert_array_equal(back.W_O, start.W_O)


def test_the_first_W_O_is_drawn_from_the_seed():
    apple = Experiment.from_preset("apple", seed=4)

    projected = apple.with_output_projection(True)

    np.testing.assert_array_equal(projected.W_O, drawn(4).W_O[0, :2, :2])


# --- cells


@pytest.mark.parametrize(
    ("matrix", "index"),
    [("X", (2, 1)), ("W_Q", (1, 1, 0)), ("W_K", (1, 1, 0)), ("W_V", (1, 1, 0)), ("W_O", (3, 0))],
)
def test_with_cell_changes_that_cell_alone(matrix, index):
    start = experiment(n_heads=2)
    changed = {name: getattr(start, name).copy() for name in MATRICES}
    changed[matrix][index] = -2.5

    edited = start.with_cell(matrix, index, -2.5)

    assert_same_experiment(edited, replace(start, **changed))
    assert getattr(start, matrix)[index] != -2.5


INSIDE_X = "index must have shape (0..2, 0..1), got"
INSIDE_W_V = "index must have shape (0..0, 0..1, 0..1), got"


@pytest.mark.parametrize(
    ("matrix", "index", "value", "error", "message"),
    [
        ("Q", (0, 0), 1, ChoiceError, "matrix must be one of X, W_Q, W_K, W_V, W_O, got 'Q'"),
        ("X", (3, 0), 1, ShapeError, f"{INSIDE_X} (3, 0)"),
        ("X", (0, -1), 1, ShapeError, f"{INSIDE_X} (0, -1)"),
        ("X", (0,), 1, ShapeError, f"{INSIDE_X} (0,)"),
        ("X", (0, 0, 0), 1, ShapeError, f"{INSIDE_X} (0, 0, 0)"),
        ("W_V", (1, 0, 0), 1, ShapeError, f"{INSIDE_W_V} (1, 0, 0)"),
        ("W_V", (0, 0), 1, ShapeError, f"{INSIDE_W_V} (0, 0)"),
        ("X", (2, 1), np.nan, NotFiniteError, "X must be finite, but is not at index (2, 1)"),
        ("W_O", (0, 1), np.inf, NotFiniteError, "W_O must be finite, but is not at index (0, 1)"),
        ("X", (0, 0), 1e7, RangeError, f"X {MILLION} 10000000.0"),
        ("X", (0, 0), -1e7, RangeError, f"X {MILLION} -10000000.0"),
    ],
)
def test_with_cell_refuses_by_name(matrix, index, value, error, message):
    with pytest.raises(error) as caught:
        experiment().with_cell(matrix, index, value)

    assert str(caught.value) == message


def test_with_cell_refuses_W_O_while_it_is_off():
    off = experiment().with_output_projection(False)

    with pytest.raises(ChoiceError) as caught:
        off.with_cell("W_O", (0, 0), 1)

    assert str(caught.value) == "matrix must be one of X, W_Q, W_K, W_V, got 'W_O'"


# --- tokens


def test_renaming_changes_the_text_alone():
    start = experiment()

    renamed = start.with_token_renamed(1, "other")

    assert_same_experiment(renamed, replace(start, tokens=("a", "other", "c")))


def test_removing_a_token_takes_its_vector_along():
    start = experiment(4)

    removed = start.without_token(1)

    assert removed.tokens == ("a", "c", "d")
    np.testing.assert_array_equal(removed.X, start.X[[0, 2, 3]])


def test_adding_brings_back_the_last_one_removed():
    start = experiment(4)

    once = start.without_token(1).with_token_added()
    twice = start.without_token(0).without_token(0).with_token_added().with_token_added()

    assert once.tokens == ("a", "c", "d", "b")
    np.testing.assert_array_equal(once.X, start.X[[0, 2, 3, 1]])
    assert twice.tokens == ("c", "d", "b", "a")
    np.testing.assert_array_equal(twice.X, start.X[[2, 3, 1, 0]])


def test_removing_the_last_token_and_adding_it_changes_nothing():
    start = experiment(feature_names=("one", "two"))

    assert_same_experiment(start.without_token(2).with_token_added(), start)


def test_adding_to_an_untouched_experiment_draws_from_the_seed():
    added = experiment(seed=4).with_token_added()

    assert added.tokens == ("a", "b", "c", "t4")
    np.testing.assert_array_equal(added.X[3], drawn(4).X[3, :2])


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        (
            lambda: experiment().with_token_renamed(3, "x"),
            RangeError,
            "index must lie between 0 and 2, got 3",
        ),
        (
            lambda: experiment().with_token_renamed(-1, "x"),
            RangeError,
            "index must lie between 0 and 2, got -1",
        ),
        (lambda: experiment().with_token_renamed(1, " "), TokenError, "token 1: is empty"),
        (
            lambda: experiment().without_token(3),
            RangeError,
            "index must lie between 0 and 2, got 3",
        ),
        (
            lambda: experiment().without_token(-1),
            RangeError,
            "index must lie between 0 and 2, got -1",
        ),
        (
            lambda: experiment(1).without_token(0),
            RangeError,
            "n_tokens must lie between 1 and 12, got 0",
        ),
        (
            lambda: experiment(12).with_token_added(),
            RangeError,
            "n_tokens must lie between 1 and 12, got 13",
        ),
    ],
)
def test_a_token_change_that_cannot_be_is_refused(change, error, message):
    with pytest.raises(error) as caught:
        change()

    assert str(caught.value) == message


# --- a new draw


def test_randomizing_keeps_tokens_sizes_and_settings():
    mask = Mask(("window",), n_padding=3, before=2, after=0)
    start = experiment(
        4, 3, 2, 2, mask=mask, is_scaled=False, encoding="rotary", preset="apple"
    ).without_token(0)

    other = start.randomized(5)

    assert other.tokens == ("b", "c", "d")
    assert other.with_token_added().tokens == ("b", "c", "d", "a")
    assert other.sizes == (3, 3, 2, 2)
    assert (other.mask, other.is_scaled, other.encoding) == (mask, False, "rotary")
    assert (other.seed, other.preset) == (5, "random")
    assert start.with_output_projection(False).randomized(5).W_O is None


def test_randomized_numbers_come_from_the_seed_alone():
    one, other = experiment(seed=1, feature_names=("one", "two")), Experiment.from_preset("apple")
    other = other.with_cell("X", (0, 0), 7).with_output_projection(True)

    one, other = (start.with_token_renamed(0, "a").randomized(5) for start in (one, other))

    for name in MATRICES:
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
        np.testing.assert_array_equal(getattr(one.canvas, name), getattr(drawn(5), name))
    assert one.feature_names == other.feature_names == ()


def test_another_seed_gives_other_numbers():
    for name in MATRICES:
        one, other = (getattr(experiment().randomized(seed), name) for seed in (5, 6))
        assert not np.array_equal(one, other)
    one, other = (
        replace(experiment(), encoding="learned").randomized(seed).trace().positions
        for seed in (5, 6)
    )
    assert not np.array_equal(one, other)


def test_each_matrix_has_numbers_of_its_own():
    canvas = drawn(0)

    stacks = [getattr(canvas, name).ravel()[:96] for name in MATRICES]

    for i, one in enumerate(stacks):
        for other in stacks[:i]:
            assert np.mean(one == other) < 0.1


def test_randomizing_refuses_a_seed_beyond_the_limit():
    with pytest.raises(RangeError) as caught:
        experiment().randomized(2**32)

    assert str(caught.value) == "seed must lie between 0 and 4294967295, got 4294967296"

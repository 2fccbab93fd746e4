"""The experiment: its limits, that it is frozen, what it computes, and how it is changed."""

from dataclasses import FrozenInstanceError, fields, replace

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
from attention_core.experiment import MASK_KINDS
from attention_core.presets import ENCODINGS
from tests.playground.experiments import (
    MASKS,
    PAINTED,
    RULES,
    blocks,
    cells,
    experiments,
    masks,
)


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
            "mask must be one of causal, padding, window, painted, got 'sparse'",
        ),
        (
            lambda: Mask(painted=[(0, 12, True)]),
            RangeError,
            "painted must lie between 0 and 11, got 12",
        ),
        (
            lambda: Mask(painted=[(-1, 0, True)]),
            RangeError,
            "painted must lie between 0 and 11, got -1",
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
        mask=Mask(RULES, n_padding=0, before=12, after=12),
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
    made.with_block("W_Q", (0, 0, 0), [[7, 8], [9, 10]])
    made.with_painted([(0, 1)], False)
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
    mask = Mask(RULES, n_padding=1, before=1, after=2)

    allowed = mask.allowed(4)

    np.testing.assert_array_equal(
        allowed, np.array([[1, 0, 0, 0], [1, 1, 0, 0], [0, 1, 1, 0], [0, 0, 1, 0]], dtype=bool)
    )


@pytest.mark.parametrize("kinds", MASKS)
def test_a_key_is_allowed_by_all_masks_that_are_on(kinds):
    mask = Mask(kinds, n_padding=2, before=2, after=1, painted=PAINTED)

    expected = [[may_attend(mask, 6, query, key) for key in range(6)] for query in range(6)]

    np.testing.assert_array_equal(mask.allowed(6), expected)


# --- the mask painted by hand


def test_painted_cells_stand_in_order_once_and_the_last_word_counts():
    mask = Mask(painted=[(1, 0, True), (0, np.int64(11), 1), (1, 0, np.bool_(False))])

    assert mask.painted == ((0, 11, True), (1, 0, False))
    assert {type(part) for cell in mask.painted for part in cell} == {int, bool}


def test_a_cell_painted_by_hand():
    # Causal: the first token sees itself alone; the last one sees all.
    causal = experiment(mask=Mask(("causal",)))

    painted = causal.with_painted([(0, 2)], True).with_painted([(2, 0), (2, 1)], False)

    assert painted.mask.kinds == ("causal", "painted")
    assert painted.mask.painted == ((0, 2, True), (2, 0, False), (2, 1, False))
    assert painted.mask.allowed(3).tolist() == [
        [True, False, True],
        [True, True, False],
        [False, False, True],
    ]


def test_a_row_emptied_by_hand_gets_weights_and_output_0():
    emptied = experiment().with_painted([(1, 0), (1, 1), (1, 2)], False)

    attention = emptied.trace().attention

    assert attention.heads.weights[0, 1].tolist() == [0, 0, 0]
    assert attention.output[1].tolist() == [0, 0]
    np.testing.assert_allclose(attention.heads.weights[0, [0, 2]].sum(axis=-1), 1)


@given(masks, st.data())
def test_painting_sets_these_cells_and_no_other(mask, data):
    start = experiment(4, mask=mask)
    chosen, is_allowed = data.draw(cells(start)), data.draw(st.booleans())
    expected = mask.allowed(4)
    for cell in chosen:
        expected[cell] = is_allowed

    painted = start.with_painted(chosen, is_allowed)

    np.testing.assert_array_equal(painted.mask.allowed(4), expected)
    assert_same_experiment(replace(painted, mask=mask), start)


@given(masks, masks)
def test_a_painted_cell_holds_whatever_the_rules_say(mask, other):
    on = replace(other, kinds=(*other.kinds, "painted"), painted=mask.painted)

    allowed = on.allowed(MAX_TOKENS)

    assert all(allowed[query, key] == flag for query, key, flag in mask.painted)


@given(masks, st.data())
def test_painting_a_cell_back_to_what_the_rules_give_lets_it_go(mask, data):
    start = experiment(4, mask=mask)
    rules = replace(mask, kinds=tuple(kind for kind in mask.kinds if kind != "painted"))
    by_rule = rules.allowed(4)
    chosen, is_allowed = data.draw(cells(start)), data.draw(st.booleans())

    there = start.with_painted(chosen, is_allowed)
    back = there
    for flag in (True, False):
        back = back.with_painted([cell for cell in chosen if by_rule[cell] == flag], flag)

    before = mask.painted if "painted" in mask.kinds else ()
    kept = {(q, k, flag) for q, k, flag in before if (q, k) not in chosen}
    against = {(*cell, is_allowed) for cell in chosen if by_rule[cell] != is_allowed}
    assert set(there.mask.painted) == kept | against
    assert set(back.mask.painted) == kept


def test_a_painted_cell_that_a_new_rule_agrees_with_is_kept():
    painted = experiment().with_painted([(0, 1)], False).mask

    causal = replace(painted, kinds=("causal", "painted"))

    assert causal.painted == ((0, 1, False),)
    assert replace(causal, kinds=("painted",)) == painted


def test_painted_cells_are_remembered_while_they_are_off():
    mask = Mask(("causal",), painted=((0, 2, True),))

    assert mask.allowed(3).tolist() == Mask(("causal",)).allowed(3).tolist()
    assert mask.only("painted").allowed(3).tolist() == Mask().allowed(3).tolist()
    assert replace(mask, kinds=("causal", "painted")).allowed(3)[0, 2]


def test_painting_anew_brings_back_no_cell_that_was_off():
    off = experiment(mask=Mask(("causal",), painted=((0, 2, True),)))

    assert off.with_painted([(1, 0)], False).mask.painted == ((1, 0, False),)


def test_painted_cells_go_with_their_tokens():
    # b sees nothing of d; c is seen by a alone.
    mask = Mask(("painted",), painted=((0, 2, True), (1, 2, False), (1, 3, False), (3, 2, False)))
    start = experiment(4, mask=mask)

    removed = start.without_token(2)

    assert removed.tokens == ("a", "b", "d")
    assert removed.mask.allowed(3).tolist() == [[True] * 3, [True, True, False], [True] * 3]
    back = removed.with_token_added()
    assert back.tokens == ("a", "b", "d", "c")
    assert back.mask.painted == ((0, 3, True), (1, 2, False), (1, 3, False), (2, 3, False))


@given(masks, st.integers(0, 4))
def test_a_removed_token_takes_its_painted_cells_and_brings_them_back(mask, index):
    start = experiment(5, mask=mask.only("painted"))
    before = start.mask.allowed(5)
    order = [*(i for i in range(5) if i != index), index]

    removed = start.without_token(index)
    back = removed.with_token_added()

    without = np.delete(np.delete(before, index, axis=0), index, axis=1)
    np.testing.assert_array_equal(removed.mask.allowed(4), without)
    np.testing.assert_array_equal(back.mask.allowed(5), before[np.ix_(order, order)])
    assert len(back.mask.painted) == len(start.mask.painted)


def test_painted_cells_out_of_sight_come_back_when_the_size_does():
    start = experiment(4).with_painted([(0, 1), (3, 0)], False)

    small = start.resized(n_tokens=2)

    assert small.mask.allowed(2).tolist() == [[True, False], [True, True]]
    assert small.resized(n_tokens=4).mask == start.mask


@pytest.mark.parametrize(
    ("cell", "place"), [((3, 0), 3), ((0, 3), 3), ((-1, 0), -1), ((0, -1), -1)]
)
def test_only_cells_between_shown_tokens_can_be_painted(cell, place):
    with pytest.raises(RangeError) as caught:
        experiment().with_painted([(0, 0), cell], False)

    assert str(caught.value) == f"index must lie between 0 and 2, got {place}"


# --- what it computes


def may_attend(mask, n_tokens, query, key):
    """The masks in words, apart from attention_core.masks."""
    by_hand = {(q, k): is_allowed for q, k, is_allowed in mask.painted}
    if "painted" in mask.kinds and (query, key) in by_hand:
        return by_hand[query, key]
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
@pytest.mark.parametrize("kinds", MASKS, ids="-".join)
@pytest.mark.parametrize("n_heads", [1, 2])
@pytest.mark.parametrize("is_scaled", [True, False])
def test_the_trace_is_that_of_the_core(encoding, kinds, n_heads, is_scaled):
    mask = Mask(kinds, n_padding=2, before=1, after=1, painted=PAINTED)
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
@pytest.mark.parametrize("kinds", [RULES, MASK_KINDS], ids="-".join)
@pytest.mark.parametrize("is_scaled", [True, False])
def test_pytorch_gives_the_same_output(encoding, kinds, is_scaled):
    painted = ((0, 3, True), (1, 1, False), (4, 3, False), (5, 5, True))
    mask = Mask(kinds, n_padding=1, before=2, after=1, painted=painted)
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
@pytest.mark.parametrize("kinds", [("padding",), RULES])
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
    start = start.with_output_projection(has_W_O).with_painted([(0, 0), (3, 1)], False)

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


# --- blocks of cells


def test_a_block_by_hand():
    start = experiment(mask=Mask(("causal",)), seed=4)

    edited = start.with_block("X", (1, 0), [[1, 2], [3, 0.5]])

    assert edited.X.tolist() == [start.X[0].tolist(), [1, 2], [3, 0.5]]
    assert_same_experiment(edited.with_block("X", (1, 0), start.X[1:]), start)


@pytest.mark.parametrize("matrix", ["W_Q", "W_K", "W_V"])
def test_a_block_of_one_head_leaves_the_others_alone(matrix):
    start = experiment(d_model=3, d_k=2, n_heads=3)
    expected = getattr(start, matrix).copy()
    expected[1, 1:, 1:] = [[7], [8]]

    edited = start.with_block(matrix, (1, 1, 1), [[7], [8]])

    assert_same_experiment(edited, replace(start, **{matrix: expected}))


@given(experiments(), st.data())
def test_a_block_is_its_cells_one_by_one(start, data):
    matrix, (*head, row, column), values = data.draw(blocks(start))
    one_by_one = start
    for r, c in np.ndindex(np.shape(values)):
        one_by_one = one_by_one.with_cell(matrix, (*head, row + r, column + c), values[r][c])

    assert_same_experiment(start.with_block(matrix, (*head, row, column), values), one_by_one)


WHOLE_X = "values must have shape (1..3, 1..2), got"


@pytest.mark.parametrize(
    ("matrix", "index", "values", "error", "message"),
    [
        # where it begins
        ("Q", (0, 0), [[1]], ChoiceError, "matrix must be one of X, W_Q, W_K, W_V, W_O, got 'Q'"),
        ("X", (3, 0), [[1]], ShapeError, f"{INSIDE_X} (3, 0)"),
        ("X", (0, -1), [[1]], ShapeError, f"{INSIDE_X} (0, -1)"),
        ("X", (0, 0, 0), [[1]], ShapeError, f"{INSIDE_X} (0, 0, 0)"),
        ("W_Q", (0, 0), [[1]], ShapeError, "index must have shape (0..0, 0..1, 0..1), got (0, 0)"),
        # how large it is
        ("X", (0, 0), np.ones((4, 1)), ShapeError, f"{WHOLE_X} (4, 1)"),
        ("X", (0, 0), np.ones((1, 3)), ShapeError, f"{WHOLE_X} (1, 3)"),
        ("X", (2, 1), [[1, 2]], ShapeError, "values must have shape (1..1, 1..1), got (1, 2)"),
        (
            "W_V",
            (0, 1, 0),
            [[1], [2]],
            ShapeError,
            "values must have shape (1..1, 1..2), got (2, 1)",
        ),
        ("X", (0, 0), [[]], ShapeError, f"{WHOLE_X} (1, 0)"),
        ("X", (0, 0), [[], []], ShapeError, f"{WHOLE_X} (2, 0)"),
        ("X", (0, 0), [], ShapeError, "values must have shape (rows, columns), got (0,)"),
        ("X", (0, 0), 1, ShapeError, "values must have shape (rows, columns), got ()"),
        ("X", (0, 0), [1, 2], ShapeError, "values must have shape (rows, columns), got (2,)"),
        ("X", (0, 0), [[[1]]], ShapeError, "values must have shape (rows, columns), got (1, 1, 1)"),
        (
            "X",
            (0, 0),
            [[1, 2], [3]],
            ShapeError,
            "values must have shape (rows, columns), got (2,)",
        ),
        # what is in it
        ("X", (0, 0), [["1"]], DtypeError, "values must hold real numbers, got <U1"),
        ("X", (0, 0), [[True]], DtypeError, "values must hold real numbers, got bool"),
        ("X", (0, 0), [[None]], DtypeError, "values must hold real numbers, got object"),
        (
            "X",
            (1, 0),
            [[1, 2], [3, np.nan]],
            NotFiniteError,
            "X must be finite, but is not at index (2, 1)",
        ),
        (
            "W_K",
            (0, 0, 1),
            [[1], [-np.inf]],
            NotFiniteError,
            "W_K must be finite, but is not at index (0, 1, 1)",
        ),
        ("X", (0, 0), [[1, 2], [-1e7, 4]], RangeError, f"X {MILLION} -10000000.0"),
    ],
)
def test_a_block_that_does_not_fit_is_refused_by_name_and_as_a_whole(
    matrix, index, values, error, message
):
    start = experiment()

    with pytest.raises(error) as caught:
        start.with_block(matrix, index, values)

    assert str(caught.value) == message
    assert_same_experiment(start, experiment())


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
    painted = ((0, 3, False), (3, 0, True))
    mask = Mask(("window", "painted"), n_padding=3, before=2, after=0, painted=painted)
    start = experiment(
        4, 3, 2, 2, mask=mask, is_scaled=False, encoding="rotary", preset="apple"
    ).without_token(0)

    other = start.randomized(5)

    assert other.tokens == ("b", "c", "d")
    assert other.with_token_added().tokens == ("b", "c", "d", "a")
    assert other.sizes == (3, 3, 2, 2)
    assert (other.mask, other.is_scaled, other.encoding) == (start.mask, False, "rotary")
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


def test_what_the_scores_are_multiplied_by():
    e = Experiment.from_preset("random")

    assert e.scale == 0.5  # d_k = 4
    assert replace(e, is_scaled=False).scale == 1.0
    trace = e.trace().attention.heads
    np.testing.assert_array_equal(trace.scaled_scores, trace.scores * e.scale)


def test_positions_are_told_by_turning_only_if_they_are_rotary():
    turns = {
        encoding: replace(Experiment.from_preset("cat"), encoding=encoding).is_rotary
        for encoding in ENCODINGS
    }

    assert turns == {encoding: encoding == "rotary" for encoding in ENCODINGS}

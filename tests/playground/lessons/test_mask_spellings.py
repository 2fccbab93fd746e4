"""What is said of a spelling is what its row of weights is, in the precision that is chosen."""

from dataclasses import replace

import numpy as np
import pytest

from attention_core import Experiment, Mask
from attention_core.masks import causal
from attention_core.spellings import PRECISIONS
from playground.lessons import mask_spellings
from playground.lessons.tokens import named
from playground.numerals import short
from playground.texts import LANGUAGES, Texts
from tests.playground.lessons.of_masks import EXPERIMENTS

t = Texts("en")
every_language = pytest.mark.parametrize("language", LANGUAGES)
every_precision = pytest.mark.parametrize("precision", PRECISIONS)

APPLE = Experiment.from_preset()


def spelt(e, precision="float64", *, is_emptied=False):
    return mask_spellings.spelt(e, e.trace(), 0, precision, is_emptied=is_emptied)


def found(e, precision="float64", *, is_emptied=False, words=t):
    return mask_spellings.spellings_found(words, e, spelt(e, precision, is_emptied=is_emptied))


def softmaxed(scores):
    with np.errstate(invalid="ignore"):
        exponentials = np.exp(scores - scores.max(axis=-1, keepdims=True))
        return exponentials / exponentials.sum(axis=-1, keepdims=True)


@every_precision
def test_the_board_shows_each_spelling_as_numpy_has_it(precision):
    s = spelt(APPLE, precision, is_emptied=True)
    of = {matrix.id: matrix.values for matrix in mask_spellings.spellings(t, APPLE, s).matrices}

    scores = APPLE.trace().attention.head(0).scaled_scores.astype(precision)
    allowed = causal(3)
    allowed[2] = False
    with np.errstate(over="ignore"):
        finite = np.array(-1e9).astype(precision)
    expected = {
        "boolean": np.where(allowed, scores, -np.inf).astype(precision),
        "additive": scores + np.where(allowed, 0, -np.inf).astype(precision),
        "finite": scores + np.where(allowed, 0, finite).astype(precision),
    }
    for spelling, values in expected.items():
        np.testing.assert_array_equal(of[f"{spelling}_scores"], values)
        np.testing.assert_array_equal(of[f"{spelling}_weights"], softmaxed(values))
    assert not of["ours_weights"][2].any()


@every_language
def test_of_many_rows_the_last_ones_are_shown_and_it_is_said(language):
    words, long = Texts(language), APPLE.resized(n_tokens=12)
    s = spelt(long)

    exhibit = mask_spellings.spellings(words, long, s)

    assert exhibit.axes["tokens_last"] == long.tokens[7:]
    for matrix in exhibit.matrices:
        assert (matrix.rows, matrix.values.shape) == ("tokens_last", (5, 12))
    np.testing.assert_array_equal(exhibit.matrices[1].values, s.weights["boolean"][7:])
    told = words("masks.spellings.rows", shown=5, count=12)
    assert mask_spellings.rows_told(words, long) == told
    assert mask_spellings.rows_told(words, APPLE) == ""


@pytest.mark.parametrize("e", EXPERIMENTS)
def test_our_weights_stand_there_where_a_row_is_empty(e):
    for is_emptied in (False, True):
        s = spelt(e, is_emptied=is_emptied)
        ids = [matrix.id for matrix in mask_spellings.spellings(t, e, s).matrices]

        assert ("ours_weights" in ids) == (not s.allowed.any(axis=-1).all())


@every_language
@pytest.mark.parametrize(
    ("precision", "finite"),
    [("float64", "unmasked"), ("float32", "uniform"), ("float16", "nan")],
)
def test_what_each_spelling_makes_of_an_empty_row(language, precision, finite):
    words = Texts(language)
    became = {
        "unmasked": words("masks.spellings.unmasked"),
        "uniform": words("masks.spellings.uniform", weight="0.333"),
        "nan": "NaN",
    }

    *_, last = found(APPLE, precision, is_emptied=True, words=words)

    assert last == words(
        "masks.spellings.empty",
        token=named(APPLE, 2),
        boolean=became["nan"],
        additive=became["nan"],
        finite=became[finite],
        ours=words("masks.spellings.zeros"),
    )


@every_language
def test_what_rounding_to_steps_of_64_leaves_is_told_as_what_it_is(language):
    words = Texts(language)
    # One token, two scores: 20 and 40 beside it; of those float32 keeps 0 and 64 below -1e9.
    e = Experiment(
        ("a", "b"),
        np.array([[1.0, 20.0], [2.0, 40.0]]),
        W_Q=np.array([[[1.0], [0]]]),
        W_K=np.array([[[0.0], [1]]]),
        W_V=np.ones((1, 2, 1)),
    )

    *_, last = found(e, "float32", is_emptied=True, words=words)

    # The last row has the scores 40 and 80: 64 away, 40 becomes 64 (or 0) and 80 becomes 64.
    weights = spelt(e, "float32", is_emptied=True).weights["finite"][1]
    assert weights.tolist() == [0.5, 0.5]
    assert words("masks.spellings.uniform", weight="0.5") in last


@every_language
def test_what_is_neither_uniform_nor_as_without_a_mask_is_told_by_its_gap(language):
    words = Texts(language)
    s = replace(
        spelt(APPLE, is_emptied=True),
        unmasked=np.array([[0.2, 0.3, 0.5]] * 3),
    )

    *_, last = mask_spellings.spellings_found(words, APPLE, s)

    gap = np.abs(s.weights["finite"][2] - [0.2, 0.3, 0.5]).max()
    assert words("masks.spellings.other", gap=short(gap)) in last


@every_language
def test_how_a_precision_stores_the_large_number(language):
    words = Texts(language)

    first = [found(APPLE, precision, words=words)[0] for precision in PRECISIONS]

    stored = "masks.spellings.stored"
    assert first == [
        words(stored, precision="float64", stored="−1e9", step="1.2e−7"),
        words(stored, precision="float32", stored="−1e9", step="64"),
        words("masks.spellings.not_stored", precision="float16", stored="−∞"),
    ]


@every_language
def test_where_a_row_has_a_key_the_three_agree(language):
    words = Texts(language)

    _, agree, empty = found(APPLE, words=words)

    assert agree == words("masks.spellings.same")
    assert empty == words("masks.spellings.none_empty")


@every_language
def test_scores_above_1e9_pass_the_finite_spelling(language):
    words = Texts(language)
    e = APPLE.with_block("X", (0, 0), [[1e5, 1e5], [1e6, 1e6]])

    s = spelt(e)
    leak = s.weights["finite"][~s.allowed].max()

    assert leak > 0
    assert words("masks.spellings.leak", leak=short(leak)) in found(e, words=words)
    gap = np.abs(s.weights["finite"] - s.weights["boolean"]).max()
    assert words("masks.spellings.apart", gap=short(gap)) in found(e, words=words)


@every_language
def test_scores_too_large_for_the_precision_are_told(language):
    words = Texts(language)
    e = APPLE.with_block("X", (0, 0), [[1e6, 1e6]])

    assert found(e, "float16", words=words)[1] == words(
        "masks.spellings.overflow", count=3, precision="float16"
    )


# polarity


@pytest.mark.parametrize("e", EXPERIMENTS)
def test_both_polarities_and_the_weights_under_each(e):
    exhibit = mask_spellings.polarity(t, e, e.trace(), 0)
    of = {matrix.id: matrix.values for matrix in exhibit.matrices}

    allowed = e.mask.allowed(e.n_tokens)
    allowed = causal(e.n_tokens) if allowed.all() else allowed
    np.testing.assert_array_equal(of["may_attend"], allowed.astype(float))
    np.testing.assert_array_equal(of["is_blocked"], 1 - of["may_attend"])
    assert not of["right_weights"][~allowed].any()
    assert not of["wrong_weights"][allowed].any()
    sums = of["wrong_weights"].sum(axis=-1)
    np.testing.assert_allclose(sums, (~allowed).any(axis=-1).astype(float))


@every_language
def test_what_the_wrong_polarity_does(language):
    words = Texts(language)
    window = replace(APPLE, mask=Mask(("window",), before=1, after=1))

    causal_found, window_found, smallest = (
        mask_spellings.polarity_found(words, e, e.trace(), 0)
        for e in (APPLE, window, APPLE.resized(n_tokens=1))
    )

    for each in (causal_found, window_found):  # the last row, and the middle one
        assert each == [
            words("masks.polarity.empty", count=1, n_tokens=3),
            words("masks.polarity.forbidden", share="100"),
        ]
    assert smallest == [words("masks.polarity.empty", count=1, n_tokens=1)]

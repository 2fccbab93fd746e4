"""What is marked and said of a leak was measured anew here, from the experiment alone."""

from dataclasses import replace

import numpy as np
import pytest

from attention_core import Experiment, Mask
from attention_core.leaks import LEAKS, mask_for, probes
from playground.lessons import mask_leaks
from playground.lessons.tokens import named
from playground.texts import LANGUAGES, Texts
from tests.playground.lessons.of_masks import EXPERIMENTS

t = Texts("en")
every_language = pytest.mark.parametrize("language", LANGUAGES)


def opened(e, token, leak, words=t):
    right, broken = probes(e, e.trace().attention, 0, token, leak)
    exhibit = mask_leaks.leaks(words, e, right, broken, token, leak)
    found = mask_leaks.leaks_found(words, e, right, broken, token)
    return {matrix.id: matrix for matrix in exhibit.matrices}, found


@pytest.mark.parametrize("leak", LEAKS)
@pytest.mark.parametrize("e", EXPERIMENTS)
def test_the_marks_are_where_something_moved_that_must_not(e, leak):
    token = e.n_tokens - 1
    allowed = mask_for(e, leak)

    of, _ = opened(e, token, leak)

    hidden = ~allowed[:, token]
    hidden[token] = False
    for mask in ("right", "broken"):
        before, after = of[f"{mask}_before"].values, of[f"{mask}_after"].values
        expected = hidden[:, None] & (before != after)
        marked = of[f"{mask}_after"].marked
        assert (marked is None) == (not expected.any())
        if marked is not None:
            np.testing.assert_array_equal(marked, expected)
        weights = of[f"{mask}_weights"]
        wrong = ~allowed & (weights.values != 0)
        assert (weights.marked is None) == (not wrong.any())
        np.testing.assert_allclose(weights.values @ e.trace().attention.heads.V[0], before)
    assert of["right_after"].marked is None
    assert of["right_weights"].marked is None


@every_language
def test_which_rows_moved_and_by_how_much(language):
    words, e = Texts(language), Experiment.from_preset()

    of, found = opened(e, 2, "zeroed", words)

    most = np.abs(of["broken_after"].values - of["broken_before"].values)[:2].max()
    rows = words("narrate.comma").join([named(e, 0), named(e, 1)])
    moved = words(
        "masks.leaks.moved", token=named(e, 2), count=2, hidden=2, rows=rows, most=f"{most:.3g}"
    )
    assert found == [moved, words("masks.leaks.right_stays", count=2)]


@every_language
def test_after_the_softmax_the_rows_no_longer_sum_to_1(language):
    words, e = Texts(language), Experiment.from_preset()

    of, found = opened(e, 2, "after_softmax", words)

    sums = of["broken_weights"].values.sum(axis=-1)
    low, high = f"{sums.min():.3g}", f"{sums.max():.3g}"
    assert found[-1] == words("masks.leaks.sums", low=low, high=high)
    assert sums.min() < 0.99


@every_language
def test_a_token_that_everyone_may_see_cannot_leak(language):
    words, e = Texts(language), Experiment.from_preset()

    _, found = opened(e, 0, "zeroed", words)

    assert found == [words("masks.leaks.all_see", token=named(e, 0))]


@every_language
@pytest.mark.parametrize("leak", LEAKS)
def test_a_token_that_is_alone_is_not_said_to_be_seen_by_others(language, leak):
    words = Texts(language)

    _, found = opened(Experiment.from_preset().resized(n_tokens=1), 0, leak, words)

    assert found == [words("masks.leaks.alone")]


def test_the_sums_are_those_of_the_broken_mask_and_not_of_the_right_one_before_it():
    _, found = opened(Experiment.from_preset(), 2, "after_softmax")

    assert found[-2].startswith("Under the right mask")
    assert "broken" in found[-1]


@every_language
def test_a_leak_that_these_numbers_hide_is_not_claimed(language):
    words = Texts(language)
    e = replace(Experiment.from_preset("uniform"), mask=Mask(("causal",)))
    none = e.with_block("W_V", (0, 0, 0), np.zeros((3, 3)))

    _, found = opened(none, 3, "zeroed", words)

    assert found[0] == words("masks.leaks.still", token=named(e, 3), count=3)


@every_language
def test_on_which_mask_the_leak_is_shown(language):
    words, e = Texts(language), Experiment.from_preset()
    padded = replace(e, mask=Mask(("padding",), n_padding=2))

    assert mask_leaks.mask_told(words, e, "zeroed") == words("masks.instead")
    assert mask_leaks.mask_told(words, padded, "zeroed") == ""
    assert mask_leaks.mask_told(words, padded, "on_rows") == words(
        "masks.leaks.padding_alone", count=2
    )

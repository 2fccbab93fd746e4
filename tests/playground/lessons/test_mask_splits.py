"""Cross-attention and the cache: what is shown and said, computed by another route."""

from dataclasses import replace

import numpy as np
import pytest

from attention_core import Experiment, Mask
from attention_core.cache import growth
from attention_core.crossing import as_one_sequence, cross_attention
from playground.lessons import mask_splits
from playground.lessons.tokens import named
from playground.numerals import short
from playground.texts import LANGUAGES, Texts
from tests.playground.lessons.of_masks import EXPERIMENTS

t = Texts("en")
every_language = pytest.mark.parametrize("language", LANGUAGES)

CAT = Experiment.from_preset("repeated")


# cross-attention


@pytest.mark.parametrize("e", [e for e in EXPERIMENTS if e.n_tokens > 1])
def test_queries_stand_for_the_target_and_keys_for_the_source(e):
    n = e.n_tokens
    trace = e.trace()
    exhibit = mask_splits.cross(t, e, cross_attention(e, 0, 1), as_one_sequence(e, 0, 1))
    of = {matrix.id: matrix for matrix in exhibit.matrices}

    shapes = {id: matrix.values.shape for id, matrix in of.items()}
    width = e.d_k
    assert shapes == {
        "Q": (n - 1, width),
        "K": (1, width),
        "V": (1, width),
        "scores": (n - 1, 1),
        "weights": (n - 1, 1),
        "output": (n - 1, width),
        "one_weights": (n, n),
    }
    np.testing.assert_allclose(of["Q"].values, trace.attention.heads.Q[0, 1:])
    np.testing.assert_allclose(of["K"].values, trace.attention.heads.K[0, :1])
    assert exhibit.axes["tokens_source"] == e.tokens[:1]
    assert exhibit.axes["tokens_target"] == e.tokens[1:]
    marked = of["one_weights"].marked
    assert marked[1:, :1].all()
    assert marked.sum() == n - 1


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({"is_scaled": False}, "scores"),
        ({}, "scaled_scores"),
        ({"encoding": "alibi", "is_scaled": False}, "biased_scores"),
    ],
)
def test_the_scores_go_by_what_was_done_to_them(settings, text):
    e = replace(CAT, **settings)
    two = cross_attention(e, 0, 2)

    exhibit = mask_splits.cross(t, e, two, as_one_sequence(e, 0, 2))

    (scores,) = (matrix for matrix in exhibit.matrices if matrix.id == "scores")
    assert scores.text_id == text
    np.testing.assert_array_equal(scores.values, two.biased_scores)


@every_language
def test_both_ways_are_compared_and_counted(language):
    words = Texts(language)
    two, one = cross_attention(CAT, 0, 2), as_one_sequence(CAT, 0, 2)

    same, shapes = mask_splits.cross_found(words, CAT, two, one)

    gap = np.abs(two.output - one.output[2:]).max()
    assert same == words("masks.cross.same", gap=short(float(gap)))
    assert shapes == words("masks.cross.shapes", n_q=3, n_k=2, cross=6, one=25)


@every_language
def test_a_difference_would_be_told(language):
    words = Texts(language)
    two, one = cross_attention(CAT, 0, 2), as_one_sequence(CAT, 0, 2)

    same, _ = mask_splits.cross_found(words, CAT, replace(two, output=two.output + 0.5), one)

    assert same == words("masks.cross.same", gap="0.5")


@every_language
def test_an_empty_side_is_told(language):
    words = Texts(language)

    alone = CAT.resized(n_tokens=1)
    assert mask_splits.one_sided(words, CAT, 0) == words("masks.cross.no_source")
    assert mask_splits.one_sided(words, CAT, 3) == words("masks.cross.no_target")
    for n_source in (0, 1):  # no split would do
        assert mask_splits.one_sided(words, alone, n_source) == words("masks.cross.single")


# the cache


@pytest.mark.parametrize("is_causal", [True, False])
@pytest.mark.parametrize("e", EXPERIMENTS)
def test_the_board_shows_what_was_kept_and_what_moved(e, is_causal):
    mask = Mask(("causal",)) if is_causal else Mask()
    fewer = replace(e, mask=mask)
    whole = fewer.with_token_added()
    before, after = (each.trace().attention.head(0) for each in (fewer, whole))

    exhibit = mask_splits.cache(t, e, growth(e, 0, is_causal=is_causal))

    of = {matrix.id: matrix for matrix in exhibit.matrices}
    np.testing.assert_allclose(of["K"].values, after.K, rtol=1e-9)
    np.testing.assert_allclose(of["V"].values, after.V, rtol=1e-9)
    np.testing.assert_array_equal(of["weights"].values, after.weights)
    np.testing.assert_array_equal(of["before"].values, before.output)
    np.testing.assert_array_equal(of["after"].values, after.output)
    for id in ("K", "V"):
        assert of[id].marked[:-1].all()
        assert not of[id].marked[-1].any()
    assert exhibit.axes["tokens_grown"] == whole.tokens
    assert exhibit.axes["tokens_kept"] == e.tokens
    if is_causal:
        assert of["after"].marked is None


@every_language
def test_what_is_said_under_a_causal_mask(language):
    words = Texts(language)
    g = growth(CAT, 0, is_causal=True)

    stayed, saved, training = mask_splits.cache_found(words, CAT, g, is_causal=True)

    # 6 tokens, 3 numbers each, d_k 2: 3 projections of 6 × 3 × 2, then twice 6 × 6 × 2.
    assert (CAT.n_tokens, CAT.d_model, CAT.d_k) == (5, 3, 2)
    full, alone = 3 * 36 + 2 * 72, 3 * 6 + 2 * 12
    most = float(np.abs(g.after.output[:5] - g.before.output).max())
    assert stayed == words("masks.cache.stayed", earlier=5, most=short(most))
    gap = float(np.abs(g.after.output[5] - g.new.output[0]).max())
    assert saved == words(
        "masks.cache.saved", cached=alone, full=full, reused=5 * 4, gap=short(gap)
    )
    one_by_one = sum(3 * 6 + 2 * 2 * n for n in range(1, 7))
    assert training == words("masks.cache.training", n_tokens=6, full=full, cached=one_by_one)


@every_language
def test_what_is_said_without_a_mask(language):
    words = Texts(language)
    g = growth(CAT, 0, is_causal=False)

    found = mask_splits.cache_found(words, CAT, g, is_causal=False)

    most = f"{np.abs(g.after.output[:5] - g.before.output).max():.3g}"
    assert found == [
        words("masks.cache.moved", count=5, earlier=5, most=most),
        words("masks.cache.stale"),
    ]


@every_language
def test_without_a_mask_rows_that_happen_to_stay_are_not_said_to_move(language):
    words = Texts(language)
    still = CAT.with_block("W_V", (0, 0, 0), np.zeros((3, 2)))

    found = mask_splits.cache_found(
        words, still, growth(still, 0, is_causal=False), is_causal=False
    )

    assert found == [words("masks.cache.stayed", earlier=5, most="0")]


@every_language
def test_which_token_is_the_new_one(language):
    words = Texts(language)
    full = CAT.resized(n_tokens=12)

    added = mask_splits.added(words, CAT, growth(CAT, 0, is_causal=True))
    last = mask_splits.added(words, full, growth(full, 0, is_causal=True))

    assert added == words("masks.cache.token_added", token=named(CAT.with_token_added(), 5))
    assert last == words("masks.cache.last_plays", token=named(full, 11), count=12)

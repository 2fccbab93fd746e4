"""The mask that is shown is that of the experiment, and what is said of it was counted."""

from dataclasses import replace

import numpy as np
import pytest

from attention_core import Experiment, Mask
from attention_core.patterns import Pattern
from playground.lessons import masks
from playground.texts import LANGUAGES, Texts
from tests.playground.lessons.of_masks import EXPERIMENTS, SEVERAL, SMALLEST

t = Texts("en")
every_language = pytest.mark.parametrize("language", LANGUAGES)


def shown(e, chosen=None, head=0):
    exhibit = masks.patterns(t, e, e.trace(), head, chosen or Pattern())
    return {matrix.id: matrix for matrix in exhibit.matrices}


@pytest.mark.parametrize("e", EXPERIMENTS)
def test_the_board_shows_one_head_from_its_mask_to_its_output(e):
    head = e.n_heads - 1
    steps = e.trace().attention.head(head)

    of = shown(e, head=head)

    before, last = list(of)[1], list(of)[-1]
    assert list(of) == ["mask", before, "masked_scores", "weights", "V", last]
    allowed = e.mask.allowed(e.n_tokens)
    np.testing.assert_array_equal(of["mask"].values, np.where(allowed, 0, -np.inf))
    np.testing.assert_array_equal(of[before].values, steps.biased_scores)
    np.testing.assert_array_equal(of["masked_scores"].values, steps.masked_scores)
    np.testing.assert_array_equal(of["weights"].values, steps.weights)
    np.testing.assert_array_equal(of["V"].values, steps.V)
    np.testing.assert_array_equal(of[last].values, steps.output)


@pytest.mark.parametrize("kinds", [(), ("causal",), ("padding", "painted")])
def test_the_mask_can_be_painted_whatever_it_is(kinds):
    e = replace(Experiment.from_preset(), mask=Mask(kinds))

    assert shown(e)["mask"].is_paintable


def test_cells_that_are_not_as_in_the_pattern_are_marked():
    chosen = Pattern(("causal",))
    laid = chosen.laid(Experiment.from_preset())
    painted = laid.with_painted([(0, 2)], True)

    assert shown(laid, chosen)["mask"].marked is None
    assert np.argwhere(shown(painted, chosen)["mask"].marked).tolist() == [[0, 2]]


# what the lesson is set to


def test_while_nothing_is_set_the_pattern_is_what_the_experiment_has():
    e = replace(SEVERAL, mask=Mask(("causal", "window"), before=2, after=0))

    chosen = masks.pattern(e, lambda key, default: default)

    assert (chosen.kinds, chosen.before, chosen.after) == (("causal", "window"), 2, 0)
    assert masks.difference(t, e, chosen) == ""


def test_sizes_stay_within_the_tokens_that_there_are():
    kept = {f"masks.{name}": 9 for name in ("n_padding", "before", "after", "n_global", "n_random")}

    chosen = masks.pattern(SMALLEST, lambda key, default: kept.get(key, default))

    sizes = chosen.n_padding, chosen.before, chosen.after, chosen.n_global, chosen.n_random
    assert sizes == (1, 0, 0, 1, 1)


def test_settings_are_read_under_the_names_of_the_inputs():
    kept = {
        "masks.kinds": ["hashed", "causal"],
        "masks.how": "or",
        "masks.n_buckets": 8,
        "masks.n_rounds": 5,
        "masks.draw": 3,
    }

    chosen = masks.pattern(SEVERAL, lambda key, default: kept.get(key, default))

    expected = Pattern(("causal", "hashed"), how="or", n_buckets=8, n_rounds=5, draw=3)
    assert chosen == expected


# sentences


def found(e, language="en"):
    return masks.patterns_found(Texts(language), e, e.trace(), 0)


@every_language
def test_how_many_pairs_are_allowed_and_what_that_forces(language):
    e = replace(Experiment.from_preset(), mask=Mask(("causal",)))
    words = Texts(language)

    assert found(e, language) == [
        words("masks.patterns.forced", allowed=6, pairs=9, forced=3),
        words("masks.patterns.none_empty"),
    ]


@every_language
def test_a_mask_that_forbids_nothing_forces_nothing(language):
    words = Texts(language)

    assert found(Experiment.from_preset(), language) == [
        words("masks.patterns.all", pairs=9),
        words("masks.patterns.none_empty"),
    ]


@every_language
def test_rows_left_empty_are_named(language):
    e = replace(Experiment.from_preset("repeated"), mask=Mask(("padding",), n_padding=5))
    words = Texts(language)
    comma = words("narrate.comma")

    # escaped() may put a backslash before a bracket
    *_, empty = found(e, language)

    names = comma.join(["“the (1)”", "“cat (2)”", "“saw”"])
    rows = words("narrate.more", listed=names, count=2)
    assert empty.replace("\\", "") == words("masks.patterns.empty", count=5, rows=rows)


@every_language
def test_how_far_the_mask_is_from_the_pattern(language):
    words = Texts(language)
    e = Experiment.from_preset().with_painted([(0, 0), (1, 2)], False)

    none, causal = masks.difference(words, e, Pattern()), Pattern(("causal",))

    assert none == words("masks.patterns.by_hand", count=2)
    # Causal forbids (0, 1), (0, 2) and (1, 2); of these the experiment has the last, and (0, 0).
    assert masks.difference(words, e, causal) == words("masks.patterns.differs", count=3)


@every_language
def test_the_buckets_are_told_round_by_round(language):
    words = Texts(language)
    chosen = Pattern(("hashed",), n_rounds=2)
    e = Experiment.from_preset()

    told = masks.buckets(words, e, chosen)

    for number, row in enumerate(chosen.buckets(e), start=1):
        listed = " ".join(str(bucket) for bucket in row)
        assert words("masks.patterns.round", number=number, buckets=listed) in told


@every_language
def test_a_causal_mask_is_announced_where_the_experiment_forbids_nothing(language):
    words = Texts(language)
    masked = replace(Experiment.from_preset(), mask=Mask(("padding",)))

    assert masks.instead(words, Experiment.from_preset()) == words("masks.instead")
    assert masks.instead(words, masked) == ""

"""The lesson on order: its matrices are the core's, and each sentence says what was measured."""

import re
from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest

from attention_core import Experiment, Mask
from attention_core.permutation import (
    all_orders,
    compare,
    rounding,
    search,
)
from playground.lessons import permutation
from playground.numerals import size as number
from playground.texts import LANGUAGES, Texts
from tests.playground.lessons.of_permutation import APPLE, REPEATED, SEVERAL

every_language = pytest.mark.parametrize("language", LANGUAGES)


def output_of(e, order=None):
    """By an independent route: another experiment, with the tokens in this order."""
    rows = list(order or range(e.n_tokens))
    return replace(e, X=e.X[rows]).trace().attention.output


def gap_of(e, order):
    return np.abs(output_of(e, order) - output_of(e)[list(order)]).max()


def said(language, e, order):
    t = Texts(language)
    return permutation.order_found(t, e, compare(e, order))


def by_id(exhibit):
    return {matrix.id: matrix for matrix in exhibit.matrices}


# --- exhibits


def test_the_board_shows_both_ways_and_what_is_left_between_them():
    e, order = replace(REPEATED, encoding="sinusoidal"), (4, 0, 2, 1, 3)

    shown = by_id(permutation.of_output(Texts("en"), e, compare(e, order)))

    before, after = output_of(e), output_of(e, order)
    np.testing.assert_array_equal(shown["X_reordered"].values, e.X[list(order)])
    np.testing.assert_array_equal(shown["output_before"].values, before)
    np.testing.assert_array_equal(shown["output_reordered"].values, before[list(order)])
    np.testing.assert_allclose(shown["output_of_reordered"].values, after, atol=1e-14)
    difference = after - before[list(order)]
    np.testing.assert_allclose(shown["difference"].values, difference, atol=1e-14)
    np.testing.assert_array_equal(shown["difference"].marked, np.abs(difference) > 1e-9)
    np.testing.assert_allclose(shown["mean"].values, [before.mean(axis=0)])
    np.testing.assert_allclose(shown["mean_of_reordered"].values, [after.mean(axis=0)])
    assert shown["difference"].reach == np.abs(before).max()
    assert [m.id for m in shown.values() if m.is_sortable] == ["X_reordered"]


def test_names_go_along_with_the_rows_and_every_row_tells_where_it_came_from():
    exhibit = permutation.of_output(Texts("en"), APPLE, compare(APPLE, (2, 0, 1)))

    assert exhibit.axes["tokens"] == ["我", "喜欢", "苹果"]
    assert exhibit.axes["tokens_moved"] == ["苹果", "我", "喜欢"]
    assert list(exhibit.places["tokens_moved"]) == [2, 0, 1]
    told = by_id(exhibit)["X_reordered"].operation["texts"]
    assert [row[0] for row in told] == [
        "(row 3 of X, the vector of “苹果”)",
        "(row 1 of X, the vector of “我”)",
        "(row 2 of X, the vector of “喜欢”)",
    ]


@pytest.mark.parametrize("head", range(3))
def test_weights_are_those_of_the_head_reordered_on_both_sides(head):
    e, order = replace(SEVERAL, encoding="alibi"), (2, 3, 0, 1)

    shown = by_id(permutation.of_weights(Texts("en"), e, compare(e, order), head))

    weights = e.trace().attention.heads.weights[head]
    moved = replace(e, X=e.X[list(order)]).trace().attention.heads.weights[head]
    P = np.eye(4)[list(order)]
    np.testing.assert_array_equal(shown["weights_reordered"].values, P @ weights @ P.T)
    np.testing.assert_allclose(shown["weights_of_reordered"].values, moved, atol=1e-15)
    expected = moved - P @ weights @ P.T
    np.testing.assert_allclose(shown["difference"].values, expected, atol=1e-15)


def test_rounding_is_not_pointed_out():
    e = SEVERAL
    for exhibit in (
        permutation.of_output(Texts("en"), e, compare(e, (3, 2, 0, 1))),
        permutation.of_weights(Texts("en"), e, compare(e, (3, 2, 0, 1)), 1),
    ):
        assert by_id(exhibit)["difference"].marked is None


# --- sentences on the order


@every_language
def test_where_nothing_goes_by_place_it_says_that_all_went_along(language):
    t = Texts(language)
    compared = compare(SEVERAL, (3, 2, 0, 1))

    sentences = said(language, SEVERAL, (3, 2, 0, 1))

    assert sentences == [
        t("permutation.order.output_same", gap=number(compared.output_gap)),
        t("permutation.order.weights_same", gap=number(compared.weights_gap)),
        t("permutation.order.mean_same", gap=number(compared.mean_gap)),
    ]
    assert compared.output_gap < 1e-14


@every_language
def test_with_a_mask_it_names_the_token_that_moved_most_and_the_mask(language):
    t = Texts(language)
    e, order = replace(APPLE, mask=Mask(("causal",))), (2, 0, 1)
    difference = output_of(e, order) - output_of(e)[list(order)]
    worst = APPLE.tokens[order[int(np.abs(difference).max(axis=1).argmax())]]
    mean = np.abs(difference.mean(axis=0)).max()

    output, weights, mean_said, blamed = said(language, e, order)

    gap = f"{np.abs(difference).max():.3g}"
    assert output == t("permutation.order.output_differs", gap=gap, token=f"“{worst}”")
    assert weights.startswith(t("permutation.order.weights_differ", gap="|").split("|")[0])
    assert mean_said == t("permutation.order.mean_differs", gap=f"{mean:.3g}")
    without = number(float(gap_of(APPLE, order)))
    causal = t("permutation.setting.causal")
    assert blamed == t("permutation.blamed.one", setting=causal, gap=without)


def test_weights_may_go_along_where_the_output_does_not():
    # Each token sees itself alone, but positions are added to the values, too.
    e = replace(APPLE, mask=Mask(("window",), before=0, after=0), encoding="learned")

    sentences = said("en", e, (2, 0, 1))

    assert "more than rounding: what a token gets" in sentences[0]
    assert "The weights went along: max" in sentences[1]  # not "too": the output did not
    assert "invariance" in sentences[2]  # the mean of x + p is that of any order


def test_weights_may_differ_where_the_output_does_not():
    # All values are equal, so whatever is mixed is the same.
    e = replace(APPLE, W_V=0 * APPLE.W_V, mask=Mask(("causal",)))

    output, weights, mean = said("en", e, (2, 0, 1))

    assert "no more than rounding" in output
    assert "did not go along" in weights
    assert "invariance" in mean


def test_each_gap_is_held_against_what_rounding_may_do_to_it():
    # Values so large that a gap of the weights would be rounding, were it one of the output.
    e = replace(APPLE, W_Q=1e-9 * APPLE.W_Q, W_V=1e6 * APPLE.W_V, encoding="rotary")
    bound, gap = rounding(e), compare(e, (2, 0, 1)).weights_gap
    assert bound.weights < gap < bound.output

    assert "did not go along" in said("en", e, (2, 0, 1))[1]


HUGE = replace(APPLE, X=1e5 * APPLE.X, W_Q=1e5 * APPLE.W_Q, W_K=1e5 * APPLE.W_K)


@every_language
def test_where_rounding_may_do_anything_a_gap_is_not_called_rounding(language):
    t, order = Texts(language), (2, 0, 1)
    e = replace(HUGE, mask=Mask(("causal",)))
    compared = compare(e, order)
    assert 1 < compared.output_gap <= rounding(e).output

    gaps = {"output": number(compared.output_gap), "weights": number(compared.weights_gap)}
    unclear = t("permutation.order.unclear", **gaps, bound="1")
    assert said(language, e, order) == [unclear]

    found = searched(e)
    most = {"gap": number(found.gap), "bound": number(rounding(e).output)}
    *_, unclear = permutation.search_found(t, e, found, order)
    assert unclear == t("permutation.search.unclear", **most)


def test_a_gap_of_0_went_along_however_large_the_scores():
    e = replace(HUGE, W_V=0 * HUGE.W_V)

    output, weights, _ = said("en", replace(e, mask=Mask(("causal",))), (2, 0, 1))

    assert "equivariance" in output
    assert weights.startswith("Whether the weights did is not clear")


@every_language
def test_several_settings_are_measured_one_by_one(language):
    t = Texts(language)
    window = Mask(("causal", "window"), before=9, after=9)
    e, order = replace(REPEATED, encoding="rotary", mask=window), (1, 0, 2, 4, 3)

    several, innocent = said(language, e, order)[-2:]

    alone = {
        "rotary": gap_of(replace(e, mask=Mask()), order),
        "causal": gap_of(replace(REPEATED, mask=Mask(("causal",))), order),
        "window": gap_of(replace(REPEATED, mask=replace(window, kinds=("window",))), order),
    }
    for name, text in (
        ("rotary", t("permutation.setting.rotary")),
        ("causal", t("permutation.setting.causal")),
    ):
        gap = f"{alone[name]:.3g}"
        assert t("permutation.blamed.with_gap", setting=text, gap=gap) in several
    assert alone["window"] < 1e-14
    assert t("permutation.setting.window") in innocent
    assert t("permutation.setting.window") not in several


@every_language
def test_two_settings_that_only_together_break_it_are_named_together(language):
    t = Texts(language)
    mask = Mask(("padding", "painted"), n_padding=3, painted=((0, 2, True),))

    together = said(language, replace(APPLE, mask=mask), (2, 1, 0))[-1]

    names = (t("permutation.setting.padding"), t("permutation.setting.painted"))
    settings = t("permutation.blamed.comma").join(names)
    bare = number(float(gap_of(APPLE, (2, 1, 0))))
    assert together == t("permutation.blamed.together", settings=settings, gap=bare)


@every_language
def test_the_own_order_and_a_single_token_are_said_to_be_so(language):
    t = Texts(language)

    assert said(language, APPLE, (0, 1, 2)) == [t("permutation.order.unmoved", gap="0")]
    single = APPLE.resized(n_tokens=1)
    assert said(language, single, (0,)) == [t("permutation.order.single")]


def test_a_hostile_token_is_escaped():
    e = replace(APPLE, mask=Mask(("causal",)), tokens=("*a*", "*b*", "*c*"))

    (differs, *_) = said("en", e, (2, 0, 1))

    assert re.search(r"“\\\*[abc]\\\*”", differs)


# --- the search


def searched(e):
    (*_, found) = search(e, all_orders(e.n_tokens, permutation.n_moving(e)))
    return found


@every_language
def test_a_search_without_a_find_says_what_it_tried_and_how_far_off_it_was(language):
    t, found = Texts(language), searched(SEVERAL)

    sentences = permutation.search_found(t, SEVERAL, found, (0, 1, 2, 3))

    bound = number(rounding(SEVERAL).output)
    assert sentences == [
        t("permutation.search.all_tried", count="24"),
        t("permutation.search.none", gap=number(found.gap), bound=bound),
    ]


@every_language
def test_a_find_is_the_order_that_changes_most_of_all(language):
    t, e = Texts(language), replace(APPLE, encoding="sinusoidal")
    all_gaps = {order: gap_of(e, order) for order in permutations(range(3))}
    worst = max(all_gaps, key=all_gaps.get)

    _, most, blamed = permutation.search_found(t, e, searched(e), (0, 1, 2))

    order = t("permutation.blamed.comma").join(APPLE.tokens[token] for token in worst)
    gap = f"{all_gaps[worst]:.3g}"
    assert most == t("permutation.search.most", changing="5", gap=gap, order=order)
    assert t("permutation.setting.sinusoidal") in blamed


@every_language
def test_beyond_seven_tokens_it_says_what_was_left_out(language):
    t, e = Texts(language), SEVERAL.resized(n_tokens=9)
    few = replace(searched(SEVERAL), n_tried=5040)

    tried, _ = permutation.search_found(t, e, few, tuple(range(9)))

    total = "362,880"
    assert tried == t("permutation.search.some_tried", count="5,040", moving=7, total=total)
    name = permutation.search_name(t, e)
    assert name == t("permutation.search.try_some", count="5,040", moving=7)
    assert permutation.search_name(t, SEVERAL) == t("permutation.search.try_all", count="24")


@every_language
def test_before_a_search_it_says_what_the_first_step_does(language):
    t, e = Texts(language), replace(APPLE, encoding="learned")

    (untried,) = permutation.search_found(t, e, None, (2, 1, 0))

    gap = f"{gap_of(e, (2, 1, 0)):.3g}"
    assert untried == t("permutation.search.untried", n_tokens=3, total="6", gap=gap)
    single = permutation.search_found(t, APPLE.resized(n_tokens=1), None, (0,))
    assert single == [t("permutation.order.single")]


def test_the_curve_of_all_gaps_rises_from_the_smallest_to_the_largest():
    e = replace(Experiment.from_preset("random").resized(n_tokens=6), encoding="rotary")
    found = searched(e)

    (curve,) = permutation.search_figure(Texts("en"), e, found, "light")["data"]

    assert (curve["y"][0], curve["y"][-1]) == (0, found.gap)
    assert curve["y"] == sorted(curve["y"])
    assert (curve["x"][0], curve["x"][-1], len(curve["x"])) == (1, 720, 300)

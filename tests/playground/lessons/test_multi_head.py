"""The lesson on several heads shows the core's numbers, and says what they say."""

import re
from dataclasses import replace

import numpy as np
import pytest

from attention_core import Experiment, merge_heads
from attention_core.heads import cache_per_token, shape_steps
from playground.lessons import multi_head
from playground.texts import LANGUAGES, Texts
from tests.playground.lessons.of_multi_head import ALL, MASKED, ONE, ROTARY, SEVERAL

every_language = pytest.mark.parametrize("language", LANGUAGES)
every_experiment = pytest.mark.parametrize("e", ALL)
EN = Texts("en")


def values(exhibit):
    return {matrix.id: matrix.values for matrix in exhibit.matrices}


def numbers(sentence):
    plain = sentence.replace(",", "").replace("−", "-")
    return [float(number) for number in re.findall(r"\d+(?:\.\d+)?(?:e-?\d+)?", plain)]


# --- heads


@every_experiment
def test_every_head_shows_its_weights_and_what_it_adds_on_one_scale(e):
    trace = e.trace()
    exhibit = multi_head.heads(EN, e, trace, range(e.n_heads))

    shown = values(exhibit)
    assert len(shown) == 2 * e.n_heads + (1 if e.n_heads == 1 else 3)
    for head in range(e.n_heads):
        np.testing.assert_array_equal(shown[f"weights_{head}"], trace.attention.head(head).weights)
        added = trace.attention.contributions[head]
        np.testing.assert_array_equal(shown[f"added_{head}"], added)
    np.testing.assert_allclose(shown["output"], trace.attention.output, rtol=0, atol=1e-12)
    reaches = {m.reach for m in exhibit.matrices if m.id.startswith("added")}
    assert reaches == {np.abs(trace.attention.contributions).max()}
    assert all(m.are_weights == m.id.startswith("weights") for m in exhibit.matrices)


def test_without_a_head_what_is_kept_and_what_is_lost_are_shown():
    trace = MASKED.trace()

    shown = values(multi_head.heads(EN, MASKED, trace, [1]))

    np.testing.assert_array_equal(shown["kept"], trace.attention.contributions[1])
    np.testing.assert_allclose(shown["lost"], trace.attention.contributions[0], atol=1e-12)


def test_the_width_is_told_with_its_parameters():
    assert numbers(multi_head.cut_told(EN, SEVERAL)) == [2, 2, 4, 3 * 16, 1, 4]
    assert numbers(multi_head.cut_told(EN, MASKED)) == [2, 2, 4, 4 * 16, 1, 4]
    assert numbers(multi_head.cut_told(EN, SEVERAL.resized(d_k=1))) == [2, 1, 2, 3 * 8]


@every_language
def test_a_count_that_does_not_fit_is_told_with_those_that_do(language):
    e = Experiment.from_preset("random").resized(d_model=6)

    said = multi_head.no_cut(Texts(language), e, 4)

    assert Texts(language)("narrate.comma").join("1236") in said


@every_language
def test_the_sum_and_the_greatest_loss_are_told(language):
    trace = SEVERAL.trace()

    total, most = multi_head.heads_found(Texts(language), SEVERAL, trace, [0, 1])

    losses = [np.abs(trace.attention.contributions[head]).max() for head in (0, 1)]
    assert numbers(total)[-1] == 0
    assert numbers(most) == [1 + int(np.argmax(losses)), pytest.approx(max(losses), rel=1e-2)]


@every_language
def test_what_is_lost_is_told_as_a_share_of_the_output(language):
    attention = SEVERAL.trace().attention

    *_, off = multi_head.heads_found(Texts(language), SEVERAL, SEVERAL.trace(), [1])

    lost = attention.contributions[0]
    share = 100 * np.linalg.norm(lost) / np.linalg.norm(attention.output)
    token = SEVERAL.tokens[int(np.linalg.norm(lost, axis=1).argmax())]
    assert numbers(off) == [1, pytest.approx(share, rel=1e-2)]
    assert token in off


def twins(sign):
    """Two heads that look alike; what they add is the same, or cancels out."""
    one = SEVERAL.with_output_projection(True)
    W_O = np.concatenate([one.W_O[:2], sign * one.W_O[:2]])
    copied = {name: getattr(one, name)[[0, 0]] for name in ("W_Q", "W_K", "W_V")}
    return replace(one, W_O=W_O, **copied)


def test_one_head_has_no_greatest_loss():
    assert len(multi_head.heads_found(EN, ONE, ONE.trace(), [0])) == 1


@every_language
def test_of_heads_that_matter_alike_none_is_said_to_matter_most(language):
    t, nothing = Texts(language), replace(SEVERAL, W_V=0 * SEVERAL.W_V)
    both = t("narrate.comma").join(t("multi_head.heads.head", number=number) for number in (1, 2))
    for e in (twins(1), nothing):
        losses = np.abs(e.trace().attention.contributions).max(axis=(1, 2))

        most = multi_head.heads_found(t, e, e.trace(), [0, 1])[-1]

        assert losses[0] == losses[1]
        assert most.startswith(t("multi_head.heads.as_much", heads=both, loss="|").split("|")[0])
        assert numbers(most)[-1] == pytest.approx(losses[0], rel=1e-2)


def test_of_tokens_with_one_text_it_is_told_which_one_lost_most():
    e = replace(SEVERAL, tokens=("the",) * SEVERAL.n_tokens)
    lost = np.linalg.norm(e.trace().attention.contributions[0], axis=1)

    off = multi_head.heads_found(EN, e, e.trace(), [1])[-1]

    assert f"({1 + lost.argmax()}" in off.replace("\\", "")


def test_a_small_loss_is_not_called_0():
    e = SEVERAL.with_block("W_V", (0, 0, 0), 1e-4 * SEVERAL.W_V[0])

    off = multi_head.heads_found(EN, e, e.trace(), [1])[-1]

    assert 0 < numbers(off)[1] < 0.1


@every_language
def test_a_head_that_adds_nothing_takes_nothing_from_any_token(language):
    t, nothing = Texts(language), replace(ONE, W_V=0 * ONE.W_V)

    off = multi_head.heads_found(t, nothing, nothing.trace(), [])[-1]

    head = t("multi_head.heads.head", number=1)
    assert off == t("multi_head.heads.off_nothing", heads=head)


@every_language
def test_an_output_of_0_has_no_length_to_be_compared_with(language):
    t, e = Texts(language), twins(-1)
    lost = e.trace().attention.contributions[1]

    off = multi_head.heads_found(t, e, e.trace(), [0])[-1]

    assert np.abs(e.trace().attention.output).max() < 1e-12 < np.abs(lost).max()
    assert "%" not in off
    assert multi_head.short(np.abs(lost).max()) in off


@every_language
def test_sharing_that_moves_an_output_of_0_is_not_said_to_move_it_by_0_percent(language):
    t = Texts(language)
    # x · 1 · 2 + x · 2 · (-1) = 0, and with the mean of both values 1.5 x · (2 - 1).
    two = Experiment.from_preset("random").resized(n_tokens=1, d_model=1, d_k=1, n_heads=2)
    e = replace(
        two.with_output_projection(True),
        X=np.ones((1, 1)),
        W_V=np.array([[[1.0]], [[2.0]]]),
        W_O=np.array([[2.0], [-1.0]]),
    )

    moved = multi_head.grouped_found(t, e, 1)[-1]

    assert moved == t("multi_head.grouped.changed_from_0", most="1.5")
    *_, full, shared = multi_head.grouped_table(t, e).splitlines()
    assert full.endswith("| 0 % |")
    assert t("multi_head.grouped.from_0", most="1.5") in shared


def test_many_or_large_heads_are_drawn_small_and_few_with_their_numbers():
    large = Experiment.from_preset("random").resized(n_tokens=12, d_model=8, d_k=2, n_heads=4)
    for e, are_small in ((SEVERAL, False), (large, True)):
        exhibit = multi_head.heads(EN, e, e.trace(), range(e.n_heads))

        small = {m.id: m.is_compact for m in exhibit.matrices}
        assert [small.pop(id) for id in ("output", "kept", "lost")] == [False] * 3
        assert set(small.values()) == {are_small}


# --- fused


@every_experiment
@pytest.mark.parametrize("letter", multi_head.LETTERS)
def test_fused_and_per_head_are_the_same_numbers(e, letter):
    trace = e.trace()
    exhibit = multi_head.fused(EN, e, trace, letter)

    shown = values(exhibit)
    np.testing.assert_array_equal(shown["wide_W"], merge_heads(getattr(e, f"W_{letter}")))
    np.testing.assert_allclose(shown["wide"], trace.inputs @ shown["wide_W"], rtol=0, atol=1e-12)
    for matrix in exhibit.matrices:
        if matrix.operation["kind"] == "moved":
            rows, columns = np.moveaxis(np.array(matrix.operation["from"]), -1, 0)
            source = shown[matrix.operation["of"][0]]
            np.testing.assert_allclose(matrix.values, source[rows, columns], rtol=0, atol=1e-12)


def test_a_head_has_its_colour_in_the_wide_matrix_and_alone():
    bands = {m.id: m.bands for m in multi_head.fused(EN, SEVERAL, SEVERAL.trace(), "Q").matrices}

    assert bands["wide_W"] == bands["wide"] == (0, 0, 1, 1)
    assert (bands["W_0"], bands["W_1"], bands["projected_1"]) == ((0, 0), (1, 1), (1, 1))


@every_language
def test_the_two_ways_are_told_with_their_sizes_and_difference(language):
    (said,) = multi_head.fused_found(Texts(language), ROTARY, ROTARY.trace(), "K")

    assert {4, 16, 1} <= set(numbers(said))
    assert numbers(said)[-1] < 1e-12


# --- shapes


@every_language
def test_the_table_has_a_row_for_each_step_with_its_shape(language):
    steps = shape_steps(32, 128, 512, 8)

    header, rule, *rows = multi_head.shapes_table(Texts(language), steps).splitlines()

    assert header.count("|") == rule.count("|") == 4
    assert len(rows) == len(steps)
    assert rows[0].endswith("| 32 × 128 × 512 |")
    assert rows[4].endswith("| 32 × 8 × 128 × 128 |")


@every_language
def test_the_scores_are_told_beside_x(language):
    said = multi_head.shapes_told(Texts(language), shape_steps(4096, 100_000, 16_384, 512))

    wide, between = 4096 * 100_000 * 16_384, 4096 * 512 * 100_000**2
    assert numbers(said) == [wide, between, pytest.approx(between / wide, rel=1e-2)]


@every_language
def test_sizes_that_do_not_fit_are_told_with_those_that_do(language):
    t = Texts(language)

    said = multi_head.no_shapes(t, 10, 4)

    assert t("narrate.comma").join(["1", "2", "5", "10"]) in said


# --- the view


@every_experiment
def test_every_misplaced_number_is_marked_and_no_other(e):
    exhibit = multi_head.misviewed(EN, e, e.trace())

    for matrix in exhibit.matrices:
        if not matrix.id.startswith("wrong"):
            continue
        head = int(matrix.id.partition("_")[2])
        for row, line in enumerate(matrix.operation["from"]):
            for column, (token, wide_column) in enumerate(line):
                is_right = token == row and wide_column // e.d_k == head
                assert matrix.marked[row, column] == (not is_right)
                source = e.trace().attention.projected_Q[wide_column // e.d_k, token]
                assert matrix.values[row, column] == source[wide_column % e.d_k]


@every_language
def test_the_fault_is_told_with_its_count(language):
    (said,) = multi_head.misviewed_found(Texts(language), SEVERAL, SEVERAL.trace())

    # Of 4 tokens and 2 heads, only the first row of the first and the last of the last are right.
    assert {*numbers(said)[:2]} == {12, 16}
    assert numbers(said)[-1] > 0.01


@every_language
def test_where_nothing_can_be_confused_that_is_told(language):
    t = Texts(language)
    alone = SEVERAL.resized(n_tokens=1)

    assert multi_head.misviewed_found(t, ONE, ONE.trace()) == [t("multi_head.view.one_head")]
    assert multi_head.misviewed_found(t, alone, alone.trace()) == [t("multi_head.view.one_token")]


# --- shared keys


def test_shared_keys_show_the_weights_of_each_head_and_the_change():
    exhibit = multi_head.grouped(EN, ROTARY, 2)

    shared, own = ROTARY.trace(n_kv_heads=2).attention, ROTARY.trace().attention
    shown = values(exhibit)
    for head in range(4):
        np.testing.assert_array_equal(shown[f"weights_{head}"], shared.heads.weights[head])
    np.testing.assert_array_equal(shown["change"], shared.output - own.output)
    colours = [m.bands[0] for m in exhibit.matrices if m.id.startswith("weights")]
    assert colours == [0, 0, 1, 1]


@every_language
def test_the_ways_to_share_are_named(language):
    options = multi_head.kv_options(Texts(language), ROTARY)

    assert list(options) == [4, 2, 1]
    assert len(set(options.values())) == 3


@every_language
def test_cache_and_change_are_told_and_listed(language):
    t = Texts(language)
    own = ROTARY.trace().attention.output
    moved = ROTARY.trace(n_kv_heads=2).attention.output - own
    change = 100 * np.linalg.norm(moved) / np.linalg.norm(own)

    cache, changed = multi_head.grouped_found(t, ROTARY, 2)
    rows = multi_head.grouped_table(t, ROTARY).splitlines()[2:]

    assert {cache_per_token(2, 1), cache_per_token(4, 1)} <= set(numbers(cache))
    assert numbers(changed) == [pytest.approx(change, rel=1e-2)]
    assert [numbers(row)[1] for row in rows] == [8, 4, 2]
    assert numbers(rows[0])[-1] == 0


@every_language
def test_what_cannot_be_shared_or_is_not_is_told(language):
    t = Texts(language)

    assert multi_head.grouped_found(t, ONE, 1) == [t("multi_head.grouped.one_head")]
    assert numbers(multi_head.grouped_found(t, ROTARY, 4)[1]) == [0]

"""The step on gradients shows PyTorch's slopes beside the core's, and says what they say."""

import re
from dataclasses import replace

import numpy as np
import pytest

from attention_core.neural import gradients as core
from attention_core.neural.gradients import Learning, Width
from playground import narrate
from playground.lessons import pytorch_gradients
from playground.lessons.pytorch_gradients import WIDTHS, found, measured, widths_found
from playground.numerals import short
from playground.texts import LANGUAGES, Texts, escaped
from tests.playground.lessons.of_pytorch_gradients import (
    ALONE,
    CAUSAL,
    DEFAULT,
    EMPTY,
    EXPERIMENTS,
    LARGEST,
    PROJECTED,
    SEVERAL,
    SMALLEST,
    ZERO,
    all_measured,
)

every_language = pytest.mark.parametrize("language", LANGUAGES)
every_experiment = pytest.mark.parametrize("e", EXPERIMENTS)
EN = Texts("en")
NAMES = ("X", "W_Q", "W_K", "W_V")


def numbers(sentence):
    plain = sentence.replace(",", "").replace("−", "-")
    return [float(number) for number in re.findall(r"-?\d+(?:\.\d+)?(?:e-?\d+)?", plain)]


def near(value, digits=3):
    return pytest.approx(value, rel=0.6 * 10 ** (1 - digits), abs=1e-300)


# --- the board


@every_experiment
def test_each_matrix_stands_beside_its_gradient(e):
    for m in all_measured(e):
        shown = {each.id: each for each in pytorch_gradients.exhibit(EN, e, e.trace(), m).matrices}

        for name in NAMES:
            given = getattr(e, name) if name == "X" else getattr(e, name)[m.head]
            slopes = getattr(core.gradients(e, m.token, m.feature, m.head), name)
            np.testing.assert_array_equal(shown[f"given_{name}"].values, given)
            np.testing.assert_allclose(
                shown[f"slope_{name}"].values, slopes, rtol=0, atol=1e-12 * max(1, m.largest())
            )
        assert np.argwhere(shown["output"].marked).tolist() == [[m.token, m.feature]]
        np.testing.assert_array_equal(shown["output"].values, e.trace().attention.output)
        assert not any(matrix.is_editable for matrix in shown.values())


def test_the_weights_share_one_scale_and_X_has_its_own():
    m = measured(PROJECTED, 1, 2, 1)
    shown = {
        each.id: each
        for each in pytorch_gradients.exhibit(EN, PROJECTED, PROJECTED.trace(), m).matrices
    }

    largest = {name: np.abs(getattr(m.autograd, name)).max() for name in NAMES}
    assert {shown[f"slope_W_{x}"].reach for x in "QKV"} == {max(largest[f"W_{x}"] for x in "QKV")}
    assert shown["slope_X"].reach == largest["X"]


def test_each_slope_is_told_both_ways():
    m = measured(PROJECTED, 1, 2, 1)
    exhibit = pytorch_gradients.exhibit(EN, PROJECTED, PROJECTED.trace(), m)

    (slopes,) = [matrix for matrix in exhibit.matrices if matrix.id == "slope_W_K"]

    for cell in np.ndindex(slopes.values.shape):
        told = numbers(slopes.operation["texts"][cell[0]][cell[1]])
        both = (way.W_K[cell] for way in (m.autograd, m.quotients))
        assert told == [near(value, 9) for value in both]


def test_the_inputs_name_each_row_and_column_of_the_output():
    assert len(pytorch_gradients.feature_names(EN, SEVERAL)) == 4
    assert len(pytorch_gradients.feature_names(EN, LARGEST)) == 64
    assert len(pytorch_gradients.feature_names(EN, PROJECTED)) == 4


# --- sentences


@every_language
@pytest.mark.parametrize("e", [SEVERAL, PROJECTED, CAUSAL, LARGEST])
def test_the_number_of_X_that_matters_most_is_named(language, e):
    m = measured(e, e.n_tokens - 1, 0, 0)

    said = found(Texts(language), e, m)[0]

    slopes = core.quotients(e, e.n_tokens - 1, 0, 0).X
    row, column = np.unravel_index(np.abs(slopes).argmax(), slopes.shape)
    assert escaped(narrate.names(e.tokens)[row]) in said
    told = numbers(said.replace(escaped(narrate.names(e.tokens)[row]), ""))
    assert told == [column + 1, near(slopes[row, column])]


@every_language
def test_numbers_that_matter_equally_are_counted(language):
    # X = 0: all weights are 1/5, and each token adds the same through its value.
    m = measured(ZERO, 1, 0, 0)

    said = found(Texts(language), ZERO, m)[0]

    largest = np.abs(m.quotients.X).max()
    assert numbers(said) == [5, near(largest)]


@every_language
def test_tokens_behind_a_causal_mask_are_counted_as_idle(language):
    said = found(Texts(language), CAUSAL, measured(CAUSAL, 1, 0, 0))

    assert sorted(numbers(said[1])) == [0, 3, 5]


def test_a_token_with_a_slope_besides_zeros_is_not_idle():
    # Nothing reads feature 1, so its column of slopes is 0; no token's row is.
    deaf = {name: getattr(SEVERAL, name).copy() for name in NAMES[1:]}
    for W in deaf.values():
        W[:, 1] = 0.0
    e = replace(SEVERAL, **deaf)
    m = measured(e, 1, 0, 0)

    said = found(EN, e, m)

    assert not m.autograd.X[:, 1].any()
    assert m.autograd.X.any(axis=1).all()
    assert not any("without any influence" in sentence for sentence in said)


@every_language
@every_experiment
def test_the_lengths_of_the_gradients_are_told(language, e):
    t = Texts(language)
    for m in all_measured(e):
        if e.W_O is None and m.feature // e.d_k != m.head:
            other = t(
                "pytorch.gradients.other_head", number=m.head + 1, owner=m.feature // e.d_k + 1
            )
            assert other in found(t, e, m)
            assert not any(getattr(m.quotients, name).any() for name in NAMES[1:])
            continue
        # Of the differences, since the sentence comes from PyTorch.
        norms = [np.linalg.norm(getattr(m.quotients, name)) for name in NAMES[1:]]
        said = " ".join(found(t, e, m))
        told = re.search(r"W_Q ([^,，]*)[,，] ?W_K ([^,，]*)[,，] ?W_V ([\d.e−]*\d)", said).groups()
        for text, norm in zip(told, norms, strict=True):
            assert numbers(text) == [pytest.approx(norm, rel=6e-3, abs=1e-8)]


@every_language
def test_a_token_that_sees_one_key_or_none_is_told_why_gradients_are_0(language):
    t = Texts(language)

    assert t("pytorch.gradients.one_key") in found(t, ALONE, measured(ALONE, 2, 1, 0))
    assert t("pytorch.gradients.one_key") in found(t, SMALLEST, measured(SMALLEST, 0, 0, 0))
    assert t("pytorch.gradients.one_key") in found(t, CAUSAL, measured(CAUSAL, 0, 0, 0))
    assert t("pytorch.gradients.one_key") not in found(t, CAUSAL, measured(CAUSAL, 2, 0, 0))
    said = found(t, EMPTY, measured(EMPTY, 2, 1, 0))
    assert said[0] == t("pytorch.gradients.X_nothing")
    assert t("pytorch.gradients.no_key") in said
    assert said[-1] == t("pytorch.gradients.no_gap", count=5 * 4 + 3 * 8)
    assert t("pytorch.gradients.one_key") not in found(t, PROJECTED, measured(PROJECTED, 2, 1, 0))


@every_language
@pytest.mark.parametrize("e", [DEFAULT, PROJECTED, LARGEST])
def test_the_check_tells_how_far_both_ways_lie_apart(language, e):
    m = measured(e, 0, 0, 0)
    pairs = [(getattr(m.autograd, name), getattr(m.quotients, name)) for name in NAMES]
    gap = max(np.abs(one - other).max() for one, other in pairs)
    largest = max(np.abs(one).max() for one, _ in pairs)

    said = found(Texts(language), e, m)[-1]

    n_cells = e.X.size + 3 * e.d_model * e.d_k
    assert numbers(said) == [n_cells, near(gap, 1), near(gap / largest, 1)]
    assert gap / largest < 1e-6


@every_language
def test_quotients_that_do_not_confirm_are_told_as_such(language):
    t = Texts(language)
    m = measured(PROJECTED, 0, 0, 0)
    off = replace(m.quotients, X=m.quotients.X + 0.01)
    zero = replace(m.autograd, **{name: 0 * getattr(m.autograd, name) for name in NAMES})

    coarse = found(t, PROJECTED, replace(m, quotients=off))[-1]
    from_0 = found(t, PROJECTED, replace(m, autograd=zero, quotients=replace(zero, X=off.X)))[-1]

    share = short(0.01 / m.largest())
    assert coarse == t("pytorch.gradients.too_coarse", count=44, gap="0.01", share=share)
    most = short(np.abs(off.X).max())
    assert from_0 == t("pytorch.gradients.gap_from_0", count=44, gap=most)


# --- wider heads


@pytest.fixture(scope="module")
def drawn():
    return [core.at_width(d_k, 0) for d_k in WIDTHS]


def test_each_width_is_drawn_with_the_seed():
    asked = []

    pytorch_gradients.widths(lambda *given: asked.append(given), 7)

    assert asked == [(d_k, 7) for d_k in (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)]
    assert pytorch_gradients.at_width(2, 7) == core.at_width(2, 7)


def test_the_figure_draws_the_medians_on_one_scale(drawn):
    figure = pytorch_gradients.figure(EN, drawn, 64, "light")

    lines = figure["data"]
    for panel, of in enumerate(("unscaled", "scaled")):
        for letter, line in zip("QKV", lines[3 * panel : 3 * panel + 3], strict=True):
            assert line["name"] == f"W_{letter}"
            assert line["x"] == list(WIDTHS)
            assert line["y"] == [getattr(getattr(each, of), f"W_{letter}") for each in drawn]
    layout = figure["layout"]
    assert layout["yaxis"]["range"] == layout["yaxis2"]["range"]
    low, high = layout["yaxis"]["range"]
    assert all(low < np.log10(y) < high for line in lines for y in line["y"])
    assert {shape["x0"] for shape in layout["shapes"]} == {64}


def test_a_median_of_0_is_left_out_of_the_figure_and_told(drawn):
    dead = Learning(W_Q=0.0, W_K=0.0, W_V=4.0, n_zeros=90, mean_largest=1.0)
    last = replace(drawn[-1], unscaled=dead)

    figure = pytorch_gradients.figure(EN, [*drawn[:-1], last], 512, "light")
    said = widths_found(EN, [*drawn[:-1], last], 512)

    assert figure["data"][0]["y"][-1] is None
    assert said[0] == EN(
        "pytorch.gradients.beside", d_k=512, unscaled="0", scaled=f"{last.scaled.W_Q:.3g}"
    )
    assert said[-1] == EN("pytorch.gradients.absent", widths="512")


def test_where_all_medians_are_0_there_is_still_a_figure():
    dead = Learning(W_Q=0.0, W_K=0.0, W_V=0.0, n_zeros=1, mean_largest=1.0)
    widths = [Width(d_k, 1, 1, dead, dead) for d_k in WIDTHS]

    figure = pytorch_gradients.figure(EN, widths, 512, "light")

    assert all(y is None for line in figure["data"] for y in line["y"])


def test_the_table_holds_the_numbers_of_the_chosen_width(drawn):
    table = pytorch_gradients.table(EN, pytorch_gradients.chosen(drawn, 256))

    _, W_Q, W_K, W_V, largest, zeros = table.values()
    for row, of in enumerate((drawn[8].unscaled, drawn[8].scaled)):
        assert [numbers(column[row])[0] for column in (W_Q, W_K, W_V, largest)] == [
            near(value) for value in (of.W_Q, of.W_K, of.W_V, of.mean_largest)
        ]
    assert zeros == ["0 / 100", "0 / 100"]


@every_language
@pytest.mark.parametrize("d_k", [2, 64, 512])
def test_what_scaling_changes_is_told(language, drawn, d_k):
    t = Texts(language)
    (width,) = [each for each in drawn if each.d_k == d_k]
    without, within = width.unscaled, width.scaled

    beside, largest, values, peak = widths_found(t, drawn, d_k)

    told = {"d_k": d_k, "unscaled": short(without.W_Q), "scaled": short(within.W_Q)}
    if d_k == 512:
        factor = short(within.W_Q / without.W_Q)
        assert beside == t("pytorch.gradients.smaller", factor=factor, **told)
    else:
        factor = short(without.W_Q / within.W_Q)
        assert beside == t("pytorch.gradients.larger", factor=factor, **told)
    assert numbers(largest) == [near(without.mean_largest), near(within.mean_largest)]
    assert numbers(values) == [near(without.W_V), near(within.W_V)]
    top = max(drawn, key=lambda each: each.unscaled.W_Q)
    assert numbers(peak) == [top.d_k, near(top.unscaled.W_Q)]


@every_language
def test_at_width_1_both_are_told_to_be_alike(language, drawn):
    alike, peak = widths_found(Texts(language), drawn, 1)

    assert drawn[0].unscaled == drawn[0].scaled
    assert numbers(alike)[-1] == near(drawn[0].unscaled.W_Q)
    assert len(numbers(peak)) == 2


def test_what_was_drawn_is_told(drawn):
    assert numbers(pytorch_gradients.drawn(EN, drawn)) == [100, 16, 1]

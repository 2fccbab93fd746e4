"""Encodings in the lesson on order: measured, drawn and told as the core gives them."""

import re
from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest

from attention_core import Mask, positions
from attention_core.canvas import learned_positions
from attention_core.permutation import encoding_gaps
from attention_core.presets import ENCODINGS
from playground.lessons import encodings
from playground.texts import Texts
from tests.playground.lessons.of_permutation import APPLE, SEVERAL
from tests.playground.lessons.test_permutation import every_language, gap_of


def test_the_table_holds_every_combination_and_the_chosen_one_stands_out():
    e = replace(SEVERAL, encoding="learned")

    table = encodings.gap_table(Texts("en"), e, encoding_gaps(e)).splitlines()

    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in table]
    names = ["None", "Sinusoidal", "**Learned**", "Rotary", "ALiBi bias"]
    assert [row[0] for row in rows[2:]] == names
    for encoding, (_, unmasked, causal) in zip(ENCODINGS, rows[2:], strict=True):
        for text, kinds in ((unmasked, ()), (causal, ("causal",))):
            with_it = replace(e, encoding=encoding, mask=Mask(kinds))
            swaps = [p for p in permutations(range(4)) if sum(i != j for i, j in enumerate(p)) == 2]
            largest = max(gap_of(with_it, order) for order in swaps)
            if encoding == "none" and not kinds:
                assert re.fullmatch(r"\de−1[56] \(rounding\)", text)
            else:
                assert text == f"{largest:.3g}"


@every_language
def test_gaps_that_rounding_alone_may_make_are_not_called_rounding(language):
    t = Texts(language)
    huge = replace(APPLE, X=1e5 * APPLE.X, W_Q=1e5 * APPLE.W_Q, W_K=1e5 * APPLE.W_K)
    measured = encoding_gaps(huge)
    n_unclear = sum(each.is_unclear for each in measured)
    assert n_unclear > 1

    sentences = encodings.found(t, huge, measured, is_scaled=False)

    unclear = t("permutation.encodings.unclear", count=10, unclear=n_unclear)
    assert unclear in sentences
    n_rounding = encodings.gap_table(Texts("en"), huge, measured).count("(rounding)")
    assert n_rounding == sum(each.is_rounding for each in measured)
    if not n_rounding:
        assert sentences[0] == unclear


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_an_encoding_is_drawn_as_the_core_gives_it(theme):
    t = Texts("en")
    expected = {
        "sinusoidal": positions.sinusoidal(64, 5),
        "learned": learned_positions(0)[:, :5],
        "rotary": positions.rotary(np.tile([1.0, 0.0], (64, 1))),
        "alibi": positions.alibi_bias(64, 64, positions.alibi_slopes(3))[1],
    }
    for encoding, table in expected.items():
        e = replace(SEVERAL, encoding=encoding)
        heatmap, *curves = encodings.encoding_figure(t, e, 1, theme)["data"]

        np.testing.assert_allclose(heatmap["z"], table, err_msg=encoding)
        if encoding == "alibi":
            slopes = positions.alibi_slopes(3)
            np.testing.assert_allclose([c["y"] for c in curves], -slopes[:, None] * np.arange(64))
        else:
            np.testing.assert_allclose([c["y"] for c in curves], table.T)


def test_what_an_encoding_does_is_drawn_as_measured():
    t, e = Texts("en"), SEVERAL

    def drawn(encoding, is_scaled=False):
        of = replace(e, encoding=encoding)
        figure = encodings.effect_figure(t, of, 1, "light", is_scaled=is_scaled)
        return {trace.get("name", "map"): trace for trace in figure["data"]}

    added = drawn("sinusoidal")
    np.testing.assert_allclose(added["X"]["y"], np.sqrt((e.X**2).sum(axis=1)))
    np.testing.assert_allclose(
        drawn("sinusoidal", True)["X · √d_model"]["y"], np.sqrt(5 * (e.X**2).sum(axis=1))
    )
    P = positions.sinusoidal(4, 5)
    np.testing.assert_allclose(added["P"]["y"], np.sqrt((P**2).sum(axis=1)))
    assert max(y for y in added["Rotary"]["y"] if y) < 1e-12
    assert min(added["Sinusoidal"]["y"]) > 1e-3

    turned = drawn("rotary")
    Q = e.X @ e.W_Q[1]
    np.testing.assert_allclose(turned["Q"]["y"], np.sqrt((Q**2).sum(axis=1)))
    np.testing.assert_allclose(turned["RoPE(Q)"]["y"], turned["Q"]["y"])

    table = learned_positions(0)[:, :5]
    np.testing.assert_allclose(drawn("learned")["map"]["z"], table @ table.T)


def encodings_said(language, e, is_scaled=False):
    t = Texts(language)
    return encodings.found(t, e, encoding_gaps(e), is_scaled=is_scaled)


@every_language
def test_it_says_for_which_combinations_places_do_not_matter(language):
    t = Texts(language)
    none, alibi = t("permutation.encodings.none"), t("permutation.encodings.alibi")
    bare = t("permutation.encodings.without_mask", encoding=none)

    (only,) = encodings_said(language, SEVERAL)
    (several,) = encodings_said(language, SEVERAL.resized(n_tokens=2))

    assert only == t("permutation.encodings.only", count=10, encoding=bare)
    also = t("permutation.encodings.without_mask", encoding=alibi)  # two tokens: one distance
    listed = t("permutation.blamed.comma").join([bare, also])
    assert several == t("permutation.encodings.several", count=10, encodings=listed)


@every_language
def test_what_is_particular_to_an_encoding_is_said_in_its_numbers(language):
    t, e = Texts(language), SEVERAL
    lengths = np.linalg.norm(e.X, axis=1).mean()
    table = learned_positions(e.seed)[:4, :5]
    scaled = t("permutation.encodings.scaled_X")

    _, size, rows = encodings_said(language, replace(e, encoding="learned"), is_scaled=True)
    _, slopes = encodings_said(language, replace(e, encoding="alibi"))
    _, slope = encodings_said(language, replace(APPLE, encoding="alibi"))
    _, shifts = encodings_said(language, replace(e, encoding="rotary"))

    X, P = f"{lengths * np.sqrt(5):.3g}", f"{np.linalg.norm(table, axis=1).mean():.3g}"
    assert size == t("permutation.encodings.size", name=scaled, X=X, P=P)
    assert rows == t("permutation.encodings.rows", rows=12, columns=5)
    assert slopes == t("permutation.encodings.slopes", steepest="0.25", flattest="0.00391")
    assert slope == t("permutation.encodings.slope", slope="0.00391")
    assert re.search(r"\de−1[456]", shifts)
    assert "64" in shifts

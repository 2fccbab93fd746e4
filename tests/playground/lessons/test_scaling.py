"""The lesson on scaling and softmax: its numbers are the core's, and its sentences are true."""

from dataclasses import replace

import numpy as np
import pytest

from attention_core import Experiment, Mask, softmax, softmax_jacobian
from attention_core.scaling import sample
from playground.lessons import scaling
from playground.texts import LANGUAGES, Texts
from tests.playground.lessons.of_scaling import EXPERIMENTS

every_language = pytest.mark.parametrize("language", LANGUAGES)

EN = Texts("en")


def head_of(e, head=0):
    return e.trace().attention.head(head)


def matrices_of(exhibit):
    return {matrix.id: matrix for matrix in exhibit.matrices}


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0.0, "0"),
        (522.4, "522"),
        (1032.148, "1032"),
        (0.30575, "0.306"),
        (0.25, "0.25"),
        (-1.5, "−1.5"),
        (0.00046572, "4.66e−4"),
        (5e-324, "4.94e−324"),
        (1e-16, "1e−16"),
        (123456.0, "1.23e5"),
        (99_999.7, "1e5"),
        (999.7, "1000"),
        (0.99999, "1"),
    ],
)
def test_a_number_has_three_digits_and_no_more(number, text):
    assert scaling.plain(number) == text


@pytest.mark.parametrize(
    ("share", "text"),
    [(0.0, "0 %"), (1.0, "100 %"), (0.5302, "53.0 %"), (1e-9, "0.1 %"), (0.99999, "99.9 %")],
)
def test_a_share_is_0_or_100_percent_only_where_it_is(share, text):
    assert scaling.percent(share) == text


# --- sampling


@pytest.fixture(scope="module")
def samples():
    return [scaling.drawn(d_k, 256, seed=4) for d_k in scaling.WIDTHS]


def test_a_sample_is_drawn_from_its_seed_and_its_width_alone():
    found = scaling.drawn(8, 64, seed=3)

    assert found.n_rows == 64
    assert found.unscaled.variance == sample(np.random.default_rng([3, 8]), 8, 4).unscaled.variance


@every_language
@pytest.mark.parametrize(
    ("look", "names"),
    [
        ("scores", ["variance", None]),
        ("weights", ["mean_largest", "mean_entropy"]),
        ("gradient", ["median_jacobian", "dead_share"]),
    ],
)
def test_the_curves_are_those_of_the_samples(samples, language, look, names):
    t = Texts(language)

    figure = scaling.sampled(t, samples, samples[6], look, "light")

    for axis, name in zip(("x", "x2"), names, strict=True):
        if name is None:
            continue
        for of, label in (("unscaled", "unscaled"), ("scaled", "scaled")):
            (line,) = [
                trace
                for trace in figure["data"]
                if trace["xaxis"] == axis and trace["name"] == t(f"scaling.sampling.{label}")
            ]
            assert line["x"] == list(scaling.WIDTHS)
            assert line["y"] == [getattr(getattr(each, of), name) for each in samples]
    marks = {shape["x0"] for shape in figure["layout"]["shapes"]}
    assert marks == {64}


def test_the_variance_stands_beside_the_theory(samples):
    figure = scaling.sampled(EN, samples, samples[0], "scores", "dark")

    theory = [trace["y"] for trace in figure["data"] if trace["name"] == "theory"]
    assert theory == [[float(d_k) for d_k in scaling.WIDTHS], [1.0] * 11]


def test_the_histogram_is_that_of_the_chosen_width(samples):
    figure = scaling.sampled(EN, samples, samples[9], "scores", "light")

    *_, without, within = figure["data"]
    assert without["x"] == within["x"] == samples[9].bins.tolist()
    assert without["y"] == samples[9].unscaled.density.tolist()
    assert within["y"] == samples[9].scaled.density.tolist()
    assert "512" in str(figure["layout"]["annotations"])


def test_the_mean_of_the_norm_is_dashed(samples):
    figure = scaling.sampled(EN, samples, samples[9], "gradient", "light")

    dashed = [trace["y"] for trace in figure["data"] if trace["line"].get("dash") == "dash"]
    assert dashed == [
        [each.unscaled.mean_jacobian for each in samples],
        [each.scaled.mean_jacobian for each in samples],
    ]


@every_language
def test_the_table_holds_the_numbers_at_the_chosen_width(samples, language):
    of = samples[9]

    rows = scaling.sampled_table(Texts(language), of).splitlines()

    assert len(rows) == 4
    for row, numbers in zip(rows[2:], (of.unscaled, of.scaled), strict=True):
        cells = [cell.strip() for cell in row.strip("|").split("|")]
        assert cells[1:] == [
            scaling.plain(numbers.variance),
            scaling.plain(numbers.mean_largest),
            scaling.plain(numbers.mean_entropy),
            scaling.plain(numbers.mean_jacobian),
            scaling.plain(numbers.median_jacobian),
            scaling.percent(numbers.dead_share),
            scaling.plain(numbers.mean_gradient),
        ]


def with_dead(share):
    of = scaling.drawn(64, 256, seed=0)
    return replace(of, unscaled=replace(of.unscaled, dead_share=share))


@every_language
@pytest.mark.parametrize(
    ("share", "key"), [(0.0, "some_dead"), (0.5, "some_dead"), (0.501, "most_dead")]
)
def test_most_rows_are_said_to_stop_only_where_most_do(language, share, key):
    t, of = Texts(language), with_dead(share)

    spread, dead, gradient = scaling.sampled_found(t, of)

    assert spread == t(
        "scaling.sampling.spread",
        d_k=64,
        unscaled=scaling.plain(of.unscaled.variance),
        scaled=scaling.plain(of.scaled.variance),
    )
    assert dead == t(
        f"scaling.sampling.{key}",
        share=scaling.percent(share),
        scaled_share="0 %",
        dead="0.001",
        median=scaling.plain(of.unscaled.median_jacobian),
        scaled_median=scaling.plain(of.scaled.median_jacobian),
    )
    assert gradient == t(
        "scaling.sampling.gradient",
        unscaled=scaling.plain(of.unscaled.mean_gradient),
        scaled=scaling.plain(of.scaled.mean_gradient),
        top=scaling.percent(of.unscaled.top_share),
        scaled_top=scaling.percent(of.scaled.top_share),
    )


@every_language
def test_at_width_1_scaling_is_said_to_change_nothing(samples, language):
    t = Texts(language)

    said = scaling.sampled_found(t, samples[0])

    variance = scaling.plain(samples[0].unscaled.variance)
    assert said == [t("scaling.sampling.alike", variance=variance)]
    np.testing.assert_array_equal(samples[0].unscaled.density, samples[0].scaled.density)


# --- factor


def by_hand(scores, factor):
    """The weights of each row, and the norms of their Jacobians; an empty row has zeros."""
    weights = np.zeros_like(scores)
    for row, each in enumerate(scores):
        allowed = np.isfinite(each)
        if allowed.any():
            weights[row, allowed] = softmax(factor * each[allowed])
    return weights, np.linalg.norm(softmax_jacobian(weights), axis=(-2, -1))


@pytest.mark.parametrize("factor", [0.0, 0.7, 1.0, 100.0])
@pytest.mark.parametrize("name", EXPERIMENTS)
def test_the_board_shows_the_experiments_scores_times_the_factor(name, factor):
    e = EXPERIMENTS[name]
    trace = head_of(e)

    shown = matrices_of(scaling.factored(EN, e, trace, factor))

    scores = trace.masked_scores
    weights, norms = by_hand(scores, factor)
    np.testing.assert_array_equal(shown["scores"].values, scores)
    allowed = np.isfinite(scores)
    np.testing.assert_array_equal(shown["times"].values[allowed], factor * scores[allowed])
    assert np.isneginf(shown["times"].values[~allowed]).all()
    np.testing.assert_allclose(shown["weights"].values, weights, rtol=1e-12, atol=1e-300)
    spread, shown_norms, reach = shown["measures"].values.T
    logarithms = np.log(np.where(weights > 0, weights, 1))
    np.testing.assert_allclose(spread, -(weights * logarithms).sum(-1), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(shown_norms, norms, rtol=1e-7, atol=1e-12)
    np.testing.assert_allclose(reach, factor * norms, rtol=1e-7, atol=1e-10)


def test_factor_1_gives_the_weights_of_the_experiment():
    for e in EXPERIMENTS.values():
        shown = matrices_of(scaling.factored(EN, e, head_of(e), 1.0))

        np.testing.assert_array_equal(shown["weights"].values, head_of(e).weights)


@every_language
def test_each_measure_is_told_with_its_numbers(language):
    t = Texts(language)
    e = Experiment.from_preset("uniform")  # four equal weights in each row

    shown = matrices_of(scaling.factored(t, e, head_of(e), 2.0))

    norm = scaling.plain(np.sqrt(3) / 4)
    assert shown["measures"].operation["texts"][2] == [
        t("scaling.factor.entropy_told", entropy="1.39", most="1.39", count=4),
        t("scaling.factor.norm_told", norm=norm),
        t("scaling.factor.reach_told", factor="2", norm=norm, reach=scaling.plain(np.sqrt(3) / 2)),
    ]


def test_the_temperature_is_one_over_the_factor():
    names = scaling.factor_names(EN)

    assert names[0.0] == "c = 0, T = ∞"
    assert names[0.5] == "c = 0.5, T = 2"
    assert names[100.0] == "c = 100, T = 0.01"
    assert list(names) == sorted(names)


@every_language
@pytest.mark.parametrize("factor", [0.0, 0.2, 1.0, 5.0])
def test_what_is_said_of_a_factor_is_measured(language, factor):
    t = Texts(language)
    e = EXPERIMENTS["masked"]
    scores = head_of(e).masked_scores

    sharp, through, *rest, drawn = scaling.factored_found(t, head_of(e), factor)

    weights, norms = by_hand(scores, factor)
    spread = scaling.plain(np.mean([-(w[w > 0] * np.log(w[w > 0])).sum() for w in weights]))
    if factor == 0:
        assert sharp == t("scaling.factor.even", entropy=spread)
    else:
        assert sharp == t(
            "scaling.factor.sharp",
            factor=scaling.plain(factor),
            largest=scaling.plain(weights.max(axis=-1).mean()),
            entropy=spread,
            most=scaling.plain(np.log(np.isfinite(scores).sum(axis=-1)).mean()),
        )
    reach = {each: each * by_hand(scores, each)[1].mean() for each in scaling.FACTORS}
    best = max(reach, key=reach.get)
    assert through == t(
        "scaling.factor.through",
        reach=scaling.plain(reach[factor]),
        best=scaling.plain(best),
        most=scaling.plain(reach[best]),
    )
    n_dead = int((norms < 1e-3).sum())
    assert n_dead >= 1  # the first row of a causal mask has no choice
    told = t("scaling.factor.dead", count=n_dead, n_rows=len(scores), dead="0.001")
    assert rest == [told]
    temperatures = {
        0.0: t("scaling.factor.temperature_infinite"),
        0.2: t("scaling.factor.temperature_high", temperature="5"),
        1.0: t("scaling.factor.temperature_1"),
        5.0: t("scaling.factor.temperature_low", temperature="0.2"),
    }
    assert drawn == temperatures[factor]


@every_language
def test_rows_without_a_choice_and_without_a_key_have_sentences_of_their_own(language):
    t = Texts(language)
    alone = Experiment.from_preset("random").resized(n_tokens=1)
    nobody = EXPERIMENTS["nobody"]

    assert t("scaling.factor.nothing") in scaling.factored_found(t, head_of(alone), 2.0)
    assert scaling.factored_found(t, head_of(nobody), 2.0) == [t("scaling.own.empty")]


def test_the_mean_is_over_the_rows_that_attend_to_something():
    mask = Mask(("painted",), painted=tuple((2, key, False) for key in range(3)))
    e = replace(Experiment.from_preset("apple"), mask=mask)

    sharp = scaling.factored_found(EN, head_of(e), 1.0)[0]

    weights = head_of(Experiment.from_preset("apple")).weights[:2]
    largest = scaling.plain(weights.max(axis=-1).mean())
    assert f"the largest weight of a row is {largest} on average" in sharp


# --- stability


@pytest.mark.parametrize(
    ("number", "text"),
    [(np.inf, "∞"), (-np.inf, "−∞"), (np.nan, "NaN"), (-0.5, "−0.5"), (65504.0, "65504")],
)
def test_what_is_no_number_is_written_too(number, text):
    assert scaling.written(number) == text


def test_offsets_are_in_order_and_named_with_their_sign():
    names = scaling.offset_names()

    assert list(names) == sorted(set(names))
    assert (names[-750], names[0], names[12]) == ("−750", "0", "+12")


def test_a_token_is_named_letter_by_letter():
    e = Experiment.from_preset("apple").with_token_renamed(1, "*a*")

    assert scaling.token_names(e) == {0: "我", 1: r"\*a\*", 2: "苹果"}


@pytest.mark.parametrize(("precision", "offset"), [("float16", 12), ("float32", 0)])
def test_the_columns_are_every_step_of_both_forms(precision, offset):
    e = EXPERIMENTS["masked"]
    scores = head_of(e).masked_scores[2]
    dtype = np.dtype(precision).type

    both = scaling.both_ways(head_of(e), 2, precision, offset)
    shown = {id: m.values for id, m in matrices_of(scaling.stable(EN, e, 2, both)).items()}

    with np.errstate(all="ignore"):
        s = scores.astype(dtype) + dtype(offset)
        powers = {"textbook": s, "shifted": s - s.max()}
        for form, power in powers.items():
            exponentials = np.exp(power)
            expected = {
                "scores": s,
                "exponentials": exponentials,
                "total": exponentials.sum(keepdims=True),
                "weights": exponentials / exponentials.sum(),
            }
            for step, values in expected.items():
                column = values.astype(float)[:, None]
                np.testing.assert_array_equal(shown[f"{form}_{step}"], column, step)
    np.testing.assert_array_equal(shown["shifted_maximum"], [[float(s.max())]])
    np.testing.assert_array_equal(shown["shifted_shifted"][:, 0], powers["shifted"])
    assert len(shown) == 10


@every_language
def test_each_cell_tells_its_arithmetic(language):
    t = Texts(language)
    e = Experiment.from_preset("apple")

    both = scaling.both_ways(head_of(e), 0, "float16", 12)
    shown = matrices_of(scaling.stable(t, e, 0, both))

    def told(id):
        return [text for (text,) in shown[id].operation["texts"]]

    def said(arithmetic):
        return t("scaling.stability.told", arithmetic=arithmetic, precision="float16")

    assert told("textbook_scores")[0] == said("0.707 + 12 = 12.7")
    assert told("textbook_exponentials")[0] == said("e^12.7 = ∞")
    assert told("textbook_total") == [said("∞ + ∞ + ∞ = ∞")]
    assert told("textbook_weights")[0] == said("∞ / ∞ = NaN")
    assert told("shifted_maximum") == [said("max(12.7, 13.4, 12.8) = 13.4")]
    assert told("shifted_shifted")[0] == said("12.7 − 13.4 = −0.711")
    assert told("shifted_exponentials")[0] == said("e^(−0.711) = 0.491")
    negative = scaling.both_ways(head_of(e), 0, "float32", -20)
    scores = matrices_of(scaling.stable(t, e, 0, negative))["textbook_scores"]
    assert "0.707 + (−20) = −19.3" in scores.operation["texts"][0][0]


def test_what_exact_arithmetic_would_not_hold_is_marked():
    e = Experiment.from_preset("apple")
    both = scaling.both_ways(head_of(e), 0, "float16", 12)

    shown = matrices_of(scaling.stable(EN, e, 0, both))

    marked = {id: matrix.marked.any() for id, matrix in shown.items()}
    assert {id for id, is_marked in marked.items() if is_marked} == {
        "textbook_exponentials",
        "textbook_total",
        "textbook_weights",
    }
    first = EN("scaling.stability.first_about")
    assert [id for id, m in shown.items() if m.about == first] == ["textbook_exponentials"]


def with_score(score):
    """One token whose only score is this number, and a second one that scores 0."""
    start = Experiment.from_preset("random").resized(n_tokens=2, d_model=1, d_k=1, n_heads=1)
    return replace(
        start,
        X=np.array([[1.0], [0.0]]),
        W_Q=np.array([[[1.0]]]),
        W_K=np.array([[[float(score)]]]),
        is_scaled=False,
    )


@every_language
@pytest.mark.parametrize(
    ("score", "precision", "offset", "textbook", "shifted"),
    [
        (1, "float16", 0, None, None),
        (1, "float16", 12, ("exponentials", "∞", 2), None),
        (1, "float16", -20, ("exponentials", "0", 2), None),
        (-30, "float16", 0, ("exponentials", "0", 0), ("exponentials", "0", 0)),
        (700, "float64", 500, ("exponentials", "∞", 1), None),
        (1e6, "float16", 0, ("scores", "∞", 1), ("scores", "∞", 2)),
    ],
)
def test_what_is_said_of_both_forms_is_what_became_of_them(
    language, score, precision, offset, textbook, shifted
):
    t, e = Texts(language), with_score(score)
    both = scaling.both_ways(head_of(e), 0, precision, offset)

    first, second, third, last = scaling.stable_found(t, e, 0, both)

    forms = t("scaling.stability.textbook"), t("scaling.stability.with_shift")
    for said, form, fault in zip((first, second), forms, (textbook, shifted), strict=True):
        if fault is None:
            expected = t("scaling.stability.fine", form=form, precision=precision)
        else:
            step, what, n_lost = fault
            named = {"form": form, "step": t(f"scaling.stability.{step}"), "what": what}
            expected = (
                t("scaling.stability.breaks", **named, count=n_lost, n_weights=2)
                if n_lost
                else t("scaling.stability.survives", **named)
            )
        assert said == expected
    if score == 1e6:
        assert third == t("scaling.stability.too_large", precision=precision)
    else:
        gap = np.abs(both.shifted.weights - softmax([float(score), 0.0])).max()
        assert third == t("scaling.stability.gap", gap=scaling.plain(gap))
    known = {"float16": "11.09", "float64": "709.78"}[precision]
    assert last == t("scaling.stability.threshold", precision=precision, threshold=known, log=known)


@every_language
def test_a_row_without_scores_has_a_sentence_of_its_own(language):
    t, e = Texts(language), EXPERIMENTS["nobody"].with_token_renamed(1, "*b*")

    both = scaling.both_ways(head_of(e), 1, "float16", 0)

    assert both is None
    assert scaling.stable_found(t, e, 1, both) == [t("scaling.stability.empty", token=r"\*b\*")]


@every_language
def test_the_thresholds_stand_beside_the_logarithms(language):
    rows = scaling.thresholds(Texts(language)).splitlines()[2:]

    cells = [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]
    assert cells == [
        ["float16", "65504", "11.0899", "11.0859", "−17.3281"],
        ["float32", "3.4e38", "88.7228", "88.7228", "−103.9721"],
        ["float64", "1.8e308", "709.7827", "709.7827", "−745.1332"],
    ]

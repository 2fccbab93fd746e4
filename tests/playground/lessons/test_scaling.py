"""The lesson on scaling and softmax: its numbers are the core's, and its sentences are true."""

import re
from dataclasses import replace

import numpy as np
import pytest

from attention_core import Experiment, Mask, softmax, softmax_jacobian
from attention_core.scaling import N_TOKENS, sample
from playground.lessons import scaling
from playground.lessons.tokens import named
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
    t, of = Texts(language), samples[9]

    columns = list(scaling.sampled_table(t, of).values())

    assert columns[0] == [t("scaling.sampling.unscaled"), t("scaling.sampling.scaled")]
    for row, numbers in enumerate((of.unscaled, of.scaled)):
        assert [column[row] for column in columns[1:]] == [
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
    assert of.unscaled.mean_gradient > of.scaled.mean_gradient
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
    is_kept = key == "most_dead"
    assert gradient == t(
        "scaling.sampling.gradient_kept" if is_kept else "scaling.sampling.gradient",
        unscaled=scaling.plain(of.unscaled.mean_gradient),
        scaled=scaling.plain(of.scaled.mean_gradient),
        top=scaling.percent(of.unscaled.top_share),
        scaled_top=scaling.percent(of.scaled.top_share),
    )


@every_language
@pytest.mark.parametrize("lost", ["mean_gradient", "top_share"])
def test_few_rows_are_said_to_carry_the_gradient_only_where_they_do(language, lost):
    t, of = Texts(language), with_dead(0.9)
    of = replace(of, unscaled=replace(of.unscaled, **{lost: 0.01}))

    gradient = scaling.sampled_found(t, of)[-1]

    assert gradient == t(
        "scaling.sampling.gradient",
        unscaled=scaling.plain(of.unscaled.mean_gradient),
        scaled=scaling.plain(of.scaled.mean_gradient),
        top=scaling.percent(of.unscaled.top_share),
        scaled_top=scaling.percent(of.scaled.top_share),
    )


@every_language
def test_the_step_names_the_keys_and_widths_that_are_drawn(language):
    numbers = re.findall(r"\d+", Texts(language)("scaling.sampling.ask"))

    assert numbers[-3:] == [str(N_TOKENS), str(scaling.WIDTHS[0]), str(scaling.WIDTHS[-1])]


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


def test_measures_near_0_have_no_colour():
    e = EXPERIMENTS["apple"]

    shown = matrices_of(scaling.factored(EN, e, head_of(e), 100.0))

    assert shown["measures"].values.max() < 1e-10
    assert shown["measures"].reach == np.log(3)


@every_language
def test_a_row_without_any_key_is_told_as_such(language):
    t, e = Texts(language), EXPERIMENTS["some_rows_empty"]
    is_empty = ~head_of(e).allowed.any(axis=-1)
    assert is_empty.any()

    shown = matrices_of(scaling.factored(t, e, head_of(e), 1.0))

    empty = [t("scaling.factor.empty_told")] * 3
    told = shown["measures"].operation["texts"]
    assert [texts == empty for texts in told] == is_empty.tolist()


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
        (0, "float16", 11, ("total", "∞", None), None),  # 2 · e^11 is above 65504
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
            if n_lost is None:
                expected = t("scaling.stability.vanishes", **named)
            elif n_lost:
                expected = t("scaling.stability.breaks", **named, count=n_lost, n_weights=2)
            else:
                expected = t("scaling.stability.survives", **named)
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
    assert scaling.stable_found(t, e, 1, both) == [t("scaling.stability.empty", token=r"“\*b\*”")]


@every_language
def test_the_thresholds_stand_beside_the_logarithms(language):
    columns = scaling.thresholds(Texts(language)).values()

    assert list(zip(*columns, strict=True)) == [
        ("float16", "65504", "11.0899", "11.0859", "−17.3281"),
        ("float32", "3.4e38", "88.7228", "88.7228", "−103.9721"),
        ("float64", "1.8e308", "709.7827", "709.7827", "−745.1332"),
    ]


# --- axis


def columns_by_hand(scores):
    """Softmax of each column by a loop; a column without any score has zeros."""
    weights = np.zeros_like(scores)
    for key in range(scores.shape[1]):
        allowed = np.isfinite(scores[:, key])
        if allowed.any():
            weights[allowed, key] = softmax(scores[allowed, key])
    return weights


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_both_axes_are_shown_with_their_sums(name):
    e = EXPERIMENTS[name]
    trace = head_of(e, e.n_heads - 1)

    shown = matrices_of(scaling.both_axes(EN, e, trace))

    columns = columns_by_hand(trace.masked_scores)
    np.testing.assert_array_equal(shown["rows"].values, trace.weights)
    np.testing.assert_allclose(shown["columns"].values, columns, rtol=1e-12)
    for id, weights in (("rows", trace.weights), ("columns", columns)):
        of_rows, of_columns = shown[f"{id}_row_sums"], shown[f"{id}_column_sums"]
        expected = [[sum(row)] for row in weights.tolist()]
        np.testing.assert_allclose(of_rows.values, expected, rtol=1e-12)
        expected = [[sum(column) for column in weights.T.tolist()]]
        np.testing.assert_allclose(of_columns.values, expected, rtol=1e-12)
        np.testing.assert_array_equal(of_rows.marked, np.abs(of_rows.values - 1) > 1e-9)


@every_language
def test_the_sums_are_said_and_what_an_output_would_be(language):
    t, e = Texts(language), EXPERIMENTS["masked"].with_token_renamed(3, "*d*")
    trace = head_of(e)

    right, wrong, mixed, moved = scaling.both_axes_found(t, e, trace)

    columns = columns_by_hand(trace.masked_scores)
    row_sums, column_sums = columns.sum(axis=1), trace.weights.sum(axis=0)
    assert right == t(
        "scaling.axis.right",
        count=4,
        n_tokens=4,
        low=scaling.plain(column_sums.min()),
        high=scaling.plain(column_sums.max()),
    )
    assert wrong == t(
        "scaling.axis.wrong",
        count=4,
        n_tokens=4,
        low=scaling.plain(row_sums.min()),
        high=scaling.plain(row_sums.max()),
    )
    worst = int(np.argmax(np.abs(row_sums - 1)))
    assert mixed == t(
        "scaling.axis.mixed", token=named(e, worst), sum=scaling.plain(row_sums[worst])
    )
    gap = np.abs(columns @ trace.V - trace.weights @ trace.V).max()
    assert moved == t("scaling.axis.moved", gap=scaling.plain(gap))


@every_language
def test_a_token_that_the_wrong_axis_leaves_without_weight_has_a_sentence_of_its_own(language):
    t = Texts(language)
    mask = Mask(("painted",), painted=tuple((2, key, False) for key in range(3)))
    e = replace(Experiment.from_preset("uniform").resized(n_tokens=3), mask=mask)

    said = scaling.both_axes_found(t, e, head_of(e))

    assert said[2] == t("scaling.axis.none", token="“blue”")


@every_language
def test_where_the_wrong_axis_gives_rows_of_1_too_that_is_said(language):
    t, e = Texts(language), Experiment.from_preset("uniform")

    said = scaling.both_axes_found(t, e, head_of(e))

    assert said[2] == t("scaling.axis.by_chance")
    assert said[3] == t("scaling.axis.moved", gap="0")


@every_language
def test_sums_that_no_score_can_move_are_not_said_to_be_chance(language):
    t, e = Texts(language), Experiment.from_preset("random")
    itself = Mask(("window",), before=0, after=0)
    for alone in (e.resized(n_tokens=1), replace(e, mask=itself)):
        other = replace(alone, W_Q=2 * alone.W_Q)

        for each in (alone, other):
            said = scaling.both_axes_found(t, each, head_of(each))
            np.testing.assert_array_equal(
                scaling.down_columns(head_of(each).masked_scores), np.eye(each.n_tokens)
            )
            assert said[2] == t("scaling.axis.by_mask")


@every_language
def test_no_axis_is_measured_where_nobody_attends(language):
    t, e = Texts(language), EXPERIMENTS["nobody"]

    assert scaling.both_axes_found(t, e, head_of(e)) == [t("scaling.own.empty")]


# --- shift


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_the_scores_and_weights_before_and_after_are_the_cores(name):
    e = EXPERIMENTS[name]
    head = e.n_heads - 1
    before = head_of(e, head)

    for shift, of in scaling.shifts(e, head, 3, 1).items():
        shown = matrices_of(scaling.shift_exhibit(EN, e, of))

        Q, K = before.Q.copy(), before.K.copy()
        if shift == "keys":
            K += 3
        elif shift == "key":
            K[1] += 3
        elif shift == "queries":
            Q += 3
        scores = Q @ K.T * (1 / np.sqrt(e.d_k) if e.is_scaled else 1)
        if e.encoding == "alibi":
            scores += e.trace().bias[head]
        if shift == "row":
            scores[1] += 3
        allowed = before.allowed
        np.testing.assert_array_equal(shown["scores"].values, before.masked_scores)
        np.testing.assert_allclose(shown["shifted"].values[allowed], scores[allowed], rtol=1e-9)
        added = np.where(allowed, scores - np.where(allowed, before.masked_scores, 0), 0)
        np.testing.assert_allclose(shown["added"].values, added, rtol=1e-7, atol=1e-9)
        np.testing.assert_array_equal(shown["weights"].values, before.weights)
        after, _ = by_hand(np.where(allowed, scores, -np.inf), 1.0)
        np.testing.assert_allclose(shown["after"].values, after, rtol=1e-9)
        moved = shown["after"].values - shown["weights"].values
        np.testing.assert_array_equal(shown["moved"].values, moved)
        if shift in ("row", "keys"):
            np.testing.assert_allclose(moved, 0, atol=1e-12)


@every_language
def test_each_added_number_is_told_and_forbidden_ones_are_not_compared(language):
    t, e = Texts(language), EXPERIMENTS["masked"]

    of = scaling.shifts(e, 0, -2, 0)["row"]
    texts = matrices_of(scaling.shift_exhibit(t, e, of))["added"].operation["texts"]

    score = head_of(e).masked_scores[0, 0]
    before = scaling.plain(score)
    assert texts[0][0] == t(
        "scaling.shift.added_told",
        before=f"({before})" if score < 0 else before,
        after=scaling.plain(score - 2),
        added="−2",
    )
    assert texts[0][1] == t("scaling.shift.forbidden_told")


@every_language
@pytest.mark.parametrize(
    ("shift", "key"),
    [("row", "unnoticed"), ("keys", "unnoticed"), ("queries", "noticed"), ("key", "noticed")],
)
def test_what_the_weights_notice_is_said_with_how_far_they_move(language, shift, key):
    t, e = Texts(language), Experiment.from_preset("apple")

    of = scaling.shifts(e, 0, 3, 1)[shift]
    move, verdict = scaling.shift_found(t, of)

    change = of.after.masked_scores - of.before.masked_scores
    assert move == t(
        "scaling.shift.scores_move",
        moved=scaling.plain(np.abs(change).max()),
        spread=scaling.plain(np.ptp(change, axis=1).max()),
    )
    gap = np.abs(of.after.weights - of.before.weights).max()
    assert verdict == t(f"scaling.shift.{key}", gap=scaling.plain(gap))


@every_language
def test_chance_rounding_nothing_and_nobody_have_sentences_of_their_own(language):
    t = Texts(language)
    alone = Experiment.from_preset("random").resized(n_tokens=1)
    # Queries (1e12, 1) on keys (0, j): 3 on every feature lifts the scores to 3e12 + j + 3.
    huge = replace(
        Experiment.from_preset("apple"),
        X=np.array([[1e6, 1], [1e6, 0.1], [1e6, 0.7]]),
        W_Q=np.array([[[1e6, 0], [0, 1]]]),
        W_K=np.array([[[0, 0], [0, 1]]]),
    )

    single = scaling.shift_found(t, scaling.shifts(alone, 0, 3, 0)["key"])
    assert single[1] == t("scaling.shift.single")

    blind = replace(EXPERIMENTS["apple"], W_Q=0 * EXPERIMENTS["apple"].W_Q)
    by_chance = scaling.shift_found(t, scaling.shifts(blind, 0, 3, 0)["key"])
    assert by_chance[1] == t("scaling.shift.by_chance", gap="0")

    zero = scaling.shift_found(t, scaling.shifts(alone, 0, 0, 0)["queries"])
    assert zero == [t("scaling.shift.zero")]

    of = scaling.shifts(EXPERIMENTS["nobody"], 0, 3, 0)["key"]
    assert scaling.shift_found(t, of) == [t("scaling.own.empty")]

    of = scaling.shifts(huge, 0, 3, 0)["keys"]
    gap = np.abs(of.after.weights - of.before.weights).max()
    assert gap > 1e-6
    assert scaling.shift_found(t, of)[1] == t(
        "scaling.shift.rounding",
        gap=scaling.plain(gap),
        size=scaling.plain(np.abs(of.after.masked_scores).max()),
    )


@every_language
def test_the_table_compares_all_four(language):
    t, e = Texts(language), EXPERIMENTS["alibi"]

    of = scaling.shifts(e, 1, 5, 2)
    columns = scaling.shift_table(t, of).values()

    rows = list(zip(*columns, strict=True))
    assert [row[0] for row in rows] == list(scaling.shift_names(t).values())
    for row, each in zip(rows, of.values(), strict=True):
        change = each.after.masked_scores - each.before.masked_scores
        weights = each.after.weights - each.before.weights
        assert row[1:] == (
            scaling.plain(np.abs(change).max()),
            scaling.plain((change.max(axis=1) - change.min(axis=1)).max()),
            scaling.plain(np.abs(weights).max()),
        )

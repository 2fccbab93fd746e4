"""The step on parity shows what each route gave, and says what the differences say."""

import re
from dataclasses import replace

import numpy as np
import pytest

from attention_core import Mask
from attention_core.neural import parity as neural
from attention_core.neural.parity import parity
from attention_core.neural.weights import Fit
from attention_core.rounding import FLOATS
from playground.lessons import pytorch_parity
from playground.numerals import short, size
from playground.texts import LANGUAGES, Texts
from tests.playground.lessons.of_pytorch_parity import (
    ALIBI,
    ALL,
    EMPTY,
    HUGE,
    NOTHING,
    ONE,
    ROTARY,
    SEVERAL,
    SINGLE,
)

every_language = pytest.mark.parametrize("language", LANGUAGES)
every_experiment = pytest.mark.parametrize("e", ALL)
EN = Texts("en")


def values(exhibit):
    return {matrix.id: matrix.values for matrix in exhibit.matrices}


def told(t, p, route=None):
    other = parity(p.experiment, precision=next(f for f in FLOATS if f != p.precision))
    return pytorch_parity.found(t, p, other, route or pytorch_parity.shown(p))


def says(t, key, sentences, **fields):
    """Whether one of these sentences is this text, with the numbers given here."""
    return t(f"pytorch.parity.{key}", **fields) in sentences


def stem(t, key):
    """How a text begins, before its first field."""
    return t(f"pytorch.parity.{key}").split("{")[0].strip() or t(f"pytorch.parity.{key}")[-9:]


# --- the table


def gaps_of(p, route, stages):
    """The largest difference, from the numbers and not from what a gap says of itself."""
    trace = p.trace.attention
    reference = {
        "Q": trace.heads.Q,
        "K": trace.heads.K,
        "V": trace.heads.V,
        "weights": trace.heads.weights,
        "head_outputs": trace.head_outputs,
        "output": trace.output,
    }
    gaps = p.passages[route].gaps
    apart = [np.abs(gaps[s].values - reference[s]).ravel() for s in stages if s in gaps]
    return np.concatenate(apart) if apart else None


@pytest.mark.parametrize("precision", FLOATS)
@every_experiment
def test_the_table_holds_the_largest_difference_of_each_route_at_each_stage(e, precision):
    p = parity(e, precision=precision)

    header, *columns = pytorch_parity.table(EN, p).values()

    assert [name.strip("`") for name in header] == list(pytorch_parity.CALLS.values())
    stages = [("Q", "K", "V"), ("weights",), ("head_outputs",), ("output",)]
    for column, of in zip(columns, stages, strict=True):
        for cell, route in zip(column, p.passages, strict=True):
            apart = gaps_of(p, route, of)
            if apart is None:
                assert cell == "—"
            elif np.isnan(apart).all():
                assert cell == "NaN"
            else:
                nan = ", NaN" if np.isnan(apart).any() else ""
                assert cell == size(np.nanmax(apart)) + nan


@every_language
def test_each_dash_has_its_reason(language):
    t = Texts(language)

    def lines(e):
        return pytorch_parity.reasons(t, parity(e)).split("  \n")

    layer, ours, one = (
        f"`{pytorch_parity.CALLS[r]}`" for r in ("torch_layer", "multi_head", "self_attention")
    )
    inside = t("pytorch.parity.lacks_inside", call=layer)
    heads = t("pytorch.parity.lacks_heads", call=one, n_heads=2)
    assert lines(ONE) == [inside]
    assert lines(ONE.with_output_projection(True))[0] == t("pytorch.parity.lacks_w_o", call=one)
    assert lines(SEVERAL)[:2] == [heads, inside]
    assert lines(ALIBI)[:3] == [heads, t("pytorch.parity.lacks_alibi", call=ours), inside]
    rotary = [t("pytorch.parity.lacks_rotary", call=call) for call in (ours, layer)]
    assert lines(ROTARY) == [heads, *rotary]


@every_language
def test_it_is_told_how_a_layer_was_made_to_fit(language):
    t = Texts(language)
    fit = Fit.of(SEVERAL)  # d_model 5, two heads of 2: six columns, heads of 3

    widened, factor = pytorch_parity.fitted(t, SEVERAL)

    assert (fit.embed_dim, fit.d_k) == (6, 3)
    assert widened == t("pytorch.parity.widened", d_model=5, n_heads=2, d_k=2, embed_dim=6, wide=3)
    assert factor == t("pytorch.parity.factor", wide=3, factor=short((3 / 2) ** 0.5))
    assert pytorch_parity.fitted(t, ONE) == []
    unscaled = replace(ONE, is_scaled=False)
    (only,) = pytorch_parity.fitted(t, unscaled)
    assert only == t("pytorch.parity.factor", wide=2, factor=short(2**0.5))


# --- the board


@pytest.mark.parametrize("precision", FLOATS)
@every_experiment
def test_the_board_holds_both_weights_their_difference_and_what_rounding_explains(e, precision):
    p = parity(e, precision=precision)
    for route in p.possible:
        for head in range(e.n_heads):
            gap = p.passages[route].gaps["weights"]

            exhibit = pytorch_parity.board(EN, p, route, head)

            shown = values(exhibit)
            np.testing.assert_allclose(
                shown["numpy"], e.trace().attention.head(head).weights, rtol=0, atol=1e-14
            )
            np.testing.assert_array_equal(shown["theirs"], gap.values[head])
            np.testing.assert_array_equal(shown["difference"], shown["theirs"] - shown["numpy"])
            np.testing.assert_array_equal(shown["bound"], p.bounds.weights[head])
            reaches = {m.reach for m in exhibit.matrices if m.stage == "difference"}
            assert reaches == {shown["bound"].max() or None}
            assert [m.are_weights for m in exhibit.matrices] == [True, True, False, False]


def test_boards_of_other_routes_or_precisions_are_not_compared_with_each_other():
    ids = {
        pytorch_parity.board(EN, parity(ONE, precision=precision), route, 0).of
        for precision in FLOATS
        for route in parity(ONE).possible
    }

    assert len(ids) == 8


def test_many_tokens_show_what_rounding_explains_as_colours_alone():
    many = parity(SEVERAL.resized(n_tokens=7))

    compact = [m.is_compact for m in pytorch_parity.board(EN, many, "function", 0).matrices]

    assert compact == [False, False, False, True]
    few = pytorch_parity.board(EN, parity(SEVERAL), "function", 0)
    assert not any(m.is_compact for m in few.matrices)


def test_the_first_route_to_look_at_is_pytorchs_own_layer_if_it_can():
    assert pytorch_parity.shown(parity(ALIBI)) == "torch_layer"
    assert pytorch_parity.shown(parity(ROTARY)) == "function"
    assert list(pytorch_parity.names(parity(ROTARY).possible)) == ["function"]


# --- what was measured


@every_language
@pytest.mark.parametrize("precision", FLOATS)
@pytest.mark.parametrize("e", [ONE, SEVERAL, EMPTY, ALIBI, ROTARY])
def test_the_verdict_is_the_largest_difference_and_what_rounding_explains_there(
    e, precision, language
):
    t, p = Texts(language), parity(e, precision=precision)
    every = {
        (route, stage): gaps_of(p, route, [stage])
        for route, passage in p.passages.items()
        for stage in passage.gaps
    }
    largest = max(np.nanmax(apart) for apart in every.values() if not np.isnan(apart).all())

    sentences = told(t, p)

    (verdict,) = [s for s in sentences if stem(t, "agree") in s]
    assert size(largest) in verdict
    route, stage = p.worst
    assert np.nanmax(every[route, stage]) == largest
    assert pytorch_parity.CALLS[route] in verdict
    bounds = getattr(p.bounds, stage).ravel()
    at = np.nanargmax(every[route, stage])
    assert size(bounds[at]) in verdict
    assert largest <= bounds[at]


@every_language
def test_a_difference_that_rounding_does_not_explain_is_told(language, monkeypatch):
    forward = neural.forward
    monkeypatch.setattr(
        neural,
        "forward",
        lambda e, given: replace(forward(e, given), V=1.01 * forward(e, given).V),
    )
    t = Texts(language)

    sentences = told(t, parity(SEVERAL))

    assert any(stem(t, "apart") in s for s in sentences)
    assert not any(stem(t, "agree") in s for s in sentences)


@every_language
def test_no_difference_at_all_is_told(language):
    t = Texts(language)

    assert says(t, "same", told(t, parity(replace(NOTHING, mask=Mask()))))


@every_language
@pytest.mark.parametrize("precision", FLOATS)
@pytest.mark.parametrize("e", [EMPTY, ALIBI])
def test_nan_is_told_with_the_tokens_that_may_attend_to_nothing(e, precision, language):
    t, layer = Texts(language), f"`{pytorch_parity.CALLS['torch_layer']}`"
    rows = np.flatnonzero(~e.mask.allowed(e.n_tokens).any(axis=1)).tolist()
    tokens = t("narrate.comma").join(f"“{e.tokens[row]}”" for row in rows)

    sentences = told(t, parity(e, precision=precision))

    assert says(t, "nan", sentences, call=layer, tokens=tokens)


@every_language
def test_nan_elsewhere_is_not_laid_on_the_mask(language, monkeypatch):
    in_one_call = neural.in_one_call
    monkeypatch.setattr(neural, "in_one_call", lambda *given: in_one_call(*given) * np.nan)
    t, call = Texts(language), f"`{pytorch_parity.CALLS['function']}`"

    sentences = told(t, parity(SEVERAL))

    assert says(t, "nan_elsewhere", sentences, call=call, count=4)


@every_language
def test_scores_too_large_for_the_precision_are_told(language):
    t = Texts(language)

    sentences = told(t, parity(HUGE, precision="float32"))

    most = parity(HUGE, precision="float32").bounds.weights.max()
    assert most > 0.01
    assert says(
        t,
        "loose",
        sentences,
        precision="float32",
        score=short(summed(HUGE).max()),
        bound=short(min(most, 1)),
    )
    assert not any(stem(t, "loose") in s for s in told(t, parity(SEVERAL, precision="float32")))


def summed(e):
    """(n_heads, n_tokens, n_tokens): what makes up each score, without positions, by size."""
    Q, K = np.abs(e.X) @ np.abs(e.W_Q), np.abs(e.X) @ np.abs(e.W_K)
    return Q @ np.swapaxes(K, -1, -2) / np.sqrt(e.d_k)


def test_it_is_not_put_down_to_scores_that_cancelled_out():
    X = SEVERAL.X.copy()
    X[:, 1:] = 0
    X[:, 1] = -X[:, 0]
    e = replace(SEVERAL, X=X, W_Q=1e6 + 0 * SEVERAL.W_Q, W_K=1e5 * SEVERAL.W_K)
    assert np.abs(e.trace().attention.heads.scores).max() < 1e-4
    t = Texts("en")

    sentences = told(t, parity(e, precision="float32"))

    score = summed(e).max()
    assert score > 1e10
    bound = short(min(parity(e, precision="float32").bounds.weights.max(), 1))
    assert says(t, "loose", sentences, precision="float32", score=short(score), bound=bound)


@every_language
def test_each_head_has_its_largest_difference(language):
    t, p = Texts(language), parity(SEVERAL, precision="float32")
    weights = SEVERAL.trace().attention.heads.weights
    apart = np.abs(p.passages["multi_head"].gaps["weights"].values - weights).max(axis=(1, 2))

    sentences = told(t, p, "multi_head")

    gaps = t("narrate.comma").join(map(size, apart))
    assert says(t, "by_head", sentences, call="`MultiHeadAttention`", gaps=gaps)
    assert not any(stem(t, "by_head") in s for s in told(t, parity(ONE)))
    assert not any("NaN, NaN" in s for s in told(t, parity(NOTHING)))


@every_language
def test_the_other_precision_is_told_too(language):
    t, narrow = Texts(language), parity(ONE, precision="float32")
    largest = max(gap.largest for q in narrow.passages.values() for gap in q.gaps.values())

    assert says(t, "other", told(t, parity(ONE)), precision="float32", gap=size(largest))


@every_language
@every_experiment
def test_something_is_told_of_every_experiment_and_no_field_is_left(e, language):
    t = Texts(language)
    for precision in FLOATS:
        p = parity(e, precision=precision)

        said = " ".join([*told(t, p), pytorch_parity.reasons(t, p)])

        assert not re.search(r"[{}]|\bnan\b|\binf\b", said)


def test_a_hostile_token_is_escaped():
    e = replace(EMPTY, tokens=("a", "b", "*c*", "`d`"))

    said = " ".join(told(EN, parity(e)))

    assert r"\*c\*" in said
    assert "`d`" not in said


def test_the_smallest_experiment_is_told():
    assert len(told(EN, parity(SINGLE))) == 2

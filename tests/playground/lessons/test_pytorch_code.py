"""The step on the code shows measured shapes, and says what was counted and measured."""

import re
from dataclasses import replace

import numpy as np
import pytest

from attention_core.neural import layers, listing
from attention_core.neural.listing import PARTS, one_call_gap, run
from attention_core.neural.weights import to_multi_head
from playground.lessons import pytorch_code, pytorch_parity
from playground.numerals import size
from playground.texts import LANGUAGES, Texts
from tests.playground.lessons.of_pytorch_parity import (
    ALIBI,
    ALL,
    EMPTY,
    NOTHING,
    ONE,
    ROTARY,
    SEVERAL,
)

every_language = pytest.mark.parametrize("language", LANGUAGES)
every_part = pytest.mark.parametrize("part", PARTS)


def text(t, key, **fields):
    return t(f"pytorch.code.{key}", **fields)


def found(t, e, part, head=0):
    return pytorch_code.found(t, e, part, run(e, part, head=head), head, one_call_gap(e))


@every_language
def test_the_table_lists_what_a_layer_holds_takes_and_gives(language):
    t = Texts(language)

    names, roles, shapes = pytorch_code.table(t, run(EMPTY, "multi_head")).values()

    held = to_multi_head(EMPTY).state_dict()
    assert names == [*(f"`{name}`" for name in held), "`x`", "`mask`", "`output`", "`weights`"]
    assert roles == [
        *[text(t, "weight")] * 2,
        *[text(t, "given")] * 2,
        *[text(t, "returned")] * 2,
    ]
    assert shapes[:2] == [" × ".join(map(str, weight.shape)) for weight in held.values()]
    assert shapes[2:] == ["1 × 4 × 6", "4 × 4", "1 × 4 × 6", "1 × 2 × 4 × 4"]


@every_language
def test_what_the_axes_count_is_told_and_how_the_layer_was_made_to_fit(language):
    t = Texts(language)

    layer = pytorch_code.axes(t, "multi_head", run(SEVERAL, "multi_head"))
    weights = pytorch_code.axes(t, "weights", run(SEVERAL, "weights"))

    fitted = pytorch_parity.fitted(t, SEVERAL)
    assert layer.split("  \n") == [text(t, "axes", n_tokens=4), *fitted]
    assert weights == text(t, "axes_weights", n_heads=2, n_tokens=4, d_k=2)
    alone = pytorch_code.axes(t, "self_attention", run(SEVERAL, "self_attention"))
    one = replace(SEVERAL, **{n: getattr(SEVERAL, n)[:1] for n in ("W_Q", "W_K", "W_V")})
    assert alone.split("  \n")[1:] == pytorch_parity.fitted(t, one)


@every_language
def test_weights_are_counted_and_the_difference_is_measured(language):
    t = Texts(language)
    ran = run(SEVERAL, "multi_head")
    attention = SEVERAL.trace().attention
    layer, x = to_multi_head(SEVERAL), listing.fitted_inputs(SEVERAL)
    output, weights = layer(x)
    gap = max(
        np.abs(weights[0].detach().numpy() - attention.heads.weights).max(),
        np.abs(output[0, :, :4].detach().numpy() - attention.output).max(),
    )

    said = pytorch_code.found(t, SEVERAL, "multi_head", ran, 0, 1e-7)

    assert ran.gap == pytest.approx(gap, abs=1e-14)
    assert said[0] == text(t, "parameters", call="`MultiHeadAttention`", count=4 * 36)
    assert said[1] == text(t, "agrees", gap=size(ran.gap))
    assert said[2] == text(t, "script_agrees", gap="1e−7")


@every_language
def test_one_head_of_several_is_named(language):
    t = Texts(language)

    assert text(t, "one_head", number=2, n_heads=2) in found(t, SEVERAL, "self_attention", 1)
    assert len(found(t, ONE, "self_attention")) == 3


@every_language
@every_part
def test_positions_that_are_left_out_are_named(part, language):
    t = Texts(language)
    for e in (ALIBI, ROTARY):
        encoding = t(f"control.encoding_{e.encoding}")
        is_told = text(t, "left_out", encoding=encoding) in found(t, e, part)
        assert is_told == (part != "weights")


@every_language
def test_what_holds_no_weights_says_so(language):
    t = Texts(language)

    assert found(t, ONE, "weights")[0] == text(t, "no_parameters", call="`attention_weights`")


@every_language
def test_exactly_the_same_and_more_than_rounding_are_told(language, monkeypatch):
    t = Texts(language)
    assert text(t, "same") in found(t, replace(NOTHING, mask=ONE.mask), "weights")
    weights = layers.attention_weights

    def wrong(Q, K, *given, **more):
        return weights(1.01 * Q, K, *given, **more)

    monkeypatch.setattr(layers, "attention_weights", wrong)
    ran = run(SEVERAL, "multi_head")

    assert text(t, "differs", gap=size(ran.gap)) in pytorch_code.found(
        t, SEVERAL, "multi_head", ran, 0, 0.0
    )


@every_language
@every_part
@pytest.mark.parametrize("e", ALL)
def test_something_is_told_of_every_experiment_and_no_field_is_left(e, part, language):
    said = " ".join(found(Texts(language), e, part))

    assert not re.search(r"[{}]|\bnan\b|\binf\b", said)


def test_every_part_has_a_name():
    assert list(pytorch_code.NAMES) == list(PARTS)
    for part, name in pytorch_code.NAMES.items():
        assert name in listing.source(part).split("\n")[0]

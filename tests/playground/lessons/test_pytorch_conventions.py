"""The step on conventions shows what PyTorch gave, and says what came of it."""

import re
from dataclasses import replace

import numpy as np
import pytest

from attention_core.neural.conventions import CONVENTIONS, shown
from playground.lessons import pytorch_conventions
from playground.numerals import short, size
from playground.texts import LANGUAGES, Texts
from tests.playground.lessons.of_pytorch_parity import (
    ALIBI,
    ALL,
    EMPTY,
    NOTHING,
    ONE,
    ROTARY,
    SEVERAL,
    SINGLE,
)

every_language = pytest.mark.parametrize("language", LANGUAGES)
every_convention = pytest.mark.parametrize("convention", CONVENTIONS)
EN = Texts("en")
ALIKE = replace(SEVERAL, **{n: getattr(SEVERAL, n)[[0, 0]] for n in ("W_Q", "W_K", "W_V")})


def board(e, convention, head=0, **more):
    s = shown(e, convention, **more)
    return pytorch_conventions.board(EN, e, convention, s, head)


def values(exhibit):
    return {matrix.id: matrix.values for matrix in exhibit.matrices}


def text(t, key, **fields):
    return t(f"pytorch.conventions.{key}", **fields)


def found(t, e, convention, **more):
    s = shown(e, convention, **more)
    return pytorch_conventions.found(t, e, convention, s), s.arrays


# --- boards


@pytest.mark.parametrize("e", [SEVERAL, EMPTY, ROTARY])
@every_convention
def test_the_board_holds_what_the_calls_gave(e, convention):
    s = shown(e, convention)

    exhibit = pytorch_conventions.board(EN, e, convention, s, 1)

    names = {"empty_rows": {"weights": "layer", "output": "with_weights"}}.get(convention, {})
    seen = values(exhibit)
    for name, array in s.arrays.items():
        if name == "heads":
            for head, weights in enumerate(array):
                np.testing.assert_array_equal(seen[f"head_{head}"], weights)
            continue
        expected = array[0 if name == "by_default" else 1] if array.ndim == 3 else array
        np.testing.assert_array_equal(seen[names.get(name, name)], expected)


def test_beside_the_calls_there_are_a_mask_sums_and_a_difference():
    polarity, dropout, first = (
        values(board(SEVERAL, convention)) for convention in ("polarity", "dropout", "batch_first")
    )

    np.testing.assert_array_equal(polarity["mask"], np.tril(np.ones((4, 4))))
    np.testing.assert_allclose(dropout["train_sums"], dropout["train"].sum(1, keepdims=True))
    np.testing.assert_allclose(dropout["eval_sums"], 1)
    sums = [m for m in board(SEVERAL, "dropout").matrices if m.id.endswith("sums")]
    assert {m.reach for m in sums} == {max(m.values.max() for m in sums)}
    np.testing.assert_array_equal(first["moved"], first["wrong"] - first["output"])


def test_the_last_queries_stand_beside_all_keys():
    exhibit = board(SEVERAL, "is_causal", n_queries=3)

    assert exhibit.axes["last"] == SEVERAL.tokens[-3:]
    assert {m.values.shape for m in exhibit.matrices} == {(3, 4)}


def test_many_heads_are_shown_as_colours_alone():
    many = board(SEVERAL.resized(n_tokens=8, n_heads=4), "averaged")

    assert [m.is_compact for m in many.matrices] == [True] * 4 + [False]
    assert not any(m.is_compact for m in board(SEVERAL, "averaged").matrices)


def test_weights_of_all_heads_need_no_head_to_follow():
    by_head = {each: pytorch_conventions.is_by_head(each) for each in CONVENTIONS}

    assert [each for each, is_so in by_head.items() if not is_so] == ["averaged"]


# --- what is other than in the experiment


def remarks(t, e, convention):
    return pytorch_conventions.remarks(t, e, convention, shown(e, convention))


@every_language
def test_what_is_other_than_in_the_experiment_is_told(language):
    t = Texts(language)

    assert remarks(t, SEVERAL, "polarity") == t("masks.instead")
    assert remarks(t, EMPTY, "polarity") == ""
    assert remarks(t, SEVERAL, "empty_rows") == text(t, "emptied", token="“fox”")
    assert remarks(t, EMPTY, "empty_rows") == ""
    for convention in ("averaged", "dropout"):
        assert remarks(t, SEVERAL, convention) == ""
        assert remarks(t, EMPTY, convention) == text(t, "opened")
    for convention in ("is_causal", "batch_first"):
        assert remarks(t, SEVERAL, convention) == ""
        assert remarks(t, EMPTY, convention) == text(t, "unmasked")


@every_language
@every_convention
def test_positions_that_are_left_out_are_named(convention, language):
    t = Texts(language)
    for e in (ALIBI, ROTARY):
        encoding = t(f"control.encoding_{e.encoding}")
        assert remarks(t, e, convention).startswith(text(t, "left_out", encoding=encoding))


def test_sentences_in_chinese_stand_without_a_space_between():
    e = replace(ROTARY, mask=EMPTY.mask)

    assert "。 " not in remarks(Texts("zh"), e, "dropout")
    assert ". " in remarks(EN, e, "dropout")


# --- what was measured


@every_language
def test_the_same_mask_leaves_what_was_forbidden(language):
    t = Texts(language)

    said, arrays = found(t, SEVERAL, "polarity")

    same = arrays["same_mask"]
    later = np.triu(np.ones((4, 4), dtype=bool), 1)
    assert np.nansum(same[:, later]) == pytest.approx(np.nansum(same))
    gap = np.nanmax(np.abs(arrays["inverted"] - arrays["function"]))
    assert said == [
        text(t, "on_forbidden", share="100"),
        text(t, "on_nothing", count=1, n_tokens=4),
        text(t, "turned", gap=size(gap)),
    ]


@every_language
def test_rows_that_a_mask_empties_stay_nan_however_it_is_read(language):
    t = Texts(language)

    said, _ = found(t, EMPTY, "polarity")
    nothing, _ = found(t, NOTHING, "polarity")

    assert text(t, "still_nan", count=2) in said
    assert nothing == [text(t, "on_forbidden", share="100"), text(t, "still_nan", count=4)]


@every_language
@pytest.mark.parametrize("e", [SEVERAL, EMPTY])
def test_an_empty_row_is_told_as_each_call_has_it(e, language):
    t = Texts(language)

    (of_empty, others), arrays = found(t, e, "empty_rows")

    rows = [2, 3] if e is EMPTY else [3]
    rest = [row for row in range(4) if row not in rows]
    assert np.isnan(arrays["output"][rows]).all()
    assert not arrays["without"][rows].any()
    kinds = {"function": "0", "weights": "NaN", "output": "NaN", "without": "0"}
    assert of_empty == text(t, "of_empty", count=len(rows), **kinds)
    gap = np.abs(arrays["output"] - arrays["without"])[rest].max()
    assert others == text(t, "others", gap=size(gap))


def test_a_row_of_other_numbers_is_told_as_such(monkeypatch):
    s = shown(SEVERAL, "empty_rows")
    s.arrays["without"][3] = 0.5

    said = pytorch_conventions.found(EN, SEVERAL, "empty_rows", s)

    assert text(EN, "numbers") in said[0]


@every_language
def test_what_is_averaged_is_held_to_the_mean_and_to_each_head(language):
    t = Texts(language)

    three = SEVERAL.resized(n_heads=3)  # two lie equally far from their mean

    said, arrays = found(t, three, "averaged")

    weights = three.trace().attention.heads.weights
    apart = np.abs(weights - weights.mean(axis=0)).max(axis=(1, 2))
    gap = np.abs(arrays["by_default"][0] - arrays["heads"].mean(axis=0)).max()
    number, farthest = int(apart.argmax()) + 1, short(apart.max())
    assert said == [
        text(t, "mean", n_heads=3, n=4, gap=size(gap)),
        text(t, "farthest", number=number, gap=farthest),
    ]
    assert found(t, ALIKE, "averaged")[0][1] == text(t, "alike")
    assert found(t, ONE, "averaged")[0] == [text(t, "one_head", gap="0")]


@every_language
@pytest.mark.parametrize("n_queries", [1, 3])
def test_fewer_queries_are_told_with_what_they_see(n_queries, language):
    t = Texts(language)

    said, arrays = found(t, SEVERAL, "is_causal", n_queries=n_queries)

    apart = np.abs(arrays["came_out"] - arrays["meant"]).max(axis=(0, 2))
    count = int((apart > 1e-9).sum())
    assert count == n_queries
    assert said == [
        text(t, "not_square", count=count, n_queries=n_queries, gap=size(apart.max())),
        text(t, "last_query", token="“fox”", came_out=n_queries, meant=4),
    ]


@every_language
def test_as_many_queries_as_keys_have_nothing_to_confuse(language):
    t = Texts(language)

    said, arrays = found(t, SEVERAL, "is_causal", n_queries=4)

    gap = np.abs(arrays["came_out"] - arrays["meant"]).max()
    assert gap < 1e-14
    assert said == [text(t, "square", gap=size(gap)), text(t, "fewer")]


def test_nobody_is_asked_for_fewer_queries_than_one():
    said, _ = found(EN, SEVERAL.resized(n_tokens=1), "is_causal")

    assert said == [text(EN, "square", gap="0")]


@every_language
def test_tokens_taken_for_sequences_are_told_with_the_move_of_the_output(language):
    t = Texts(language)

    said, arrays = found(t, SEVERAL, "batch_first")

    attention = SEVERAL.trace().attention
    moved = np.abs(np.concatenate(list(attention.heads.V), axis=1) - attention.output).max()
    own = np.einsum("hii->hi", attention.heads.weights).mean()
    assert (arrays["came_out"] == 1).all()
    assert said == [
        text(t, "alone", count=8, weight="1"),
        text(t, "output_moves", mean=short(own), gap=size(moved)),
    ]
    assert found(t, SINGLE, "batch_first")[0][1] == text(t, "one_token", gap="0")


@every_language
def test_what_dropout_drops_is_counted(language):
    t = Texts(language)

    said, arrays = found(t, SEVERAL, "dropout", p=0.3, seed=4)

    train, weights = arrays["train"], SEVERAL.trace().attention.heads.weights
    sums = train.sum(axis=-1)
    between = text(t, "between", low=short(sums.min()), high=short(sums.max()))
    off = np.abs(arrays["eval"].sum(axis=-1) - 1).max()
    assert said == [
        text(t, "dropped", count=np.count_nonzero(train == 0), total=weights.size),
        text(t, "multiplied", factor=short(1 / 0.7)),
        text(t, "row_sums", sums=between, off=size(off)),
    ]


def test_where_all_is_dropped_nothing_is_said_of_what_stays():
    said, _ = found(EN, SEVERAL, "dropout", p=1.0)

    assert len(said) == 2
    assert said[1].startswith("The rows returned in train mode have sums of 0;")


@every_language
@every_convention
@pytest.mark.parametrize("e", ALL)
def test_something_is_told_of_every_experiment_and_no_field_is_left(e, convention, language):
    said = " ".join(found(Texts(language), e, convention)[0])

    assert said
    assert not re.search(r"[{}]|\bnan\b|\binf\b", said)


@every_convention
def test_a_hostile_token_is_escaped(convention):
    e = replace(SEVERAL, tokens=("a", "b", "c", "*d*"))

    said = " ".join([*found(EN, e, convention)[0], remarks(EN, e, convention)])

    assert "*d*" not in said


def test_the_shares_of_dropout_have_names():
    assert pytorch_conventions.shares() == {0.5: "0.5", 0.3: "0.3", 0.1: "0.1"}
    assert list(pytorch_conventions.names(EN)) == list(CONVENTIONS)

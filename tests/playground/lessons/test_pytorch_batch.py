"""The step on a batch shows what PyTorch and the core computed, and says what they say."""

import re
from dataclasses import replace

import numpy as np
import pytest

from attention_core import Experiment, Mask
from attention_core.words import with_words
from playground.lessons import pytorch_batch
from playground.lessons.pytorch_batch import compared, found, own_lines, own_text, read
from playground.numerals import size
from playground.sentence import split
from playground.texts import LANGUAGES, Texts
from tests.playground.lessons.of_pytorch_batch import (
    CAUSAL,
    DEFAULT,
    EXPERIMENTS,
    LARGEST,
    PROJECTED,
    SEVERAL,
    SMALLEST,
    WINDOW,
    all_compared,
)

every_language = pytest.mark.parametrize("language", LANGUAGES)
every_experiment = pytest.mark.parametrize("e", EXPERIMENTS)
EN = Texts("en")


def numbers(sentence):
    plain = sentence.replace(",", "").replace("−", "-")
    return [float(number) for number in re.findall(r"\d+(?:\.\d+)?(?:e-?\d+)?", plain)]


def matrices(exhibit):
    return {matrix.id: matrix for matrix in exhibit.matrices}


# --- what was written


def test_the_experiment_gives_its_sentence_its_half_and_its_first_word():
    assert own_lines(SEVERAL) == [SEVERAL.tokens, SEVERAL.tokens[:3], SEVERAL.tokens[:1]]
    assert own_lines(SMALLEST) == [SMALLEST.tokens]
    assert own_text(DEFAULT).splitlines()[1] == " ".join(DEFAULT.tokens[:2])


@every_experiment
def test_the_experiments_own_text_is_read_as_its_tokens(e):
    assert read(e, own_text(e)).lines == tuple(own_lines(e))


def test_tokens_that_hold_spaces_are_not_split_in_the_experiments_own_lines():
    e = SEVERAL.with_token_renamed(0, "New York").with_token_renamed(1, "苹果手机")

    assert read(e, own_text(e)).lines == tuple(own_lines(e))
    led = replace(e, tokens=(" the", "cat ", *e.tokens[2:]))
    assert read(led, own_text(led)).lines == tuple(own_lines(led))
    assert read(e, "New York now").lines == (("New", "York", "now"),)
    assert read(e, "苹果手机").lines == (("苹果手机",),)


def test_a_line_is_split_at_spaces_and_chinese_without_spaces_by_dictionary():
    assert read(SEVERAL, "the cat\n\n  sat ").lines == (("the", "cat"), ("sat",))
    assert read(SEVERAL, "小猫坐在垫子上").lines == (split("小猫坐在垫子上", "chinese").words,)
    assert len(read(SEVERAL, "小猫坐在垫子上").lines[0]) > 1
    assert read(SEVERAL, "小猫 坐在垫子上").lines == (("小猫", "坐在垫子上"),)


@pytest.mark.parametrize("text", ["", " \n\t\n", "\u200b\n\u2060"])
def test_without_any_word_the_experiments_own_lines_are_there(text):
    assert read(SEVERAL, text).lines == tuple(own_lines(SEVERAL))


@every_language
def test_what_is_too_much_is_left_out_and_told(language):
    t = Texts(language)
    text = "\n".join(["a", " ".join("abcdefghijklmn"), "b", "c", "d", "e"])

    written = read(SEVERAL, text)

    assert [len(words) for words in written.lines] == [1, 12, 1, 1]
    assert (written.n_lines_left_out, written.are_cut) == (2, (2,))
    lines, words = pytorch_batch.remarks(t, SEVERAL, written)
    assert numbers(lines) == [4]
    assert numbers(words) == [12, 2]


def test_a_flood_of_lines_is_not_read_to_its_end():
    assert read(SEVERAL, "a\n" * 4000).n_lines_left_out < 100


@every_language
def test_masks_of_its_own_sentence_are_told_where_they_are_on(language):
    t = Texts(language)
    none = read(SEVERAL, "a")

    for kinds in (("padding",), ("painted",), ("causal", "painted")):
        e = replace(SEVERAL, mask=Mask(kinds))
        assert pytorch_batch.remarks(t, e, none) == [t("pytorch.batch.masks_left_out")]
    assert pytorch_batch.remarks(t, CAUSAL, none) == []


def test_the_longest_padded_sentence_is_shown_first():
    assert pytorch_batch.first_shown([("a",), ("a", "b", "c"), ("a", "b")]) == 2
    assert pytorch_batch.first_shown([("a",), ("b",)]) == 0


# --- the board


@every_experiment
def test_the_board_shows_the_batch_the_core_and_their_difference(e):
    for c in all_compared(e):
        index, head = len(c.sentences) - 1, e.n_heads - 1
        n, attention = c.sentences[index].n_tokens, c.sentences[index].trace().attention

        shown = matrices(pytorch_batch.exhibit(EN, c, index, head))

        values = {id: matrix.values for id, matrix in shown.items()}
        np.testing.assert_array_equal(values["filled"][:n], c.sentences[index].X)
        assert not values["filled"][n:].any()
        np.testing.assert_array_equal(values["together"], c.batch.weights[index, head])
        np.testing.assert_array_equal(values["alone"], attention.heads.weights[head])
        np.testing.assert_array_equal(values["output_alone"], attention.output)
        gaps = attention.heads.weights[head] - c.batch.weights[index, head, :n, :n]
        np.testing.assert_array_equal(values["weights_apart"], gaps)
        gaps = attention.output - c.batch.output[index, :n]
        np.testing.assert_array_equal(values["output_apart"], gaps)


def test_filling_is_marked_and_named_in_rows_and_columns():
    c = compared(SEVERAL, own_lines(SEVERAL), is_masked=True)

    exhibit = pytorch_batch.exhibit(EN, c, 1, 0)

    shown = matrices(exhibit)
    is_filling = [False] * 3 + [True] * 2
    assert shown["together"].marked.tolist() == [is_filling] * 5
    assert shown["filled"].marked[:, 0].tolist() == is_filling
    assert shown["output_together"].marked[:, 0].tolist() == is_filling
    assert exhibit.axes["tokens_padded"] == [*SEVERAL.tokens[:3], "[pad]", "[pad]"]
    assert exhibit.axes["tokens"] == [*SEVERAL.tokens[:3]]
    assert not any(matrix.is_editable for matrix in exhibit.matrices)


def test_a_sentence_without_filling_has_nothing_marked():
    c = compared(SEVERAL, own_lines(SEVERAL), is_masked=True)

    shown = matrices(pytorch_batch.exhibit(EN, c, 0, 0))

    assert all(matrix.marked is None for matrix in shown.values())


@pytest.mark.parametrize("e", [SEVERAL, PROJECTED, SMALLEST, LARGEST])
def test_the_table_holds_the_shapes_of_the_tensors(e):
    c = compared(e, own_lines(e), is_masked=True)

    table = pytorch_batch.shapes(EN, c)

    _, codes, axes, shapes = table.values()
    n_lines = len(own_lines(e))
    sizes = {"B": n_lines, "T": e.n_tokens, "d": e.d_model, "H": e.n_heads, "d_k": e.d_k}
    sizes["H·d_k"] = e.n_heads * e.d_k
    for letters, shape in zip(axes, shapes, strict=True):
        assert [sizes[letter] for letter in letters.split(", ")] == numbers(shape)
    assert ("`joined @ W_O`" in codes) == (e.W_O is not None)


# --- sentences


@every_language
@every_experiment
def test_agreement_and_waste_are_the_measured_ones(language, e):
    t = Texts(language)
    lines = own_lines(e)
    c = compared(e, lines, is_masked=True)

    said = found(t, c)

    traces = [with_words(replace(e, mask=_shared(e)), words).trace().attention for words in lines]
    gap = max(
        np.abs(c.batch.output[i, : len(words)] - trace.output).max()
        for i, (words, trace) in enumerate(zip(lines, traces, strict=True))
    )
    assert gap < 1e-9
    assert numbers(said[0])[1] == pytest.approx(gap, rel=0.5, abs=1e-300)
    if e.n_tokens == 1:
        assert said[1] == t("pytorch.batch.no_filling", count=1)
        return
    assert said[1] == t("pytorch.batch.exactly_0")
    n, width = e.n_tokens, e.n_heads * e.d_k
    matrices = 3 if e.W_O is None else 4
    cost = {k: matrices * k * e.d_model * width + 2 * k * k * width for k in range(1, n + 1)}
    done, needed = len(lines) * cost[n], sum(cost[len(words)] for words in lines)
    filled = sum(n - len(words) for words in lines)
    places = len(lines) * n
    told = numbers(said[2])
    assert {filled, places, done - needed, done} <= {*told}
    assert pytest.approx(100 * (done - needed) / done, rel=5e-3) in told


def _shared(e):
    kinds = tuple(kind for kind in e.mask.kinds if kind in ("causal", "window"))
    return replace(e.mask, kinds=kinds)


@every_language
def test_a_leak_is_told_with_the_token_that_leaks_and_what_moves(language):
    t = Texts(language)
    lines = own_lines(PROJECTED)
    c = compared(PROJECTED, lines, is_masked=False)

    leak, moved, _ = found(t, c)

    most, gap = 0.0, 0.0
    for index, words in enumerate(lines):
        n = len(words)
        lost = c.batch.weights[index, :, :n, n:].sum(axis=-1)
        if lost.max() > most:
            most = lost.max()
            head, row = np.unravel_index(lost.argmax(), lost.shape)
            who = {index + 1, int(head) + 1}
            name = words[row]
        alone = with_words(PROJECTED, words).trace().attention.output
        gap = max(gap, np.abs(c.batch.output[index, :n] - alone).max())
    assert name in leak
    assert pytest.approx(100 * most, rel=5e-3) in numbers(leak)
    assert who <= {*numbers(leak)}
    assert numbers(moved) == [pytest.approx(gap, rel=5e-3)]


@every_language
@pytest.mark.parametrize("mask", [Mask(("causal",)), Mask(("window",), before=1, after=0)])
def test_where_no_token_may_look_ahead_nothing_leaks_and_that_is_told(language, mask):
    t = Texts(language)
    c = compared(replace(SEVERAL, mask=mask), own_lines(SEVERAL), is_masked=False)

    said = found(t, c)

    assert said[0] == t("pytorch.batch.out_of_sight")
    assert max(numbers(said[1])) < 1e-12


@every_language
def test_a_leak_that_softmax_makes_0_is_told_as_such(language):
    # Each token scores itself with 1000 and the filling with 0: exp(-1000) is 0 in float64.
    one = np.ones((1, 1, 1))
    X = np.full((2, 1), np.sqrt(1000.0))
    e = Experiment(("a", "b"), X, one, one, one)
    t = Texts(language)

    said = found(t, compared(e, [("a", "b"), ("a",)], is_masked=False))

    assert said[0] == t("pytorch.batch.vanishing")


def moved(c, part, by=1e-6):
    """As if one number of the batch had come out otherwise."""
    numbers = getattr(c.batch, part).copy()
    numbers[(0,) * numbers.ndim] += by
    return replace(c, batch=replace(c.batch, **{part: numbers}))


@every_language
@pytest.mark.parametrize("part", ["weights", "output"])
def test_a_difference_beyond_rounding_is_called_neither_the_same_nor_rounding(language, part):
    t = Texts(language)
    c = moved(compared(SEVERAL, own_lines(SEVERAL), is_masked=True), part)

    said = found(t, c)

    assert not c.are_same()
    weights, outputs = map(size, c.gaps())
    assert said[0] == t("pytorch.batch.apart", weights=weights, outputs=outputs)


@every_language
def test_rounding_of_weights_is_put_down_to_what_makes_up_a_score(language):
    X = SEVERAL.X.copy()
    X[:, 1:] = 0
    X[:, 1] = -X[:, 0]  # so that all scores cancel out
    e = replace(SEVERAL, X=X, W_Q=1e6 + 0 * SEVERAL.W_Q, W_K=1e5 * SEVERAL.W_K)
    t = Texts(language)

    said = found(t, moved(compared(e, own_lines(e), is_masked=True), "weights"))

    queries, keys = (np.abs(X) @ np.abs(W) for W in (e.W_Q, e.W_K))
    scores = queries @ keys.swapaxes(-1, -2) / np.sqrt(2)
    assert t("pytorch.batch.rounded").split("{weights}")[0] in said[0]
    assert numbers(said[0])[-1] == pytest.approx(scores.max(), rel=5e-3)


@every_language
def test_rounding_of_outputs_is_put_down_to_what_makes_up_an_output(language):
    W_V, W_O = 1e5 * SEVERAL.W_V, 1e5 * PROJECTED.W_O
    W_V[1], W_O[2:] = W_V[0], -W_O[:2]  # so that all outputs cancel out
    e = replace(SEVERAL, W_Q=0 * SEVERAL.W_Q, W_V=W_V, W_O=W_O)
    t = Texts(language)

    said = found(t, moved(compared(e, own_lines(e), is_masked=True), "output"))

    means = [np.abs(e.X[:n]).mean(axis=0) @ np.abs(W_V[0]) for n in (5, 3, 1)]
    outputs = [np.hstack([mean, mean]) @ np.abs(W_O) for mean in means]
    assert numbers(said[0])[-1] == pytest.approx(np.max(outputs), rel=5e-3)


def test_nothing_is_wasted_where_all_are_equally_long():
    c = compared(WINDOW, [("a", "b"), ("c", "d")], is_masked=True)

    assert found(EN, c)[1:] == [EN("pytorch.batch.no_filling", count=4)]

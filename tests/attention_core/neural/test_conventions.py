"""Six conventions of PyTorch on an experiment, held to the core."""

import re
from dataclasses import replace

import numpy as np
import pytest
import torch

from attention_core import Experiment, Mask
from attention_core.errors import ChoiceError, RangeError
from attention_core.leaks import masked_weights
from attention_core.masks import causal
from attention_core.neural import conventions
from attention_core.neural.conventions import CONVENTIONS, shown, source
from attention_core.presets import ENCODINGS

RANDOM = Experiment.from_preset("random")
TWO = RANDOM.resized(n_tokens=4, d_model=5, d_k=2, n_heads=2)
EMPTY = replace(TWO, mask=Mask(("causal", "padding", "window"), n_padding=3))  # rows 3 and 4
LAST_IS_EMPTY = np.array([[True] * 4] * 3 + [[False] * 4])
SINGLE = RANDOM.resized(n_tokens=1, d_model=1, d_k=1, n_heads=1)
LARGEST = RANDOM.resized(n_tokens=12, d_model=8, d_k=8, n_heads=8)


def weights_under(e, allowed):
    scores = e.trace().attention.heads.biased_scores
    return np.stack([masked_weights(each, allowed, None) for each in scores])


def close(a, b):
    np.testing.assert_allclose(a, b, rtol=0, atol=1e-12)


# --- polarity


@pytest.mark.parametrize("is_scaled", [True, False])
def test_the_same_mask_means_the_opposite_to_the_layer(is_scaled):
    e = replace(TWO, is_scaled=is_scaled)

    s = shown(e, "polarity")

    np.testing.assert_array_equal(s.allowed, causal(4))
    assert not s.is_own_mask
    close(s.arrays["function"], weights_under(e, causal(4)))
    close(s.arrays["inverted"], weights_under(e, causal(4)))
    opposite = weights_under(e, ~causal(4))
    close(s.arrays["same_mask"][:, :3], opposite[:, :3])
    assert np.isnan(s.arrays["same_mask"][:, 3]).all()  # the last query saw every key


def test_the_experiments_own_mask_is_used_where_it_forbids_something():
    s = shown(EMPTY, "polarity")

    np.testing.assert_array_equal(s.allowed, EMPTY.mask.allowed(4))
    assert s.is_own_mask
    assert np.isnan(s.arrays["inverted"][:, 2:]).all()


# --- empty rows


def test_an_empty_row_is_0_or_nan_according_to_who_is_asked():
    s = shown(TWO.with_output_projection(True), "empty_rows")

    np.testing.assert_array_equal(s.allowed, LAST_IS_EMPTY)
    assert not s.is_own_mask
    close(s.arrays["function"], weights_under(TWO, LAST_IS_EMPTY))
    assert np.isnan(s.arrays["weights"][:, 3]).all()
    assert np.isnan(s.arrays["output"][3]).all()
    assert not s.arrays["without"][3].any()
    expected = TWO.with_output_projection(True).trace().attention.output
    close(s.arrays["output"][:3], expected[:3])
    close(s.arrays["without"][:3], expected[:3])


def test_empty_rows_of_the_experiment_are_taken_as_they_are():
    s = shown(EMPTY, "empty_rows")

    assert s.is_own_mask
    assert np.isnan(s.arrays["output"]).any(axis=-1).tolist() == [False, False, True, True]


# --- averaged heads


def test_by_default_the_mean_of_the_heads_is_returned():
    s = shown(TWO, "averaged")

    close(s.arrays["heads"], TWO.trace().attention.heads.weights)
    close(s.arrays["by_default"][0], s.arrays["heads"].mean(axis=0))


def test_rows_that_would_be_nan_are_opened_where_they_are_not_the_point():
    for convention in ("averaged", "dropout"):
        s = shown(EMPTY, convention)

        assert not s.is_own_mask
        np.testing.assert_array_equal(s.allowed[:2], EMPTY.mask.allowed(4)[:2])
        assert s.allowed[2:].all()
        assert not any(np.isnan(array).any() for array in s.arrays.values())


# --- is_causal


@pytest.mark.parametrize("n_queries", [1, 2, 4])
def test_is_causal_counts_from_the_top_left(n_queries):
    s = shown(TWO, "is_causal", n_queries=n_queries)

    whole = weights_under(TWO, causal(4))
    close(s.arrays["meant"], whole[:, -n_queries:])
    top_left = np.zeros((4, 4), dtype=bool)
    top_left[-n_queries:] = causal(n_queries, n_k=4)
    close(s.arrays["came_out"], weights_under(TWO, top_left)[:, -n_queries:])


# --- batch_first


def test_without_batch_first_each_token_attends_to_itself_alone():
    s = shown(TWO, "batch_first")

    attention = TWO.trace().attention
    close(s.arrays["meant"], attention.heads.weights)
    close(s.arrays["output"], attention.output)
    assert s.arrays["came_out"].shape == (2, 4, 1)
    assert (s.arrays["came_out"] == 1).all()
    alone = np.concatenate(list(attention.heads.V), axis=-1)  # each token's own values
    close(s.arrays["wrong"], alone)


# --- dropout


def test_in_train_mode_weights_are_dropped_and_the_others_scaled_up():
    s = shown(TWO, "dropout", p=0.5, seed=1)

    train, evaluated = s.arrays["train"], s.arrays["eval"]
    close(evaluated, TWO.trace().attention.heads.weights)
    assert 0 < np.count_nonzero(train == 0) < train.size
    close(train[train > 0], 2 * evaluated[train > 0])
    close(evaluated.sum(axis=-1), 1)
    assert np.abs(train.sum(axis=-1) - 1).max() > 0.1


def test_dropout_drops_what_its_seed_says_and_leaves_the_generator_of_others_alone():
    torch.manual_seed(7)
    expected = torch.rand(3)
    torch.manual_seed(7)

    one, same, other = (shown(TWO, "dropout", seed=seed).arrays["train"] for seed in (1, 1, 2))

    close(one, same)
    assert ((one == 0) != (other == 0)).any()
    torch.testing.assert_close(torch.rand(3), expected)


def test_the_ends_of_dropout():
    assert not shown(TWO, "dropout", p=1.0).arrays["train"].any()
    s = shown(TWO, "dropout", p=0.0)
    close(s.arrays["train"], s.arrays["eval"])


# --- all of them


@pytest.mark.parametrize("convention", CONVENTIONS)
@pytest.mark.parametrize("e", [SINGLE, LARGEST, EMPTY], ids=["smallest", "largest", "empty"])
def test_every_convention_takes_every_experiment(convention, e):
    s = shown(e, convention)

    for name, array in s.arrays.items():
        assert array.dtype == np.float64
        is_output = name in ("output", "without", "wrong")
        assert array.shape[-2] == (1 if convention == "is_causal" else e.n_tokens)
        assert array.ndim == (2 if is_output else 3)


@pytest.mark.parametrize("convention", CONVENTIONS)
@pytest.mark.parametrize("encoding", ENCODINGS)
def test_positions_that_a_layer_cannot_express_are_left_out_of_all_calls(convention, encoding):
    e = replace(TWO, encoding=encoding)

    s = shown(e, convention)

    assert s.left_out == (encoding in ("rotary", "alibi"))
    same = shown(replace(e, encoding="none") if s.left_out else e, convention)
    for name, array in s.arrays.items():
        close(array, same.arrays[name])


@pytest.mark.parametrize("convention", CONVENTIONS)
def test_the_source_is_that_of_the_function_that_is_run(convention, monkeypatch):
    text = source(convention)
    assert text.startswith(f"def {convention}(")
    assert "MultiheadAttention" in text or "layer(" in text or "is_causal=True" in text

    names = vars(conventions) | {}
    exec(text, names)  # what the reader sees, run
    expected = shown(TWO, convention)
    monkeypatch.setitem(conventions._CALLS, convention, names[convention])
    again = shown(TWO, convention)

    for name, array in expected.arrays.items():
        close(array, again.arrays[name])


def test_errors_name_what_was_asked_for():
    wanted = "convention must be one of polarity, empty_rows, averaged"
    for ask in (lambda: shown(TWO, "speed"), lambda: source("speed")):
        with pytest.raises(ChoiceError, match=wanted):
            ask()
    for count in (0, 5):
        with pytest.raises(RangeError, match=f"n_queries must lie between 1 and 4, got {count}"):
            shown(TWO, "is_causal", n_queries=count)
    with pytest.raises(RangeError, match=re.escape("p must lie between 0 and 1, got 1.5")):
        shown(TWO, "dropout", p=1.5)

"""Our layers as text, with the shapes and differences they have when they are run."""

import contextlib
import io
import re
from dataclasses import replace

import numpy as np
import pytest
import torch

from attention_core import Experiment, Mask
from attention_core.errors import ChoiceError, RangeError
from attention_core.neural import layers
from attention_core.neural.layers import MultiHeadAttention
from attention_core.neural.listing import PARTS, one_call_gap, run, source
from attention_core.presets import ENCODINGS
from attention_core.program import pytorch_script

RANDOM = Experiment.from_preset("random")
TWO = RANDOM.resized(n_tokens=4, d_model=5, d_k=2, n_heads=2).with_output_projection(True)
MASKED = replace(TWO, mask=Mask(("causal", "padding", "window"), n_padding=3))
SINGLE = RANDOM.resized(n_tokens=1, d_model=1, d_k=1, n_heads=1)
LARGEST = RANDOM.resized(n_tokens=12, d_model=8, d_k=8, n_heads=8)


def shapes(run):
    return {(piece.name, piece.role): piece.shape for piece in run.pieces}


@pytest.mark.parametrize("part", PARTS)
def test_the_source_is_code_that_computes_the_same(part):
    names = dict(vars(layers))
    exec("from __future__ import annotations\n" + source(part), names)

    if part == "multi_head":
        ours, read = MultiHeadAttention(6, 2), names["MultiHeadAttention"](6, 2)
        read.load_state_dict(ours.state_dict())
        x = torch.ones(1, 3, 6)
        torch.testing.assert_close(read(x), ours(x))
    assert source(part).startswith("def attention_weights" if part == "weights" else "class ")


def test_the_lines_that_make_scores_and_forbid_stand_in_one_part():
    lines = ("scores = Q @ K", "masked_fill(~(allowed | is_empty), -torch.inf)")

    holders = {part for part in PARTS if all(line in source(part) for line in lines)}

    assert holders == {"weights"}


def test_shapes_and_counts_by_hand():
    # d_model 5 and 2 heads of 2: the layer is 6 wide, with heads of 3.
    assert shapes(run(MASKED, "multi_head")) == {
        ("in_proj.weight", "weight"): (18, 6),
        ("out_proj.weight", "weight"): (6, 6),
        ("x", "given"): (1, 4, 6),
        ("mask", "given"): (4, 4),
        ("output", "returned"): (1, 4, 6),
        ("weights", "returned"): (1, 2, 4, 4),
    }
    assert run(MASKED, "multi_head").n_parameters == 4 * 36
    assert run(TWO, "self_attention").n_parameters == 3 * 25
    assert ("mask", "given") not in shapes(run(TWO, "self_attention"))
    assert shapes(run(TWO, "weights"))["weights", "returned"] == (2, 4, 4)
    assert run(TWO, "weights").n_parameters == 0


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize(
    "e", [SINGLE, LARGEST, TWO, MASKED], ids=["smallest", "largest", "two", "masked"]
)
def test_every_part_gives_what_numpy_gives(part, encoding, e):
    e = replace(e, encoding=encoding)

    ran = run(e, part, head=e.n_heads - 1)

    assert ran.is_within
    assert ran.gap < 1e-13
    assert ran.left_out == (part != "weights" and encoding in ("rotary", "alibi"))
    assert (("bias", "given") in shapes(ran)) == (part == "weights" and encoding == "alibi")


def test_one_head_of_several_is_run_by_itself():
    ran = run(TWO, "self_attention", head=1)

    np.testing.assert_array_equal(ran.experiment.W_K[0], TWO.W_K[1])
    assert ran.experiment.n_heads == 1
    assert ran.experiment.W_O is None


def test_a_layer_that_computes_something_else_is_noticed(monkeypatch):
    weights = layers.attention_weights
    monkeypatch.setattr(
        layers, "attention_weights", lambda Q, K, *a, **k: weights(Q * 1.001, K, *a, **k)
    )

    for part in PARTS:
        assert not run(TWO, part).is_within


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("e", [TWO, MASKED, LARGEST], ids=["two", "masked", "largest"])
def test_the_two_ways_of_the_script_are_those_that_are_measured(e, encoding):
    e = replace(e, encoding=encoding)
    names = {}
    with contextlib.redirect_stdout(io.StringIO()):
        exec(pytorch_script(e), names)  # its own assertion holds

    theirs = float((names["fused"] - names["head_outputs"]).abs().max())

    assert one_call_gap(e) == pytest.approx(theirs, abs=1e-5)
    assert one_call_gap(e) < 1e-5


def test_errors_name_what_was_asked_for():
    message = "part must be one of self_attention, multi_head, weights, got 'all'"
    for ask in (lambda: run(TWO, "all"), lambda: source("all")):
        with pytest.raises(ChoiceError, match=re.escape(message)):
            ask()
    with pytest.raises(RangeError, match="head must lie between 0 and 1, got 2"):
        run(TWO, "self_attention", head=2)

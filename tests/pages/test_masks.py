"""The lesson on masks: what is chosen is laid onto the experiment, and nothing else changes it."""

from dataclasses import replace

import numpy as np
import pytest

from attention_core import Experiment, Mask, to_plain
from attention_core.leaks import LEAKS
from attention_core.patterns import Pattern
from attention_core.spellings import PRECISIONS
from playground import link
from tests.pages.driver import App

APPLE = Experiment.from_preset()
LONG = Experiment.from_preset("random", seed=4).resized(n_tokens=8)


def app_on(e=APPLE, step="patterns"):
    app = App("masks", e=link.encode(e))
    return app if step == "patterns" else app.set("masks.step", step)


def values(app):
    """{matrix: its values as the board shows them; NaN for −∞ and for NaN}"""

    def number(value):
        return value if isinstance(value, int | float) else np.nan

    return {
        matrix["id"]: np.array([[number(v) for v in row] for row in matrix["values"]])
        for matrix in app.board["matrices"]
    }


def said(app):
    (info,) = app.test.info
    return info.value


# patterns


def test_opening_every_step_changes_nothing():
    app = app_on(LONG)

    for step in ("spellings", "polarity", "leaks", "cross", "cache", "patterns"):
        app.set("masks.step", step)
        app.assert_calm()

    assert to_plain(app.experiment) == to_plain(LONG)


def test_a_pattern_that_the_mask_can_say_becomes_its_rules():
    app = app_on(LONG).set("masks.kinds", ["causal", "window"]).set("masks.before", 2)

    mask = app.experiment.mask
    assert (mask.kinds, mask.before, mask.after) == (("causal", "window"), 2, 1)
    app.assert_calm()


def test_any_other_becomes_painted_cells():
    app = app_on(LONG).set("masks.kinds", ["causal", "hashed"]).set("masks.how", "or")
    app.set("masks.n_rounds", 4).set("masks.n_buckets", 8)

    pattern = Pattern(("causal", "hashed"), how="or", n_rounds=4, n_buckets=8)
    np.testing.assert_array_equal(app.experiment.mask.allowed(8), pattern.allowed(LONG))
    assert app.experiment.mask.kinds == ("painted",)
    shown = np.isfinite(values(app)["mask"])
    np.testing.assert_array_equal(shown, pattern.allowed(LONG))


def test_every_size_lays_the_pattern_anew():
    app = app_on(LONG).set("masks.kinds", ["padding", "bigbird"])
    sizes = {"n_padding": 3, "before": 0, "after": 2, "n_global": 2, "n_random": 3}

    for name, size in sizes.items():
        app.set(f"masks.{name}", size)

    expected = Pattern(("padding", "bigbird"), **sizes).allowed(LONG)
    np.testing.assert_array_equal(app.experiment.mask.allowed(8), expected)


def test_drawing_again_lays_other_random_keys():
    app = app_on(LONG).set("masks.kinds", ["bigbird"])

    app.press(app.t("masks.patterns.draw"))

    expected = Pattern(("bigbird",), draw=1).allowed(LONG)
    np.testing.assert_array_equal(app.experiment.mask.allowed(8), expected)


def test_undo_takes_a_pattern_back_and_it_can_be_laid_again():
    app = app_on(LONG).set("masks.kinds", ["hashed"])
    laid = app.experiment.mask

    app.press(app.t("control.undo"))
    undone = app.experiment.mask
    app.press(app.t("masks.patterns.lay"))

    assert undone == LONG.mask
    assert app.experiment.mask == laid


def test_painting_works_and_is_told_and_marked():
    app = app_on().set("masks.kinds", ["causal"])
    assert app.t("masks.patterns.lay") not in [button.label for button in app.test.button]

    app.send(
        {
            "number": 1,
            "kind": "paint",
            "matrix": "mask",
            "cells": [[0, 2]],
            "allowed": True,
            "joins": False,
        }
    )

    assert app.experiment.mask.allowed(3)[0, 2]
    assert app.t("masks.patterns.differs", count=1) in app.markdown()
    (mask,) = (matrix for matrix in app.board["matrices"] if matrix["id"] == "mask")
    assert np.argwhere(mask["marked"]).tolist() == [[0, 2]]


def test_painting_on_an_experiment_without_a_mask_works():
    app = app_on()

    app.send(
        {
            "number": 1,
            "kind": "paint",
            "matrix": "mask",
            "cells": [[1, 1]],
            "allowed": False,
            "joins": False,
        }
    )

    assert np.argwhere(~app.experiment.mask.allowed(3)).tolist() == [[1, 1]]


def test_letting_go_of_all_patterns_takes_the_mask_away():
    app = app_on().set("masks.kinds", ["causal", "hashed"]).set("masks.kinds", [])

    assert app.experiment.mask.allowed(3).all()
    app.assert_calm()


def test_a_mask_set_in_the_sidebar_is_what_the_lesson_begins_with():
    app = app_on().set("mask", ["causal"])

    assert app.experiment.mask == Mask(("causal",))
    assert app.test.session_state["masks.kinds"] == ["causal"]
    assert app.t("masks.patterns.lay") not in [button.label for button in app.test.button]


@pytest.mark.parametrize("n_tokens", [1, 12])
def test_every_pattern_fits_every_number_of_tokens(n_tokens):
    app = app_on(LONG.resized(n_tokens=n_tokens))

    app.set("masks.kinds", ["causal", "padding", "window", "bigbird", "hashed"])
    app.set("masks.how", "or").set("masks.n_padding", n_tokens)

    app.assert_calm()


def test_padding_of_every_token_leaves_all_rows_empty_and_all_is_calm():
    app = app_on().set("masks.kinds", ["padding"]).set("masks.n_padding", 3)

    app.assert_calm()
    assert not values(app)["weights"].any()
    for step in ("spellings", "polarity", "leaks", "cross", "cache"):
        app.set("masks.step", step)
        app.assert_calm()


# the other steps


@pytest.mark.parametrize("precision", PRECISIONS)
def test_the_precision_is_that_of_the_spellings(precision):
    app = app_on(step="spellings").set("masks.precision", precision).set("masks.is_emptied", True)

    shown = values(app)
    assert np.isnan(shown["boolean_weights"][2]).all()
    last = APPLE.trace().attention.head(0).weights[2]
    third = np.full(3, np.float32(1) / np.float32(3))
    expected = {"float64": last, "float32": third, "float16": np.full(3, np.nan)}[precision]
    np.testing.assert_allclose(shown["finite_weights"][2], expected, atol=1e-6)
    assert to_plain(app.experiment) == to_plain(APPLE)


def test_polarity_writes_the_calls_out_with_the_mask_of_the_experiment():
    e = replace(APPLE, mask=Mask(("window",), before=0, after=0))

    (code,) = app_on(e, "polarity").test.code

    assert "[ True, False, False],\n    [False,  True, False]," in code.value


@pytest.mark.parametrize("leak", LEAKS)
def test_a_mistake_moves_rows_that_the_right_mask_does_not(leak):
    app = app_on(step="leaks").set("masks.leak", leak)

    shown = values(app)
    assert (shown["broken_before"][:2] != shown["broken_after"][:2]).any()
    np.testing.assert_array_equal(shown["right_before"][:2], shown["right_after"][:2])
    app.assert_calm()


def test_the_token_that_is_changed_can_be_chosen():
    app = app_on(step="leaks").set("masks.token", 2)

    changed = APPLE.with_block("X", (1, 0), [APPLE.X[1] + 1])
    causal = replace(changed, mask=Mask(("causal",)))
    expected = causal.trace().attention.head(0).output
    np.testing.assert_allclose(values(app)["right_after"], expected)


def test_the_split_is_that_of_the_shapes():
    app = app_on(LONG, "cross").set("masks.n_source", 3)

    assert values(app)["weights"].shape == (5, 3)
    assert values(app)["K"].shape == (3, LONG.d_k)


@pytest.mark.parametrize(("n_source", "key"), [(0, "no_source"), (3, "no_target")])
def test_an_empty_side_gives_a_sentence(n_source, key):
    app = app_on(step="cross").set("masks.n_source", n_source)

    app.assert_calm()
    assert {
        "no_source": app.t("masks.cross.no_source"),
        "no_target": app.t("masks.cross.no_target"),
    }[key] in said(app)


def test_without_the_causal_mask_earlier_outputs_move():
    app = app_on(step="cache")
    kept = values(app)

    moved = values(app.set("masks.is_causal", False))

    np.testing.assert_allclose(kept["after"][:3], kept["before"], atol=1e-12)
    assert (np.abs(moved["after"][:3] - moved["before"]).max(axis=-1) > 1e-3).all()
    assert app.experiment.n_tokens == 3


def test_the_head_that_is_shown_can_be_chosen():
    e = replace(LONG.resized(n_heads=2), mask=Mask(("causal",)))
    app = app_on(e).set("head", 1)

    expected = e.trace().attention.head(1).weights
    np.testing.assert_array_equal(values(app)["weights"], expected)

"""What each preset is there to show, and that all of them are sound starting points."""

import hashlib
import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from attention_core import PRESETS, Experiment, to_plain
from attention_core.canvas import MATRICES, MAX_SEED, drawn, learned_positions
from attention_core.presets import DEFAULT_PRESET, ENCODINGS

ROOT = Path(__file__).parents[2]

every_preset = pytest.mark.parametrize("name", PRESETS)


def steps(name, **settings):
    """The only head's steps of a preset, with some of its settings changed."""
    return replace(Experiment.from_preset(name), **settings).trace().attention.head(0)


def digests():
    """A digest of all names and numbers behind each preset, shown or not."""
    return {name: _digest(Experiment.from_preset(name, seed=7)) for name in PRESETS}


def _digest(experiment):
    canvas = experiment.canvas
    digest = hashlib.sha256(repr((canvas.tokens, canvas.feature_names)).encode())
    for array in (*(getattr(canvas, name) for name in MATRICES), learned_positions(7)):
        digest.update(array.tobytes())
    return digest.hexdigest()


# --- apple


def test_apple_starts_from_the_numbers_on_paper():
    apple = Experiment.from_preset("apple")

    assert apple.tokens == ("我", "喜欢", "苹果")
    assert (apple.W_O, apple.is_scaled, apple.encoding, apple.mask.kinds) == (
        None,
        True,
        "none",
        (),
    )
    np.testing.assert_array_equal(apple.X, [[1, 0], [1, 1], [0.1, 1]])
    np.testing.assert_array_equal(apple.W_Q, [[[1, 0], [0, 1]]])
    np.testing.assert_array_equal(apple.W_K, [[[1, 1], [1, 1]]])
    np.testing.assert_array_equal(apple.W_V, [[[1, 0], [1, 1]]])


def test_apple_by_hand():
    trace = steps("apple")

    scores = [[1, 2, 1.1], [2, 4, 2.2], [1.1, 2.2, 1.21]]
    np.testing.assert_array_equal(trace.Q, [[1, 0], [1, 1], [0.1, 1]])
    np.testing.assert_array_equal(trace.K, [[1, 1], [2, 2], [1.1, 1.1]])
    np.testing.assert_array_equal(trace.V, [[1, 0], [2, 1], [1.1, 1]])
    np.testing.assert_allclose(trace.scores, scores, rtol=1e-15)
    np.testing.assert_allclose(trace.scaled_scores, np.divide(scores, 2**0.5), rtol=1e-15)
    np.testing.assert_array_equal(trace.masked_scores, trace.scaled_scores)
    np.testing.assert_array_equal(trace.weights[1].round(4), [0.1596, 0.6565, 0.1839])
    np.testing.assert_array_equal(trace.output[0].round(4), [1.5207, 0.7562])


def test_apple_is_where_everyone_starts():
    assert DEFAULT_PRESET == Experiment.from_preset().preset == "apple"


# --- cat


def test_cat_mixes_three_parts_cat_six_chase_one_mouse():
    trace = steps("cat")
    cat, chase, mouse = trace.V

    np.testing.assert_array_equal(trace.weights[0].round(3), [0.3, 0.6, 0.1])
    np.testing.assert_allclose(trace.output[0], 0.3 * cat + 0.6 * chase + 0.1 * mouse, atol=1e-3)


# --- apple_company, apple_fruit


def test_apple_is_the_same_word_in_both_sentences():
    company, fruit = map(Experiment.from_preset, ("apple_company", "apple_fruit"))

    vectors = [e.X[e.tokens.index("苹果")] for e in (company, fruit)]

    assert company.feature_names == fruit.feature_names
    np.testing.assert_array_equal(*vectors)
    for name in ("W_Q", "W_K", "W_V", "W_O"):
        np.testing.assert_array_equal(getattr(company, name), getattr(fruit, name))


@pytest.mark.parametrize(
    ("name", "meant", "other"),
    [("apple_company", "company", "fruit"), ("apple_fruit", "fruit", "company")],
)
def test_the_neighbours_decide_what_apple_means(name, meant, other):
    experiment = Experiment.from_preset(name)
    column = {feature: i for i, feature in enumerate(experiment.feature_names)}

    before, after = (
        matrix[experiment.tokens.index("苹果")]
        for matrix in (experiment.X, experiment.trace().attention.output)
    )

    assert before[column[meant]] == before[column[other]]
    assert after[column[meant]] > after[column[other]] + 0.5


# --- repeated, previous_token


def test_equal_words_get_equal_rows_without_positions():
    trace = steps("repeated", encoding="none")

    for first, second in ((0, 3), (1, 4)):  # the, cat
        np.testing.assert_allclose(trace.weights[first], trace.weights[second], rtol=1e-12)
        np.testing.assert_allclose(trace.output[first], trace.output[second], rtol=1e-12)


@pytest.mark.parametrize("encoding", ["sinusoidal", "learned", "rotary"])
def test_equal_words_get_different_rows_with_positions(encoding):
    trace = steps("repeated", encoding=encoding)

    for first, second in ((0, 3), (1, 4)):
        assert np.abs(trace.weights[first] - trace.weights[second]).max() > 0.01
        assert np.abs(trace.output[first] - trace.output[second]).max() > 0.01


def test_each_token_attends_to_the_one_before():
    weights = steps("previous_token").weights

    assert (np.diagonal(weights, offset=-1) > 0.95).all()


def test_no_token_finds_the_one_before_without_positions():
    weights = steps("previous_token", encoding="none").weights

    assert (np.diagonal(weights, offset=-1) < 0.5).all()


# --- identity, uniform, random


def test_identity_attends_to_itself():
    weights = steps("identity").weights

    assert (np.diagonal(weights) > 0.95).all()


def test_uniform_attends_to_all_alike_and_outputs_the_mean():
    trace = steps("uniform")

    np.testing.assert_array_equal(trace.weights, np.full((4, 4), 1 / 4))
    np.testing.assert_array_equal(trace.output, np.tile(trace.V.mean(axis=0), (4, 1)))


def test_random_takes_every_number_from_the_seed():
    experiment, canvas = Experiment.from_preset("random", seed=5), drawn(5)

    np.testing.assert_array_equal(experiment.X, canvas.X[:4, :4])
    for name in ("W_Q", "W_K", "W_V"):
        np.testing.assert_array_equal(getattr(experiment, name), getattr(canvas, name)[:1, :4, :4])


# --- all of them


@every_preset
def test_a_preset_shows_what_it_declares(name):
    preset, experiment = PRESETS[name], Experiment.from_preset(name)

    experiment.sizes.check()
    assert experiment.sizes[1:] == (preset.d_model, preset.d_k, preset.n_heads)
    assert (experiment.tokens, experiment.encoding) == (preset.tokens, preset.encoding)
    assert len(experiment.feature_names) in (0, preset.d_model)
    for matrix in MATRICES:
        if getattr(preset, matrix) is not None:
            np.testing.assert_array_equal(getattr(experiment, matrix), getattr(preset, matrix))


@every_preset
def test_chosen_numbers_do_not_depend_on_the_seed(name):
    first, second = (Experiment.from_preset(name, seed=seed) for seed in (0, 1))

    for matrix in MATRICES:
        if getattr(PRESETS[name], matrix) is not None:
            np.testing.assert_array_equal(getattr(first, matrix), getattr(second, matrix))


@every_preset
@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("seed", [0, MAX_SEED])
def test_a_preset_gives_a_finite_trace(name, encoding, seed):
    attention = (
        replace(Experiment.from_preset(name, seed=seed), encoding=encoding).trace().attention
    )

    assert np.isfinite(attention.heads.scaled_scores).all()
    assert np.isfinite(attention.output).all()
    np.testing.assert_allclose(attention.heads.weights.sum(axis=-1), 1, rtol=1e-12)


@every_preset
def test_an_untouched_preset_is_three_fields_of_plain_data(name):
    plain = to_plain(Experiment.from_preset(name, seed=3))

    assert plain == {"version": 1, "preset": name, "seed": 3}


def test_another_process_gives_the_same_numbers():
    script = "import json, test_presets; print(json.dumps(test_presets.digests()))"
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join([str(ROOT), str(Path(__file__).parent)]),
        "PYTHONHASHSEED": "1",
    }

    printed = subprocess.run(
        [sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True
    )

    assert json.loads(printed.stdout) == digests()


def test_the_numbers_of_a_seed_never_change():
    # A link carries the seed instead of the numbers: other numbers here break every old link.
    canvas = drawn(0)

    np.testing.assert_array_equal(canvas.X[0], [0.41, -0.69, -1.38, -1.45, 0.94, 1.24, 0.32, 0.69])
    np.testing.assert_array_equal(canvas.W_Q[0, 0, :3], [0.78, 0.11, 0.6])
    np.testing.assert_array_equal(canvas.W_K[0, 0, :3], [-0.84, -0.2, 0.2])
    np.testing.assert_array_equal(canvas.W_V[0, 0, :3], [0.79, 0.72, -0.36])
    np.testing.assert_array_equal(canvas.W_O[0, 0, :3], [0.77, -0.54, -0.18])
    assert (canvas.X[-1, -1], canvas.W_O[-1, -1, -1]) == (1.37, -0.61)
    np.testing.assert_allclose(
        learned_positions(0)[0, :3], [-0.04737631, -0.25480773, 0.15085978], atol=5e-9
    )


def test_drawn_numbers_have_two_decimals_and_no_minus_zero():
    for seed in range(20):
        for name in MATRICES:
            numbers = getattr(drawn(seed), name)
            np.testing.assert_array_equal(numbers, numbers.round(2))
            assert not np.signbit(numbers[numbers == 0]).any()  # rounding -0.004 gives -0.0


def test_nobody_can_write_into_a_preset():
    arrays = [getattr(preset, name) for preset in PRESETS.values() for name in MATRICES]

    assert not any(array.flags.writeable for array in arrays if array is not None)

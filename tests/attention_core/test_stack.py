"""Layers: what becomes the next X, who has heard from whom, and what a residual saves."""

from dataclasses import replace

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from attention_core import PRESETS, Experiment, Mask, from_plain, to_plain
from attention_core.canvas import MAX_D_K, MAX_D_MODEL, MAX_HEADS
from attention_core.errors import RangeError, WidthError
from attention_core.experiment import MAX_VALUE
from attention_core.stack import (
    Layer,
    StackTrace,
    check_width,
    continues,
    distances,
    fitting_sizes,
    replayed,
    spread,
    stack_trace,
    stacked,
)
from tests.playground.experiments import experiments

both = pytest.mark.parametrize("is_residual", [False, True])


def random(n_tokens=5, n_heads=2, seed=3, **changes):
    """Random numbers, several heads, and W_O, so that the widths fit."""
    start = Experiment.from_preset("random", seed=seed)
    sized = start.resized(n_tokens=n_tokens, d_model=4, d_k=3, n_heads=n_heads)
    return replace(sized.with_output_projection(True), **changes)


def mean_of_values(X, **changes):
    """W_Q is 0, so every output is the mean of the values, which are X."""
    X = np.array(X, dtype=float)
    eye = np.eye(X.shape[1])[None]
    tokens = tuple("abcdefghijkl"[: len(X)])
    return Experiment(tokens, X, 0 * eye, eye, eye, **changes)


def run(experiment, residuals, change=None):
    """Layer after layer, as a learner does; `change` is applied to each new one."""
    layers = []
    for is_residual in residuals:
        layers.append(Layer(experiment, is_residual))
        experiment = stacked(experiment, is_residual=is_residual)
        if change:
            experiment = change(experiment)
    return layers, experiment


# --- by hand


def test_two_tokens_by_hand_without_the_residual():
    experiment = mean_of_values([[1, 0], [0, 3]])

    trace = stack_trace(*run(experiment, [False]))

    np.testing.assert_array_equal(trace.X[0], [[1, 0], [0, 3]])
    np.testing.assert_allclose(trace.X[1], [[0.5, 1.5], [0.5, 1.5]])
    # Mean (0.5, 1.5), deviations ±(0.5, -1.5): ‖deviation‖² = 5 of ‖X‖² = 10.
    np.testing.assert_allclose(trace.spread, [np.sqrt(5 / 10), 0])


def test_two_tokens_by_hand_with_the_residual():
    experiment = mean_of_values([[1, 0], [0, 3]])

    trace = stack_trace(*run(experiment, [True]))

    np.testing.assert_allclose(trace.X[1], [[1.5, 1.5], [0.5, 4.5]])
    # The same deviations, of ‖X‖² = 2.25 + 2.25 + 0.25 + 20.25 = 25.
    np.testing.assert_allclose(trace.spread, [np.sqrt(5 / 10), np.sqrt(5 / 25)])


def test_who_heard_whom_by_hand():
    # Each token sees itself and the one before: two layers carry a to c.
    experiment = mean_of_values(np.eye(3), mask=Mask(("window",), before=1, after=0))

    trace = stack_trace(*run(experiment, [False, False]))

    assert trace.reach.astype(int).tolist() == [
        [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
        [[1, 0, 0], [1, 1, 0], [0, 1, 1]],
        [[1, 0, 0], [1, 1, 0], [1, 1, 1]],
    ]
    assert trace.arrival.tolist() == [[0, -1, -1], [1, 0, -1], [2, 1, 0]]
    assert trace.n_depths == 3


# --- oracles


def in_torch(experiment, residuals):
    """Every X, by PyTorch's own attention."""
    e = experiment
    X, W_Q, W_K, W_V, W_O = (torch.tensor(np.array(m)) for m in (e.X, e.W_Q, e.W_K, e.W_V, e.W_O))
    allowed = torch.tensor(e.mask.allowed(e.n_tokens))
    found = [X]
    for is_residual in residuals:
        X = found[-1]
        heads = F.scaled_dot_product_attention(X @ W_Q, X @ W_K, X @ W_V, attn_mask=allowed)
        output = heads.transpose(0, 1).reshape(e.n_tokens, -1) @ W_O
        found.append(X + output if is_residual else output)
    return torch.stack(found).numpy()


@pytest.mark.parametrize(
    "residuals", [[False] * 4, [True] * 4, [True, False, True, True], [False, True]]
)
@pytest.mark.parametrize("kinds", [(), ("causal",), ("window", "causal")])
def test_layers_are_those_of_torch(residuals, kinds):
    experiment = random(mask=Mask(kinds))

    trace = stack_trace(*run(experiment, residuals))

    np.testing.assert_allclose(trace.X, in_torch(experiment, residuals), rtol=1e-9, atol=1e-12)


def test_reach_is_every_path_through_the_layers():
    def paths(layers, row):
        """The tokens of the first X that lead to this row, walked back one layer at a time."""
        rows = {row}
        for layer in reversed(layers):
            allowed = layer.experiment.mask.allowed(layer.experiment.n_tokens)
            heard = {int(key) for query in rows for key in np.flatnonzero(allowed[query])}
            rows = heard | rows if layer.is_residual else heard
        return rows

    masks = [Mask(("window",), before=b, after=a) for b, a in [(1, 0), (0, 2), (1, 1)]]
    masks.append(Mask(("padding", "causal"), n_padding=6))  # leaves empty rows
    experiment = random(7, mask=masks[0])
    layers = []
    for mask, is_residual in zip(masks, [False, True, False, True], strict=True):
        experiment = replace(experiment, mask=mask)
        layers.append(Layer(experiment, is_residual))
        experiment = stacked(experiment, is_residual=is_residual)

        reach = stack_trace(layers, experiment).reach[-1]

        for row in range(7):
            assert set(np.flatnonzero(reach[row])) == paths(layers, row)


@given(experiments())
def test_one_layer_reaches_what_its_trace_allows(experiment):
    reach = stack_trace([Layer(experiment, False)], experiment).reach[-1]

    allowed = experiment.trace().attention.heads.allowed
    np.testing.assert_array_equal(np.broadcast_to(reach, allowed.shape), allowed)


@both
def test_a_row_depends_on_exactly_the_tokens_within_its_reach(is_residual):
    experiment = random(6, mask=Mask(("window",), before=1, after=1))
    depth = 3
    layers, last = run(experiment, [is_residual] * depth)

    reach = stack_trace(layers, last).reach[-1]

    assert 0 < reach.sum() < reach.size
    for token in range(6):
        X = experiment.X.copy()
        X[token] += 0.5
        _, other = run(replace(experiment, X=X), [is_residual] * depth)
        has_moved = (other.X != last.X).any(axis=1)
        np.testing.assert_array_equal(has_moved, reach[:, token])


# --- laws


@both
@pytest.mark.parametrize(("before", "after"), [(1, 0), (0, 1), (1, 1), (2, 1)])
def test_a_window_reaches_as_much_further_with_each_layer(is_residual, before, after):
    experiment = random(12, mask=Mask(("window",), before=before, after=after))

    trace = stack_trace(*run(experiment, [is_residual] * 5))

    for depth in range(6):
        expected = (min(before * depth, 11), min(after * depth, 11))
        assert distances(trace.reach[depth]) == expected


@both
def test_under_a_causal_mask_no_layer_hears_the_future(is_residual):
    trace = stack_trace(*run(random(mask=Mask(("causal",))), [is_residual] * 3))

    np.testing.assert_array_equal(trace.reach[1:], np.tril(np.ones((3, 5, 5), dtype=bool)))


def test_with_the_residual_everybody_keeps_hearing_themselves_and_loses_nobody():
    empty = Mask(("padding", "window"), n_padding=4, before=0, after=0)
    experiment = random(mask=empty)

    trace = stack_trace(*run(experiment, [True] * 3))

    np.testing.assert_array_equal(trace.reach, np.broadcast_to(np.eye(5, dtype=bool), (4, 5, 5)))


def test_without_the_residual_a_token_that_may_attend_to_nothing_forgets_all():
    experiment = random(mask=Mask(("padding", "window"), n_padding=4, before=0, after=0))

    trace = stack_trace(*run(experiment, [False]))

    assert trace.reach[1].sum(axis=1).tolist() == [1, 0, 0, 0, 0]
    assert trace.arrival[1].tolist() == [-1] * 5


def test_what_was_forgotten_on_the_way_arrives_when_it_is_heard_again():
    heard = np.array([1, 0, 1, 1], dtype=bool)[:, None, None]

    assert StackTrace(np.zeros((4, 1, 1)), heard, np.zeros(4)).arrival.tolist() == [[2]]
    assert StackTrace(np.zeros((2, 1, 1)), heard[:2], np.zeros(2)).arrival.tolist() == [[-1]]


def test_pure_attention_with_equal_weights_collapses_in_one_layer():
    experiment = mean_of_values(np.random.default_rng(1).normal(size=(7, 3)))

    pure = stack_trace(*run(experiment, [False] * 2))
    saved = stack_trace(*run(experiment, [True] * 2))

    assert pure.spread[0] > 0.5
    np.testing.assert_allclose(pure.spread[1:], 0, atol=1e-12)
    assert (saved.spread[1:] > 0.1).all()


def test_pure_attention_collapses_and_a_head_that_sees_only_itself_does_not():
    experiment = random()
    alone = replace(experiment, mask=Mask(("window",), before=0, after=0))

    assert stack_trace(*run(experiment, [False] * 12)).spread[-1] < 1e-3
    assert stack_trace(*run(alone, [False] * 4)).spread[-1] > 0.1


@both
def test_shuffled_tokens_give_shuffled_layers(is_residual):
    experiment = random()
    order = [3, 0, 4, 1, 2]

    straight = stack_trace(*run(experiment, [is_residual] * 3))
    shuffled = stack_trace(*run(replace(experiment, X=experiment.X[order]), [is_residual] * 3))

    np.testing.assert_allclose(shuffled.X, straight.X[:, order], atol=1e-12)
    np.testing.assert_allclose(shuffled.spread, straight.spread, atol=1e-12)
    np.testing.assert_array_equal(shuffled.reach, straight.reach[:, order][:, :, order])


# --- how different the rows are


def test_spread_is_1_for_rows_that_cancel_out():
    assert spread(np.array([[3.0, -1.0], [-3.0, 1.0]])) == 1


def test_spread_is_0_for_zeros_and_for_a_single_row():
    assert spread(np.zeros((3, 2))) == 0
    assert spread(np.array([[3.0, -1.0]])) == 0


def test_equal_rows_have_no_spread_whatever_their_mean_rounds_to():
    rows = np.tile([0.1, 1.0], (3, 1))

    assert (rows.mean(axis=0) != rows).any()  # 3 · 0.1 / 3 is not 0.1
    assert spread(rows) == 0


@pytest.mark.parametrize("scale", [1e-200, 1e-320, 1.0, 1e200])
def test_spread_does_not_depend_on_the_size_of_the_numbers(scale):
    assert spread(np.array([[1.0, 0.0], [0.0, 0.0]]) * scale) == pytest.approx(np.sqrt(0.5))


@given(experiments())
def test_spread_is_a_share(experiment):
    X = experiment.X
    naive = np.linalg.norm(X - X.mean(axis=0)) / (np.linalg.norm(X) or 1)

    assert 0 <= spread(X) <= 1 + 1e-12
    if np.abs(X).max() > 1e-100:
        assert spread(X) == pytest.approx(naive, abs=1e-9)


# --- the next X


@both
@pytest.mark.parametrize("encoding", ["sinusoidal", "learned"])
def test_positions_are_put_in_anew_and_never_carried_along(encoding, is_residual):
    experiment = random(encoding=encoding)

    following = stacked(experiment, is_residual=is_residual)

    output = experiment.trace().attention.output
    np.testing.assert_array_equal(following.X, experiment.X * is_residual + output)
    trace = following.trace()
    np.testing.assert_array_equal(trace.inputs, following.X + trace.positions)
    np.testing.assert_array_equal(trace.positions, experiment.trace().positions)


@both
def test_all_but_x_stays_and_the_given_experiment_too(is_residual):
    experiment = random(mask=Mask(("causal",)), encoding="rotary", is_scaled=False)
    before = to_plain(experiment)

    following = stacked(experiment, is_residual=is_residual)

    assert to_plain(experiment) == before
    assert {**to_plain(following), "X": None} == {**before, "X": None}


NAMES = ("red", "", "green", "blue")


@pytest.mark.parametrize(
    ("has_W_O", "is_residual", "names"),
    [(True, False, NAMES), (True, True, NAMES), (False, True, NAMES), (False, False, ())],
)
def test_columns_keep_their_names_as_long_as_they_mean_the_same(has_W_O, is_residual, names):
    start = Experiment.from_preset("random").resized(d_k=2, n_heads=2)
    experiment = replace(start.with_output_projection(has_W_O), feature_names=NAMES)

    assert stacked(experiment, is_residual=is_residual).feature_names == names


@both
def test_an_output_of_another_width_is_refused_with_the_numbers(is_residual):
    experiment = random().with_output_projection(False)

    with pytest.raises(WidthError) as caught:
        stacked(experiment, is_residual=is_residual)

    assert vars(caught.value) == {"n_heads": 2, "d_k": 3, "d_model": 4, "width": 6}


@pytest.mark.parametrize("preset", PRESETS)
def test_the_width_check_agrees_with_the_output(preset):
    for experiment in (
        Experiment.from_preset(preset),
        Experiment.from_preset(preset).with_output_projection(True),
        Experiment.from_preset(preset).with_output_projection(False),
    ):
        fits = experiment.trace().attention.output.shape == experiment.X.shape
        try:
            check_width(experiment)
        except WidthError:
            assert not fits
        else:
            assert fits


@both
def test_numbers_past_the_limit_are_refused(is_residual):
    experiment = mean_of_values([[MAX_VALUE, 0], [0, 0]]).with_cell("W_V", (0, 0, 0), 3.0)

    with pytest.raises(RangeError) as caught:
        stacked(experiment, is_residual=is_residual)

    expected = MAX_VALUE * (2.5 if is_residual else 1.5)
    assert (caught.value.name, caught.value.value) == ("X", expected)


def test_every_size_of_x_can_be_fitted_by_changing_as_little_as_possible():
    for d_model in range(1, MAX_D_MODEL + 1):
        for n_heads in range(1, MAX_HEADS + 1):
            for d_k in range(1, MAX_D_K + 1):
                heads, width = fitting_sizes(n_heads, d_k, d_model)

                assert heads * width == d_model
                assert heads in range(1, MAX_HEADS + 1)
                assert width in range(1, MAX_D_K + 1)
                can_keep_one = d_model % n_heads == 0 or d_model % d_k == 0
                assert (heads == n_heads or width == d_k) >= can_keep_one


def test_sizes_that_fit_keep_the_heads_if_they_can_and_else_the_width():
    assert fitting_sizes(2, 3, 4) == (2, 2)
    assert fitting_sizes(3, 2, 4) == (2, 2)
    assert fitting_sizes(3, 3, 4) == (1, 4)


# --- whether a history goes on


def test_without_layers_every_experiment_is_the_first():
    assert continues([], random())


@settings(max_examples=60)
@given(experiments(), st.booleans())
def test_an_experiment_goes_on_after_it_was_plain_data(experiment, is_residual):
    experiment = experiment.with_output_projection(True)
    try:
        layers, following = run(experiment, [is_residual])
    except RangeError:
        assume(False)
    kept = [Layer(from_plain(to_plain(experiment)), is_residual)]

    assert continues(layers, following)
    assert continues(kept, from_plain(to_plain(following)))


GOING_ON = {
    "other weights": lambda e: e.with_cell("W_V", (0, 0, 0), 9.0),
    "another mask": lambda e: replace(e, mask=Mask(("causal",))),
    "more heads": lambda e: e.resized(n_heads=4),
    "another name": lambda e: e.with_token_renamed(0, "x"),
    "positions": lambda e: replace(e, encoding="learned"),
}
BEGINNING_ANEW = {
    "a typed number": lambda e: e.with_cell("X", (0, 0), e.X[0, 0] + 1e-9),
    "one token more": lambda e: e.with_token_added(),
    "one token less": lambda e: e.without_token(4),
    "a wider x": lambda e: e.resized(d_model=5),
    "another preset": lambda _: Experiment.from_preset("apple"),
}


@both
@pytest.mark.parametrize("change", GOING_ON.values(), ids=GOING_ON)
def test_a_history_goes_on_as_long_as_x_is_left_alone(change, is_residual):
    layers, experiment = run(random(), [not is_residual, is_residual])

    assert continues(layers, change(experiment))


@both
@pytest.mark.parametrize("change", BEGINNING_ANEW.values(), ids=BEGINNING_ANEW)
def test_a_history_ends_where_x_is_another(change, is_residual):
    layers, experiment = run(random(), [not is_residual, is_residual])

    assert not continues(layers, change(experiment))


def test_the_residual_is_part_of_the_history():
    layers, experiment = run(random(), [True])

    assert not continues([replace(layers[0], is_residual=False)], experiment)


# --- the same again, with or without the residual


@both
def test_a_history_replayed_as_it_was_is_the_same(is_residual):
    layers, experiment = run(random(), [is_residual] * 4)

    again = stack_trace(*replayed(layers, experiment, is_residual=is_residual))

    once = stack_trace(layers, experiment)
    np.testing.assert_array_equal(again.X, once.X)
    np.testing.assert_array_equal(again.reach, once.reach)


@both
def test_a_history_that_was_run_both_ways_is_replayed_from_where_it_differs(is_residual):
    experiment = random()

    again, last = replayed(
        *run(experiment, [is_residual, not is_residual, is_residual]), is_residual=is_residual
    )

    expected, X = run(experiment, [is_residual] * 3)
    assert [layer.is_residual for layer in again] == [is_residual] * 3
    for one, other in zip([*again, Layer(last, True)], [*expected, Layer(X, True)], strict=True):
        np.testing.assert_array_equal(one.experiment.X, other.experiment.X)


@both
def test_every_layer_replays_its_own_weights_and_mask(is_residual):
    masks = iter([("causal",), ("window",), ()])

    def change(e):
        weights = e.with_cell("W_V", (0, 0, 0), float(e.X[0, 0]).__round__(1))
        return replace(weights, mask=Mask(next(masks)))

    layers, experiment = run(random(), [True, False, True], change)

    again, last = replayed(layers, experiment, is_residual=is_residual)

    X = layers[0].experiment.X
    for step, own in zip([*(a.experiment for a in again), last], layers, strict=False):
        np.testing.assert_array_equal(step.X, X)
        np.testing.assert_array_equal(step.W_V, own.experiment.W_V)
        assert step.mask == own.experiment.mask
        X = stacked(replace(own.experiment, X=X), is_residual=is_residual).X
    np.testing.assert_array_equal(last.X, X)
    assert len(again) == 3
    assert all(layer.is_residual == is_residual for layer in again)


def test_a_replay_ends_where_the_numbers_outgrow_the_limit():
    # Every layer doubles X with the residual, and keeps it as it is without.
    X = np.full((2, 2), MAX_VALUE / 5)
    layers, experiment = run(mean_of_values(X), [False] * 5)

    again, last = replayed(layers, experiment, is_residual=True)

    trace = stack_trace(again, last)
    np.testing.assert_allclose(trace.X.max(axis=(1, 2)) / MAX_VALUE, [0.2, 0.4, 0.8])
    assert stack_trace(layers, experiment).n_depths == 6


@both
def test_a_replay_needs_no_layer_behind_the_current_one(is_residual):
    layers, experiment = run(random(), [True])
    wider = experiment.with_output_projection(False)  # 6 columns: no further layer

    again, last = replayed(layers, wider, is_residual=is_residual)

    assert len(again) == 1
    assert last.W_O is None


def test_without_layers_there_is_the_first_x_alone():
    experiment = random()

    for layers, current in ([], experiment), replayed([], experiment, is_residual=True):
        trace = stack_trace(layers, current)
        np.testing.assert_array_equal(trace.X, [experiment.X])
        np.testing.assert_array_equal(trace.reach, [np.eye(5)])
        np.testing.assert_array_equal(trace.arrival, np.eye(5) - 1)


def test_distances_of_nobody_are_0():
    assert distances(np.zeros((3, 3), dtype=bool)) == (0, 0)
    assert distances(np.array([[0, 0, 1], [1, 0, 0], [0, 0, 0]], dtype=bool)) == (1, 2)

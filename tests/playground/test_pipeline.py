"""Every matrix on the board follows from its operands, for every setting."""

from dataclasses import replace
from string import Formatter

import numpy as np
import pytest

from attention_core import Experiment, Mask
from attention_core.experiment import MASK_KINDS
from attention_core.positions import rotary
from playground.pipeline import STAGES, axis_labels, pipeline
from tests.playground.experiments import every_setting


def shown(experiment, head=0):
    """{id: matrix}, in the order of the board."""
    return {matrix.id: matrix for matrix in pipeline(experiment, experiment.trace(), head)}


def every_head(experiment):
    return [shown(experiment, head) for head in range(experiment.n_heads)]


# --- the order


def test_the_default_shows_the_steps_of_the_paper():
    ids = list(shown(Experiment.from_preset()))

    inputs = ["X", "W_Q", "Q", "W_K", "K", "W_V", "V"]
    assert ids == [*inputs, "scores", "scaled_scores", "weights", "output"]


def test_every_option_adds_its_own_steps():
    start = Experiment.from_preset("random").with_output_projection(True).resized(n_heads=2)
    everything = replace(start, mask=Mask(("causal",)), is_scaled=False)

    ids = {kind: list(shown(replace(everything, encoding=kind))) for kind in ("learned", "rotary")}
    ids["alibi"] = list(shown(replace(everything, encoding="alibi", is_scaled=True)))

    end = ["mask", "masked_scores", "weights", "head_output", "concatenated", "W_O", "output"]
    projections = ["W_Q", "Q", "W_K", "K", "W_V", "V"]
    assert ids["learned"] == ["X", "positions", "inputs", *projections, "scores", *end]
    turned = ["W_Q", "projected_Q", "Q", "W_K", "projected_K", "K", "W_V", "V"]
    assert ids["rotary"] == ["X", *turned, "scores", *end]
    biased = ["scores", "scaled_scores", "bias", "biased_scores"]
    assert ids["alibi"] == ["X", *projections, *biased, *end]


@every_setting
def test_operands_come_before_what_is_made_of_them(experiment):
    seen = set()
    for matrix in shown(experiment).values():
        assert matrix.id not in seen
        assert set(matrix.operation.get("of", [])) <= seen
        seen.add(matrix.id)


@every_setting
def test_stages_follow_each_other_and_end_in_the_output(experiment):
    matrices = list(shown(experiment).values())
    stages = [STAGES.index(matrix.stage) for matrix in matrices]

    assert stages == sorted(stages)
    assert set(stages) == set(range(len(STAGES)))
    assert matrices[-1].id == "output"


@every_setting
def test_all_but_the_last_matrix_is_used(experiment):
    matrices = shown(experiment)
    used = {of for matrix in matrices.values() for of in matrix.operation.get("of", [])}

    assert set(matrices) - used == {"output"}


@every_setting
def test_a_matrix_named_in_an_expression_is_an_operand(experiment):
    for matrix in shown(experiment).values():
        named = {name for _, name, _, _ in Formatter().parse(matrix.expression)} - {None}

        assert named <= set(matrix.operation.get("of", []))


# --- the numbers


def softmax_by_hand(scores):
    rows = []
    for row in scores:
        if np.isneginf(row).all():
            rows.append(np.zeros_like(row))
            continue
        exponentials = np.exp(row - row.max())
        rows.append(exponentials / exponentials.sum())
    return np.array(rows)


def rotated_by_hand(vectors, cos, sin):
    turned = vectors.copy()
    for pair in range(vectors.shape[1] // 2):
        a, b = vectors[:, 2 * pair], vectors[:, 2 * pair + 1]
        c, s = np.array(cos)[:, pair], np.array(sin)[:, pair]
        turned[:, 2 * pair], turned[:, 2 * pair + 1] = a * c - b * s, a * s + b * c
    return turned


def sinusoids_by_hand(n_tokens, d_model):
    def entry(position, column):
        angle = position / 10_000 ** ((column - column % 2) / d_model)
        return np.cos(angle) if column % 2 else np.sin(angle)

    return np.array([[entry(p, c) for c in range(d_model)] for p in range(n_tokens)])


def distance(n_tokens):
    return np.abs(np.subtract.outer(range(n_tokens), range(n_tokens)))


def mask_by_hand(forbidden_by, painted, n_tokens):
    """0 or -inf: what the rules forbid, but for the cells that were painted."""
    forbidden = np.zeros((n_tokens, n_tokens), dtype=bool)
    for rule in forbidden_by.values():
        forbidden |= np.array(rule)
    for cell, is_allowed in painted.items():
        forbidden[cell] = not is_allowed
    return np.where(forbidden, -np.inf, 0.0)


def painted_cells(experiment):
    """{(query, key): is allowed} of the cells that are in sight, if painting is on."""
    mask, n_tokens = experiment.mask, experiment.n_tokens
    if "painted" not in mask.kinds:
        return {}
    return {(q, k): flag for q, k, flag in mask.painted if max(q, k) < n_tokens}


def recomputed(matrix, values, heads, painted):
    """The values of a matrix from those of its operands, without the core."""
    operation = matrix.operation
    of = [values[id] for id in operation.get("of", [])]
    n_tokens = len(matrix.values)
    match operation["kind"]:
        case "sinusoidal":
            return sinusoids_by_hand(n_tokens, operation["d_model"])
        case "learned":
            table = 0.5 * np.random.default_rng([7, 5]).standard_normal((12, 8))
            return table[:n_tokens, :5]
        case "alibi":
            return -operation["slope"] * distance(n_tokens)
        case "matmul":
            return of[0] @ of[1]
        case "matmul_transposed":
            return of[0] @ of[1].T
        case "add":
            return of[0] + of[1]
        case "scale":
            return of[0] / operation["d_k"] ** 0.5
        case "rotate":
            return rotated_by_hand(of[0], operation["cos"], operation["sin"])
        case "allowed":
            return mask_by_hand(operation["forbidden_by"], painted, n_tokens)
        case "mask":
            return np.where(np.isneginf(of[1]), -np.inf, of[0])
        case "softmax":
            return softmax_by_hand(of[0])
        case "concat":
            return np.hstack([head["head_output"].values for head in heads])
    raise AssertionError(operation)


@every_setting
def test_every_step_recomputed_from_its_operands_is_the_matrix_shown(experiment):
    heads, painted = every_head(experiment), painted_cells(experiment)
    for matrices in heads:
        values = {id: matrix.values for id, matrix in matrices.items()}
        for matrix in matrices.values():
            if matrix.operation["kind"] != "given":
                expected = recomputed(matrix, values, heads, painted)
                np.testing.assert_allclose(
                    matrix.values, expected, rtol=1e-12, atol=1e-12, err_msg=matrix.id
                )


@every_setting
def test_given_numbers_are_those_of_the_experiment_and_can_be_edited(experiment):
    for head, matrices in enumerate(every_head(experiment)):
        given = {id for id, m in matrices.items() if m.operation == {"kind": "given"}}
        has_projection = experiment.W_O is not None

        assert given == {"X", "W_Q", "W_K", "W_V"} | ({"W_O"} if has_projection else set())
        assert given == {id for id, matrix in matrices.items() if matrix.is_editable}
        for name in given:
            array = getattr(experiment, name)
            own = array if name in ("X", "W_O") else array[head]
            np.testing.assert_array_equal(matrices[name].values, own)


@every_setting
def test_the_last_matrix_is_the_output_of_the_trace(experiment):
    expected = experiment.trace().attention.output

    for matrices in every_head(experiment):
        np.testing.assert_array_equal(matrices["output"].values, expected)


@every_setting
def test_only_the_weights_are_on_the_scale_of_weights(experiment):
    matrices = shown(experiment)
    weights = matrices["weights"].values

    assert {id for id, matrix in matrices.items() if matrix.are_weights} == {"weights"}
    assert weights.min() >= 0
    assert set(weights.sum(axis=1).round(12)) <= {0.0, 1.0}


# --- what an explanation needs


@pytest.mark.parametrize("d_k", range(1, 9))
def test_cosines_and_sines_are_those_of_the_rotation(d_k):
    start = Experiment.from_preset("random").resized(n_tokens=6, d_k=d_k)
    operation = shown(replace(start, encoding="rotary"))["Q"].operation
    vectors = np.random.default_rng(0).standard_normal((6, d_k))

    turned = rotated_by_hand(vectors, operation["cos"], operation["sin"])

    np.testing.assert_allclose(turned, rotary(vectors), rtol=0, atol=1e-15)
    assert np.shape(operation["cos"]) == np.shape(operation["sin"]) == (6, d_k // 2)


@every_setting
def test_the_mask_is_0_or_minus_infinity_and_is_added_to_the_step_before(experiment):
    matrices = shown(experiment)
    if not experiment.mask.kinds:
        assert not {"mask", "masked_scores"} & set(matrices)
        return
    ids = list(matrices)
    mask, masked = matrices["mask"], matrices["masked_scores"]
    allowed = experiment.mask.allowed(experiment.n_tokens)

    np.testing.assert_array_equal(mask.values, np.where(allowed, 0, -np.inf))
    assert (mask.symbol, mask.expression, mask.operation["kind"]) == ("M", "", "allowed")
    before = ids[ids.index("mask") - 1]
    assert masked.operation == {"kind": "mask", "of": [before, "mask"]}
    assert masked.expression == f"{{{before}}} + M"


@every_setting
def test_a_cell_is_forbidden_by_a_rule_or_else_by_hand_and_never_by_both(experiment):
    matrices = shown(experiment)
    if not experiment.mask.kinds:
        return
    forbidden_by = matrices["mask"].operation["forbidden_by"]
    by_rule = np.isneginf(mask_by_hand(forbidden_by, {}, experiment.n_tokens))
    against_the_rules = np.zeros_like(by_rule)
    for cell, is_allowed in painted_cells(experiment).items():
        against_the_rules[cell] = is_allowed == by_rule[cell]

    assert tuple(forbidden_by) == tuple(k for k in experiment.mask.kinds if k != "painted")
    for id in ("mask", "masked_scores"):
        np.testing.assert_array_equal(np.isneginf(matrices[id].values), by_rule ^ against_the_rules)


@every_setting
def test_the_mask_alone_can_be_painted(experiment):
    paintable = {matrix.id for matrix in shown(experiment).values() if matrix.is_paintable}

    assert paintable == ({"mask"} if experiment.mask.kinds else set())


def test_each_rule_forbids_its_own_cells_and_painted_ones_are_no_rule():
    mask = Mask(MASK_KINDS, n_padding=1, before=1, after=0, painted=((0, 2, True), (0, 0, False)))
    experiment = replace(Experiment.from_preset(), mask=mask)

    matrix = shown(experiment)["mask"]

    assert matrix.operation["forbidden_by"] == {
        "causal": [[False, True, True], [False, False, True], [False] * 3],
        "padding": [[False, False, True]] * 3,
        "window": [[False, True, True], [False, False, True], [True, False, False]],
    }
    no = -np.inf
    assert matrix.values.tolist() == [[no, no, 0], [0, 0, no], [no, 0, no]]


@pytest.mark.parametrize(
    ("n_heads", "slopes"),
    [(1, [2**-8]), (2, [2**-4, 2**-8]), (3, [2**-4, 2**-8, 2**-2]), (8, 0.5 ** np.arange(1, 9))],
)
def test_each_head_shows_its_own_alibi_slope(n_heads, slopes):
    start = Experiment.from_preset("random").resized(n_heads=n_heads)
    heads = every_head(replace(start, encoding="alibi"))

    assert [head["bias"].operation["slope"] for head in heads] == list(slopes)


def test_the_concatenation_says_which_columns_the_shown_head_fills():
    experiment = Experiment.from_preset("random").resized(n_heads=3, d_k=2)

    for head, matrices in enumerate(every_head(experiment)):
        operation = matrices["output"].operation
        own = slice(operation["head"] * operation["d_k"], (operation["head"] + 1) * 2)

        assert operation["head"] == head
        np.testing.assert_array_equal(
            matrices["output"].values[:, own], matrices["head_output"].values
        )


# --- labels


@every_setting
def test_every_row_and_column_has_a_label(experiment):
    labels = axis_labels(experiment)

    for matrix in shown(experiment).values():
        assert matrix.values.shape == (len(labels[matrix.rows]), len(labels[matrix.columns]))


def test_features_carry_their_names_or_else_their_numbers():
    start = Experiment.from_preset("cat")
    named = replace(start, feature_names=("animal", "", "$x$"))

    plain = axis_labels(Experiment.from_preset())["features"]
    translated = axis_labels(named, {"animal": "动物", "small": "小"})["features"]

    assert plain == ["1", "2"]
    assert translated == ["动物", "2", "$x$"]


def test_columns_of_all_heads_are_numbered_head_and_column():
    labels = axis_labels(Experiment.from_preset("random").resized(n_heads=2, d_k=3))

    assert labels["dims"] == ["1", "2", "3"]
    assert labels["concatenated"] == ["h1·1", "h1·2", "h1·3", "h2·1", "h2·2", "h2·3"]


def test_tokens_are_labels_even_when_they_repeat():
    labels = axis_labels(Experiment.from_preset("repeated"))

    assert labels["tokens"] == ["the", "cat", "saw", "the", "cat"]

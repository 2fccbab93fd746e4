"""What the board is given: every matrix with its numbers, names and how it was made."""

import json
from dataclasses import replace

import numpy as np
import pytest

from attention_core import Experiment, Mask, softmax_trace
from attention_core.canvas import MAX_TOKENS
from attention_core.experiment import MASK_KINDS, MAX_VALUE
from attention_core.positions import alibi_slopes
from playground import palette
from playground.board.board import board_data
from playground.narrate import narrate
from playground.pipeline import pipeline
from playground.texts import LANGUAGES, Texts
from tests.playground.experiments import every_setting

every_language = pytest.mark.parametrize("language", LANGUAGES)


def data_of(experiment, head=0, language="en"):
    return board_data(Texts(language), experiment, experiment.trace(), head)


def matrices_of(experiment, head=0, language="en"):
    return {m["id"]: m for m in data_of(experiment, head, language)["matrices"]}


@every_setting
def test_the_data_is_json_without_nan_and_infinity(experiment):
    for head in range(experiment.n_heads):
        data = data_of(experiment, head)

        assert json.loads(json.dumps(data, allow_nan=False)) == json.loads(json.dumps(data))


@every_setting
def test_the_numbers_are_those_of_the_pipeline_in_its_order(experiment):
    head = experiment.n_heads - 1
    expected = pipeline(experiment, experiment.trace(), head)

    shown = matrices_of(experiment, head)

    assert list(shown) == [matrix.id for matrix in expected]
    for matrix in expected:
        values = np.array(shown[matrix.id]["values"], dtype=float)  # None becomes NaN
        finite = np.where(np.isneginf(matrix.values), np.nan, matrix.values)
        np.testing.assert_array_equal(values, finite)


def test_minus_infinity_is_none_and_nothing_else_is():
    experiment = replace(Experiment.from_preset(), mask=Mask(("causal",)))

    shown = matrices_of(experiment)

    masked = [[value is None for value in row] for row in shown["masked_scores"]["values"]]
    assert masked == [[False, True, True], [False, False, True], [False] * 3]
    assert shown["mask"]["values"] == [[0, None, None], [0, 0, None], [0, 0, 0]]
    assert shown["weights"]["values"][0] == [1.0, 0.0, 0.0]


@every_setting
def test_every_matrix_is_named_and_explained_in_both_languages(experiment):
    text_ids = {m.id: m.text_id for m in pipeline(experiment, experiment.trace(), 0)}
    for t in map(Texts, LANGUAGES):
        for id, matrix in matrices_of(experiment, 0, t.language).items():
            assert matrix["name"] == t(f"matrix.{text_ids[id]}.name")
            assert matrix["about"] == t(f"matrix.{text_ids[id]}.about")
            assert "{" not in matrix["expression"]


@every_language
def test_expressions_call_matrices_by_their_names(language):
    t = Texts(language)
    experiment = replace(Experiment.from_preset(), mask=Mask(("causal",)), encoding="alibi")

    shown = matrices_of(experiment, 0, language)

    names = {id: t(f"matrix.{id}.name") for id in shown}
    assert shown["scaled_scores"]["expression"] == f"{names['scores']} / √2"
    assert shown["biased_scores"]["expression"] == f"{names['scaled_scores']} + B"
    assert shown["masked_scores"]["expression"] == f"{names['biased_scores']} + M"
    assert shown["weights"]["expression"] == f"softmax({names['masked_scores']})"
    assert shown["output"]["expression"] == f"{names['weights']} V"


@pytest.mark.parametrize("head", [0, 1, 2])
def test_an_edit_of_a_weight_matrix_of_a_head_will_say_which_head(head):
    experiment = Experiment.from_preset("random").resized(n_heads=3).with_output_projection(True)

    shown = matrices_of(experiment, head)

    heads = {id: matrix["head"] for id, matrix in shown.items()}
    assert {id for id, index in heads.items() if index is not None} == {"W_Q", "W_K", "W_V"}
    assert heads["W_Q"] == heads["W_K"] == heads["W_V"] == head
    assert shown["W_Q"]["values"] == experiment.W_Q[head].tolist()


@every_setting
def test_what_can_be_edited_is_what_the_core_lets_one_edit(experiment):
    for id, matrix in matrices_of(experiment).items():
        if matrix["editable"]:
            index = (0, 0) if matrix["head"] is None else (matrix["head"], 0, 0)

            assert getattr(experiment.with_cell(id, index, 9.0), id)[index] == 9.0


@every_setting
def test_every_axis_and_stage_that_a_matrix_names_is_there(experiment):
    data = data_of(experiment)
    stages = [stage["id"] for stage in data["stages"]]

    for matrix in data["matrices"]:
        rows, columns = data["axes"][matrix["rows"]], data["axes"][matrix["columns"]]
        assert len(matrix["values"]) == len(rows)
        assert {len(row) for row in matrix["values"]} == {len(columns)}
        assert matrix["stage"] in stages
    assert list(dict.fromkeys(matrix["stage"] for matrix in data["matrices"])) == stages


def test_matrices_of_one_letter_form_a_chain():
    shown = matrices_of(replace(Experiment.from_preset(), encoding="rotary"))

    chains = {id: matrix["chain"] for id, matrix in shown.items()}

    assert chains["W_Q"] == chains["projected_Q"] == chains["Q"] == "Q"
    assert chains["W_V"] == chains["V"] == "V"
    assert chains["scores"] == "scores"


def test_only_the_weights_have_the_scale_of_weights():
    scales = {id: m["scale"] for id, m in matrices_of(Experiment.from_preset()).items()}

    assert scales.pop("weights") == "weights"
    assert set(scales.values()) == {"signed"}


@every_language
def test_the_board_gets_all_its_texts_and_the_names_of_stages_and_features(language):
    t = Texts(language)

    data = data_of(Experiment.from_preset("cat"), language=language)

    assert data["texts"] == t.group("board")
    assert all(f"mask_{kind}" in data["texts"] for kind in MASK_KINDS)
    assert [stage["title"] for stage in data["stages"]] == list(t.group("stage").values())
    assert data["axes"]["features"] == [t(f"feature.{n}") for n in ("animal", "action", "small")]


@every_setting
def test_what_can_be_painted_is_what_the_core_lets_one_paint(experiment):
    paintable = {id: m["paintable"] for id, m in matrices_of(experiment).items()}

    assert {id for id, can_be in paintable.items() if can_be} == {"mask"} & set(paintable)
    if experiment.mask.kinds:
        values = matrices_of(experiment)["mask"]["values"]
        is_forbidden = values[1][0] is None
        painted = experiment.with_painted([(1, 0)], is_forbidden)

        assert (matrices_of(painted)["mask"]["values"][1][0] is None) != is_forbidden


# --- what the board needs beside the matrices


@every_setting
def test_the_heads_not_shown_come_with_their_weights_and_slopes(experiment):
    slopes = alibi_slopes(experiment.n_heads)
    for head in range(experiment.n_heads):
        data = data_of(experiment, head)

        assert data["head"] == head
        assert [other is None for other in data["heads"]] == [
            index == head for index in range(experiment.n_heads)
        ]
        for index, other in enumerate(data["heads"]):
            if other is not None:
                assert other == {
                    "slope": slopes[index],
                    "W_Q": experiment.W_Q[index].tolist(),
                    "W_K": experiment.W_K[index].tolist(),
                    "W_V": experiment.W_V[index].tolist(),
                }


@every_setting
def test_the_output_follows_from_the_heads_shown_and_not_shown(experiment):
    head = experiment.n_heads - 1
    trace = experiment.trace()

    heads = data_of(experiment, head)["heads"]

    V = [trace.attention.heads.V[head] if h is None else trace.inputs @ h["W_V"] for h in heads]
    joined = np.hstack([w @ v for w, v in zip(trace.attention.heads.weights, V, strict=True)])
    np.testing.assert_allclose(joined, trace.attention.concatenated, atol=1e-12)


@every_setting
def test_the_softmax_is_opened_row_by_row(experiment):
    for head in range(experiment.n_heads):
        one = experiment.trace().attention.head(head)
        steps = data_of(experiment, head)["softmax"]

        assert set(steps) == {"maximum", "shifted", "exponentials", "total"}
        for row, scores in enumerate(one.masked_scores):
            if not one.allowed[row].any():
                assert steps["maximum"][row] == steps["total"][row] == [None]
                assert set(steps["shifted"][row] + steps["exponentials"][row]) == {None}
                continue
            expected = softmax_trace(scores)
            assert steps["maximum"][row] == expected.maximum.tolist() == [scores.max()]
            shifted = [None if x == -np.inf else x for x in expected.shifted.tolist()]
            assert steps["shifted"][row] == shifted
            assert steps["exponentials"][row] == expected.exponentials.tolist()
            assert steps["total"][row] == expected.total.tolist()
            np.testing.assert_array_equal(
                np.divide(steps["exponentials"][row], steps["total"][row]), one.weights[row]
            )


def test_an_opened_softmax_by_hand():
    # The first token's scores are ln 2 and ln 4; the second may attend to nothing.
    X, W = [[1.0, 0.0], [0.0, 1.0]], np.eye(2)[None]
    W_K = np.log([[[2.0, 4.0], [1.0, 1.0]]]).swapaxes(1, 2)
    experiment = Experiment(("a", "b"), X, W, W_K, W, is_scaled=False)
    masked = experiment.with_painted([(1, 0), (1, 1)], False)

    steps = data_of(masked)["softmax"]

    assert steps == {
        "maximum": [[np.log(4)], [None]],
        "shifted": [[np.log(2) - np.log(4), 0.0], [None, None]],
        "exponentials": [[0.5, 1.0], [None, None]],
        "total": [[1.5], [None]],
    }


@every_language
@pytest.mark.parametrize("head", [0, 2])
def test_the_sentences_are_those_told_of_the_head_shown(language, head):
    t = Texts(language)
    experiment = Experiment.from_preset("random").resized(n_heads=3)

    shown = data_of(experiment, head, language)["sentences"]

    told = narrate(t, experiment, experiment.trace(), head)
    assert shown == [{"kind": s.kind, "row": s.row, "text": s.text} for s in told]
    assert len(shown) > 3


def test_colours_and_limits_are_those_of_palette_and_core():
    data = data_of(Experiment.from_preset())

    assert data["palette"] == {
        "signed": palette.DIVERGING,
        "weights": palette.SEQUENTIAL,
        "bands": palette.CATEGORICAL,
    }
    assert data["limits"] == {"value": MAX_VALUE, "tokens": MAX_TOKENS}


def test_a_learners_text_arrives_letter_by_letter():
    text = "<b>$x$ *y* :red[z] &amp; \\"
    experiment = Experiment.from_preset().with_token_renamed(1, text)

    axes = json.loads(json.dumps(data_of(experiment)))["axes"]

    assert axes["tokens"] == ["我", text, "苹果"]

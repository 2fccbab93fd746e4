"""The lesson on order, used as a learner does: each input does what it says, and no more."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from attention_core import Experiment, Mask, to_plain
from attention_core.permutation import compare
from playground import link
from tests.pages.driver import App

CAT = Experiment.from_preset("cat")  # 猫 追 老鼠


def opened(experiment=CAT, step=None):
    app = App("permutation", e=link.encode(experiment))
    return app if step is None else app.set("permutation.step", step)


def order_of(app):
    """In which order the tokens of PX stand, read from the rows of X they show."""
    names = app.board["axes"]["tokens_moved"]
    return [app.board["axes"]["tokens"].index(name) for name in names]


def move(number, row, to):
    return {"kind": "move", "number": number, "row": row, "to": to}


def found(app):
    (measured,) = [info.value for info in app.test.info]
    return measured


def shown(app):
    return {m["id"]: np.array(m["values"], dtype=float) for m in app.board["matrices"]}


def test_a_row_that_is_carried_changes_the_order_and_not_the_experiment():
    app = opened().send(move(1, 2, 0), move(2, 1, 2))

    assert order_of(app) == [2, 1, 0]
    assert to_plain(app.experiment) == to_plain(CAT)
    compared = compare(CAT, (2, 1, 0))
    np.testing.assert_array_equal(shown(app)["output_reordered"], compared.moved_output)
    np.testing.assert_array_equal(shown(app)["difference"], compared.output_difference)
    assert not app.test.session_state["work"]["past"]
    assert [m["id"] for m in app.board["matrices"] if m.get("sortable")] == ["X_reordered"]
    assert app.board["places"] == {"tokens_moved": [2, 1, 0]}
    app.assert_calm()


def test_buttons_reorder_and_bring_the_own_order_back():
    app = opened()

    assert order_of(app.press("Reverse")) == [2, 1, 0]
    assert order_of(app.press("Own order")) == [0, 1, 2]
    orders = [order_of(app.press("Shuffle")) for _ in range(8)]
    assert all(before != after for before, after in pairwise(orders))
    assert len({tuple(order) for order in orders}) > 2
    again = opened()
    assert [order_of(again.press("Shuffle")) for _ in range(8)] == orders


def test_two_tokens_are_swapped_once_two_are_chosen():
    app = opened()
    (button,) = [b for b in app.test.button if b.label == "Swap them"]
    assert button.disabled

    app.set("permutation.pair", [0, 2]).press("Swap them")

    assert order_of(app) == [2, 1, 0]
    (button,) = [b for b in app.set("permutation.pair", [0]).test.button if b.label == "Swap them"]
    assert button.disabled


def test_the_order_outlives_the_page_and_another_number_of_tokens():
    app = opened().press("Reverse").visit("playground")
    app.send({"kind": "add", "number": 1}).visit("permutation")

    names = app.board["axes"]["tokens_moved"]
    assert names[:3] == ["老鼠", "追", "猫"]
    assert len(names) == 4
    app.visit("playground").send({"kind": "remove", "number": 2, "row": 3}).visit("permutation")
    assert order_of(app) == [2, 1, 0]


@pytest.mark.parametrize(
    "edit",
    [
        move(1, 0, 3),
        move(1, -1, 0),
        move(1, True, 0),
        move(1, "0", 1),
        move(1, 0.0, 1),
        move(1, None, 1),
        move(1, 10**400, 1),
        {"kind": "move", "number": 1, "row": 0},
        {"kind": "move", "number": 1, "to": 0},
    ],
)
def test_a_malformed_move_is_dropped_and_the_next_one_taken(edit):
    app = opened().send(edit, move(2, 0, 1))

    assert order_of(app) == [1, 0, 2]
    app.assert_calm()


def test_weights_are_compared_of_the_head_that_is_chosen():
    e = Experiment.from_preset("random").resized(n_heads=2)
    app = opened(e).press("Reverse").set("permutation.shown", "weights").set("head", 1)

    compared = compare(e, tuple(reversed(range(e.n_tokens))))
    np.testing.assert_array_equal(shown(app)["weights_reordered"], compared.moved_weights[1])
    assert "no more than rounding" in found(app)


def test_a_mask_of_the_side_bar_breaks_it_at_once():
    app = opened().press("Reverse")
    assert "equivariance" in found(app)

    app.set("mask", ["causal"])

    assert "What makes the difference is the causal mask" in found(app)


@pytest.mark.parametrize("step", ["encodings", "search"])
def test_an_encoding_that_is_chosen_is_the_experiments(step):
    app = opened(step=step).set("permutation.encoding", "rotary")

    assert app.experiment.encoding == "rotary"
    assert app.press("Undo").experiment.encoding == "none"


def test_the_table_is_the_same_whatever_is_chosen():
    app = opened(step="encodings")
    (table,) = [text for text in app.markdown() if text.startswith("| Largest")]

    app.set("permutation.encoding", "alibi").set("mask", ["window"])

    (after,) = [text for text in app.markdown() if text.startswith("| Largest")]
    assert after.replace("**", "") == table.replace("**", "")
    app.assert_calm()


def test_an_encoding_is_drawn_beside_what_it_does():
    app = opened(step="encodings").set("permutation.encoding", "sinusoidal")
    assert len(app.figure["data"]) == 1 + CAT.d_model

    app.set("permutation.picture", "effect")
    plain = [trace["y"] for trace in app.figure["data"] if trace["name"] == "X"]
    app.set("permutation.is_scaled", True)

    (scaled,) = [trace["y"] for trace in app.figure["data"] if trace["name"] == "X · √d_model"]
    np.testing.assert_allclose(scaled, np.sqrt(CAT.d_model) * np.array(plain[0]))


def test_heads_are_chosen_where_the_picture_is_that_of_one():
    app = opened(Experiment.from_preset("random").resized(n_heads=2), "encodings")

    def keys():
        return {getattr(element, "key", None) for element in app.test}

    assert "head" not in keys()
    app.set("permutation.encoding", "rotary")
    assert "head" not in keys()
    app.set("permutation.picture", "effect")
    before = [trace["y"] for trace in app.figure["data"] if trace["name"] == "Q"]
    app.set("head", 1)
    assert [trace["y"] for trace in app.figure["data"] if trace["name"] == "Q"] != before
    app.set("permutation.encoding", "alibi")
    assert "head" in keys()


def test_a_search_is_done_once_for_an_experiment():
    app = opened(replace(CAT, encoding="learned"), "search")
    assert "none of them tried yet" in found(app)

    app.press("Try all 6 orders")

    assert "All 6 orders have been tried. Orders that change the output: 5" in found(app)
    result = app.test.session_state["work"]["settings"]["permutation.searched"]
    app.set("permutation.encoding", "none")
    assert "none of them tried yet" in found(app)
    app.set("permutation.encoding", "learned")
    assert "All 6 orders have been tried" in found(app)
    assert app.test.session_state["work"]["settings"]["permutation.searched"] is result
    app.set("permutation.encoding", "none").press("Try all 6 orders")
    assert "none of these orders changes the output" in found(app)


def test_the_order_that_was_found_is_taken_to_the_first_step():
    e = replace(CAT, mask=Mask(("causal",)))
    app = opened(e, "search").press("Try all 6 orders")
    worst = app.test.session_state["work"]["settings"]["permutation.searched"]["found"]

    app.press("Look at this order in the first step")

    assert tuple(order_of(app)) == worst["order"]
    assert f"= {worst['gap']:.3g}, more than rounding" in found(app)


def test_nothing_is_offered_where_no_order_changes_the_output():
    app = opened(step="search").press("Try all 6 orders")

    assert "none of these orders changes the output" in found(app)
    assert not [b for b in app.test.button if b.label.startswith("Look at")]


def test_twelve_tokens_are_searched_in_part_and_said_so():
    e = Experiment.from_preset("random").resized(n_tokens=12)
    app = opened(e, "search").press("Try all 5,040 orders of the first 7 tokens")

    assert "all 479,001,600 would take too long" in found(app)
    app.assert_calm()


@pytest.mark.parametrize("step", ["order", "encodings", "search"])
def test_one_token_is_no_order(step):
    app = opened(CAT.resized(n_tokens=1), step)

    assert "With one token there is one order" in found(app)
    assert not [b for b in app.test.button if b.label.startswith("Try all")]
    app.assert_calm()


@pytest.mark.parametrize("size", [1e6, 1e-300, 0.0])
@pytest.mark.parametrize("step", ["order", "encodings", "search"])
def test_numbers_of_any_size_are_calm(size, step):
    e = Experiment.from_preset("random").resized(n_heads=2)
    e = replace(e, X=np.sign(e.X) * size, W_Q=np.sign(e.W_Q) * size, W_V=np.sign(e.W_V) * size)
    app = opened(replace(e, encoding="rotary"), step)
    if step == "order":
        app.press("Reverse")
    if step == "encodings":
        app.set("permutation.picture", "effect")
    if step == "search":
        app.press(button_of_search(app))

    app.assert_calm()


def button_of_search(app):
    (label,) = [b.label for b in app.test.button if b.label.startswith("Try all")]
    return label


def test_a_width_of_one_cannot_be_turned_and_is_calm():
    app = opened(CAT.resized(d_model=1, d_k=1), "encodings")

    for picture in ("encoding", "effect"):
        app.set("permutation.encoding", "rotary").set("permutation.picture", picture)
        app.assert_calm()

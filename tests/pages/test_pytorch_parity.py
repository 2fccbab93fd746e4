"""The step on parity of the lesson on PyTorch: each input does what it says."""

from dataclasses import replace

import numpy as np
import pytest

from attention_core import Experiment, Mask
from attention_core.neural.parity import parity
from playground import link
from tests.pages.driver import App

MASKED = replace(
    Experiment.from_preset("random").resized(n_tokens=4, d_model=4, d_k=2, n_heads=2),
    mask=Mask(("causal", "padding", "window"), n_padding=3),
)
ROUTES = {
    "multi_head": "MultiHeadAttention",
    "function": "F.scaled_dot_product_attention",
    "torch_layer": "nn.MultiheadAttention",
}


def opened(e):
    return App("pytorch", e=link.encode(e))


def shown(app):
    """The matrices on the board, NaN where it says so."""
    return {
        matrix["id"]: np.array(matrix["values"], dtype=float) for matrix in app.board["matrices"]
    }


def cells(app):
    (table,) = app.test.table
    return table.value.to_numpy().tolist()


def sizes(app):
    """Every number in the table."""
    parts = [part for row in cells(app) for cell in row[1:] for part in cell.split(", ")]
    return [float(part.replace("−", "-")) for part in parts if part not in ("—", "NaN")]


@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.parametrize("head", [0, 1])
def test_the_board_follows_the_route_and_the_head(route, head):
    app = opened(MASKED).set("pytorch.route", route).set("head", head)

    gap = parity(MASKED).passages[route].gaps["weights"]
    np.testing.assert_allclose(shown(app)["theirs"], gap.values[head], rtol=0, atol=1e-14)
    assert ROUTES[route] in {matrix["name"] for matrix in app.board["matrices"]}
    app.assert_calm()


def test_the_first_route_is_pytorchs_own_layer_and_gives_way_where_it_cannot():
    app = opened(MASKED)
    assert np.isnan(shown(app)["theirs"][2:]).all()

    app.set("encoding", "rotary")

    expected = app.experiment.trace().attention.head(0).weights
    np.testing.assert_allclose(shown(app)["theirs"], expected, rtol=0, atol=1e-14)
    app.assert_calm()


def test_in_float32_the_table_tells_larger_differences():
    app = opened(MASKED)
    assert max(sizes(app)) < 1e-12

    app.set("pytorch.precision", "float32")

    gap = parity(MASKED, precision="float32").passages["torch_layer"].gaps["weights"]
    np.testing.assert_array_equal(shown(app)["theirs"], gap.values[0])
    assert 1e-9 < max(sizes(app)) < 1e-5
    app.assert_calm()


def test_the_mask_can_be_left_out_where_there_is_one():
    app = opened(MASKED)
    assert "NaN" in cells(app)[-1][2]

    app.set("pytorch.is_masked", False)

    assert "NaN" not in cells(app)[-1][2]
    expected = replace(MASKED, mask=Mask()).trace().attention.head(0).weights
    np.testing.assert_allclose(shown(app)["numpy"], expected, rtol=0, atol=1e-14)
    assert app.experiment.mask == MASKED.mask
    app.assert_calm()


def test_without_a_mask_there_is_nothing_to_leave_out():
    app = opened(replace(MASKED, mask=Mask()))

    assert [toggle.key for toggle in app.test.toggle if toggle.key == "pytorch.is_masked"] == []

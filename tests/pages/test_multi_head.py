"""The lesson on several heads: each input does what it says."""

import numpy as np
import pytest

from attention_core import Experiment, to_plain
from playground import link
from tests.pages.driver import App

WIDE = Experiment.from_preset("random").resized(n_tokens=4, d_model=6, d_k=3, n_heads=2)


@pytest.fixture
def app():
    return App("multi_head", e=link.encode(WIDE))


def shown(app):
    return {matrix["id"]: np.array(matrix["values"]) for matrix in app.board["matrices"]}


def infos(app):
    return " ".join(info.value for info in app.test.info)


@pytest.mark.parametrize("n_heads", [1, 2, 3, 6])
def test_another_number_of_heads_cuts_the_experiment(app, n_heads):
    app.set("multi_head.count", n_heads)

    assert to_plain(app.experiment) == to_plain(WIDE.with_heads(n_heads))
    assert sum(id.startswith("weights") for id in shown(app)) == n_heads
    assert "108" in " ".join(markdown.value for markdown in app.test.markdown)
    app.assert_calm()


def test_the_cut_can_be_undone(app):
    app.set("multi_head.count", 3).press("Undo")

    assert to_plain(app.experiment) == to_plain(WIDE)


@pytest.mark.parametrize("n_heads", [4, 5])
def test_a_count_that_does_not_divide_the_width_changes_nothing_and_is_explained(app, n_heads):
    app.set("multi_head.count", n_heads)

    assert to_plain(app.experiment) == to_plain(WIDE)
    assert "1, 2, 3, 6" in infos(app)
    app.assert_calm()

    app.set("multi_head.count", 3)
    assert "1, 2, 3, 6" not in infos(app)


def test_a_head_that_is_off_is_missing_in_the_sum(app):
    app.set("multi_head.on.2", [1])

    attention = WIDE.trace().attention
    np.testing.assert_array_equal(shown(app)["kept"], attention.contributions[1])
    app.set("multi_head.on.2", [])
    assert not shown(app)["kept"].any()
    app.assert_calm()


def test_heads_of_another_cut_are_on_although_one_was_off_before(app):
    app.set("multi_head.on.2", [1]).set("multi_head.count", 3)

    assert not shown(app)["lost"].any()
    app.set("multi_head.count", 2)
    np.testing.assert_array_equal(shown(app)["kept"], WIDE.trace().attention.contributions[1])


def test_heads_that_do_not_fill_the_width_can_be_made_to():
    app = App("multi_head", e=link.encode(WIDE.resized(d_k=2)))

    app.set("multi_head.count", 2)

    assert (app.experiment.n_heads, app.experiment.d_k) == (2, 3)


def test_each_projection_can_be_chosen(app):
    app.set("multi_head.step", "fused")
    for letter in "KVQ":
        app.set("multi_head.letter", letter)

        wide = np.hstack(list(getattr(WIDE, f"W_{letter}")))
        np.testing.assert_array_equal(shown(app)["wide_W"], wide)


def test_sizes_of_a_model_are_typed_and_their_shapes_listed(app):
    app.set("multi_head.step", "shapes")
    app.set("multi_head.tokens", 1000).set("multi_head.width", 768).set("multi_head.heads", 12)

    table = next(m.value for m in app.test.markdown if m.value.startswith("|"))
    assert "32 × 12 × 1,000 × 1,000" in table
    app.assert_calm()


def test_sizes_that_do_not_fit_are_explained(app):
    app.set("multi_head.step", "shapes").set("multi_head.heads", 7)

    assert not any(m.value.startswith("|") for m in app.test.markdown)
    assert "1, 2, 4, 8, 16" in infos(app)
    app.assert_calm()


def test_keys_are_shared_down_to_one_pair_for_all():
    e = WIDE.with_heads(6)
    app = App("multi_head", e=link.encode(e)).set("multi_head.step", "grouped")
    for count in (3, 2, 1, 6):
        app.set("multi_head.kv", count)

        expected = e.trace(n_kv_heads=count).attention.output
        np.testing.assert_array_equal(shown(app)["shared"], expected)
    app.assert_calm()


def test_a_sharing_that_no_longer_fits_gives_way(app):
    app.set("multi_head.count", 6).set("multi_head.step", "grouped").set("multi_head.kv", 3)

    app.set("n_heads", 2)

    app.assert_calm()
    assert sum(id.startswith("weights") for id in shown(app)) == 2

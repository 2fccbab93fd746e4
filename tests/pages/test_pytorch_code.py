"""The step on the code of the lesson on PyTorch: the code of each part, and the script."""

import pytest

from attention_core import Experiment
from attention_core.neural import listing
from attention_core.neural.listing import PARTS
from attention_core.program import pytorch_script
from playground import link
from tests.pages.driver import App

TWO = Experiment.from_preset("random").resized(n_tokens=4, d_model=4, d_k=2, n_heads=2)


@pytest.fixture
def app():
    return App("pytorch", e=link.encode(TWO), s="code")


@pytest.mark.parametrize("part", PARTS)
def test_each_part_is_shown_as_it_runs_with_its_shapes(app, part):
    app.set("pytorch.part", part)

    (code,) = app.test.code
    assert code.value.strip() == listing.source(part).strip()
    (table,) = app.test.table
    pieces = listing.run(TWO, part).pieces
    shapes = [" × ".join(map(str, piece.shape)) for piece in pieces]
    assert table.value.to_numpy()[:, -1].tolist() == shapes
    app.assert_calm()


def test_one_head_is_chosen_where_the_layer_has_one(app):
    def told(number):
        said = app.t("pytorch.code.one_head", number=number, n_heads=2)
        return any(said in info.value for info in app.test.info)

    assert told(1)
    app.set("head", 1)
    assert told(2)
    app.set("pytorch.part", "multi_head")
    assert not told(2)
    assert not any(getattr(each, "key", None) == "head" for each in app.test)


def test_the_script_follows_the_experiment(app):
    app.unfold("pytorch.script")
    assert app.test.code[1].value.strip() == pytorch_script(TWO).strip()

    app.set("is_scaled", False)

    assert app.test.code[1].value.strip() == pytorch_script(app.experiment).strip()
    assert not app.experiment.is_scaled

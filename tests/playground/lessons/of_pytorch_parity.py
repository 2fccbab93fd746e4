"""Every exhibit of the step on parity, for tests of all boards."""

from dataclasses import replace

from attention_core import Experiment, Mask
from attention_core.neural.parity import parity
from attention_core.rounding import FLOATS
from playground.lessons import pytorch_parity
from playground.texts import Texts

ONE = Experiment.from_preset()
SEVERAL = Experiment.from_preset("random").resized(n_tokens=4, d_model=5, d_k=2, n_heads=2)
EMPTY = replace(SEVERAL, mask=Mask(("causal", "padding", "window"), n_padding=3))
ALIBI = replace(EMPTY.with_output_projection(True), encoding="alibi")
ROTARY = replace(SEVERAL, encoding="rotary", is_scaled=False)
NOTHING = replace(SEVERAL, X=0 * SEVERAL.X, mask=Mask(("padding",), n_padding=4))
SINGLE = Experiment.from_preset("random").resized(n_tokens=1, d_model=1, d_k=1, n_heads=1)
# Scores of 1e13, of which two in each row are equal.
HUGE = replace(SEVERAL, X=1e4 * SEVERAL.X[[0, 0, 2, 3]], W_Q=1e4 * SEVERAL.W_Q)
ALL = (ONE, SEVERAL, EMPTY, ALIBI, ROTARY, NOTHING, SINGLE, HUGE)


def exhibits():
    t = Texts("en")
    for e in ALL:
        for precision in FLOATS:
            p = parity(e, precision=precision)
            for route in p.possible:
                yield pytorch_parity.board(t, p, route, e.n_heads - 1)

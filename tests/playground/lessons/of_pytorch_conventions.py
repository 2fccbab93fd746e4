"""Every exhibit of the step on conventions, for tests of all boards."""

from attention_core.neural.conventions import CONVENTIONS, shown
from playground.lessons import pytorch_conventions
from playground.texts import Texts
from tests.playground.lessons.of_pytorch_parity import ALL


def exhibits():
    t = Texts("en")
    for e in ALL:
        for convention in CONVENTIONS:
            s = shown(e, convention)
            yield pytorch_conventions.board(t, e, convention, s, e.n_heads - 1)

"""Every exhibit of the lesson on order, for tests of all boards."""

from dataclasses import replace

from attention_core import Experiment, Mask
from attention_core.permutation import compare
from playground.lessons import permutation
from playground.texts import Texts

APPLE = Experiment.from_preset()
REPEATED = Experiment.from_preset("repeated")
SEVERAL = Experiment.from_preset("random").resized(n_tokens=4, d_model=5, d_k=2, n_heads=3)


def exhibits():
    t = Texts("en")
    several = SEVERAL.with_output_projection(True)
    padded = replace(several, mask=Mask(("padding", "causal"), n_padding=4))
    for e, order in (
        (APPLE, (0, 1, 2)),
        (APPLE, (2, 0, 1)),
        (replace(REPEATED, encoding="sinusoidal"), (4, 3, 2, 1, 0)),
        (replace(SEVERAL, encoding="rotary"), (1, 0, 3, 2)),
        (replace(several, encoding="alibi", mask=Mask(("causal",))), (3, 1, 0, 2)),
        (padded, (3, 1, 0, 2)),
        (APPLE.resized(n_tokens=1, d_model=1, d_k=1), (0,)),
    ):
        compared = compare(e, order)
        yield permutation.of_output(t, e, compared)
        for head in range(e.n_heads):
            yield permutation.of_weights(t, e, compared, head)

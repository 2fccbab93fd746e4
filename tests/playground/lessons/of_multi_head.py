"""Every exhibit of the lesson on several heads, for tests of all boards."""

from dataclasses import replace

from attention_core import Experiment
from playground.lessons import multi_head
from playground.texts import Texts


def exhibits():
    t = Texts("en")
    several = Experiment.from_preset("random").resized(d_model=4, d_k=2, n_heads=2)
    masked = replace(several.with_output_projection(True), mask=several.mask.only("causal"))
    for e, on in ((Experiment.from_preset(), [0]), (several, [0, 1]), (masked, [1]), (masked, [])):
        yield multi_head.heads(t, e, e.trace(), on)

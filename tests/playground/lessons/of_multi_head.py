"""Every exhibit of the lesson on several heads, for tests of all boards."""

from dataclasses import replace

from attention_core import Experiment
from playground.lessons import multi_head
from playground.texts import Texts

ONE = Experiment.from_preset()
SEVERAL = Experiment.from_preset("random").resized(d_model=4, d_k=2, n_heads=2)
MASKED = replace(SEVERAL.with_output_projection(True), mask=SEVERAL.mask.only("causal"))
ROTARY = replace(SEVERAL.resized(d_model=4, d_k=1, n_heads=4), encoding="rotary")
POSITIONED = replace(SEVERAL, encoding="sinusoidal")
ALL = (ONE, SEVERAL, MASKED, ROTARY, POSITIONED)


def exhibits():
    t = Texts("en")
    for e in ALL:
        trace = e.trace()
        for on in ([*range(e.n_heads)], [0], []):
            yield multi_head.heads(t, e, trace, on)
        for letter in multi_head.LETTERS:
            yield multi_head.fused(t, e, trace, letter)
        yield multi_head.misviewed(t, e, trace)
        for count in multi_head.kv_options(t, e):
            yield multi_head.grouped(t, e, count)

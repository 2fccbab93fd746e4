"""Every exhibit of the step on a batch, for tests of all boards."""

from dataclasses import replace

from attention_core import Experiment, Mask
from playground.lessons import pytorch_batch
from playground.texts import Texts

DEFAULT = Experiment.from_preset()
SMALLEST = Experiment.from_preset("random").resized(n_tokens=1, d_model=1, d_k=1, n_heads=1)
LARGEST = Experiment.from_preset("random").resized(n_tokens=12, d_model=8, d_k=8, n_heads=8)
SEVERAL = Experiment.from_preset("random").resized(n_tokens=5, d_model=4, d_k=2, n_heads=2)
PROJECTED = replace(SEVERAL.with_output_projection(True), encoding="sinusoidal")
CAUSAL = replace(SEVERAL, mask=Mask(("causal",)), encoding="alibi")
WINDOW = replace(SEVERAL, mask=Mask(("window", "padding", "painted"), before=0, after=1))
ROTARY = replace(SEVERAL, encoding="rotary")
EXPERIMENTS = (DEFAULT, SMALLEST, LARGEST, SEVERAL, PROJECTED, CAUSAL, WINDOW, ROTARY)


def all_compared(e):
    lines = [pytorch_batch.own_lines(e), [("a", "b"), ("c", "d")], [("one",)]]
    for each in lines:
        for is_masked in (True, False):
            yield pytorch_batch.compared(e, each, is_masked=is_masked)


def exhibits():
    t = Texts("en")
    for e in EXPERIMENTS:
        for compared in all_compared(e):
            for index in (0, len(compared.sentences) - 1):
                yield pytorch_batch.exhibit(t, compared, index, e.n_heads - 1)

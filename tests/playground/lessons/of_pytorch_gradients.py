"""Every exhibit of the step on gradients, for tests of all boards."""

from dataclasses import replace

from attention_core import Experiment, Mask
from playground.lessons import pytorch_gradients
from playground.texts import Texts

DEFAULT = Experiment.from_preset()
SMALLEST = Experiment.from_preset("random").resized(n_tokens=1, d_model=1, d_k=1, n_heads=1)
LARGEST = Experiment.from_preset("random").resized(n_tokens=12, d_model=8, d_k=8, n_heads=8)
SEVERAL = Experiment.from_preset("random").resized(n_tokens=5, d_model=4, d_k=2, n_heads=2)
PROJECTED = replace(SEVERAL.with_output_projection(True), encoding="sinusoidal")
CAUSAL = replace(SEVERAL, mask=Mask(("causal",)), encoding="alibi")
ALONE = replace(PROJECTED, mask=Mask(("window",), before=0, after=0))
EMPTY = replace(PROJECTED, mask=Mask(("padding",), n_padding=5))
ZERO = replace(PROJECTED, X=0 * PROJECTED.X, encoding="none")
EXPERIMENTS = (DEFAULT, SMALLEST, LARGEST, SEVERAL, PROJECTED, CAUSAL, ALONE, EMPTY, ZERO)


def all_measured(e):
    """The first and the last number of the output, with the first and the last head."""
    n_rows, n_columns = e.trace().attention.output.shape
    yield pytorch_gradients.measured(e, 0, 0, 0)
    yield pytorch_gradients.measured(e, n_rows - 1, n_columns - 1, e.n_heads - 1)
    yield pytorch_gradients.measured(e, n_rows - 1, 0, e.n_heads - 1)


def exhibits():
    t = Texts("en")
    for e in EXPERIMENTS:
        for measured in all_measured(e):
            yield pytorch_gradients.exhibit(t, e, e.trace(), measured)

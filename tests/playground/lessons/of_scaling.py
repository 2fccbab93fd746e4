"""Every exhibit of the lesson on scaling and softmax, for tests of all boards."""

from dataclasses import replace

from attention_core import Experiment, Mask
from playground.lessons import scaling
from playground.texts import Texts

_START = Experiment.from_preset("random").resized(n_tokens=4, d_model=5, d_k=3, n_heads=2)

EXPERIMENTS = {
    "apple": Experiment.from_preset("apple"),
    "random": _START,
    "masked": replace(_START, mask=Mask(("causal",)), is_scaled=False),
    "alibi": replace(_START, encoding="alibi"),
    "some_rows_empty": replace(_START, mask=Mask(("causal", "padding", "window"), n_padding=2)),
    "large": _START.resized(n_tokens=9, n_heads=1),
    "nobody": replace(_START, mask=Mask(("padding",), n_padding=4)),
}


def exhibits():
    t = Texts("en")
    for e in EXPERIMENTS.values():
        trace = e.trace().attention.head(e.n_heads - 1)
        for factor in (0.0, 0.5, 100.0):
            yield scaling.factored(t, e, trace, factor)
        for token, precision, offset in (
            (0, "float16", 0),
            (1, "float16", 12),
            (2, "float64", -750),
        ):
            both = scaling.both_ways(trace, token, precision, offset)
            if both is not None:
                yield scaling.stable(t, e, token, both)
        yield scaling.both_axes(t, e, trace)
        for shift in scaling.shifts(e, e.n_heads - 1, 3, 1).values():
            yield scaling.shift_exhibit(t, e, shift)

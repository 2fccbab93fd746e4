"""Every exhibit of the lesson on masks, for tests of all boards."""

from dataclasses import replace

from attention_core import Experiment, Mask
from attention_core.cache import growth
from attention_core.crossing import as_one_sequence, cross_attention
from attention_core.leaks import LEAKS, probes
from attention_core.patterns import Pattern
from attention_core.spellings import PRECISIONS
from playground.lessons import mask_leaks, mask_spellings, mask_splits, masks
from playground.texts import Texts

SMALLEST = Experiment.from_preset("random").resized(n_tokens=1, d_model=1, d_k=1, n_heads=1)
SEVERAL = replace(
    Experiment.from_preset("random", seed=2).resized(n_heads=2, d_k=2).with_output_projection(True),
    mask=Mask(("causal", "padding", "painted"), painted=((3, 0, False), (0, 3, True))),
    encoding="alibi",
)
EMPTY_ROW = Experiment.from_preset("cat").with_painted([(1, key) for key in range(3)], False)
LARGE = Experiment.from_preset("cat").with_cell("X", (0, 0), 1e6)
LONG = Experiment.from_preset("random").resized(n_tokens=12)
EXPERIMENTS = (Experiment.from_preset(), SMALLEST, SEVERAL, EMPTY_ROW, LARGE)


def exhibits():
    t = Texts("en")
    long = mask_spellings.spelt(LONG, LONG.trace(), 0, "float32", is_emptied=True)
    yield mask_spellings.spellings(t, LONG, long)
    yield mask_splits.cache(t, LONG, growth(LONG, 0, is_causal=True))
    for e in EXPERIMENTS:
        trace = e.trace()
        for chosen in (Pattern(), Pattern(("causal",)), Pattern(("bigbird", "hashed"), how="or")):
            yield masks.patterns(t, e, trace, 0, chosen)
            laid = chosen.laid(e)
            yield masks.patterns(t, laid, laid.trace(), 0, chosen)
        for precision in PRECISIONS:
            for is_emptied in (False, True):
                spelt = mask_spellings.spelt(e, trace, 0, precision, is_emptied=is_emptied)
                yield mask_spellings.spellings(t, e, spelt)
        yield mask_spellings.polarity(t, e, trace, 0)
        for leak in LEAKS:
            right, broken = probes(e, trace.attention, 0, e.n_tokens - 1, leak)
            yield mask_leaks.leaks(t, e, right, broken, e.n_tokens - 1, leak)
        for n_source in range(1, e.n_tokens):
            two, one = cross_attention(e, 0, n_source), as_one_sequence(e, 0, n_source)
            yield mask_splits.cross(t, e, two, one)
        for is_causal in (True, False):
            yield mask_splits.cache(t, e, growth(e, 0, is_causal=is_causal))

"""Every exhibit of the step that fits weights to a pattern, for tests of all boards."""

from dataclasses import replace

import numpy as np

from attention_core import Experiment
from attention_core.neural.fitting import fit, pattern
from playground.lessons import pytorch_fit
from playground.texts import Texts

CAT = Experiment.from_preset("cat")
REPEATED = Experiment.from_preset("repeated")
CAUSAL = replace(CAT, mask=CAT.mask.only("causal"))
SEVERAL = replace(Experiment.from_preset("random").resized(n_heads=2, d_k=3), encoding="rotary")
EMPTY = CAT.with_painted([(0, 0), (0, 1), (0, 2)], False)


def everything(e):
    return np.ones((e.n_tokens, e.n_tokens), dtype=bool)


def exhibits():
    t = Texts("en")
    for e in (CAT, REPEATED, CAUSAL, SEVERAL, EMPTY):
        head = e.n_heads - 1
        for target in (
            pattern("previous", everything(e)),
            pattern("uniform", e.mask.allowed(e.n_tokens)),
            pattern("painted", everything(e), [(0, 0), (0, 2), (1, 1)]),
            pattern("painted", everything(e)),
        ):
            yield pytorch_fit.fitted(t, e, head, target, is_paintable=True)
    course = fit(CAT, 0, pattern("first", everything(CAT)), learning_rate=0.1, n_steps=20)
    for moment in course.moments[::10]:
        yield pytorch_fit.fitted(t, course.at(moment), 0, course.target, is_running=True)

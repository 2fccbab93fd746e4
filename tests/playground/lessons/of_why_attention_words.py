"""Every exhibit of the step on query, key and value in words, for tests of all boards."""

from attention_core import Experiment
from playground.lessons import why_words
from playground.texts import Texts


def exhibits():
    t = Texts("en")
    for name in why_words.examples(t):
        e = Experiment.from_preset(name)
        for asker in why_words.askers(t, e):
            yield why_words.words(t, e, e.trace(), asker)

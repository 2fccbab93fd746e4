"""A small training that many tests of the lesson on trained attention look at, made once."""

from functools import cache

from attention_core.neural.sentiment.grammar import Templates
from attention_core.neural.sentiment.model import Architecture
from attention_core.neural.sentiment.training import Recipe
from playground import running
from playground.lessons import sentiment
from playground.lessons.sentiment import Plan
from tests.pages.jobs import finished

SOURCES = {
    language: Templates(language, n_words=4, n_train=120, n_validation=40)
    for language in ("en", "zh")
}
ARCHITECTURES = (
    Architecture("bag", embed_dim=8),
    Architecture("lstm", embed_dim=8, hidden=8),
    Architecture("lstm_attention", embed_dim=8, hidden=8, n_heads=2),
    Architecture("attention", embed_dim=16),
)


@cache
def training(language="en", architectures=ARCHITECTURES, n_epochs=3, n_seeds=1):
    """The training of these models on a few sentences; less than a second."""
    recipe = Recipe(learning_rate=0.02, n_epochs=n_epochs, batch_size=16)
    plan = Plan(SOURCES[language], architectures, recipe, tuple(range(n_seeds)))
    return sentiment.work(plan)(lambda done, shown=None: None)


def with_training(app, result=None):
    """The app of a learner who has trained these models."""
    owner = app.test.session_state["work"]["id"]
    given = training() if result is None else result
    running._JOBS.start(owner, sentiment.TRAIN, lambda tell: given)
    return finished(app, sentiment.TRAIN)

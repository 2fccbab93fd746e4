"""Every exhibit of the step that looks at a sentence, for tests of all boards."""

from attention_core.neural.sentiment.model import Architecture
from playground.lessons import sentiment, sentiment_look
from playground.texts import Texts
from tests.sentiment import training

BAGS = tuple(Architecture("bag", embed_dim=4, pooling=how) for how in ("max", "last"))
SENTENCES = (
    "good",
    "The plot is good, but the plot is dull.",
    "What? 👩‍👩‍👧 **bold** $x$ <b>",
    "the plot is good although the acting is not so good and the ending is dull",
)


def every_model():
    yield from sentiment.choices(training()).values()
    for bag in BAGS:
        yield from sentiment.choices(training(architectures=(bag,))).values()


def exhibits():
    t = Texts("en")
    for trained in every_model():
        for text in SENTENCES:
            for index in range(len(trained.run.states)):
                look = sentiment_look.look(trained, text, index)
                heads = range(look.n_heads + 1) if look.n_heads > 1 else [0]
                if sentiment_look.is_on_board(look):
                    yield from (sentiment_look.exhibit(t, look, head) for head in heads)

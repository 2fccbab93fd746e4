"""Attention trained on sentences, live, and cross-examined."""

from playground import lesson, shell
from playground.steps import (
    sentiment_errors,
    sentiment_examine,
    sentiment_look,
    sentiment_texts,
    sentiment_train,
    sentiment_warmup,
    sentiment_weights,
)

t = shell.open_page(has_board=True)

lesson.page(
    t,
    "sentiment",
    {
        "texts": lesson.with_torch(sentiment_texts.draw),
        "train": lesson.with_torch(sentiment_train.draw),
        "look": lesson.with_torch(sentiment_look.draw),
        "errors": lesson.with_torch(sentiment_errors.draw),
        "examine": lesson.with_torch(sentiment_examine.draw),
        "warmup": lesson.with_torch(sentiment_warmup.draw),
        "weights": lesson.with_torch(sentiment_weights.draw),
    },
)

"""Attention without an LSTM whose weights are set by hand, so that what explains it is known.

A word has a level from 0 to 4 and a sign. Every token attends to each by 2^level, so a word of the
highest level outweighs all below it, and the answer is its sign: words of lower levels, however
many, are outvoted by it and would outvote it with equal weights.
"""

import itertools
import random

import torch

from attention_core.neural.sentiment.model import Architecture, TextClassifier

LEVELS, SIGNS = range(5), (1, -1)
WORDS = {word: number for number, word in enumerate(itertools.product(LEVELS, SIGNS), start=2)}
_FAR = 100.0  # the embeddings are so long that the positions, added to them, do not matter
_LEVEL, _SIGN, _ALWAYS = 0, 1, 2  # features


def sentences(n, *, seed=0):
    """Numbers of tokens, one word of each level in drawn order with drawn signs; and labels."""
    rng = random.Random(seed)
    drawn = [
        [(level, rng.choice(SIGNS)) for level in rng.sample(LEVELS, len(LEVELS))] for _ in range(n)
    ]
    labels = [int(max(words)[1] > 0) for words in drawn]
    return [[WORDS[word] for word in words] for words in drawn], labels


def explained():
    """Attention is all there is: its weights are why it answers as it does."""
    return _model(is_residual=False, values=1.0)


def unmoved():
    """It attends in the same way, but what is attended to adds nothing: the residual answers."""
    return _model(is_residual=True, values=0.0)


def _model(*, is_residual, values):
    architecture = Architecture("attention", embed_dim=4, is_residual=is_residual, dropout=0)
    model = TextClassifier(architecture, len(WORDS) + 2).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.zero_()
        for (level, sign), number in WORDS.items():
            model.embedding.weight[number] = _FAR * torch.tensor([level, sign, 1.0, 0.0])
        # Divided by √4, the score of a word is level · ln 2.
        model.attention.query.weight[0, _ALWAYS] = 2 * torch.log(torch.tensor(2.0)) / _FAR
        model.attention.key.weight[0, _LEVEL] = 1 / _FAR
        model.attention.value.weight[_SIGN, _SIGN] = values
        model.head.weight[0, _SIGN] = 4 / _FAR
    return model

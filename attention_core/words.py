"""Words that a learner brings along, and the vectors they get.

A word that nobody gave a vector gets one from a digest of the seed and the word, in integer
arithmetic throughout: the same numbers on every machine and in every version.

    column j = (bytes 4j to 4j+3 of SHA-256 · 301 >> 32 - 150) / 100
"""

import hashlib
import unicodedata
from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from attention_core.arrays import FloatArray, frozen
from attention_core.canvas import MAX_D_MODEL, MAX_SEED, MAX_TOKENS, check_count
from attention_core.experiment import Experiment

_REACH = 150  # hundredths: as far from 0 as the numbers that a canvas draws for X
_VERSION = "attention playground, word 1"  # part of what is digested


def embedding(word: str, seed: int, width: int = MAX_D_MODEL) -> FloatArray:
    """(width,): the vector of a word that nobody gave one.

    Two decimals from -1.5 to 1.5, all equally likely. A column does not depend on the width,
    and texts that Unicode holds for the same (é and e with an accent put on) get the same.

    Args:
        word: Any text.
        seed: Another seed, another vector.
        width: How many numbers, 1 to 8.

    Raises:
        RangeError: The seed or the width is outside its limits.
    """
    check_count("seed", seed, 0, MAX_SEED)
    check_count("width", width, 1, MAX_D_MODEL)
    # The seed cannot hold a line break, so no two pairs of seed and word are digested alike.
    text = f"{_VERSION}\n{seed:d}\n{_normal(word)}"
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
    draws = [int.from_bytes(digest[start : start + 4], "big") for start in range(0, 4 * width, 4)]
    hundredths = [(draw * (2 * _REACH + 1) >> 32) - _REACH for draw in draws]
    numbers: FloatArray = frozen(np.array([number / 100 for number in hundredths]))
    return numbers


def with_words(experiment: Experiment, words: Iterable[str]) -> Experiment:
    """The experiment with these tokens in place of its own; weights and settings stay.

    A word that is shown already keeps its vector, the first one if it is shown twice; a new one
    gets its `embedding` over the whole width of the canvas, so that widening shows more of it.
    Where no word is kept, the columns lose their names, which would describe nothing.

    Args:
        experiment: Where the vectors of known words and the seed come from.
        words: 1 to 12; repeated ones are fine, and get equal vectors.

    Raises:
        RangeError: There is no word, or there are more than 12.
        TokenError: A word cannot be shown.
    """
    words = tuple(words)
    n_tokens = check_count("n_tokens", len(words), 1, MAX_TOKENS)
    canvas = experiment.canvas
    known: dict[str, FloatArray] = {}
    for token, row in zip(experiment.tokens, canvas.X, strict=False):
        known.setdefault(_normal(token), row)
    keys = [_normal(word) for word in words]
    rows = [known[key] if key in known else embedding(key, experiment.seed) for key in keys]
    names = canvas.feature_names
    canvas = replace(
        canvas,
        tokens=(*words, *canvas.tokens[n_tokens:]),
        feature_names=names if known.keys() & set(keys) else ("",) * len(names),
        X=frozen(np.vstack([*rows, canvas.X[n_tokens:]])),
    )
    sizes = experiment.sizes._replace(n_tokens=n_tokens)
    return experiment.showing(canvas, sizes, has_W_O=experiment.W_O is not None)


def _normal(word: str) -> str:
    """The composed form, which Unicode promises never to change for a text it knows."""
    return unicodedata.normalize("NFC", word)

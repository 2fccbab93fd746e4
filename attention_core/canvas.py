"""The canvas behind an experiment: all numbers and names at the largest size, shown or not.

An experiment shows its upper left part. What was never touched is drawn from the seed and its
place, so it is the same for every learner.
"""

from dataclasses import dataclass
from functools import lru_cache
from operator import index
from typing import NamedTuple

import numpy as np

from attention_core import positions
from attention_core.arrays import FloatArray, frozen
from attention_core.errors import RangeError

MAX_TOKENS, MAX_D_MODEL, MAX_D_K, MAX_HEADS = 12, 8, 8, 8
MAX_SEED = 2**32 - 1

MATRICES = ("X", "W_Q", "W_K", "W_V", "W_O")


class Sizes(NamedTuple):
    """How much of the canvas is shown."""

    n_tokens: int
    d_model: int
    d_k: int
    n_heads: int

    def check(self) -> None:
        """Raise RangeError unless every size is from 1 to its limit."""
        limits = (MAX_TOKENS, MAX_D_MODEL, MAX_D_K, MAX_HEADS)
        for name, size, most in zip(self._fields, self, limits, strict=True):
            check_count(name, size, 1, most)


@dataclass(frozen=True, eq=False, slots=True)
class Canvas:
    """Names and read-only arrays at the largest size."""

    tokens: tuple[str, ...]  # (12,)
    feature_names: tuple[str, ...]  # (8,), "" for a feature without a name
    X: FloatArray  # (12, 8)
    W_Q: FloatArray  # (8 heads, 8 d_model, 8 d_k)
    W_K: FloatArray  # (8, 8, 8)
    W_V: FloatArray  # (8, 8, 8)
    W_O: FloatArray  # (8 heads, 8 d_k, 8 d_model)

    def shown(self, sizes: Sizes) -> dict[str, tuple[str, ...] | FloatArray]:
        """The part that an experiment of this size shows, by field name."""
        n, m, k, h = sizes
        return {
            "tokens": self.tokens[:n],
            "feature_names": self.feature_names[:m],
            "X": self.X[:n, :m],
            "W_Q": self.W_Q[:h, :m, :k],
            "W_K": self.W_K[:h, :m, :k],
            "W_V": self.W_V[:h, :m, :k],
            "W_O": self.W_O[:h, :k, :m].reshape(h * k, m),
        }

    def pasted(
        self,
        tokens: tuple[str, ...],
        feature_names: tuple[str, ...],
        X: FloatArray,
        W_Q: FloatArray,
        W_K: FloatArray,
        W_V: FloatArray,
        W_O: FloatArray | None,
    ) -> "Canvas":
        """This canvas with a shown part written over it; None keeps what is there."""
        (n, m), (h, _, k) = X.shape, W_Q.shape
        arrays = {name: getattr(self, name).copy() for name in MATRICES}
        arrays["X"][:n, :m] = X
        for name, shown in (("W_Q", W_Q), ("W_K", W_K), ("W_V", W_V)):
            arrays[name][:h, :m, :k] = shown
        if W_O is not None:
            arrays["W_O"][:h, :k, :m] = W_O.reshape(h, k, m)
        return Canvas(
            (*tokens, *self.tokens[n:]),
            (*(feature_names or ("",) * m), *self.feature_names[m:]),
            **{name: frozen(array) for name, array in arrays.items()},
        )


@lru_cache(maxsize=64)
def drawn(seed: int) -> Canvas:
    """The canvas on which every number comes from the seed and its place.

    Two decimals, so that they can be read and retyped; uniform, and small enough that the
    softmax of an untouched experiment is neither flat nor one-hot.
    """

    def draw(stream: int, shape: tuple[int, ...], reach: float) -> FloatArray:
        rng = np.random.default_rng([seed, stream])
        numbers: FloatArray = frozen(rng.uniform(-reach, reach, shape).round(2) + 0.0)
        return numbers

    per_head = (MAX_HEADS, MAX_D_MODEL, MAX_D_K)
    return Canvas(
        tuple(f"t{i + 1}" for i in range(MAX_TOKENS)),
        ("",) * MAX_D_MODEL,
        draw(0, (MAX_TOKENS, MAX_D_MODEL), 1.5),
        draw(1, per_head, 1.0),
        draw(2, per_head, 1.0),
        draw(3, per_head, 1.0),
        draw(4, (MAX_HEADS, MAX_D_K, MAX_D_MODEL), 1.0),
    )


@lru_cache(maxsize=64)
def learned_positions(seed: int) -> FloatArray:
    """(12, 8): the learned position table of this seed at the largest size."""
    rng = np.random.default_rng([seed, 5])
    table: FloatArray = frozen(positions.learned(MAX_TOKENS, MAX_D_MODEL, rng))
    return table


def check_count(name: str, value: int, low: int, high: int) -> int:
    """The value as a plain int, or RangeError if it lies outside."""
    if not low <= value <= high:
        raise RangeError(name, value, low, high)
    return index(value)

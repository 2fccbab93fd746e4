"""A message along a row, or all at one table: how an RNN and attention link n tokens.

    RNN         h_i = tanh(x_i W + h_(i-1) U), one token after the other
    attention   softmax(Q Kᵀ / √d) V, all pairs at once

                steps   longest path   links   multiply-adds
    RNN         n       n - 1          n - 1   2 n d² for W and U
    attention   1       1              n² - n  3 n d² for Q, K and V, and 2 n² d for the pairs

A step is what all tokens can do at the same time; a path is counted in passes from one token to
another, and a link is one of these passes; both models let a token hear itself, too. Of attention
this is one layer with one head as wide as the tokens, no mask and no output projection. Source:
Vaswani et al. 2017, "Attention Is All You Need", section 4 and table 1, which leaves out constants
and the projections: n d² against n² d.
"""

from dataclasses import dataclass
from itertools import count
from typing import Literal, TypeAlias, get_args

import numpy as np
import numpy.typing as npt

from attention_core.arrays import as_bools, check_counts
from attention_core.cost import Sizes, cost
from attention_core.errors import ChoiceError, RangeError, ShapeError

Model: TypeAlias = Literal["rnn", "attention"]
MODELS: tuple[Model, ...] = get_args(Model)

Link: TypeAlias = tuple[int, int]
"""From which token to which."""


@dataclass(frozen=True, slots=True)
class Linking:
    """What it takes to link so many tokens, in exact whole numbers."""

    steps: int  # one after the other
    longest_path: int  # passes from the first token to the last
    links: int  # from a token straight to another one
    of_weights: int  # multiply-adds with weight matrices
    of_pairs: int  # and for scores and mixing

    @property
    def multiply_adds(self) -> int:
        """All of them."""
        return self.of_weights + self.of_pairs


def linking(model: Model, n_tokens: int, d_model: int) -> Linking:
    """What a model needs for so many tokens of this width.

    Raises:
        ChoiceError: No such model.
        RangeError: A count is below 1.
    """
    check_counts(1, n_tokens=n_tokens, d_model=d_model)
    n, d, others = n_tokens, d_model, n_tokens - 1
    if model == "rnn":
        return Linking(n, others, others, n * (d * d + d * d), 0)
    if model == "attention":
        dense = cost("dense", n, Sizes(), d_k=d, d_v=d)
        return Linking(1, min(1, others), dense.pairs - n, 3 * n * d * d, dense.multiply_adds)
    raise ChoiceError("model", model, MODELS)


def crossover(d_model: int) -> int:
    """The fewest tokens whose pairs alone need more multiply-adds than all of the RNN.

    Raises:
        RangeError: The width is below 1.
    """
    return next(
        n
        for n in count(1)
        if linking("attention", n, d_model).of_pairs > linking("rnn", n, d_model).multiply_adds
    )


# --- the events, one moment after the other


@dataclass(frozen=True, slots=True)
class Moment:
    """One step of time, and where one token's message is after it."""

    links: tuple[Link, ...]  # what is passed at this step
    has_it: tuple[bool, ...]  # for each token whether it has the message
    at: tuple[int, ...]  # where the copies are that were passed last


def relayed(n_tokens: int, source: int) -> tuple[Moment, ...]:
    """An RNN: at step i token i passes to the next one all that it has heard, and its own.

    Args:
        n_tokens: How many stand in the row.
        source: Whose message is followed; nobody before it hears of it.

    Returns:
        n_tokens moments; the first one is before anything is passed.

    Raises:
        RangeError: There is no token, or none at `source`.
    """
    _check_source(n_tokens, source)
    moments = []
    for step in range(n_tokens):
        holder = max(step, source)
        passed = ((step - 1, step),) if step else ()
        has_it = tuple(source <= token <= holder for token in range(n_tokens))
        moments.append(Moment(passed, has_it, (holder,)))
    return tuple(moments)


def gathered(allowed: npt.ArrayLike, source: int) -> tuple[Moment, Moment]:
    """Attention: at the one step each token hears all those that it may attend to.

    Args:
        allowed: (n_tokens, n_tokens), True where a query (row) may attend to a key (column).
        source: Whose message is followed.

    Returns:
        The moment before, and the one after. A link goes from a key to a query.

    Raises:
        DtypeError, ShapeError: `allowed` is no square of booleans.
        RangeError: There is no token, or none at `source`.
    """
    mask = as_bools("allowed", allowed)
    if mask.ndim != 2 or mask.shape[0] != mask.shape[1]:
        raise ShapeError("allowed", ("n_tokens", "n_tokens"), mask.shape)
    n_tokens = len(mask)
    _check_source(n_tokens, source)
    links = tuple((int(key), int(query)) for query, key in np.argwhere(mask))
    is_source = tuple(token == source for token in range(n_tokens))
    has_it = tuple(
        own or bool(hears) for own, hears in zip(is_source, mask[:, source], strict=True)
    )
    reached = tuple(token for token, has in enumerate(has_it) if has)
    return (
        Moment((), is_source, (source,) * len(reached)),  # a copy for each that will have it
        Moment(links, has_it, reached),
    )


def _check_source(n_tokens: int, source: int) -> None:
    check_counts(1, n_tokens=n_tokens)
    if not 0 <= source < n_tokens:
        raise RangeError("source", source, 0, n_tokens - 1)

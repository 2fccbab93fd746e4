"""Patterns of sparse attention, laid onto an experiment as its mask.

Where the mask's own rules can say a pattern, it becomes those rules, which still hold when a token
comes or goes. Else each cell that it forbids is painted.
Sources: see `masks`.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias, get_args

import numpy as np
import numpy.typing as npt

from attention_core import masks
from attention_core.arrays import BoolArray
from attention_core.errors import ChoiceError
from attention_core.experiment import Experiment, Mask

Kind: TypeAlias = Literal["causal", "padding", "window", "bigbird", "hashed"]
KINDS: tuple[Kind, ...] = get_args(Kind)
Rule: TypeAlias = Literal["causal", "padding", "window"]
_RULES: tuple[Rule, ...] = get_args(Rule)  # what the mask of an experiment can say by itself


@dataclass(frozen=True, slots=True)
class Pattern:
    """Who should see whom: one kind or several, with their sizes."""

    kinds: tuple[Kind, ...] = ()
    how: Literal["and", "or"] = "and"
    n_padding: int = 1
    before: int = 1  # of the windows, that of BigBird too
    after: int = 1
    n_global: int = 1
    n_random: int = 1
    n_buckets: int = 4
    n_rounds: int = 2
    draw: int = 0  # which draw of random keys and projections

    def __post_init__(self) -> None:
        for kind in self.kinds:
            if kind not in KINDS:
                raise ChoiceError("pattern", kind, KINDS)

    def allowed(self, e: Experiment) -> BoolArray:
        """(n_tokens, n_tokens), True = may attend; everything where no kind is chosen."""
        n = e.n_tokens
        built: dict[Kind, Callable[[], BoolArray]] = {
            "causal": lambda: masks.causal(n),
            "padding": lambda: masks.padding(np.arange(n) < n - self.n_padding),
            "window": lambda: masks.window(n, self.before, self.after),
            "bigbird": lambda: self._bigbird(e),
            "hashed": lambda: masks.hash_buckets(self.buckets(e)),
        }
        if not self.kinds:
            return np.ones((n, n), dtype=bool)
        combined = masks.combine(*(built[kind]() for kind in self.kinds), how=self.how)
        return np.broadcast_to(combined, (n, n))

    def _bigbird(self, e: Experiment) -> BoolArray:
        """Global tokens, a window, and for each query random keys that it does not see anyway."""
        n = e.n_tokens
        hubs, near = masks.global_tokens(n, self.n_global), masks.window(n, self.before, self.after)
        seen = masks.combine(hubs, near, how="or")
        drawn = masks.random_keys(n, self.n_random, rng=self._rng(e, 0), beside=seen)
        return masks.combine(seen, drawn, how="or")

    def buckets(self, e: Experiment) -> npt.NDArray[np.int64]:
        """(n_rounds, n_tokens): the bucket of each token vector in each round."""
        return masks.buckets(e.X, self.n_buckets, self.n_rounds, rng=self._rng(e, 1))

    def laid(self, e: Experiment) -> Experiment:
        """The experiment with this pattern as its mask, and nothing painted beside it."""
        rules = tuple(kind for kind in _RULES if kind in self.kinds)
        if len(rules) < len(self.kinds) or (self.how == "or" and len(rules) > 1):
            forbidden = np.argwhere(~self.allowed(e)).tolist()
            cells = tuple((query, key, False) for query, key in forbidden)
            return replace(e, mask=replace(e.mask, kinds=("painted",), painted=cells))
        sizes: dict[str, int] = {}
        if "padding" in rules:
            sizes["n_padding"] = self.n_padding
        if "window" in rules:
            sizes |= {"before": self.before, "after": self.after}
        return replace(e, mask=replace(e.mask, kinds=rules, painted=(), **sizes))

    def differs(self, e: Experiment) -> BoolArray:
        """(n_tokens, n_tokens): where the mask of the experiment is not this pattern."""
        different: BoolArray = e.mask.allowed(e.n_tokens) != self.allowed(e)
        return different

    def _rng(self, e: Experiment, stream: int) -> np.random.Generator:
        return np.random.default_rng([e.seed, self.draw, stream])


def pattern_of(mask: Mask) -> Pattern:
    """The pattern that the rules of a mask say, its painted cells left out."""
    kinds = tuple(kind for kind in _RULES if kind in mask.kinds)
    return Pattern(kinds, n_padding=mask.n_padding, before=mask.before, after=mask.after)


def forbidding(e: Experiment) -> tuple[BoolArray, bool]:
    """A mask to look at: that of the experiment, or causal where it forbids nothing.

    Returns:
        (n_tokens, n_tokens), True = may attend; and whether it is that of the experiment.
    """
    own = e.mask.allowed(e.n_tokens)
    return (masks.causal(e.n_tokens), False) if own.all() else (own, True)

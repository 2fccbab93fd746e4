"""Layers of attention: the output becomes the X of the next layer, with or without adding X.

    X_{l+1} = Attention_l(X_l)          without the residual
    X_{l+1} = X_l + Attention_l(X_l)    with it

What is added is X alone, never X + positions: positions help a layer to look and are put in
anew in each, as DETR does for its queries and keys (Carion et al. 2020, section 3.2); the
Universal Transformer, whose layers share their weights as those here do until one is edited,
also carries them along (Dehghani et al. 2019, section 2.1). Residual: He et al. 2016, "Deep
Residual Learning", equation 1. A whole transformer also normalizes and has an MLP per layer.

Axes: n_depths, the matrices X from the first layer's to the current one's; one more than the
layers that were left behind.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import takewhile

import numpy as np
import numpy.typing as npt

from attention_core.arrays import BoolArray, FloatArray
from attention_core.errors import RangeError, WidthError
from attention_core.experiment import Experiment


@dataclass(frozen=True, eq=False, slots=True)
class Layer:
    """One layer that was run, and whose result became the X of the next."""

    experiment: Experiment
    is_residual: bool  # whether its X was added to its output


@dataclass(frozen=True, eq=False, slots=True)
class StackTrace:
    """What every layer reads, from the first to the current one."""

    X: FloatArray  # (n_depths, n_tokens, d_model)
    reach: BoolArray  # (n_depths, n_tokens, n_tokens)  may row i hold something of first X row j?
    spread: FloatArray  # (n_depths,)  how different the rows of X are; 0 = all alike

    @property
    def n_depths(self) -> int:
        return len(self.spread)

    @property
    def arrival(self) -> npt.NDArray[np.int_]:
        """(n_tokens, n_tokens): after how many layers row i heard from token j for good.

        -1 where the current X holds nothing of it.
        """
        kept = np.cumprod(self.reach[::-1], axis=0, dtype=int).sum(axis=0)
        arrival: npt.NDArray[np.int_] = np.where(kept > 0, self.n_depths - kept, -1)
        return arrival


def stacked(experiment: Experiment, *, is_residual: bool) -> Experiment:
    """The next layer: this experiment with its output, or X + output, as X.

    The columns keep their names if they still mean the same: W_O writes the output back in the
    features of X, and adding X keeps them. Else they are the dimensions of the heads, unnamed.

    Raises:
        WidthError: The output is not as wide as X.
        RangeError: A number would be larger than an experiment may hold.
    """
    check_width(experiment)
    output = experiment.trace().attention.output
    X = experiment.X + output if is_residual else output
    means_the_same = is_residual or experiment.W_O is not None
    names = experiment.feature_names if means_the_same else ()
    return replace(experiment, X=X, feature_names=names)


def check_width(experiment: Experiment) -> None:
    """Raise WidthError unless the output is as wide as X."""
    n_heads, d_k, d_model = experiment.n_heads, experiment.d_k, experiment.d_model
    if experiment.W_O is None and n_heads * d_k != d_model:
        raise WidthError(n_heads, d_k, d_model)


def continues(layers: Sequence[Layer], experiment: Experiment) -> bool:
    """Whether the experiment is still the layer after these.

    It is while its X is what the last of them gave. Other weights, masks and settings are
    fine, since layers may differ; an X edited by hand, or another size, begins anew.
    """
    if not layers:
        return True
    last = layers[-1]
    given = stacked(last.experiment, is_residual=last.is_residual).X
    return np.array_equal(given, experiment.X)


def stack_trace(layers: Sequence[Layer], experiment: Experiment) -> StackTrace:
    """Follow the tokens through the layers, up to the X of the current experiment.

    Args:
        layers: Those before it, first one first; each gave the X of the next.
        experiment: The current one, which `continues` them.
    """
    X = [*(layer.experiment.X for layer in layers), experiment.X]
    reach = [np.eye(experiment.n_tokens, dtype=bool)]
    for layer in layers:
        before, mask = reach[-1], layer.experiment.mask
        heard = mask.allowed(layer.experiment.n_tokens) @ before  # booleans: through some token
        reach.append(heard | before if layer.is_residual else heard)
    return StackTrace(np.stack(X), np.stack(reach), np.array([spread(rows) for rows in X]))


def replayed(
    layers: Sequence[Layer], experiment: Experiment, *, is_residual: bool
) -> tuple[list[Layer], Experiment]:
    """The same start, weights and masks, with the residual on (or off) in every layer.

    Returns:
        Layers and current experiment, as `stack_trace` takes them. They end early, at the last
        layer whose X can be held, if the numbers grow past the limit of an experiment.
    """
    steps = [*(layer.experiment for layer in layers), experiment]
    again = list(takewhile(lambda layer: layer.is_residual == is_residual, layers))
    current = steps[len(again)]  # what was run this way is kept
    for step in steps[len(again) + 1 :]:
        try:
            X = stacked(current, is_residual=is_residual).X
        except RangeError:
            break
        again.append(Layer(current, is_residual))
        current = replace(step, X=X)
    return again, current


def spread(X: FloatArray) -> float:
    """How different the rows are from their mean, as a share of the whole: ‖X - 1 x̄‖ / ‖X‖.

    Source: Dong et al. 2021, "Attention is not all you need: pure attention loses rank doubly
    exponentially with depth", section 2, whose residual this is, in the Frobenius norm, for
    which the best common row is the mean.

    Args:
        X: (n, d).

    Returns:
        From 0, all rows equal (rows of zeros too), to 1, rows that cancel out.
    """
    largest = np.abs(X).max()
    if largest == 0:
        return 0.0
    unit = X / largest  # squares of tiny numbers would vanish
    from_first = unit - unit[0]  # equal rows give exactly 0, whatever the mean rounds to
    deviation = from_first - from_first.mean(axis=0)
    return float(np.linalg.norm(deviation) / np.linalg.norm(unit))


def distances(reach: BoolArray) -> tuple[int, int]:
    """How far back and how far ahead a row hears at most.

    Args:
        reach: (n_tokens, n_tokens), True where a row hears from a token.
    """
    rows, columns = np.nonzero(reach)
    back = (rows - columns).max(initial=0)
    ahead = (columns - rows).max(initial=0)
    return int(back), int(ahead)


def fitting_sizes(n_heads: int, d_k: int, d_model: int) -> tuple[int, int]:
    """Heads and width per head that together are as wide as X, changing one of the two if possible.

    Returns:
        n_heads and d_k.
    """
    if d_model % n_heads == 0:
        return n_heads, d_model // n_heads
    if d_model % d_k == 0:
        return d_model // d_k, d_k
    return 1, d_model

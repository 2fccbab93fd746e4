"""How much the last output depends on each token, in models that were just initialised.

    influence(t) = ‖∂ o_T / ∂ x_t‖_F      averaged over seeds by the geometric mean

o_T is the last output, x_t the vector of token t. The Frobenius norm is that of the whole Jacobian:
√d times how far the output moves, in the root mean square, for a small step of length 1 into a
random direction. A recurrent network carries x_t through T - t steps, and each multiplies the
gradient by another Jacobian; in self-attention each token is one step away from the output.

Source: Pascanu, Mikolov and Bengio 2013, "On the difficulty of training recurrent neural networks",
section 2; the path lengths are those of Vaswani et al. 2017, table 1.
Axes: T tokens, d features of a token, of a state and of an output, S seeds.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
import torch
from torch import Tensor, nn

from attention_core.arrays import FloatArray, check_counts
from attention_core.errors import ShapeError
from attention_core.neural.layers import SelfAttention

Model: TypeAlias = Literal["rnn", "gru", "lstm", "attention"]
MODELS: tuple[Model, ...] = ("rnn", "gru", "lstm", "attention")

_RECURRENT: Mapping[Model, Callable[..., nn.Module]] = {
    "rnn": nn.RNN,
    "gru": nn.GRU,
    "lstm": nn.LSTM,
}


@dataclass(frozen=True, eq=False, slots=True)
class Curve:
    """The influence of each token in one model, first token first."""

    mean: FloatArray  # (T,), the geometric mean over the seeds
    lower: FloatArray  # (T,), a quarter of the seeds lies below
    upper: FloatArray  # (T,), a quarter lies above
    n_lost: int  # how many of the S * T numbers float64 cannot tell from 0

    @classmethod
    def of(cls, norms: FloatArray) -> "Curve":
        """Average over the seeds.

        Args:
            norms: (S, T), not negative. With a 0 among the seeds of a token its mean is 0.
        """
        with np.errstate(divide="ignore"):  # log 0 is -inf here, and exp gives the 0 back
            mean = np.exp(np.log(norms).mean(axis=0))  # (T,)
        lower, upper = np.quantile(norms, (0.25, 0.75), axis=0)  # (T,) each
        return cls(mean, lower, upper, int(np.count_nonzero(norms == 0)))


@dataclass(frozen=True, eq=False, slots=True)
class Influence:
    """What was measured, on rows of one length and width."""

    length: int  # T
    width: int  # d
    n_seeds: int  # S, those that the curves are made of
    curves: Mapping[Model, Curve]


Tell: TypeAlias = Callable[[float, Influence], None]


def influence(length: int, width: int, n_seeds: int, *, tell: Tell | None = None) -> Influence:
    """Measure all models, each seed with new weights and a new row of tokens.

    Args:
        length: T, the tokens of a row.
        width: d.
        n_seeds: S; the seeds are 0 to S - 1, so that the same sizes give the same numbers.
        tell: Is called after each seed with the share that is done and the influence so far; what
            it raises ends the work.

    Raises:
        RangeError: A size is below 1.
    """
    check_counts(1, length=length, width=width, n_seeds=n_seeds)
    torch.set_num_threads(1)  # OpenMP keeps the number for each thread, and this may be a new one
    norms = {model: np.empty((n_seeds, length)) for model in MODELS}  # (S, T) each
    for seed in range(n_seeds):
        layers, x = drawn(seed, length, width)
        for model, layer in layers.items():
            norms[model][seed] = jacobian_norms(layer, x)
        if tell is not None:
            so_far = {model: of[: seed + 1] for model, of in norms.items()}
            tell((seed + 1) / n_seeds, _averaged(length, width, so_far))
    return _averaged(length, width, norms)


def jacobian_norms(layer: nn.Module, x: Tensor) -> FloatArray:
    """The Frobenius norm of the Jacobian of the last output for each token.

    Args:
        layer: Maps (B, T, d) to outputs (B, T, d) and something else, each sequence by itself.
        x: (T, d), one sequence.

    Returns:
        (T,), exact: the Jacobian is computed whole.

    Raises:
        ShapeError: x has not two axes.
    """
    if x.ndim != 2:
        raise ShapeError("x", ("T", "d"), tuple(x.shape))
    T, d = x.shape
    # One copy for each feature of the output, so that one pass back gives all rows of the Jacobian.
    copies = x.detach().expand(d, T, d).clone().requires_grad_()  # (d, T, d)
    last = layer(copies)[0][:, -1]  # (d, d)
    (gradients,) = torch.autograd.grad(last.diagonal().sum(), copies)  # (d, T, d)
    norms: FloatArray = torch.linalg.vector_norm(gradients, dim=(0, 2)).numpy()  # (T,)
    return norms


def drawn(seed: int, length: int, width: int) -> tuple[dict[Model, nn.Module], Tensor]:
    """New models and a row of tokens, all float64.

    PyTorch initialises its recurrent layers from the one generator that all threads share. Here the
    same numbers are drawn from a generator of the seed's own, so nothing else moves them.

    Returns:
        The models, the same for each length, and x (T, d), from the standard normal distribution.
    """
    generator = torch.Generator().manual_seed(seed)
    models: dict[Model, nn.Module] = {}
    for model in MODELS:
        layer = _blank(model, width)
        for weight in layer.parameters():
            if isinstance(layer, SelfAttention):
                nn.init.xavier_uniform_(weight, generator=generator)
            else:
                bound = 1 / math.sqrt(width)
                nn.init.uniform_(weight, -bound, bound, generator=generator)
        models[model] = layer
    x = torch.randn(length, width, generator=generator, dtype=torch.float64)
    return models, x


def _blank(model: Model, width: int) -> nn.Module:
    """A layer whose weights are still to be drawn: making it draws no number."""
    with torch.device("meta"):
        layer: nn.Module = SelfAttention(width)
        if model in _RECURRENT:
            layer = _RECURRENT[model](width, width, batch_first=True)
    return layer.to(torch.float64).to_empty(device="cpu")


def _averaged(length: int, width: int, norms: Mapping[Model, FloatArray]) -> Influence:
    curves = {model: Curve.of(of) for model, of in norms.items()}
    return Influence(length, width, len(norms[MODELS[0]]), curves)

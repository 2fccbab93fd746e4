"""What one number of the output depends on: its gradient, two ways, and how it dies.

    o = output[token, feature]
    ∂o/∂x ≈ (o(x + h) - o(x - h)) / 2h        h = ε^(1/3) · max(1, |x|)

PyTorch carries the gradient back through the steps of `forward`. The quotients are computed from
outputs of the NumPy core alone, so neither shares a line of code with the other. With this h the
error of the quotient, which grows like h² on one side and like ε/h on the other, is about smallest.

Source: Press et al. 2007, "Numerical Recipes", section 5.7 (the step h); Vaswani et al. 2017,
section 3.2.1 (gradients of softmax that become small where scores are large).
"""

from dataclasses import dataclass

import numpy as np
import torch

from attention_core.arrays import FloatArray, check_counts
from attention_core.canvas import check_count
from attention_core.experiment import Experiment
from attention_core.multi_head import multi_head_attention
from attention_core.neural.forward import forward, leaves
from attention_core.neural.layers import attention_weights
from attention_core.positions import rotary

_STEP = float(np.cbrt(np.finfo(np.float64).eps))


@dataclass(frozen=True, eq=False, slots=True)
class Slopes:
    """How fast one number of the output moves with each number that it is computed from."""

    X: FloatArray  # (n_tokens, d_model)
    W_Q: FloatArray  # (d_model, d_k), of one head, as the next two
    W_K: FloatArray  # (d_model, d_k)
    W_V: FloatArray  # (d_model, d_k)


def gradients(e: Experiment, token: int, feature: int, head: int) -> Slopes:
    """By PyTorch, backwards through all steps.

    Args:
        e: The experiment.
        token: Row of the output, from 0.
        feature: Column of the output, from 0.
        head: Whose weights are looked at, from 0.

    Raises:
        RangeError: There is no such row, column or head.
    """
    _check_cell(e, token, feature, head)
    given = leaves(e, requires_grad=True)
    cell = forward(e, given).output[token, feature]
    X, W_Q, W_K, W_V = torch.autograd.grad(cell, (given.X, given.W_Q, given.W_K, given.W_V))
    return Slopes(X.numpy(), *(W[head].numpy() for W in (W_Q, W_K, W_V)))


def quotients(e: Experiment, token: int, feature: int, head: int) -> Slopes:
    """By central differences of outputs of the NumPy core; as `gradients`.

    All moved X are one batch, and all moved weights are heads of one attention, each with the
    rows of W_O that belong to the head that is looked at. The other heads do not move.
    """
    _check_cell(e, token, feature, head)
    low, high, width = _moved(e.X)  # (n_cells, n_tokens, d_model) each, and (n_cells,)
    outputs = e.trace_of(np.concatenate([low, high])).attention.output[:, token, feature]
    of_X = _slopes(outputs, width, e.X.shape)
    own = [e.W_Q[head], e.W_K[head], e.W_V[head]]  # (d_model, d_k) each
    n_cells = own[0].size
    stacks = [np.repeat(W[None], 6 * n_cells, axis=0) for W in own]  # (6 n_cells, d_model, d_k)
    widths = []
    for place, (stack, W) in enumerate(zip(stacks, own, strict=True)):
        low, high, width = _moved(W)
        start = 2 * n_cells * place
        stack[start : start + 2 * n_cells] = np.concatenate([low, high])
        widths.append(width)
    outputs = _through_head(e, stacks, token, feature, head).reshape(3, 2 * n_cells)
    shape = own[0].shape
    of_weights = [_slopes(*each, shape) for each in zip(outputs, widths, strict=True)]
    return Slopes(of_X, *of_weights)


def _check_cell(e: Experiment, token: int, feature: int, head: int) -> None:
    n_features = e.n_heads * e.d_k if e.W_O is None else e.d_model
    check_count("token", token, 0, e.n_tokens - 1)
    check_count("feature", feature, 0, n_features - 1)
    check_count("head", head, 0, e.n_heads - 1)


def _moved(matrix: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The matrix with each cell in turn a step lower, a step higher, and how far these lie apart.

    Args:
        matrix: (rows, columns).

    Returns:
        (n_cells, rows, columns) twice, and (n_cells,): what was really moved, after rounding.
    """
    n_cells = matrix.size
    low, high = (np.repeat(matrix[None], n_cells, axis=0) for _ in range(2))
    cells = np.arange(n_cells)
    step = _STEP * np.maximum(1.0, np.abs(matrix.ravel()))
    low.reshape(n_cells, n_cells)[cells, cells] -= step
    high.reshape(n_cells, n_cells)[cells, cells] += step
    width = (high - low).reshape(n_cells, n_cells)[cells, cells]
    return low, high, width


def _slopes(outputs: FloatArray, width: FloatArray, shape: tuple[int, ...]) -> FloatArray:
    """From outputs of all that is lower, then of all that is higher."""
    low, high = np.split(outputs, 2)
    slopes: FloatArray = ((high - low) / width).reshape(shape)
    return slopes


def _through_head(
    e: Experiment, stacks: list[FloatArray], token: int, feature: int, head: int
) -> FloatArray:
    """(n,): what the output cell gets from one head, for n choices of its weights.

    Args:
        e: The experiment.
        stacks: (n, d_model, d_k) each: W_Q, W_K, W_V.
        token, feature, head: As in `gradients`.
    """
    trace = e.trace()
    mixing = np.eye(e.n_heads * e.d_k) if e.W_O is None else e.W_O
    column = mixing[head * e.d_k : (head + 1) * e.d_k, feature]  # (d_k,)
    W_Q, W_K, W_V = stacks
    attention = multi_head_attention(
        trace.inputs,
        W_Q,
        W_K,
        W_V,
        np.tile(column, len(W_Q))[:, None],  # (n * d_k, 1)
        allowed=e.mask.allowed(e.n_tokens),
        bias=None if trace.bias is None else trace.bias[head],
        scale=e.scale,
        empty_rows="zeros",
        rotate=rotary if e.is_rotary else None,
    )
    outputs: FloatArray = attention.contributions[:, token, 0]
    return outputs


# --- wider heads


@dataclass(frozen=True, slots=True)
class Learning:
    """What reaches the weights of a head, over many random ones: medians of gradient norms."""

    W_Q: float
    W_K: float
    W_V: float
    n_zeros: int  # heads in which the gradient of W_Q or W_K is exactly 0
    mean_largest: float  # weight of the row that the output cell belongs to


@dataclass(frozen=True, slots=True)
class Width:
    """Random heads of one width, without and with 1/√d_k."""

    d_k: int
    n_samples: int
    n_tokens: int  # of each head
    unscaled: Learning
    scaled: Learning


def at_width(
    d_k: int, seed: int, *, n_samples: int = 100, n_tokens: int = 16, d_model: int = 16
) -> Width:
    """Draw random heads, and carry back the gradient of a random output cell of each.

    X is drawn from N(0, 1), weights from N(0, 1/d_model), so that queries, keys and values have
    features of variance 1 whatever d_k is.

    Args:
        d_k: Features of queries, keys and values, at least 1.
        seed: Draws them; the heads of one width depend on no other width.
        n_samples: How many heads, at least 1.
        n_tokens: At least 1.
        d_model: At least 1.

    Raises:
        RangeError: A count is too small, or the seed is below 0.
    """
    check_counts(1, d_k=d_k, n_samples=n_samples, n_tokens=n_tokens, d_model=d_model)
    check_counts(0, seed=seed)
    rng = np.random.default_rng([seed, d_k])
    X = torch.tensor(rng.standard_normal((n_samples, n_tokens, d_model)))
    drawn = rng.standard_normal((3, n_samples, d_model, d_k)) / np.sqrt(d_model)
    rows = rng.integers(n_tokens, size=n_samples)
    columns = rng.integers(d_k, size=n_samples)
    each = torch.arange(n_samples)

    def learning(scale: float) -> Learning:
        weights = [torch.tensor(W, requires_grad=True) for W in drawn]
        W_Q, W_K, W_V = weights  # (n_samples, d_model, d_k) each
        # Of all queries and values, these alone take part in the cell of each head.
        Q = X[each, rows][:, None] @ W_Q  # (n_samples, 1, d_k)
        V = X @ W_V[each, :, columns][:, :, None]  # (n_samples, n_tokens, 1)
        attended = attention_weights(Q, X @ W_K, scale=scale)  # (n_samples, 1, n_tokens)
        cells = attended @ V  # (n_samples, 1, 1)
        # No head shares a number with another, so the gradient of the sum holds that of each.
        slopes = torch.autograd.grad(cells.sum(), weights)
        norms = [slope.flatten(1).norm(dim=1).numpy() for slope in slopes]  # (n_samples,) each
        largest = attended.detach().amax(dim=-1)
        medians = [float(np.median(norm)) for norm in norms]
        return Learning(
            W_Q=medians[0],
            W_K=medians[1],
            W_V=medians[2],
            n_zeros=int(np.count_nonzero((norms[0] == 0) | (norms[1] == 0))),
            mean_largest=float(largest.mean()),
        )

    scale = float(1 / np.sqrt(d_k))
    return Width(d_k, n_samples, n_tokens, learning(1.0), learning(scale))

"""What differs by convention between PyTorch's two attentions, each shown by the real calls.

Each function below is short enough to be shown as it stands, and gives what was meant beside what
came out. A page shows its source, so it says nothing but the calls.

Source: the reference of `F.scaled_dot_product_attention` and `nn.MultiheadAttention`, PyTorch 2.13.
Axes: n tokens, E features of a token, H heads, d features of a head.
"""

import inspect
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias, get_args

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from attention_core.arrays import BoolArray, FloatArray
from attention_core.errors import ChoiceError, RangeError
from attention_core.experiment import Experiment
from attention_core.neural.forward import forward, leaves
from attention_core.neural.weights import fitted_inputs, to_state, to_torch
from attention_core.patterns import forbidding

Convention: TypeAlias = Literal[
    "polarity", "empty_rows", "averaged", "is_causal", "batch_first", "dropout"
]
CONVENTIONS: tuple[Convention, ...] = get_args(Convention)

Given: TypeAlias = Mapping[str, Tensor]
Layer: TypeAlias = nn.MultiheadAttention

_GENERATOR = threading.Lock()  # dropout draws from a generator that all threads share


@dataclass(frozen=True, eq=False, slots=True)
class Shown:
    """One convention on an experiment."""

    arrays: Mapping[str, FloatArray]  # what the function gave, by its names
    allowed: BoolArray  # (n_tokens, n_tokens), the mask that was meant; True = may attend
    is_own_mask: bool  # whether that is the experiment's, untouched
    left_out: bool  # whether the experiment's positions are: a layer cannot express them


# --- the calls


def polarity(layer: Layer, x: Tensor, q: Tensor, k: Tensor, mask: Tensor) -> Given:
    """One mask, True = may attend, given to both."""
    # With this as V, the output is the weights.
    one = torch.eye(x.shape[1], dtype=x.dtype).expand(len(k), -1, -1)
    function = F.scaled_dot_product_attention(q, k, one, attn_mask=mask)
    _, same_mask = layer(x, x, x, attn_mask=mask, average_attn_weights=False)
    _, inverted = layer(x, x, x, attn_mask=~mask, average_attn_weights=False)
    return {"function": function, "same_mask": same_mask[0], "inverted": inverted[0]}


def empty_rows(layer: Layer, x: Tensor, q: Tensor, k: Tensor, mask: Tensor) -> Given:
    """A row of the mask without any True."""
    # With this as V, the output is the weights.
    one = torch.eye(x.shape[1], dtype=x.dtype).expand(len(k), -1, -1)
    function = F.scaled_dot_product_attention(q, k, one, attn_mask=mask)
    output, weights = layer(x, x, x, attn_mask=~mask, average_attn_weights=False)
    without, _ = layer(x, x, x, attn_mask=~mask, need_weights=False)
    given = {"function": function, "weights": weights[0]}
    return given | {"output": output, "without": without}


def averaged(layer: Layer, x: Tensor, mask: Tensor) -> Given:
    """The weights of all heads, and what is returned unless one asks for them."""
    _, heads = layer(x, x, x, attn_mask=~mask, average_attn_weights=False)
    _, by_default = layer(x, x, x, attn_mask=~mask)
    return {"heads": heads[0], "by_default": by_default}


def is_causal(q: Tensor, k: Tensor, n_queries: int) -> Given:
    """The last queries alone, against all keys, as when text is written token by token."""
    n = k.shape[-2]
    # With this as V, the output is the weights.
    one = torch.eye(n, dtype=k.dtype).expand(len(k), -1, -1)
    last = q[:, n - n_queries :]
    came_out = F.scaled_dot_product_attention(last, k, one, is_causal=True)
    earlier = torch.ones(n, n, dtype=torch.bool).tril()[n - n_queries :]
    meant = F.scaled_dot_product_attention(last, k, one, attn_mask=earlier)
    return {"meant": meant, "came_out": came_out}


def batch_first(state: Given, x: Tensor, n_heads: int) -> Given:
    """The same weights and the same x, (1, n, E), in two layers."""

    def layer(**more: bool) -> Layer:
        made = nn.MultiheadAttention(x.shape[-1], n_heads, bias=False, dtype=x.dtype, **more)
        made.load_state_dict(state)
        return made

    right, forgotten = layer(batch_first=True), layer()
    output, meant = right(x, x, x, average_attn_weights=False)  # 1 sequence of n tokens
    wrong, came_out = forgotten(x, x, x, average_attn_weights=False)  # n sequences of 1
    return {"meant": meant[0], "came_out": came_out, "output": output, "wrong": wrong}


def dropout(state: Given, x: Tensor, n_heads: int, mask: Tensor, p: float, seed: int) -> Given:
    """The same layer in train and in eval mode."""
    E, settings = x.shape[-1], {"bias": False, "batch_first": True, "dtype": x.dtype}
    layer = nn.MultiheadAttention(E, n_heads, dropout=p, **settings)
    layer.load_state_dict(state)
    torch.manual_seed(seed)
    layer.train()
    _, train = layer(x, x, x, attn_mask=~mask, average_attn_weights=False)
    layer.eval()
    _, evaluated = layer(x, x, x, attn_mask=~mask, average_attn_weights=False)
    return {"train": train[0], "eval": evaluated[0]}


_CALLS: Mapping[Convention, Callable[..., Given]] = {
    "polarity": polarity,
    "empty_rows": empty_rows,
    "averaged": averaged,
    "is_causal": is_causal,
    "batch_first": batch_first,
    "dropout": dropout,
}


def source(convention: Convention) -> str:
    """The function that shows it, as it stands above.

    Raises:
        ChoiceError: There is no such convention.
    """
    _check(convention)
    return inspect.getsource(_CALLS[convention])


# --- on an experiment


def shown(
    e: Experiment, convention: Convention, *, n_queries: int = 1, p: float = 0.5, seed: int = 0
) -> Shown:
    """Run the calls on the experiment, in float64.

    Rotary positions and ALiBi have no place in a layer; they are left out for all of the calls,
    so that all compute the same. So are masks that leave a token with nothing to attend to, where
    that is not the point.

    Args:
        e: The experiment.
        convention: Which one.
        n_queries: From 1 to n_tokens, how many of the last queries `is_causal` looks at.
        p: From 0 to 1, the share of weights that `dropout` drops.
        seed: Draws which.

    Returns:
        "heads", "meant" and such by the names of the function: weights (n_heads, n_q, n_k), or
        outputs (n_tokens, width), cut to the experiment's own width.

    Raises:
        ChoiceError: There is no such convention.
        RangeError: A number is outside the limits above.
    """
    _check(convention)
    if not 1 <= n_queries <= e.n_tokens:
        raise RangeError("n_queries", n_queries, 1, e.n_tokens)
    if not 0 <= p <= 1:
        raise RangeError("p", p, 0, 1)
    left_out = e.encoding in ("rotary", "alibi")
    e = replace(e, encoding="none") if left_out else e
    allowed, is_own = _mask(e, convention)
    x, mask, state = fitted_inputs(e), torch.tensor(allowed), to_state(e)
    steps = forward(e, leaves(e))
    # The scores of the function are to be those of the layer, which holds the scaling in W_Q.
    q = steps.Q * (1.0 if e.is_scaled else e.d_k**0.5)
    with torch.no_grad(), _GENERATOR, torch.random.fork_rng(devices=[]):
        layer = to_torch(e)
        arguments: dict[Convention, tuple[Any, ...]] = {
            "polarity": (layer, x, q, steps.K, mask),
            "empty_rows": (layer, x, q, steps.K, mask),
            "averaged": (layer, x, mask),
            "is_causal": (q, steps.K, n_queries),
            "batch_first": (state, x, e.n_heads),
            "dropout": (state, x, e.n_heads, mask, p, seed),
        }
        given = _CALLS[convention](*arguments[convention])
    arrays = {name: _array(e, name, tensor) for name, tensor in given.items()}
    return Shown(arrays, allowed, is_own, left_out)


def _mask(e: Experiment, convention: Convention) -> tuple[BoolArray, bool]:
    """The mask that a convention is shown with, and whether it is the experiment's own."""
    if convention in ("is_causal", "batch_first"):
        allowed = e.mask.allowed(e.n_tokens) | True
        return allowed, not e.mask.kinds
    if convention == "polarity":
        return forbidding(e)
    allowed = e.mask.allowed(e.n_tokens)
    is_empty = ~allowed.any(axis=-1)
    if convention != "empty_rows":  # there is another convention for these
        allowed[is_empty] = True
        return allowed, not is_empty.any()
    if is_empty.any():
        return allowed, True
    allowed[-1] = False
    return allowed, False


def _array(e: Experiment, name: str, tensor: Tensor) -> FloatArray:
    if name in ("output", "without", "wrong"):
        width = e.n_heads * e.d_k if e.W_O is None else e.d_model
        tensor = tensor[0, :, :width]
    elif name == "by_default":
        tensor = tensor[0][None]  # (1, n_tokens, n_tokens): of no head and of all
    elif name == "came_out" and tensor.ndim == 4:  # (n_tokens, H, 1, 1): each token by itself
        tensor = tensor[:, :, 0].transpose(0, 1)
    array: FloatArray = tensor.detach().numpy()
    return array


def _check(convention: str) -> None:
    if convention not in CONVENTIONS:
        raise ChoiceError("convention", convention, CONVENTIONS)

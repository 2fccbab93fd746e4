"""The weights of an experiment in PyTorch's layers, and back: transposes and stacking in one place.

The core multiplies from the right, X W; `nn.Linear` holds the transpose. A fused layer holds W_Q,
W_K and W_V on each other in one matrix of (3E, E), in which head h owns the rows h · d_k to
(h + 1) · d_k of each. Its heads share the width, E = H · d_k, and it always divides by √d_k.

An experiment of other sizes is made wider with zeros: columns of X and of each head that hold
nothing change no score and no output. What the layer's own scaling would change is taken back
in W_Q.

Source: the reference of `torch.nn.MultiheadAttention`, PyTorch 2.13.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
import torch
from torch import Tensor, nn

from attention_core.arrays import FloatArray
from attention_core.errors import FieldError, RangeError, ShapeError
from attention_core.experiment import Experiment
from attention_core.neural.layers import MultiHeadAttention, SelfAttention

State: TypeAlias = Mapping[str, Tensor]
"""The weights of an `nn.MultiheadAttention` under its own names."""

_BLANK = "meta"  # layers made there draw no numbers, which come from a generator of all threads
_OURS = {"in_proj_weight": "in_proj.weight", "in_proj_bias": "in_proj.bias"}  # else the same names


@dataclass(frozen=True, slots=True)
class Fit:
    """The sizes at which a fused layer can hold an experiment."""

    embed_dim: int  # E, a multiple of the heads
    d_k: int  # E / H
    factor: float  # by which W_Q is multiplied, so that the layer's scaling gives ours

    @classmethod
    def of(cls, e: Experiment) -> "Fit":
        d_k = max(e.d_k, -(-e.d_model // e.n_heads))
        return cls(e.n_heads * d_k, d_k, math.sqrt(d_k / e.d_k if e.is_scaled else d_k))

    def is_exact(self, e: Experiment) -> bool:
        """Whether the experiment fits as it is."""
        return (self.embed_dim, self.d_k, self.factor) == (e.d_model, e.d_k, 1.0)


# --- from an experiment


def fitted_inputs(e: Experiment, *, dtype: torch.dtype = torch.float64) -> Tensor:
    """(1, n_tokens, E): what goes into a layer, positions added, with columns of 0 if need be."""
    inputs = e.trace().inputs
    wide = np.zeros((1, e.n_tokens, Fit.of(e).embed_dim))
    wide[0, :, : e.d_model] = inputs
    return torch.tensor(wide, dtype=dtype)


def to_state(e: Experiment, *, dtype: torch.dtype = torch.float64) -> dict[str, Tensor]:
    """The weights as a state_dict of `nn.MultiheadAttention(E, H, bias=False)`.

    Returns:
        "in_proj_weight" (3E, E) and "out_proj.weight" (E, E); without W_O the latter puts the
        heads side by side.
    """
    fit = Fit.of(e)
    in_proj = np.zeros((3, e.n_heads, fit.d_k, fit.embed_dim))  # each block is transposed
    for block, W in enumerate((e.W_Q * fit.factor, e.W_K, e.W_V)):
        in_proj[block, :, : e.d_k, : e.d_model] = np.swapaxes(W, -1, -2)
    mixing = np.eye(e.n_heads * e.d_k) if e.W_O is None else e.W_O
    out_proj = np.zeros((e.n_heads, fit.d_k, fit.embed_dim))
    out_proj[:, : e.d_k, : mixing.shape[-1]] = mixing.reshape(e.n_heads, e.d_k, -1)
    width = fit.embed_dim
    return {
        "in_proj_weight": torch.tensor(in_proj.reshape(3 * width, width), dtype=dtype),
        "out_proj.weight": torch.tensor(out_proj.reshape(width, width).T.copy(), dtype=dtype),
    }


def to_torch(e: Experiment, *, dtype: torch.dtype = torch.float64) -> nn.MultiheadAttention:
    """PyTorch's own layer with the experiment's weights, in eval mode, batch first."""
    with torch.device(_BLANK):
        layer = nn.MultiheadAttention(
            Fit.of(e).embed_dim, e.n_heads, bias=False, batch_first=True, dtype=dtype
        )
    layer.load_state_dict(to_state(e, dtype=dtype), assign=True)
    return layer.eval()


def to_multi_head(e: Experiment, *, dtype: torch.dtype = torch.float64) -> MultiHeadAttention:
    """Our layer with the experiment's weights, in eval mode."""
    with torch.device(_BLANK):
        layer = MultiHeadAttention(Fit.of(e).embed_dim, e.n_heads, bias=False).to(dtype)
    layer.load_state_dict(to_ours(to_state(e, dtype=dtype)), assign=True)
    return layer.eval()


def to_self_attention(e: Experiment, *, dtype: torch.dtype = torch.float64) -> SelfAttention:
    """Our layer of one head with the experiment's weights, in eval mode; W_O is not in it.

    Raises:
        RangeError: The experiment has several heads.
    """
    if e.n_heads != 1:
        raise RangeError("n_heads", e.n_heads, 1, 1)
    blocks = to_state(e, dtype=dtype)["in_proj_weight"].chunk(3)
    with torch.device(_BLANK):
        layer = SelfAttention(Fit.of(e).embed_dim).to(dtype)
    names = ("query.weight", "key.weight", "value.weight")
    layer.load_state_dict(dict(zip(names, blocks, strict=True)), assign=True)
    return layer.eval()


# --- back into an experiment


def from_layer(
    e: Experiment, layer: MultiHeadAttention | SelfAttention | nn.MultiheadAttention
) -> Experiment:
    """The experiment with the weights of a layer; as `from_state`. SelfAttention keeps W_O."""
    state = layer.state_dict()
    if isinstance(layer, SelfAttention):
        blocks = [state[f"{name}.weight"] for name in ("query", "key", "value")]
        kept = to_state(e, dtype=blocks[0].dtype)["out_proj.weight"]
        state = {"in_proj_weight": torch.cat(blocks), "out_proj.weight": kept}
    elif isinstance(layer, MultiHeadAttention):
        state = to_torchs(state)
    return from_state(e, state)


def from_state(e: Experiment, state: State) -> Experiment:
    """The experiment with weights from a state_dict of `nn.MultiheadAttention`.

    Args:
        e: Says the sizes and settings, and holds all else.
        state: "in_proj_weight" (3E, E) and "out_proj.weight" (E, E), with E as in `to_state`;
            biases may be there if they are 0.

    Raises:
        FieldError: A weight is missing, or something in it has no place in an experiment: a bias,
            or a number where the experiment was made wider with zeros.
        ShapeError: A weight has another shape.
        AttentionError: As `Experiment` raises for numbers that it does not take.
    """
    fit = Fit.of(e)
    width, n_heads = fit.embed_dim, e.n_heads
    stacked = _array(state, "in_proj_weight", (3 * width, width))
    mixing = _array(state, "out_proj.weight", (width, width)).T.reshape(n_heads, fit.d_k, width)
    for name in ("in_proj_bias", "out_proj.bias"):
        if name in state and bool(torch.any(state[name] != 0)):
            raise FieldError(name, "an experiment has no bias, so it must be 0")
    blocks = np.swapaxes(stacked.reshape(3, n_heads, fit.d_k, width), -1, -2)  # (3, H, E, d_k)
    W_Q, W_K, W_V = _inner("in_proj_weight", blocks, e.d_model, e.d_k)
    joins = np.eye(n_heads * e.d_k)
    d_out = e.d_model if e.W_O is not None else len(joins)
    W_O = _inner("out_proj.weight", mixing, e.d_k, d_out).reshape(-1, d_out)
    if e.W_O is None:
        if not np.array_equal(W_O, joins):
            raise FieldError("out_proj.weight", "the experiment has no W_O that could hold it")
        return replace(e, W_Q=W_Q / fit.factor, W_K=W_K, W_V=W_V)
    return replace(e, W_Q=W_Q / fit.factor, W_K=W_K, W_V=W_V, W_O=W_O)


def to_ours(state: State) -> dict[str, Tensor]:
    """PyTorch's state_dict under the names of our `MultiHeadAttention`."""
    return {_OURS.get(name, name): weight for name, weight in state.items()}


def to_torchs(state: State) -> dict[str, Tensor]:
    """The state_dict of our `MultiHeadAttention` under PyTorch's names."""
    names = {ours: torchs for torchs, ours in _OURS.items()}
    return {names.get(name, name): weight for name, weight in state.items()}


def _array(state: State, name: str, shape: tuple[int, ...]) -> FloatArray:
    if name not in state:
        raise FieldError(name, "is missing")
    if tuple(state[name].shape) != shape:
        raise ShapeError(name, shape, tuple(state[name].shape))
    array: FloatArray = state[name].detach().to(torch.float64).numpy()
    return array


def _inner(name: str, array: FloatArray, rows: int, columns: int) -> FloatArray:
    """The part that an experiment holds; what lies around it must be 0."""
    inner = array[..., :rows, :columns]
    if np.count_nonzero(array) != np.count_nonzero(inner):
        raise FieldError(name, "holds numbers beyond the sizes of the experiment")
    return inner

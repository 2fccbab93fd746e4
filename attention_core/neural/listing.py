"""Our layers as a reader sees them: their source, and the shapes and numbers when they are run.

A layer holds an experiment as `weights` fits it in. `SelfAttention` has one head, so it holds one
of the experiment's; no layer knows rotary positions or ALiBi, so they are left out there.
Axes: B sequences, T tokens, E features of a token, H heads, d_k features of a head.
"""

import inspect
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
import torch
from torch import Tensor, nn

from attention_core import rounding
from attention_core.errors import ChoiceError, RangeError
from attention_core.experiment import Experiment
from attention_core.neural import layers
from attention_core.neural.forward import forward, leaves
from attention_core.neural.parity import in_one_call, mask_of, width_of
from attention_core.neural.weights import fitted_inputs, to_multi_head, to_self_attention

Part: TypeAlias = Literal["self_attention", "multi_head", "weights"]
PARTS: tuple[Part, ...] = get_args(Part)
Role: TypeAlias = Literal["weight", "given", "returned"]

_SOURCES: dict[Part, tuple[Callable[..., Any], ...]] = {
    "self_attention": (layers.SelfAttention,),
    "multi_head": (layers.MultiHeadAttention,),
    "weights": (layers.attention_weights, layers.masked_scores),
}


@dataclass(frozen=True, slots=True)
class Piece:
    """A tensor that a layer holds, takes or gives."""

    name: str
    role: Role
    shape: tuple[int, ...]


@dataclass(frozen=True, eq=False, slots=True)
class Run:
    """A part of ours, run on an experiment in float64."""

    experiment: Experiment  # as it was run: one head of it, without positions, or all
    pieces: tuple[Piece, ...]
    n_parameters: int  # counted in the state_dict
    gap: float  # the largest difference from NumPy, of weights and output
    is_within: bool  # whether rounding explains every difference
    left_out: bool  # whether the experiment's positions are


def source(part: Part) -> str:
    """The code of a part, as this process runs it.

    Raises:
        ChoiceError: There is no such part.
    """
    _check(part)
    return "\n\n".join(map(inspect.getsource, _SOURCES[part]))


def run(e: Experiment, part: Part, *, head: int = 0) -> Run:
    """Run a part on the experiment and hold it to NumPy.

    Args:
        e: The experiment, with its mask.
        part: Which one.
        head: The one that `SelfAttention` holds.

    Raises:
        ChoiceError: There is no such part.
        RangeError: There is no such head.
    """
    _check(part)
    if not 0 <= head < e.n_heads:
        raise RangeError("head", head, 0, e.n_heads - 1)
    with torch.no_grad():
        if part == "weights":
            return _weights(e)
        left_out = e.encoding in ("rotary", "alibi")
        e = replace(e, encoding="none") if left_out else e
        if part == "self_attention":
            return _self_attention(e, head, left_out)
        return _multi_head(e, left_out)


def one_call_gap(e: Experiment) -> float:
    """Head outputs step by step beside `F.scaled_dot_product_attention`, both in float32.

    Returns:
        Their largest difference: what the assertion at the end of `program.pytorch_script` checks.
    """
    with torch.no_grad():
        steps = forward(e, leaves(e, dtype=torch.float32))
        fused = in_one_call(e, steps, steps.V)
    return float((fused - steps.head_outputs).abs().max())


def _self_attention(e: Experiment, head: int, left_out: bool) -> Run:
    alone = {name: getattr(e, name)[head : head + 1] for name in ("W_Q", "W_K", "W_V")}
    one = replace(e, W_O=None, **alone)
    layer, x, mask = to_self_attention(one), fitted_inputs(one), mask_of(one)
    context, weights = layer(x, mask)
    pieces = _pieces(layer, {"x": x, "mask": mask}, {"context": context, "weights": weights})
    return _run(one, layer, pieces, weights, context[0, :, : one.d_k], left_out)


def _multi_head(e: Experiment, left_out: bool) -> Run:
    layer, x, mask = to_multi_head(e), fitted_inputs(e), mask_of(e)
    output, weights = layer(x, mask)
    pieces = _pieces(layer, {"x": x, "mask": mask}, {"output": output, "weights": weights})
    return _run(e, layer, pieces, weights[0], output[0, :, : width_of(e)], left_out)


def _weights(e: Experiment) -> Run:
    steps = forward(e, leaves(e))
    allowed, bias = mask_of(e), e.trace().bias
    given = {"Q": steps.Q, "K": steps.K, "allowed": allowed}
    if bias is not None:
        given["bias"] = torch.tensor(bias)
    weights = layers.attention_weights(
        steps.Q, steps.K, allowed, scale=e.scale, bias=given.get("bias")
    )
    return _run(e, None, _pieces(None, given, {"weights": weights}), weights, None, False)


def _run(
    e: Experiment,
    layer: nn.Module | None,
    pieces: tuple[Piece, ...],
    weights: Tensor,
    output: Tensor | None,
    left_out: bool,
) -> Run:
    trace = e.trace()
    bounds = rounding.bounds(e, trace, "float64")
    gaps = [(weights.numpy() - trace.attention.heads.weights, bounds.weights)]
    if output is not None:
        gaps.append((output.numpy() - trace.attention.output, bounds.output))
    held = layer.state_dict().values() if layer is not None else ()
    return Run(
        e,
        pieces,
        sum(weight.numel() for weight in held),
        max(float(np.abs(gap).max()) for gap, _ in gaps),
        all(bool((np.abs(gap) <= bound).all()) for gap, bound in gaps),
        left_out,
    )


def _pieces(
    layer: nn.Module | None, given: dict[str, Tensor | None], returned: dict[str, Tensor]
) -> tuple[Piece, ...]:
    held = layer.state_dict() if layer is not None else {}
    roles: list[tuple[Role, dict[str, Tensor]]] = [
        ("weight", dict(held)),
        ("given", {name: tensor for name, tensor in given.items() if tensor is not None}),
        ("returned", returned),
    ]
    return tuple(
        Piece(name, role, tuple(tensor.shape))
        for role, tensors in roles
        for name, tensor in tensors.items()
    )


def _check(part: str) -> None:
    if part not in PARTS:
        raise ChoiceError("part", part, PARTS)

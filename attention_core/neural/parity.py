"""One experiment through several routes of PyTorch, beside the trace of NumPy.

The trace in float64 is the reference. What a route gives lies apart from it by rounding alone, if
both compute the same; `attention_core.rounding` says how much that can be. A layer holds an
experiment as `weights` fits it in; what it gives is compared at the experiment's own sizes.

Source: the reference of `F.scaled_dot_product_attention` and `nn.MultiheadAttention`, PyTorch 2.13.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias, get_args

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from attention_core import rounding
from attention_core.arrays import FloatArray
from attention_core.errors import ChoiceError
from attention_core.experiment import Experiment, ExperimentTrace
from attention_core.neural.forward import Steps, forward, leaves
from attention_core.neural.weights import (
    Fit,
    fitted_inputs,
    to_multi_head,
    to_self_attention,
    to_torch,
)

Route: TypeAlias = Literal["self_attention", "multi_head", "function", "torch_layer"]
ROUTES: tuple[Route, ...] = get_args(Route)
Stage: TypeAlias = Literal["Q", "K", "V", "weights", "head_outputs", "output"]
STAGES: tuple[Stage, ...] = get_args(Stage)

Lack: TypeAlias = Literal["heads", "rotary", "alibi", "inside", "no_W_O"]
"""Why there is no number: the route has one head; knows no rotation; takes no bias; does not give
this stage away; has no W_O."""

_DTYPES = {"float64": torch.float64, "float32": torch.float32}
_Numbers: TypeAlias = Mapping[Stage, Tensor]


@dataclass(frozen=True, eq=False, slots=True)
class Gap:
    """One stage of a route beside the reference; shapes as in `rounding.Bounds`."""

    values: FloatArray  # what the route gave; NaN where it gave that
    difference: FloatArray  # values minus the reference
    bound: FloatArray  # the most that rounding explains

    @property
    def largest(self) -> float:
        """The largest difference; NaN if there is nothing but NaN."""
        sizes = np.abs(self.difference)
        return float(np.nanmax(sizes)) if self.place else float("nan")

    @property
    def place(self) -> tuple[int, ...] | None:
        """Where the largest difference is: (head, row, column), or (row, column) of the output."""
        sizes = np.abs(self.difference)
        if np.isnan(sizes).all():
            return None
        return tuple(map(int, np.unravel_index(np.nanargmax(sizes), sizes.shape)))

    @property
    def bound_there(self) -> float:
        """What rounding explains where the difference is largest."""
        return float("nan") if self.place is None else float(self.bound[self.place])

    @property
    def per_head(self) -> list[float]:
        """The largest difference of each head; NaN of a head that gave nothing else."""
        sizes = np.abs(self.difference)
        return [float("nan") if np.isnan(one).all() else float(np.nanmax(one)) for one in sizes]

    @property
    def nan_rows(self) -> list[int]:
        """The tokens in whose rows there is a NaN, of any head."""
        is_nan = np.isnan(self.values).any(axis=-1)  # (..., n_tokens)
        rows: list[int] = np.flatnonzero(is_nan.reshape(-1, is_nan.shape[-1]).any(axis=0)).tolist()
        return rows

    @property
    def is_within(self) -> bool:
        """Whether rounding explains every difference; what is NaN is not a number to explain."""
        sizes = np.abs(self.difference)
        return bool(np.all((sizes <= self.bound) | np.isnan(sizes)))


@dataclass(frozen=True, eq=False, slots=True)
class Passage:
    """One route: what it gave, or why it cannot."""

    gaps: Mapping[Stage, Gap]  # of the stages that it gives
    lacks: Mapping[Stage, Lack]  # of the others

    @property
    def lack(self) -> Lack | None:
        """Why the route cannot express the experiment, if it cannot."""
        return None if self.gaps else self.lacks["weights"]


@dataclass(frozen=True, eq=False, slots=True)
class Parity:
    """The experiment through all routes, in one precision."""

    experiment: Experiment  # as it was computed, with its mask or without
    trace: ExperimentTrace  # the reference
    precision: rounding.Float
    bounds: rounding.Bounds
    passages: Mapping[Route, Passage]

    @property
    def possible(self) -> list[Route]:
        """The routes that can express the experiment; `F.scaled_dot_product_attention` always."""
        return [route for route, passage in self.passages.items() if passage.gaps]

    @property
    def worst(self) -> tuple[Route, Stage]:
        """Where the largest difference is."""
        sizes = {
            (route, stage): gap.largest
            for route, passage in self.passages.items()
            for stage, gap in passage.gaps.items()
            if gap.place is not None
        }
        return max(sizes, key=sizes.__getitem__)

    @property
    def is_within(self) -> bool:
        """Whether rounding explains every difference, where both are numbers."""
        gaps = (gap for passage in self.passages.values() for gap in passage.gaps.values())
        return all(gap.is_within for gap in gaps)


def parity(
    e: Experiment, *, precision: rounding.Float = "float64", is_masked: bool = True
) -> Parity:
    """Compute the experiment through every route that can express it.

    Args:
        e: The experiment.
        precision: Of PyTorch; the reference is float64 in any case.
        is_masked: With the experiment's mask, or as if it had none.

    Raises:
        ChoiceError: There is no such precision.
    """
    if precision not in rounding.FLOATS:
        raise ChoiceError("precision", precision, rounding.FLOATS)
    e = e if is_masked else replace(e, mask=replace(e.mask, kinds=()))
    trace = e.trace()
    bounds = rounding.bounds(e, trace, precision)
    passages = {}
    for route in ROUTES:
        lack = _lack(e, route)
        if lack is not None:
            passages[route] = Passage({}, dict.fromkeys(STAGES, lack))
            continue
        with torch.no_grad():
            given = _THROUGH[route](e, _DTYPES[precision])
        gaps = {stage: _gap(trace, bounds, stage, given[stage]) for stage in given}
        lacks = {stage: _LACKS[route] for stage in STAGES if stage not in given}
        passages[route] = Passage(gaps, lacks)
    return Parity(e, trace, precision, bounds, passages)


def _lack(e: Experiment, route: Route) -> Lack | None:
    if route == "function":
        return None
    if route == "self_attention" and e.n_heads > 1:
        return "heads"
    if e.is_rotary:
        return "rotary"
    return "alibi" if e.encoding == "alibi" and route != "torch_layer" else None


def _gap(trace: ExperimentTrace, bounds: rounding.Bounds, stage: Stage, tensor: Tensor) -> Gap:
    attention = trace.attention
    reference: FloatArray = {
        "Q": attention.heads.Q,
        "K": attention.heads.K,
        "V": attention.heads.V,
        "weights": attention.heads.weights,
        "head_outputs": attention.head_outputs,
        "output": attention.output,
    }[stage]
    values: FloatArray = tensor.detach().to(torch.float64).numpy()
    return Gap(values, values - reference, getattr(bounds, stage))


# --- the routes


def _self_attention(e: Experiment, dtype: torch.dtype) -> _Numbers:
    layer, x, fit = to_self_attention(e, dtype=dtype), fitted_inputs(e, dtype=dtype), Fit.of(e)
    context, weights = layer(x, mask_of(e))
    given: dict[Stage, Tensor] = {
        "Q": layer.query(x)[..., : e.d_k] / fit.factor,
        "K": layer.key(x)[..., : e.d_k],
        "V": layer.value(x)[..., : e.d_k],
        "weights": weights,
        "head_outputs": context[..., : e.d_k],
    }
    return given if e.W_O is not None else given | {"output": context[0, :, : e.d_k]}


def _multi_head(e: Experiment, dtype: torch.dtype) -> _Numbers:
    layer, x, fit = to_multi_head(e, dtype=dtype), fitted_inputs(e, dtype=dtype), Fit.of(e)
    merged: list[Tensor] = []
    layer.out_proj.register_forward_pre_hook(lambda _, given: merged.append(given[0]))
    output, weights = layer(x, mask_of(e))
    Q, K, V = (layer.split(part)[0, ..., : e.d_k] for part in layer.in_proj(x).chunk(3, dim=-1))
    head_outputs = layer.split(merged[0])[0, ..., : e.d_k]
    return {
        "Q": Q / fit.factor,
        "K": K,
        "V": V,
        "weights": weights[0],
        "head_outputs": head_outputs,
        "output": output[0, :, : width_of(e)],
    }


def _function(e: Experiment, dtype: torch.dtype) -> _Numbers:
    given = leaves(e, dtype=dtype)
    steps = forward(e, given)
    one = torch.eye(e.n_tokens, dtype=dtype).expand(e.n_heads, -1, -1)  # mixes to the weights
    heads = in_one_call(e, steps, steps.V)
    side_by_side = heads.transpose(0, 1).flatten(-2)  # (n_tokens, n_heads * d_k)
    return {
        "Q": steps.Q,
        "K": steps.K,
        "V": steps.V,
        "weights": in_one_call(e, steps, one),
        "head_outputs": heads,
        "output": side_by_side if given.W_O is None else side_by_side @ given.W_O,
    }


def in_one_call(e: Experiment, steps: Steps, V: Tensor) -> Tensor:
    """`F.scaled_dot_product_attention` on the queries and keys of these steps.

    Args:
        e: Says the mask, the bias and the scaling.
        steps: From `forward`, of one sequence.
        V: (n_heads, n_tokens, d), what is mixed.

    Returns:
        (n_heads, n_tokens, d).
    """
    mask = additive(e, V.dtype) if e.encoding == "alibi" else mask_of(e)
    # One axis in front: (1, n_heads, n_tokens, d) is what the fast kernels are made for.
    Q, K, V = (each[None] for each in (steps.Q, steps.K, V))
    return F.scaled_dot_product_attention(Q, K, V, attn_mask=mask, scale=e.scale)[0]


def _torch_layer(e: Experiment, dtype: torch.dtype) -> _Numbers:
    layer, x = to_torch(e, dtype=dtype), fitted_inputs(e, dtype=dtype)
    allowed = mask_of(e)
    mask = None if allowed is None else ~allowed  # here True = blocked
    if e.encoding == "alibi":
        mask = additive(e, dtype)  # (B · H, T, T) with B = 1
    output, weights = layer(x, x, x, attn_mask=mask, average_attn_weights=False)
    return {"weights": weights[0], "output": output[0, :, : width_of(e)]}


_THROUGH: Mapping[Route, Callable[[Experiment, torch.dtype], _Numbers]] = {
    "self_attention": _self_attention,
    "multi_head": _multi_head,
    "function": _function,
    "torch_layer": _torch_layer,
}
_LACKS: Mapping[Route, Lack] = {
    "self_attention": "no_W_O",
    "multi_head": "inside",
    "function": "inside",
    "torch_layer": "inside",
}


def mask_of(e: Experiment) -> Tensor | None:
    """(n_tokens, n_tokens), True = may attend; None without any mask."""
    return torch.tensor(e.mask.allowed(e.n_tokens)) if e.mask.kinds else None


def additive(e: Experiment, dtype: torch.dtype) -> Tensor:
    """(n_heads, n_tokens, n_tokens): the bias, with -inf where a token may not attend."""
    bias = torch.tensor(e.trace().bias, dtype=dtype)
    allowed = mask_of(e)
    return bias if allowed is None else bias.masked_fill(~allowed, -torch.inf)


def width_of(e: Experiment) -> int:
    """How many columns the output has; a layer's own may have more, which are 0."""
    return e.n_heads * e.d_k if e.W_O is None else e.d_model

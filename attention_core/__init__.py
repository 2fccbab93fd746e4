"""Self-attention, computed step by step, with every step kept.

    >>> from attention_core import Experiment
    >>> Experiment.from_preset("apple").trace().attention.heads.weights.round(2)[0, 1]
    array([0.16, 0.66, 0.18])

NumPy only. Nothing here knows a screen or a language.
"""

from attention_core.attention import (
    AttentionTrace,
    scaled_dot_product_attention,
    self_attention,
)
from attention_core.blockwise import (
    blockwise_attention,
    dense_attention,
    windowed_attention,
)
from attention_core.errors import AttentionError
from attention_core.experiment import Experiment, ExperimentTrace, Mask
from attention_core.multi_head import (
    MultiHeadTrace,
    merge_heads,
    multi_head_attention,
    split_heads,
)
from attention_core.plain import from_plain, is_untouched, to_plain
from attention_core.presets import PRESETS
from attention_core.softmax import (
    SoftmaxTrace,
    entropy,
    naive_softmax,
    softmax,
    softmax_jacobian,
    softmax_trace,
)

__all__ = [
    "PRESETS",
    "AttentionError",
    "AttentionTrace",
    "Experiment",
    "ExperimentTrace",
    "Mask",
    "MultiHeadTrace",
    "SoftmaxTrace",
    "blockwise_attention",
    "dense_attention",
    "entropy",
    "from_plain",
    "is_untouched",
    "merge_heads",
    "multi_head_attention",
    "naive_softmax",
    "scaled_dot_product_attention",
    "self_attention",
    "softmax",
    "softmax_jacobian",
    "softmax_trace",
    "split_heads",
    "to_plain",
    "windowed_attention",
]

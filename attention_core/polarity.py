"""The same mask for PyTorch's two functions, which want opposite polarities.

    F.scaled_dot_product_attention(attn_mask=...)                 True = may attend
    nn.MultiheadAttention(attn_mask=..., key_padding_mask=...)    True = blocked

Nothing here imports PyTorch: the calls are written out as text.
Source: the reference of both functions, PyTorch 2.
"""

import numpy as np

from attention_core.arrays import BoolArray, as_bools

_CODE = """\
import torch
import torch.nn.functional as F

# q, k, v: (batch, {n}, d_k). True = may attend.
may_attend = torch.tensor({may_attend})
output = F.scaled_dot_product_attention(q, k, v, attn_mask=may_attend)

# mha = torch.nn.MultiheadAttention(d_model, n_heads, batch_first=True)
# x: (1, {n}, d_model). True = blocked.
is_blocked = torch.tensor({is_blocked})
is_padding = torch.tensor([{is_padding}])
output, weights = mha(x, x, x, attn_mask=is_blocked, key_padding_mask=is_padding)
"""


def blocked(allowed: BoolArray) -> BoolArray:
    """(n_q, n_k), True = blocked: the polarity of `nn.MultiheadAttention`."""
    inverted: BoolArray = ~as_bools("allowed", allowed)
    return inverted


def padded(allowed: BoolArray) -> BoolArray:
    """(n_k,), True for keys that every query is kept from: what `key_padding_mask` can say."""
    is_hidden: BoolArray = np.all(blocked(allowed), axis=0)
    return is_hidden


def pytorch_calls(allowed: BoolArray) -> str:
    """Both calls, with this mask as literals; q, k, v, mha and x are the reader's.

    Args:
        allowed: (n, n), True = may attend.
    """
    return _CODE.format(
        n=len(allowed),
        may_attend=_literal(allowed),
        is_blocked=_literal(blocked(allowed)),
        is_padding=_row(padded(allowed)),
    )


def _literal(table: BoolArray) -> str:
    rows = "".join(f"    {_row(row)},\n" for row in table)
    return f"[\n{rows}]"


def _row(row: BoolArray) -> str:
    return "[" + ", ".join(str(bool(cell)).rjust(5) for cell in row) + "]"

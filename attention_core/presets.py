"""Named starting points: small sets of numbers, each chosen to show one thing.

Only numbers and tokens live here; what a preset tells is said by the texts of the app.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import numpy as np

from attention_core.arrays import FloatArray, frozen

Encoding: TypeAlias = Literal["none", "sinusoidal", "learned", "rotary", "alibi"]
ENCODINGS: tuple[Encoding, ...] = ("none", "sinusoidal", "learned", "rotary", "alibi")


@dataclass(frozen=True, eq=False, slots=True)
class Preset:
    """The numbers an experiment starts from; None where the seed draws them.

    Shapes: X (n_tokens, d_model); W_Q, W_K, W_V (n_heads, d_model, d_k);
    W_O (n_heads * d_k, d_model).
    """

    tokens: tuple[str, ...]
    X: FloatArray | None
    W_Q: FloatArray | None
    W_K: FloatArray | None
    W_V: FloatArray | None
    W_O: FloatArray | None = None
    feature_names: tuple[str, ...] = ()
    encoding: Encoding = "none"
    d_model: int = field(default=4)
    d_k: int = field(default=4)
    n_heads: int = field(default=1)


def _preset(
    tokens: str,
    X: Any,
    *heads: tuple[Any, Any, Any],
    W_O: Any = None,
    feature_names: str = "",
    encoding: Encoding = "none",
) -> Preset:
    """Tokens and feature names separated by spaces; each head is (W_Q, W_K, W_V)."""
    W_Q, W_K, W_V = (_numbers(stack) for stack in zip(*heads, strict=True))
    n_heads, d_model, d_k = W_Q.shape
    return Preset(
        tuple(tokens.split()),
        _numbers(X),
        W_Q,
        W_K,
        W_V,
        None if W_O is None else _numbers(W_O),
        tuple(feature_names.split()),
        encoding,
        d_model,
        d_k,
        n_heads,
    )


def _numbers(values: Any) -> FloatArray:
    array: FloatArray = frozen(np.array(values, dtype=np.float64))
    return array


_APPLE_FEATURES = "fruit company action device food person"
_APPLE_VECTORS = {  # 苹果 is both a fruit and a company until its neighbours decide
    "苹果": [1, 1, 0, 0, 0, 0],
    "公司": [0, 1, 0, 0, 0, 0],
    "发布": [0, 0.5, 1, 0, 0, 0],
    "新款": [0, 0, 0, 0.5, 0, 0],
    "手机": [0, 0, 0, 1, 0, 0],
    "我": [0, 0, 0, 0, 0, 1],
    "想": [0, 0, 1, 0, 0, 0.5],
    "吃": [0, 0, 1, 0, 1, 0],
}
# Query: a word that could be fruit or company asks for evidence of either kind.
# Key: company and device are evidence of the one, food of the other; fruit takes back what
# company gives, so 苹果 is no evidence for itself.
# Value and W_O: evidence of either kind is written back as fruit or as company.
_APPLE_HEAD = (
    [[2, 2], [2, 2], [0, 0], [0, 0], [0, 0], [0, 0]],
    [[-1, 0], [1, 0], [0, 0], [1, 0], [0, 1.5], [0, 0]],
    [[0.5, 0], [0, 0.5], [0, 0], [0, 1], [1, 0], [0, 0]],
)
_APPLE_W_O = [[1, 0, 0, 0, 0, 0], [0, 1, 0, 0, 0, 0]]


def _apple(tokens: str) -> Preset:
    return _preset(
        tokens,
        [_APPLE_VECTORS[token] for token in tokens.split()],
        _APPLE_HEAD,
        W_O=_APPLE_W_O,
        feature_names=_APPLE_FEATURES,
    )


_I2, _I4 = np.eye(2), np.eye(4)
_COS1, _SIN1 = np.cos(1.0).round(4), np.sin(1.0).round(4)

PRESETS: Mapping[str, Preset] = {
    # Worked through on paper in many courses; every number of it is tested.
    "apple": _preset(
        "我 喜欢 苹果",
        [[1, 0], [1, 1], [0.1, 1]],
        (_I2, np.ones((2, 2)), [[1, 0], [1, 1]]),
    ),
    # 猫 gives 0.3, 0.6, 0.1: the scaled scores are ln 0.3, ln 0.6, ln 0.1 up to a constant,
    # so the keys are 0, √2 ln 2 = 0.980 and -√2 ln 3 = -1.554 along its query.
    "cat": _preset(
        "猫 追 老鼠",
        [[1, 0, 0], [0, 1, 0], [1, 0, 1]],
        (
            [[1, 0], [0, 1], [0, 1]],
            [[0, 0.5], [0.98, 0], [-1.554, 0.5]],
            [[1, 0], [0, 1], [0, -1]],
        ),
        feature_names="animal action small",
    ),
    "apple_company": _apple("苹果 公司 发布 新款 手机"),
    "apple_fruit": _apple("我 想 吃 苹果"),
    # Two words occur twice: without positions, equal words get equal rows.
    "repeated": _preset(
        "the cat saw the cat",
        [[0, 1, 0], [1, 0, 0.5], [0, 0, 1.5], [0, 1, 0], [1, 0, 0.5]],
        (
            [[1, 0.5], [1, 0], [0, 1]],
            [[1, 0], [0, -0.5], [0.5, 1]],
            [[1, 0], [0, 1], [0.5, -1]],
        ),
        feature_names="noun article verb",
    ),
    # The sines of position p turned back by one position equal those of p - 1.
    "previous_token": _preset(
        "the cat saw the cat",
        [[0, 0, 0, 1], [0, 0, 1, 0], [0, 0, 1, 1], [0, 0, 0, 1], [0, 0, 1, 0]],
        (
            24 * np.array([[_COS1, _SIN1], [-_SIN1, _COS1], [0, 0], [0, 0]]),
            [[1, 0], [0, 1], [0, 0], [0, 0]],
            [[0, 0], [0, 0], [1, 0], [0, 1]],
        ),
        encoding="sinusoidal",
    ),
    # Four directions at right angles: each query matches its own key alone.
    "identity": _preset("north east south west", _I4, (4 * _I4, 4 * _I4, _I4)),
    # All queries are 0, so all scores are: the output is the mean of the values.
    "uniform": _preset(
        "red green blue white",
        [[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 1]],
        (np.zeros((3, 3)), np.eye(3), np.eye(3)),
        feature_names="red green blue",
    ),
    "random": Preset(("the", "quick", "brown", "fox"), None, None, None, None),
}

DEFAULT_PRESET = "apple"

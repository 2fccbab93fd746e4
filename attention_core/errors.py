"""Everything that can be wrong with the input, each as its own type with fields.

The core speaks no language: a page catches `AttentionError` and phrases it for its reader
from the fields. The English message is for people who use the core in code.
"""

from collections.abc import Sequence


class AttentionError(Exception):
    """Some input cannot be computed with. The base of all errors of the core."""


class ShapeError(AttentionError):
    """An array has the wrong number of axes, or one axis has the wrong size."""

    def __init__(self, name: str, expected: tuple[int | str, ...], actual: tuple[int, ...]) -> None:
        self.name, self.expected, self.actual = name, expected, actual
        wanted = ", ".join(map(str, expected)) + ("," if len(expected) == 1 else "")
        super().__init__(f"{name} must have shape ({wanted}), got {actual}")


class DtypeError(AttentionError):
    """An array holds another kind of value than the one asked for."""

    def __init__(self, name: str, wanted: str, actual: str) -> None:
        self.name, self.wanted, self.actual = name, wanted, actual
        super().__init__(f"{name} must hold {wanted}, got {actual}")


class NotFiniteError(AttentionError):
    """A number that must be finite is NaN or infinite."""

    def __init__(self, name: str, index: tuple[int, ...]) -> None:
        self.name, self.index = name, index
        super().__init__(f"{name} must be finite, but is not at index {index}")


class EmptyRowError(AttentionError):
    """A row has nothing to attend to, so its softmax would be 0/0."""

    def __init__(self, rows: Sequence[tuple[int, ...]]) -> None:
        self.rows = tuple(rows)
        listed = ", ".join(map(str, self.rows[:5])) + (", ..." if len(self.rows) > 5 else "")
        super().__init__(f"softmax needs at least one score above -inf in rows {listed}")


class ForbiddenError(AttentionError):
    """Weights are asked for where the mask forbids any."""

    def __init__(self, cells: Sequence[Sequence[int]]) -> None:
        self.cells = tuple((int(query), int(key)) for query, key in cells)
        listed = ", ".join(map(str, self.cells[:5])) + (", ..." if len(self.cells) > 5 else "")
        super().__init__(f"the mask forbids (query, key) {listed}, which the target asks for")


class RangeError(AttentionError):
    """A number lies outside the limits."""

    def __init__(self, name: str, value: float, low: float, high: float) -> None:
        self.name, self.value, self.low, self.high = name, value, low, high
        super().__init__(f"{name} must lie between {low} and {high}, got {value}")


class ChoiceError(AttentionError):
    """A name is none of those offered."""

    def __init__(self, name: str, value: object, choices: Sequence[str]) -> None:
        self.name, self.value, self.choices = name, value, tuple(choices)
        super().__init__(f"{name} must be one of {', '.join(self.choices)}, got {value!r}")


class DivisibilityError(AttentionError):
    """One count must be a multiple of another."""

    def __init__(self, name: str, value: int, divisor_name: str, divisor: int) -> None:
        self.name, self.value = name, value
        self.divisor_name, self.divisor = divisor_name, divisor
        super().__init__(f"{name} must be a multiple of {divisor_name}, got {value} and {divisor}")


class WidthError(AttentionError):
    """The output of all heads side by side is not as wide as X, so it cannot take its place."""

    def __init__(self, n_heads: int, d_k: int, d_model: int) -> None:
        self.n_heads, self.d_k, self.d_model = n_heads, d_k, d_model
        self.width = n_heads * d_k
        super().__init__(
            f"n_heads * d_k must be d_model to become X, "
            f"got {n_heads} * {d_k} = {self.width} and {d_model}"
        )


class TokenError(AttentionError):
    """A token's text cannot be shown as a label."""

    def __init__(self, index: int, reason: str) -> None:
        self.index, self.reason = index, reason
        super().__init__(f"token {index}: {reason}")


class FieldError(AttentionError):
    """A field of an experiment's plain data is missing, unknown or malformed."""

    def __init__(self, field: str, reason: str) -> None:
        self.field, self.reason = field, reason
        super().__init__(f"{field}: {reason}")


class FileKindError(AttentionError):
    """A file is of another kind than the one asked for."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        super().__init__(f"the file must be a sound safetensors file, is of kind {kind}")

"""The experiment: everything a learner can edit, frozen, with the trace it gives.

An experiment shows the upper left part of a canvas that always has the largest size. What lies
outside is kept, so a resize loses nothing; what was never touched is drawn from the seed and
its place on the canvas, so it is the same for every learner.
"""

import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Self, TypeAlias

import numpy as np
import numpy.typing as npt

from attention_core import masks, positions
from attention_core.arrays import BoolArray, FloatArray, as_floats, check_finite, frozen
from attention_core.canvas import (
    MATRICES,
    MAX_D_K,
    MAX_D_MODEL,
    MAX_HEADS,
    MAX_SEED,
    MAX_TOKENS,
    Canvas,
    Sizes,
    check_count,
    drawn,
    learned_positions,
)
from attention_core.errors import (
    ChoiceError,
    DivisibilityError,
    RangeError,
    ShapeError,
    TokenError,
)
from attention_core.heads import pooled
from attention_core.multi_head import (
    MultiHeadTrace,
    merge_heads,
    multi_head_attention,
    split_heads,
)
from attention_core.presets import DEFAULT_PRESET, ENCODINGS, PRESETS, Encoding

MAX_VALUE = 1e6  # five matrix products of this size stay far from overflow
MAX_TOKEN_LENGTH = 200

MaskKind: TypeAlias = Literal["causal", "padding", "window", "painted"]
MASK_KINDS: tuple[MaskKind, ...] = ("causal", "padding", "window", "painted")

Painted: TypeAlias = tuple[int, int, bool]
"""A cell of the mask set by hand: query, key, and whether that query may attend to that key."""


@dataclass(frozen=True, slots=True)
class Mask:
    """Which masks are on, and their sizes; sizes of masks that are off are remembered.

    Painted cells are exceptions to all the others: they hold whatever else is on.
    """

    kinds: tuple[MaskKind, ...] = ()
    n_padding: int = 1  # how many tokens at the end are filling
    before: int = 1  # how many tokens the window reaches back, the token itself not counted
    after: int = 1
    painted: tuple[Painted, ...] = ()  # in order, each cell at most once

    def __post_init__(self) -> None:
        for kind in self.kinds:
            if kind not in MASK_KINDS:
                raise ChoiceError("mask", kind, MASK_KINDS)
        ordered = tuple(kind for kind in MASK_KINDS if kind in self.kinds)
        object.__setattr__(self, "kinds", ordered)
        for name in ("n_padding", "before", "after"):
            count = check_count(name, getattr(self, name), 0, MAX_TOKENS)
            object.__setattr__(self, name, count)
        cells = {}
        for *cell, is_allowed in self.painted:
            query, key = (check_count("painted", place, 0, MAX_TOKENS - 1) for place in cell)
            cells[query, key] = bool(is_allowed)
        painted = tuple((*cell, is_allowed) for cell, is_allowed in sorted(cells.items()))
        object.__setattr__(self, "painted", painted)

    def only(self, kind: MaskKind) -> Self:
        """This one mask alone, at the same sizes."""
        return replace(self, kinds=(kind,))

    def allowed(self, n_tokens: int) -> BoolArray:
        """(n_tokens, n_tokens), True = may attend: what all masks that are on allow."""
        built = {
            "causal": lambda: masks.causal(n_tokens),
            "padding": lambda: masks.padding(np.arange(n_tokens) < n_tokens - self.n_padding),
            "window": lambda: masks.window(n_tokens, self.before, self.after),
        }
        everything = np.ones((n_tokens, n_tokens), dtype=bool)
        rules = [built[kind]() for kind in self.kinds if kind != "painted"]
        allowed = masks.combine(everything, *rules)
        if "painted" in self.kinds:
            for query, key, is_allowed in self.painted:
                if max(query, key) < n_tokens:
                    allowed[query, key] = is_allowed
        return allowed

    def with_painted(
        self, cells: Iterable[tuple[int, int]], is_allowed: bool, n_tokens: int
    ) -> Self:
        """These cells allowed or forbidden by hand; one that the rules give anyway is let go.

        Cells painted before stay only while "painted" is on: what is not seen does not come back.
        """
        rules = replace(self, kinds=tuple(kind for kind in self.kinds if kind != "painted"))
        by_rule = rules.allowed(n_tokens)
        kept = self.painted if "painted" in self.kinds else ()
        painted = {(query, key): flag for query, key, flag in kept}
        for cell in cells:
            painted.pop(cell, None)
            if by_rule[cell] != is_allowed:
                painted[cell] = is_allowed
        exceptions = tuple((*cell, flag) for cell, flag in painted.items())
        return replace(self, kinds=(*rules.kinds, "painted"), painted=exceptions)

    def moved(self, order: Sequence[int]) -> Self:
        """Painted cells go with their tokens; token order[i] comes to stand at place i."""
        place = {token: i for i, token in enumerate(order)}
        painted = tuple((place[q], place[k], flag) for q, k, flag in self.painted)
        return replace(self, painted=painted)


@dataclass(frozen=True, eq=False, slots=True)
class ExperimentTrace:
    """Every step from X to the output."""

    X: FloatArray  # (n_tokens, d_model)
    positions: FloatArray | None  # (n_tokens, d_model), added to X; None if nothing is
    inputs: FloatArray  # (n_tokens, d_model)  X + positions
    bias: FloatArray | None  # (n_heads, n_tokens, n_tokens), added to the scaled scores
    attention: MultiHeadTrace


@dataclass(frozen=True, eq=False)
class Experiment:
    """All that a learner edits, valid from the moment it is made.

    Args:
        tokens: 1 to 12 texts; repeated ones are fine.
        X: (n_tokens, d_model), the token vectors; d_model from 1 to 8.
        W_Q, W_K, W_V: (n_heads, d_model, d_k); 1 to 8 heads, d_k from 1 to 8.
        W_O: (n_heads * d_k, d_model), or None for no output projection.
        feature_names: d_model names for the columns of X, "" for none; or ().
        mask: Who may attend to whom.
        is_scaled: Whether scores are divided by √d_k.
        encoding: How positions are told.
        seed: Draws every number that nobody chose.
        preset: Where the experiment started; `plain.to_plain` holds what differs from it.
        canvas: What lies outside the shown part; None draws it from the seed.

    Raises:
        ShapeError, DtypeError, NotFiniteError, RangeError, ChoiceError, TokenError: As named.
    """

    tokens: tuple[str, ...]
    X: FloatArray
    W_Q: FloatArray
    W_K: FloatArray
    W_V: FloatArray
    W_O: FloatArray | None = None
    feature_names: tuple[str, ...] = ()
    mask: Mask = field(default_factory=Mask)
    is_scaled: bool = True
    encoding: Encoding = "none"
    seed: int = 0
    preset: str = "random"
    canvas: Canvas = None  # type: ignore[assignment]  # __post_init__ always sets it

    # --- sizes

    @property
    def n_tokens(self) -> int:
        return len(self.tokens)

    @property
    def d_model(self) -> int:
        return int(self.X.shape[-1])

    @property
    def n_heads(self) -> int:
        return int(self.W_Q.shape[0])

    @property
    def d_k(self) -> int:
        return int(self.W_Q.shape[-1])

    @property
    def sizes(self) -> Sizes:
        return Sizes(self.n_tokens, self.d_model, self.d_k, self.n_heads)

    @property
    def scale(self) -> float:
        """What the scores are multiplied by."""
        return float(1 / np.sqrt(self.d_k)) if self.is_scaled else 1.0

    @property
    def is_rotary(self) -> bool:
        """Whether positions are told by turning queries and keys."""
        return self.encoding == "rotary"

    # --- making one

    def __post_init__(self) -> None:
        set_field = object.__setattr__
        set_field(self, "seed", check_count("seed", self.seed, 0, MAX_SEED))
        set_field(self, "is_scaled", bool(self.is_scaled))
        if self.preset not in PRESETS:
            raise ChoiceError("preset", self.preset, tuple(PRESETS))
        if self.encoding not in ENCODINGS:
            raise ChoiceError("encoding", self.encoding, ENCODINGS)
        tokens = tuple(self.tokens)
        check_count("n_tokens", len(tokens), 1, MAX_TOKENS)
        for index, token in enumerate(tokens):
            check_token(index, token)
        set_field(self, "tokens", tokens)

        X = _checked("X", self.X, (len(tokens), "d_model"))
        d_model = check_count("d_model", X.shape[1], 1, MAX_D_MODEL)
        W_Q = _checked("W_Q", self.W_Q, ("n_heads", d_model, "d_k"))
        n_heads = check_count("n_heads", W_Q.shape[0], 1, MAX_HEADS)
        d_k = check_count("d_k", W_Q.shape[2], 1, MAX_D_K)
        set_field(self, "X", X)
        set_field(self, "W_Q", W_Q)
        set_field(self, "W_K", _checked("W_K", self.W_K, (n_heads, d_model, d_k)))
        set_field(self, "W_V", _checked("W_V", self.W_V, (n_heads, d_model, d_k)))
        if self.W_O is not None:
            set_field(self, "W_O", _checked("W_O", self.W_O, (n_heads * d_k, d_model)))
        names = tuple(self.feature_names) if any(self.feature_names) else ()
        for index, name in enumerate(names):
            if name:
                check_token(index, name)
        if names and len(names) != d_model:
            raise ShapeError("feature_names", (d_model,), (len(names),))
        set_field(self, "feature_names", names)
        base = self.canvas or drawn(self.seed)
        shown = (getattr(self, name) for name in ("tokens", "feature_names", *MATRICES))
        set_field(self, "canvas", base.pasted(*shown))

    @classmethod
    def from_preset(cls, name: str = DEFAULT_PRESET, *, seed: int = 0) -> Self:
        """The named starting point, with everything it leaves open drawn from the seed.

        Raises:
            ChoiceError: There is no such preset.
        """
        if name not in PRESETS:
            raise ChoiceError("preset", name, tuple(PRESETS))
        check_count("seed", seed, 0, MAX_SEED)
        preset, canvas = PRESETS[name], drawn(seed)
        sizes = Sizes(len(preset.tokens), preset.d_model, preset.d_k, preset.n_heads)
        given: dict[str, Any] = {
            matrix: getattr(preset, matrix)
            for matrix in MATRICES
            if getattr(preset, matrix) is not None
        }
        shown = canvas.shown(sizes) | {"W_O": None} | given
        named = {"tokens": preset.tokens, "feature_names": preset.feature_names}
        return cls(
            **(shown | named), encoding=preset.encoding, seed=seed, preset=name, canvas=canvas
        )

    # --- what it gives

    def trace(self, *, n_kv_heads: int | None = None) -> ExperimentTrace:
        """Compute every step; a query that may attend to nothing gets weights and output 0.

        Args:
            n_kv_heads: How many key/value heads the query heads share, each the mean of its group;
                None leaves every head its own.

        Raises:
            RangeError, DivisibilityError: As in `heads.pooled`.
        """
        return self.trace_of(self.X, n_kv_heads=n_kv_heads)

    def trace_of(self, X: FloatArray, *, n_kv_heads: int | None = None) -> ExperimentTrace:
        """The same steps for other token vectors, with all that goes by place where it is.

        Args:
            X: (..., n_tokens, d_model), as many at once as there are leading axes; each step
                then has these axes, too.
            n_kv_heads: As in `trace`.
        """
        kept = self.n_heads if n_kv_heads is None else n_kv_heads
        n_tokens, n_heads = self.n_tokens, self.n_heads
        table = self._position_table()
        inputs = X if table is None else X + table
        bias = None
        if self.encoding == "alibi":
            bias = positions.alibi_bias(n_tokens, n_tokens, positions.alibi_slopes(n_heads))
        attention = multi_head_attention(
            inputs,
            self.W_Q,
            pooled(self.W_K, kept),
            pooled(self.W_V, kept),
            self.W_O,
            allowed=self.mask.allowed(n_tokens),
            bias=bias,
            scale=self.scale,
            empty_rows="zeros",
            rotate=positions.rotary if self.is_rotary else None,
        )
        return ExperimentTrace(X, table, inputs, bias, attention)

    def _position_table(self) -> FloatArray | None:
        if self.encoding == "sinusoidal":
            return positions.sinusoidal(self.n_tokens, self.d_model)
        if self.encoding == "learned":
            return learned_positions(self.seed)[: self.n_tokens, : self.d_model]
        return None

    # --- changes, each a new experiment

    def resized(
        self,
        *,
        n_tokens: int | None = None,
        d_model: int | None = None,
        d_k: int | None = None,
        n_heads: int | None = None,
    ) -> Self:
        """Show another part of the canvas; coming back gives the same numbers.

        Raises:
            RangeError: A size is outside its limits.
        """
        wanted = {"n_tokens": n_tokens, "d_model": d_model, "d_k": d_k, "n_heads": n_heads}
        given = {name: size for name, size in wanted.items() if size is not None}
        sizes = self.sizes._replace(**given)
        return self.showing(self.canvas, sizes, has_W_O=self.W_O is not None)

    def with_output_projection(self, is_on: bool) -> Self:
        """With or without W_O; its numbers are kept while it is off."""
        return self.showing(self.canvas, self.sizes, has_W_O=is_on)

    def with_heads(self, n_heads: int) -> Self:
        """The width d_model shared among so many heads, d_k = d_model / n_heads each.

        Where the heads fill the width already, the same fused weights are cut anew, so that no
        projection changes and going back gives the same heads; else d_k follows as in `resized`.

        Raises:
            RangeError: n_heads or the d_k that follows is outside its limits.
            DivisibilityError: d_model is no multiple of n_heads.
        """
        check_count("n_heads", n_heads, 1, MAX_HEADS)
        d_model = self.d_model
        if d_model % n_heads:
            raise DivisibilityError("d_model", d_model, "n_heads", n_heads)
        if self.n_heads * self.d_k != d_model:
            return self.resized(n_heads=n_heads, d_k=d_model // n_heads)
        cut: dict[str, Any] = {
            name: split_heads(merge_heads(getattr(self, name)), n_heads)
            for name in ("W_Q", "W_K", "W_V")
        }
        return replace(self, **cut)

    def with_cell(self, matrix: str, index: tuple[int, ...], value: float) -> Self:
        """One number replaced; as `with_block` with a single number."""
        return self.with_block(matrix, index, [[value]])

    def with_block(self, matrix: str, index: tuple[int, ...], values: npt.ArrayLike) -> Self:
        """A block of numbers replaced, all or none.

        Args:
            matrix: "X", "W_Q", "W_K", "W_V" or "W_O".
            index: (row, column) of the upper left cell, or (head, row, column) for the
                per-head weights.
            values: (rows, columns), finite, at most a million in size.

        Raises:
            ChoiceError: There is no such matrix here.
            ShapeError: The index does not point at one of its cells, or the block does not fit
                from there on.
            NotFiniteError, RangeError: A value is not allowed.
        """
        present = tuple(name for name in MATRICES if getattr(self, name) is not None)
        if matrix not in present:
            raise ChoiceError("matrix", matrix, present)
        array = getattr(self, matrix).copy()
        inside = len(index) == array.ndim and all(
            0 <= i < size for i, size in zip(index, array.shape, strict=True)
        )
        if not inside:
            raise ShapeError("index", tuple(f"0..{n - 1}" for n in array.shape), tuple(index))
        *head, row, column = index
        block = as_floats("values", values, ("rows", "columns"), may_lead=False)
        room = array[(*head, slice(row, None), slice(column, None))].shape
        if block.size == 0 or block.shape[0] > room[0] or block.shape[1] > room[1]:
            raise ShapeError("values", tuple(f"1..{n}" for n in room), block.shape)
        rows, columns = block.shape
        array[(*head, slice(row, row + rows), slice(column, column + columns))] = block
        return replace(self, **{matrix: array})

    def with_painted(self, cells: Iterable[tuple[int, int]], is_allowed: bool) -> Self:
        """Cells of the mask allowed or forbidden by hand, whatever the other masks say.

        Args:
            cells: (query, key) each.
            is_allowed: Whether these queries may attend to these keys.

        Raises:
            RangeError: There is no token at one of these places.
        """
        cells = list(cells)
        for place in (place for cell in cells for place in cell):
            check_count("index", place, 0, self.n_tokens - 1)
        return replace(self, mask=self.mask.with_painted(cells, is_allowed, self.n_tokens))

    def with_token_renamed(self, index: int, token: str) -> Self:
        """Another text for one token; its vector stays.

        Raises:
            RangeError: There is no token of this index.
            TokenError: The text cannot be shown.
        """
        check_count("index", index, 0, self.n_tokens - 1)
        tokens = (*self.tokens[:index], token, *self.tokens[index + 1 :])
        return replace(self, tokens=tokens)

    def with_token_added(self) -> Self:
        """One more token at the end: the last one removed, or one drawn from the seed.

        Raises:
            RangeError: There are 12 already.
        """
        return self.resized(n_tokens=self.n_tokens + 1)

    def without_token(self, index: int) -> Self:
        """One token less; it waits behind the last one shown, so adding brings it back.

        Raises:
            RangeError: There is no token of this index, or it is the last one left.
        """
        check_count("index", index, 0, self.n_tokens - 1)
        others = [i for i in range(self.n_tokens) if i != index]
        order = [*others, index, *range(self.n_tokens, MAX_TOKENS)]
        full = self.canvas
        canvas = replace(full, tokens=tuple(full.tokens[i] for i in order), X=full.X[order])
        sizes = self.sizes._replace(n_tokens=self.n_tokens - 1)
        rest = replace(self, mask=self.mask.moved(order))
        return rest.showing(canvas, sizes, has_W_O=self.W_O is not None)

    def randomized(self, seed: int) -> Self:
        """All numbers drawn anew from this seed; tokens, sizes and settings stay.

        Raises:
            RangeError: The seed is not from 0 to 2**32 - 1.
        """
        check_count("seed", seed, 0, MAX_SEED)
        canvas = replace(drawn(seed), tokens=self.canvas.tokens)
        start = replace(self, seed=seed, preset="random", feature_names=())
        return start.showing(canvas, self.sizes, has_W_O=self.W_O is not None)

    def showing(self, canvas: Canvas, sizes: Sizes, *, has_W_O: bool) -> Self:
        """The same settings on another canvas, of which another part may be shown."""
        sizes.check()
        shown: dict[str, Any] = canvas.shown(sizes)
        if not has_W_O:
            shown["W_O"] = None
        return replace(self, **shown, canvas=canvas)


def _checked(name: str, value: npt.ArrayLike, shape: tuple[int | str, ...]) -> FloatArray:
    array = as_floats(name, value, shape, may_lead=False)
    check_finite(name, array)
    if array.size and np.abs(array).max() > MAX_VALUE:
        worst = float(array.flat[np.abs(array).argmax()])
        raise RangeError(name, worst, -MAX_VALUE, MAX_VALUE)
    checked: FloatArray = frozen(array + 0.0)  # a typed -0 is 0
    return checked


def check_token(index: int, token: str) -> None:
    """Raise TokenError unless the text can be shown on one line and seen."""
    categories = [unicodedata.category(character) for character in token]
    if any(category in ("Cc", "Cs", "Zl", "Zp") for category in categories):
        raise TokenError(index, "holds control characters")
    if all(category in ("Zs", "Cf") for category in categories):
        raise TokenError(index, "is empty")
    if len(token) > MAX_TOKEN_LENGTH:
        raise TokenError(index, f"is longer than {MAX_TOKEN_LENGTH} characters")

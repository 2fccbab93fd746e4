"""An experiment as plain data: what JSON can hold, small, and checked on the way back.

Only preset, seed and what differs from them is written, so the data of an untouched
experiment is three fields long, and it is what a link carries.
"""

from collections.abc import Mapping
from dataclasses import asdict, replace
from functools import lru_cache
from typing import Any

import numpy as np

from attention_core.arrays import FloatArray
from attention_core.canvas import MATRICES, MAX_TOKENS, Sizes
from attention_core.errors import FieldError, TokenError
from attention_core.experiment import MAX_VALUE, Experiment, Painted, check_token

VERSION = 1
_LONGEST_NAME = 40  # a longer one is none of ours, and would flood the message that quotes it

_START = ("version", "preset", "seed")  # the fields every experiment has

_FIELDS: dict[str, type] = {
    "version": int,
    "preset": str,
    "seed": int,
    "n_tokens": int,
    "d_model": int,
    "d_k": int,
    "n_heads": int,
    "is_scaled": bool,
    "encoding": str,
    "has_W_O": bool,
    "mask": dict,
    "tokens": dict,
    "feature_names": dict,
    **dict.fromkeys(MATRICES, dict),
}
_MASK_FIELDS: dict[str, type] = {
    "kinds": list,
    "n_padding": int,
    "before": int,
    "after": int,
    "painted": dict,
}


def to_plain(experiment: Experiment) -> dict[str, Any]:
    """The experiment as JSON-ready data; `from_plain` gives it back exactly.

    Returns:
        "version", "preset", "seed", and of all other fields those that differ from what preset
        and seed give. Texts, matrices and painted cells are written as {place on the canvas:
        value}, hidden ones included.
    """
    start = _start(experiment.preset, experiment.seed)
    plain: dict[str, Any] = {
        "version": VERSION,
        "preset": experiment.preset,
        "seed": experiment.seed,
    }
    changes: dict[str, Any] = {
        name: getattr(experiment, name)
        for name in ("is_scaled", "encoding")
        if getattr(experiment, name) != getattr(start, name)
    }
    changes |= _changed(experiment.sizes._asdict(), start.sizes._asdict())
    if (experiment.W_O is None) != (start.W_O is None):
        changes["has_W_O"] = experiment.W_O is not None
    changes["mask"] = _changed(asdict(experiment.mask), asdict(start.mask))
    if "kinds" in changes["mask"]:
        changes["mask"]["kinds"] = list(experiment.mask.kinds)
    if "painted" in changes["mask"]:
        cells = experiment.mask.painted
        changes["mask"]["painted"] = {str(q * MAX_TOKENS + k): flag for q, k, flag in cells}
    for name in ("tokens", "feature_names"):
        mine, other = getattr(experiment.canvas, name), getattr(start.canvas, name)
        changes[name] = {str(i): text for i, text in enumerate(mine) if text != other[i]}
    for name in MATRICES:
        mine, other = (getattr(e.canvas, name).ravel() for e in (experiment, start))
        changes[name] = {str(i): float(mine[i]) for i in np.flatnonzero(mine != other)}
    return plain | {name: value for name, value in changes.items() if value != {}}


def is_untouched(plain: Mapping[str, Any]) -> bool:
    """Whether plain data says nothing but where the experiment starts."""
    return set(plain) == set(_START)


def from_plain(plain: Mapping[str, Any]) -> Experiment:
    """The experiment that `to_plain` described, every field checked.

    Raises:
        FieldError: A field is missing, unknown or malformed; the error names it.
        AttentionError: A value is outside the limits of an experiment.
    """
    _check_fields(plain)
    start = Experiment.from_preset(plain["preset"], seed=plain["seed"])
    changed: dict[str, Any] = {
        name: _with_texts(name, getattr(start.canvas, name), plain.get(name, {}))
        for name in ("tokens", "feature_names")
    }
    for name in MATRICES:
        changed[name] = _with_numbers(name, getattr(start.canvas, name), plain.get(name, {}))
    sizes = Sizes(*(plain.get(name, size) for name, size in start.sizes._asdict().items()))
    experiment = start.showing(
        replace(start.canvas, **changed), sizes, has_W_O=plain.get("has_W_O", start.W_O is not None)
    )
    mask = dict(plain.get("mask", {}))
    if "kinds" in mask:
        mask["kinds"] = tuple(mask["kinds"])
    if "painted" in mask:
        mask["painted"] = _painted(mask["painted"])
    return replace(
        experiment,
        mask=replace(start.mask, **mask),
        is_scaled=plain.get("is_scaled", start.is_scaled),
        encoding=plain.get("encoding", start.encoding),
    )


@lru_cache(maxsize=64)
def _start(preset: str, seed: int) -> Experiment:
    return Experiment.from_preset(preset, seed=seed)


def _changed(mine: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in mine.items() if value != other[name]}


def _check_fields(plain: Mapping[str, Any]) -> None:
    if not isinstance(plain, Mapping):
        raise FieldError("experiment", "must be an object")
    for name in _START:
        if name not in plain:
            raise FieldError(name, "is missing")
    _check_types({"version": plain["version"]}, _FIELDS)
    if plain["version"] != VERSION:  # before the fields, which may be new
        raise FieldError("version", f"must be {VERSION}")
    _check_types(plain, _FIELDS)
    _check_types(plain.get("mask", {}), _MASK_FIELDS, prefix="mask.")


def _check_types(plain: Mapping[str, Any], types: Mapping[str, type], prefix: str = "") -> None:
    for name, value in plain.items():
        if name not in types:
            raise FieldError(as_field(f"{prefix}{name}"), "is unknown")
        if type(value) is not types[name]:  # not isinstance: True is no count
            raise FieldError(f"{prefix}{name}", f"must be {types[name].__name__}")
        quoted = value if isinstance(value, list) else [value] if isinstance(value, str) else []
        if not all(map(_can_be_quoted, quoted)):
            raise FieldError(f"{prefix}{name}", "is too long or cannot be shown")


def as_field(name: object) -> str:
    """The name of a field as a message can quote it: cut off, and nothing invisible in it."""
    whole = str(name)[:_LONGEST_NAME]
    return "".join(character if character.isprintable() else "\ufffd" for character in whole)


def _can_be_quoted(value: object) -> bool:
    return len(str(value)) <= _LONGEST_NAME and str(value).isprintable()


def _with_texts(name: str, texts: tuple[str, ...], changes: Mapping[str, Any]) -> tuple[str, ...]:
    changed = list(texts)
    for key, text in changes.items():
        index = _checked_index(name, key, len(changed))
        if not isinstance(text, str):
            raise FieldError(f"{name}.{key}", "must be a text")
        if text or name == "tokens":  # a feature may have no name
            try:
                check_token(index, text)
            except TokenError as error:
                raise FieldError(f"{name}.{key}", error.reason) from error
        changed[index] = text
    return tuple(changed)


def _with_numbers(name: str, array: FloatArray, changes: Mapping[str, Any]) -> FloatArray:
    changed = array.copy()
    for key, value in changes.items():
        index = _checked_index(name, key, changed.size)
        if type(value) not in (int, float) or not abs(value) <= MAX_VALUE:
            raise FieldError(f"{name}.{key}", f"must be a number of at most {MAX_VALUE:g}")
        changed.flat[index] = value
    return changed


def _painted(cells: Mapping[str, Any]) -> tuple[Painted, ...]:
    painted = []
    for key, is_allowed in cells.items():
        place = _checked_index("mask.painted", key, MAX_TOKENS**2)
        if type(is_allowed) is not bool:
            raise FieldError(f"mask.painted.{key}", "must be bool")
        painted.append((*divmod(place, MAX_TOKENS), is_allowed))
    return tuple(painted)


def _checked_index(name: str, key: object, size: int) -> int:
    field = f"{name}.{as_field(key)}"
    is_index = isinstance(key, str) and key.isascii() and key.isdigit() and len(key) <= 4
    if not is_index or str(int(str(key))) != key:  # one spelling for each place
        raise FieldError(field, "must be an index")
    if int(key) >= size:
        raise FieldError(field, f"must be an index below {size}")
    return int(key)

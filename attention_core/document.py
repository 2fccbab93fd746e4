"""An experiment as a JSON file: what is saved, and what anyone's file is allowed to be.

The file holds the plain data of `plain`. Reading trusts nothing: the size is looked at before
the text, every name may stand once, and whatever is wrong is told by the name of its field.
"""

import json
from typing import Any

from attention_core.errors import FieldError, RangeError
from attention_core.experiment import Experiment
from attention_core.plain import as_field, from_plain, to_plain

MOST_BYTES = 2**18  # the largest experiment, every number changed, takes less than half of it
_MOST_DIGITS = 20  # of an integer; Python refuses thousands without a word about where


class _Pairs(list[tuple[str, Any]]):
    """An object as it stands in the file, where a name may stand twice."""


def to_json(experiment: Experiment) -> str:
    """The text of the file; `from_json` gives the experiment back exactly."""
    return json.dumps(to_plain(experiment), ensure_ascii=False, indent=1)


def from_json(content: bytes) -> Experiment:
    """The experiment in a file, in whichever of the Unicode encodings it was saved.

    Raises:
        ValueError: It is not JSON.
        RangeError: It is larger than any experiment.
        FieldError: A field is missing, unknown, there twice, or malformed; the error names it.
        AttentionError: A value is outside the limits of an experiment.
    """
    if len(content) > MOST_BYTES:
        raise RangeError("n_bytes", len(content), 1, MOST_BYTES)
    try:
        parsed = json.loads(content, object_pairs_hook=_Pairs, parse_int=_integer)
        return from_plain(_once_each(parsed))
    except RecursionError:
        raise FieldError("experiment", "is nested too deeply") from None


def _integer(digits: str) -> int | float:
    return int(digits) if len(digits) <= _MOST_DIGITS else float(digits)


def _once_each(value: Any, field: str = "") -> Any:
    """Objects as dictionaries, each name once."""
    if not isinstance(value, _Pairs):
        return value
    fields: dict[str, Any] = {}
    for name, inner in value:
        place = f"{field}.{name}" if field else name
        if name in fields:
            raise FieldError(as_field(place), "is there twice")
        fields[name] = _once_each(inner, place)
    return fields

"""An experiment as a short text for the address bar, and back.

    "1" + base64url(crc32 + zlib(JSON))

The JSON is the experiment's plain data, in which the changed numbers of a matrix are packed:
gaps between their places, and the numbers as integers where a fixed point loses nothing.
`python -m benchmarks.link_length` tells how long it gets.
Decoding is bounded, since anyone can write a link.
"""

import base64
import binascii
import json
import zlib
from typing import Any

from attention_core import AttentionError, Experiment, from_plain, to_plain
from attention_core.canvas import MATRICES

VERSION = "1"
BUDGET = 1_900  # characters of a whole address that every browser, chat and proxy lets through
_MOST_TEXT = 16_384
_MOST_JSON = 65_536
_DECIMALS = range(7)


class LinkError(Exception):
    """A link that does not describe an experiment: damaged, cut off, or from elsewhere."""


def encode(experiment: Experiment) -> str:
    """The text of an experiment; its length grows with what was changed."""
    plain = to_plain(experiment)
    for name in MATRICES:
        if name in plain:
            plain[name] = _pack(plain[name])
    return pack(plain)


def decode(text: str) -> Experiment:
    """The experiment of a text that `encode` wrote.

    Raises:
        LinkError: It is not such a text, or does not hold a valid experiment.
    """
    plain = unpack(text)
    try:
        for name in MATRICES:
            if isinstance(plain, dict) and name in plain:
                plain[name] = _unpack(plain[name])
        return from_plain(plain)
    except (ValueError, TypeError, ArithmeticError, AttentionError) as error:
        raise LinkError(str(error)) from error


def pack(plain: Any) -> str:
    """The text of any plain data."""
    text = json.dumps(plain, ensure_ascii=False, separators=(",", ":")).encode()
    body = zlib.compress(text, 9)
    return VERSION + base64.urlsafe_b64encode(_checksum(body) + body).decode().rstrip("=")


def unpack(text: str) -> Any:
    """The plain data of a text that `pack` wrote, or that anyone did who knows how.

    Raises:
        LinkError: It is not such a text, or holds too much.
    """
    if len(text) > _MOST_TEXT or not text.startswith(VERSION):
        raise LinkError("unknown version or too long")
    try:
        framed = base64.b64decode(_padded(text[1:]), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError) as error:
        raise LinkError("not base64url") from error
    checksum, body = framed[:4], framed[4:]
    if checksum != _checksum(body):
        raise LinkError("damaged")
    try:
        plain = json.loads(_inflated(body), parse_constant=_refuse)
        # Half a character, escaped, would fail when the address is written again.
        json.dumps(plain, ensure_ascii=False).encode()
        return plain
    except (zlib.error, ValueError, RecursionError) as error:
        raise LinkError(str(error)) from error


def _pack(numbers: dict[str, float]) -> list[Any]:
    places = [int(place) for place in numbers]
    gaps = [place - before for place, before in zip(places, [0, *places], strict=False)]
    values = list(numbers.values())
    for decimals in _DECIMALS:
        scaled = [round(value * 10**decimals) for value in values]
        if [number / 10**decimals for number in scaled] == values:
            return [decimals, gaps, scaled]
    return [None, gaps, values]


def _unpack(packed: Any) -> dict[str, float]:
    decimals, gaps, values = packed
    if decimals is not None and decimals not in _DECIMALS:
        raise ValueError("unknown fixed point")
    place, numbers = 0, {}
    for gap, value in zip(gaps, values, strict=True):
        if type(gap) is not int or type(value) not in (int, float):
            raise ValueError("a packed matrix holds numbers")
        place += gap
        numbers[str(place)] = float(value) if decimals is None else value / 10**decimals
    return numbers


def _checksum(body: bytes) -> bytes:
    return zlib.crc32(body).to_bytes(4, "big")


def _padded(text: str) -> str:
    return text + "=" * (-len(text) % 4)


def _inflated(body: bytes) -> bytes:
    inflater = zlib.decompressobj()
    text = inflater.decompress(body, _MOST_JSON)
    if inflater.unconsumed_tail or not inflater.eof:
        raise LinkError("too large or cut off")
    return text


def _refuse(constant: str) -> float:
    raise ValueError(f"{constant} is no number")

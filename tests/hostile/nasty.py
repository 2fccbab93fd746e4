"""What somebody who means harm, or a program that is broken, puts into an input."""

import base64
import contextlib
import copy
import json
import time
import zlib

HANG = 0.2  # seconds of work that one input may cost
WINDOW_FLAG = "hostileScriptRan"

TOKENS = (
    f"<img src=x onerror=window.{WINDOW_FLAG}=1>",
    f"<script>window.{WINDOW_FLAG}=1</script>",
    f"</script><svg/onload=window.{WINDOW_FLAG}=1>",
    f"[l](javascript:window.{WINDOW_FLAG}=1) ![i](http://127.0.0.1:1/x.png)",
    "**b** _i_ `c` ~~s~~ # h | t | :red[r] :material/home: :smile:",
    "$x^2$ $$\\frac{1}{0}$$ \\(y\\) \\input{/etc/passwd} \\",
    "\u202eשלום العربية\u202c",
    "👩‍👩‍👧🏳️‍🌈" + "e" + "\u0301" * 60,
    "'''\"\"\"{0}{x}%s%(x)s{{}}${x}#{x}",
    "=cmd|' /C calc'!A0",
    "'; __import__('os').abort() #\\N{BULLET}\\x00\\u2028",
    "W" * 200,
)
"""Each can be a token; twelve, so that one experiment holds them all."""

UNFIT = (
    "",
    " ",
    "\u200b\u200d",
    "\0",
    "a\nb",
    "a\rb",
    "\x1b[31m",
    "a\u2028b",
    "a\u2029b",
    "\x7f",
    "\x85",
    "\ud800",
    "x" * 201,
    "x" * 10_000,
    "<b>" * 3_334,
)
"""None can be a token: nothing to see, a control character, half a character, or too long."""

NUMBERS = [
    *(float("nan"), float("inf"), -float("inf"), 1e308, -1e308, 1e6 + 1, 5e-324, -0.0),
    *(10**30, -(10**30), 10**4_000, 2**63, -1, 0, 0.5, True, False),
]
TEXTS = ["", "0", "1e5", "NaN", "apple", "causal", "\0", "é", "\ud800", "<b>x</b>", "x" * 10_000]
VALUES = [
    None,
    *NUMBERS,
    *TEXTS,
    [],
    {},
    [None],
    [[]],
    {"": None},
    {"0": "x"},
    {"-1": 1.0},
    {"99999": 1.0},
    {"00": 1.0},
    [0, [0], [float("nan")]],
    [0, [0] * 5_000, [1] * 5_000],
    {str(place): 0.5 for place in range(3_000)},
    {"kinds": ["painted"], "painted": {"0": 1}},
]


def nested(depth, opening="[", closing="]"):
    """JSON that is nested so deep; the library cannot write it."""
    return opening * depth + closing * depth


FILES = {
    "empty": b"",
    "spaces": b" " * 100_000,
    "no text": b"\xff\xfe\xfd\x80",
    "null": b"null",
    "zeros": bytes(100_000),
    "open": b"[" * 250_000,
    "deep": nested(100_000).encode(),
    "deep objects": b'{"X":' * 40_000 + b"1" + b"}" * 40_000,
    "long number": b'{"version":1,"preset":"apple","seed":' + b"9" * 200_000 + b"}",
    "long name": b'{"' + b"x" * 200_000 + b'":1}',
    "many names": json.dumps({str(name): 1 for name in range(20_000)}).encode(),
    "one name often": b'{"a":1' + b',"a":1' * 30_000 + b"}",
    "NaN": b'{"version":1,"preset":"apple","seed":NaN}',
    "Infinity": b'{"version":1,"preset":"apple","seed":0,"X":{"0":Infinity}}',
    "1e400": b'{"version":1,"preset":"apple","seed":0,"X":{"0":1e400}}',
    "half a character": b'{"version":1,"preset":"apple","seed":0,"tokens":{"0":"\\ud800"}}',
    "control character": b'{"version":1,"preset":"apple","seed":0,"tokens":{"0":"\\u0000"}}',
    "utf-16": '{"version":1,"preset":"<b>","seed":0}'.encode("utf-16"),
    "too large": b"{" + b" " * 2_000_000 + b"}",
    # Would end the process, were it ever opened as what it is.
    "pickle": b"cos\nabort\n(tR.",
    "pickle of protocol 4": b"\x80\x04\x95\x10\x00\x00\x00\x00\x00\x00\x00\x8c\x02os\x8c\x05abort",
    "markup": f"<html><script>window.{WINDOW_FLAG}=1</script></html>".encode(),
    "picture": b"\x89PNG\r\n\x1a\n" + bytes(1_000),
    "gzip bomb": zlib.compress(bytes(50_000_000), 9, wbits=31),
    "csv bomb": b'"' + b"a," * 500_000,
    "yaml bomb": b"a: &a [x,x]\nb: &b [*a,*a]\nc: [*b,*b]\n",
    "entities": b'<!DOCTYPE x [<!ENTITY a "aa"><!ENTITY b "&a;&a;">]><x>&b;</x>',
}
"""By name, the bytes of files that are no experiment, no table and no model."""


def zip_bomb():
    """A zip archive, as NumPy's npz is one, of 50 MB that are all the same."""
    import io
    import zipfile

    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("X.npy", bytes(50_000_000))
    return held.getvalue()


def link_of(content, version="1"):
    """A link that holds this JSON data, or these bytes, with the right checksum."""
    raw = content if isinstance(content, bytes) else json.dumps(content).encode()
    body = zlib.compress(raw)
    framed = zlib.crc32(body).to_bytes(4, "big") + body
    return version + base64.urlsafe_b64encode(framed).decode().rstrip("=")


def content_of(link):
    """The JSON text of a link."""
    framed = base64.urlsafe_b64decode(link[1:] + "=" * (-len(link[1:]) % 4))
    return zlib.decompress(framed[4:])


def places(value, path=()):
    """The way to everything in plain data, the whole of it first."""
    yield path
    if isinstance(value, dict | list):
        for key, each in value.items() if isinstance(value, dict) else enumerate(value):
            yield from places(each, (*path, key))


def replanted(value, path, other):
    """A copy of plain data with something else at one place."""
    if not path:
        return other
    whole = copy.deepcopy(value)
    *way, last = path
    inner = whole
    for key in way:
        inner = inner[key]
    inner[last] = other
    return whole


def mutated(content, rng):
    """Bytes of which a few were changed, taken away, doubled or put in."""
    text = bytearray(content)
    for _ in range(rng.randint(1, 4)):
        start = rng.randrange(len(text) + 1)
        end = min(len(text), start + rng.choice([0, 0, 1, 1, 2, 8, 40]))
        odd = [b"", b"9", b"-", b"e9", b'"', b"[", b"]", b"{", b"}", b",", b":", b"\\u0000"]
        odd += [b"null", b"true", b"NaN", b"0.5", rng.randbytes(3), bytes(text[:40])]
        text[start:end] = rng.choice(odd)
    return bytes(text)


class Watch:
    """Sees that no input hangs: by this process's own time, the worst one measured again."""

    def __init__(self):
        self._worst, self._again = 0.0, None

    def __call__(self, work, *given):
        start = time.process_time()
        try:
            return work(*given)
        finally:
            taken = time.process_time() - start
            if taken > self._worst:
                self._worst, self._again = taken, (work, given)

    def assert_quick(self):
        """What took longest takes less than is a hang, at its best of three."""
        for _ in range(3):
            if self._worst < HANG:
                return
            work, given = self._again
            start = time.process_time()
            with contextlib.suppress(Exception):  # that it fails in the right way was seen before
                work(*given)
            self._worst = min(self._worst, time.process_time() - start)
        assert self._worst < HANG, self._again

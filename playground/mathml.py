"""LaTeX as MathML, which browsers show by themselves: just as much as `formula` writes.

Source: W3C, "MathML Core".
"""

import re
from collections.abc import Iterator
from html import escape

_PIECE = re.compile(r"\\[A-Za-z]+|\d+|[^\s\\]")
_SIGNS = {r"\times": "×", r"\top": "⊤", r"\cdots": "⋯"}
_HIGH = r"\Bigg"  # before a fence that is as high as what it holds
_GAP = '<mspace width="0.2em"/>'  # or the shapes below two factors would run together


def mathml(latex: str) -> str:
    """A formula as a <math> element.

    Raises:
        ValueError: It holds something that `formula` does not write.
    """
    row = _Reader(latex).row()
    return f'<math display="block">{row}</math>'


class _Reader:
    """Reads a formula piece by piece."""

    def __init__(self, latex: str) -> None:
        self._pieces: Iterator[str] = iter(_PIECE.findall(latex))
        self._next: str | None = next(self._pieces, None)

    def row(self) -> str:
        """All up to the end, or to the brace that closes a group."""
        nodes = []
        while self._next not in (None, "}"):
            nodes.append(self._with_scripts())
        return nodes[0] if len(nodes) == 1 else f"<mrow>{''.join(nodes)}</mrow>"

    def _take(self) -> str:
        if self._next is None:
            raise ValueError("the formula ends too early")
        piece, self._next = self._next, next(self._pieces, None)
        return piece

    def _group(self) -> str:
        self._expect("{")
        row = self.row()
        self._expect("}")
        return row

    def _expect(self, wanted: str) -> None:
        if self._take() != wanted:
            raise ValueError(f"{wanted} was expected")

    def _with_scripts(self) -> str:
        """An atom with what is raised and lowered behind it."""
        base, below, above = self._atom(), "", ""
        while self._next in ("_", "^", "'"):
            mark = self._take()
            if mark == "'":
                base = f'<mrow>{base}<mo lspace="0" rspace="0">′</mo></mrow>'
            elif mark == "_":
                below = self._argument()
            else:
                above = self._argument()
        if below and above:
            return f"<msubsup>{base}{below}{above}</msubsup>"
        if below:
            return f"<msub>{base}{below}</msub>"
        return f"<msup>{base}{above}</msup>" if above else base

    def _argument(self) -> str:
        return self._group() if self._next == "{" else self._atom()

    def _atom(self) -> str:
        if self._next == "{":
            return self._group()
        piece = self._take()
        match piece:
            case r"\frac":
                return f"<mfrac>{self._group()}{self._group()}</mfrac>"
            case r"\sqrt":
                return f"<msqrt>{self._group()}</msqrt>"
            case r"\underset":
                below, base = self._group(), self._group()
                return f"<mrow>{_GAP}<munder>{base}{below}</munder>{_GAP}</mrow>"
            case r"\operatorname":
                return f"<mi>{self._word()}</mi><mo>&#x2061;</mo>"
            case r"\big" | r"\Bigg":
                return _fence(self._take(), is_high=piece == _HIGH)
        return _sign(piece)

    def _word(self) -> str:
        self._expect("{")
        letters = ""
        while self._next not in (None, "}"):
            letters += self._take()
        self._expect("}")
        return escape(letters)


def _fence(sign: str, *, is_high: bool) -> str:
    if sign not in "()[]":
        raise ValueError(f"{sign} is no fence")
    how = 'symmetric="false"' if is_high else 'stretchy="false"'
    return f"<mo {how}>{sign}</mo>"


def _sign(piece: str) -> str:
    if piece in _SIGNS:
        return f"<mo>{_SIGNS[piece]}</mo>"
    if piece.isdigit():
        return f"<mn>{piece}</mn>"
    if piece.isascii() and piece.isalpha():
        return f"<mi>{piece}</mi>"
    if piece in "=+,":
        return f"<mo>{piece}</mo>"
    return _fence(piece, is_high=False)

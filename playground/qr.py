"""A QR code of a link, made on this machine."""

import io
from dataclasses import dataclass

import segno

QUIET = 4  # modules of white around a code: ISO/IEC 18004, section 6.3.8
_MOST_WITH_EASE = 73  # modules across, version 14: about 450 characters
_PIXELS = 1_000  # at least, across a picture for slides


@dataclass(frozen=True, slots=True)
class Code:
    """A code as pictures, black on white whatever the theme: readers look for dark on light."""

    n_modules: int  # across, without the white around them
    svg: str
    png: bytes

    @property
    def is_dense(self) -> bool:
        """Whether its modules are so small that a phone has to come near."""
        return self.n_modules > _MOST_WITH_EASE


def code(link: str) -> Code:
    """The smallest code of a link, with as much repair as fits into that size."""
    made = segno.make_qr(link, error="l", boost_error=True)
    n_modules = len(made.matrix)
    svg, png = io.BytesIO(), io.BytesIO()
    colours = {"border": QUIET, "dark": "#000", "light": "#fff"}
    made.save(svg, kind="svg", xmldecl=False, omitsize=True, **colours)
    made.save(png, kind="png", scale=-(-_PIXELS // (n_modules + 2 * QUIET)), **colours)
    return Code(n_modules, svg.getvalue().decode(), png.getvalue())

"""The colours of matrices, for the board and the figures alike.

Diverging: ColorBrewer's PuOr, purple below 0 and orange above, told apart by colour-blind
readers; the middle is the page's own background. Sequential: ColorBrewer's Blues, from the
background at 0 to full at 1. Between two stops a colour is mixed in sRGB, channel by channel.
"""

from collections.abc import Sequence
from typing import Literal, TypeAlias

import numpy as np

from attention_core.arrays import BoolArray, FloatArray

Theme: TypeAlias = Literal["light", "dark"]

# From the most negative to the most positive; 0 is the middle one.
DIVERGING: dict[Theme, tuple[str, ...]] = {
    "light": ("#542788", "#8073ac", "#b2abd2", "#ffffff", "#fdb863", "#e08214", "#b35806"),
    "dark": ("#b2abd2", "#8073ac", "#542788", "#14171f", "#7f3b08", "#b35806", "#fdb863"),
}
# From weight 0 to weight 1.
SEQUENTIAL: dict[Theme, tuple[str, ...]] = {
    "light": ("#ffffff", "#c6dbef", "#6baed6", "#2171b5", "#08306b"),
    "dark": ("#14171f", "#08306b", "#2171b5", "#6baed6", "#c6dbef"),
}
# Lines and frames that must be told apart: after Okabe and Ito, each at least 3:1 on the page.
CATEGORICAL: dict[Theme, tuple[str, ...]] = {
    "light": (
        *("#0072b2", "#b35806", "#00796b", "#7b3294"),
        *("#c2185b", "#806000", "#4d5a73", "#3b7d23"),
    ),
    "dark": (
        *("#6baed6", "#fdb863", "#5eead4", "#b2abd2"),
        *("#ff80ab", "#e6c84f", "#b8c1d1", "#8fd175"),
    ),
}
DARK_INK, LIGHT_INK = "#000000", "#ffffff"
_EVEN = 0.179  # relative luminance at which both inks stand out equally, by 4.58:1


def takes_dark_ink(places: FloatArray, stops: Sequence[str]) -> BoolArray:
    """Which numbers are to be written dark, and which light, as on the board.

    Args:
        places: Any shape; where each number stands on the scale, from 0 to 1.
        stops: Colours such as "#542788", at equal distances.

    Returns:
        The shape of `places`, True where the dark ink stands out more.
    """
    channels = np.array([[int(stop[i : i + 2], 16) for stop in stops] for i in (1, 3, 5)])
    along = np.clip(places, 0, 1) * (len(stops) - 1)
    mixed = [np.interp(along, np.arange(len(stops)), channel).round() for channel in channels]
    return luminance(*mixed) > _EVEN


def luminance(red: FloatArray, green: FloatArray, blue: FloatArray) -> FloatArray:
    """How light a colour is to the eye, from 0 to 1; channels go from 0 to 255.

    Source: WCAG 2.2, "relative luminance".
    """
    r, g, b = (
        np.where(c <= 0.04045 * 255, c / 255 / 12.92, ((c / 255 + 0.055) / 1.055) ** 2.4)
        for c in (red, green, blue)
    )
    return np.asarray(0.2126 * r + 0.7152 * g + 0.0722 * b)

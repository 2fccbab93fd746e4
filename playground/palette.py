"""The colours of matrices, for the board and the figures alike.

Diverging: ColorBrewer's PuOr, purple below 0 and orange above, told apart by colour-blind
readers; the middle is the page's own background. Sequential: ColorBrewer's Blues, from the
background at 0 to full at 1.
"""

from typing import Literal, TypeAlias

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

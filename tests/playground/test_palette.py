"""Colours that everyone can read and tell apart, in the light and in the dark."""

import re
import tomllib
from pathlib import Path

import numpy as np
import pytest

from playground import palette

ROOT = Path(__file__).parents[2]
SCALES = {"diverging": palette.DIVERGING, "sequential": palette.SEQUENTIAL}

every_theme = pytest.mark.parametrize("theme", ["light", "dark"])
every_scale = pytest.mark.parametrize("scale", SCALES)


def channels(colour):
    return np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)], dtype=float)


def interpolated(stops, n=101):
    """(n, 3): red, green and blue along the scale, as the board and Plotly mix them."""
    places = np.linspace(0, len(stops) - 1, n)
    columns = np.array([channels(stop) for stop in stops]).T
    return np.array([np.interp(places, range(len(stops)), column) for column in columns]).T


def luminance(rgb):
    """WCAG 2.2, relative luminance."""
    share = np.asarray(rgb) / 255
    linear = np.where(share <= 0.04045, share / 12.92, ((share + 0.055) / 1.055) ** 2.4)
    return linear @ [0.2126, 0.7152, 0.0722]


def contrast(a, b):
    return (np.maximum(a, b) + 0.05) / (np.minimum(a, b) + 0.05)


def ink_threshold():
    """The luminance above which the board writes in black."""
    source = (ROOT / "playground/board/assets/colour.js").read_text(encoding="utf-8")
    (number,) = re.findall(r'luminance\(rgb\) > ([\d.]+) \? "#000000" : "#ffffff"', source)
    return float(number)


@every_theme
@every_scale
def test_the_ink_that_board_and_figures_pick_stands_out_on_every_colour(scale, theme):
    stops = SCALES[scale][theme]
    background = luminance(interpolated(stops).round())

    is_dark = palette.takes_dark_ink(np.linspace(0, 1, 101), stops)

    ink = luminance([channels(palette.LIGHT_INK), channels(palette.DARK_INK)])[is_dark.astype(int)]
    assert contrast(background, ink).min() >= 4.5
    np.testing.assert_array_equal(is_dark, background > ink_threshold())


def test_a_number_beyond_the_scale_has_the_ink_of_its_end():
    stops = palette.SEQUENTIAL["light"]

    assert palette.takes_dark_ink(np.array([-5.0, 0.0, 1.0, 7.0]), stops).tolist() == [
        True,
        True,
        False,
        False,
    ]


@every_theme
def test_zero_is_the_background_of_the_page(theme):
    config = tomllib.loads((ROOT / ".streamlit/config.toml").read_text(encoding="utf-8"))
    background = config["theme"][theme]["backgroundColor"]

    diverging = palette.DIVERGING[theme]

    assert len(diverging) % 2 == 1
    assert diverging[len(diverging) // 2] == background
    assert palette.SEQUENTIAL[theme][0] == background


@every_theme
def test_the_farther_from_zero_the_more_a_colour_stands_out(theme):
    middle = len(palette.DIVERGING[theme]) // 2
    negative, positive = palette.DIVERGING[theme][middle::-1], palette.DIVERGING[theme][middle:]

    for stops in (negative, positive, palette.SEQUENTIAL[theme]):
        shades = luminance(interpolated(stops))
        distances = contrast(shades, shades[0])
        assert (np.diff(distances) > 0).all()
        assert distances[-1] > 4.5


# Viénot, Brettel and Mollon 1999, "Digital video colourmaps for checking the legibility of
# displays by dichromats", in linear RGB: what a reader without red or green cones sees.
WITHOUT_RED = np.array([[0.11238, 0.88762, 0], [0.11238, 0.88762, 0], [0.00401, -0.00401, 1]])
WITHOUT_GREEN = np.array([[0.29275, 0.70725, 0], [0.29275, 0.70725, 0], [-0.02234, 0.02234, 1]])


def seen(rgb, matrix):
    linear = np.where(rgb <= 0.04045 * 255, rgb / 255 / 12.92, ((rgb / 255 + 0.055) / 1.055) ** 2.4)
    return linear @ matrix.T


@every_theme
@pytest.mark.parametrize("matrix", [WITHOUT_RED, WITHOUT_GREEN], ids=["no red", "no green"])
def test_colour_blind_readers_tell_plus_from_minus_by_blue_against_yellow(theme, matrix):
    stops = palette.DIVERGING[theme]
    for negative, positive in zip(stops[:3], stops[:3:-1], strict=True):
        for colour, is_negative in ((negative, True), (positive, False)):
            red, _, blue = seen(channels(colour), matrix)  # red and green are one to them

            assert (blue > red) == is_negative


def test_a_red_green_pair_would_be_noticed():
    for colour in ("#d73027", "#1a9850"):
        red, _, blue = seen(channels(colour), WITHOUT_GREEN)
        assert blue < red


@every_theme
def test_there_is_a_colour_of_every_scale_in_this_theme(theme):
    for scale in SCALES.values():
        assert all(re.fullmatch("#[0-9a-f]{6}", stop) for stop in scale[theme])

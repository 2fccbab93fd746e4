"""QR codes, read by a decoder that is not the encoder's."""

import io
import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest
import zxingcpp
from PIL import Image

from playground import qr
from playground.link import BUDGET

LINK = "https://example.org/app/masks?lang=zh&n=%E4%BD%A0%E5%A5%BD+%2B+1&e=1"


def of_length(length):
    return (LINK + "aB3_-" * BUDGET)[:length]


def pixels(code):
    return np.array(Image.open(io.BytesIO(code.png)).convert("L"))


@pytest.mark.parametrize("length", [30, len(LINK), 440, 900, BUDGET])
def test_a_code_holds_its_link_and_nothing_else(length):
    link = of_length(length)

    (found,) = zxingcpp.read_barcodes(pixels(qr.code(link)))

    assert found.format == zxingcpp.BarcodeFormat.QRCode
    assert found.text == link


@pytest.mark.parametrize("length", [30, BUDGET])
def test_a_code_is_black_on_white_with_white_around_it_and_large_enough_for_a_slide(length):
    code = qr.code(of_length(length))

    shown = pixels(code)
    n_across = code.n_modules + 2 * qr.QUIET
    size = len(shown) // n_across
    assert shown.shape == (n_across * size, n_across * size)
    assert len(shown) >= 1_000
    assert set(np.unique(shown)) == {0, 255}
    dark = np.argwhere(shown == 0)
    assert dark.min() == 4 * size  # ISO/IEC 18004: four modules
    assert dark.max() == (n_across - 4) * size - 1


def test_the_drawing_has_the_same_modules_as_the_picture():
    code = qr.code(LINK)
    n_across = code.n_modules + 2 * qr.QUIET
    size = len(pixels(code)) // n_across

    svg = ET.fromstring(code.svg)
    white, black = svg.iter("{http://www.w3.org/2000/svg}path")
    drawn, x, y = np.zeros((n_across, n_across), bool), 0, 0.0
    for command, *steps in re.findall(r"([Mmh])(-?[\d.]+)(?: (-?[\d.]+))?", black.get("d")):
        across, down = int(steps[0]), float(steps[1] or 0)
        if command == "h":  # a line one module high, along the middle of its row
            drawn[int(y), x : x + across] = True
        x, y = x + across, y + down

    assert svg.get("viewBox") == f"0 0 {n_across} {n_across}"
    assert (white.get("fill"), white.get("d")) == (
        "#fff",
        f"M0 0h{n_across}v{n_across}h-{n_across}z",
    )
    assert black.get("stroke") == "#000"
    np.testing.assert_array_equal(drawn, pixels(code)[::size, ::size] == 0)


@pytest.mark.parametrize(
    ("length", "is_dense"), [(100, False), (450, False), (480, True), (BUDGET, True)]
)
def test_a_code_of_many_modules_is_dense(length, is_dense):
    assert qr.code(of_length(length)).is_dense == is_dense


def test_a_code_is_no_larger_than_it_must_be():
    # Version 6 (41 modules) holds 134 bytes at the lowest level of repair: ISO/IEC 18004, table 7.
    assert qr.code(of_length(134)).n_modules == 41
    assert qr.code(of_length(135)).n_modules == 45

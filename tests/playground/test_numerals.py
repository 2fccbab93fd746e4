"""Numbers in sentences: short, with a real minus, and never 1.2345678e-17."""

import pytest

from playground.numerals import short, size


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (0.49712, "0.497"),
        (-12.3456, "−12.3"),
        (999.4, "999"),
        (999.7, "1,000"),
        (12_345.4, "12,345"),
        (999_999.7, "1e6"),
        (-1234, "−1,234"),
        (1.2345e-7, "1.23e−7"),
        (2.5e9, "2.5e9"),
    ],
)
def test_three_digits_count(value, text):
    assert short(value) == text


@pytest.mark.parametrize(
    ("value", "text"), [(0.0, "0"), (5.55e-17, "6e−17"), (0.049712, "0.0497"), (1.5, "1.5")]
)
def test_of_rounding_one_digit_is_enough(value, text):
    assert size(value) == text

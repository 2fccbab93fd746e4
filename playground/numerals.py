"""Numbers as a sentence writes them."""


def short(value: float, digits: int = 3) -> str:
    """So many digits that count, with a real minus: 0.497, 1.2e−7, 12,345."""
    if 1000 <= abs(float(f"{value:.{digits}g}")) < 1e6:  # 999.7 is written 1,000
        return f"{value:,.0f}".replace("-", "−")
    text, _, exponent = f"{value:.{digits}g}".partition("e")
    return (f"{text}e{int(exponent)}" if exponent else text).replace("-", "−")


def size(value: float) -> str:
    """A measured difference: one digit where it is rounding, three else."""
    return short(value, 1 if abs(value) < 1e-9 else 3)

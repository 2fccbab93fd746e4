"""How far a share, or a mean, can be trusted that was measured on so many cases.

    share k/n:  (p + z²/2n ± z √(p(1-p)/n + z²/4n²)) / (1 + z²/n)        with p = k/n
    mean:       m ± z s / √n

with z = 1.96, for 95 %. The first holds for small counts and for 0 of n too; the second for some
thirty cases and more, a little too narrow where the values are very skew.

Sources: Wilson 1927, "Probable inference, the law of succession, and statistical inference",
recommended by Brown, Cai and DasGupta 2001, "Interval estimation for a binomial proportion".
"""

import math
from typing import NamedTuple

import numpy as np

from attention_core.arrays import FloatArray, check_counts
from attention_core.errors import RangeError

_Z = 1.959963984540054  # 97.5 % of a standard normal distribution lie below


class Interval(NamedTuple):
    """From a lower to an upper end; NaN where there is too little to tell."""

    lower: float
    upper: float


def of_share(count: float, n: int) -> Interval:
    """Where the true share lies, if `count` of n cases were so.

    A count need not be whole: where each case is a mean over several tries, the cases count.

    Raises:
        RangeError: There is no case, or more are so than there are.
    """
    check_counts(1, n=n)
    if not 0 <= count <= n:
        raise RangeError("count", count, 0, n)
    p, by = count / n, 1 + _Z**2 / n
    middle = (p + _Z**2 / (2 * n)) / by
    reach = _Z * math.sqrt(p * (1 - p) / n + _Z**2 / (4 * n**2)) / by
    # Rounding must not make 0 of n a little more than 0.
    lower = 0.0 if count == 0 else max(0.0, middle - reach)
    return Interval(lower, 1.0 if count == n else min(1.0, middle + reach))


def of_mean(values: FloatArray) -> Interval:
    """Where the true mean of (n,) values lies; NaN of fewer than two."""
    if len(values) < 2:
        return Interval(math.nan, math.nan)
    mean = float(np.mean(values))
    reach = _Z * float(np.std(values, ddof=1)) / math.sqrt(len(values))
    return Interval(mean - reach, mean + reach)

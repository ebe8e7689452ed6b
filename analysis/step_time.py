"""From the times of a few steps to the time of many."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike


@dataclass(frozen=True)
class Forecast:
    """A forecast of a total time, in the unit of the times it rests on.

    Attributes:
        expected: the total.
        lower: lower end of the interval.
        upper: upper end; infinite where one time alone was measured.
        n: measured times.
    """

    expected: float
    lower: float
    upper: float
    n: int

    def plus(self, other: "Forecast") -> "Forecast":
        """Return the forecast of both one after the other; the ends are added, which is never too narrow."""
        ends = (self.expected + other.expected, self.lower + other.lower, self.upper + other.upper)
        return Forecast(*ends, n=self.n + other.n)

    def times(self, factor: float) -> "Forecast":
        """Return the forecast in another unit, or of a fixed multiple; the factor is positive."""
        return Forecast(self.expected * factor, self.lower * factor, self.upper * factor, self.n)


def forecast_total(times: ArrayLike, repeats: int, level: float = 0.95) -> Forecast:
    """Forecast the total of `repeats` further times that are drawn as the measured ones were.

    Times are taken as log-normal, since they are positive and skewed. With mean m and variance s² of n log times, the
    mean time is exp(m + s²/2), and its interval is exp(m + s²/2 ± t sqrt(s²/n + s⁴/(2(n-1)) + s²/repeats)), with t of
    n-1 degrees of freedom: Cox's interval with Student's t, widened by what the further times add.

    Args:
        times: measured times, > 0, shape (n,), n >= 1.
        repeats: how many further times are added up.
        level: two-sided coverage.

    Raises:
        ValueError: no time was measured, or one is not positive.

    Source: Zhou and Gao, Statistics in Medicine 16 (1997), 783-790 (Cox's method); t as in Olsson, J. Statistics
    Education 13(1) (2005).
    """
    from scipy import stats

    measured = np.asarray(times, np.float64)
    if measured.ndim != 1 or not measured.size or not (measured > 0.0).all() or not np.isfinite(measured).all():
        raise ValueError("at least one time is needed, and every time must be positive")
    n = int(measured.size)
    if repeats < 1:
        return Forecast(0.0, 0.0, 0.0, n)
    logs = np.log(measured)
    if n == 1:
        return Forecast(repeats * float(measured[0]), 0.0, math.inf, 1)
    variance = float(logs.var(ddof=1))
    center = float(logs.mean()) + 0.5 * variance
    spread = math.sqrt(variance / n + variance**2 / (2.0 * (n - 1)) + variance / repeats)
    reach = float(stats.t.ppf(0.5 + 0.5 * level, n - 1)) * spread
    middle, low, high = (repeats * _exp(at) for at in (center, center - reach, center + reach))
    return Forecast(middle, low, high, n)


def _exp(power: float) -> float:
    """Return e to a power; infinite where it overflows: hopelessly scattered times have no useful end."""
    return math.exp(power) if power < 700.0 else math.inf

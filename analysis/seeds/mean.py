"""The t interval of one condition's mean over training seeds."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from analysis.seeds.sample import MINIMUM_SEEDS
from analysis.seeds.spread import is_constant, mean_variance, t_quantile


@dataclass(frozen=True)
class SeedMean:
    """A mean over training seeds with its interval.

    Attributes:
        seeds: how many.
        mean: their mean.
        lower: lower limit, cut to the bounds.
        upper: upper limit, cut to the bounds.
        reason: why the interval is the whole range of the score; None where the seeds show a spread.
    """

    seeds: int
    mean: float
    lower: float
    upper: float
    reason: str | None = None


def seed_mean(values: ArrayLike, bounds: tuple[float, float], alpha: float) -> SeedMean:
    """Return the mean of one number a training seed, with its two-sided t interval.

    Args:
        values: shape (k,), k at least 3, finite and within the bounds.
        bounds: smallest and largest possible value.
        alpha: error probability, in (0, 1).

    Raises:
        ValueError: fewer than 3 seeds, or a value that is not finite or out of bounds.

    Source: Student 1908; exact where the seeds' values are normal.
    """
    observed = np.asarray(values, np.float64)
    low, high = bounds
    if observed.ndim != 1 or observed.size < MINIMUM_SEEDS:
        raise ValueError(f"{observed.size} training seeds: an interval needs at least {MINIMUM_SEEDS}")
    if not (np.isfinite(observed).all() and (observed >= low).all() and (observed <= high).all()):
        raise ValueError(f"a value is not finite or not in [{low:g}, {high:g}]")
    mean = float(observed.mean())
    if is_constant(observed, bounds):
        reason = "all training seeds are equal, which says nothing about their spread"
        return SeedMean(observed.size, mean, low, high, reason)
    variance = mean_variance(observed)
    half_width = t_quantile(alpha, variance.freedom) * math.sqrt(variance.variance)
    return SeedMean(observed.size, mean, max(low, mean - half_width), min(high, mean + half_width))

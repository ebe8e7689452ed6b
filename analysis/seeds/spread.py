"""Variances of means, and where seeds say nothing about their own spread."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr, stdtrit

from analysis.errors import AuditError
from analysis.paired.interval import Interval
from analysis.paired.sample import PairedSample
from analysis.seeds.sample import SeedScores

_ROUNDING = 1e-12


@dataclass(frozen=True)
class MeanVariance:
    """The estimated variance of a mean.

    Attributes:
        variance: sample variance over the number of observations.
        freedom: its degrees of freedom, above 0.
    """

    variance: float
    freedom: float


def mean_variance(values: NDArray[np.float64]) -> MeanVariance:
    """Return the variance of the mean of independent values, shape (k,) with k at least 2."""
    return MeanVariance(float(values.var(ddof=1)) / values.size, values.size - 1.0)


def t_quantile(alpha: float, freedom: float) -> float:
    """Return the number of standard errors of a two-sided t interval at level `alpha`, in (0, 1)."""
    return -float(stdtrit(freedom, alpha / 2.0))


def two_sided_t_p(score: float, freedom: float) -> float:
    """Return twice the t tail above a score, at most 1: dual to a lower limit at that many standard errors."""
    return min(1.0, 2.0 * float(stdtr(freedom, -score)))


def scores_by_seed(sample: PairedSample, method_id: str) -> SeedScores:
    """Return the sample's scores by training seed.

    Raises:
        AuditError: the sample has none: it speaks of fixed checkpoints.
    """
    if sample.by_seed is None:
        raise AuditError(
            f'"{method_id}" generalises over training seeds, and this sample has only the mean of each item: '
            "register unit training_seeds with at least 3 seeds an arm, or a method for fixed checkpoints"
        )
    return sample.by_seed


def is_constant(values: NDArray[np.float64], bounds: tuple[float, float]) -> bool:
    """Return whether values are equal up to rounding on the scale of the bounds, so that they show no spread."""
    low, high = bounds
    return float(np.ptp(values)) <= _ROUNDING * (high - low)


def no_spread(sample: PairedSample, what: str) -> Interval:
    """Return the whole range of the difference, untrusted, where a variance of 0 was observed.

    Args:
        sample: the sample.
        what: what shows no spread, in words that start the reason.
    """
    low, high = sample.bounds
    return Interval(
        estimate=sample.estimate,
        lower=low,
        upper=high,
        p_value=1.0,
        trusted=False,
        reason=f"{what} are equal, which says nothing about their spread; the whole range of the difference is given",
    )


def cut(sample: PairedSample, half_width: float, p_value: float) -> Interval:
    """Return the interval of this half-width around the estimate, cut to the range of the difference."""
    low, high = sample.bounds
    return Interval(
        estimate=sample.estimate,
        lower=max(low, sample.estimate - half_width),
        upper=min(high, sample.estimate + half_width),
        p_value=p_value,
    )

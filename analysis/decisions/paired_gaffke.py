"""Gaffke's interval for the mean paired difference of bounded scores.

The lower limit is a quantile of the mean of the observed differences and the smallest possible one under uniform
Dirichlet weights (Gaffke 2005; Learned-Miller and Thomas 2019). For right/wrong scores of one arm it is
Clopper and Pearson's. No violation of its coverage is known, and none is proved to be impossible.
"""

import numpy as np
from numpy.typing import NDArray

from analysis.paired.bracketed_root import bracketed_root
from analysis.paired.gamma_mixture import dirichlet_mean_cdf
from analysis.paired.interval import Interval, Method
from analysis.paired.sample import PairedSample

METHOD = Method(
    title="Gaffke's bound for the mean of bounded differences",
    guarantee="conjectured",
    assumption="items are independent draws from one population",
    when="scores are bounded, not only right or wrong, and a conjectured guarantee is enough",
    scores="bounded",
    source="Gaffke 2005; Learned-Miller and Thomas 2019",
)

_TOLERANCE = 1e-11


def interval(sample: PairedSample, *, alpha: float, margin: float = 0.0, seed: int | None = None) -> Interval:
    """Return the two-sided interval at level `alpha`, inside the range of the difference.

    Args:
        sample: the paired differences.
        alpha: error probability, in (0, 1), half on each side.
        margin: the null hypothesis of the p-value is "difference <= margin".
        seed: not used; the method is deterministic.

    Returns:
        The interval; its p-value is at most `alpha` exactly where `lower` is at least `margin`.
    """
    low, high = sample.bounds
    below = _WeightedMean(sample.differences, low)
    above = _WeightedMean(-sample.differences, -high)
    return Interval(
        estimate=sample.estimate,
        lower=below.quantile(alpha / 2.0, sample.estimate),
        upper=-above.quantile(alpha / 2.0, -sample.estimate),
        p_value=min(1.0, 2.0 * below.at_most(margin)),
    )


class _WeightedMean:
    """The law of the mean of the differences and one smallest possible difference under Dirichlet weights."""

    def __init__(self, differences: NDArray[np.float64], smallest: float) -> None:
        values = np.concatenate([[smallest], differences])
        self._smallest = smallest
        self._values, multiplicity = np.unique(values, return_counts=True)
        self._shapes = multiplicity.astype(np.float64)

    def at_most(self, value: float) -> float:
        """Return the probability of a weighted mean of at most `value`."""
        return dirichlet_mean_cdf(self._values, self._shapes, value)

    def quantile(self, error: float, estimate: float) -> float:
        """Return the quantile at `error`, from below; the estimate where even that has no larger probability."""
        if self._values[-1] <= self._smallest:
            return self._smallest
        return bracketed_root(lambda value: self.at_most(value) - error, self._smallest, estimate, _TOLERANCE)

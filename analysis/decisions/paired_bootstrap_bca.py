"""The bias-corrected and accelerated bootstrap interval for the mean paired difference.

The percentile interval's levels are shifted for median bias and skewness (Efron 1987; Efron and Tibshirani 1993,
equations 14.9 to 14.15). Where the differences lie on a lattice the bootstrap law is computed
exactly, as for the percentile interval; libraries that resample differ from each other by several lattice steps.
"""

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from analysis.paired.interval import Interval, Method
from analysis.paired.lattice_law import MeanLaw
from analysis.paired.resampling import bootstrap_or_resampled_law
from analysis.paired.sample import PairedSample
from analysis.paired.trust import distrust_asymptotics, is_constant

METHOD = Method(
    title="BCa bootstrap of the mean paired difference",
    guarantee="asymptotic",
    assumption="items are independent draws from one population, and many of them differ between the arms",
    when="an earlier analysis used it and its figures must be comparable; else prefer an exact method",
    scores="bounded",
    source="Efron 1987; Efron and Tibshirani 1993, section 14.3",
    seed="continuous scores",
)


def interval(sample: PairedSample, *, alpha: float, margin: float = 0.0, seed: int | None = None) -> Interval:
    """Return the two-sided interval at level `alpha`.

    Args:
        sample: the paired differences.
        alpha: error probability, in (0, 1), half on each side.
        margin: the null hypothesis of the p-value is "difference <= margin".
        seed: of the resampling; needed only where the differences lie on no lattice.

    Returns:
        The interval; its p-value is at most `alpha` where `lower` is above `margin`. It is not trusted where the
        arms differ on fewer than 10 items or where its width would be zero.

    Raises:
        AuditError: the differences must be resampled and no seed is registered.
    """
    if is_constant(sample):
        return distrust_asymptotics(sample, Interval(sample.estimate, sample.estimate, sample.estimate, None))
    differences = np.sort(sample.differences)
    below = _Corrected(differences, seed)
    # The upper limit is the lower limit of the swapped arms, so that swapping them mirrors the interval.
    above = _Corrected(-differences[::-1], seed)
    found = Interval(
        estimate=sample.estimate,
        lower=below.limit(alpha / 2.0),
        upper=-above.limit(alpha / 2.0),
        p_value=min(1.0, 2.0 * below.error_at(margin)),
    )
    return distrust_asymptotics(sample, found)


class _Corrected:
    """A bootstrap law with its bias correction and acceleration."""

    def __init__(self, differences: NDArray[np.float64], seed: int | None) -> None:
        self._law: MeanLaw = bootstrap_or_resampled_law(differences, seed)
        mean = float(differences.mean())
        centred = differences - mean
        self._acceleration = float((centred**3).sum() / (6.0 * (centred**2).sum() ** 1.5))
        # Half of the probability of a tie, as the bootstrap mean often equals the observed one.
        self._bias = float(ndtri((self._law.below(mean) + self._law.at_most(mean)) / 2.0))

    def limit(self, error: float) -> float:
        """Return the corrected quantile at a one-sided error probability."""
        shifted = self._bias + float(ndtri(error))
        corrected = self._bias + shifted / (1.0 - self._acceleration * shifted)
        return self._law.quantile(float(ndtr(corrected)))

    def error_at(self, margin: float) -> float:
        """Return the one-sided error probability whose limit is the margin: the correction undone."""
        share = self._law.at_most(margin)
        if not 0.0 < share < 1.0:
            return share
        shifted = float(ndtri(share)) - self._bias
        scale = 1.0 + self._acceleration * shifted
        if scale <= 0.0:
            return float(shifted > 0.0)
        return float(ndtr(shifted / scale - self._bias)) if math.isfinite(shifted) else share

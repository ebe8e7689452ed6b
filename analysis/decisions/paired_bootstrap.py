"""The percentile bootstrap interval for the mean paired difference.

The limits are the alpha / 2 quantiles, from below and from above, of the mean of n differences drawn with
replacement (Efron and Tibshirani 1993, section 13.3). Where the differences lie on a lattice, as right/wrong
scores do, that law is computed exactly: no resampling, no seed, and no verdict that depends on one. Other
differences are resampled under the seed that the plan registers.
"""

import numpy as np
from numpy.typing import NDArray

from analysis.paired.interval import Interval, Method
from analysis.paired.resampling import bootstrap_or_resampled_law
from analysis.paired.sample import PairedSample
from analysis.paired.trust import distrust_asymptotics, is_constant

METHOD = Method(
    title="Percentile bootstrap of the mean paired difference",
    guarantee="asymptotic",
    assumption="items are independent draws from one population, and many of them differ between the arms",
    when="an earlier analysis used it and its figures must be comparable; else prefer an exact method",
    scores="bounded",
    source="Efron and Tibshirani 1993, section 13.3",
    seed="continuous scores",
)


def interval(sample: PairedSample, *, alpha: float, margin: float = 0.0, seed: int | None = None) -> Interval:
    """Return the two-sided percentile interval at level `alpha`.

    Args:
        sample: the paired differences.
        alpha: error probability, in (0, 1).
        margin: the null hypothesis of the p-value is "difference <= margin".
        seed: of the resampling; needed only where the differences lie on no lattice.

    Returns:
        The interval; its p-value is below `alpha` exactly where `lower` is above `margin`. It is not trusted
        where the arms differ on fewer than 10 items or where its width would be zero.

    Raises:
        AuditError: the differences must be resampled and no seed is registered.
    """
    if is_constant(sample):
        return distrust_asymptotics(sample, Interval(sample.estimate, sample.estimate, sample.estimate, None))
    differences = np.sort(sample.differences)
    lower, at_most_margin = _lower_limit(differences, alpha / 2.0, margin, seed)
    # The upper limit is the lower limit of the swapped arms, so that swapping them mirrors the interval.
    upper = -_lower_limit(-differences[::-1], alpha / 2.0, -margin, seed)[0]
    found = Interval(sample.estimate, lower, upper, min(1.0, 2.0 * at_most_margin))
    return distrust_asymptotics(sample, found)


def _lower_limit(
    differences: NDArray[np.float64], level: float, margin: float, seed: int | None
) -> tuple[float, float]:
    """Return the bootstrap quantile at `level` and the bootstrap probability of a mean up to `margin`."""
    law = bootstrap_or_resampled_law(differences, seed)
    return law.quantile(level), law.at_most(margin)

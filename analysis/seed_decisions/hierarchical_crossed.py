"""The hierarchical interval for items x training seeds: both are samples, and every seed answers every item.

With h_S the half-width of the t interval on seed means and h_I that of the t interval on item means, the interval is
the estimate +- sqrt(h_S^2 + h_I^2). It is Banerjee's (1960) interval for a sum of variances that are estimated apart.
In the crossed model (difference = mean + seed effect + item effect + rest) the mean's variance is
V = s_S^2 / S + s_I^2 / n + s_R^2 / (S n), and the variances of the seed means and of the item means over S and n have
expectations that sum to V + s_R^2 / (S n) (Cornfield and Tukey 1956). For normal effects the chance to cover, a concave
function of the squared half-width, is therefore at least the mean of the two t intervals' chances, 1 - alpha each.
"""

import math

import numpy as np
from numpy.typing import NDArray

from analysis.paired.bracketed_root import bracketed_root
from analysis.paired.interval import Interval, Method
from analysis.paired.sample import PairedSample
from analysis.paired.trust import distrust_asymptotics
from analysis.seeds.spread import MeanVariance, cut, is_constant, mean_variance, no_spread, scores_by_seed, t_quantile

METHOD = Method(
    title="Hierarchical interval, items crossed with training seeds",
    guarantee="asymptotic",
    assumption=(
        "training seeds and items are independent draws, seed means are near normal and many items differ between "
        "the arms: with exactly normal effects the coverage is at least 1 - alpha for any number of seeds"
    ),
    when="the claim is that the training does better on items like these, whatever its seed",
    scores="bounded",
    source="Banerjee 1960; Cornfield and Tukey 1956",
)

_SMALLEST_P = 1e-100
_TOLERANCE = 1e-12


def interval(sample: PairedSample, *, alpha: float, margin: float = 0.0, seed: int | None = None) -> Interval:
    """Return the two-sided interval at level `alpha`, cut to the range of the difference.

    Args:
        sample: differences with their scores by training seed.
        alpha: error probability, in (0, 1).
        margin: the null hypothesis of the p-value is "difference <= margin".
        seed: not used; the method is deterministic.

    Returns:
        The interval; its p-value is at most `alpha` where the lower limit, before it is cut, is at least `margin`.
        It is not trusted where the seeds or the items do not differ, or where the arms differ on fewer than 10 items.

    Raises:
        AuditError: the sample has no scores by seed.
    """
    scores = scores_by_seed(sample, "hierarchical_crossed")
    groups = scores.seed_groups
    if all(is_constant(group, sample.bounds) for group in groups):
        return no_spread(sample, "the means of all training seeds")
    items: NDArray[np.float64] = scores.item_differences
    if is_constant(items, sample.bounds):
        return no_spread(sample, "the differences of all items")
    parts = [*map(mean_variance, groups), mean_variance(items)]
    excess = sample.estimate - margin
    return distrust_asymptotics(sample, cut(sample, _half_width(parts, alpha), _p_value(parts, excess)))


def _half_width(parts: list[MeanVariance], alpha: float) -> float:
    """Return the root of the sum of the squared half-widths of the parts' t intervals."""
    return math.sqrt(sum(part.variance * t_quantile(alpha, part.freedom) ** 2 for part in parts))


def _p_value(parts: list[MeanVariance], excess: float) -> float:
    """Return the level at which the half-width equals the excess, to a relative 1e-12 from above; at least 1e-100."""
    if excess <= 0.0:
        return 1.0
    log_p = bracketed_root(
        lambda minus_log: _half_width(parts, math.exp(-minus_log)) - excess, 0.0, -math.log(_SMALLEST_P), _TOLERANCE
    )
    return math.exp(-log_p)

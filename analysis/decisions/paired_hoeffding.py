"""Hoeffding's interval for the mean paired difference: the lightest assumptions, the widest interval.

For independent differences in [a, b], not necessarily identically distributed,
P(|mean - expectation| >= t) <= 2 exp(-2 n t^2 / (b - a)^2) (Hoeffding 1963, theorem 2), so that the
half-width at level alpha is (b - a) sqrt(log(2 / alpha) / (2 n)); for right/wrong scores b - a = 2.
"""

import math

from analysis.paired.interval import Interval, Method
from analysis.paired.sample import PairedSample

METHOD = Method(
    title="Hoeffding's inequality on paired differences",
    guarantee="proven",
    assumption="items are independent; they need not share one distribution",
    when="the items are hand-picked or stratified, so that nothing but independence can be assumed",
    scores="bounded",
    source="Hoeffding 1963, theorem 2",
)


def interval(sample: PairedSample, *, alpha: float, margin: float = 0.0, seed: int | None = None) -> Interval:
    """Return the two-sided interval at level `alpha`, cut to the range of the difference.

    Args:
        sample: the paired differences.
        alpha: error probability, in (0, 1).
        margin: the null hypothesis of the p-value is "difference <= margin".
        seed: not used; the method is deterministic.

    Returns:
        The interval; its p-value is at most `alpha` exactly where `lower` is at least `margin`.
    """
    low, high = sample.bounds
    span = high - low
    half_width = span * math.sqrt(math.log(2.0 / alpha) / (2.0 * sample.n_items))
    excess = max(sample.estimate - margin, 0.0)
    return Interval(
        estimate=sample.estimate,
        lower=max(low, sample.estimate - half_width),
        upper=min(high, sample.estimate + half_width),
        p_value=min(1.0, 2.0 * math.exp(-2.0 * sample.n_items * (excess / span) ** 2)),
    )

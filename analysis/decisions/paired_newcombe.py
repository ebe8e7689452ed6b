"""Newcombe's square-and-add interval for a paired difference of proportions.

Wilson's intervals of the two arms' proportions are joined, with the correlation of the arms estimated under a
continuity correction (Newcombe 1998, method 10; Fagerland, Lydersen and Laake 2014, equations 19 to 22).
"""

import math

from analysis.paired.binary import right_wrong_counts
from analysis.paired.bracketed_root import bracketed_root
from analysis.paired.interval import Interval, Method
from analysis.paired.normal import two_sided_p, two_sided_quantile
from analysis.paired.sample import PairedCounts, PairedSample
from analysis.paired.trust import distrust_asymptotics

METHOD = Method(
    title="Newcombe's square-and-add interval",
    guarantee="asymptotic",
    assumption="items are independent draws from one population, and many of them differ between the arms",
    when="figures must be comparable with published ones; else prefer the exact unconditional interval",
    scores="binary",
    source="Newcombe 1998, method 10; Fagerland, Lydersen and Laake 2014, equations 19 to 22",
)

_MOST_ERRORS = 40.0


def interval(sample: PairedSample, *, alpha: float, margin: float = 0.0, seed: int | None = None) -> Interval:
    """Return the two-sided interval at level `alpha`.

    Args:
        sample: the paired differences of right/wrong scores.
        alpha: error probability, in (0, 1).
        margin: the null hypothesis of the p-value is "difference <= margin".
        seed: not used; the method is deterministic.

    Returns:
        The interval; its p-value is the alpha whose lower limit is `margin`. It is not trusted where the arms
        differ on fewer than 10 items.

    Raises:
        AuditError: the scores are not right or wrong.
    """
    counts = right_wrong_counts(sample, "paired_newcombe")
    critical = two_sided_quantile(alpha)
    swapped = PairedCounts(counts.both, counts.only_baseline, counts.only_treatment, counts.neither)
    found = Interval(
        estimate=sample.estimate,
        lower=_lower_limit(counts, critical),
        upper=-_lower_limit(swapped, critical),
        p_value=_p_value(counts, sample.estimate, margin),
    )
    return distrust_asymptotics(sample, found)


def _lower_limit(counts: PairedCounts, critical: float) -> float:
    """Return the lower limit at this many standard errors."""
    n_items = counts.n_items
    treatment, baseline = counts.both + counts.only_treatment, counts.both + counts.only_baseline
    below = (treatment - n_items * _wilson(treatment, n_items, critical)[0]) / n_items
    above = (n_items * _wilson(baseline, n_items, critical)[1] - baseline) / n_items
    square = below * below + above * above - 2.0 * _correlation(counts) * below * above
    return max(-1.0, (treatment - baseline) / n_items - math.sqrt(max(square, 0.0)))


def _wilson(successes: int, trials: int, critical: float) -> tuple[float, float]:
    """Return Wilson's score interval of one proportion (Wilson 1927)."""
    share, square = successes / trials, critical * critical
    centre = (share + square / (2.0 * trials)) / (1.0 + square / trials)
    spread = math.sqrt(share * (1.0 - share) / trials + square / (4.0 * trials * trials))
    half_width = critical * spread / (1.0 + square / trials)
    return max(0.0, centre - half_width), min(1.0, centre + half_width)


def _correlation(counts: PairedCounts) -> float:
    """Return the estimated correlation of the arms' scores, 0 where an arm's scores are all equal."""
    n_items = counts.n_items
    treatment, baseline = counts.both + counts.only_treatment, counts.both + counts.only_baseline
    product = float(treatment) * (n_items - treatment) * baseline * (n_items - baseline)
    if product == 0.0:
        return 0.0
    determinant = counts.both * counts.neither - counts.only_treatment * counts.only_baseline
    corrected = max(determinant - n_items / 2.0, 0.0) if determinant > 0 else float(determinant)
    return corrected / math.sqrt(product)


def _p_value(counts: PairedCounts, estimate: float, margin: float) -> float:
    """Return the alpha whose lower limit is the margin; the limit falls as the number of standard errors grows."""
    if margin >= estimate:
        return 1.0
    errors = bracketed_root(lambda errors: margin - _lower_limit(counts, errors), 0.0, _MOST_ERRORS, 1e-10)
    return two_sided_p(errors)

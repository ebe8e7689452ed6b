"""Tango's asymptotic score interval for a paired difference of proportions.

The interval holds every difference that the score test with constrained maximum likelihood does not reject
(Tango 1998). At 100 items its enumerated coverage falls to 0.933 of a nominal 0.95.
"""

from analysis.paired.binary import right_wrong_counts
from analysis.paired.interval import Interval, Method
from analysis.paired.normal import two_sided_p, two_sided_quantile
from analysis.paired.sample import PairedSample
from analysis.paired.tango_score import tango_lower_limit, tango_score
from analysis.paired.trust import distrust_asymptotics

METHOD = Method(
    title="Tango's score interval",
    guarantee="asymptotic",
    assumption="items are independent draws from one population, and many of them differ between the arms",
    when="figures must be comparable with published score intervals; else prefer the exact unconditional interval",
    scores="binary",
    source="Tango 1998, the score interval",
)


def interval(sample: PairedSample, *, alpha: float, margin: float = 0.0, seed: int | None = None) -> Interval:
    """Return the two-sided interval at level `alpha`.

    Args:
        sample: the paired differences of right/wrong scores.
        alpha: error probability, in (0, 1).
        margin: the null hypothesis of the p-value is "difference <= margin".
        seed: not used; the method is deterministic.

    Returns:
        The interval; its p-value is at most `alpha` exactly where `lower` is at least `margin`. It is not trusted
        where the arms differ on fewer than 10 items.

    Raises:
        AuditError: the scores are not right or wrong.
    """
    counts = right_wrong_counts(sample, "paired_tango")
    gains, losses, n_items = counts.only_treatment, counts.only_baseline, counts.n_items
    critical = two_sided_quantile(alpha)
    found = Interval(
        estimate=sample.estimate,
        lower=tango_lower_limit(gains, losses, n_items, critical),
        upper=-tango_lower_limit(losses, gains, n_items, critical),
        p_value=two_sided_p(float(tango_score(gains, losses, n_items, min(max(margin, -1.0), 1.0)))),
    )
    return distrust_asymptotics(sample, found)

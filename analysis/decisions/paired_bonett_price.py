"""Bonett and Price's adjusted Wald interval for a paired difference of proportions.

One discordant item is added on each side, and the Wald interval of the result is cut to [-1, 1]
(Bonett and Price 2012; Fagerland, Lydersen and Laake 2014, equation 16). It never has zero width.
"""

import math

from analysis.paired.binary import right_wrong_counts
from analysis.paired.interval import Interval, Method
from analysis.paired.normal import two_sided_p, two_sided_quantile
from analysis.paired.sample import PairedSample
from analysis.paired.trust import distrust_asymptotics

METHOD = Method(
    title="Bonett and Price's adjusted Wald interval",
    guarantee="asymptotic",
    assumption="items are independent draws from one population, and many of them differ between the arms",
    when="a closed form that a reader can check by hand is wanted; else prefer the exact unconditional interval",
    scores="binary",
    source="Bonett and Price 2012; Fagerland, Lydersen and Laake 2014, equation 16",
)


def interval(sample: PairedSample, *, alpha: float, margin: float = 0.0, seed: int | None = None) -> Interval:
    """Return the two-sided interval at level `alpha`, cut to [-1, 1] and holding the estimate.

    Args:
        sample: the paired differences of right/wrong scores.
        alpha: error probability, in (0, 1).
        margin: the null hypothesis of the p-value is "difference <= margin".
        seed: not used; the method is deterministic.

    Returns:
        The interval; its p-value is at most `alpha` exactly where the lower limit, before it is cut, is at least
        `margin`. It is not trusted where the arms differ on fewer than 10 items.

    Raises:
        AuditError: the scores are not right or wrong.
    """
    counts = right_wrong_counts(sample, "paired_bonett_price")
    total = counts.n_items + 2
    gain, loss = (counts.only_treatment + 1) / total, (counts.only_baseline + 1) / total
    centre = gain - loss
    error = math.sqrt((gain + loss - centre * centre) / total)
    half_width = two_sided_quantile(alpha) * error
    found = Interval(
        estimate=sample.estimate,
        # The centre is drawn towards 0: at a large alpha the interval alone could miss the estimate.
        lower=min(max(-1.0, centre - half_width), sample.estimate),
        upper=max(min(1.0, centre + half_width), sample.estimate),
        p_value=two_sided_p((centre - margin) / error),
    )
    return distrust_asymptotics(sample, found)

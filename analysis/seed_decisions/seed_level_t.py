"""The t interval on training seeds: each seed's mean over the items is one observation.

Where both arms share their seeds it is the paired t interval on the seeds' differences (Student 1908); else Welch's
with Satterthwaite's degrees of freedom (Welch 1947). The items are taken as they are: the interval is about what
further training seeds would give on these items, with the decoding's own noise inside each seed's mean.
"""

import math

from analysis.paired.interval import Interval, Method
from analysis.paired.sample import PairedSample
from analysis.seeds.spread import cut, is_constant, mean_variance, no_spread, scores_by_seed, t_quantile, two_sided_t_p

METHOD = Method(
    title="t interval on the means of training seeds",
    guarantee="asymptotic",
    assumption=(
        "training seeds are independent draws, and a seed's mean over the items is near normal: with exactly normal "
        "means and shared seeds the coverage is exact for any number of seeds"
    ),
    when="the claim is that the training does better on these items, whatever its seed",
    scores="bounded",
    source="Student 1908; Welch 1947",
)


def interval(sample: PairedSample, *, alpha: float, margin: float = 0.0, seed: int | None = None) -> Interval:
    """Return the two-sided interval at level `alpha`, cut to the range of the difference.

    Args:
        sample: differences with their scores by training seed.
        alpha: error probability, in (0, 1).
        margin: the null hypothesis of the p-value is "difference <= margin".
        seed: not used; the method is deterministic.

    Returns:
        The interval; its p-value is at most `alpha` exactly where the lower limit, before it is cut, is at least
        `margin`. It is the whole range, and not trusted, where the seeds do not differ.

    Raises:
        AuditError: the sample has no scores by seed.
    """
    groups = scores_by_seed(sample, "seed_level_t").seed_groups
    if all(is_constant(group, sample.bounds) for group in groups):
        return no_spread(sample, "the means of all training seeds")
    parts = [mean_variance(group) for group in groups]
    variance = sum(part.variance for part in parts)
    # Satterthwaite's degrees of freedom; with one group they are its own.
    freedom = variance**2 / sum(part.variance**2 / part.freedom for part in parts)
    error = math.sqrt(variance)
    score = (sample.estimate - margin) / error
    return cut(sample, t_quantile(alpha, freedom) * error, two_sided_t_p(score, freedom))

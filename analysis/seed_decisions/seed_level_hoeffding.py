"""Hoeffding's interval on training seeds: no assumption on their law, and many seeds before it says anything.

Each seed's mean over the items is one bounded observation. With S shared seeds and a difference of range r the
half-width is r sqrt(log(2 / alpha) / (2 S)) (Hoeffding 1963, theorem 2). Where the arms have seeds of their own, each
side of the contrast has half of the range, as its weights sum to zero, and (r / 2)^2 (1 / S_t + 1 / S_b) stands for
r^2 / S.
"""

import math

from analysis.paired.interval import Interval, Method
from analysis.paired.sample import PairedSample
from analysis.seeds.spread import cut, scores_by_seed

METHOD = Method(
    title="Hoeffding's inequality on the means of training seeds",
    guarantee="proven",
    assumption="training seeds are independent draws; their means may have any law",
    when="dozens of seeds an arm were trained; with few it only shows how little is proven without normality",
    scores="bounded",
    source="Hoeffding 1963, theorem 2",
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
        `margin`.

    Raises:
        AuditError: the sample has no scores by seed.
    """
    scores = scores_by_seed(sample, "seed_level_hoeffding")
    low, high = sample.bounds
    groups = scores.seed_groups
    squared_range = ((high - low) / len(groups)) ** 2 * sum(1.0 / group.size for group in groups)
    half_width = math.sqrt(squared_range * math.log(2.0 / alpha) / 2.0)
    excess = max(sample.estimate - margin, 0.0)
    return cut(sample, half_width, min(1.0, 2.0 * math.exp(-2.0 * excess**2 / squared_range)))

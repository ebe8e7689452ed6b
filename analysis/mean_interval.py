"""A 95 % style interval of one mean score, for a reader who must not take a point for the truth."""

import math
from dataclasses import dataclass

from analysis.paired.exact_limit import clopper_pearson


@dataclass(frozen=True)
class MeanInterval:
    """Limits of a mean in 0..1.

    Attributes:
        lower: lower limit.
        upper: upper limit.
        kind: `clopper_pearson` for right or wrong, else `hoeffding`.
    """

    lower: float
    upper: float
    kind: str


def interval_of_mean(mean: float, items: int, *, right_or_wrong: bool, error: float) -> MeanInterval:
    """Return an interval of the mean of independent items' scores that covers with at least 1 - error.

    Clopper and Pearson (1934) where every item is right or wrong; Hoeffding (1963) for any scores in 0..1.

    Args:
        mean: of the items' scores, 0..1.
        items: at least 1.
        right_or_wrong: whether every score is 0 or 1.
        error: error probability, half on each side.
    """
    if right_or_wrong:
        low, high = clopper_pearson(round(mean * items), items, error)
        return MeanInterval(low, high, "clopper_pearson")
    half_width = math.sqrt(math.log(2.0 / error) / (2.0 * items))
    return MeanInterval(max(0.0, mean - half_width), min(1.0, mean + half_width), "hoeffding")

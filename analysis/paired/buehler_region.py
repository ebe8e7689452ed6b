"""The tables that speak at least as strongly for the treatment as the observed one.

Tables are ordered by Tango's asymptotic lower limit: a table belongs to the region where its own limit would be at
least the observed one, which is where its score at the observed limit is at least the critical value. The region is
frozen once for a data set; Buehler (1957) shows that the exact lower limit follows from its probability alone.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from analysis.paired.tango_score import tango_score

# A tie that rounding splits would drop tables from the region; the score is good to about 2e-7 where |delta| nears 1.
_TIE_TOLERANCE = 1e-7


@dataclass(frozen=True)
class Region:
    """A set of tables (gains, losses) that is closed under more gains and under fewer losses.

    Attributes:
        n_items: all items.
        fewest_gains: shape (k + 1,), nondecreasing: the fewest gains in the region beside 0, 1, ..., k losses;
            n_items + 1 where no number of gains is enough. Tables with more than k losses are not described.
    """

    n_items: int
    fewest_gains: NDArray[np.int64]


def region_at_least(gains: int, losses: int, n_items: int, limit: float, critical: float, most_losses: int) -> Region:
    """Return the region of an observed table.

    Args:
        gains: observed items that only the treatment has right.
        losses: observed items that only the baseline has right.
        n_items: all items.
        limit: Tango's lower limit of the observed table.
        critical: the normal quantile of that limit.
        most_losses: the largest number of losses that matters; at least `losses`, at most `n_items`.

    Returns:
        The region. It contains the observed table, and ties count as inside, so that rounding can only enlarge it,
        which is the safe side.
    """
    counts = np.arange(most_losses + 1)
    threshold = critical - _TIE_TOLERANCE * (1.0 + abs(critical))
    # The score does not decrease in gains: bisect for the first that reaches the threshold, all rows at once.
    outside = np.full(counts.size, -1)
    inside = np.where(tango_score(n_items - counts, counts, n_items, limit) >= threshold, n_items - counts, n_items + 1)
    open_rows = np.flatnonzero(inside <= n_items)
    while open_rows.size:
        middle = (outside[open_rows] + inside[open_rows]) // 2
        reached = tango_score(middle, counts[open_rows], n_items, limit) >= threshold
        inside[open_rows[reached]] = middle[reached]
        outside[open_rows[~reached]] = middle[~reached]
        open_rows = open_rows[inside[open_rows] - outside[open_rows] > 1]
    inside[losses] = min(int(inside[losses]), gains)
    # Closing the region under fewer losses only enlarges it; without rounding it is closed already.
    return Region(n_items, np.minimum.accumulate(inside[::-1])[::-1])

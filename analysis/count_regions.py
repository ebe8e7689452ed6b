"""The tables on which a decision method gives a verdict, found with few evaluations of its interval.

For right/wrong scores an interval depends on the data through the numbers of gains and losses. Two properties let
the region of a verdict be found along its border instead of table by table: one more gain never takes a table out
of "lower limit above the margin", and neither does one gain and one loss less, which leaves the estimate as it is
and shows less spread. Both hold wherever they were enumerated (tests/analysis/test_count_regions.py) and some item
agrees; for methods that draw random orders the border is that of the drawn orders and may be off by a table.
"""

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from analysis.paired.interval import Interval
from analysis.paired.methods import DecisionMethod
from analysis.paired.sample import PairedCounts, sample_from_counts
from analysis.paired.trust import MINIMUM_DISCORDANT
from analysis.power import Region, bonett_price_interval, first_in_each

NEVER = np.inf


class CountIntervals:
    """A method's interval as a function of gains and losses, each table computed once.

    Of the items on which the arms agree, half count as right in both: one method here (Newcombe's) looks at that.
    """

    def __init__(self, method: DecisionMethod, n_items: int, alpha: float, seed: int | None = None) -> None:
        self.method, self.n_items, self.alpha, self.seed = method, n_items, alpha, seed
        self._known: dict[tuple[int, int], Interval] = {}

    def __call__(self, gains: int, losses: int) -> Interval:
        """Return the interval of the table.

        Args:
            gains: items that only the treatment has right.
            losses: items that only the baseline has right; gains + losses <= n_items.

        Raises:
            AuditError: the method needs a seed and there is none.
        """
        if (gains, losses) not in self._known:
            agreed = self.n_items - gains - losses
            counts = PairedCounts(agreed // 2, gains, losses, agreed - agreed // 2)
            sample = sample_from_counts(counts)
            self._known[gains, losses] = self.method.interval(sample, alpha=self.alpha, seed=self.seed)
        return self._known[gains, losses]

    def lower(self, gains: int, losses: int) -> float:
        """Return the lower limit; the estimate where the method gave up its limits, as at zero width.

        No such table is trusted, so that it decides nothing; the border beside it must not suffer from it.
        """
        found = self(gains, losses)
        return found.estimate if not found.trusted and found.upper - found.lower >= 2.0 else found.lower

    def fewest_trusted(self) -> int:
        """Return the smallest number of discordant items at which the method lets its interval decide."""
        guess = 0 if self(0, 0).trusted else MINIMUM_DISCORDANT
        return first_true(lambda m: self(m - m // 2, m // 2).trusted, 0, self.n_items + 1, guess)

    def half_width(self, discordance: float) -> float:
        """Return half the width of the interval where the arms differ on this share of the items, evenly split."""
        gains = round(self.n_items * discordance / 2.0)
        found = self(gains, min(gains, self.n_items - gains))
        return (found.upper - found.lower) / 2.0


def validated_region(intervals: CountIntervals, margin: float, losses: tuple[int, int]) -> Region:
    """Return the tables that are `validated`: trusted, with a lower limit above the margin.

    Args:
        intervals: the method.
        margin: at least 0.
        losses: smallest and largest number of losses to look at; outside, a table counts as not validated.
    """
    needed = fewest_gains(intervals, lambda lower: lower > margin, margin, losses)
    first, m = _first_gains(intervals, needed), np.arange(intervals.n_items + 1, dtype=np.float64)
    return Region(intervals.n_items, first, m + 1.0)


def tie_region(intervals: CountIntervals, band: float, losses: tuple[int, int]) -> Region:
    """Return the tables that are a `tie`: trusted, with the interval inside [-band, band].

    Args:
        intervals: the method; swapping its arms mirrors its interval.
        band: above 0.
        losses: smallest and largest number of losses, and of gains, to look at.
    """
    needed = fewest_gains(intervals, lambda lower: lower >= -band, -band, losses)
    first, m = _first_gains(intervals, needed), np.arange(intervals.n_items + 1, dtype=np.float64)
    return Region(intervals.n_items, first, np.maximum(m - first + 1.0, first))


def fewest_gains(
    intervals: CountIntervals, accepts: Callable[[float], bool], limit: float, losses: tuple[int, int]
) -> npt.NDArray[np.float64]:
    """Return the smallest number of gains that is accepted beside each number of losses.

    Args:
        intervals: the method.
        accepts: whether a lower limit is beyond `limit`.
        limit: what the lower limit is compared with; a first guess is made from it.
        losses: smallest and largest number of losses to look at.

    Returns:
        Shape (n_items + 1,), by losses: the fewest gains, `NEVER` where none suffices or none was looked for. Fewer
        losses than looked at need what the smallest number looked at needs.
    """
    n_items = intervals.n_items
    low, high = losses[0], min(losses[1], n_items)
    needed = np.full(n_items + 1, NEVER)
    free = first_true(lambda c: not accepts(intervals.lower(0, c)), low, high + 1)
    needed[:free] = 0.0
    guess = _guessed_excess(n_items, intervals.alpha, limit)
    at, excess, shift = free, -math.inf, 0.0
    while at <= high:
        found = _excess_at(intervals, accepts, at, max(excess + 1.0, float(-at)), float(guess[at]) + shift)
        if found is None:
            break
        excess, shift = found, found - float(guess[at])
        likely = at + int(np.searchsorted(guess[at : high + 1] + shift, excess, side="right"))

        def lost(c: int, excess: int = found) -> bool:
            return c + excess + c > n_items or not accepts(intervals.lower(c + excess, c))

        end = first_true(lost, at + 1, high + 1, likely)
        needed[at:end] = np.arange(at, end) + excess
        at = end
    needed[:low] = needed[low]
    return needed


def first_true(holds: Callable[[int], bool], low: int, beyond: int, guess: int | None = None) -> int:
    """Return the first point of low..beyond-1 at which the condition holds, `beyond` where it never does.

    Args:
        holds: once true it stays true.
        low: first point.
        beyond: one more than the last point.
        guess: where the search starts; two evaluations suffice where it is right.
    """
    step, probe = 1, low if guess is None else min(max(guess, low), beyond - 1)
    while low < beyond:
        if holds(probe):
            beyond, probe = probe, max(probe - step, low)
        else:
            low, probe = probe + 1, min(probe + step, beyond - 1)
        step *= 2
        if step > 2 * (beyond - low) or not low <= probe < beyond:
            probe = (low + beyond) // 2
    return low


def _excess_at(
    intervals: CountIntervals, accepts: Callable[[float], bool], losses: int, least: float, guess: float
) -> int | None:
    """Return the smallest excess of gains over this many losses that is accepted, or None where none is."""
    low, beyond = int(least), intervals.n_items - 2 * losses + 1
    found = first_true(lambda excess: accepts(intervals.lower(losses + excess, losses)), low, beyond, round(guess))
    return found if found < beyond else None


def _guessed_excess(n_items: int, alpha: float, limit: float) -> npt.NDArray[np.float64]:
    """Return the excess that Bonett and Price's closed form needs beside each number of losses, never falling."""
    losses = np.arange(n_items + 1, dtype=np.float64)
    interval = bonett_price_interval(alpha)
    gains = first_in_each(n_items - losses, lambda k: interval(n_items, k, losses)[0] > limit)
    return np.asarray(np.maximum.accumulate(gains - losses))


def _first_gains(intervals: CountIntervals, needed: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return for each number of discordant items the fewest gains that suffice, from those beside each loss."""
    m = np.arange(intervals.n_items + 1, dtype=np.float64)
    first = first_in_each(m, lambda k: k >= needed[(m - k).astype(np.int64)])
    return np.where(m < intervals.fewest_trusted(), m + 1.0, first)

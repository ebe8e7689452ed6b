"""Exact coverage of a decision method on right/wrong scores: every table weighed by its probability, none simulated."""

import itertools
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import special

from analysis.count_regions import CountIntervals
from analysis.paired.lattice_law import bootstrap_law
from analysis.paired.methods import DecisionMethod
from analysis.paired.sample import PairedCounts, sample_from_counts

Array = npt.NDArray[np.float64]

CHANCES = (0.0, 0.002, 0.005, 0.01, 0.02, 0.03, 0.05, 0.08, 0.1, 0.15, 0.2, 0.3)
PAIRS = tuple((gain, loss) for gain, loss in itertools.product(CHANCES, CHANCES) if gain + loss > 0.0)
"""143 pairs of chances (only the treatment right, only the baseline right), most of them small."""

# A limit that equals the truth covers it; both come from sums that round.
_TIE = 1e-12
SEED = 1
"""Of the methods that draw."""


@dataclass(frozen=True)
class Limits:
    """The limits of every table of n items.

    Attributes:
        n_items: number of items.
        gains: shape (t,), items that only the treatment has right.
        losses: shape (t,), items that only the baseline has right.
        lower: shape (t,).
        upper: shape (t,).
        trusted: shape (t,), whether the method lets the interval decide.
    """

    n_items: int
    gains: Array
    losses: Array
    lower: Array
    upper: Array
    trusted: npt.NDArray[np.bool_]

    def coverage(self, gain: float, loss: float, *, guarded: bool) -> float:
        """Return the probability that the interval holds gain - loss.

        Args:
            gain: chance that only the treatment has an item right.
            loss: chance that only the baseline has it right.
            guarded: count an interval that is not trusted as covering, since no verdict rests on it.
        """
        truth = gain - loss
        inside = (self.lower <= truth + _TIE) & (truth - _TIE <= self.upper)
        if guarded:
            inside |= ~self.trusted
        return float(self._law(gain, loss) @ inside)

    def half_width(self, gain: float, loss: float) -> float:
        """Return the mean half-width of the interval, trusted or not."""
        return float(self._law(gain, loss) @ (self.upper - self.lower)) / 2.0

    def _law(self, gain: float, loss: float) -> Array:
        """Return the trinomial probability of each table (`scipy` has no vectorised multinomial without stats)."""
        rest = self.n_items - self.gains - self.losses
        log_ways = special.gammaln(self.n_items + 1.0) - sum(
            special.gammaln(count + 1.0) for count in (self.gains, self.losses, rest)
        )
        powers = special.xlogy(self.gains, gain) + special.xlogy(self.losses, loss)
        law: Array = np.exp(log_ways + powers + special.xlogy(rest, 1.0 - gain - loss))
        return law


@dataclass(frozen=True)
class Coverage:
    """Coverage over a grid of chances.

    Attributes:
        least: smallest coverage.
        mean: mean coverage.
        short: share of the grid with a coverage below nominal by more than 0.01.
        guarded_least: smallest coverage where untrusted intervals, on which no verdict rests, count as covering.
        half_width: mean half-width.
    """

    least: float
    mean: float
    short: float
    guarded_least: float
    half_width: float


def method_limits(method: DecisionMethod, n_items: int, alpha: float) -> Limits:
    """Return a method's limits of every table; those of swapped arms are mirrored, not computed twice.

    Args:
        method: any decision method.
        n_items: number of items; there are (n + 1) (n + 2) / 2 tables.
        alpha: two-sided error probability.
    """
    intervals = CountIntervals(method, n_items, alpha, SEED)

    def limits(gains: int, losses: int) -> tuple[float, float, bool]:
        found = intervals(gains, losses)
        return found.lower, found.upper, found.trusted

    return _every_table(n_items, limits)


def plain_percentile_limits(n_items: int, alpha: float) -> Limits:
    """Return the limits of the percentile bootstrap as libraries give it, of zero width where all scores agree.

    Its resampling law is exact: the limits are those of ever more resamples (Efron and Tibshirani 1993, 13.3).
    """

    def limits(gains: int, losses: int) -> tuple[float, float, bool]:
        sample = sample_from_counts(PairedCounts(0, gains, losses, n_items - gains - losses))
        if np.ptp(sample.differences) == 0.0:
            return sample.estimate, sample.estimate, True
        below, above = bootstrap_law(sample.differences), bootstrap_law(-sample.differences)
        assert below is not None and above is not None  # noqa: PT018  # -1, 0 and 1 lie on a lattice
        return below.quantile(alpha / 2.0), -above.quantile(alpha / 2.0), True

    return _every_table(n_items, limits)


def coverage(limits: Limits, alpha: float, pairs: tuple[tuple[float, float], ...] = PAIRS) -> Coverage:
    """Return the coverage over a grid of chances.

    Args:
        limits: of every table.
        alpha: the error probability they were made for.
        pairs: chances of a gain and of a loss.
    """
    alone = np.array([limits.coverage(gain, loss, guarded=False) for gain, loss in pairs])
    return Coverage(
        least=float(alone.min()),
        mean=float(alone.mean()),
        short=float(np.mean(alone < 1.0 - alpha - 0.01)),
        guarded_least=min(limits.coverage(gain, loss, guarded=True) for gain, loss in pairs),
        half_width=float(np.mean([limits.half_width(gain, loss) for gain, loss in pairs])),
    )


def _every_table(n_items: int, limits: Callable[[int, int], tuple[float, float, bool]]) -> Limits:
    """Compute the tables with at least as many gains as losses; the others mirror them."""
    rows: list[tuple[float, float, float, float, bool]] = []
    for losses in range(n_items // 2 + 1):
        for gains in range(losses, n_items - losses + 1):
            lower, upper, trusted = limits(gains, losses)
            rows.append((gains, losses, lower, upper, trusted))
            if gains > losses:
                rows.append((losses, gains, -upper, -lower, trusted))
    table = np.array(rows, dtype=np.float64)
    return Limits(n_items, table[:, 0], table[:, 1], table[:, 2], table[:, 3], table[:, 4] == 1.0)

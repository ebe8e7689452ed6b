"""The exact lower limit of a paired difference of proportions, and the p-value that goes with it.

The probability of the observed table's region rises with the chance of a gain and falls with the chance of a loss.
Hence its supremum over the nuisance parameter does not decrease in delta: one certificate at one delta rejects every
smaller delta, and the accepted values form an interval. The nuisance parameter is confined to its own confidence
interval at the price of that interval's error (Berger and Boos 1994).
"""

import math
from dataclasses import dataclass

from scipy.special import betaincinv, ndtri

from analysis.paired.buehler_region import region_at_least
from analysis.paired.certified_supremum import Supremum, certified_supremum
from analysis.paired.region_probability import TrinomialRegion, widest_count
from analysis.paired.tango_score import tango_lower_limit

NUISANCE_ERROR = 1e-5
_RELATIVE_TOLERANCE = 3e-4
_MAX_CERTIFICATES = 40
# Cells are refined a little below the target too, or a loose bound would pass for a limit that is reached.
_REFINED_SHARE = 0.98


@dataclass(frozen=True)
class ExactLimit:
    """A one-sided exact limit.

    Attributes:
        lower: every smaller difference is rejected at the error probability asked for, certified.
        p_value: one-sided, for "difference <= margin": at most that error probability where `lower` exceeds the
            margin, at least that where it does not.
    """

    lower: float
    p_value: float


def clopper_pearson(successes: int, trials: int, error: float) -> tuple[float, float]:
    """Return the exact two-sided interval of a binomial chance (Clopper and Pearson 1934).

    Args:
        successes: observed successes.
        trials: number of trials, at least 1.
        error: error probability, half on each side.
    """
    half = error / 2.0
    low = float(betaincinv(successes, trials - successes + 1, half)) if successes > 0 else 0.0
    high = float(betaincinv(successes + 1, trials - successes, 1.0 - half)) if successes < trials else 1.0
    return low, high


def exact_lower_limit(gains: int, losses: int, n_items: int, error: float, margin: float) -> ExactLimit:
    """Return the certified lower limit of the chance of a gain minus the chance of a loss.

    Args:
        gains: items that only the treatment has right.
        losses: items that only the baseline has right.
        n_items: all items, at least 1.
        error: one-sided error probability, in (0, 0.5).
        margin: the hypothesis of the p-value is "difference <= margin".

    Returns:
        The limit and the p-value; see docs/exact-interval.md for what is proved and what is checked numerically.
    """
    if losses == n_items:
        return ExactLimit(-1.0, 1.0)
    search = _Search(gains, losses, n_items, error)
    lower = search.limit()
    return ExactLimit(lower, search.p_value(lower, margin))


class _Search:
    """The region of one table at one error probability, and the search for its limit."""

    def __init__(self, gains: int, losses: int, n_items: int, error: float) -> None:
        critical = -float(ndtri(error))
        self._error = error
        self._nuisance_error = min(NUISANCE_ERROR, error / 50.0)
        self._target = error - self._nuisance_error
        self._estimate = (gains - losses) / n_items
        self._start = tango_lower_limit(gains, losses, n_items, critical)
        self._psi_low, self._psi_high = clopper_pearson(gains + losses, n_items, self._nuisance_error)
        most_losses = max(losses, widest_count(n_items, self._psi_high))
        self._region = TrinomialRegion(region_at_least(gains, losses, n_items, self._start, critical, most_losses))

    def _supremum(self, delta: float, target: float, tolerance: float) -> Supremum:
        psi_range = (max(self._psi_low, abs(delta)), self._psi_high)
        return certified_supremum(self._region, delta, psi_range, target, tolerance)

    def limit(self) -> float:
        """Return the largest difference whose rejection was certified: at most the true limit."""
        tolerance = _RELATIVE_TOLERANCE * self._error
        # No difference beyond the largest psi is possible, so that the search starts from a certain rejection.
        certified, failed = -self._psi_high, min(self._estimate, self._psi_high)
        delta = self._start
        if not certified < delta < failed:
            delta = (certified + failed) / 2.0
        for _ in range(_MAX_CERTIFICATES):
            found = self._supremum(delta, _REFINED_SHARE * self._target, tolerance)
            if found.upper <= self._target:
                certified = delta
                if self._target - found.upper <= 2.0 * tolerance:
                    break
            else:
                failed = delta
            if failed - certified <= 1e-12:
                break
            delta = _newton(found, delta, self._target - tolerance)
            if not certified < delta < failed:
                delta = (certified + failed) / 2.0
        return certified

    def p_value(self, lower: float, margin: float) -> float:
        """Return the p-value, made to agree with the limit that was certified."""
        if margin >= min(self._estimate, self._psi_high):
            return 1.0
        if margin < -self._psi_high:
            return self._nuisance_error
        found = self._supremum(margin, 0.1 * self._nuisance_error, 0.1 * self._nuisance_error)
        p_value = min(1.0, found.upper + self._nuisance_error)
        # The supremum does not decrease in delta: the certificate at the limit holds at every margin below it.
        return min(p_value, self._error) if lower > margin else max(p_value, self._error)


def _newton(found: Supremum, delta: float, goal: float) -> float:
    """Return where the supremum should reach the goal, by a step on the probit scale, on which it is almost linear."""
    level = min(max(found.upper, 1e-300), 1.0 - 1e-15)
    probit = float(ndtri(level))
    density = math.exp(-0.5 * probit * probit) / math.sqrt(2.0 * math.pi)
    if not found.delta_slope > 0.0 or density == 0.0:
        return math.nan
    return delta - (probit - float(ndtri(goal))) * density / found.delta_slope

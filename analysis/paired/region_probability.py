"""The probability of a region of 2 x 2 tables under a trinomial law, with its exact derivatives.

The chances of a gain and of a loss are (psi + delta) / 2 and (psi - delta) / 2: delta is the difference, psi the
discordance. A derivative of a multinomial probability is a sum over n - 1 trials along the region's border
(the shift identity of the multinomial law), so that no difference quotient is needed.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import betainc, gammaln, xlog1py, xlogy

from analysis.paired.buehler_region import Region

# Numbers of losses further than this from their mean are not summed: their mass, at most 1e-10, is added whole.
_DEVIATIONS = 6.5
_EXTRA = 12


@dataclass(frozen=True)
class RegionProbability:
    """Probability of a region at one delta and several psi, all arrays of shape (k,).

    Attributes:
        psi: discordances.
        value: probability, from above where terms are left out.
        gain_slope: derivative with respect to the chance of a gain; at least 0.
        loss_slope: minus the derivative with respect to the chance of a loss; at least 0.
    """

    psi: NDArray[np.float64]
    value: NDArray[np.float64]
    gain_slope: NDArray[np.float64]
    loss_slope: NDArray[np.float64]

    @property
    def psi_slope(self) -> NDArray[np.float64]:
        """Derivative with respect to psi at fixed delta."""
        return (self.gain_slope - self.loss_slope) / 2.0

    @property
    def delta_slope(self) -> NDArray[np.float64]:
        """Derivative with respect to delta at fixed psi; at least 0."""
        return (self.gain_slope + self.loss_slope) / 2.0


def widest_count(n_items: int, chance: float) -> int:
    """Return the largest binomial count that is summed at this chance or a smaller one."""
    return int(min(n_items, n_items * chance + _DEVIATIONS * math.sqrt(n_items * chance) + _EXTRA + 1))


class TrinomialRegion:
    """A region whose probability is asked for at many chances."""

    def __init__(self, region: Region) -> None:
        self._n_items = region.n_items
        self._fewest_gains = region.fewest_gains
        self._log_factorial = gammaln(np.arange(region.n_items + 1) + 1.0)

    @property
    def n_items(self) -> int:
        """All items."""
        return self._n_items

    @property
    def rounding(self) -> float:
        """Allowance for the rounding of a probability: log-factorials of this size lose that many digits."""
        return 1e-9 + 16.0 * float(np.finfo(np.float64).eps) * float(self._log_factorial[-1])

    def probability(self, delta: float, psi: NDArray[np.float64]) -> RegionProbability:
        """Return probability and slopes at chances ((psi + delta) / 2, (psi - delta) / 2).

        Args:
            delta: difference, in [-1, 1].
            psi: shape (k,), discordances in [|delta|, 1].
        """
        gain, loss = (psi + delta) / 2.0, (psi - delta) / 2.0
        gain, loss = np.maximum(gain, 0.0), np.maximum(loss, 0.0)
        return self.probability_at(psi, gain, loss)

    def probability_at(
        self, psi: NDArray[np.float64], gain: NDArray[np.float64], loss: NDArray[np.float64]
    ) -> RegionProbability:
        """Return probability and slopes at any chances, all of shape (k,); `psi` is only carried along."""
        n_items = self._n_items
        losses, row, starts = self._window(loss, self._fewest_gains.size - 1)
        fewest = self._fewest_gains[losses]
        mass = self._binomial(losses, loss[row])
        others = n_items - losses
        inner = (fewest > 0) & (fewest <= others)
        tail = (fewest <= 0).astype(np.float64)
        # Given the losses, gains are binomial among the other items.
        share = np.minimum(gain[row] / np.maximum(1.0 - loss[row], np.finfo(np.float64).tiny), 1.0)
        tail[inner] = betainc(fewest[inner], (others - fewest + 1)[inner], share[inner])
        value = np.add.reduceat(mass * tail, starts)
        left_out = np.maximum(1.0 - np.add.reduceat(mass, starts), 0.0)
        gain_slope = self._border(fewest - 1, losses, gain, loss, row, starts)
        gains, row, starts = self._window(gain, n_items)
        most_losses = np.searchsorted(self._fewest_gains, gains, side="right") - 1
        loss_slope = self._border(gains, most_losses, gain, loss, row, starts)
        return RegionProbability(psi, np.minimum(value + left_out, 1.0), gain_slope, loss_slope)

    def _window(
        self, chance: NDArray[np.float64], largest: int
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """Return the likely counts at each chance, end to end, with the row of each and where each row starts."""
        mean = self._n_items * chance
        reach = _DEVIATIONS * np.sqrt(mean * (1.0 - chance)) + _EXTRA
        first = np.clip(np.floor(mean - reach), 0, largest).astype(np.int64)
        last = np.clip(np.ceil(mean + reach), 0, largest).astype(np.int64)
        lengths = last - first + 1
        starts = np.concatenate([[0], np.cumsum(lengths)[:-1]])
        row = np.repeat(np.arange(chance.size), lengths)
        return np.arange(row.size) - (starts - first)[row], row, starts

    def _binomial(self, counts: NDArray[np.int64], chance: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the binomial probability of each count among all items."""
        table, n_items = self._log_factorial, self._n_items
        log_choose = table[n_items] - table[counts] - table[n_items - counts]
        return np.asarray(np.exp(log_choose + xlogy(counts, chance) + xlog1py(n_items - counts, -chance)))

    def _border(
        self,
        gains: NDArray[np.int64],
        losses: NDArray[np.int64],
        gain: NDArray[np.float64],
        loss: NDArray[np.float64],
        row: NDArray[np.int64],
        starts: NDArray[np.int64],
    ) -> NDArray[np.float64]:
        """Return n times the probability that n - 1 items show one of these tables, summed in each row."""
        neither = self._n_items - 1 - gains - losses
        valid = (gains >= 0) & (losses >= 0) & (neither >= 0)
        gains, losses, neither = (np.where(valid, counts, 0) for counts in (gains, losses, neither))
        table = self._log_factorial
        log_choose = table[self._n_items - 1] - table[gains] - table[losses] - table[neither]
        rest = np.maximum(1.0 - gain - loss, 0.0)
        log_mass = log_choose + xlogy(gains, gain[row]) + xlogy(losses, loss[row]) + xlogy(neither, rest[row])
        return np.asarray(self._n_items * np.add.reduceat(np.exp(np.where(valid, log_mass, -np.inf)), starts))

"""The capital of bets against a mean: a test of "mean <= m" that holds at any sample size.

A gambler who stakes a share lambda of the capital on each observation in turn, knowing only the earlier ones, expects
no gain if the mean is m; so capital of 1 / error or more has a probability of at most `error` (Ville 1939). Stakes
follow the predictable plug-in of Waudby-Smith and Ramdas 2024 for a fixed number of items.
"""

import math

import numpy as np
from numpy.typing import NDArray

_MAX_ORDERS = 32
_MIN_ORDERS = 4
_CELLS = 1 << 22
_TRUNCATION = 0.5


class BettingCapital:
    """Stakes on the same items in several random orders; the final capitals are averaged."""

    def __init__(self, scores: NDArray[np.float64], error: float, seed: int) -> None:
        """Draw the orders and set the stakes.

        Args:
            scores: shape (n,), in [0, 1], sorted, so that the order of the items cannot matter.
            error: one-sided error probability for which the stakes are tuned.
            seed: of the orders.
        """
        generator = np.random.Generator(np.random.PCG64(seed))
        n_items = scores.size
        n_orders = min(_MAX_ORDERS, max(_MIN_ORDERS, _CELLS // n_items))
        self._scores = generator.permuted(np.broadcast_to(scores, (n_orders, n_items)), axis=1)
        count = np.arange(1, n_items + 1)
        means = (0.5 + np.cumsum(self._scores, axis=1)) / (count + 1)
        variances = (0.25 + np.cumsum((self._scores - means) ** 2, axis=1)) / (count + 1)
        known = np.concatenate([np.full((n_orders, 1), 0.25), variances[:, :-1]], axis=1)
        self._stakes = np.sqrt(2.0 * math.log(1.0 / error) / (n_items * known))

    def log_capital(self, mean: float) -> float:
        """Return the logarithm of the final capital against a mean of at most this, averaged over the orders.

        Args:
            mean: the hypothetical mean, in (0, 1).

        Returns:
            The logarithm. It does not rise with the mean: each factor 1 + stake (score - mean) falls where the
            stake is free of the mean, and where it is cut to half of 1 / mean, the factor is 1/2 + score / (2 mean).
        """
        stakes = np.minimum(self._stakes, _TRUNCATION / mean)
        log_capitals = np.log1p(stakes * (self._scores - mean)).sum(axis=1)
        largest = float(log_capitals.max())
        return largest + math.log(float(np.exp(log_capitals - largest).mean()))

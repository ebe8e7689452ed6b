"""The capital of a fixed mixture of constant bets against a mean: valid at every look, free of the items' order.

A gambler who stakes the share c of the capital on each of the scores x_1, x_2, ... in [0, 1] against the hypothesis
"mean <= m" holds prod(1 - c + c x_i / m) after n of them. Under the hypothesis this is a nonnegative supermartingale
that starts at 1, and so is its average over any fixed weights on c. The chance that it ever reaches 1 / error, at
whatever time somebody looks, is therefore at most `error` (Ville 1939). A product does not know the order of its
factors: unlike bets that adapt to what was seen (Waudby-Smith and Ramdas 2024), constant ones leave no order to choose.
Mixtures of constant bets are Cover's (1991) universal portfolios; Ryu and Bhatt (2022) make confidence sequences of
them. The weights here sit on few points, so that no integral is approximated and the bound is not touched by rounding.
"""

import math

import numpy as np
from numpy.typing import NDArray

# From all of the capital, best where no item speaks against the claim, down by half powers of two to the stake that
# 10^8 items ask for. The weights fall slowly: thousands of items pay little for the small stakes, and few pay none.
_N_STAKES = 24
_STAKES = 2.0 ** (-np.arange(_N_STAKES) / 2.0)
_WEIGHTS = 1.0 / (np.arange(_N_STAKES) + 2.0)
_LOG_WEIGHTS = np.log(_WEIGHTS / _WEIGHTS.sum())


class MixtureCapital:
    """The capital that the scores seen so far give the mixture."""

    def __init__(self, scores: NDArray[np.float64]) -> None:
        """Keep each value with its multiplicity.

        Args:
            scores: shape (n,), in [0, 1], in any order.
        """
        self._values, self._multiplicity = np.unique(scores, return_counts=True)

    def log_capital(self, mean: float) -> float:
        """Return the logarithm of the capital against a mean of at most this.

        Args:
            mean: the hypothetical mean, in (0, 1].

        Returns:
            The logarithm; it does not rise with the mean, does not fall as a score rises, and is at most 0 at the
            mean of the scores.
        """
        with np.errstate(divide="ignore"):
            # A stake of everything is lost with the first score of 0: its logarithm is minus infinity, as it should.
            growth = np.log1p(_STAKES[:, np.newaxis] * (self._values / mean - 1.0))
        log_capitals = _LOG_WEIGHTS + growth @ self._multiplicity
        largest = float(log_capitals.max())
        return largest + math.log(float(np.exp(log_capitals - largest).sum()))

"""The betting interval for the mean paired difference, averaged over registered orders of the items.

A limit is the smallest mean against which a sequence of bets does not reach a capital of 2 / alpha (Waudby-Smith and
Ramdas 2024, theorem 3 with the final capital). Bets depend on the order of the items; here the sorted differences are
put in up to 32 random orders under the registered seed and the capitals averaged, which is again a fair game where
the items are exchangeable and the seed was chosen without sight of them. The error probability is that of data and
orders together.
"""

import math

import numpy as np
from numpy.typing import NDArray

from analysis.errors import AuditError
from analysis.paired.betting_capital import BettingCapital
from analysis.paired.bracketed_root import bracketed_root
from analysis.paired.interval import Interval, Method
from analysis.paired.sample import PairedSample

METHOD = Method(
    title="Betting interval, averaged over registered orders",
    guarantee="proven",
    assumption="items are independent draws from one population; the seed was registered before the data were seen",
    when="scores are bounded, not only right or wrong, and a short interval with a proof is wanted",
    scores="bounded",
    source="Waudby-Smith and Ramdas 2024, theorem 3 (hedged capital)",
    seed="always",
)

_TOLERANCE = 1e-9


def interval(sample: PairedSample, *, alpha: float, margin: float = 0.0, seed: int | None = None) -> Interval:
    """Return the two-sided interval at level `alpha`, inside the range of the difference.

    Args:
        sample: the paired differences.
        alpha: error probability, in (0, 1), half on each side.
        margin: the null hypothesis of the p-value is "difference <= margin".
        seed: of the orders, as registered.

    Returns:
        The interval; its p-value is at most `alpha` where `lower` is above `margin`, and the stakes behind it are
        tuned to this alpha.

    Raises:
        AuditError: no seed is registered.
    """
    if seed is None:
        raise AuditError(
            "the betting interval draws orders of the items: register `resampling_seed` in the decision rule "
            "(or pass a seed), else one could be chosen after seeing the data"
        )
    low, high = sample.bounds
    span = high - low
    lower, p_value = _lower_limit((sample.differences - low) / span, alpha, (margin - low) / span, seed)
    # The upper limit is the lower limit of the swapped arms, so that swapping them mirrors the interval.
    mirrored, _ = _lower_limit((high - sample.differences) / span, alpha, 1.0, seed)
    return Interval(
        estimate=sample.estimate,
        lower=min(max(low, low + span * lower), sample.estimate),
        upper=max(min(high, high - span * mirrored), sample.estimate),
        p_value=p_value,
    )


def _lower_limit(scores: NDArray[np.float64], alpha: float, margin: float, seed: int) -> tuple[float, float]:
    """Return the lower limit and the p-value at the margin, both on the scale [0, 1]."""
    capital = BettingCapital(np.sort(np.clip(scores, 0.0, 1.0)), alpha / 2.0, seed)
    goal = math.log(2.0 / alpha)
    limit = bracketed_root(lambda mean: goal - capital.log_capital(mean), 0.0, float(scores.mean()) or 1.0, _TOLERANCE)
    if margin >= 1.0:
        return limit, 1.0
    log_capital = capital.log_capital(max(margin, _TOLERANCE))
    # A capital below 1 speaks of nothing, and its inverse could be too large for a float.
    return limit, min(1.0, 2.0 * math.exp(min(-log_capital, 0.0)))

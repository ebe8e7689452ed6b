"""The confidence sequence: an interval for the mean paired difference that may be looked at any number of times.

The intervals at 1, 2, 3, ... items all hold at once with probability 1 - alpha: a growing evaluation may be looked at
after every item and ended at any look. A limit is the smallest mean against which a fixed mixture of constant bets does
not reach a capital of 2 / alpha (Ville 1939; Ryu and Bhatt 2022). The interval depends on which items were seen and not
on their order, so that there is no order to choose; which items come next must not depend on scores. For a single look
at a fixed number of items it is wider than the other proven methods.
"""

import math

import numpy as np
from numpy.typing import NDArray

from analysis.paired.bracketed_root import bracketed_root
from analysis.paired.interval import Interval, Method
from analysis.paired.sample import PairedSample
from analysis.sequential.mixture_capital import MixtureCapital

METHOD = Method(
    title="Confidence sequence from a mixture of constant bets",
    guarantee="proven",
    assumption=(
        "items are independent draws from one population, and which come next does not depend on scores; "
        "the number of looks and when they end is free"
    ),
    when="the evaluation grows and somebody looks more than once: the claim may be made at any look",
    scores="bounded",
    source="Ville 1939; Cover 1991; Ryu and Bhatt 2022; Waudby-Smith and Ramdas 2024",
)

_TOLERANCE = 1e-9


def interval(sample: PairedSample, *, alpha: float, margin: float = 0.0, seed: int | None = None) -> Interval:
    """Return the confidence sequence's interval at the items seen so far, inside the range of the difference.

    Args:
        sample: the paired differences of all items up to this look.
        alpha: error probability over all looks together, in (0, 1), half on each side.
        margin: the null hypothesis of the p-value is "difference <= margin".
        seed: not used; the method is deterministic.

    Returns:
        The interval; its p-value is at most `alpha` exactly where `lower` is at least `margin`, and the smallest
        p-value over any number of looks is one too. The intersection of the intervals of all looks holds as well.
    """
    low, high = sample.bounds
    span = high - low
    lower, p_value = _lower_limit((sample.differences - low) / span, alpha, (margin - low) / span)
    # The upper limit is the lower limit of the swapped arms, so that swapping them mirrors the interval.
    mirrored, _ = _lower_limit((high - sample.differences) / span, alpha, 1.0)
    return Interval(
        estimate=sample.estimate,
        lower=min(max(low, low + span * lower), sample.estimate),
        upper=max(min(high, high - span * mirrored), sample.estimate),
        p_value=p_value,
    )


def _lower_limit(scores: NDArray[np.float64], alpha: float, margin: float) -> tuple[float, float]:
    """Return the lower limit and the p-value at the margin, both on the scale [0, 1]."""
    capital = MixtureCapital(np.clip(scores, 0.0, 1.0))
    goal = math.log(2.0 / alpha)
    limit = bracketed_root(lambda mean: goal - capital.log_capital(mean), 0.0, float(scores.mean()) or 1.0, _TOLERANCE)
    if margin >= 1.0:
        return limit, 1.0
    log_capital = capital.log_capital(max(margin, _TOLERANCE))
    return limit, min(1.0, 2.0 * math.exp(min(-log_capital, 0.0)))

"""Fay and Lumbard's melded interval, which excludes 0 exactly where the exact McNemar test rejects.

The difference is psi (2 theta - 1), with psi the discordance and theta the chance that a discordant item is a gain.
The limit is a quantile of that product under the confidence distributions of theta and psi, taking for psi whichever
of its two makes the difference smaller (Fay and Lumbard 2021; Fay, Proschan and Brittain 2015 for melding). That
melded intervals cover is shown by numerical studies, not proved in general.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betainc, betaincinv, betaln, xlog1py, xlogy

from analysis.paired.binary import right_wrong_counts
from analysis.paired.bracketed_root import bracketed_root
from analysis.paired.interval import Interval, Method
from analysis.paired.sample import PairedSample

METHOD = Method(
    title="Fay and Lumbard's melded interval, compatible with the exact McNemar test",
    guarantee="conjectured",
    assumption="items are independent draws from one population, each with one right/wrong score in each arm",
    when="the interval and the exact McNemar test must never disagree",
    scores="binary",
    source="Fay and Lumbard 2021; Fay, Proschan and Brittain 2015",
)

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(160)
_TAIL = 1e-14
_TOLERANCE = 1e-11


def interval(sample: PairedSample, *, alpha: float, margin: float = 0.0, seed: int | None = None) -> Interval:
    """Return the two-sided interval at level `alpha`.

    Args:
        sample: the paired differences of right/wrong scores.
        alpha: error probability, in (0, 1), half on each side.
        margin: the null hypothesis of the p-value is "difference <= margin".
        seed: not used; the method is deterministic.

    Returns:
        The interval; its p-value is at most `alpha` exactly where `lower` is at least `margin`, and at margin 0 it
        is twice the one-sided exact McNemar p-value.

    Raises:
        AuditError: the scores are not right or wrong.
    """
    counts = right_wrong_counts(sample, "paired_fay_lumbard")
    gains, losses, n_items = counts.only_treatment, counts.only_baseline, counts.n_items
    return Interval(
        estimate=sample.estimate,
        lower=_lower_limit(gains, losses, n_items, alpha / 2.0),
        upper=-_lower_limit(losses, gains, n_items, alpha / 2.0),
        p_value=min(1.0, 2.0 * _probability_at_most(margin, gains, losses, n_items)),
    )


def _lower_limit(gains: int, losses: int, n_items: int, error: float) -> float:
    """Return the quantile of the melded difference at the one-sided error probability."""
    if losses == n_items:
        return -1.0
    return bracketed_root(
        lambda difference: _probability_at_most(difference, gains, losses, n_items) - error,
        -1.0,
        (gains - losses) / n_items,
        _TOLERANCE,
    )


def _theta_at_most(chance: ArrayLike, gains: int, losses: int) -> NDArray[np.float64]:
    """Return the lower confidence distribution of theta; all its mass lies at 0 where there is no gain."""
    chance = np.clip(chance, 0.0, 1.0)
    return np.asarray(np.ones_like(chance) if gains == 0 else betainc(gains, losses + 1, chance))


def _probability_at_most(difference: float, gains: int, losses: int, n_items: int) -> float:
    """Return the melded probability that the difference is at most this.

    Given psi, it is the probability that theta is at most (1 + difference / psi) / 2; theta has the lower confidence
    distribution Beta(gains, losses + 1). The smaller psi counts against a positive difference, the larger against a
    negative one.
    """
    if difference >= 1.0 or difference < -1.0:
        return float(difference >= 1.0)
    if gains == 0 and difference >= 0.0:
        return 1.0
    discordant = gains + losses
    larger = difference < 0.0
    first, second = (discordant + 1, n_items - discordant) if larger else (discordant, n_items - discordant + 1)
    if second == 0:
        return float(_theta_at_most((1.0 + difference) / 2.0, gains, losses))
    low, high = (float(betaincinv(first, second, level)) for level in (_TAIL, 1.0 - _TAIL))
    low = max(low, abs(difference))
    # Below |difference| psi is too small for any theta: a positive difference is then certain, a negative impossible.
    certain = 0.0 if larger else float(betainc(first, second, abs(difference)))
    if low >= high:
        return certain
    psi = low + (high - low) * (_NODES + 1.0) / 2.0
    density = np.exp(xlogy(first - 1, psi) + xlog1py(second - 1, -psi) - betaln(first, second))
    theta = _theta_at_most((1.0 + difference / psi) / 2.0, gains, losses)
    return min(1.0, certain + float(_WEIGHTS @ (density * theta)) * (high - low) / 2.0)

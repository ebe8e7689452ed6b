"""The standard normal quantile and tail that asymptotic methods share."""

from scipy.special import ndtr, ndtri


def two_sided_quantile(alpha: float) -> float:
    """Return the number of standard errors of a two-sided interval at level `alpha`, in (0, 1)."""
    return -float(ndtri(alpha / 2.0))


def two_sided_p(score: float) -> float:
    """Return twice the normal tail above a score, at most 1: dual to a lower limit at that many standard errors."""
    return min(1.0, 2.0 * float(ndtr(-score)))

"""McNemar's test of equal chances from the items that only one arm has right."""

from scipy.special import bdtr


def mcnemar_exact(only_treatment: int, only_baseline: int) -> float:
    """Return the two-sided exact p-value: twice the smaller binomial tail at one half, at most 1 (McNemar 1947).

    Args:
        only_treatment: items that only the treatment has right, at least 0.
        only_baseline: items that only the baseline has right, at least 0.

    Returns:
        The p-value; 1 where no item is discordant.
    """
    fewer, discordant = min(only_treatment, only_baseline), only_treatment + only_baseline
    return min(1.0, 2.0 * float(bdtr(fewer, discordant, 0.5)))


def mcnemar_mid_p(only_treatment: int, only_baseline: int) -> float:
    """Return the two-sided mid-p-value: half of the observed table's own probability counts (Fagerland 2013).

    Args:
        only_treatment: items that only the treatment has right, at least 0.
        only_baseline: items that only the baseline has right, at least 0.

    Returns:
        The p-value, close to but not guaranteed to hold its level; 1 where no item is discordant.
    """
    fewer, discordant = min(only_treatment, only_baseline), only_treatment + only_baseline
    below = float(bdtr(fewer - 1, discordant, 0.5)) if fewer > 0 else 0.0
    return min(1.0, below + float(bdtr(fewer, discordant, 0.5)))

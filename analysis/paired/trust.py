"""Where an asymptotic interval is known to fail, so that no verdict may rest on it."""

import dataclasses

import numpy as np

from analysis.paired.interval import Interval
from analysis.paired.sample import PairedSample

_ROUNDING = 1e-12

MINIMUM_DISCORDANT = 10
"""Fewest items on which the arms must differ before an asymptotic interval may decide.

By enumeration at 50 items the bootstrap, Wald and t intervals cover as little as 0.10 where fewer differ.
"""


def is_constant(sample: PairedSample) -> bool:
    """Return whether all differences are equal up to rounding, so that they say nothing about their spread."""
    low, high = sample.bounds
    return float(np.ptp(sample.differences)) <= _ROUNDING * (high - low)


def distrust_asymptotics(sample: PairedSample, interval: Interval) -> Interval:
    """Return the interval, marked untrusted where an asymptotic method is known to fail on this sample.

    Args:
        sample: the paired differences.
        interval: what the asymptotic method computed from them.

    Returns:
        The interval itself; or, with fewer than `MINIMUM_DISCORDANT` items on which the arms differ, the same
        limits with `trusted=False`; or, at zero width, the whole range of the difference with
        `trusted=False`, since finite data never pin a mean down to a point.
    """
    low, high = sample.bounds
    if interval.upper - interval.lower <= _ROUNDING * (high - low):
        return dataclasses.replace(
            interval,
            lower=low,
            upper=high,
            p_value=1.0,
            trusted=False,
            reason="the method's interval has zero width on these data, which say nothing about its error; "
            "the whole range of the difference is given instead",
        )
    discordant = int(np.count_nonzero(sample.differences))
    if discordant < MINIMUM_DISCORDANT:
        return dataclasses.replace(
            interval,
            trusted=False,
            reason=f"the arms differ on {discordant} of {sample.n_items} items; an asymptotic interval needs "
            f"at least {MINIMUM_DISCORDANT}",
        )
    return interval

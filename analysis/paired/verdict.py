"""The verdict on one criterion: where its interval lies against the margin, the floor and the band."""

import math
from typing import Literal, get_args

from analysis.errors import AuditError

Verdict = Literal["validated", "refuted", "tie", "inconclusive"]

VERDICTS: tuple[Verdict, ...] = get_args(Verdict)


def verdict(
    lower: float, upper: float, *, margin: float = 0.0, floor: float | None = None, band: float | None = None
) -> Verdict:
    """Return the verdict of the interval [lower, upper]; the first that matches wins.

    One interval serves all four words without a further correction for multiplicity: each is a statement about
    every value inside it.

    Args:
        lower: lower limit of the difference, in the unit of the metric.
        upper: upper limit, at least `lower`.
        margin: `validated` where `lower` is above it; at least 0.
        floor: `refuted` where `upper` is below it; at most the margin; None for minus the margin.
        band: `tie` where the interval lies inside [-band, band], limits included; None for no tie.

    Raises:
        AuditError: the margin is negative, the floor is above the margin, or the band is not positive.
        ValueError: a limit is not a number, or the limits are crossed.
    """
    floor = -margin if floor is None else floor
    if not margin >= 0.0:
        raise AuditError(f"the margin is {margin:g}; a margin is at least 0")
    if not floor <= margin:
        raise AuditError(f"the floor {floor:g} is above the margin {margin:g}: one interval could have two verdicts")
    if band is not None and not band > 0.0:
        raise AuditError(f"the tie band is {band:g}; a band is above 0")
    if math.isnan(lower) or math.isnan(upper) or lower > upper:
        raise ValueError(f"[{lower}, {upper}] is not an interval")
    if lower > margin:
        return "validated"
    if upper < floor:
        return "refuted"
    if band is not None and -band <= lower and upper <= band:
        return "tie"
    return "inconclusive"

"""Waivers: a check that did not pass and that somebody with a name accepts until a day."""

import datetime
from collections.abc import Sequence
from dataclasses import replace

from audits.engine.check import Check, Limit
from audits.store.policy import POLICY_NAME, Waiver


def apply_waivers(
    checks: Sequence[Check], waivers: Sequence[Waiver], today: datetime.date
) -> tuple[list[Check], list[str]]:
    """Return the checks with `waived` where a waiver covers them, and notes on waivers that cover nothing.

    An expired waiver covers nothing, nor does one of a figure that has become worse; both leave the status and say so.
    """
    used: set[int] = set()
    result = []
    for check in checks:
        own = [waiver for waiver in waivers if (waiver.check, waiver.arm) == (check.id, check.arm)]
        used |= {id(waiver) for waiver in own}
        result.append(_waived(check, own[-1], today) if own else check)
    idle = [waiver for waiver in waivers if id(waiver) not in used]
    notes = [
        f"{POLICY_NAME}: the waiver of {waiver.owner} is on {waiver.check}"
        f"{f' ({waiver.arm})' if waiver.arm else ''}, and there is no such check here"
        for waiver in idle
    ]
    return result, notes


def _waived(check: Check, waiver: Waiver, today: datetime.date) -> Check:
    if check.status not in ("fail", "inconclusive"):
        return replace(check, notes=(*check.notes, f"a waiver of {waiver.owner} stands on it and is not needed"))
    words = f"waived by {waiver.owner} until {waiver.expires}: {waiver.reason}"
    fault = None
    if check.status != waiver.status:
        fault = f"the waiver of {waiver.owner} is of status {waiver.status}"
    elif today > waiver.expires:
        fault = f"the waiver of {waiver.owner} expired on {waiver.expires}"
    elif _is_worse(check, waiver.value):
        fault = (
            f"worse than {waiver.value!r}, which {waiver.owner} waived"
            if waiver.value is not None
            else (f"the waiver of {waiver.owner} names no value, and the check has one")
        )
    if fault is not None:
        return replace(check, reason="; ".join(part for part in (check.reason, fault) if part))
    return replace(check, status="waived", reason="; ".join(part for part in (check.reason, words) if part))


def _is_worse(check: Check, value: float | None) -> bool:
    """Return whether a figure lies further outside its limit than the one that was waived."""
    if not isinstance(check.value, float):
        return False
    if value is None:
        return True
    return _distance(check.limit, check.value) > _distance(check.limit, value)


def _distance(limit: Limit | None, value: float) -> float:
    below = limit.min - value if limit is not None and limit.min is not None else 0.0
    above = value - limit.max if limit is not None and limit.max is not None else 0.0
    return max(below, above, 0.0)

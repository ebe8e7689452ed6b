"""Waivers: a check that did not pass and that somebody with a name accepts until a day."""

import datetime
from collections.abc import Sequence
from dataclasses import replace

from audits.engine.check import Check
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
        result.append(_waived(check, own, today) if own else check)
    idle = [waiver for waiver in waivers if id(waiver) not in used]
    notes = [
        f"{POLICY_NAME}: the waiver of {waiver.owner} is on {waiver.check}"
        f"{f' ({waiver.arm})' if waiver.arm else ''}, and there is no such check here: "
        f"{', '.join(sorted(f'{check.id} ({check.arm})' if check.arm else check.id for check in checks))}"
        for waiver in idle
    ]
    return result, notes


def _waived(check: Check, own: Sequence[Waiver], today: datetime.date) -> Check:
    if check.status not in ("fail", "inconclusive"):
        return replace(check, notes=(*check.notes, f"a waiver of {own[-1].owner} stands on it and is not needed"))
    faults = [_fault(check, waiver, today) for waiver in own]
    for waiver, fault in zip(own, faults, strict=True):
        if fault is None:
            words = f"waived by {waiver.owner} until {waiver.expires}: {waiver.reason}"
            return replace(check, status="waived", reason=_joined(check.reason, words), waiver=words)
    return replace(check, reason=_joined(check.reason, *faults))


def _joined(*parts: str | None) -> str:
    return "; ".join(part for part in parts if part)


def _fault(check: Check, waiver: Waiver, today: datetime.date) -> str | None:
    """Return why a waiver does not cover a check, None where it does."""
    if check.status != waiver.status:
        return f"the waiver of {waiver.owner} is of status {waiver.status}"
    if today > waiver.expires:
        return f"the waiver of {waiver.owner} expired on {waiver.expires}"
    if waiver.value is None and check.value is not None:
        return f"the waiver of {waiver.owner} names no value, and the check has one"
    if waiver.value is not None and check.value is None:
        return f"the waiver of {waiver.owner} is of the value {waiver.value!r}, and the check has none"
    if _is_worse(check, waiver.value):
        return f"{check.value!r} is worse than {waiver.value!r}, which {waiver.owner} waived"
    return None


def _is_worse(check: Check, waived: float | str | None) -> bool:
    """Return whether a figure lies further outside its limit than the waived one.

    Without a limit, and of a name, only the same one is covered.
    """
    limit = check.limit
    if isinstance(check.value, float) and isinstance(waived, float) and limit is not None and not limit.one_of:
        return limit.distance(check.value) > limit.distance(waived)
    return check.value != waived

"""Results of preflights as checks, for tables and reports."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from audits.engine.check import Check, CheckReport, Limit, combine
from audits.store.preflights import Comparison, PreflightResult


def preflight_report(run: Path, results: Iterable[PreflightResult], *, brief: bool = False) -> CheckReport:
    """Return the comparisons of all results as checks; without any the status is `inconclusive`.

    Args:
        run: the pilot's directory.
        results: in the order to show.
        brief: comparisons that passed become one check a preflight, which counts them.
    """
    found = list(results)
    checks = tuple(check for result in found for check in _checks(result, brief))
    return CheckReport(str(run), combine(result.status for result in found), checks)


def _checks(result: PreflightResult, brief: bool) -> Iterator[Check]:
    if brief:
        yield _summary(result)
    for item in result.comparisons:
        if item.status != "pass" or not brief:
            yield _check(str(result.id), item)


def _summary(result: PreflightResult) -> Check:
    passed = [item for item in result.comparisons if item.status == "pass"]
    closest = max(passed, key=_share, default=None)
    notes = []
    if closest is not None and _share(closest) > 0.0:
        notes.append(f"closest to its limit: {closest.path}, {closest.metric}, at {_share(closest):.2g} of it")
    executed = {item.reference for item in passed if item.reference.endswith(": executed")}
    again = {item.reference for item in passed if "not executed" in item.reference}
    if executed or again:
        notes.append(f"references: {len(executed)} executed, {len(again)} re-implemented, not executed")
    return Check(
        id=str(result.id),
        status=result.status,
        value=float(len(passed)),
        limit=None,
        unit="comparisons that passed",
        definition=f"preflight/{result.id}.json",
        arm=None,
        rows_examined=sum(item.n for item in result.comparisons),
        denominator=len(result.comparisons),
        notes=tuple(notes),
    )


def _share(item: Comparison) -> float:
    """Return how much of its allowance a deviation uses up, 0 where there is no allowance."""
    allowed = (item.limit or {}).get("max")
    return item.largest_deviation / allowed if item.largest_deviation is not None and allowed else 0.0


def _check(preflight_id: str, item: Comparison) -> Check:
    deviates = item.largest_deviation is not None
    notes = [*item.notes]
    if deviates:
        place = "" if item.where is None else f", at {_place(item)}"
        notes.insert(0, f"ours {_shown(item.value)}, the reference {_shown(item.expected)}{place}")
    elif item.expected is not None:
        notes.insert(0, f"expected {_shown(item.expected)}")
    return Check(
        id=f"{preflight_id}/{item.path}/{item.metric}",
        status=item.status,
        value=item.largest_deviation if deviates else item.value,
        limit=_limit(item),
        unit=f"largest deviation of the {item.metric}" if deviates else item.unit,
        definition=item.reference or "no reference",
        arm=None,
        rows_examined=item.n,
        denominator=item.n or None,
        reason=item.reason,
        notes=tuple(notes),
        measures=item.measures,
        mend=item.mend,
    )


def _limit(item: Comparison) -> Limit | None:
    if not item.limit:
        return None
    one_of = item.limit.get("one_of")
    return Limit(item.limit.get("min"), item.limit.get("max"), tuple(one_of) if one_of else None)


def _place(item: Comparison) -> str:
    where = item.where or {}
    named = ", ".join(f"{key} {value}" for key, value in where.items() if key != "index")
    return f"token {where.get('index')}" + (f" ({named})" if named else "")


def _shown(value: float | str | None) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)

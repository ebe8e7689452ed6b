"""What speaks against a result beside its verdict: findings that make nothing void, the gravest first."""

from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING

from audits.engine.check import Check, CheckReport
from reports.display import LABEL_LIMIT, count, decimals, number, text
from reports.parts import ReportInputs

if TYPE_CHECKING:
    from analysis.power_answer import PowerAnswer

SHOWN = 5
SHOWN_NAMES = 6
FAR = 3.0
"""How many times a gate's figure and the same figure of the full run must differ to be told."""


def failures(inputs: ReportInputs) -> list[str]:
    """Return what failed in the run and makes no verdict void: with it a claim is in question."""
    named = (("integrity audit", inputs.integrity), ("check of the gate in this run's own log", inputs.gate_in_full))
    return [_failed(name, failed) for name, report in named if (failed := _with_status(report, "fail"))]


def against(inputs: ReportInputs) -> tuple[str, ...]:
    """Return at most five sentences, each decided from the data: failures, power, activity and warnings."""
    return tuple(islice(_found(inputs), SHOWN))


def _found(inputs: ReportInputs) -> Iterator[str]:
    yield from failures(inputs)
    if inputs.decision is not None and inputs.decision.verdict == "inconclusive":
        yield from _too_weak(inputs.power)
    yield from _activity(inputs.gate, inputs.gate_in_full)
    if warned := _with_status(inputs.integrity, "warn"):
        head = "1 integrity audit warns" if len(warned) == 1 else f"{count(len(warned))} integrity audits warn"
        yield _listed(head, [_with_reason(check) for check in warned])


def _with_status(report: CheckReport | None, status: str) -> list[Check]:
    return [] if report is None else [check for check in report.checks if check.status == status]


def _failed(named: str, checks: list[Check]) -> str:
    ids = list(dict.fromkeys(text(check.id, LABEL_LIMIT) for check in checks))
    several = f"{count(len(ids))} {named.replace('audit', 'audits').replace('check', 'checks')} fail"
    return _listed(f"1 {named} fails" if len(ids) == 1 else several, ids)


def _listed(head: str, names: list[str]) -> str:
    more = f" and {count(len(names) - SHOWN_NAMES)} more" if len(names) > SHOWN_NAMES else ""
    return f"{head}: {', '.join(names[:SHOWN_NAMES])}{more}."


def _with_reason(check: Check) -> str:
    """Return an audit's id with the kinds of its findings, whose number the reason begins with."""
    reason = text(check.reason or "", 120)
    head, _, kinds = reason.partition(": ")
    said = kinds if "offending row" in head and kinds else reason
    return text(check.id, LABEL_LIMIT) + (f" ({said})" if said else "")


def _too_weak(power: "PowerAnswer | None") -> Iterator[str]:
    """Yield the criteria of which no difference could have been shown at any discordance that these items allow."""
    studies = () if power is None else power.studies
    for study in studies:
        if not study.rows or any(row.detectable_gap is not None for row in study.rows):
            continue
        where = f" in {text(study.criterion, LABEL_LIMIT)}" if len(studies) > 1 and study.criterion else ""
        shares = [100 * row.discordance for row in study.rows]
        ends = dict.fromkeys(number(share, 1) for share in (min(shares), max(shares)))
        items = "1 item" if study.setting.n_items == 1 else f"{count(study.setting.n_items)} items"
        yield (
            f"With {items} the rule validates no true difference{where} with {100 * study.setting.target:g} % "
            f"probability where {' to '.join(ends)} % of them are discordant."
        )


def _activity(gate: CheckReport | None, full: CheckReport | None) -> Iterator[str]:
    """Yield the gated shares that the full run's own log has far from the gate's, or resting on few steps."""
    if gate is None or full is None:
        return
    measured = {(check.id, check.arm): check for check in gate.checks}
    for check in full.checks:
        before = measured.get((check.id, check.arm))
        if check.status == "fail" or check.limit is None or check.numerator is None or before is None:
            continue
        value, then = check.value, before.value
        if not isinstance(value, float) or not isinstance(then, float):
            continue
        far = max(value, then) > FAR * min(value, then)
        if far or check.status == "warn":
            yield f"{text(check.id, LABEL_LIMIT)} is {_shares(value, then)} in the gate{_fired(check)}."


def _shares(value: float, then: float) -> str:
    places = decimals([100 * value, 100 * then])
    return f"{number(100 * value, places)} % in this run's own log, against {number(100 * then, places)} %"


def _fired(check: Check) -> str:
    values = [step.value for step in check.steps if isinstance(step.value, int | float)]
    return (
        f"; it is above 0 in {count(sum(value > 0 for value in values))} of {count(len(values))} steps"
        if values
        else ""
    )

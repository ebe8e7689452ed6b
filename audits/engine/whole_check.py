"""`audit check`: everything that stands between a run and its plan's claim, with one exit code."""

import dataclasses
import datetime
from dataclasses import dataclass

from analysis.errors import NothingToCompare
from audits.engine.check import Check, CheckReport, combine
from audits.engine.decide import decide
from audits.engine.decision import DecisionReport
from audits.engine.integrity import integrity_report
from audits.engine.pilot_evidence import pilot_gate, pilot_of, pilot_preflights
from audits.engine.standing import required_preflights
from audits.engine.verification import verify_run
from audits.store.preflights import read_results
from audits.store.reader import Run
from audits.store.status import Status

_STATUS_OF: dict[str, Status] = {"validated": "pass", "refuted": "fail", "tie": "fail"}


@dataclass(frozen=True)
class WholeCheck:
    """All checks of a run.

    Attributes:
        report: files and seal, the pilot's gate, the preflights, the integrity audits and the verdict, in this order.
        decision: the verdict with its intervals; None for a pilot, which decides nothing, and for a run without the
            arms that the rule weighs: the check `verdict` says why.
    """

    report: CheckReport
    decision: DecisionReport | None

    @property
    def exit_code(self) -> int:
        """4 if void; else 1 if a check failed or the verdict is refuted or tie; else 4 if any is inconclusive."""
        if self.decision is not None and self.decision.verdict == "void":
            return 4
        return self.report.exit_code


def check_run(run: Run, *, today: datetime.date | None = None, evidence: bool = False) -> WholeCheck:
    """Check a run against all that its plan requires, and its logs by every integrity audit.

    Args:
        run: the run. A pilot is checked without a verdict.
        today: on which a waiver of an integrity audit must not have expired; default: today, UTC.
        evidence: leave the offending rows of each integrity finding in the run.

    Raises:
        AuditError: a file is damaged, or there is nothing to decide on: outcomes absent or the pairing broken.
    """
    verified = verify_run(run)
    gate, preflights = pilot_gate(run), pilot_preflights(run)
    integrity = integrity_report(run, today=today, evidence=evidence)
    decision, undecided = _decided(run, gate, integrity) if run.manifest.kind != "pilot" else (None, None)
    checks = [
        *verified.checks,
        *_measured_elsewhere(run, gate),
        *_measured_elsewhere(run, preflights),
        *_absent_preflights(run),
        *integrity.checks,
        *([] if decision is None else [_verdict(decision)]),
        *([] if undecided is None else [undecided]),
    ]
    reasons = list(dict.fromkeys([*verified.reasons, *(gate.reasons if gate is not None else ()), *integrity.reasons]))
    report = CheckReport(str(run.path), combine(check.status for check in checks), tuple(checks), tuple(reasons))
    return WholeCheck(report, decision)


def _decided(run: Run, gate: CheckReport | None, integrity: CheckReport) -> tuple[DecisionReport | None, Check | None]:
    """Return the decision, or the check that says why a run without two arms to compare has none."""
    try:
        return dataclasses.replace(decide(run, gate=gate), integrity=integrity), None
    except NothingToCompare as error:
        return None, Check(
            id="verdict",
            status="inconclusive",
            value=None,
            limit=None,
            unit="verdict",
            definition="decision@evals/final",
            arm=None,
            rows_examined=0,
            reason=error.message,
            measures="what may be claimed of a difference",
        )


def _measured_elsewhere(run: Run, report: CheckReport | None) -> list[Check]:
    """Return the checks of a pilot with its name, so that their queries and evidence are looked for there."""
    if report is None:
        return []
    other = None if report.run == str(run.path) else report.run
    return [dataclasses.replace(check, run=other) for check in report.checks]


def _absent_preflights(run: Run) -> list[Check]:
    """Return a check for each preflight that the plan requires and the pilot holds no result of."""
    pilot = pilot_of(run)
    if pilot is None or run.sealed is None:
        return []
    results = read_results(pilot.path)
    return [
        Check(
            id=name,
            status="inconclusive",
            value=None,
            limit=None,
            unit="comparisons that passed",
            definition=f"preflight/{name}.json",
            arm=None,
            rows_examined=0,
            reason=f"the plan requires the {name} preflight, and the pilot {pilot.path} holds no result of it",
            mend=f"audit preflight PLAN --out {pilot.path}",
        )
        for name in required_preflights(run.sealed.plan)
        if name not in results
    ]


def _verdict(decision: DecisionReport) -> Check:
    first = decision.criteria[0] if decision.criteria else None
    return Check(
        id="verdict",
        status=_STATUS_OF.get(decision.verdict, "inconclusive"),
        value=decision.verdict,
        limit=None,
        unit="verdict",
        definition=f"{decision.method}@evals/final",
        arm=None,
        rows_examined=decision.n_items,
        denominator=decision.n_items,
        reason="; ".join(decision.reasons) or None,
        notes=()
        if first is None
        else (f"{first.id}: {first.estimate:.4g} [{first.lower:.4g}, {first.upper:.4g}], alpha {decision.alpha:g}",),
        measures=decision.estimand,
    )

"""`audit integrity`: what in the logs would make a reviewer throw the result out."""

import datetime
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from analysis.errors import AuditError
from analysis.nearest import hint
from audits.engine.audit import ROWS_KEPT, Findings, audit_ids, audit_sql, load_audit, run_audit
from audits.engine.check import Check, CheckReport, combine
from audits.engine.waivers import apply_waivers
from audits.store.evidence import EvidenceFile, write_evidence
from audits.store.policy import read_waivers
from audits.store.reader import Run, connect, hold_small_tables


def integrity_report(
    run: Run, *, only: Sequence[str] = (), today: datetime.date | None = None, evidence: bool = False
) -> CheckReport:
    """Run the audits over a run's logs.

    Args:
        run: the run.
        only: ids of the audits to run; empty for all of them.
        today: on which a waiver must not have expired; default: today, UTC.
        evidence: leave the offending rows of each finding in the run, as `evidence/<id>.parquet`.

    Raises:
        AuditError: an id of `only` is unknown, a file of the run is damaged, or `policy.json` is not readable.
    """
    _require_known(only)
    with connect(run) as connection:
        if not only:
            hold_small_tables(connection, run)
        findings = [run_audit(connection, run, audit_id) for audit_id in audit_ids() if not only or audit_id in only]
    checks = [_with_evidence(run, found) if evidence and found.rows else found.check for found in findings]
    waivers = [waiver for waiver in read_waivers(run.path) if waiver.check in {check.id for check in checks}]
    waived, notes = apply_waivers(checks, waivers, today or datetime.datetime.now(datetime.UTC).date())
    return CheckReport(str(run.path), combine(check.status for check in waived), tuple(waived), (*run.notes, *notes))


def evaluation_audits() -> tuple[str, ...]:
    """Return the ids of the audits that need nothing but evaluations: quick, and they tell whether scores compare."""
    required = {audit_id: load_audit(audit_id).requires for audit_id in audit_ids()}
    return tuple(
        name
        for name, entries in required.items()
        if entries and all("evals" in entry.split(" or ") for entry in entries)
    )


def beside_decision(run: Run) -> CheckReport:
    """Return what the audits of the evaluations say beside a decision; one that cannot be asked stops no decision."""
    try:
        return integrity_report(run, only=evaluation_audits())
    except AuditError as error:
        return CheckReport(str(run.path), "inconclusive", (), (error.message,))


@contextmanager
def offending_rows(run: Run, audit_id: str) -> Iterator[Any]:
    """Give every offending row of one audit, as an Arrow record batch reader.

    Args:
        run: the run.
        audit_id: the audit.

    Raises:
        AuditError: there is no such audit, it cannot be asked of this run, or a file is damaged.
    """
    _require_known([audit_id])
    with connect(run) as connection:
        check = run_audit(connection, run, audit_id).check
        if check.value is None:
            raise AuditError(f"{run.path}: {audit_id} has no rows to show: {check.reason}")
        yield connection.sql(audit_sql(audit_id).rows).to_arrow_reader()


def _require_known(names: Sequence[str]) -> None:
    for name in names:
        if name not in audit_ids():
            raise AuditError(f'there is no audit "{name}"{hint(name, audit_ids())}')


def _with_evidence(run: Run, found: Findings) -> Check:
    check = found.check
    total = int(check.value or 0)
    file = EvidenceFile(found.table, total, audit_sql(check.id).rows, None)
    try:
        path = write_evidence(run.path, check.id, file)
    except OSError as error:
        note = f"no evidence was left: the run cannot be written to ({error.strerror or error})"
        return replace(check, notes=(*check.notes, note))
    kept = f"the first {ROWS_KEPT:,} of {total:,} rows" if total > ROWS_KEPT else "every row"
    return replace(check, evidence=path, notes=(*check.notes, f"evidence: {kept}"))

"""Runs one audit over a run directory and counts what it found."""

from collections import Counter

from audits.engine.audit import run_audit
from audits.store.reader import connect, open_run


def ran(path, audit_id):
    """The findings of an audit."""
    run = open_run(path)
    with connect(run) as connection:
        return run_audit(connection, run, audit_id)


def faults(findings):
    """How many rows of each fault and severity there are."""
    rows = [dict(zip(findings.columns, row, strict=True)) for row in findings.rows]
    return Counter((row["fault"], row.get("severity", "fail")) for row in rows)

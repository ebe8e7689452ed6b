"""Records that somebody looked at the outcomes."""

import dataclasses
from datetime import UTC, datetime

import typer

from audits.engine.decision import DecisionReport
from audits.store.looks import record_look
from audits.store.reader import Run


def record(run: Run, report: DecisionReport, asked: str | None = None) -> DecisionReport:
    """Record this look in the run and return the report that says whether it could be recorded.

    Args:
        run: the run that was looked at.
        report: what was shown.
        asked: the method named on the command line, None for the registered one.
    """
    beside = next((other for other in report.exploratory if other.method == asked), None)
    look = {
        "looked_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "method": asked or report.method,
        "registered": report.registered and asked in (None, report.method),
        "alpha": report.alpha,
        "n_items": report.n_items,
        "verdict": report.verdict if beside is None else beside.verdict,
    }
    recorded = record_look(run.path, look)
    if not recorded:
        typer.echo(f"audit: {run.path} is read-only: this look was not recorded", err=True)
    return dataclasses.replace(report, recorded_look=recorded)

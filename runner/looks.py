"""Records that somebody looked at the outcomes."""

import dataclasses
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import typer

from audits.engine.decision import CriterionResult, DecisionReport
from audits.store.looks import record_look
from audits.store.reader import Run
from reports.emitters.json import plain


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
        "unit": report.unit,
        "criteria": _criteria(report.criteria, report.criteria if beside is None else beside.criteria),
    }
    recorded = record_look(run.path, plain(look))
    if not recorded:
        typer.echo(f"audit: {run.path} is read-only: this look was not recorded", err=True)
    return dataclasses.replace(report, recorded_look=recorded)


def _criteria(asked: Sequence[CriterionResult], shown: Sequence[CriterionResult]) -> list[dict[str, Any]]:
    """Return each criterion's question, and the interval that was shown; null where the method had none."""
    intervals = {criterion.id: criterion for criterion in shown}
    return [
        {
            "id": question.id,
            "weights": dict(question.weights),
            "margin": question.margin,
            "floor": question.floor,
            "band": question.band,
            "bounds": list(question.bounds),
            **{
                name: getattr(intervals[question.id], name) if question.id in intervals else None
                for name in ("estimate", "lower", "upper")
            },
        }
        for question in asked
    ]

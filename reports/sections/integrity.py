"""Integrity: what in the logs speaks against the measurement, with the rows behind it."""

from audits.engine.check import Check, CheckReport
from reports.display import LABEL_LIMIT, command, count, status_sign, status_word, text
from reports.emitters.lines import again_command
from reports.parts import Column, Command, ReportInputs, Section, Table
from reports.sections.gate import SEVERITY, by_severity, remarks

ORDER = 36
SHOWN_QUERIES = 12

_QUIET = frozenset({"pass", "not_applicable"})
_COLUMNS = (
    Column("Audit"),
    Column("Status", status=True),
    Column("Offending rows", numeric=True),
    Column("Rows examined", numeric=True),
    Column("It holds that"),
    Column("Remarks"),
)


def build(inputs: ReportInputs) -> Section:
    """Return the integrity section: findings first, then the audits that passed and what they measured."""
    report = inputs.integrity
    again = Command(
        "integrity-command", "all audits, with the rows behind each", command("audit", "integrity", inputs.run)
    )
    if report is None:
        return Section(
            id="integrity",
            title="Integrity",
            takeaway="No integrity audit was run: nothing here shows that it was measured honestly.",
            commands=(again,),
        )
    loud = [check for check in by_severity(report.checks) if check.status not in _QUIET]
    quiet = [check for check in by_severity(report.checks) if check.status in _QUIET]
    tables = []
    if loud:
        tables.append(Table("Findings", _COLUMNS, tuple(_row(check) for check in loud)))
    if quiet:
        caption = "Audits without a finding, and what they measured"
        tables.append(Table(caption, _COLUMNS, tuple(_row(check) for check in quiet), folded=bool(loud)))
    queries = [check for check in loud if check.sql and check.value]
    notes = [text(reason) for reason in report.reasons]
    if len(queries) > SHOWN_QUERIES:
        notes.append(f"The queries of {count(len(queries) - SHOWN_QUERIES)} more findings are printed by the command.")
    return Section(
        id="integrity",
        title="Integrity",
        takeaway=_takeaway(report),
        tables=tuple(tables),
        commands=(again, *(_query(number, inputs.run, check) for number, check in enumerate(queries[:SHOWN_QUERIES]))),
        notes=tuple(notes),
    )


def _takeaway(report: CheckReport) -> str:
    if not report.checks:
        return "No integrity audit was run: that is not a pass."
    statuses = [check.status for check in report.checks]
    parts = [f"{count(statuses.count(status))} {status_word(status)}" for status in SEVERITY if status in statuses]
    failed = [text(check.id, LABEL_LIMIT) for check in report.checks if check.status == "fail"]
    named = f". Against the measurement: {', '.join(failed[:6])}{', …' if len(failed) > 6 else ''}" if failed else ""
    audits = "1 audit" if len(statuses) == 1 else f"{count(len(statuses))} audits"
    return f"{audits} of the logs: {', '.join(parts)}{named}."


def _row(check: Check) -> tuple[str, ...]:
    return (
        text(check.id, LABEL_LIMIT),
        f"{status_sign(check.status)} {status_word(check.status)}",
        "no value" if not isinstance(check.value, float) else count(check.value),
        count(check.rows_examined),
        text(check.measures),
        " · ".join(remarks(check)) or "none",
    )


def _query(number: int, run: str, check: Check) -> Command:
    shown = again_command(run, check) or ""
    return Command(f"integrity-rows-{number}", f"every row behind {text(check.id, LABEL_LIMIT)}", shown)

"""The preflights: what was compared before the full run, and everything that did not pass."""

from audits.engine.check import Check, CheckReport
from reports.display import LABEL_LIMIT, command, count, status_sign, status_word, text
from reports.parts import Column, Command, ReportInputs, Section, Table
from reports.sections.gate import by_severity, limit_text, remarks, value_text

ORDER = 35


def build(inputs: ReportInputs) -> Section:
    """Return the preflight section."""
    report = inputs.preflights
    if report is None:
        return Section(
            id="preflight",
            title="Preflights",
            takeaway="No preflight belongs to this run: nothing here shows that losses, service and budget were tried.",
            commands=(
                Command("preflight-command", "what a preflight compares", command("audit", "preflight", "--help")),
            ),
        )
    return Section(
        id="preflight",
        title="Preflights",
        takeaway=_takeaway(report),
        tables=(_table(report),) if report.checks else (),
        commands=(
            Command("preflight-command", f"the preflights{' again' if report.checks else ''}", _again(report.run)),
        ),
        notes=tuple(text(reason) for reason in report.reasons),
    )


def _takeaway(report: CheckReport) -> str:
    if not report.checks:
        return "No preflight was run."
    summaries = [check for check in report.checks if "/" not in check.id]
    words = ", ".join(f"{text(check.id, LABEL_LIMIT)} {status_word(check.status)}" for check in summaries)
    return f"{status_sign(report.status)} {status_word(report.status)}: {words}."


def _table(report: CheckReport) -> Table:
    rows = tuple(_row(check) for check in by_severity(report.checks))
    columns = (
        Column("Preflight"),
        Column("Status", status=True),
        Column("Value", numeric=True),
        Column("Limit", numeric=True),
        Column("Of", numeric=True),
        Column("Against"),
        Column("Remarks"),
    )
    return Table(caption="Preflights, and each comparison that did not pass", columns=columns, rows=rows)


def _row(check: Check) -> tuple[str, ...]:
    return (
        text(check.id, 160),
        f"{status_sign(check.status)} {status_word(check.status)}",
        value_text(check),
        limit_text(check),
        "none" if check.denominator is None else count(check.denominator),
        text(check.definition, 200),
        " ".join(remarks(check)) or "none",
    )


def _again(pilot: str) -> str:
    return command("audit", "preflight", f"{pilot}/plan.json", "--out", pilot)

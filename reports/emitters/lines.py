"""A result's sentences as plain lines, shared by the emitters that have no layout of their own."""

from audits.engine.check import Check
from audits.engine.decision import DecisionReport
from reports.display import command, text
from reports.sections.gate import counted_text, limit_text, remarks, value_text
from reports.verdicts import against_sentences, interval_sentence


def check_name(check: Check) -> str:
    """Return the check's id with its arm."""
    return f"{text(check.id, 120)} ({text(check.arm, 60)})" if check.arm else text(check.id, 120)


def figure_line(check: Check) -> str:
    """Return value, limit, counts and definition in one line."""
    parts = (value_text(check), f"limit {limit_text(check)}", counted_text(check), text(check.definition, 200))
    return ", ".join(part for part in parts if part)


def check_lines(check: Check) -> list[str]:
    """Return the figure and what is to say about it, one sentence a line."""
    return [figure_line(check), *remarks(check)]


def decision_lines(report: DecisionReport) -> list[str]:
    """Return the reasons, the intervals and what speaks against them, one a line."""
    return [
        *(text(reason) for reason in report.reasons),
        *(interval_sentence(report, criterion) for criterion in report.criteria),
        *(f"against it: {sentence}" for sentence in against_sentences(report)),
    ]


def again_command(run: str, check: Check) -> str | None:
    """Return the command line that gives the value or the offending rows again, or None.

    Args:
        run: the report's run.
        check: names another one where it was measured on that.
    """
    measured_on = check.run or run
    if check.rows_command is not None:
        word, *rest = check.rows_command
        return command("audit", word, measured_on, *rest)
    return command("audit", "sql", measured_on, check.sql) if check.sql else None

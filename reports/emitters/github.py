"""Annotations for GitHub's job log. Every line is one whole workflow command, so no text can start another."""

from audits.engine.check import CheckReport
from audits.engine.decision import DecisionReport
from reports.display import text
from reports.emitters.lines import again_command, check_lines, check_name, decision_lines
from reports.verdicts import head

_LEVELS = {"fail": "error", "inconclusive": "error", "warn": "warning", "waived": "notice"}


def checks_github(report: CheckReport, *, file: str, command: str = "gate") -> str:
    """Return one annotation for each check that needs a reader, and one for the whole.

    Args:
        report: the checks.
        file: the file the annotations are put on, for example the plan.
        command: the command that ran.
    """
    level = _LEVELS.get(report.status, "notice")
    passed = sum(check.status == "pass" for check in report.checks)
    summary = [f"{report.status}: {passed} of {len(report.checks)} checks pass", *(text(r) for r in report.reasons)]
    lines = [annotation(level, file, f"audit {command} {text(report.run, 120)}", summary)]
    for check in report.checks:
        if check.status in _LEVELS:
            again = again_command(report.run, check)
            body = [*check_lines(check), *([again] if again else [])]
            lines.append(annotation(_LEVELS[check.status], file, f"{check.status}: {check_name(check)}", body))
    return "\n".join(lines)


def decision_github(report: DecisionReport, *, file: str) -> str:
    """Return the decision as one annotation: an error unless it is validated."""
    level = "error" if report.exit_code else "notice"
    return annotation(
        level, file, f"{report.verdict}: audit decide {report.run}", [head(report), *decision_lines(report)]
    )


def annotation(level: str, file: str, title: str, lines: list[str]) -> str:
    """Return one workflow command on one line."""
    return f"::{level} file={_property(file)},title={_property(text(title, 200))}::{_data(chr(10).join(lines))}"


def _data(value: str) -> str:
    # "##[" is the runner's older command prefix, which it looks for anywhere in a line.
    escaped = value.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    return escaped.replace("##[", "## [")


def _property(value: str) -> str:
    return _data(value).replace(":", "%3A").replace(",", "%2C")

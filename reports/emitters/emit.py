"""One result, in the format that was asked for, on one stream."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, TextIO

from audits.engine.check import CheckReport
from audits.engine.decision import DecisionReport
from reports.parts import ComparisonInputs, ReportInputs
from reports.vega import javascript_bundle

if TYPE_CHECKING:
    from reports.emitters.html import Drawing


def emit_checks(report: CheckReport, format: str, stream: TextIO, *, command: str) -> None:
    """Write the checks as `table`, `json`, `junit` or `github`.

    Args:
        report: the checks.
        format: one of the four.
        stream: usually stdout.
        command: the `audit` command that gave them, for headings.
    """
    if format == "table":
        from reports.emitters.table import checks_table, write

        write(checks_table(report, command=command), stream)
    elif format == "json":
        from reports.emitters.contracts import checks_object
        from reports.emitters.json import dumps

        stream.write(dumps(checks_object(report)) + "\n")
    elif format == "junit":
        from reports.emitters.junit import checks_junit

        stream.write(checks_junit(report, command=command) + "\n")
    else:
        from reports.emitters.github import checks_github

        stream.write(checks_github(report, file=f"{report.run}/run.json", command=command) + "\n")


def emit_whole_check(report: CheckReport, decision: DecisionReport | None, format: str, stream: TextIO) -> None:
    """Write all checks of a run and its verdict as `table`, `json`, `junit` or `github`.

    Args:
        report: the checks, the verdict among them.
        decision: the verdict with its intervals, None for a pilot.
        format: one of the four.
        stream: usually stdout.
    """
    if format == "table":
        from reports.emitters.table import checks_table, decision_text, write

        write(checks_table(_in_points(report, decision), command="check", brief=True), stream)
        if decision is not None:
            stream.write("\n")
            write(decision_text(decision), stream)
    elif format == "json":
        from reports.emitters.contracts import whole_check_object
        from reports.emitters.json import dumps

        stream.write(dumps(whole_check_object(report, decision)) + "\n")
    else:
        emit_checks(_in_points(report, decision), format, stream, command="check")


def _in_points(report: CheckReport, decision: DecisionReport | None) -> CheckReport:
    """Return the checks with the verdict's intervals as a reader has them elsewhere: in percentage points."""
    from reports.verdicts import brief_interval

    if decision is None:
        return report
    notes = tuple(f"{brief_interval(criterion)}, alpha {decision.alpha:g}" for criterion in decision.criteria)
    checks = tuple(replace(check, notes=notes) if check.id == "verdict" else check for check in report.checks)
    return replace(report, checks=checks)


def emit_decision(report: DecisionReport, format: str, stream: TextIO) -> None:
    """Write the decision as `table`, `json`, `junit` or `github`."""
    if format == "table":
        from reports.emitters.table import decision_text, write

        write(decision_text(report), stream)
    elif format == "json":
        from reports.emitters.contracts import decision_object
        from reports.emitters.json import dumps

        stream.write(dumps(decision_object(report)) + "\n")
    elif format == "junit":
        from reports.emitters.junit import decision_junit

        stream.write(decision_junit(report) + "\n")
    else:
        from reports.emitters.github import decision_github

        stream.write(decision_github(report, file=f"{report.run}/run.json") + "\n")


def report_text(
    inputs: ReportInputs,
    format: str,
    *,
    drawings: "Mapping[str, Drawing] | None" = None,
    script_of: Callable[[], str] = javascript_bundle,
) -> str:
    """Return a run's report as `html`, `md` or `json`.

    Args:
        inputs: what it is made from.
        format: one of the three.
        drawings: see `render_html`.
        script_of: see `render_html`.
    """
    from reports.model import build_report

    model = build_report(inputs)
    if format == "html":
        from reports.emitters.html import render_html

        return render_html(model, drawings=drawings, script_of=script_of)
    if format == "md":
        from reports.emitters.markdown import render_markdown

        found = {"gate": inputs.gate, "preflight": inputs.preflights, "integrity": inputs.integrity}
        return render_markdown(model, {name: report for name, report in found.items() if report is not None})
    from reports.emitters.json import dumps
    from reports.emitters.page_object import page_object, results_object

    return dumps(page_object(model) | results_object(inputs)) + "\n"


def comparison_text(inputs: ComparisonInputs, format: str) -> str:
    """Return the comparison of two runs as `html`, `md` or `json`."""
    from reports.model import build_comparison

    model = build_comparison(inputs)
    if format == "html":
        from reports.emitters.html import render_html

        return render_html(model)
    if format == "md":
        from reports.emitters.markdown import render_markdown

        return render_markdown(model, {})
    from reports.emitters.json import dumps
    from reports.emitters.page_object import page_object, results_object

    runs = {name: results_object(run) for name, run in inputs.named}
    return dumps(page_object(model) | {"runs": runs}) + "\n"

"""The names in a plan that only this installation can resolve: gate metrics, task, grader."""

from collections.abc import Callable, Iterator
from typing import Any

from analysis.errors import AuditError
from analysis.graders.grade import load_grader
from analysis.plan.finding import Finding
from analysis.plan.model import Check, Plan
from audits.engine.gate import check_fault
from audits.engine.metric import load_metric
from runner.loop.task import load_task

LINT = "names_of_this_installation"


def unresolved_names(plan: Plan) -> Iterator[Finding]:
    """Yield a finding for each name that nothing here has.

    A metric without its file, or asked for what it cannot answer, is an error: the gate could never pass. A task or a
    grader may stand in a plan that another installation runs, so that it is a warning here and a refusal in
    `audit run`.
    """
    for number, check in enumerate(plan.activation_gate.checks):
        path = f"activation_gate.checks[{number}]"
        unknown = list(_tried(f"{path}.metric", load_metric, check.metric, "error"))
        yield from unknown or _unanswerable(path, plan, check)
    yield from _tried("task.id", load_task, plan.task.id, "warn")
    yield from _tried("evaluation.grader", load_grader, plan.evaluation.grader, "warn")


def _unanswerable(path: str, plan: Plan, check: Check) -> Iterator[Finding]:
    """Yield what would make the check inconclusive in every run."""
    mend = "Ask of the metric what it can answer; docs/metrics.md says what each is a figure of."
    try:
        fault = check_fault(plan, check)
    except AuditError as error:
        fault = error.message
    if fault is not None:
        yield Finding(path, fault, mend, "error", "fields", LINT)


def _tried(path: str, load: Callable[[str], Any], name: str, severity: Any) -> Iterator[Finding]:
    try:
        load(name)
    except AuditError as error:
        yield Finding(path, error.message, "Name one that exists, or add its file.", severity, "fields", LINT)

"""The names in a plan that only this installation can resolve: gate metrics, task, grader."""

from collections.abc import Callable, Iterator
from typing import Any

from analysis.errors import AuditError
from analysis.plan.finding import Finding
from analysis.plan.model import Plan
from audits.engine.metric import load_metric
from runner.loop.task import load_grader, load_task

LINT = "names_of_this_installation"


def unresolved_names(plan: Plan) -> Iterator[Finding]:
    """Yield a finding for each name that nothing here has.

    A metric without its file is an error: the gate could never be evaluated. A task or a grader may stand in a
    plan that another installation runs, so that it is a warning here and a refusal in `audit run`.
    """
    for number, check in enumerate(plan.activation_gate.checks):
        yield from _tried(f"activation_gate.checks[{number}].metric", load_metric, check.metric, "error")
    yield from _tried("task.id", load_task, plan.task.id, "warn")
    yield from _tried("evaluation.grader", load_grader, plan.evaluation.grader, "warn")


def _tried(path: str, load: Callable[[str], Any], name: str, severity: Any) -> Iterator[Finding]:
    try:
        load(name)
    except AuditError as error:
        yield Finding(path, error.message, "Name one that exists, or add its file.", severity, "fields", LINT)

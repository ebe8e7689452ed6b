"""The names that a plan uses are found in this installation."""

import pytest

from analysis.plan.parse import parse_plan_text
from runner.loop.names import unresolved_names
from runner.loop.plans import shipped_plans


@pytest.mark.parametrize("name", shipped_plans())
def test_every_name_in_a_shipped_plan_is_found_here(name):
    plan = parse_plan_text(shipped_plans()[name].read_text(encoding="utf-8"), source=name)
    assert list(unresolved_names(plan)) == []


def test_an_unknown_task_and_a_refused_grader_are_found(make_plan):
    plan = make_plan(task__id="subtraction", evaluation__grader="math_verify").plan
    found = {finding.path: finding.message for finding in unresolved_names(plan)}
    assert "there is no such task" in found["task.id"]
    assert "every answer counts as wrong" in found["evaluation.grader"]

"""The names that a plan uses are found in this installation."""

import pytest
from made_run import made_plan, sealed

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


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"metric": "executed_base_model", "update": None}, "is a name: it needs one_of"),
        ({"metric": "mean_reward", "update": 1}, "a figure of the whole rollout batch"),
        ({"metric": "executed_updates_per_batch", "update": 0}, "a figure of the whole rollout batch"),
    ],
)
def test_a_check_that_no_run_can_answer_is_an_error_before_any_run(change, said):
    plan = made_plan()
    plan["activation_gate"]["checks"][0].update(change)
    (finding,) = unresolved_names(sealed(plan).plan)
    assert (finding.severity, finding.path) == ("error", "activation_gate.checks[0]")
    assert said in finding.message


def test_a_threshold_that_no_loss_of_the_plan_has_is_an_error_before_any_run():
    plan = made_plan(losses__grpo={**made_plan()["losses"]["dppo"], "delta": 0.3})
    (finding,) = unresolved_names(sealed(plan).plan)
    assert "needs eps, and no loss of the plan has it" in finding.message

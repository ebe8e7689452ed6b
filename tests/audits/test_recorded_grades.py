"""Recorded grades against the plan's grader, run again."""

import importlib
import pkgutil

import pytest
from graded_run import graded_evals, write_graded
from made_run import write_outcomes, write_run

import runner.loop.tasks
from analysis.graders.grade import grader_ids
from audits.derived.answers import TASK_GRADERS
from audits.engine.audit import run_audit
from audits.store.reader import connect, open_run

COMPLETIONS = ["18", "19", "no idea", "18.0"]


def audited(path):
    run = open_run(path)
    with connect(run) as connection:
        return run_audit(connection, run, "recorded_grades")


def write(path, grader="numeric_exact", **changes):
    honest = graded_evals(COMPLETIONS, grader=grader)
    return write_graded(path, {"dppo": honest | changes, "grpo": honest}, grader=grader)


@pytest.mark.parametrize("grader", grader_ids())
def test_the_grades_of_every_grader_come_out_again(tmp_path, grader):
    findings = audited(write(tmp_path / "run", grader))
    assert (findings.check.status, findings.check.rows_examined) == ("pass", 8)
    assert findings.check.notes == (f"evals: 8 completions graded again by {grader}",)


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"correct": [True, False, False, True]}, "other label"),
        ({"score": [1.0, 0.0, 0.0, 0.5]}, "other score"),
        ({"score": [1.0, 0.0, 0.0, float("nan")]}, "other score"),
        ({"extracted": ["18", "19", None, "18"]}, "other answer"),
    ],
)
def test_a_changed_label_score_or_answer_is_found(tmp_path, changes, fault):
    findings = audited(write(tmp_path / "run", **changes))
    row = dict(zip(findings.columns, findings.rows[0], strict=True))
    assert (len(findings.rows), row["fault"], row["arm"], row["id"]) == (1, fault, "dppo", "item-003")
    assert findings.check.status == "fail"


def test_another_completion_than_the_one_that_was_graded_is_found(tmp_path):
    assert audited(write(tmp_path / "run", completion=["18", "19", "no idea", "18"])).check.status == "fail"


def test_answers_that_were_never_logged_are_not_compared(tmp_path):
    columns = graded_evals(COMPLETIONS)
    del columns["extracted"]
    assert audited(write_graded(tmp_path / "run", {"dppo": columns, "grpo": columns})).check.status == "pass"


def test_a_completion_whose_grade_depends_on_an_ending_that_was_not_logged_is_not_graded(tmp_path):
    columns = graded_evals(COMPLETIONS) | {"stop_reason": [None] * 4}
    findings = audited(write_graded(tmp_path / "run", {"dppo": columns, "grpo": columns}))
    # Cut off or not, no number is wrong, and 19 is wrong as well; only 18 depends on it.
    assert (findings.check.status, findings.check.rows_examined) == ("pass", 4)


def test_rewards_are_graded_again_by_the_tasks_grader(tmp_path):
    def rollouts(arm, seed, step, reward=1.0):
        return {
            "step": [step] * 2, "rollout_id": [0, 1], "group_id": [0, 0], "prompt_id": ["p"] * 2,
            "reward": [reward, 0.0], "advantage": [0.5, -0.5], "n_tokens": [1, 1], "stop_reason": ["stop"] * 2,
            "completion": ["18", "20"], "gold": ["18", "18"], "extracted": ["18", "20"],
        }  # fmt: skip

    def cheated(arm, seed, step):
        return rollouts(arm, seed, step, reward=0.0 if (arm, step) == ("dppo", 1) else 1.0)

    assert audited(write_run(tmp_path / "good", rollouts_of=rollouts)).check.status == "pass"
    findings = audited(write_run(tmp_path / "bad", rollouts_of=cheated))
    assert [row[:6] for row in findings.rows] == [("other label", "rollouts", "dppo", 0, None, 1)]


def test_it_does_not_apply_without_a_plan_or_with_a_grader_of_another(tmp_path):
    imported = write_outcomes(tmp_path / "imported", {"treatment": [graded_evals(COMPLETIONS)]})
    honest = graded_evals(COMPLETIONS)
    other = write_graded(tmp_path / "other", {"dppo": honest, "grpo": honest}, grader="sympy", task="gsm8k")
    for path, reason in ((imported, "no plan"), (other, "'sympy'")):
        check = audited(path).check
        assert check.status == "not_applicable"
        assert reason in check.reason


def test_a_task_that_grades_by_one_of_our_graders_is_known_to_the_audits():
    tasks = runner.loop.tasks
    found = {}
    for module in pkgutil.iter_modules(tasks.__path__):
        names = vars(importlib.import_module(f"{tasks.__name__}.{module.name}")).values()
        used = {
            value.__module__.rsplit(".", 1)[1]
            for value in names
            if getattr(value, "__module__", "").startswith("analysis.graders.") and value.__name__ == "grade"
        }
        found |= dict.fromkeys(used and {module.name}, next(iter(used), ""))
    assert found == TASK_GRADERS

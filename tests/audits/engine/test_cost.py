"""What a run cost, as far as its log tells."""

import datetime

import pytest
from made_run import (
    change_json,
    evals,
    made_plan,
    right,
    rollouts,
    updates,
    write_experiment,
    write_outcomes,
    write_run,
)

from audits.engine.cost import cost_of
from audits.store.preflights import Comparison, PreflightResult, write_result
from audits.store.reader import open_run
from audits.store.writer import RunWriter


def phases(step, **seconds):
    when = datetime.datetime(2026, 1, 2, 3, 4, step, tzinfo=datetime.UTC)
    n = len(seconds)
    return {"step": [step] * n, "phase": list(seconds), "started_at": [when] * n, "seconds": list(seconds.values())}


@pytest.fixture
def run(tmp_path):
    full = write_experiment(tmp_path, made_plan(budget={"gpu_hours": 0.5, "max_wall_minutes": 30}), tokens_of=None)
    writer = RunWriter.reopen(full)
    for step in (0, 1):
        data = {
            "rollouts": rollouts(step, [0.0, 1.0, 1.0]) | {"n_tokens": [5, 6, 7 + step]},
            "updates": updates(step),
            "phases": phases(step, sample=2.0, train=3.0 + step, checkpoint=0.5),
        }
        writer.write_step("dppo", 0, step, data)
    return full


def test_seconds_and_tokens_are_summed_by_arm_seed_and_phase(run):
    found = {(row.arm, row.phase): (row.times, row.seconds, row.tokens) for row in cost_of(open_run(run)).phases}
    assert found == {
        ("dppo", "checkpoint"): (2, 1.0, None),
        ("dppo", "sample"): (2, 4.0, 37),
        ("dppo", "train"): (2, 7.0, 160),  # two steps of two updates of 40 loss tokens
    }


def test_completion_tokens_of_evaluations_count_and_a_phase_nobody_timed_has_no_seconds(tmp_path):
    arms = {name: [evals(right(3), n_tokens=11)] for name in ("treatment", "baseline")}
    found = cost_of(open_run(write_outcomes(tmp_path / "run", arms)))
    assert [(row.arm, row.phase, row.times, row.seconds, row.tokens) for row in found.phases] == [
        ("baseline", "eval", 0, None, 220),
        ("treatment", "eval", 0, None, 220),
    ]
    assert (found.budget, found.predicted, found.wall_seconds, found.gpus) == (None, (), None, None)


def test_outcomes_without_token_counts_cost_nothing_that_is_known(tmp_path):
    arms = {name: [evals(right(3))] for name in ("treatment", "baseline")}
    assert cost_of(open_run(write_outcomes(tmp_path / "run", arms))).phases == ()


def test_budget_prediction_and_use_stand_together(run):
    change_json(run / "run.json", wall_seconds=90.5, executed={"options": {"gpus": 4}})
    change_json(run.parent / "pilot" / "run.json", wall_seconds=30.0)
    predicted = Comparison(path="budget", metric="wall_minutes", status="pass", value=1.5)
    pilot = open_run(run.parent / "pilot")
    write_result(
        pilot.path,
        PreflightResult(id="feasibility", status="pass", plan_sha256=pilot.sealed.sha256, comparisons=[predicted]),
    )
    found = cost_of(open_run(run))
    assert (found.wall_seconds, found.pilot_wall_seconds, found.gpus) == (90.5, 30.0, 4.0)
    assert (found.budget.gpu_hours, found.budget.max_wall_minutes) == (0.5, 30)
    assert found.predicted == (predicted,)


def test_a_pilot_is_not_its_own_pilot(tmp_path):
    pilot = write_run(tmp_path / "pilot")
    change_json(pilot / "run.json", wall_seconds=30.0)
    found = cost_of(open_run(pilot))
    assert (found.wall_seconds, found.pilot_wall_seconds) == (30.0, None)


@pytest.mark.parametrize("options", [{}, {"options": None}, {"options": {"gpus": "two"}}, {"options": {"gpus": True}}])
def test_gpus_that_nobody_stated_are_unknown(run, options):
    change_json(run / "run.json", executed=options)
    assert cost_of(open_run(run)).gpus is None

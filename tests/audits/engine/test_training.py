"""Training by step: as the metrics measure it, and honest about what was not logged."""

import dataclasses
import math

import pytest
from made_run import made_plan, rollouts, tokens, write_outcomes, write_run

from audits.engine.measure import measure
from audits.engine.metric import load_metric
from audits.engine.request import Request
from audits.engine.training import training_steps
from audits.store.reader import open_run

METRICS = {
    "mean_reward": "mean_reward",
    "completion_tokens": "mean_completion_tokens",
    "truncated_share": "truncated_fraction",
    "one_reward_share": "zero_variance_group_fraction",
    "sampled_surprisal": "sampled_surprisal",
}


def groups(step, rewards=(0.0, 1.0, 1.0, 1.0)):
    """Three groups, two of them with one reward; one completion is cut off."""
    columns = rollouts(step, rewards)
    columns["group_id"] = [0, 0, 1, 2]
    columns["n_tokens"] = [3, 4 + step, 5, 8]
    columns["stop_reason"] = ["stop", "stop", "stop", "length"]
    return columns


def logged(arm, seed, step):
    return tokens([(0, -0.5, -0.5, 1.0), (1, -1.25 - step, -0.5, 1.0)], step)


@pytest.fixture
def run(tmp_path):
    plan = made_plan()
    path = write_run(tmp_path / "run", plan, tokens_of=logged, rollouts_of=lambda arm, seed, step: groups(step))
    return open_run(path)


def test_figures_of_a_step_are_those_that_can_be_computed_by_hand(run):
    first, second, *_ = training_steps(run)
    assert (first.arm, first.seed, first.step) == ("dppo", 0, 0)
    assert dataclasses.astuple(first)[3:] == (0.75, 5.0, 0.25, 2 / 3, 0.875, 4, 2)
    assert dataclasses.astuple(second)[2:] == (1, 0.75, 5.25, 0.25, 2 / 3, 1.375, 4, 2)


def test_every_figure_is_its_metric_of_the_step(run):
    rows = {(row.arm, row.seed, row.step): row for row in training_steps(run)}
    for name, metric in METRICS.items():
        for arm in ("dppo", "grpo"):
            found = measure(run, Request(load_metric(metric), arm=arm)).steps
            assert found
            for step in found:
                assert getattr(rows[arm, step.seed, step.step], name) == pytest.approx(step.value, rel=1e-9)


def test_numbers_that_are_none_stay_none_of_their_step_alone(tmp_path):
    def broken(arm, seed, step):
        return tokens([(0, -math.inf if step else -0.5, -0.5, 1.0), (0, -0.5, -0.5, 1.0)], step)

    path = write_run(
        tmp_path / "run",
        tokens_of=broken,
        rollouts_of=lambda a, s, step: groups(step, (math.nan if step else 0, 1, 1, 1)),
    )
    first, second, *_ = training_steps(open_run(path))
    assert (first.mean_reward, first.one_reward_share, first.sampled_surprisal) == (0.75, 2 / 3, 0.5)
    assert all(math.isnan(value) for value in (second.mean_reward, second.one_reward_share, second.sampled_surprisal))
    assert (second.completion_tokens, second.truncated_share) == (5.25, 0.25)


def test_a_table_that_was_not_logged_leaves_its_figures_unknown(tmp_path, run):
    without = dataclasses.replace(run, files=tuple(file for file in run.files if file.table != "tokens"))
    rows = training_steps(without)
    assert {(row.sampled_surprisal, row.loss_tokens) for row in rows} == {(None, None)}
    assert {row.mean_reward for row in rows} == {0.75}
    without = dataclasses.replace(run, files=tuple(file for file in run.files if file.table != "rollouts"))
    rows = training_steps(without)
    assert {(row.mean_reward, row.rollouts, row.one_reward_share) for row in rows} == {(None, None, None)}
    assert {row.sampled_surprisal for row in rows} == {0.875, 1.375}


def test_outcomes_alone_have_no_training(tmp_path):
    from made_run import evals, right

    arms = {"baseline": [evals(right(3))], "treatment": [evals(right(4))]}
    assert training_steps(open_run(write_outcomes(tmp_path / "run", arms))) == ()

"""The tokens table: what was sampled and trained, row by row."""

import numpy as np

from analysis.graders.grade import Grade
from runner.loop.credit.estimation import Credit, group_credit
from runner.loop.prompts import Prompt
from runner.loop.records import eval_columns, rollout_columns, token_columns
from runner.loop.sampling import RolloutBatch, Sample
from runner.loop.task import Problem
from runner.loop.training import Update


def _sample(tokens, correct=True):
    problem = Problem("p", "train", "1+1", "2")
    prompt = Prompt(problem, "1+1=", (1, 2), "0" * 64)
    logprobs = -np.arange(1, len(tokens) + 1, dtype=np.float32) / 8
    return Sample(prompt, np.array(tokens, np.int32), logprobs, "stop", "2", Grade(1.0, correct, "2", "whole"))


def test_each_loss_token_of_each_update_is_one_row_in_order_zero_advantage_included():
    samples = (_sample([5, 6]), _sample([7]), _sample([]), _sample([8, 9, 10]))
    batch = RolloutBatch(3, samples, np.array([0, 0, 1, 1]), np.array([0.5, -0.5, 0.0, 0.0]), "v")
    credit = group_credit(batch)
    updates = [
        Update(0, (0, 1), (np.float32([-0.1, -0.2]), np.float32([-0.3])), 1.0, 0, {}, 0.0, 0.0, credit.advantages[:2]),
        Update(1, (3,), (np.float32([-0.4, -0.5, -0.6]),), 1.0, 0, {}, 0.0, 0.0, credit.advantages[3:]),
    ]
    columns = token_columns(batch, updates, credit)
    assert "value" not in columns
    rows = list(
        zip(*(columns[name].tolist() for name in ("update", "rollout_id", "position", "token_id")), strict=True)
    )
    assert rows == [(0, 0, 0, 5), (0, 0, 1, 6), (0, 1, 0, 7), (1, 3, 0, 8), (1, 3, 1, 9), (1, 3, 2, 10)]
    np.testing.assert_array_equal(columns["current_logprob"], np.float32([-0.1, -0.2, -0.3, -0.4, -0.5, -0.6]))
    np.testing.assert_array_equal(columns["sampler_logprob"], [-0.125, -0.25, -0.125, -0.125, -0.25, -0.375])
    np.testing.assert_array_equal(columns["advantage"], [0.5, 0.5, -0.5, 0, 0, 0])
    assert set(columns["step"].tolist()) == {3}


def test_a_critic_s_values_and_advantages_stand_at_their_tokens():
    samples = (_sample([5, 6]), _sample([7]), _sample([8]))
    batch = RolloutBatch(0, samples, np.array([0, 0, 1]), np.zeros(3), "v")
    advantages = (np.array([0.1, 0.2]), np.array([0.3]), np.array([0.4]))
    values = (np.array([1.0, 2.0]), np.array([3.0]), np.array([4.0]))
    updates = [Update(0, (0, 2), (np.float32([-1, -2]), np.float32([-3])), 1.0, 0, {}, 0.0, 0.0, advantages[::2])]
    columns = token_columns(batch, updates, Credit(advantages, advantages, values))
    np.testing.assert_array_equal(columns["value"], np.float32([1, 2, 4]))
    np.testing.assert_array_equal(columns["advantage"], np.float32([0.1, 0.2, 0.4]))
    assert "advantage" not in rollout_columns(batch, one_advantage=False)
    assert "advantage" in rollout_columns(batch, one_advantage=True)


def test_an_evaluation_has_one_row_an_item_a_sample_and_scores_what_is_correct():
    columns = eval_columns("final", [[_sample([1]), _sample([1], correct=False)], [_sample([1])]])
    assert columns["sample"] == [0, 1, 0]
    assert columns["score"] == [1.0, 0.0, 1.0]
    assert columns["error"] == [None] * 3

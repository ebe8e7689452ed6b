"""Pairs of a better and a worse completion, without a service."""

from types import SimpleNamespace

import numpy as np
import pytest

from analysis.graders.grade import Grade
from analysis.losses.preference import preference_losses
from analysis.plan.model import Loss
from runner.loop.preferences import Pairs, no_preference, pairs_of, pairs_weights
from runner.loop.prompts import Prompt
from runner.loop.sampling import RolloutBatch, Sample
from runner.loop.task import Problem

LOSS = Loss(kind="preference", form="ratio", beta=0.5, anchor="base", truncation=None, reduction="token_sum")


def sample(reward, n_tokens=2):
    prompt = Prompt(Problem("p", "train", "1+1", "2"), "1+1=", (1, 2), "0" * 64)
    tokens = np.arange(n_tokens, dtype=np.int32)
    return Sample(prompt, tokens, -np.ones(n_tokens, np.float32), "stop", "2", Grade(reward, bool(reward), "2", "x"))


def batch_of(*groups):
    samples = tuple(each for group in groups for each in group)
    ids = np.repeat(np.arange(len(groups)), [len(group) for group in groups])
    return RolloutBatch(0, samples, ids, np.zeros(len(samples)), "v")


class Base:
    def __init__(self):
        self.asked = 0

    def compute_logprobs(self, model_input):
        self.asked += 1
        return [None, *(-0.5 for _ in range(model_input.length - 1))]


BACKEND = SimpleNamespace(wait=lambda doing, pending: pending)


def paired(*groups):
    pytest.importorskip("tinker", reason="the training extra is not installed")
    pairs = pairs_of(BACKEND, Base(), batch_of(*groups))
    return list(zip(pairs.chosen, pairs.rejected, strict=True)), pairs


def test_the_better_half_meets_the_worse_half_and_nobody_twice():
    found, pairs = paired([sample(0), sample(1), sample(1), sample(0), sample(0)], [sample(1), sample(1)])
    assert found == [(1, 4), (2, 3)]
    assert sorted(pairs.base_logprobs) == [1, 2, 3, 4]
    np.testing.assert_array_equal(pairs.base_logprobs[1], np.float32([-0.5, -0.5]))


def test_graded_rewards_pair_the_best_with_the_worst():
    found, _ = paired([sample(0.2), sample(0.9), sample(0.5), sample(0.4)])
    assert found == [(1, 0), (2, 3)]


def test_an_empty_completion_is_in_no_pair():
    found, _ = paired([sample(1), sample(0, n_tokens=0), sample(0)])
    assert found == [(0, 2)]


def test_a_minibatch_has_the_pairs_of_its_groups():
    pairs = Pairs((1, 6), (0, 4), {})
    assert pairs.of(np.array([0, 1, 2, 3])) == [1, 0]
    assert pairs.of(np.array([4, 5, 6])) == [6, 4]
    assert pairs.of(np.array([7])) == []


def test_a_token_s_weight_is_minus_the_loss_s_derivative():
    pairs = Pairs((1,), (0,), {0: np.float32([-1, -1]), 1: np.float32([-2])})
    weights = pairs_weights(pairs, [1, 0], [np.float32([-0.5]), np.float32([-3.0, -1.0])], LOSS)
    gradient = preference_losses([-0.5], [-4.0], [-2.0], [-2.0], beta=0.5).gradient[0]
    np.testing.assert_allclose(weights[0], [-gradient])
    np.testing.assert_allclose(weights[1], [gradient, gradient])
    with pytest.raises(ValueError, match="only a preference loss"):
        pairs_weights(None, [], [], LOSS)


def test_completions_that_are_all_alike_give_a_loss_without_a_gradient():
    torch = pytest.importorskip("torch", reason="the training extra is not installed")
    mask = SimpleNamespace(to_numpy=lambda: np.array([0.0, 1.0, 1.0]))
    leaf = torch.tensor([-1.0, -2.0, -3.0], requires_grad=True)
    loss, counts = no_preference([SimpleNamespace(loss_fn_inputs={"mask": mask})], [leaf])
    loss.backward()
    assert loss.item() == 0.0
    assert not leaf.grad.any()
    assert counts == {"custom/loss_tokens:sum": 2.0, "custom/hidden:sum": 0.0}

"""Rollouts in groups, with advantages that follow from their rewards, to be spoiled by a test."""

import numpy as np
from made_run import Columns, made_plan, write_run

SIZE = 4


def grouped_rollouts(step: int, rewards: np.ndarray) -> Columns:
    """Return rollout columns from rewards of shape (groups, group size), each group of a prompt of its own."""
    n_groups, size = rewards.shape
    n = rewards.size
    return {
        "step": [step] * n,
        "rollout_id": list(range(n)),
        "group_id": np.repeat(np.arange(n_groups), size).tolist(),
        "prompt_id": [f"p{group}" for group in np.repeat(np.arange(n_groups), size)],
        "reward": rewards.ravel().tolist(),
        "advantage": (rewards - rewards.mean(axis=1, keepdims=True)).ravel().tolist(),
        "n_tokens": [1] * n,
        "stop_reason": ["stop"] * n,
    }


def mixed_rewards(n_groups: int, seed: int = 0, size: int = SIZE) -> np.ndarray:
    """Return rewards 0 and 1 of shape (n_groups, size) in which every group has both."""
    rewards = np.random.default_rng(seed).integers(0, 2, (n_groups, size)).astype(float)
    rewards[:, 0], rewards[:, 1] = 0.0, 1.0
    return rewards


def group_plan(**changes):
    """Return the made plan with groups of SIZE."""
    return made_plan(rollout__group_size=SIZE, **changes)


def write_groups(path, rollouts_of, steps: int = 1, **changes):
    """Write a pilot whose rollouts are `rollouts_of(arm, step)`."""
    return write_run(
        path, group_plan(**changes), steps=steps, rollouts_of=lambda arm, seed, step: rollouts_of(arm, step)
    )

"""Runs in which every step has a mixed group, and in which an arm never had one."""

import numpy as np
from made_groups import grouped_rollouts, mixed_rewards, write_groups

FAULTS = {1}


def passing(path):
    return write_groups(path, lambda arm, step: grouped_rollouts(step, mixed_rewards(8, step)), steps=3)


def failing(path, faulty):
    def rollouts_of(arm, step):
        return grouped_rollouts(step, np.zeros((8, 4)) if arm == "dppo" else mixed_rewards(8, step))

    return write_groups(path, rollouts_of, steps=3)

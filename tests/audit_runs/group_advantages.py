"""Runs whose advantages follow from their groups' rewards, and whose advantages do not in some groups."""

from made_groups import SIZE, grouped_rollouts, mixed_rewards, write_groups

FAULTS = {1, 500}


def passing(path):
    return write_groups(path, lambda arm, step: grouped_rollouts(step, mixed_rewards(1000, step)))


def failing(path, faulty):
    def spoiled(arm, step):
        columns = grouped_rollouts(step, mixed_rewards(1000, step))
        if arm == "dppo":
            for group in range(faulty):
                columns["advantage"][group * SIZE] += 0.5
        return columns

    return write_groups(path, spoiled)

"""Runs whose updates have finite losses, and in which some of 1,000 updates do not."""

import math

from made_run import updates, write_run

FAULTS = {1, 500}
STEPS, UPDATES = 10, 100


def passing(path):
    return failing(path, 0)


def failing(path, faulty):
    def updates_of(arm, seed, step):
        columns = updates(step, n=UPDATES)
        if arm == "dppo":
            first = step * UPDATES
            columns["loss"] = [
                math.nan if first + number < faulty else loss for number, loss in enumerate(columns["loss"])
            ]
        return columns

    return write_run(path, steps=STEPS, updates_of=updates_of)

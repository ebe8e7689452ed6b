"""Runs whose arms wrote texts of their own, and one whose arms wrote the same."""

from executed_run import outcomes, write_executed

FAULTS = {1}


def passing(path):
    return write_executed(path)


def failing(path, faulty):
    def alike(arm, n, **where):
        return outcomes("base" if arm == "base" else "both", n, **where) | {"n_tokens": [20] * n}

    return write_executed(path, outcomes_of=alike)

"""Runs on which both arms answered the same items, and on which they did not."""

from made_run import evals, right, write_outcomes

FAULTS = {1, 500}


def passing(path):
    return write_outcomes(path, {"treatment": [evals(right(3, 1000))], "baseline": [evals(right(4, 1000))]})


def failing(path, faulty):
    return write_outcomes(path, {"treatment": [evals(right(3, 1000 - faulty))], "baseline": [evals(right(4, 1000))]})

"""Runs with the labels that the plan's grader gives, and with labels that were changed afterwards."""

from graded_run import graded_evals, write_graded

FAULTS = {1, 500}


def passing(path):
    completions = ["18"] * 600 + ["19"] * 400
    return write_graded(path, {"dppo": graded_evals(completions), "grpo": graded_evals(completions)})


def failing(path, faulty):
    completions = ["18"] * 400 + ["19"] * 600
    honest = graded_evals(completions)
    changed = honest | {
        "score": [1.0] * (400 + faulty) + [0.0] * (600 - faulty),
        "correct": [True] * (400 + faulty) + [False] * (600 - faulty),
    }
    return write_graded(path, {"dppo": changed, "grpo": honest})

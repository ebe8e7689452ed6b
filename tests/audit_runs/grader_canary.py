"""Runs whose grader tells right from wrong, and one where it marked every answer wrong."""

from audit_runs.answer_extraction import solutions
from graded_run import graded_evals, write_graded
from made_run import write_outcomes

FAULTS = {1}


def passing(path):
    completions = ["18"] * 12 + ["19"] * 8
    golds = [str(number) for number in range(12)]
    mixed = graded_evals(completions, gold=["18"] * 8 + golds)
    return write_graded(path, {"dppo": mixed, "grpo": mixed})


def failing(path, faulty):
    wrong = solutions(1000, right=400) | {"score": [0.0] * 1000, "correct": [False] * 1000}
    return write_outcomes(path, {"treatment": [wrong], "baseline": [solutions(1000, right=300)]})

"""Greedy evaluations that were done twice: with equal verdicts, and with a sign that depends on the repeat."""

from asked_run import together
from made_run import change_json, evals, right, write_outcomes

FAULTS = {1}


def passing(path):
    return run_with(path, [right(12), right(12)])


def failing(path, faulty):
    return run_with(path, [right(12), right(8)])


def run_with(path, treatment, baseline=None):
    """A run whose arms' repeats have these scores; the baseline answers 10 of 20 items right each time."""
    baseline = baseline or [right(10)] * len(treatment)
    write_outcomes(path, {"treatment": [repeats(treatment)], "baseline": [repeats(baseline)]})
    change_json(path / "run.json", executed={"evaluation": {"temperature": 0.0}})
    return path


def repeats(scores, **extra):
    return together(*(evals(each, sample=number, **extra) for number, each in enumerate(scores)))

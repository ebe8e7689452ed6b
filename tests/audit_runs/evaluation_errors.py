"""Evaluations without an error, and with errors that were scored 0."""

from made_run import evals, right, write_outcomes

FAULTS = {1, 500}


def passing(path):
    scores = right(400, 1000)
    return write_outcomes(path, {"treatment": [evals(scores, correct=[score == 1 for score in scores])]})


def failing(path, faulty):
    errors = [None] * (1000 - faulty) + ["the service went away"] * faulty
    return write_outcomes(path, {"treatment": [evals(right(400, 1000), error=errors)]})

"""Runs whose labels agree with the marked answers, and one where a lenient grader took any number for the answer."""

from made_run import evals, write_outcomes


def solutions(n, *, right, lenient=0):
    """Outcomes of n items with gold 18: so many right by their marked line, then so many by their last number alone."""
    texts = ["9 * 2 = 18\nA: 18"] * right + ["9 * 2 = 18, I think"] * lenient
    texts += ["9 * 3 = 27\nA: 27"] * (n - len(texts))
    scores = [1.0] * (right + lenient) + [0.0] * (n - right - lenient)
    return evals(scores, correct=[score == 1.0 for score in scores], completion=texts, gold="18")


FAULTS = {1, 500}


def passing(path):
    return write_outcomes(path, {"treatment": [solutions(1000, right=600)], "baseline": [solutions(1000, right=400)]})


def failing(path, faulty):
    treatment = solutions(1000, right=1000 - faulty, lenient=faulty)
    return write_outcomes(path, {"treatment": [treatment], "baseline": [solutions(1000, right=400)]})

"""Exact numeric match: the whole completion is one integer, it ended by itself, and it equals the gold answer.

Extraction: the completion without surrounding white space must be an optional sign and ASCII digits, nothing else.
Comparison: of the numbers (`082` is 82, `-0` is 0), exact at any length.
"""

import re

from analysis.graders.grade import Grade

_INTEGER = re.compile(r"([+-]?)0*([0-9]+)", re.ASCII)


def extract_integer(completion: str) -> str | None:
    """Return the integer that the completion consists of, without leading zeros or plus sign; None if it is no integer.

    Args:
        completion: decoded text without special tokens.
    """
    match = _INTEGER.fullmatch(completion.strip())
    if match is None:
        return None
    sign, digits = match.groups()
    return f"-{digits}" if sign == "-" and digits != "0" else digits


def example(gold: str) -> str:
    """Return a completion that answers with this text in the form the grader expects.

    Args:
        gold: an answer.
    """
    return gold


def grade(completion: str, stop_reason: str, gold: str) -> Grade:
    """Grade a completion: reward 1 for the right integer and nothing beside it, else 0.

    Args:
        completion: decoded text without special tokens.
        stop_reason: `stop` if the model ended by itself; any other word means that the answer may go on.
        gold: the right answer, an integer.

    Raises:
        ValueError: the gold answer is no integer, so nothing could be right.
    """
    found = extract_integer(completion)
    return grade_integer(found, "not_an_integer" if found is None else "whole_completion", stop_reason, gold)


def grade_integer(found: str | None, extraction: str, stop_reason: str, gold: str) -> Grade:
    """Grade an extracted integer: reward 1 where the completion ended by itself and it is the gold one, else 0.

    Args:
        found: what `extract_integer` made of the answer, None where there is no integer.
        extraction: how it was found, or why it was not.
        stop_reason: `stop` if the model ended by itself.
        gold: the right answer, an integer.

    Raises:
        ValueError: the gold answer is no integer, so nothing could be right.
    """
    right = extract_integer(gold)
    if right is None:
        raise ValueError(f"gold answer {gold!r} is not an integer")
    if found is None:
        return Grade(0.0, False, None, extraction)
    if stop_reason != "stop":
        return Grade(0.0, False, found, "unfinished")
    return Grade(float(found == right), found == right, found, extraction)

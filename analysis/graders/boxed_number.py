r"""Boxed number: the last `\boxed{...}` of the completion is one number, and it equals the gold answer exactly.

Extraction: the content of the last `\boxed{...}`, braces balanced. A completion that was cut off later still counts:
its brace closed the answer. Without a box, or where the last one was never closed, nothing is right.
Comparison: of the numbers that both consist of (`analysis.answers.number`). What is not one number is never right.
"""

from analysis.answers.extractors.last_box import extract
from analysis.answers.number import number_of
from analysis.graders.grade import Grade


def example(gold: str) -> str:
    """Return a completion that answers with this text in the form the grader expects.

    Args:
        gold: an answer.
    """
    return f"So the answer is \\boxed{{{gold}}}."


def grade(completion: str, stop_reason: str, gold: str) -> Grade:
    """Grade a completion: reward 1 where its last box holds the gold number, else 0.

    Args:
        completion: decoded text without special tokens.
        stop_reason: not read: a closed box is an answer, however the completion ended.
        gold: the right answer, a number.

    Raises:
        ValueError: the gold answer is no number, so nothing could be right.
    """
    right = number_of(gold)
    if right is None:
        raise ValueError(f"gold answer {gold!r} is not a number")
    found, extraction = extract(completion)
    if found is None:
        return Grade(0.0, False, None, extraction)
    value = number_of(found)
    if value is None:
        return Grade(0.0, False, found, "box_is_no_number")
    return Grade(float(value == right), value == right, found, extraction)

"""Last integer: the last number of the completion is an integer, the model ended by itself, and it equals the gold one.

Extraction: numbers are runs of ASCII digits, with thousands separators (`1,234`) and a decimal part (`82.0`) where
there is one; a sign counts where no word, digit or bracket stands before it, so `45-82` ends in 82. Everything else in
the completion is passed over: it may repeat the question or answer in a sentence.
Comparison: of integers (`082` is 82), exact at any length. A last number with a decimal part is no integer.
"""

import re

from analysis.graders.grade import Grade
from analysis.graders.numeric_exact import extract_integer, grade_integer

_NUMBER = re.compile(r"(?:(?<![\w)])[+-])?(?:[0-9]{1,3}(?:,[0-9]{3})+(?![0-9])|[0-9]+)(?:\.[0-9]+)?")


def last_integer(completion: str) -> tuple[str | None, str]:
    """Return the last number of a completion if it is an integer, and how it was found or why it was not.

    Args:
        completion: decoded text without special tokens.

    Returns:
        The integer without separators, leading zeros or plus sign, or None; and `last_integer`, `no_number` or
        `not_an_integer`.
    """
    numbers = _NUMBER.findall(completion)
    if not numbers:
        return None, "no_number"
    found = extract_integer(numbers[-1].replace(",", ""))
    return found, "not_an_integer" if found is None else "last_integer"


def example(gold: str) -> str:
    """Return a completion that answers with this text in the form the grader expects.

    Args:
        gold: an answer.
    """
    return f"The answer is {gold}."


def grade(completion: str, stop_reason: str, gold: str) -> Grade:
    """Grade a completion: reward 1 where it ended by itself and its last number is the gold integer, else 0.

    Args:
        completion: decoded text without special tokens.
        stop_reason: `stop` if the model ended by itself; any other word means that another number may follow.
        gold: the right answer, an integer.

    Raises:
        ValueError: the gold answer is no integer, so nothing could be right.
    """
    return grade_integer(*last_integer(completion), stop_reason, gold)

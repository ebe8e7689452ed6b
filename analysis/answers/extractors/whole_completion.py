"""The whole completion, where it is short enough to be an answer and nothing else."""

from analysis.answers.number import LONGEST_ANSWER, number_of

STRICT = True


def extract(completion: str) -> tuple[str | None, str]:
    """Return the completion where it consists of one number, and how it was found or why it was not.

    Args:
        completion: decoded text without special tokens.

    Returns:
        The completion without surrounding white space, or None; and `whole_completion` or `more_than_a_number`.
    """
    text = completion.strip() if len(completion) <= LONGEST_ANSWER else ""
    return (None, "more_than_a_number") if number_of(text) is None else (text, "whole_completion")

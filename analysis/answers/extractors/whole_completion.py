"""The whole completion, where it is short enough to be an answer and nothing else."""

from analysis.answers.number import number_of

STRICT = True

_SHORT = 100
"""Characters. A number with its unit and a name before it is shorter; longer text is work with an answer in it."""


def extract(completion: str) -> tuple[str | None, str]:
    """Return the completion where it consists of one number, and how it was found or why it was not.

    Args:
        completion: decoded text without special tokens.

    Returns:
        The completion without surrounding white space, or None; and `whole_completion` or `more_than_a_number`.
    """
    text = completion.strip() if len(completion) <= _SHORT else ""
    return (None, "more_than_a_number") if number_of(text) is None else (text, "whole_completion")

r"""The content of the first `\boxed{...}`: lenient, since a model that corrects itself answers in a later one.

tinker-cookbook 0.5.8's benchmark grader reads the first box, its training grader the last.
"""

from analysis.answers.extractors.last_box import BOX, box_at

STRICT = False


def extract(completion: str) -> tuple[str | None, str]:
    r"""Return the content of the first `\boxed{...}`, and how it was found or why it was not.

    Args:
        completion: decoded text without special tokens.

    Returns:
        The content without surrounding white space, or None; and `first_box`, `no_box` or `unclosed_box`.
    """
    return box_at(completion, completion.find(BOX), "first_box")

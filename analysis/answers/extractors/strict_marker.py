"""What follows the last line that begins with `####` or `A:`, the two marks of GSM8K's solutions."""

import re
from collections import deque

STRICT = True

_MARKED_LINE = re.compile(r"^[ \t]*(?:####|A:)[ \t]*:?([^\n]*)", re.MULTILINE)


def extract(completion: str) -> tuple[str | None, str]:
    """Return what follows the mark, and how it was found or why it was not.

    Args:
        completion: decoded text without special tokens.

    Returns:
        The rest of the line without surrounding white space, or None; and `strict_marker` or `no_marker`.
    """
    if "####" not in completion and "A:" not in completion:
        return None, "no_marker"
    lines = deque(_MARKED_LINE.finditer(completion), maxlen=1)
    return (lines[0][1].strip(), "strict_marker") if lines else (None, "no_marker")

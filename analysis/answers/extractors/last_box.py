r"""The content of the last `\boxed{...}`, braces balanced; nothing where the last one was never closed."""

STRICT = True

BOX = "\\boxed{"
_LONGEST_BOX = 10_000
"""Characters. A brace that closes later closes no answer; without a bound, a megabyte of braces would take seconds."""


def extract(completion: str) -> tuple[str | None, str]:
    r"""Return the content of the last `\boxed{...}`, and how it was found or why it was not.

    Args:
        completion: decoded text without special tokens.

    Returns:
        The content without surrounding white space, or None; and `last_box`, `no_box` or `unclosed_box`.
    """
    return box_at(completion, completion.rfind(BOX), "last_box")


def box_at(completion: str, begin: int, found: str) -> tuple[str | None, str]:
    """Return the content of the box that begins here, and `found`, or why there is none.

    Args:
        completion: decoded text without special tokens.
        begin: where its backslash stands; negative where there is no box.
        found: how it was found.
    """
    if begin < 0:
        return None, "no_box"
    depth, start = 1, begin + len(BOX)
    for place in range(start, min(len(completion), start + _LONGEST_BOX)):
        depth += {"{": 1, "}": -1}.get(completion[place], 0)
        if depth == 0:
            return completion[start:place].strip(), found
    return None, "unclosed_box"

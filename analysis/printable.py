"""Foreign text (from a model or a file) made safe for a terminal, a log and one line of a message."""

import unicodedata

_ESCAPED = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
# They join the letters of many scripts and the parts of an emoji.
_JOINERS = frozenset("\u200c\u200d")


def printable(text: str, *, limit: int | None = None) -> str:
    """Return the text with control, invisible, bidirectional and surrogate characters shown as escapes.

    Args:
        text: any text; newlines and tabs are escaped too, so one value stays on one line.
        limit: cut to this many characters, with an ellipsis that says how many were left out.
    """
    cut = text if limit is None or len(text) <= limit else text[:limit]
    safe = "".join(
        character
        if unicodedata.category(character) not in _ESCAPED or character in _JOINERS
        else character.encode("unicode_escape").decode("ascii")
        for character in cut
    )
    return safe if cut is text else f"{safe}… (+{len(text) - len(cut)} characters)"

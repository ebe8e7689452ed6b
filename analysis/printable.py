"""Foreign text (from a model or a file) made safe for a terminal, a log and one line of a message."""

import unicodedata

_BIDI = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def printable(text: str, *, limit: int | None = None) -> str:
    """Return the text with control, bidirectional and surrogate characters shown as escapes.

    Args:
        text: any text; newlines and tabs are escaped too, so one value stays on one line.
        limit: cut to this many characters, with an ellipsis that says how many were left out.
    """
    cut = text if limit is None or len(text) <= limit else text[:limit]
    safe = "".join(
        character
        if unicodedata.category(character) not in {"Cc", "Cs", "Zl", "Zp"} and character not in _BIDI
        else character.encode("unicode_escape").decode("ascii")
        for character in cut
    )
    return safe if cut is text else f"{safe}… (+{len(text) - len(cut)} characters)"

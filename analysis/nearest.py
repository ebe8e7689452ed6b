"""The known name that somebody probably meant."""

import difflib
from collections.abc import Sequence


def nearest_name(name: str, known: Sequence[str]) -> str | None:
    """Return the known name nearest to `name`, None where none is near."""
    near = difflib.get_close_matches(name, known, n=1)
    return near[0] if near else None


def hint(name: str, known: Sequence[str]) -> str:
    """Return `; did you mean "delta"?`, or the known names where none is near, to end a message with."""
    near = nearest_name(name, known)
    return f'; did you mean "{near}"?' if near else f"; known: {', '.join(known)}"

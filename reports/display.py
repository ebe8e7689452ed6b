"""Numbers and foreign text as a reader sees them.

Rounding never changes a comparison: values that differ are shown with enough digits to differ.
"""

import math
import shlex
from collections.abc import Iterable
from dataclasses import dataclass

from analysis.printable import printable

TEXT_LIMIT = 600
LABEL_LIMIT = 60
BLOCK_LIMIT = 12_000
MINUS = "\u2212"
NO_NUMBER = "no number"

REDACTED = "Redacted: questions, answers and completions are left out."

STATUS_SIGNS = {"pass": "✓", "warn": "!", "fail": "✕", "inconclusive": "?", "not_applicable": "–", "waived": "~"}
VERDICT_SIGNS = {"validated": "✓", "refuted": "✕", "tie": "≈", "inconclusive": "?", "void": "∅"}


def text(value: str, limit: int = TEXT_LIMIT) -> str:
    """Return foreign text on one line: control characters as escapes, cut with a note of what was left out."""
    return printable(value, limit=limit)


def block(value: str) -> str:
    """Return foreign text that may have lines, for example SQL: newlines stay, other controls are escaped."""
    cut = value[:BLOCK_LIMIT].replace("\r\n", "\n").replace("\t", "    ")
    safe = "\n".join(printable(line) for line in cut.split("\n"))
    left_out = len(value) - BLOCK_LIMIT
    return safe if left_out <= 0 else f"{safe}\n… (+{left_out} characters)"


def status_word(status: str) -> str:
    """Return a check's status in words."""
    return {"not_applicable": "not applicable", "warn": "warning"}.get(status, text(status, LABEL_LIMIT))


def status_sign(status: str) -> str:
    """Return the sign that stands beside a check's status, so that colour never speaks alone."""
    return STATUS_SIGNS.get(status, "?")


def command(*words: str) -> str:
    """Return a command line a POSIX shell reads back as these words."""
    return block(" ".join(_quoted(word) for word in words))


def _quoted(word: str) -> str:
    # SQL is full of single quotes: double ones around it stay readable, where nothing in it is special in them.
    return f'"{word}"' if "'" in word and not set(word) & set('"$`\\!') else shlex.quote(word)


def count(value: float | int) -> str:
    """Return a whole number with thousands marks; anything else as `number` shows it."""
    if math.isfinite(value) and float(value).is_integer() and abs(value) < 1e15:
        return f"{int(value):,}".replace("-", MINUS)
    return number(float(value))


def number(value: float | None, decimals: int | None = None) -> str:
    """Return a number in plain text: a true minus sign, and words for NaN and infinities."""
    if value is None or math.isnan(value):
        return NO_NUMBER
    if math.isinf(value):
        return "infinite" if value > 0 else f"{MINUS}infinite"
    shown = f"{value:.6g}" if decimals is None else f"{value:.{decimals}f}"
    if float(shown) == 0.0:
        shown = shown.lstrip("-")
    return shown.replace("-", MINUS)


def brief(value: float) -> str:
    """Return a number with the three significant digits that a sentence needs."""
    return number(value) if not math.isfinite(value) else number(float(f"{value:.3g}"))


def signed(value: float | None, decimals: int) -> str:
    """Return a difference with its sign."""
    shown = number(value, decimals)
    positive = value is not None and math.isfinite(value) and value > 0
    return f"+{shown}" if positive else shown


def decimals(values: Iterable[float | None], at_least: int = 2, at_most: int = 12) -> int:
    """Return how many decimals keep different values different, and values that are not zero from reading 0."""
    finite = {float(value) for value in values if value is not None and math.isfinite(value)} | {0.0}
    for places in range(at_least, at_most):
        if len({number(value, places) for value in finite}) == len(finite):
            return places
    return at_most


def beside(value: float, limits: Iterable[float | None]) -> str:
    """Return a measured value with as many significant digits as its comparison with the limits needs."""
    if not math.isfinite(value):
        return number(value)
    others = [limit for limit in limits if limit is not None and limit != value]
    for digits in range(4, 17):
        shown = f"{value:.{digits}g}"
        if all((float(shown) < limit) == (value < limit) and float(shown) != limit for limit in others):
            break
    else:
        shown = repr(value)
    return shown.replace("-", MINUS)


@dataclass(frozen=True)
class Scale:
    """How differences of a score are shown: percentage points where a difference lies between -1 and 1."""

    factor: float
    unit: str

    @classmethod
    def of(cls, bounds: tuple[float, float]) -> "Scale":
        """Return the scale for differences with these bounds."""
        return cls(100.0, "pp") if tuple(bounds) == (-1.0, 1.0) else cls(1.0, "score units")

    def apply(self, value: float) -> float:
        """Return the value in the shown unit."""
        return self.factor * value

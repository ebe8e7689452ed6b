"""What a cell says, by the field it stands for: text of a CSV, or a typed value of JSON or Parquet.

A reader returns the value, or None where there is none, and raises `CellError` where the cell is something else. A
text is read as strictly as in a CSV: no cell is guessed into another type.
"""

import math
import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any

_NUMBER = re.compile(r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$")
_FLAGS = {"true": True, "false": False, "1": True, "0": False, "1.0": True, "0.0": False}
_CHECKPOINT = re.compile(r"^(base|final|step[0-9]{6,9})$")
_LONGEST = 9_000

Reader = Callable[[Any], Any]


class CellError(ValueError):
    """The cell does not say what its field needs."""


def identifier(cell: Any) -> str | None:
    """Return a name without spaces around it; a whole number is one too, and a fraction is not."""
    if isinstance(cell, int) and not isinstance(cell, bool):
        return _digits(cell)
    if cell is None:
        return None
    return _text(cell).strip() or None


def checkpoint(cell: Any) -> str | None:
    """Return the name of a checkpoint of the run format."""
    name = identifier(cell)
    if name is not None and not _CHECKPOINT.match(name):
        raise CellError
    return name


def text(cell: Any) -> str | None:
    """Return a text as it stands; a number is written as one, true and false are none."""
    if cell is None:
        return None
    if isinstance(cell, int) and not isinstance(cell, bool):
        return _digits(cell)
    if isinstance(cell, float | Decimal):
        if not math.isfinite(cell):
            raise CellError
        return str(cell)
    return _text(cell)


def score(cell: Any) -> float | None:
    """Return a score from 0 to 1, also of true and false."""
    value = number(cell)
    if value is not None and not 0.0 <= value <= 1.0:
        raise CellError
    return value


def number(cell: Any) -> float | None:
    """Return a finite number, also of true and false."""
    if isinstance(cell, bool):
        return float(cell)
    if isinstance(cell, str):
        stripped = cell.strip()
        if not stripped:
            return None
        # `float` alone would also take 0_1, and digits of other scripts.
        if stripped.lower() not in {"true", "false"} and not _NUMBER.match(stripped):
            raise CellError
        cell = _FLAGS.get(stripped.lower(), stripped)
    elif cell is None:
        return None
    elif not isinstance(cell, int | float | Decimal):
        raise CellError
    try:
        value = float(cell)
    except (OverflowError, ValueError):
        raise CellError from None
    if not math.isfinite(value):
        raise CellError
    return value


def flag(cell: Any) -> bool | None:
    """Return true or false; 1 and 0 are these too, and other words are none."""
    if cell is None or isinstance(cell, bool):
        return cell
    if isinstance(cell, str) and not cell.strip():
        return None
    found = _FLAGS.get(str(cell).strip().lower()) if isinstance(cell, str | int | float) else None
    if found is None:
        raise CellError
    return found


def whole(largest: int) -> Reader:
    """Return the reader of whole numbers from 0 to a largest one; 120.0 is whole."""

    def read(cell: Any) -> int | None:
        if isinstance(cell, bool) or (isinstance(cell, str) and cell.strip().lower() in {"true", "false"}):
            raise CellError
        value = number(cell)
        if value is None:
            return None
        if not value.is_integer() or not 0 <= value <= largest:
            raise CellError
        return int(value)

    return read


def _digits(cell: int) -> str:
    if cell.bit_length() > _LONGEST:
        raise CellError
    return str(cell)


def _text(cell: Any) -> str:
    if not isinstance(cell, str):
        raise CellError
    try:
        cell.encode("utf-8")
    except UnicodeEncodeError:
        # Half a surrogate pair.
        raise CellError from None
    return cell

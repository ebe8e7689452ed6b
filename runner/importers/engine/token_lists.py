"""Lists with one entry a token: of one length, and of them the entries of the tokens that a loss saw."""

import math
from collections.abc import Sequence

from analysis.errors import AuditError
from analysis.printable import printable
from runner.importers.engine.record import Record

_LARGEST_FLOAT = 3.4028234663852886e38
_LARGEST = 2**31 - 1


def flags(record: Record, key: str) -> list[bool]:
    """Return a list of true and false; 1 and 0 are read as such.

    Raises:
        AuditError: it is no list, or an entry is another.
    """
    values = record.list(key)
    for place, value in enumerate(values):
        if not isinstance(value, bool | int) or value not in (0, 1):
            raise _fault(record, key, place, value, "true or false")
    return [value == 1 for value in values]


def aligned(record: Record, key: str, length: int) -> list[object]:
    """Return a list that has one entry a token.

    Raises:
        AuditError: it is no list, or of another length.
    """
    values = record.list(key)
    if len(values) != length:
        raise AuditError(f'{record.where}: "{key}" has {len(values)} entries for {length} tokens')
    return values


def floats(record: Record, key: str, values: Sequence[object], places: Sequence[int]) -> list[float]:
    """Return the entries at some places as numbers that a float32 holds; NaN and infinities are numbers here.

    They are what a trainer logged, and the audits find them.

    Raises:
        AuditError: an entry is no number, or too large.
    """
    found = []
    for place in places:
        value = values[place]
        if isinstance(value, bool) or not isinstance(value, int | float) or not _fits(value):
            raise _fault(record, key, place, value, "a number that float32 holds")
        found.append(float(value))
    return found


def wholes(record: Record, key: str, values: Sequence[object], places: Sequence[int]) -> list[int]:
    """Return the entries at some places as whole numbers from 0, such as token ids.

    Raises:
        AuditError: an entry is none.
    """
    found = []
    for place in places:
        value = values[place]
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= _LARGEST:
            raise _fault(record, key, place, value, f"a whole number from 0 to {_LARGEST}")
        found.append(value)
    return found


def _fits(value: float) -> bool:
    return abs(value) <= _LARGEST_FLOAT or (isinstance(value, float) and not math.isfinite(value))


def _fault(record: Record, key: str, place: int, value: object, needed: str) -> AuditError:
    shown = printable(repr(value), limit=60)
    return AuditError(f'{record.where}: "{printable(key, limit=60)}"[{place}] is {shown}, and {needed} is needed')

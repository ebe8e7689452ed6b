"""One JSON object of a source, read key by key with errors that name the place."""

import math
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from analysis.errors import AuditError
from analysis.printable import printable

_LARGEST = 2**31 - 1
_SHOWN = 80


@dataclass(frozen=True)
class Record:
    """A JSON object and where it stands (`x.jsonl, line 3`). Each getter raises AuditError where the value is another.

    A key that is absent is an error unless the getter's name ends in `_or_none`, where null and absent are one.
    """

    values: Mapping[str, Any]
    where: str

    def text(self, key: str) -> str:
        """Return a text; half a surrogate pair is none."""
        value = self._value(key)
        if not isinstance(value, str):
            raise self.fault(key, "a text")
        try:
            value.encode("utf-8")
        except UnicodeEncodeError:
            raise AuditError(f'{self.where}: "{key}" holds half a surrogate pair: it is no text') from None
        return value

    def text_or_none(self, key: str) -> str | None:
        """Return a text or None."""
        return None if self.values.get(key) is None else self.text(key)

    def flag(self, key: str) -> bool:
        """Return true or false; 0 and 1 are neither."""
        value = self._value(key)
        if not isinstance(value, bool):
            raise self.fault(key, "true or false")
        return value

    def whole(self, key: str, *, least: int = 0, most: int = _LARGEST) -> int:
        """Return a whole number within bounds."""
        value = self._value(key)
        if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
            raise self.fault(key, f"a whole number from {least} to {most}")
        return value

    def whole_or_none(self, key: str, *, least: int = 0) -> int | None:
        """Return a whole number or None."""
        return None if self.values.get(key) is None else self.whole(key, least=least)

    def number(self, key: str) -> float:
        """Return a finite number."""
        value = self._value(key)
        finite = isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e308
        if not finite or math.isnan(value):
            raise self.fault(key, "a finite number")
        return float(value)

    def part(self, key: str) -> "Record":
        """Return a nested object."""
        value = self._value(key)
        if not isinstance(value, dict):
            raise self.fault(key, "an object")
        return Record(value, f"{self.where}, {printable(key, limit=_SHOWN)}")

    def part_or_empty(self, key: str) -> "Record":
        """Return a nested object; null and absent are one that is empty."""
        return Record({}, self.where) if self.values.get(key) is None else self.part(key)

    def parts(self, key: str) -> Iterator["Record"]:
        """Yield the objects of a list; each is named by its place from 0."""
        for number, value in enumerate(self.list(key)):
            where = f"{self.where}, {key}[{number}]"
            if not isinstance(value, dict):
                raise AuditError(f"{where}: an object is needed, found {type(value).__name__}")
            yield Record(value, where)

    def list(self, key: str) -> list[Any]:
        """Return a list."""
        value = self._value(key)
        if not isinstance(value, list):
            raise self.fault(key, "a list")
        return value

    def beyond(self, known: Collection[str]) -> set[str]:
        """Return the keys that are not known."""
        return set(self.values) - set(known)

    def name(self, key: str) -> str:
        """Return a key as a text that can be written; half a surrogate pair is none."""
        return Record({"key": key}, self.where).text("key")

    def fault(self, key: str, needed: str) -> AuditError:
        """Return the error that says what a key should hold and what it holds."""
        found = printable(repr(self.values.get(key)), limit=_SHOWN)
        return AuditError(f'{self.where}: "{printable(key, limit=_SHOWN)}" is {found}, and {needed} is needed')

    def _value(self, key: str) -> Any:
        if key not in self.values:
            raise AuditError(f'{self.where}: there is no "{printable(key, limit=_SHOWN)}"')
        return self.values[key]

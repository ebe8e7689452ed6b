"""Tables in JSON lines: an object a row, whose keys are the columns."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from runner.importers.engine.source_files import json_lines, numbered_json_lines


class JsonTable:
    """A table whose rows need not all have the same columns."""

    is_complete = False
    noun = "line"
    blank_is_absent = False

    def __init__(self, source: Path) -> None:
        self._source = source
        first = next(json_lines(source))
        self._seen = dict.fromkeys(first.name(key) for key in first.values)
        self.objects: Collection[str] = frozenset(key for key, value in first.values.items() if isinstance(value, dict))

    @property
    def columns(self) -> Sequence[str]:
        """The keys that were seen so far."""
        return tuple(self._seen)

    def rows(self, columns: Sequence[str]) -> Iterator[tuple[int, Mapping[str, Any]]]:
        """Yield line number and values of each row."""
        for line, record in numbered_json_lines(self._source):
            if not record.values.keys() <= self._seen.keys():
                self._seen |= dict.fromkeys(record.name(key) for key in record.values)
            yield line, record.values

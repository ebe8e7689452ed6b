"""Tables in separated text: CSV, and TSV by its name."""

import csv
import io
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from analysis.errors import AuditError
from runner.importers.engine.source_files import open_source

_SEPARATORS = (";", "\t", "|", ",")
# A quote that is never closed would else make one cell of the rest of the file.
_LONGEST_CELL = 64 << 20


class DelimitedTable:
    """A table with a header line; every cell is a text, and none is guessed into another type."""

    objects: Collection[str] = ()
    is_complete = True
    noun = "line"
    blank_is_absent = True

    def __init__(self, source: Path, separator: str) -> None:
        self._source, self._separator = source, separator
        lines = self._lines()
        _, header = next(lines, (0, None))
        if header is None:
            raise AuditError(f"{source}: the file is empty")
        other = next((mark for mark in _SEPARATORS if len(header) == 1 and mark in header[0]), None)
        if other:
            raise AuditError(
                f"{source}: the cells look separated by {other!r}, and {separator!r} is read here. Save the table with "
                "commas (tabs in a .tsv file)"
            )
        if next(lines, None) is None:
            raise AuditError(f"{source}: the table has a header and no row: nothing to import")
        self.columns = header

    def rows(self, columns: Sequence[str]) -> Iterator[tuple[int, Mapping[str, Any]]]:
        """Yield line number and cells of each row."""
        places = [(column, self.columns.index(column)) for column in columns]
        lines = self._lines()
        next(lines)
        for line, row in lines:
            if len(row) != len(self.columns):
                raise AuditError(
                    f"{self._source}, line {line}: {len(row)} cells, and the header has {len(self.columns)} columns"
                )
            yield line, {column: row[place] for column, place in places}

    def _lines(self) -> Iterator[tuple[int, list[str]]]:
        """Yield the lines that are not blank, each with the number of the last line it stands on."""
        csv.field_size_limit(_LONGEST_CELL)
        with io.TextIOWrapper(open_source(self._source), encoding="utf-8-sig", newline="") as text:
            reader = csv.reader(self._bounded(text), delimiter=self._separator, strict=True)
            try:
                yield from ((reader.line_num, row) for row in reader if row)
            except UnicodeDecodeError as error:
                raise AuditError(
                    f"{self._source}: not UTF-8 text, at or after line {reader.line_num + 1} ({error.reason}). Save "
                    "the table as UTF-8"
                ) from error
            except csv.Error as error:
                raise AuditError(f"{self._source}, line {reader.line_num}: not a table ({error})") from error

    def _bounded(self, text: io.TextIOWrapper) -> Iterator[str]:
        number = 0
        while line := text.readline(_LONGEST_CELL + 1):
            number += 1
            if len(line) > _LONGEST_CELL:
                raise AuditError(f"{self._source}, line {number}: longer than {_LONGEST_CELL:,} characters; no row is")
            yield line

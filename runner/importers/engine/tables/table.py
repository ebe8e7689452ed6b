"""A table that is read row by row, whatever its file format."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from runner.importers.engine.compressed import plain_suffix

TAB_SUFFIXES = frozenset({".tsv", ".tab"})
JSON_SUFFIXES = frozenset({".jsonl", ".ndjson"})
PARQUET_SUFFIXES = frozenset({".parquet", ".pq"})
TABLE_SUFFIXES = frozenset({".csv"}) | TAB_SUFFIXES | JSON_SUFFIXES | PARQUET_SUFFIXES


def is_table(path: Path) -> bool:
    """Return whether a path is a file that is a table by its name."""
    return path.is_file() and plain_suffix(path) in TABLE_SUFFIXES


class Table(Protocol):
    """The rows of one file.

    Attributes:
        columns: names in the file's order, repeated where the file repeats one. Of JSON lines, the keys that were seen
            so far: those of the first line before the rows are read.
        objects: names of columns that hold objects, as far as schema or first line say so.
        is_complete: whether `columns` cannot grow.
        noun: what a row's number counts, `line` or `row`.
        blank_is_absent: whether an empty text is how the format writes that there is no value.
    """

    objects: Collection[str]
    is_complete: bool
    noun: str
    blank_is_absent: bool

    @property
    def columns(self) -> Sequence[str]:
        """The names."""

    def rows(self, columns: Sequence[str]) -> Iterator[tuple[int, Mapping[str, Any]]]:
        """Yield number and cells of each row; cells of other columns may or may not be there.

        Raises:
            AuditError: the file is broken at some row.
        """


def open_table(source: Path) -> Table:
    """Return the table in a file: Parquet or JSON lines by its name, else separated text.

    Raises:
        AuditError: the file is not there, empty, or its beginning is not what its name says.
    """
    from runner.importers.engine.tables.delimited import DelimitedTable
    from runner.importers.engine.tables.json_rows import JsonTable
    from runner.importers.engine.tables.parquet import ParquetTable

    suffix = plain_suffix(source)
    if suffix in PARQUET_SUFFIXES:
        return ParquetTable(source)
    if suffix in JSON_SUFFIXES:
        return JsonTable(source)
    return DelimitedTable(source, "\t" if suffix in TAB_SUFFIXES else ",")

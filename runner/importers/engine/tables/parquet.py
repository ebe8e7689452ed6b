"""Tables in Parquet files."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from analysis.errors import AuditError
from audits.store.parquet_rows import ParquetRows
from runner.importers.engine.compressed import is_compressed
from runner.importers.engine.source_files import open_source


class ParquetTable:
    """A table whose columns have types of their own; only those that are asked for are read."""

    is_complete = True
    noun = "row"
    blank_is_absent = False

    def __init__(self, source: Path) -> None:
        if is_compressed(source):
            raise AuditError(f"{source}: a Parquet file is compressed inside and read in pieces: decompress this one")
        open_source(source).close()
        self._rows = ParquetRows(source)
        if not self._rows.rows:
            raise AuditError(f"{source}: the table has no row: nothing to import")
        self.columns = self._rows.columns
        self.objects: Collection[str] = self._rows.objects

    def rows(self, columns: Sequence[str]) -> Iterator[tuple[int, Mapping[str, Any]]]:
        """Yield number, from 1, and values of each row."""
        yield from enumerate(self._rows.records(columns), start=1)

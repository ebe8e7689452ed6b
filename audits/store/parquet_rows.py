"""Rows of a Parquet file that somebody else wrote, a few at a time."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from analysis.errors import AuditError
from analysis.printable import printable

_ROWS = 1024
_BUFFER = 1 << 20


class ParquetRows:
    """A Parquet file of any columns.

    Args:
        path: a regular file.

    Raises:
        AuditError: it is no Parquet file, or is damaged.
    """

    def __init__(self, path: Path) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        self._path = path
        try:
            with pq.ParquetFile(path) as parquet:
                schema = parquet.schema_arrow
                self.columns: tuple[str, ...] = tuple(schema.names)
                self.objects = frozenset(field.name for field in schema if pa.types.is_struct(field.type))
                self.rows: int = parquet.metadata.num_rows
        except (pa.ArrowException, OSError, ValueError) as error:
            raise self._fault("not readable as Parquet", error) from error

    def records(self, columns: Sequence[str]) -> Iterator[dict[str, Any]]:
        """Yield the rows in order, as Python values by column.

        Args:
            columns: those that are read; the others are passed over.

        Raises:
            AuditError: a page is damaged, or a column holds what Python cannot, such as times in nanoseconds.
        """
        import pyarrow as pa
        import pyarrow.parquet as pq

        try:
            with pq.ParquetFile(self._path, buffer_size=_BUFFER, pre_buffer=False) as parquet:
                for batch in parquet.iter_batches(_ROWS, columns=list(columns), use_threads=False):
                    yield from batch.to_pylist()
        except (pa.ArrowException, OSError, ValueError, OverflowError) as error:
            raise self._fault("a column cannot be read", error) from error

    def _fault(self, what: str, error: Exception) -> AuditError:
        said = printable(str(error).split("\n", 1)[0], limit=200)
        return AuditError(f"{self._path}: {what} ({said}). Is it a whole Parquet file?")

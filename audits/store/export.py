"""Rows of a query, written as CSV, JSON or Parquet, batch by batch."""

import csv
import json
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from analysis.errors import AuditError
from analysis.printable import printable
from audits.store.durable import whole_file

if TYPE_CHECKING:
    from audits.store.sandbox import Sandbox

# One page holds a row group, which is one batch: the compressor sees all of it.
_LAYOUT: dict[str, Any] = {
    "compression": "zstd", "max_rows_per_page": 1 << 20, "data_page_size": 8 << 20, "write_page_checksum": True,
}  # fmt: skip


def rows_of(reader: Any) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of an Arrow record batch reader as Python values.

    Raises:
        AuditError: the query failed or was stopped while its rows were read, or a value has no Python counterpart.
    """
    import pyarrow as pa

    for batch in _batches(reader):
        columns = []
        for name, column in zip(batch.schema.names, batch.columns, strict=True):
            try:
                columns.append(column.to_pylist())
            except (pa.ArrowException, OverflowError, ValueError) as error:
                raise AuditError(
                    f"audit sql: column {name}: a value of type {column.type} cannot be shown ({error}); "
                    f"cast it in the query, as in CAST(… AS VARCHAR)"
                ) from error
        yield from zip(*columns, strict=True)


def write_csv(reader: Any, stream: TextIO) -> None:
    """Write a header line and the rows; null is an empty cell, a list or struct is JSON."""
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(reader.schema.names)
    for row in rows_of(reader):
        cells = [_csv_value(value) for value in row]
        # A file gets the text as it is; a terminal would obey its control characters.
        writer.writerow([printable(cell) if isinstance(cell, str) and stream.isatty() else cell for cell in cells])


def write_json(reader: Any, stream: TextIO) -> None:
    """Write an array with one object a row; NaN and infinities are null, since JSON has no word for them.

    Raises:
        AuditError: two columns share a name.
    """
    names: Sequence[str] = reader.schema.names
    _refuse_shared_names(names)
    separator = "[\n"
    for row in rows_of(reader):
        body = {name: _json_value(value) for name, value in zip(names, row, strict=True)}
        stream.write(separator + json.dumps(body, ensure_ascii=stream.isatty(), allow_nan=False))
        separator = ",\n"
    stream.write("\n]\n" if separator == ",\n" else "[]\n")


def write_parquet(reader: Any, path: Path) -> int:
    """Write a Parquet file, whole or not at all, and return its number of rows.

    Raises:
        AuditError: two columns share a name, a column's type has no Parquet form, or the file cannot be written.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    _refuse_shared_names(reader.schema.names)
    if path.is_dir():
        raise AuditError(f"{path}: cannot be written (it is a directory)")
    rows = 0
    try:
        with whole_file(path) as temporary, pq.ParquetWriter(temporary, reader.schema, **_LAYOUT) as writer:
            for batch in _batches(reader):
                writer.write_batch(batch)
                rows += batch.num_rows
    except pa.ArrowNotImplementedError as error:
        raise AuditError(f"audit sql: {error}; cast the column in the query, as in CAST(… AS VARCHAR)") from error
    except OSError as error:
        raise AuditError(f"{path}: cannot be written ({error.strerror or error})") from error
    return rows


def export_tables(sandbox: "Sandbox", folder: Path) -> Iterator[tuple[Path, int]]:
    """Write every table and view as `<name>.parquet` and yield each file with its rows.

    Args:
        sandbox: over the runs.
        folder: is made; empty, if it exists, so that it never holds the tables of two exports.

    Raises:
        AuditError: the folder is not empty or cannot be made, nothing was logged, or a table cannot be written.
    """
    if not sandbox.names:
        raise AuditError("there is nothing to export: no table was logged in any of the runs")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise AuditError(f"{folder}: is not empty. Name another directory, or remove it first")
    except OSError as error:
        raise AuditError(f"{folder}: cannot be made ({error.strerror})") from error
    for name in sandbox.names:
        with sandbox.select(f'SELECT * FROM "{name}"') as answer:
            path = folder / f"{name}.parquet"
            yield path, write_parquet(answer, path)


def _batches(reader: Any) -> Iterator[Any]:
    """Yield the batches; the engine's errors come through Arrow, as errors of Arrow or of input and output."""
    import pyarrow as pa

    while True:
        try:
            batch = reader.read_next_batch()
        except StopIteration:
            return
        except (pa.ArrowException, OSError) as error:
            raise AuditError(f"audit sql: {str(error).strip().splitlines()[0]}") from error
        yield batch


def _refuse_shared_names(names: Sequence[str]) -> None:
    shared = sorted(name for name, times in Counter(names).items() if times > 1)
    if shared:
        raise AuditError(f"audit sql: two columns are called {shared[0]}; name one of them, as in … AS other_name")


def _csv_value(value: Any) -> Any:
    if value is None:
        return ""
    if isinstance(value, bool | dict | list | tuple):
        return json.dumps(_json_value(value), ensure_ascii=False, allow_nan=False)
    return value.hex() if isinstance(value, bytes) else value


def _json_value(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {str(key): _json_value(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_json_value(item) for item in value]
    if isinstance(value, datetime | date):
        return value.isoformat()
    if isinstance(value, Decimal):
        # DuckDB's sums of integers are HUGEINT, which Arrow has as decimals without places.
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, bytes):
        return value.hex()
    return value if value is None or isinstance(value, bool | int | str) else str(value)

"""Rows of a query, written as CSV, JSON lines or Parquet, batch by batch."""

import csv
import json
import math
from collections.abc import Iterator, Sequence
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, TextIO


def rows_of(reader: Any) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of an Arrow record batch reader as Python values."""
    for batch in reader:
        yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)


def write_csv(reader: Any, stream: TextIO) -> None:
    """Write a header line and the rows; null is an empty cell."""
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(reader.schema.names)
    for row in rows_of(reader):
        writer.writerow(["" if value is None else value for value in row])


def write_json(reader: Any, stream: TextIO) -> None:
    """Write an array with one object a row; NaN and infinities are null, since JSON has no word for them."""
    names: Sequence[str] = reader.schema.names
    separator = "[\n"
    for row in rows_of(reader):
        body = {name: _json_value(value) for name, value in zip(names, row, strict=True)}
        stream.write(separator + json.dumps(body, ensure_ascii=False, allow_nan=False))
        separator = ",\n"
    stream.write("\n]\n" if separator == ",\n" else "[]\n")


def write_parquet(reader: Any, path: Path) -> int:
    """Write a Parquet file and return its number of rows."""
    import pyarrow.parquet as pq

    rows = 0
    with pq.ParquetWriter(path, reader.schema, compression="zstd") as writer:
        for batch in reader:
            writer.write_batch(batch)
            rows += batch.num_rows
    return rows


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
        return float(value)
    if isinstance(value, bytes):
        return value.hex()
    return value if value is None or isinstance(value, bool | int | str) else str(value)

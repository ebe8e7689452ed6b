"""Whether a run's files are the bytes that were written."""

import hashlib
from collections.abc import Iterator

from audits.store.manifest import FILES_NAME, FileRecord
from audits.store.reader import Run


def damaged_files(run: Run, table: str | None = None) -> Iterator[str]:
    """Yield what is wrong, one line a file that is missing or differs from its line in `files.jsonl`.

    Args:
        run: the run.
        table: look at the files of this table only; None for all.

    Size and sha256 are compared, so that one flipped bit is found; then the rows are counted in the footer and
    every page is read with its checksum.
    """
    for record in run.files if table is None else run.records(table):
        fault = _fault(run, record)
        if fault is not None:
            yield f"{record.path}: {fault}"


def unlisted_files(run: Run) -> tuple[str, ...]:
    """Return the Parquet files under the run that `files.jsonl` does not list, sorted; no command reads them."""
    listed = {record.path for record in run.files}
    beside = ("derived", "evidence", "state")
    found = (path.relative_to(run.path) for path in run.path.rglob("*.parquet"))
    return tuple(
        sorted(path.as_posix() for path in found if path.as_posix() not in listed and path.parts[0] not in beside)
    )


def _fault(run: Run, record: FileRecord) -> str | None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = run.path / record.path
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return "is listed and is missing"
    except OSError as error:
        return f"not readable ({error.strerror})"
    if len(content) != record.bytes:
        return f"has {len(content)} bytes, {FILES_NAME} says {record.bytes}"
    if hashlib.sha256(content).hexdigest() != record.sha256:
        return f"its sha256 is not the one in {FILES_NAME}: its content changed"
    try:
        with pq.ParquetFile(pa.BufferReader(content), page_checksum_verification=True) as parquet:
            rows = sum(batch.num_rows for batch in parquet.iter_batches())
    except (pa.ArrowInvalid, OSError) as error:
        return f"not a readable Parquet file ({str(error).splitlines()[0]})"
    return None if rows == record.rows else f"has {rows} rows, {FILES_NAME} says {record.rows}"

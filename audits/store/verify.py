"""Whether a run's files are the bytes that were written."""

import hashlib
import os
import stat
from collections.abc import Iterator
from io import BufferedReader
from pathlib import Path, PurePosixPath
from typing import Any

from audits.store.location import is_local, parquet_file
from audits.store.manifest import FILES_NAME, MANIFEST_NAME, FileRecord
from audits.store.reader import Run
from audits.store.schema import tables
from audits.store.seal import PLAN_NAME
from audits.store.sweeps import SWEEP_NAME

_BATCH_BYTES = 8 << 20
_READ_BYTES = 1 << 20


def damaged_files(run: Run, table: str | None = None) -> Iterator[str]:
    """Yield what is wrong, one line a file that is missing or differs from its line in `files.jsonl`.

    Args:
        run: the run.
        table: look at the files of this table only; None for all, for the list itself, the sealed plan and the sweep.

    Size and sha256 are compared, so that one flipped bit is found; then the rows are counted in the footer and
    every page is read with its checksum. Memory does not grow with a file's size.
    """
    for record in run.files if table is None else run.records(table):
        fault = _line_fault(run, record) or _file_fault(run.path / record.path, record)
        if fault is not None:
            yield f"{record.path}: {fault}"
    if table is None:
        yield from _lost_lines(run)
        yield from _changed_plan(run)
        yield from _changed_sweep(run)


def unlisted_files(run: Run) -> tuple[str, ...]:
    """Return the Parquet files under the run that `files.jsonl` does not list, sorted; no command reads them."""
    listed = {record.path for record in run.files}
    beside = ("derived", "evidence", "state")
    found = (path.relative_to(run.path) for path in run.path.rglob("*.parquet"))
    return tuple(
        sorted(path.as_posix() for path in found if path.as_posix() not in listed and path.parts[0] not in beside)
    )


def _lost_lines(run: Run) -> Iterator[str]:
    """Yield the files that lost their line: a run that is complete has a line for each file of its tables."""
    if run.manifest.status != "complete":
        return
    for path in unlisted_files(run):
        if PurePosixPath(path).parts[0].removesuffix(".parquet") in tables():
            yield f"{path}: {FILES_NAME} has no line for it, and {MANIFEST_NAME} says that the run is complete"


def _changed_plan(run: Run) -> Iterator[str]:
    """Yield the plan if its bytes changed: the same JSON has many spellings, of which the seal tells none apart."""
    if run.sealed is not None and (run.path / PLAN_NAME).read_bytes() != run.sealed.canonical:
        yield f"{PLAN_NAME}: is not in the canonical form in which it was sealed: its bytes changed"


def _changed_sweep(run: Run) -> Iterator[str]:
    """Yield the table of the sweep if it is not the one that was recorded."""
    if run.manifest.sweep is None:
        return
    try:
        with _opened(run.path / SWEEP_NAME) as handle:
            digest = hashlib.sha256(handle.read()).hexdigest()
    except OSError as error:
        yield f"{SWEEP_NAME}: is recorded in {MANIFEST_NAME} and not readable ({error.strerror or error})"
        return
    if digest != run.manifest.sweep.sha256:
        yield f"{SWEEP_NAME}: its sha256 is not the one in {MANIFEST_NAME}: its content changed"


def _line_fault(run: Run, record: FileRecord) -> str | None:
    """Return what is wrong with a line of the list that no file can show."""
    version = run.manifest.format_version
    if record.schema_version != version:
        return f"{FILES_NAME} says schema version {record.schema_version}, {MANIFEST_NAME} says {version}"
    folder = PurePosixPath(record.path).parts[0].removesuffix(".parquet")
    if record.table != folder and folder in tables():
        return f"{FILES_NAME} says table {record.table!r}, and the file stands under {folder}"
    return None


def _file_fault(path: Path, record: FileRecord) -> str | None:
    try:
        with _opened(path) as handle:
            if is_local(path) and not stat.S_ISREG(os.fstat(handle.fileno()).st_mode):
                return "is not a file"
            size = handle.seek(0, os.SEEK_END)
            if size != record.bytes:
                return f"has {size} bytes, {FILES_NAME} says {record.bytes}"
            handle.seek(0)
            if hashlib.file_digest(handle, "sha256").hexdigest() != record.sha256:
                return f"its sha256 is not the one in {FILES_NAME}: its content changed"
    except FileNotFoundError:
        return f"is listed in {FILES_NAME} and is missing"
    except OSError as error:
        return f"not readable ({error.strerror or error})"
    return _page_fault(path, record)


def _opened(path: Path) -> BufferedReader:
    return open(path, "rb", opener=_without_waiting) if is_local(path) else path.open("rb")


def _without_waiting(path: str, flags: int) -> int:
    # Opening a pipe that somebody left in a run would wait for a writer for ever.
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def _page_fault(path: Path, record: FileRecord) -> str | None:
    import pyarrow as pa

    try:
        # Unless it is told to buffer, the reader holds a whole row group, which can be the whole file.
        with parquet_file(path, page_checksum_verification=True, buffer_size=_READ_BYTES, pre_buffer=False) as parquet:
            rows = sum(batch.num_rows for batch in parquet.iter_batches(_batch_rows(parquet.metadata)))
    except (pa.ArrowException, OSError) as error:
        return f"not a readable Parquet file ({(str(error).splitlines() or [''])[0]})"
    return None if rows == record.rows else f"has {rows} rows, {FILES_NAME} says {record.rows}"


def _batch_rows(metadata: Any) -> int:
    """Return how many rows are about 8 MiB: a row of a token log is a few bytes, one with a completion is thousands."""
    content: int = sum(metadata.row_group(group).total_byte_size for group in range(metadata.num_row_groups))
    rows: int = metadata.num_rows * _BATCH_BYTES // max(content, 1)
    return max(1, min(1 << 16, rows))

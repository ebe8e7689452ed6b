"""Splits a run's files into batches that fit in memory whatever the number of rows."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from audits.store.layout import step_of
from audits.store.manifest import FileRecord, by_partition
from audits.store.scan import Batch

ROWS_A_BATCH = 3_000_000
"""A quantile of a step keeps its values until the step is whole: about 10 bytes a row."""


def batches(run: Path, table: str, records: Iterable[FileRecord], rows: int = ROWS_A_BATCH) -> Iterator[Batch]:
    """Yield batches of one arm and seed each, in the order of the paths.

    A step of an arm and seed is never split: its file stands in one batch. Where a file does not say which step it
    holds, or two say the same, the files of the arm and seed stand in one batch together.

    Args:
        run: the run's directory.
        table: the files' table.
        records: the files, of any arms and seeds.
        rows: a batch is closed before it would hold more, unless one file alone does.
    """
    for files in by_partition(sorted(records, key=lambda record: record.path)).values():
        yield from _split(run, table, files, rows)


def _split(run: Path, table: str, files: list[FileRecord], rows: int) -> Iterator[Batch]:
    steps = [step_of(record.path) for record in files]
    if None in steps or len(set(steps)) < len(steps):
        # A file without a number may hold a step that a numbered file holds too.
        yield Batch(run, table, tuple(files))
        return
    held: list[FileRecord] = []
    n_held = 0
    for record in files:
        if held and n_held + record.rows > rows:
            yield Batch(run, table, tuple(held))
            held, n_held = [], 0
        held.append(record)
        n_held += record.rows
    if held:
        yield Batch(run, table, tuple(held))

"""Rows of a run for an exporter, and tables of text that keep them."""

import csv
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from audits.store.durable import whole_file
from audits.store.export import rows_of
from audits.store.reader import Run, connect
from audits.store.schema import SQL_FOLDER

_BATCH_ROWS = 4096
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


@contextmanager
def rows(run: Run, question: str) -> Iterator[Iterator[dict[str, Any]]]:
    """Give the rows of a query, read batch by batch; what does not fit in memory is sorted on disk.

    Args:
        run: the run.
        question: a file of `sql/exports/`, without its ending.

    Raises:
        AuditError: a file of the run is damaged.
    """
    text = (SQL_FOLDER / "exports" / f"{question}.sql").read_text(encoding="utf-8")
    with connect(run) as connection:
        reader = connection.sql(text).to_arrow_reader(_BATCH_ROWS)
        names = reader.schema.names
        yield (dict(zip(names, row, strict=True)) for row in rows_of(reader))


def held(run: Run, question: str, columns: Sequence[str]) -> list[str]:
    """Return those of the columns in which some row of the run has a value, by a query that counts them."""
    with rows(run, question) as found:
        (counts,) = found
    return [name for name in columns if counts[name]]


def write_csv(path: Path, names: tuple[str, ...], found: Iterator[dict[str, Any]]) -> tuple[int, int]:
    """Write a CSV file as RFC 4180 says, whole or not at all: texts as they are, null as an empty cell.

    Args:
        path: the file.
        names: its columns; a row may lack some.
        found: the rows.

    Returns:
        The rows, and the cells of text that a spreadsheet would take for a formula.
    """
    written = formulas = 0
    with whole_file(path) as temporary, temporary.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\r\n")
        writer.writerow(names)
        for row in found:
            cells = [row.get(name) for name in names]
            formulas += sum(isinstance(cell, str) and cell.startswith(_FORMULA) for cell in cells)
            writer.writerow(["" if cell is None else _cell(cell) for cell in cells])
            written += 1
    return written, formulas


def formulas_told(formulas: int) -> list[str]:
    """Return the warning about cells that a spreadsheet would run; they are written as they are, so that none is lost.

    Changing them (a quote before them) would change what was answered for every program that is no spreadsheet.
    """
    if not formulas:
        return []
    return [
        f"note: {formulas:,} cells of text begin with =, +, -, @ or a tab: a spreadsheet runs them as formulas unless "
        "the columns are imported as text"
    ]


def _cell(value: Any) -> Any:
    # As JSON and every reader of ours spell them.
    return {True: "true", False: "false"}[value] if isinstance(value, bool) else value

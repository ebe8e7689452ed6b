"""Outcomes from a table: one row an item, one column of scores an arm (CSV, or TSV by its suffix).

Scores are numbers from 0 to 1, or true and false. Nothing is dropped: an item without an id, an id that stands
twice, or a cell that is no score stops the import and is named with its line.
"""

import csv
import hashlib
import io
import math
import re
from dataclasses import dataclass
from pathlib import Path

from analysis.errors import AuditError
from analysis.nearest import nearest_name
from audits.store.gathered import Rows
from audits.store.manifest import ArmRecord
from runner.importers.engine.checks import few, short
from runner.importers.engine.imported import Imported, ImportedArm, Options, SourceFile

ITEM_COLUMN = True
MAPPED = False
DEFAULT_ITEM = "item_id"

_TAB_SUFFIXES = {".tsv", ".tab"}
_SEPARATORS = (";", "\t", "|", ",")
_WORDS = {"true": "1", "false": "0"}
_NUMBER = re.compile(r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$")


@dataclass(frozen=True)
class _Table:
    """A table as text: no cell is guessed into another type."""

    header: list[str]
    rows: list[list[str]]
    lines: list[int]

    def column(self, name: str) -> list[str]:
        index = self.header.index(name)
        return [row[index].strip() for row in self.rows]


def sniff(path: Path) -> bool:
    """Return whether the path is a table by its name."""
    return path.is_file() and path.suffix.lower() in {".csv", *_TAB_SUFFIXES}


def read(source: Path, options: Options) -> Imported:
    """Return the outcomes of a table, one arm a column.

    Args:
        source: CSV or TSV file with a header line.
        options: the column of scores of each role, and the one that names the item.

    Raises:
        AuditError: the file, a column or a cell is not what was said; lines and item ids are named.
    """
    item, arms = options.item or DEFAULT_ITEM, options.arms
    content, table = _read(source)
    if not arms:
        raise AuditError(
            f"{source}: name the column of scores of each arm, as in --arm baseline=COLUMN "
            f"(columns: {few(table.header)})"
        )
    _check_columns(source, table, [item, *arms.values()])
    item_ids = _item_ids(source, table, item)
    return Imported(
        importer="outcomes",
        files=(SourceFile(source.name, hashlib.sha256(content).hexdigest(), len(content)),),
        arms=tuple(
            _arm(column, item_ids, _scores(source, table, column, item_ids), options.scratch.rows("evals"))
            for column in arms.values()
        ),
        details={"item": item, "columns": dict(arms)},
        mapped=(f"column {item} -> evals.item_id", *(f"column {column} -> evals.score" for column in arms.values())),
        ignored=_other_columns(table, {item, *arms.values()}),
    )


def _arm(column: str, item_ids: tuple[str, ...], scores: list[float], rows: Rows) -> ImportedArm:
    graded = all(score in (0.0, 1.0) for score in scores)
    for item_id, score in zip(item_ids, scores, strict=True):
        correct = {"correct": score == 1.0} if graded else {}
        rows.append({"checkpoint": "final", "item_id": item_id, "sample": 0, "score": score, **correct})
    return ImportedArm(ArmRecord(arm=column, seed=0, role="other", name=column), evals={"final": rows})


def _other_columns(table: _Table, used: set[str]) -> tuple[str, ...]:
    others = [name for name in table.header if name not in used]
    return (f"columns {few(others)}",) if others else ()


def _read(source: Path) -> tuple[bytes, _Table]:
    try:
        content = source.read_bytes()
    except FileNotFoundError:
        raise AuditError(f"{source}: there is no such file") from None
    except OSError as error:
        raise AuditError(f"{source}: not readable ({error.strerror})") from error
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise AuditError(f"{source}: not UTF-8 text (byte {error.start}). Save the table as UTF-8") from error
    separator = "\t" if source.suffix.lower() in _TAB_SUFFIXES else ","
    # A column of completions may hold cells of any length.
    csv.field_size_limit(max(csv.field_size_limit(), len(text) + 1))
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    try:
        lines = [(reader.line_num, row) for row in reader if row]
    except csv.Error as error:
        raise AuditError(f"{source}, line {reader.line_num}: not a table ({error})") from error
    if not lines:
        raise AuditError(f"{source}: the file is empty")
    (_, header), *rows = lines
    other = next((mark for mark in _SEPARATORS if len(header) == 1 and mark in header[0]), None)
    if other:
        raise AuditError(
            f"{source}: the cells look separated by {other!r}, and {separator!r} is read here. Save the table with "
            "commas (tabs in a .tsv file)"
        )
    if not rows:
        raise AuditError(f"{source}: the table has a header and no row: nothing to import")
    for line, row in rows:
        if len(row) != len(header):
            raise AuditError(f"{source}, line {line}: {len(row)} cells, and the header has {len(header)} columns")
    return content, _Table(header, [row for _, row in rows], [line for line, _ in rows])


def _check_columns(source: Path, table: _Table, wanted: list[str]) -> None:
    for column in wanted:
        if column not in table.header:
            near = nearest_name(column, table.header)
            meant = f'; did you mean "{short(near)}"?' if near else ""
            raise AuditError(f'{source}: there is no column "{column}"{meant} (columns: {few(table.header)})')
        if table.header.count(column) > 1:
            raise AuditError(f'{source}: {table.header.count(column)} columns are called "{column}": which is meant?')
        if wanted.count(column) > 1:
            raise AuditError(f'{source}: column "{column}" is named twice; the item and each arm have their own')


def _item_ids(source: Path, table: _Table, item: str) -> tuple[str, ...]:
    lines_of: dict[str, list[int]] = {}
    for line, value in zip(table.lines, table.column(item), strict=True):
        lines_of.setdefault(value, []).append(line)
    if "" in lines_of:
        raise AuditError(f'{source}, line {lines_of[""][0]}: column "{item}" is empty: an item needs an id')
    twice = [
        f"{short(key)} (lines {', '.join(map(str, lines[:4]))})" for key, lines in lines_of.items() if len(lines) > 1
    ]
    if twice:
        raise AuditError(
            f"{source}: {len(twice)} item ids stand more than once: {few(twice)}. Each item needs one row; "
            "several samples of an item must be reduced to one score first"
        )
    return tuple(lines_of)


def _scores(source: Path, table: _Table, column: str, item_ids: tuple[str, ...]) -> list[float]:
    values, faults = [], []
    for line, item_id, cell in zip(table.lines, item_ids, table.column(column), strict=True):
        text = _WORDS.get(cell.lower(), cell)
        # `float` alone would also take 0_1, and digits of other scripts.
        value = float(text) if _NUMBER.match(text) else math.nan
        if not 0.0 <= value <= 1.0:
            faults.append(f"{short(item_id)} (line {line}): {short(cell)!r}")
        values.append(value)
    if faults:
        raise AuditError(
            f'{source}: {len(faults)} cells of column "{column}" are no score from 0 to 1: {few(faults)}. '
            "Divide percent by 100 and write a decimal point; an item that failed with an error has no score: evaluate "
            "it again, it is never counted as wrong"
        )
    return values

"""Outcomes from a table: one row an item, one column of scores an arm (CSV, or TSV by its suffix).

Scores are numbers from 0 to 1, or true and false. Nothing is dropped: an item without an id, an id that stands
twice, or a cell that is no score stops the import and is named with its line.
"""

import csv
import hashlib
import io
import math
import re
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from analysis.errors import AuditError
from analysis.nearest import nearest_name
from analysis.printable import printable
from audits.store.layout import partition_folder
from audits.store.manifest import ArmRecord, Manifest
from audits.store.writer import RunWriter
from runner.loop.provenance import git_state, utc_now, versions

_SEPARATORS = (";", "\t", "|", ",")
_LISTED = 8
_LONGEST = 100
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


def run(source: Path, *, out: Path, item: str, arms: dict[str, str], command_line: list[str]) -> str:
    """Import a table of outcomes as a run of kind `imported`.

    Args:
        source: CSV or TSV file with a header line.
        out: run directory to make.
        item: column that names the item.
        arms: column of scores by role.
        command_line: for the manifest.

    Raises:
        AuditError: the file, a column or a cell is not what was said; lines and item ids are named.
    """
    _check_roles(arms)
    content, table = _read(source)
    _check_columns(source, table, [item, *arms.values()])
    item_ids = _item_ids(source, table, item)
    scores = {role: _scores(source, table, column, item_ids) for role, column in arms.items()}
    started_at = utc_now()
    records = [ArmRecord(arm=role, seed=0, role=_role(role), name=column) for role, column in arms.items()]
    writer = RunWriter.create(
        out,
        Manifest(
            run_id=uuid.uuid4().hex,
            kind="imported",
            status="running",
            arms=records,
            started_at=started_at,
            versions=versions(),
            git=git_state(Path.cwd()),
            command_line=command_line,
            source={
                "importer": "outcomes",
                "file": source.name,
                "sha256": hashlib.sha256(content).hexdigest(),
                "item": item,
                "columns": arms,
            },
        ),
        None,
    )
    for role, values in scores.items():
        binary = all(value in (0.0, 1.0) for value in values)
        columns: dict[str, list[object]] = {
            "checkpoint": ["final"] * len(values),
            "item_id": list(item_ids),
            "sample": [0] * len(values),
            "score": list(values),
        }
        if binary:
            columns["correct"] = [value == 1.0 for value in values]
        writer.write_evals(role, 0, "final", columns)
    writer.update_manifest(status="complete", finished_at=utc_now())
    told = f"{out}: {len(item_ids)} items, arms {', '.join(f'{role} ({column})' for role, column in arms.items())}"
    if {"baseline", "treatment"} <= set(arms):
        return told
    return f"{told}\nnote: `audit decide` compares roles baseline and treatment, unless --weights names these"


def _check_roles(arms: dict[str, str]) -> None:
    for role in arms:
        named = role == role.strip() and role.isprintable() and role != ""
        if not named or len(partition_folder("evals", role, 0).parts[1]) > _LONGEST:
            raise AuditError(f"--arm {_short(role)!r}: a role is a short name, as in baseline")


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
    separator = "\t" if source.suffix.lower() in {".tsv", ".tab"} else ","
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
            meant = f'; did you mean "{_short(near)}"?' if near else ""
            raise AuditError(f'{source}: there is no column "{column}"{meant} (columns: {_few(table.header)})')
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
        f"{_short(key)} (lines {', '.join(map(str, lines[:4]))})" for key, lines in lines_of.items() if len(lines) > 1
    ]
    if twice:
        raise AuditError(
            f"{source}: {len(twice)} item ids stand more than once: {_few(twice)}. Each item needs one row; "
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
            faults.append(f"{_short(item_id)} (line {line}): {_short(cell)!r}")
        values.append(value)
    if faults:
        raise AuditError(
            f'{source}: {len(faults)} cells of column "{column}" are no score from 0 to 1: {_few(faults)}. '
            "Divide percent by 100 and write a decimal point; an item that failed with an error has no score: evaluate "
            "it again, it is never counted as wrong"
        )
    return values


def _role(name: str) -> Literal["baseline", "treatment", "other"]:
    return name if name in ("baseline", "treatment") else "other"  # type: ignore[return-value]


def _short(text: str) -> str:
    return printable(text, limit=_LONGEST)


def _few(entries: list[str]) -> str:
    return ", ".join(_short(entry) for entry in entries[:_LISTED]) + (
        f" and {len(entries) - _LISTED} more" if len(entries) > _LISTED else ""
    )

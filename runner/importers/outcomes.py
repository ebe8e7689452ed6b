"""Outcomes from a table: one row an item, one column of scores an arm (CSV, or TSV by its suffix).

Scores are numbers from 0 to 1, or true and false. Nothing is dropped: an item without an id, an id that stands
twice, or a cell that is no score stops the import and is named with its line.
"""

import hashlib
import uuid
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from analysis.errors import AuditError
from audits.store.manifest import ArmRecord, Manifest
from audits.store.writer import RunWriter
from runner.loop.provenance import git_state, utc_now, versions

if TYPE_CHECKING:
    import polars as pl

_LISTED = 8
_WORDS = {"true": "1", "false": "0"}


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
    return f"{out}: {len(item_ids)} items, arms {', '.join(f'{role} ({column})' for role, column in arms.items())}"


def _read(source: Path) -> tuple[bytes, "pl.DataFrame"]:
    import polars as pl

    try:
        content = source.read_bytes()
    except FileNotFoundError:
        raise AuditError(f"{source}: there is no such file") from None
    except OSError as error:
        raise AuditError(f"{source}: not readable ({error.strerror})") from error
    separator = "\t" if source.suffix.lower() in {".tsv", ".tab"} else ","
    try:
        # Every cell is read as text, so that no value is guessed away.
        table = pl.read_csv(content, separator=separator, infer_schema=False, encoding="utf8")
    except pl.exceptions.NoDataError:
        raise AuditError(f"{source}: the file is empty") from None
    except (pl.exceptions.PolarsError, UnicodeDecodeError) as error:
        first = str(error).splitlines()[0]
        raise AuditError(
            f"{source}: not a table with a header line and the separator {separator!r} ({first})"
        ) from error
    if table.is_empty():
        raise AuditError(f"{source}: the table has a header and no row: nothing to import")
    return content, table


def _check_columns(source: Path, table: "pl.DataFrame", wanted: list[str]) -> None:
    import difflib

    for column in wanted:
        if column not in table.columns:
            near = difflib.get_close_matches(column, table.columns, n=1, cutoff=0.5)
            hint = f'; did you mean "{near[0]}"?' if near else ""
            raise AuditError(f'{source}: there is no column "{column}"{hint} (columns: {", ".join(table.columns)})')


def _item_ids(source: Path, table: "pl.DataFrame", item: str) -> tuple[str, ...]:
    lines_of: dict[str, list[int]] = {}
    for line, value in enumerate(table[item].to_list(), start=2):
        lines_of.setdefault((value or "").strip(), []).append(line)
    if "" in lines_of:
        raise AuditError(f'{source}, line {lines_of[""][0]}: column "{item}" is empty: an item needs an id')
    twice = [f"{key} (lines {', '.join(map(str, lines[:4]))})" for key, lines in lines_of.items() if len(lines) > 1]
    if twice:
        raise AuditError(
            f"{source}: {len(twice)} item ids stand more than once: {_few(twice)}. Each item needs one row; "
            "several samples of an item must be reduced to one score first"
        )
    return tuple(lines_of)


def _scores(source: Path, table: "pl.DataFrame", column: str, item_ids: tuple[str, ...]) -> list[float]:
    import math

    values, faults = [], []
    for line, (item_id, cell) in enumerate(zip(item_ids, table[column].to_list(), strict=True), start=2):
        text = (cell or "").strip()
        try:
            value = float(_WORDS.get(text.lower(), text))
        except ValueError:
            value = math.nan
        if not 0.0 <= value <= 1.0:
            faults.append(f"{item_id} (line {line}): {text!r}")
        values.append(value)
    if faults:
        raise AuditError(
            f'{source}: {len(faults)} cells of column "{column}" are no score from 0 to 1: {_few(faults)}. '
            "An item that failed with an error has no score: evaluate it again; it is never counted as wrong"
        )
    return values


def _role(name: str) -> Literal["baseline", "treatment", "other"]:
    return name if name in ("baseline", "treatment") else "other"  # type: ignore[return-value]


def _few(entries: list[str]) -> str:
    return ", ".join(entries[:_LISTED]) + (f" and {len(entries) - _LISTED} more" if len(entries) > _LISTED else "")

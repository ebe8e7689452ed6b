"""Databases of trackio: one SQLite file a project, in which every run is an arm of figures by step.

`metrics` becomes the table of scalars; where one figure of a step was logged again, the last is taken, and told. Each
run's `configs` becomes the settings of its arm; its `seed` is the arm's seed. Texts, lists and nested values are no
figures and are told; media, traces, alerts and system metrics are left out. The file is opened read-only, and nothing
in it is run: no view, no trigger, no function, no other file. Written for trackio 0.43, and for databases of earlier
versions that know runs by their names alone.
"""

import os
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any

from analysis.errors import AuditError
from audits.store.gathered import Rows, Scratch
from audits.store.manifest import ArmRecord
from runner.importers.engine.checks import counted, few, short
from runner.importers.engine.imported import Imported, ImportedArm, Options
from runner.importers.engine.record import Record
from runner.importers.engine.source_files import open_source, parsed_object, source_file

ITEM_COLUMN = False
MAPPED = False

_MAGIC = b"SQLite format 3\x00"
_LONGEST_VALUE = 64 << 20
_ALLOWED = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ}
_NOT_FINITE = {"NaN": float("nan"), "Infinity": float("inf"), "-Infinity": float("-inf")}
_PATHS = {"learning_rate": "optimizer.learning_rate", "lora_rank": "lora_rank", "base_model": "base_model"}
_OTHER_TABLES = ("system_metrics", "traces", "alerts", "artifacts")
_LARGEST_SEED = 10**15 - 1


@dataclass
class _Run:
    """One run of the project."""

    run_id: str
    name: str
    scalars: Rows
    first: int
    config: Record | None = None


@dataclass
class _Told:
    """What the reader must know of the figures."""

    repeated: int = 0
    no_numbers: set[str] = field(default_factory=set)


def sniff(path: Path) -> bool:
    """Return whether the file is a SQLite database with trackio's tables."""
    try:
        with open_source(path) as opened:
            if opened.read(len(_MAGIC)) != _MAGIC:
                return False
        with closing(_connect(path)) as connection:
            return {"metrics", "configs"} <= set(_tables(connection))
    except (OSError, ValueError, sqlite3.Error, AuditError):
        return False


def read(source: Path, options: Options) -> Imported:
    """Return the figures of a project, one arm a run.

    Args:
        source: the database.
        options: of them, where rows are gathered.

    Raises:
        AuditError: the file is no such database, is cut off, or a row holds no figures by step; the row is named.
    """
    _check_file(source)
    told = _Told()
    try:
        with closing(_connect(source)) as connection:
            tables = _tables(connection)
            if not {"metrics", "configs"} <= set(tables):
                raise AuditError(f"{source}: has no tables metrics and configs: this is no database of trackio")
            runs = _runs(connection, source, options.scratch, told)
            _add_configs(connection, source, runs)
            others = [f"{table} ({held})" for table in _OTHER_TABLES if table in tables
                      and (held := _count(connection, table))]  # fmt: skip
    except sqlite3.Error as error:
        raise AuditError(f"{source}: not readable as a database of trackio ({error!s:.200})") from error
    if not runs:
        raise AuditError(f"{source}: no run has logged a figure: nothing to import")
    named = _named(sorted(runs.values(), key=lambda run: run.first))
    return Imported(
        importer="trackio",
        files=(source_file(source),),
        arms=tuple(
            ImportedArm(ArmRecord(arm=name, seed=seed, role="other", name=name, settings=_settings(run.config)),
                        scalars=run.scalars) for name, seed, run in named
        ),
        details={"runs": {f"{name}/seed={seed}": run.run_id for name, seed, run in named}},
        mapped=("metrics -> scalars", "configs -> settings of the arm", "config.seed -> seed of the arm",
                *(f"config.{key} -> {path}" for key, path in _PATHS.items())),
        ignored=tuple(_ignored(told, others)),
        notes=tuple(_notes(told, named)),
    )  # fmt: skip


def _check_file(source: Path) -> None:
    with open_source(source) as opened:
        head = opened.read(100)
    if not head:
        raise AuditError(f"{source}: the file is empty")
    if len(head) < 100 or not head.startswith(_MAGIC):
        raise AuditError(f"{source}: not a SQLite database")
    page = int.from_bytes(head[16:18], "big")
    stated, size = (65536 if page == 1 else page) * int.from_bytes(head[28:32], "big"), source.stat().st_size
    if size < stated:
        raise AuditError(f"{source}: {size:,} bytes, and {stated:,} by its own header: cut off?")
    for ending in ("-wal", "-journal"):
        beside = source.with_name(source.name + ending)
        if beside.exists() and os.path.getsize(beside):
            raise AuditError(
                f"{source}: {beside.name} holds changes that are not in it yet. Let the program that writes it finish, "
                f'or merge them with `sqlite3 {source.name} "pragma wal_checkpoint(truncate)"`'
            )


def _connect(path: Path) -> sqlite3.Connection:
    """Open a database that may be hostile: read only, and only tables are read."""
    connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro&immutable=1", uri=True)
    connection.execute("PRAGMA trusted_schema = OFF")
    connection.execute("PRAGMA cell_size_check = ON")
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LONGEST_VALUE)
    connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
    connection.set_authorizer(_authorise)
    connection.text_factory = bytes
    return connection


def _authorise(action: int, _: str | None, name: str | None, *__: str | None) -> int:
    counts = action == sqlite3.SQLITE_FUNCTION and name == "count"
    return sqlite3.SQLITE_OK if action in _ALLOWED or counts else sqlite3.SQLITE_DENY


def _tables(connection: sqlite3.Connection) -> list[str]:
    """Return the names of plain tables: a view or a virtual table may do anything when it is read."""
    found = connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'table'")
    names = [(name.decode("utf-8", "replace"), (sql or b"").upper()) for name, sql in found]
    return [name for name, sql in names if sql.split()[:2] == [b"CREATE", b"TABLE"]]


def _count(connection: sqlite3.Connection, table: str) -> int:
    return int(connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0])


def _columns(connection: sqlite3.Connection, table: str) -> set[str]:
    return {column[0] for column in connection.execute(f"SELECT * FROM {table} LIMIT 0").description}


def _key(connection: sqlite3.Connection, table: str) -> str:
    return "run_id" if "run_id" in _columns(connection, table) else "run_name"


def _runs(connection: sqlite3.Connection, source: Path, scratch: Scratch, told: _Told) -> dict[str, _Run]:
    """Return the runs by their key, with their figures."""
    key = _key(connection, "metrics")
    text = f"SELECT id, {key}, run_name, step, metrics FROM metrics ORDER BY {key}, step, id"
    rows = (_row(source, "metrics", found) for found in connection.execute(text))
    runs: dict[str, _Run] = {}
    for (run_id, step), of_step in groupby(rows, key=lambda row: (row.text("key"), row.whole("step"))):
        figures: dict[str, float] = {}
        for row in of_step:
            first, name = row.whole("id", most=2**63 - 1), row.text("run_name")
            run = runs.get(run_id) or runs.setdefault(run_id, _Run(run_id, name, scratch.rows("scalars"), first))
            run.first = min(run.first, first)
            for figure, value in _figures(row, told).items():
                told.repeated += figure in figures
                figures[figure] = value
        for figure, value in figures.items():
            runs[run_id].scalars.append({"step": step, "name": figure, "value": value})
    return {run_id: run for run_id, run in runs.items() if run.scalars}


def _row(source: Path, table: str, found: tuple[Any, ...]) -> Record:
    number, key, name, step, held = found
    where = f"{source}, table {table}, row {number}"
    try:
        texts = {what: value.decode("utf-8") for what, value in (("key", key), ("run_name", name))}
    except (AttributeError, UnicodeDecodeError):
        raise AuditError(f"{where}: the run's name or id is no text") from None
    if not isinstance(held, bytes):
        raise AuditError(f"{where}: holds no JSON")
    return Record({"id": number, "step": step, "held": held, **texts}, where)


def _figures(row: Record, told: _Told) -> dict[str, float]:
    held = parsed_object(row.values["held"], row.where)
    figures = {}
    for key, value in held.values.items():
        name = held.name(key)
        if isinstance(value, str) and value in _NOT_FINITE:
            figures[name] = _NOT_FINITE[value]
        elif isinstance(value, float) or (isinstance(value, int) and not isinstance(value, bool) and _fits(value)):
            figures[name] = float(value)
        else:
            told.no_numbers.add(name)
    return figures


def _fits(value: int) -> bool:
    return abs(value) < 2**1023


def _add_configs(connection: sqlite3.Connection, source: Path, runs: Mapping[str, _Run]) -> None:
    key = _key(connection, "configs")
    for found in connection.execute(f"SELECT id, {key}, run_name, 0, config FROM configs ORDER BY id"):
        row = _row(source, "configs", found)
        if row.text("key") in runs:
            runs[row.text("key")].config = parsed_object(row.values["held"], row.where)


def _named(runs: list[_Run]) -> list[tuple[str, int, _Run]]:
    """Return name and seed of each run; where two have the same, the id of the run is put to the name."""
    keys = [(run.name, _seed(run.config)) for run in runs]
    return [(f"{name}-{run.run_id[:8]}" if keys.count((name, seed)) > 1 else name, seed, run)
            for (name, seed), run in zip(keys, runs, strict=True)]  # fmt: skip


def _seed(config: Record | None) -> int:
    seed = config.values.get("seed") if config is not None else None
    if isinstance(seed, int) and not isinstance(seed, bool) and 0 <= seed <= _LARGEST_SEED:
        return seed
    return 0


def _settings(config: Record | None) -> dict[str, Any]:
    """Return a run's configuration; what trackio adds of itself (the user, the time) begins with an underscore."""
    stated = config.values if config is not None else {}
    return {
        _PATHS.get(key, key): value for key, value in stated.items() if not key.startswith("_") and value is not None
    }


def _ignored(told: _Told, others: list[str]) -> Iterator[str]:
    if told.no_numbers:
        yield f"keys {few(sorted(told.no_numbers))}: their values are no numbers"
    if others:
        yield f"tables {', '.join(others)}"
    yield "config keys that begin with an underscore: trackio's own (who ran it, when)"


def _notes(told: _Told, named: list[tuple[str, int, _Run]]) -> Iterator[str]:
    if told.repeated:
        yield f"{counted(told.repeated, 'figure')} of a step stood there before: the last is taken"
    again = [short(name) for name, _, run in named if name != run.name]
    if again:
        yield f"several runs have one name and seed, and are told apart by their ids: {few(again)}"
    without = [short(name) for name, _, run in named if run.config is None]
    if without:
        yield f"no configuration is stated of {few(without)}"

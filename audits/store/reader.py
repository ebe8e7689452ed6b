"""Opens a run: what it is, which files are whole, and DuckDB connections over them."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from analysis.errors import AuditError
from audits.store.layout import checkpoint_of, step_of
from audits.store.location import parquet_file
from audits.store.manifest import FileRecord, Manifest, by_partition, read_files, read_manifest
from audits.store.scan import (
    create_table_view,
    create_views,
    engine_errors,
    hold_in_memory,
    scratch_connection,
    second_connection,
)
from audits.store.schema import Table, tables
from audits.store.seal import SealedPlan, read_sealed_plan

if TYPE_CHECKING:
    import duckdb

MANY_FILES = 8
HELD_ROWS = 1_000_000
HELD_BYTES = 1 << 25
"""A table of at least so many files, and at most so many rows and bytes on disk, is read into memory once."""


@dataclass(frozen=True)
class Run:
    """A run directory that was opened and whose manifest is readable.

    Attributes:
        path: the directory, or its URL in an object store.
        manifest: `run.json`.
        sealed: the plan sealed in it, None for outcomes imported without one.
        files: the whole files by `files.jsonl`.
        notes: what was found unfinished.
        checked: schema of each file that was checked, with size and time of change at that moment; filled as files are
            read, so that a file is checked again only where it changed.
        connections: the open ones of `connect`, the outermost first.
    """

    path: Path
    manifest: Manifest
    sealed: SealedPlan | None
    files: tuple[FileRecord, ...]
    notes: tuple[str, ...]
    checked: dict[str, tuple[tuple[int, int], Any]] = field(default_factory=dict, compare=False, repr=False)
    connections: "list[duckdb.DuckDBPyConnection]" = field(default_factory=list, compare=False, repr=False)

    def records(self, table: str) -> tuple[FileRecord, ...]:
        """Return the whole files of a table, sorted by path."""
        return tuple(sorted((file for file in self.files if file.table == table), key=lambda file: file.path))

    def partitions(self, table: str) -> dict[tuple[str, int], tuple[FileRecord, ...]]:
        """Return the whole files of a partitioned table by (arm, seed), in the order of their paths."""
        found: dict[tuple[str, int], tuple[FileRecord, ...]] = {}
        for keys, records in by_partition(self.records(table)).items():
            if keys is None:
                raise ValueError(f"{records[0].path} names no arm and seed")
            found[keys] = tuple(records)
        return found

    def has(self, table: str) -> bool:
        """Return whether at least one row of this table was logged."""
        return any(file.rows for file in self.records(table))


def open_run(path: Path) -> Run:
    """Open a run directory.

    Raises:
        AuditError: it is no run directory, or its manifest, plan or list of files is missing or not readable.
    """
    manifest = read_manifest(path)
    sealed = read_sealed_plan(path)
    if sealed is None and (manifest.kind != "imported" or manifest.plan_sha256 is not None):
        raise AuditError(
            f"{path}: plan.json is missing, and run.json says that the run carries its plan. Restore it: without it "
            "nobody can say what was registered"
        )
    files, notes = read_files(path)
    unknown = sorted({file.table for file in files} - set(tables()))
    notes += tuple(f"table {name} is not part of this format version and is passed over" for name in unknown)
    return Run(path, manifest, sealed, files, notes)


def check_files(run: Run, table: Table) -> Any:
    """Check the files of a table against their manifest lines and the schema.

    Returns:
        The Arrow schema of all files together (required columns, then optional and unknown ones), without the
        path's `arm` and `seed`; None where the table has no file.

    Raises:
        AuditError: a file is missing, of another size or row count than its line says, not Parquet, or without a
            column (or with nulls in one) that the format demands.
    """
    import pyarrow as pa

    schemas = [_checked_once(run, record, table) for record in run.records(table.name)]
    if not schemas:
        return None
    try:
        return pa.unify_schemas(schemas, promote_options="permissive")
    except pa.ArrowException as error:
        raise AuditError(f"{run.path / table.name}: files disagree on a column's type ({error})") from error


def _checked_once(run: Run, record: FileRecord, table: Table) -> Any:
    """Return the schema of a file that agrees with its line; unchanged since it was checked, it is not read again."""
    path = run.path / record.path
    try:
        status = path.stat()
        state = (status.st_size, status.st_mtime_ns)
    except (OSError, AttributeError):
        # Missing, which the check says in words; or an object store that keeps no such time.
        return _check_file(path, record, table)
    known = run.checked.get(record.path)
    if known is None or known[0] != state:
        run.checked[record.path] = known = (state, _check_file(path, record, table))
    return known[1]


def _check_file(path: Path, record: FileRecord, table: Table) -> Any:
    import pyarrow as pa

    try:
        size = path.stat().st_size
    except FileNotFoundError:
        raise AuditError(
            f"{path}: is listed in files.jsonl and is missing. Restore it, or run the experiment again"
        ) from None
    except OSError as error:
        raise AuditError(f"{path}: not readable ({error.strerror or error})") from error
    if size != record.bytes:
        raise AuditError(f"{path}: has {size} bytes, files.jsonl says {record.bytes}: truncated or changed")
    try:
        with parquet_file(path) as parquet:
            rows, schema = parquet.metadata.num_rows, parquet.schema_arrow
            if rows != record.rows:
                raise AuditError(
                    f"{path}: has {rows} rows, files.jsonl says {record.rows}: changed after it was written"
                )
            _check_columns(path, table, schema)
            _check_nulls(path, table, parquet)
            _check_key(path, record, parquet)
    except (pa.ArrowException, OSError) as error:
        raise AuditError(f"{path}: not a readable Parquet file ({(str(error).splitlines() or [''])[0]})") from error
    return schema.remove_metadata()


def _check_nulls(path: Path, table: Table, parquet: Any) -> None:
    """Refuse nulls where the format has none: SQL would pass over them, and a share would be too small."""
    leaves = _leaves(parquet)
    for column in table.columns:
        if column.required and _null_count(parquet, column.name, leaves[column.name]):
            raise AuditError(
                f"{path}: column {column.name} has nulls and must not ({column.documentation}); "
                f"it is written by {table.written_by}"
            )


def _check_key(path: Path, record: FileRecord, parquet: Any) -> None:
    """Refuse rows of another step or checkpoint than the file's name says: they would count for the wrong one."""
    for name, said in (("step", step_of(record.path)), ("checkpoint", checkpoint_of(record.path))):
        if said is None or name not in parquet.schema_arrow.names:
            continue
        held = {value for group in range(parquet.num_row_groups) for value in _extremes(parquet, group, name)}
        if held - {said}:
            listed = ", ".join(str(value) for value in sorted(held - {said}))
            raise AuditError(
                f"{path}: holds rows of {name} {listed:.80}, and its name says {said}: changed or misplaced"
            )


def _extremes(parquet: Any, group: int, name: str) -> set[Any]:
    """Return the smallest and largest value of a column: from the file's statistics, or read where it has none."""
    index = parquet.schema_arrow.get_field_index(name)
    statistics = parquet.metadata.row_group(group).column(index).statistics
    if statistics is not None and statistics.has_min_max:
        return {statistics.min, statistics.max}
    return set(parquet.read_row_group(group, columns=[name]).column(0).to_pylist())


def _leaves(parquet: Any) -> dict[str, list[int]]:
    """Return the places of a column's leaves by its name: a list has its own beneath it."""
    schema = parquet.schema
    found: dict[str, list[int]] = {}
    for index in range(len(schema)):
        found.setdefault(schema.column(index).path.split(".")[0], []).append(index)
    return found


def _null_count(parquet: Any, name: str, leaf: list[int]) -> int:
    """Return how many values are null: from the file's statistics, or counted where it has none."""
    nulls = 0
    for group in range(parquet.num_row_groups):
        statistics = [parquet.metadata.row_group(group).column(index).statistics for index in leaf]
        if all(found is not None and found.has_null_count for found in statistics):
            nulls += sum(found.null_count for found in statistics)
        else:
            nulls += parquet.read_row_group(group, columns=[name]).column(0).null_count
    return nulls


def _check_columns(path: Path, table: Table, schema: Any) -> None:
    _check_names(path, table, schema.names)
    for column in table.columns:
        index = schema.get_field_index(column.name)
        if index < 0:
            if column.required:
                raise AuditError(
                    f"{path}: column {column.name} is missing ({column.documentation}); "
                    f"it is written by {table.written_by}"
                )
            continue
        found, wanted = schema.field(index).type, column.arrow_type
        if _kind(found) != _kind(wanted):
            raise AuditError(f"{path}: column {column.name} is {found}, the format says {wanted}")


def _check_names(path: Path, table: Table, names: Sequence[str]) -> None:
    """Refuse names that SQL does not tell apart: it would read the first of `Advantage` and `advantage` as both."""
    spelt = {column.name.lower(): column.name for column in table.columns}
    from_path = ("arm", "seed") if table.partitioned else ()
    seen: set[str] = set()
    for name in names:
        lower = name.lower()
        if lower in from_path:
            raise AuditError(f"{path}: column {name} is stored in the file; it is read from the path, and only there")
        if spelt.get(lower, name) != name:
            raise AuditError(f"{path}: column {name} is spelt {spelt[lower]} in the format; rename it")
        if lower in seen:
            raise AuditError(f"{path}: column {name} stands there twice, if upper and lower case are the same")
        seen.add(lower)


def _kind(arrow_type: Any) -> str:
    import pyarrow.types as types

    if types.is_uint64(arrow_type):
        # Together with signed numbers the engine makes decimals of it.
        return str(arrow_type)
    for name in ("integer", "floating", "boolean", "timestamp"):
        if getattr(types, f"is_{name}")(arrow_type):
            return name
    if types.is_string(arrow_type) or types.is_large_string(arrow_type) or types.is_dictionary(arrow_type):
        return "string"
    if types.is_list(arrow_type) or types.is_large_list(arrow_type):
        return f"list of {_kind(arrow_type.value_type)}"
    return str(arrow_type)


@contextmanager
def connect(run: Run) -> Iterator["duckdb.DuckDBPyConnection"]:
    """Give a DuckDB connection with a view for each logged table and for each file of `sql/views/`.

    A table that was never logged is an empty one with the format's columns, so that every query runs;
    ask `Run.has` before a figure is drawn from it. Inside another `connect` of the same opened run it is a second
    connection to the same database: what is created in one is there in the other.

    Raises:
        AuditError: a listed file is not what its manifest line says (see `check_files`).
    """
    if run.connections:
        with second_connection(run.connections[0]) as connection, engine_errors(run.path):
            yield connection
        return
    with scratch_connection() as connection, engine_errors(run.path):
        for table in tables().values():
            check_files(run, table)
            create_table_view(connection, run.path, table, run.records(table.name))
        create_views(connection)
        run.connections.append(connection)
        try:
            yield connection
        finally:
            run.connections.pop()


def hold_small_tables(connection: "duckdb.DuckDBPyConnection", run: Run) -> None:
    """Read tables that are little in many files into memory: opening them costs each query more than their rows do.

    Args:
        connection: of `connect`, over this run.
        run: the run.

    Raises:
        AuditError: a file cannot be read.
    """
    with engine_errors(run.path):
        for name in tables():
            records = run.records(name)
            rows, size = sum(record.rows for record in records), sum(record.bytes for record in records)
            if len(records) >= MANY_FILES and rows <= HELD_ROWS and size <= HELD_BYTES:
                hold_in_memory(connection, name)

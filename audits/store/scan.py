"""Runs SQL over a batch of a run's files: the unit of work of every engine, on this machine or another one."""

import tempfile
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from analysis.errors import AuditError
from audits.store.location import attach, is_local
from audits.store.manifest import FileRecord, by_partition
from audits.store.schema import SQL_FOLDER, Table, tables

if TYPE_CHECKING:
    import duckdb

_KEYS = (("arm", "VARCHAR"), ("seed", "BIGINT"))


@dataclass(frozen=True)
class Batch:
    """Some whole files of one table; no step of an arm and seed is split over two batches.

    Attributes:
        run: where the run stands.
        table: table of the run format.
        records: the files.
    """

    run: Path
    table: str
    records: tuple[FileRecord, ...]

    @property
    def rows(self) -> int:
        """Rows of all files, by their manifest lines."""
        return sum(record.rows for record in self.records)


class Scanner:
    """A DuckDB connection on which each table is that of one batch at a time."""

    def __init__(self, connection: "duckdb.DuckDBPyConnection") -> None:
        self._connection = connection
        self._batches: dict[str, Batch] = {}

    def scan(self, batch: Batch, sql: str) -> Any:
        """Return the rows of a query over the batch's table and the views on it, as an Arrow table.

        Raises:
            AuditError: a file of the batch cannot be read.
        """
        with engine_errors(batch.run):
            if batch != self._batches.get(batch.table):
                create_table_view(self._connection, batch.run, tables()[batch.table], batch.records)
                self._batches[batch.table] = batch
            return self._connection.sql(sql).to_arrow_table()

    def beside(self) -> AbstractContextManager["duckdb.DuckDBPyConnection"]:
        """Open a second connection to the same database, for what the scans brought."""
        return second_connection(self._connection)


@contextmanager
def scanner(threads: int | None = None) -> Iterator[Scanner]:
    """Open a scanner; what does not fit in memory goes to a private directory that is removed afterwards.

    Args:
        threads: of the engine, None for all cores.
    """
    with scratch_connection(threads) as connection:
        for table in tables().values():
            create_table_view(connection, Path(), table, ())
        create_views(connection)
        yield Scanner(connection)


@contextmanager
def scratch_connection(threads: int | None = None) -> Iterator["duckdb.DuckDBPyConnection"]:
    """Open an empty in-memory database with a private spill directory and times in UTC."""
    import duckdb

    with tempfile.TemporaryDirectory(prefix="runaudit-") as spill:
        configuration: dict[str, Any] = {"autoinstall_known_extensions": False, "temp_directory": spill}
        if threads is not None:
            configuration["threads"] = threads
        connection = duckdb.connect(":memory:", config=configuration)
        try:
            connection.execute("SET TimeZone = 'UTC'")
            connection.execute("SET preserve_insertion_order = false")
            connection.execute("SET parquet_metadata_cache = true")
            with _interrupts_as_such():
                yield connection
        finally:
            connection.close()


@contextmanager
def _interrupts_as_such() -> Iterator[None]:
    """Let Ctrl-C be Ctrl-C: the engine at work answers it with an error of its own."""
    try:
        yield
    except RuntimeError as error:
        if str(error) == "Query interrupted":
            raise KeyboardInterrupt from error
        raise


@contextmanager
def second_connection(connection: "duckdb.DuckDBPyConnection") -> Iterator["duckdb.DuckDBPyConnection"]:
    """Open another connection to the same database: a query on it does not end the other's unread rows."""
    second = connection.cursor()
    try:
        # A setting of the connection, unlike the database's own.
        second.execute("SET TimeZone = 'UTC'")
        yield second
    finally:
        second.close()


@contextmanager
def engine_errors(run: Path) -> Iterator[None]:
    """Turn the engine's errors into an `AuditError`: our own SQL at fault is a bug, else the data are at fault."""
    import duckdb

    try:
        yield
    except (duckdb.BinderException, duckdb.CatalogException, duckdb.ParserException):
        raise
    except duckdb.Error as error:
        raise AuditError(
            f"{run}: a data file cannot be read: {str(error).splitlines()[0]}. "
            f"`audit verify {run}` names the damaged file"
        ) from error


def create_views(connection: "duckdb.DuckDBPyConnection") -> None:
    """Create each view of `sql/views/`; it reads whatever the tables are when it is asked."""
    for name, text in view_texts():
        connection.execute(f"CREATE VIEW {name} AS {text}")


def view_texts() -> Iterator[tuple[str, str]]:
    """Yield the name and the text of each view in `sql/views/`, sorted by name."""
    for path in sorted((SQL_FOLDER / "views").glob("*.sql")):
        yield path.stem, path.read_text(encoding="utf-8").rstrip().rstrip(";")


def create_table_view(
    connection: "duckdb.DuckDBPyConnection", run: Path, table: Table, records: tuple[FileRecord, ...]
) -> None:
    """Make a table of the run format a view over these files; a column that none of them has is null.

    The path's `arm` and `seed` are columns of a partitioned table.
    """
    attach(connection, run)
    keys = _KEYS if table.partitioned else ()
    columns = [*keys, *((column.name, column.sql_type) for column in table.columns)]
    nothing = ", ".join(f'CAST(NULL AS {sql_type}) AS "{name}"' for name, sql_type in columns)
    parts = [f"SELECT {nothing} WHERE false"]
    for partition, files in by_partition(records).items():
        literals = f", {sql_text(partition[0])} AS arm, {partition[1]}::BIGINT AS seed" if partition else ""
        parts.append(f"SELECT *{literals} FROM {_scan(run, files)}")
    union = "\nUNION ALL BY NAME\n".join(parts)
    connection.execute(f'CREATE OR REPLACE VIEW "{table.name}" AS {union}')


def hold_in_memory(connection: "duckdb.DuckDBPyConnection", name: str) -> None:
    """Read a table's files into the database, once, and make its view one of what was read."""
    connection.execute(f'CREATE TABLE IF NOT EXISTS "held_{name}" AS FROM "{name}"')
    connection.execute(f'CREATE OR REPLACE VIEW "{name}" AS FROM "held_{name}"')


def sql_text(text: str) -> str:
    """Return the SQL literal of a text."""
    return "'" + text.replace("'", "''") + "'"


def _scan(run: Path, records: Iterable[FileRecord]) -> str:
    paths = ", ".join(_sql_path(run / record.path) for record in records)
    return f"read_parquet([{paths}], union_by_name = true, hive_partitioning = false)"


def _sql_path(path: Path) -> str:
    # A run directory may be called `run[1]`; DuckDB would read the bracket as a pattern. Absolute, because it would
    # read a first folder with a colon as the name of a service.
    place = path.absolute().as_posix() if is_local(path) else str(path)
    return sql_text("".join(f"[{character}]" if character in "*?[" else character for character in place))

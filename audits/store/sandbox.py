"""Read-only SQL over a run: the query sees registered data and nothing else of the machine.

The data are Arrow datasets that are registered before external access is closed, so that no directory has to be
allowed: an allowed directory could be written to, and a list of allowed statements can be got round with a
data-modifying common table expression.
"""

import contextlib
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from analysis.errors import AuditError
from audits.store.reader import Run, check_files, sql_text, view_texts
from audits.store.schema import Table, tables

if TYPE_CHECKING:
    import duckdb


@contextmanager
def query(run: Run, sql: str, *, memory_limit: str = "4GB", seconds: int = 600) -> Iterator["duckdb.DuckDBPyRelation"]:
    """Run one SELECT over the run's tables and the views of `sql/views/`, out of core.

    Args:
        run: the opened run.
        sql: one SELECT statement.
        memory_limit: beyond it DuckDB spills to a private temporary directory.
        seconds: the query is stopped after this time.

    Yields:
        The relation; it is read while the connection is open.

    Raises:
        AuditError: the statement is not one SELECT, is refused, wrong, or took too long.
    """
    import duckdb

    with tempfile.TemporaryDirectory(prefix="runaudit-sql-") as spill:
        connection = duckdb.connect(":memory:", config=_closed_configuration(seconds))
        logged: set[str] = set()
        try:
            connection.execute(f"SET temp_directory = {sql_text(Path(spill).as_posix())}")
            connection.execute(f"SET memory_limit = {sql_text(memory_limit)}")
            connection.execute("SET TimeZone = 'UTC'")
            logged = _register(connection, run)
            connection.execute("SET enable_external_access = false")
            connection.execute("SET lock_configuration = true")
            yield connection.sql(_one_select(connection, sql))
        except duckdb.Error as error:
            raise AuditError(_explain(error, run, logged)) from error
        finally:
            connection.close()


def _closed_configuration(seconds: int) -> dict[str, Any]:
    return {
        "autoinstall_known_extensions": False,
        "autoload_known_extensions": False,
        "allow_community_extensions": False,
        "allow_unsigned_extensions": False,
        "allow_persistent_secrets": False,
        "python_enable_replacements": False,
        "max_execution_time": seconds * 1000,
    }


def _register(connection: "duckdb.DuckDBPyConnection", run: Run) -> set[str]:
    import duckdb

    logged = set()
    for table in tables().values():
        dataset = _dataset(run, table)
        if dataset is not None:
            connection.register(table.name, dataset)
            logged.add(table.name)
    for name, text in view_texts():
        # A view over a table that was never logged does not exist; a query on it then says what was never logged.
        with contextlib.suppress(duckdb.CatalogException):
            connection.execute(f"CREATE VIEW {name} AS {text}")
    return logged


def _dataset(run: Run, table: Table) -> Any:
    import pyarrow as pa
    import pyarrow.dataset as datasets
    import pyarrow.fs as filesystems

    schema = check_files(run, table)
    if schema is None:
        return None
    for field in table.arrow_schema():
        if schema.get_field_index(field.name) < 0:
            schema = schema.append(field)
    always = datasets.scalar(True)
    files = [(record, always) for record in run.records(table.name)]
    if table.partitioned:
        schema = schema.append(pa.field("arm", pa.string())).append(pa.field("seed", pa.int64()))
        files = [
            (record, (datasets.field("arm") == arm) & (datasets.field("seed") == seed))
            for (arm, seed), records in run.partitions(table.name).items()
            for record in records
        ]
    return datasets.FileSystemDataset.from_paths(
        [(run.path / record.path).absolute().as_posix() for record, _ in files],
        schema=schema,
        format=datasets.ParquetFileFormat(
            default_fragment_scan_options=datasets.ParquetFragmentScanOptions(page_checksum_verification=True)
        ),
        filesystem=filesystems.LocalFileSystem(),
        partitions=[keys for _, keys in files],
    )


def _one_select(connection: "duckdb.DuckDBPyConnection", sql: str) -> str:
    import duckdb

    statements = connection.extract_statements(sql)
    if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
        raise AuditError("audit sql takes one SELECT statement; it reads, it does not change anything")
    return str(statements[0].query)


def _explain(error: Exception, run: Run, logged: set[str]) -> str:
    text = str(error).split("\n\n")[0].rstrip()
    absent = sorted(set(tables()) - logged)
    if type(error).__name__ == "CatalogException" and absent:
        text += f"\nnever logged in {run.path}: {', '.join(absent)}; logged: {', '.join(sorted(logged)) or 'nothing'}"
    return f"audit sql: {text}"

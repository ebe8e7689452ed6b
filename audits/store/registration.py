"""Puts the tables and views of one or several runs into a DuckDB connection, as data instead of as files."""

import contextlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from analysis.errors import AuditError
from audits.store.derived import DerivedTables, derived_files, derived_name
from audits.store.reader import Run, check_files
from audits.store.scan import sql_text, view_texts
from audits.store.schema import Table, tables

if TYPE_CHECKING:
    import duckdb


@dataclass(frozen=True)
class Registered:
    """What a query can name.

    Attributes:
        runs: the runs' names, as the column `run` has them, in the order in which they were given.
        holders: by table or view that exists, the names of the runs that have it.
        paths: by name of a run, its directory as given.
        underived: by name of a run, why derived tables could not be computed of it.
    """

    runs: tuple[str, ...]
    holders: dict[str, tuple[str, ...]]
    paths: Mapping[str, Path]
    underived: Mapping[str, Mapping[str, str]]

    def why_absent(self, name: str, run: str) -> str:
        """Return why a run does not have a table or view, as the end of a sentence that names it."""
        if not name.startswith(derived_name("")):
            return "never logged there"
        reason = self.underived.get(run, {}).get(name)
        if reason:
            return f"it cannot be derived there: {reason}"
        return f"it is computed by `audit integrity {self.paths[run]}`, which has not run there yet"


def run_names(paths: Sequence[Path]) -> tuple[str, ...]:
    """Return a distinct name for each run: its directory's name, or the path as given where two share that name.

    Raises:
        AuditError: one run is named twice, so that all its rows would count twice.
    """
    places = [os.path.realpath(path) for path in paths]
    twice = next((path for path, place in zip(paths, places, strict=True) if places.count(place) > 1), None)
    if twice is not None:
        raise AuditError(f"{twice}: is named twice, and each of its rows would count twice. Name each run once")
    names = [Path(os.path.abspath(path)).name for path in paths]
    return tuple(name if names.count(name) == 1 else path.as_posix() for name, path in zip(names, paths, strict=True))


def register_runs(
    connection: "duckdb.DuckDBPyConnection", runs: Sequence[Run], derived: Sequence[DerivedTables] = ()
) -> Registered:
    """Create each table and view that a run has; the first column, `run`, says whose row it is.

    A view is built in a schema of its run, over that run's tables only, and the runs are stacked afterwards: views
    group by arm, seed and step, and two runs have the same ones. A column that one run lacks is null there.

    Args:
        connection: in which everything is created.
        runs: the runs.
        derived: of each run, derived tables that do not lie in it; empty for none.

    Raises:
        AuditError: a file is not what its manifest line says, or a run is named twice.
    """
    names = run_names([run.path for run in runs])
    selects: dict[str, list[str]] = {}
    holders: dict[str, tuple[str, ...]] = {}
    beside = derived or [DerivedTables()] * len(runs)
    for number, (name, run, own) in enumerate(zip(names, runs, beside, strict=True)):
        schema = f"run{number}"
        for relation in _create_schema(connection, run, schema, own.tables):
            selects.setdefault(relation, []).append(f'SELECT {sql_text(name)} AS run, * FROM {schema}."{relation}"')
            holders[relation] = (*holders.get(relation, ()), name)
    connection.execute("USE memory.main")
    for relation, parts in selects.items():
        connection.execute(f'CREATE VIEW "{relation}" AS {" UNION ALL BY NAME ".join(parts)}')
    return Registered(
        names,
        holders,
        {name: run.path for name, run in zip(names, runs, strict=True)},
        {name: own.reasons for name, own in zip(names, beside, strict=True)},
    )


def _create_schema(
    connection: "duckdb.DuckDBPyConnection", run: Run, schema: str, derived: Mapping[str, Any]
) -> list[str]:
    """Create one run's tables and views in a schema of their own and return their names."""
    import duckdb
    import pyarrow.parquet as pq

    connection.execute(f"CREATE SCHEMA {schema}")
    connection.execute(f"USE memory.{schema}")
    created = []
    for table in tables().values():
        dataset = _dataset(run, table)
        if dataset is not None:
            connection.register(f"{schema}_{table.name}", dataset)
            # `run` names the run here; a file's own column of that name stays readable beside it.
            own = [name for name in dataset.schema.names if name.lower() == "run"]
            rename = f' RENAME ("{own[0]}" AS logged_run)' if own else ""
            connection.execute(f'CREATE VIEW "{table.name}" AS SELECT *{rename} FROM {schema}_{table.name}')
            created.append(table.name)
    kept = {derived_name(found): pq.read_table(path) for found, path in derived_files(run).items()}
    for name, content in sorted({**kept, **derived}.items()):
        connection.register(f"{schema}_{name}", content)
        connection.execute(f'CREATE VIEW "{name}" AS SELECT * FROM {schema}_{name}')
        created.append(name)
    for name, text in view_texts():
        # A view over a table that was never logged does not exist; a query on it then says what was never logged.
        with contextlib.suppress(duckdb.CatalogException):
            connection.execute(f'CREATE VIEW "{name}" AS {text}')
            created.append(name)
    return created


def _dataset(run: Run, table: Table) -> Any:
    """Return the files of a table as one Arrow dataset with every column of the format; None where there is none."""
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

"""Rows on their way into a run: kept in memory up to a bound that all tables share, beyond it on disk.

A source of any size is read once, row by row; what must hold of its rows as a whole is asked with SQL before a run is
made of them (`Rows.ask`, queries in `sql/imports/`).
"""

import hashlib
import json
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from analysis.errors import AuditError
from analysis.printable import printable
from audits.store.arrow_tables import arrow_array
from audits.store.scan import scratch_connection, sql_text
from audits.store.schema import SQL_FOLDER, Table, tables

if TYPE_CHECKING:
    import duckdb

# What the values of a row take in memory, without the characters of its texts.
_VALUE_BYTES = 64
# A row group of the file that is made of the rows. It must not depend on what was spilled when.
_GROUP_BYTES = 16 << 20
# Rows of a part on disk that are read again at a time.
_PART_ROWS = 4096
_SHOWN = 100


class Scratch:
    """Where the rows of one import stand until they are written; use it in a `with` block, which removes them.

    Args:
        beside: a path whose folder has room for the rows, such as that of the run to be made; None takes the system's.
        memory: bytes that the rows of all tables may take together, about.
    """

    def __init__(self, beside: Path | None = None, *, memory: int = 32 << 20) -> None:
        self._beside, self._memory = beside, memory
        self._tables: list[Rows] = []
        self._held = 0
        self._exits = ExitStack()
        self._connection: duckdb.DuckDBPyConnection | None = None
        self._folder: Path | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._exits.close()

    def rows(self, table: str) -> "Rows":
        """Return a new, empty collection of rows of a table of the run format."""
        found = Rows(self, tables()[table], len(self._tables))
        self._tables.append(found)
        return found

    def prompts(self) -> "Prompts":
        """Return a new, empty collection of prompts, each of which is kept once."""
        return Prompts(self.rows("prompts"))

    def hold(self, size: int) -> None:
        """Count bytes that a table holds in memory; beyond the bound, the largest tables are written to disk."""
        self._held += size
        if self._held <= self._memory:
            return
        for rows in sorted(self._tables, key=lambda rows: rows.held, reverse=True):
            self._held -= rows.spill()
            if self._held <= self._memory // 2:
                return

    def part(self, name: str) -> Path:
        """Return the path of a new file on disk."""
        if self._folder is None:
            above = self._beside.absolute().parent if self._beside is not None else None
            if above is not None:
                above.mkdir(parents=True, exist_ok=True)
            temporary = tempfile.TemporaryDirectory(prefix=".runaudit-import-", dir=above)
            self._folder = Path(self._exits.enter_context(temporary))
        return self._folder / name

    def connection(self) -> "duckdb.DuckDBPyConnection":
        """Return the database that answers questions about the rows."""
        if self._connection is None:
            self._connection = self._exits.enter_context(scratch_connection())
            self._connection.execute("SET memory_limit = '200MB'")
        return self._connection


class Rows:
    """Rows of one table, in the order in which they came."""

    def __init__(self, scratch: Scratch, table: Table, number: int) -> None:
        self.table = table
        self.held = 0
        self._scratch, self._number = scratch, number
        self._known = {column.name for column in table.columns}
        self._valued: set[str] = set()
        # Columns of the rows in memory; one whose last rows have no value is shorter.
        self._columns: dict[str, list[Any]] = {}
        self._in_parts = 0
        self._parts: list[Path] = []
        self._rows = 0
        self._group = 0
        self._group_ends: list[int] = []

    def __len__(self) -> int:
        return self._rows

    def append(self, row: Mapping[str, Any]) -> None:
        """Add a row.

        Args:
            row: values by the table's columns; a column that is absent or None has no value in this row.

        Raises:
            ValueError: the table has no such column.
        """
        size, place = _VALUE_BYTES * len(row), self._rows - self._in_parts
        for name, value in row.items():
            if value is None:
                continue
            column = self._columns.get(name)
            if column is None:
                column = self._column(name)
            if len(column) < place:
                column.extend([None] * (place - len(column)))
            column.append(value)
            if isinstance(value, str):
                size += len(value)
            elif isinstance(value, list | tuple):
                size += _VALUE_BYTES * len(value)
        self._rows += 1
        self._group += size
        if self._group >= _GROUP_BYTES:
            self._group_ends.append(self._rows)
            self._group = 0
        self.held += size
        self._scratch.hold(size)

    @property
    def names(self) -> tuple[str, ...]:
        """The columns that a file of these rows has: those with a value, and those that the format demands."""
        # A score may be absent in every row of an evaluation that failed, and its rows still have one that is null.
        always = {"score"} & self._known
        return tuple(
            column.name
            for column in self.table.columns
            if column.required or column.name in always or column.name in self._valued
        )

    def forget(self, name: str) -> None:
        """Leave a column out of the file, although some rows have a value in it."""
        self._valued.discard(name)

    def spill(self) -> int:
        """Write what is in memory to disk, and return how many bytes of memory that frees."""
        import pyarrow.parquet as pq

        freed = self.held
        if self._rows > self._in_parts:
            path = self._scratch.part(f"{self.table.name}-{self._number}-{len(self._parts)}.parquet")
            # Without statistics, which know no NaN: a question about its range would be answered from them.
            pq.write_table(
                self._in_memory(), path, _PART_ROWS, compression="zstd", compression_level=1, write_statistics=False
            )
            self._parts.append(path)
            self._columns, self.held, self._in_parts = {}, 0, self._rows
            _give_back_memory()
        return freed

    def groups(self) -> Iterator[Any]:
        """Yield the rows as Arrow tables of all columns of the format, each of a bounded size."""
        import pyarrow as pa

        waiting: list[Any] = []
        done = seen = 0
        ends = iter([*self._group_ends, self._rows])
        end = next(ends)
        for batch in self._batches():
            while batch.num_rows and seen + batch.num_rows >= end:
                waiting.append(batch.slice(0, end - seen))
                batch, seen = batch.slice(end - seen), end
                if end > done:
                    yield pa.concat_tables(waiting).combine_chunks()
                    _give_back_memory()
                waiting, done = [], end
                end = next(ends, self._rows + 1)
            if batch.num_rows:
                waiting.append(batch)
                seen += batch.num_rows

    def records(self) -> Iterator[dict[str, Any]]:
        """Yield the rows one by one, without the columns that none of them has a value in."""
        names = list(self.names)
        for batch in self._batches():
            for piece in batch.select(names).to_batches(max_chunksize=1024):
                yield from piece.to_pylist()

    def column(self, name: str) -> list[Any]:
        """Return all values of a column: for what is small, such as the keys of a few thousand items."""
        return [value for batch in self._batches([name]) for value in batch.column(name).to_pylist()]

    def ask(self, question: str, **others: "Rows") -> list[tuple[Any, ...]]:
        """Answer a question about the rows.

        Args:
            question: a file of `sql/imports/`, without its ending; the rows are its table `rows`.
            others: further tables of the question by name.
        """
        connection = self._scratch.connection()
        for name, rows in {"rows": self, **others}.items():
            rows.register(connection, name)
        text = (SQL_FOLDER / "imports" / f"{question}.sql").read_text(encoding="utf-8")
        return connection.execute(text).fetchall()

    def register(self, connection: "duckdb.DuckDBPyConnection", name: str) -> None:
        """Make the rows a view of a database."""
        if self._parts:
            # What is asked several times is converted once.
            self._scratch.hold(-self.spill())
        connection.register(f"{name}_in_memory", self._in_memory())
        parts = [f'FROM "{name}_in_memory"']
        if self._parts:
            paths = ", ".join(sql_text(path.as_posix()) for path in self._parts)
            parts.append(f"FROM read_parquet([{paths}])")
        connection.execute(f'CREATE OR REPLACE TEMP VIEW "{name}" AS {" UNION ALL ".join(parts)}')

    def _batches(self, names: list[str] | None = None) -> Iterator[Any]:
        import pyarrow.parquet as pq

        for path in self._parts:
            with pq.ParquetFile(path) as part:
                for number in range(part.num_row_groups):
                    yield part.read_row_group(number, columns=names)
        in_memory = self._in_memory()
        yield in_memory.select(names) if names else in_memory

    def _in_memory(self) -> Any:
        import pyarrow as pa

        schema = pa.schema([pa.field(column.name, column.arrow_type) for column in self.table.columns])
        n = self._rows - self._in_parts
        arrays = []
        for field in schema:
            values = self._columns.get(field.name)
            if values is not None:
                values.extend([None] * (n - len(values)))
            arrays.append(pa.nulls(n, field.type) if values is None else arrow_array(values, field.type))
        return pa.table(arrays, schema=schema)

    def _column(self, name: str) -> list[Any]:
        if name not in self._known:
            raise ValueError(f"table {self.table.name} has no column {name}")
        self._valued.add(name)
        return self._columns.setdefault(name, [])


def _give_back_memory() -> None:
    """Return what Arrow holds and does not use to the system: its pool would grow with each part and group."""
    import pyarrow as pa

    pa.default_memory_pool().release_unused()


class Prompts:
    """Prompts by their id, each kept once however often a source repeats it."""

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self._seen: dict[str, bytes] = {}

    def add(self, row: Mapping[str, Any], where: str) -> None:
        """Keep a prompt.

        Args:
            row: columns of the table of prompts.
            where: the place in the source, for messages.

        Raises:
            AuditError: a prompt of this id, with other content, was kept before.
        """
        stated = {name: value for name, value in row.items() if value is not None}
        digest = hashlib.blake2b(json.dumps(stated, sort_keys=True).encode(), digest_size=16).digest()
        before = self._seen.setdefault(row["prompt_id"], digest)
        if before is digest:
            self.rows.append(row)
        elif before != digest:
            shown = printable(row["prompt_id"], limit=_SHOWN)
            raise AuditError(f"{where}: prompt {shown} is another here than where it stood first")

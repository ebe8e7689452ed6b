"""Read-only SQL over runs: a query sees registered data and nothing else of the machine.

The data are Arrow datasets that are registered before external access is closed, so that no directory has to be
allowed. One directory stays open in spite of that: DuckDB allows the one it spills to. It is private and empty, and a
statement whose plan would write a file there is refused: a list of allowed statements is not enough, since COPY
inside a common table expression passes as SELECT.
"""

import json
import re
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from analysis.errors import AuditError
from analysis.printable import printable
from audits.store.derived import DerivedTables, derived_name
from audits.store.export import rows_of
from audits.store.reader import Run
from audits.store.registration import Registered, register_runs
from audits.store.scan import sql_text, view_texts
from audits.store.schema import tables
from audits.store.statements import utf8

if TYPE_CHECKING:
    import duckdb

# A row group of an export; about a step of a token log.
_BATCH_ROWS = 1 << 17
# The second runs a statement that EXPLAIN does not look into.
_WRITES = re.compile(r"COPY|JSON_EXECUTE_SERIALIZED_SQL|INSERT|UPDATE|DELETE|MERGE_INTO")
_UNDERIVED = re.compile(r"Table with name (derived_\w+) does not exist")

# Arrow has no such type: a large number would come out as another, a time would lose its zone, the others are bytes.
_NOT_IN_ARROW = re.compile(r"\b(UHUGEINT|TIME WITH TIME ZONE|BIT|BIGNUM|VARIANT)\b")


class _Engine:
    """A connection that works in a thread of its own, so that Ctrl-C can stop it.

    Python handles Ctrl-C between two of its own instructions, and an engine at work is one instruction: this thread
    waits and listens.
    """

    def __init__(self, connection: "duckdb.DuckDBPyConnection", pool: ThreadPoolExecutor) -> None:
        self.connection, self._pool = connection, pool

    def run(self, work: Callable[[], Any]) -> Any:
        future = self._pool.submit(work)
        try:
            return future.result()
        except KeyboardInterrupt:
            self.connection.interrupt()
            future.exception()
            raise


class Answer:
    """The rows of one SELECT, read in batches of Arrow; Ctrl-C stops the engine and raises KeyboardInterrupt."""

    def __init__(self, engine: _Engine, sql: str) -> None:
        self._engine = engine
        relation = engine.run(lambda: engine.connection.sql(sql))
        for name, kind in zip(relation.columns, relation.types, strict=True):
            if _NOT_IN_ARROW.search(str(kind)):
                raise AuditError(f"audit sql: column {name} is {kind}; cast it in the query, as in CAST(… AS VARCHAR)")
        self._reader = engine.run(lambda: relation.to_arrow_reader(_BATCH_ROWS))

    @property
    def schema(self) -> Any:
        """The Arrow schema of the rows."""
        return self._reader.schema

    def read_next_batch(self) -> Any:
        """Return the next Arrow record batch; StopIteration after the last."""
        # A future cannot carry StopIteration.
        batch = self._engine.run(lambda: next(self._reader, None))
        if batch is None:
            raise StopIteration
        return batch

    def fetchall(self) -> list[tuple[Any, ...]]:
        """Return all rows as Python values."""
        return list(rows_of(self))

    def close(self) -> None:
        """Let go of the rows that were not read; the connection takes no other statement before."""
        self._reader.close()


class Sandbox:
    """An open, locked connection over the runs: any number of SELECTs, one after the other."""

    def __init__(self, engine: _Engine, known: Registered) -> None:
        self._engine, self._known = engine, known

    @property
    def names(self) -> tuple[str, ...]:
        """The tables and views that a query can name, tables first."""
        return tuple(self._known.holders)

    def description(self, name: str) -> str:
        """Return a table's or view's columns, one a line, with type and what the format says of them.

        Raises:
            AuditError: there is no such table or view.
        """
        if name not in self._known.holders:
            raise AuditError(f"{name}: there is no such table or view; there are {', '.join(self.names) or 'none'}")
        table = tables().get(name)
        meanings = {column.name: column.documentation for column in table.columns} if table else {}
        meanings["run"] = "name of the run"
        headers = {view: text.split("\n", 1)[0].removeprefix("-- ") for view, text in view_texts()}
        with self.select(f'DESCRIBE "{name}"') as answer:
            columns = [(str(row[0]), str(row[1])) for row in answer.fetchall()]
        lines = [f"{name}  -- {headers[name]}" if name in headers else name]
        for column, kind in columns:
            lines.append(f"  {printable(column)} {kind}" + (f"  -- {meanings[column]}" if column in meanings else ""))
        return "\n".join(lines)

    def missing(self, sql: str) -> tuple[str, ...]:
        """Return a sentence for each table or view that the statement names and that only some of the runs have."""
        words = {word.lower() for word in re.findall(r"\w+", sql)}
        found = []
        for name, holders in self._known.holders.items():
            without: dict[str, list[str]] = {}
            for run in self._known.runs:
                if name in words and run not in holders:
                    without.setdefault(self._known.why_absent(name, run), []).append(run)
            found += [f"{name} has no rows of {', '.join(lack)}: {reason}" for reason, lack in without.items()]
        return tuple(found)

    def not_exported(self) -> tuple[str, ...]:
        """Return a sentence for what an export of every table and view lacks of some run, with the reason."""
        logged = " ".join(name for name in self.names if not name.startswith(derived_name("")))
        found = list(self.missing(logged))
        for run, reasons in self._known.underived.items():
            by_reason: dict[str, list[str]] = {}
            for name, reason in reasons.items():
                by_reason.setdefault(reason, []).append(name)
            found += [f"{', '.join(names)} of {run} cannot be derived: {why}" for why, names in by_reason.items()]
        return tuple(found)

    @contextmanager
    def select(self, sql: str) -> Iterator[Answer]:
        """Run one SELECT and give its rows.

        Raises:
            AuditError: the statement is not one SELECT, is refused, wrong, or took too long.
        """
        import duckdb

        answer: Answer | None = None
        try:
            answer = Answer(self._engine, self._one_select(sql))
            yield answer
        except duckdb.Error as error:
            raise AuditError(self._explain(error)) from error
        finally:
            if answer is not None:
                answer.close()

    def _one_select(self, sql: str) -> str:
        import duckdb

        utf8(sql)
        statements = self._engine.connection.extract_statements(sql)
        if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
            raise AuditError("audit sql takes one SELECT statement; it reads, it does not change anything")
        text = str(statements[0].query)
        explained = self._engine.run(
            lambda: self._engine.connection.sql(f"EXPLAIN (FORMAT json) {text}").fetchall()[0][1]
        )
        writing = next((name for name in _operators(json.loads(explained)) if _WRITES.search(name)), None)
        if writing:
            raise AuditError(f"audit sql: the statement would write ({writing}); it reads, it does not change anything")
        return text

    def _explain(self, error: Exception) -> str:
        text = str(error).split("\n\n")[0].rstrip()
        underived = _UNDERIVED.search(text)
        if type(error).__name__ == "CatalogException" and underived:
            return self._underived(underived[1])
        logged = sorted(set(tables()) & set(self._known.holders))
        absent = sorted(set(tables()) - set(logged))
        if type(error).__name__ == "CatalogException" and absent:
            where = ", ".join(self._known.runs)
            text += f"\nnever logged in {where}: {', '.join(absent)}; logged: {', '.join(logged) or 'nothing'}"
        return f"audit sql: {text}"

    def _underived(self, name: str) -> str:
        runs = self._known.runs
        reasons = dict.fromkeys(self._known.why_absent(name, run) for run in runs)
        return f"audit sql: there is no table {name} of {', '.join(runs)}: {'; '.join(reasons)}"


@contextmanager
def open_sandbox(
    runs: Sequence[Run], *, memory_limit: str = "4GB", seconds: int = 600, derived: Sequence[DerivedTables] = ()
) -> Iterator[Sandbox]:
    """Give a sandbox over the tables of the runs and the views of `sql/views/`, out of core.

    Args:
        runs: the opened runs; every table and view has the column `run` with the run's name.
        memory_limit: beyond it DuckDB spills to a private temporary directory.
        seconds: a statement is stopped after this time.
        derived: of each run, derived tables that do not lie in it; empty for none.

    Raises:
        AuditError: the memory limit is none, or a run's file is not what its manifest line says.
    """
    import duckdb

    with (
        tempfile.TemporaryDirectory(prefix="runaudit-sql-") as spill,
        ThreadPoolExecutor(1) as pool,
        duckdb.connect(":memory:", config=_closed_configuration(seconds)) as connection,
    ):
        try:
            connection.execute(f"SET temp_directory = {sql_text(Path(spill).as_posix())}")
            connection.execute(f"SET memory_limit = {sql_text(memory_limit)}")
            connection.execute("SET TimeZone = 'UTC'")
            known = register_runs(connection, runs, derived)
            connection.execute("SET enable_external_access = false")
            connection.execute("SET lock_configuration = true")
        except duckdb.Error as error:
            raise AuditError(f"audit sql: {str(error).splitlines()[0]}") from error
        yield Sandbox(_Engine(connection, pool), known)


@contextmanager
def query(run: Run, sql: str, *, memory_limit: str = "4GB", seconds: int = 600) -> Iterator[Answer]:
    """Run one SELECT over one run (see `open_sandbox` and `Sandbox.select`)."""
    with open_sandbox([run], memory_limit=memory_limit, seconds=seconds) as sandbox, sandbox.select(sql) as answer:
        yield answer


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


def _operators(plan: Any) -> Iterator[str]:
    """Yield the operators of a plan with the functions they call, as EXPLAIN writes them."""
    for node in plan:
        yield f"{node['name']} {node.get('extra_info', {}).get('Function', '')}".strip()
        yield from _operators(node.get("children", []))

"""What an audit or a derived table requires to have been logged, and the sentence that says what a run lacks of it."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from audits.store.reader import Run
from audits.store.schema import tables

if TYPE_CHECKING:
    import duckdb


def lacking(connection: "duckdb.DuckDBPyConnection", run: Run, requires: Sequence[str]) -> str | None:
    """Return what of the requirements a run lacks and which command writes it, None where all are met.

    Args:
        connection: of `audits.store.reader.connect`, over this run.
        run: the run.
        requires: tables and columns, in the words of `audits.engine.audit.Audit.requires`.
    """
    return next((sentence for entry in requires if (sentence := _lacking_one(connection, run, entry))), None)


def _lacking_one(connection: "duckdb.DuckDBPyConnection", run: Run, entry: str) -> str | None:
    alternatives = entry.split(" or ")
    if any(_is_there(connection, run, name) for name in alternatives):
        return None
    # Of a table that is not there at all, its columns are not named one by one.
    needed = dict.fromkeys(name if run.has(_table(name)) else f"table {_table(name)}" for name in alternatives)
    written_by = " and ".join(tables()[name].written_by for name in dict.fromkeys(map(_table, alternatives)))
    it = "them" if len(needed) > 1 else "it"
    writers = [f"audit run writes {it}"] if "`audit run`" in written_by else []
    writers += [f"audit import where the source has {it}"] if "`audit import`" in written_by else []
    return f"needs {' or '.join(needed)}, which this run does not have ({'; '.join(writers)})"


def _is_there(connection: "duckdb.DuckDBPyConnection", run: Run, name: str) -> bool:
    table, _, column = name.partition(".")
    if not run.has(table):
        return False
    if not column:
        return True
    return bool(connection.execute(f'SELECT 1 FROM {table} WHERE "{column}" IS NOT NULL LIMIT 1').fetchall())


def _table(name: str) -> str:
    return name.partition(".")[0]

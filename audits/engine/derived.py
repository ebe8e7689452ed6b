"""A derived table: `audits/derived/<id>.py` computes in Python what SQL cannot; audits select from `derived_<id>`."""

import importlib
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import audits.derived
from audits.store.derived import derived_name, write_derived
from audits.store.reader import Run

if TYPE_CHECKING:
    import duckdb


@dataclass(frozen=True)
class Derived:
    """What a derived table declares.

    Attributes:
        requires: what must have been logged, in the words of `audits.engine.audit.Audit.requires`.
        derive: returns the table, an Arrow table, from the run and a connection over it. Same run, same table.
    """

    requires: tuple[str, ...]
    derive: "Callable[[Run, duckdb.DuckDBPyConnection], Any]"


def derived_ids() -> tuple[str, ...]:
    """Return the ids of all derived tables, sorted."""
    return tuple(sorted(module.name for module in pkgutil.iter_modules(audits.derived.__path__)))


def load_derived(derived_id: str) -> Derived:
    """Return what a derived table declares."""
    declared: Derived = importlib.import_module(f"audits.derived.{derived_id}").DERIVED
    return declared


def provide(connection: "duckdb.DuckDBPyConnection", run: Run, derived_id: str) -> None:
    """Derive a table, make it the table `derived_<id>` of the connection's database, and leave it for `audit sql`.

    It is computed anew for each database: a file that lies in the run is never evidence. Where the run cannot be
    written to, it is made all the same.

    Raises:
        AuditError: a file of the run is damaged.
    """
    name = derived_name(derived_id)
    if connection.execute("SELECT 1 FROM duckdb_tables() WHERE table_name = $1", [name]).fetchall():
        return
    table = load_derived(derived_id).derive(run, connection)
    connection.register(f"new_{name}", table)
    connection.execute(f"CREATE TABLE {name} AS SELECT * FROM new_{name}")
    connection.unregister(f"new_{name}")
    write_derived(run, derived_id, table)

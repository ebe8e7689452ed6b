"""The derived tables that a query or an export names: computed where no audit has left them in the run."""

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from audits.engine.audit import audit_ids, load_audit, obstacle
from audits.engine.derived import derived_ids, provide
from audits.store.derived import DerivedTables, derived_files, derived_name
from audits.store.reader import Run, connect

if TYPE_CHECKING:
    import duckdb


def derived_names() -> tuple[str, ...]:
    """Return the names under which SQL knows the derived tables, sorted."""
    return tuple(derived_name(derived_id) for derived_id in derived_ids())


def derive_tables(run: Run, names: Collection[str]) -> DerivedTables:
    """Derive the tables that are named and do not lie in the run; as after an audit, they do afterwards if they can.

    A table is derived where one of the audits that select from it can be asked of the run.

    Args:
        run: the run.
        names: of tables, `derived_<id>`; other words are passed over.

    Raises:
        AuditError: a file of the run is damaged.
    """
    kept = derived_files(run)
    wanted = [found for found in derived_ids() if derived_name(found) in names and found not in kept]
    if not wanted:
        return DerivedTables()
    made: dict[str, Any] = {}
    reasons: dict[str, str] = {}
    with connect(run) as connection:
        for derived_id in wanted:
            name = derived_name(derived_id)
            reason = _obstacle(connection, run, derived_id)
            if reason:
                reasons[name] = reason
            else:
                provide(connection, run, derived_id)
                made[name] = connection.sql(f"SELECT * FROM {name}").to_arrow_table()
    return DerivedTables(made, reasons)


def _obstacle(connection: "duckdb.DuckDBPyConnection", run: Run, derived_id: str) -> str | None:
    askers = [audit_id for audit_id in audit_ids() if derived_id in load_audit(audit_id).derived]
    reasons = [obstacle(connection, run, audit_id) for audit_id in askers]
    return None if None in reasons else next(iter(reasons), "no audit selects from it")

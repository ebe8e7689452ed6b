"""An audit: `audits/<id>.py` says what it requires, `sql/audits/<id>.sql` returns the offending rows."""

import importlib
import pkgutil
from dataclasses import dataclass
from typing import TYPE_CHECKING

import audits
from audits.engine.check import Check
from audits.store.reader import Run
from audits.store.schema import SQL_FOLDER, tables

if TYPE_CHECKING:
    import duckdb


@dataclass(frozen=True)
class Audit:
    """What an audit declares.

    Attributes:
        title: what holds when it passes, in words.
        requires: tables that must have been logged; else the audit is `inconclusive`.
        examines: the table and condition whose rows are examined, as SQL after FROM.
        mend: what to do about a finding.
    """

    title: str
    requires: tuple[str, ...]
    examines: str
    mend: str


@dataclass(frozen=True)
class Findings:
    """The result of an audit with its offending rows.

    Attributes:
        check: the result; `value` is the number of offending rows.
        columns: names of the columns of the rows.
        rows: offending rows, in the query's order.
    """

    check: Check
    columns: tuple[str, ...]
    rows: tuple[tuple[object, ...], ...]


def audit_ids() -> tuple[str, ...]:
    """Return the ids of all audits, sorted."""
    return tuple(sorted(module.name for module in pkgutil.iter_modules(audits.__path__) if not module.ispkg))


def run_audit(connection: "duckdb.DuckDBPyConnection", run: Run, audit_id: str) -> Findings:
    """Run one audit. Evidence missing or no row examined is `inconclusive`; an offending row is `fail`."""
    audit: Audit = importlib.import_module(f"audits.{audit_id}").AUDIT
    sql = (SQL_FOLDER / "audits" / f"{audit_id}.sql").read_text(encoding="utf-8").rstrip()
    absent = [name for name in audit.requires if not run.has(name)]
    examined = 0
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[object, ...], ...] = ()
    if not absent:
        (examined,) = connection.execute(f"SELECT count(*) FROM {audit.examines}").fetchall()[0]
        cursor = connection.execute(sql)
        columns = tuple(column[0] for column in cursor.description or ())
        rows = tuple(cursor.fetchall())
    if absent:
        missing = ", ".join(absent)
        reason: str | None = f"table {missing} was never logged; {tables()[absent[0]].written_by} provides it"
    elif not examined:
        reason = f"no row to examine in {audit.examines}"
    else:
        reason = f"{len(rows)} offending rows" if rows else None
    check = Check(
        id=audit_id,
        status="inconclusive" if absent or not examined else "fail" if rows else "pass",
        value=float(len(rows)) if examined else None,
        limit=None,
        unit="rows",
        definition=f"{audit_id}@log/{audit.examines.split()[0]}",
        arm=None,
        rows_examined=int(examined),
        reason=reason,
        measures=audit.title,
        mend=audit.mend if rows else None,
        sql=" ".join(line for line in sql.splitlines() if not line.startswith("--")),
    )
    return Findings(check, columns, rows)

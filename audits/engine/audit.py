"""An audit: `audits/<id>.py` says what it requires, `sql/audits/<id>.sql` returns the offending rows."""

import importlib
import pkgutil
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import audits
from audits.engine.check import Check, Limit, combine
from audits.engine.derived import load_derived, provide
from audits.engine.requirements import lacking
from audits.store.reader import Run
from audits.store.schema import SQL_FOLDER
from audits.store.status import Status

if TYPE_CHECKING:
    import duckdb

ROWS_KEPT = 1000
_BLOCK = re.compile(r"^-- (rows|notes):.*\n", re.MULTILINE)
_SEVERITIES: tuple[Status, ...] = ("fail", "warn", "inconclusive")


def always(run: Run) -> str | None:
    """Return None: the audit applies to every run."""
    return None


def needs_plan(run: Run) -> str | None:
    """Return why an audit of what was planned does not apply: no plan is sealed in the run."""
    return "no plan is sealed in this run, so nothing was planned" if run.sealed is None else None


@dataclass(frozen=True)
class Audit:
    """What an audit declares.

    Attributes:
        title: what holds when it passes, in words.
        requires: what must have been logged, else the audit is `inconclusive`: a table (`evals`) or a column that
            holds a value in some row (`evals.completion`); `evals.completion or rollouts.completion` is met by either.
        examines: the table and condition whose rows are examined, as SQL after FROM.
        mend: what to do about a finding.
        derived: tables that Python derives (`audits/derived/<id>.py`), named `derived_<id>` in the SQL.
        applies: why it does not apply to a run, None where it does.
        minimum_rows: with fewer rows examined it is `inconclusive`.
        unexamined: what is said where there is no row to examine; default: that there is none in `examines`.
    """

    title: str
    requires: tuple[str, ...]
    examines: str
    mend: str
    derived: tuple[str, ...] = ()
    applies: Callable[[Run], str | None] = always
    minimum_rows: int = 1
    unexamined: str | None = None


@dataclass(frozen=True)
class Findings:
    """The result of an audit with its offending rows.

    Attributes:
        check: the result; `value` is the number of offending rows, all of them.
        columns: names of the columns of the rows.
        rows: the first 1,000 offending rows, in the query's order.
        table: the same rows as an Arrow table, None where the query did not run.
    """

    check: Check
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[object, ...], ...] = ()
    table: Any = None


@dataclass(frozen=True)
class AuditSql:
    """The SQL of an audit.

    Attributes:
        rows: the query that returns the offending rows. A column `severity` (fail, warn or inconclusive) says what a
            row means, without it each is a failure; a column `fault` names its kind.
        notes: a query of one text column with measured facts, which stand beside the result whatever it is; or None.
    """

    rows: str
    notes: str | None


def audit_ids() -> tuple[str, ...]:
    """Return the ids of all audits, sorted."""
    return tuple(sorted(module.name for module in pkgutil.iter_modules(audits.__path__) if not module.ispkg))


def load_audit(audit_id: str) -> Audit:
    """Return what an audit declares."""
    audit: Audit = importlib.import_module(f"audits.{audit_id}").AUDIT
    return audit


def audit_sql(audit_id: str) -> AuditSql:
    """Return the queries of an audit: the blocks `-- rows:` and `-- notes:` of its file, or all of it as rows."""
    text = (SQL_FOLDER / "audits" / f"{audit_id}.sql").read_text(encoding="utf-8")
    pieces = _BLOCK.split(text)
    blocks = {name: block.strip() for name, block in zip(pieces[1::2], pieces[2::2], strict=True)}
    return AuditSql(blocks.get("rows", text.strip()), blocks.get("notes"))


def run_audit(connection: "duckdb.DuckDBPyConnection", run: Run, audit_id: str) -> Findings:
    """Run one audit. Evidence missing or too few rows examined is `inconclusive`; an offending row is `fail`.

    Args:
        connection: of `audits.store.reader.connect`, over this run.
        run: the run.
        audit_id: the audit's file.

    Raises:
        AuditError: a file of the run is damaged.
    """
    audit, sql = load_audit(audit_id), audit_sql(audit_id)
    inapplicable = audit.applies(run)
    if inapplicable:
        return Findings(_check(audit_id, audit, sql, "not_applicable", reason=inapplicable))
    absent = lacking(connection, run, _all_required(audit))
    if absent:
        return Findings(_check(audit_id, audit, sql, "inconclusive", reason=absent))
    for name in audit.derived:
        provide(connection, run, name)
    (examined,) = connection.execute(f"SELECT count(*) FROM {audit.examines}").fetchall()[0]
    notes = tuple(str(note) for (note,) in connection.execute(sql.notes).fetchall()) if sql.notes else ()
    table, total, statuses, faults = _offending(connection, sql.rows)
    rows = tuple(zip(*(column.to_pylist() for column in table.columns), strict=True))
    status: Status = combine(statuses) if total else "pass"
    reason = _reason(total, faults) if total else None
    if examined < audit.minimum_rows:
        status = "inconclusive"
        reason = (
            f"{examined} rows of {audit.examines} to examine, at least {audit.minimum_rows} are needed"
            if examined
            else audit.unexamined or f"no row to examine in {audit.examines}"
        )
    check = _check(
        audit_id, audit, sql, status,
        value=float(total) if examined else None, reason=reason, examined=int(examined), notes=notes,
    )  # fmt: skip
    return Findings(check, tuple(table.column_names), rows, table)


def obstacle(connection: "duckdb.DuckDBPyConnection", run: Run, audit_id: str) -> str | None:
    """Return why an audit cannot be asked of a run: it does not apply, or evidence is missing; None where it can."""
    audit = load_audit(audit_id)
    return audit.applies(run) or lacking(connection, run, _all_required(audit))


def _all_required(audit: Audit) -> tuple[str, ...]:
    return (*audit.requires, *(entry for name in audit.derived for entry in load_derived(name).requires))


def _check(
    audit_id: str,
    audit: Audit,
    sql: AuditSql,
    status: Status,
    *,
    reason: str | None,
    value: float | None = None,
    examined: int = 0,
    notes: tuple[str, ...] = (),
) -> Check:
    return Check(
        id=audit_id,
        status=status,
        value=value,
        limit=Limit(max=0.0),
        unit="offending rows",
        definition=f"{audit_id}@log/{audit.examines.split()[0]}",
        arm=None,
        rows_examined=examined,
        reason=reason,
        notes=notes,
        measures=audit.title,
        mend=audit.mend if status in _SEVERITIES and value else None,
        rows_command=("integrity", "--rows", audit_id) if value else None,
        sql=" ".join(line.strip() for line in sql.rows.splitlines() if not line.lstrip().startswith("--"))
        if value is not None
        else None,
    )


def _offending(connection: "duckdb.DuckDBPyConnection", sql: str) -> tuple[Any, int, list[Status], Counter[str]]:
    """Return the first rows, how many there are, which severities they have, and how many of each fault."""
    import pyarrow as pa

    reader = connection.sql(sql).to_arrow_reader(1 << 16)
    kept: list[Any] = []
    total, held = 0, 0
    severities: set[str] = set()
    faults: Counter[str] = Counter()
    for batch in reader:
        if held < ROWS_KEPT:
            kept.append(batch.slice(0, ROWS_KEPT - held))
            held += kept[-1].num_rows
        total += batch.num_rows
        severities |= set(_values(batch, "severity").unique().to_pylist()) if batch.num_rows else set()
        faults.update(
            {str(item["values"]): item["counts"] for item in _values(batch, "fault").value_counts().to_pylist()}
        )
    unknown = severities - set(_SEVERITIES) - {None}
    if unknown:
        raise ValueError(f"severity {sorted(unknown)} is none of {_SEVERITIES}")
    return pa.Table.from_batches(kept, reader.schema), total, _statuses(severities), faults


def _statuses(severities: set[str]) -> list[Status]:
    return [status for status in _SEVERITIES if status in severities] or ["fail"]


def _values(batch: Any, column: str) -> Any:
    import pyarrow as pa

    return batch.column(column) if column in batch.schema.names else pa.nulls(0, pa.string())


def _reason(total: int, faults: Counter[str]) -> str:
    kinds: Sequence[tuple[str, int]] = faults.most_common(6)
    named = ", ".join(f"{number:,} {fault}" for fault, number in kinds) + (", …" if len(faults) > 6 else "")
    return f"{total:,} offending row{'' if total == 1 else 's'}" + (f": {named}" if named else "")

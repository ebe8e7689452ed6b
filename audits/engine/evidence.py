"""Evidence: the rows behind a failing check, left in the run for whoever wants to look."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from audits.engine.check import Check
from audits.engine.judge import Question
from audits.engine.passes import CHECKED_SOURCES, pass_text
from audits.store.evidence import EvidenceFile, write_evidence
from audits.store.reader import Run, connect

ROWS_KEPT = 1000
SAMPLE_SEED = 0
# What names a row, in the order of the log; a table or view has some of them.
_KEY_COLUMNS = (
    "arm",
    "seed",
    "step",
    "update",
    "rollout_id",
    "position",
    "group_id",
    "checkpoint",
    "item_id",
    "sample",
)


@dataclass(frozen=True)
class _Rows:
    source: str
    where: str
    total: int
    table: Any

    @property
    def query(self) -> str:
        """The query that gives all of them."""
        return f"SELECT * FROM {self.source} WHERE {self.where}"


def leave_evidence(run: Run, pairs: Sequence[tuple[Question, Check]]) -> list[Check]:
    """Write `evidence/<id>.parquet` for each metric with a failing check, and return the checks with its path.

    The file holds at most 1,000 rows an arm, sampled by a hash of the row's key; its metadata hold the full count and
    the query that gives all rows. Where the run cannot be written to, nothing is left and the check says so.

    Args:
        run: the run.
        pairs: questions of the gate with their answers, in the order of the checks.

    Raises:
        AuditError: a file of the run is damaged.
    """
    checks = [check for _, check in pairs]
    failing = [place for place, check in enumerate(checks) if check.status == "fail" and check.rows_examined]
    for metric_id in dict.fromkeys(checks[place].id for place in failing):
        own = [place for place in failing if checks[place].id == metric_id]
        found = [_rows(run, *pairs[place]) for place in own]
        path, fault = None, None
        try:
            path = write_evidence(run.path, metric_id, _file(found))
        except OSError as error:
            fault = error.strerror or str(error)
        for place, rows in zip(own, found, strict=True):
            checks[place] = _with_evidence(checks[place], path, fault, rows)
    return checks


def _with_evidence(check: Check, path: str | None, fault: str | None, rows: _Rows) -> Check:
    if path is None:
        note = f"no evidence was left: the run cannot be written to ({fault})"
    else:
        note = f"evidence: {rows.table.num_rows:,} of {rows.total:,} rows, sampled with seed {SAMPLE_SEED}"
    return replace(check, evidence=path, notes=(*check.notes, f"{note}; all of them: {rows.query}"))


def _file(found: Sequence[_Rows]) -> EvidenceFile:
    import pyarrow as pa

    return EvidenceFile(
        table=pa.concat_tables([rows.table for rows in found], promote_options="permissive"),
        total_rows=sum(rows.total for rows in found),
        query="\nUNION ALL\n".join(rows.query for rows in found),
        sample_seed=SAMPLE_SEED,
    )


def _rows(run: Run, question: Question, check: Check) -> _Rows:
    source = question.metric.source
    where = f"{question.scope} AND ({_condition(question, check)})"
    with connect(run) as connection:
        columns = connection.sql(f"FROM {source} LIMIT 0").columns
        key = ", ".join(f'"{name}"' for name in _KEY_COLUMNS if name in columns)
        sql = pass_text("evidence").format(source=source, where=where, key=key, seed=SAMPLE_SEED, cap=ROWS_KEPT)
        (total,) = connection.execute(f"SELECT count(*) FROM {source} WHERE {where}").fetchall()[0]
        return _Rows(source, where, int(total), connection.sql(sql).to_arrow_table())


def _condition(question: Question, check: Check) -> str:
    """Return which rows show why a check failed: the invalid ones, those counted, or those that could have been."""
    metric, limit = question.metric, question.limit
    if check.value is None and metric.source in CHECKED_SOURCES:
        return "NOT is_valid"
    if not metric.is_share or not isinstance(check.value, float):
        return "true"
    too_few = limit.min is not None and check.value < limit.min
    return metric.fill(metric.blocks["candidates" if too_few else "counted"], question.parameters)

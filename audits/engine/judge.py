"""From a measured figure to a check: its status, the reason, and what stands beside it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from audits.engine.check import Check, Limit, Status
from audits.engine.measure import Measurement, measure, scope
from audits.engine.metric import Metric
from audits.store.reader import Run
from audits.store.schema import tables

if TYPE_CHECKING:
    import duckdb

_SEAL_ANOTHER = "seal a plan whose rule can act and whose checks can be answered; it names this one under supersedes"
_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth")


@dataclass(frozen=True)
class Question:
    """One metric asked of one arm, with the limit that the plan sets.

    Attributes:
        seeds: the training seeds that the plan gives this arm; other seeds that were logged do not count.
        n_steps: rollout steps of each seed that the gate rests on, from step 0.
    """

    connection: "duckdb.DuckDBPyConnection"
    run: Run
    metric: Metric
    parameters: Mapping[str, str]
    arm: str
    seeds: tuple[int, ...]
    n_steps: int
    update: int | None
    limit: Limit
    measures: str

    def measured(self, update: int | None) -> Measurement:
        """Measure the metric on the planned seeds and steps of the arm, on one update."""
        return measure(
            self.connection,
            self.metric,
            self.parameters,
            arm=self.arm,
            update=update,
            seeds=self.seeds,
            n_steps=self.n_steps,
        )


def answer(question: Question) -> Check:
    """Measure the metric and judge it. Evidence that is missing is `inconclusive`, a rule that cannot fire `fail`."""
    metric, run = question.metric, question.run
    check = Check(
        id=metric.id,
        status="inconclusive",
        value=None,
        limit=question.limit,
        unit=metric.header["unit"],
        definition=metric.fill(metric.header["definition"], question.parameters),
        arm=question.arm,
        rows_examined=0,
        measures=question.measures,
    )
    if not run.has(metric.table):
        return replace(
            check, reason=f"table {metric.table} was never logged in this run", mend=_provided_by(metric.table)
        )
    absent = _absent_columns(question)
    if absent:
        return replace(check, reason=f"column {absent[0]} was never logged", mend=_provided_by(metric.table))
    found = question.measured(question.update)
    check = replace(
        check,
        value=found.value,
        numerator=found.numerator,
        denominator=found.denominator,
        rows_examined=found.rows,
        over=metric.over,
        steps=found.steps,
        sql=found.sql,
    )
    if not found.rows or found.value is None:
        status, reason = _nothing_to_measure(question)
        mend = _SEAL_ANOTHER if status == "fail" else _provided_by(metric.table)
        return replace(check, status=status, reason=reason, mend=mend)
    if found.invalid:
        return replace(
            check,
            value=None,
            status="fail",
            reason=f"{found.invalid} of {found.rows} rows are NaN, infinite or a probability above 1: no figure",
            mend="find them: SELECT * FROM loss_tokens WHERE NOT is_valid",
        )
    check = replace(check, notes=tuple(_notes(question, found)))
    idle = _steps_without_the_update(question, found)
    if idle:
        return replace(check, status="fail", reason=idle)
    wanted = len(question.seeds) * question.n_steps
    if len(found.steps) < wanted:
        reason = f"only {len(found.steps)} of {wanted} planned steps hold a row to measure"
        return replace(check, status="inconclusive", reason=reason, mend="finish the run, or run it again")
    if not _inside(question, found):
        return replace(check, status="fail", reason=_why_outside(question, found))
    alone = [seed for seed in found.seeds if not question.limit.admits(seed.value)]
    if alone and metric.over != "every_step":
        listed = ", ".join(f"seed {seed.seed} is at {seed.value:g}" for seed in alone)
        return replace(check, status="fail", reason=f"inside the limit only together with the other seeds: {listed}")
    warnings = list(_warnings(question, found))
    return replace(check, status="warn" if warnings else "pass", reason="; ".join(warnings) or None)


def cannot_ask(metric: Metric, parameters: Mapping[str, str], limit: Limit, measures: str, reason: str) -> Check:
    """Return the check that the plan asks in a way that no run can answer: `inconclusive`, never left out."""
    return Check(
        id=metric.id,
        status="inconclusive",
        value=None,
        limit=limit,
        unit=metric.header["unit"],
        definition=metric.fill(metric.header["definition"], parameters),
        arm=None,
        rows_examined=0,
        reason=reason,
        measures=measures,
        mend=_SEAL_ANOTHER,
    )


def _absent_columns(question: Question) -> list[str]:
    """Return the optional columns that the metric needs and of which the arm has no value."""
    absent = []
    for need in question.metric.needs:
        table, name = need.split(".")
        if next(column.required for column in tables()[table].columns if column.name == name):
            continue
        query = f'SELECT count("{name}") FROM {table} WHERE arm = ?'
        (held,) = question.connection.execute(query, [question.arm]).fetchall()[0]
        absent += [] if held else [need]
    return absent


def _provided_by(table: str) -> str:
    return f"{tables()[table].written_by} writes table {table}; an importer does where its source holds it"


def _inside(question: Question, found: Measurement) -> bool:
    if question.metric.over == "every_step":
        return all(question.limit.admits(step.value) for step in found.steps)
    return found.value is not None and question.limit.admits(found.value)


def _nothing_to_measure(question: Question) -> tuple[Status, str]:
    arm, update = question.arm, question.update
    (last,) = question.connection.execute(
        f'SELECT max("update") FROM {question.metric.table} WHERE arm = ?', [arm]
    ).fetchone() or (None,)
    if last is None:
        return "inconclusive", f"no row of arm {arm} was logged in table {question.metric.table}"
    executed = f"{int(last) + 1} update{'' if last == 0 else 's'}"
    return "fail", (
        f"the rule cannot fire: the check is on the {_ordinal(update)} update of a batch, and arm {arm} executed "
        f"{executed} a batch. On the first update the policy is still the sampler's, so that neither mask "
        f"nor clip can act; set updates_per_batch to {(update or 0) + 1} or more"
    )


def _steps_without_the_update(question: Question, found: Measurement) -> str | None:
    """Return what is wrong where some steps never came to the update: a mean over the others would hide them."""
    if question.update is None:
        return None
    where = scope(question.arm, None, question.seeds, question.n_steps)
    query = f"SELECT count(DISTINCT (seed, step)) FROM {question.metric.table} WHERE {where}"
    (logged,) = question.connection.execute(query).fetchall()[0]
    idle = int(logged) - len(found.steps)
    if idle < 1:
        return None
    return f"the rule could not fire in {idle} of {logged} steps: they executed no {_ordinal(question.update)} update"


def _ordinal(update: int | None) -> str:
    number = update or 0
    return _ORDINALS[number] if number < len(_ORDINALS) else f"{number + 1}th"


def _why_outside(question: Question, found: Measurement) -> str:
    metric, limit = question.metric, question.limit
    if found.numerator == 0 and metric.is_share:
        if found.reach is None:
            return "the rule did not fire: no token's advantage pushed it further from the sampler"
        caption = metric.fill(metric.captions["reach"], question.parameters)
        return f"the rule did not fire: the largest {caption} was {found.reach:.3g}"
    if metric.over == "every_step":
        outside = [step for step in found.steps if not limit.admits(step.value)]
        first = outside[0].value
        shown = first if isinstance(first, str) else f"{first:g}"
        return f"{len(outside)} of {len(found.steps)} batches are outside; the first is step {outside[0].step}: {shown}"
    if limit.min is not None and isinstance(found.value, float) and found.value < limit.min:
        return f"below the smallest value the plan allows, {limit.min:g}"
    return f"above the largest value the plan allows, {limit.max:g}"


def _notes(question: Question, found: Measurement) -> Iterator[str]:
    if found.beside is not None:
        yield f"{question.metric.captions['beside']}: {found.beside:.5f}"
    if question.metric.is_share and found.steps:
        idle = sum(step.value == 0 for step in found.steps)
        yield f"{idle} of {len(found.steps)} steps at zero"
    if _first_update_factor(question) is not None:
        first = _at_first_update(question)
        if first is not None:
            yield f"at the first update (no drift yet: mismatch of sampler and trainer): {first:.3g}"


def _warnings(question: Question, found: Measurement) -> Iterator[str]:
    if question.metric.is_share and found.steps:
        idle = sum(step.value == 0 for step in found.steps)
        if 2 * idle > len(found.steps):
            yield f"the mean rests on few steps: {idle} of {len(found.steps)} are at zero"
    factor = _first_update_factor(question)
    first = _at_first_update(question) if factor is not None else None
    if factor is not None and first is not None and isinstance(found.value, float) and found.value < factor * first:
        yield (
            f"only {found.value / first:.2f} times the first update's {first:.3g}, which is noise between sampler and "
            f"trainer: below {factor:g} times, the limit may be passed by noise alone"
        )


def _first_update_factor(question: Question) -> float | None:
    text = question.metric.header.get("warn below first update times")
    return float(text) if text is not None and question.update else None


def _at_first_update(question: Question) -> float | None:
    first = question.measured(0)
    return first.value if isinstance(first.value, float) else None

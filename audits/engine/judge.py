"""From a measured figure to a check: its status, the reason, and what stands beside it."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from audits.engine.check import Check, Limit
from audits.engine.figure import invalid_reason, unmeasured, with_figures
from audits.engine.measure import Measurement, mean_of, measure
from audits.engine.metric import Metric
from audits.engine.passes import CHECKED_SOURCES
from audits.engine.request import Request, scope
from audits.engine.rounding import rounding_notes
from audits.engine.updates import updates_a_batch
from audits.store.reader import Run, connect
from audits.store.schema import tables
from audits.store.status import Status

_SEAL_ANOTHER = "seal a plan whose rule can act and whose checks can be answered; it names this one under supersedes"
_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth")


@dataclass(frozen=True)
class Question:
    """One metric asked of one arm, with the limit that the plan sets.

    Attributes:
        seeds: the training seeds that the plan gives this arm; other seeds that were logged do not count.
        n_steps: rollout steps of each seed that the gate rests on, from step 0.
    """

    run: Run
    metric: Metric
    parameters: Mapping[str, str]
    arm: str
    seeds: tuple[int, ...]
    n_steps: int
    update: int | None
    limit: Limit
    measures: str

    @property
    def scope(self) -> str:
        """The WHERE condition of the rows that are asked for."""
        return scope(self.arm, self.update, self.seeds, self.n_steps)

    @cached_property
    def missing(self) -> Check | None:
        """The check that cannot be measured because a table or a column was never logged, None where it can."""
        table = self.metric.table
        if not self.run.has(table):
            reason = f"table {table} was never logged in this run"
        else:
            absent = _absent_columns(self)
            if not absent:
                return None
            reason = f"column {absent[0]} was never logged"
        return replace(_asked(self), reason=reason, mend=_provided_by(table))

    @property
    def first_update_factor(self) -> float | None:
        """How many times the first update's figure this one must be; None where they are not compared."""
        text = self.metric.header.get("warn below first update times")
        return float(text) if text is not None and self.update else None

    @cached_property
    def requests(self) -> tuple[Request, ...]:
        """The metric on the planned seeds and steps of the arm, and where it is compared, on the first update."""
        if self.missing is not None:
            return ()
        updates = [self.update] if self.first_update_factor is None else [self.update, 0]
        return tuple(
            Request(self.metric, self.parameters, self.arm, update, self.seeds, self.n_steps, profile_only=number > 0)
            for number, update in enumerate(updates)
        )

    def answer(self, found: Sequence[Measurement]) -> Check:
        """Judge what was measured. Evidence that is missing is `inconclusive`, a rule that could not fire `fail`."""
        if self.missing is not None:
            return self.missing
        return _judge(self, found[0], found[1] if len(found) > 1 else None)


def _asked(question: Question) -> Check:
    return unmeasured(
        question.metric, question.parameters, arm=question.arm, limit=question.limit, measures=question.measures
    )


def _judge(question: Question, found: Measurement, first: Measurement | None) -> Check:
    metric = question.metric
    check = with_figures(_asked(question), metric, found)
    if not found.rows or (found.value is None and not found.invalid):
        status, reason = _nothing_to_measure(question)
        mend = _SEAL_ANOTHER if status == "fail" else _provided_by(metric.table)
        return replace(check, status=status, reason=reason, mend=mend)
    if found.invalid:
        return replace(
            check,
            value=None,
            status="fail",
            reason=invalid_reason(found),
            mend=f"find them: SELECT * FROM {metric.source} WHERE NOT is_valid",
        )
    if isinstance(found.value, float) and not math.isfinite(found.value):
        reason = (
            "the logged numbers are finite, and what is computed of them overflows: no figure"
            if metric.source in CHECKED_SOURCES
            else f"a number of table {metric.table} is NaN or infinite, or their sum overflows: no figure"
        )
        return replace(check, value=None, status="fail", reason=reason, mend=f"find them: {found.sql}")
    check = replace(check, notes=tuple(_notes(question, found, first)))
    wanted = len(question.seeds) * question.n_steps
    if len(found.steps) < wanted:
        idle = _steps_without_the_update(question, found)
        if idle:
            return replace(check, status="fail", reason=idle)
        reason = f"only {len(found.steps)} of {wanted} planned steps hold a row to measure"
        return replace(check, status="inconclusive", reason=reason, mend="finish the run, or run it again")
    if not _inside(question, found):
        return replace(check, value=_furthest(question, found), status="fail", reason=_why_outside(question, found))
    alone = [seed for seed in found.seeds if not question.limit.admits(seed.value)]
    if alone and metric.over != "every_step":
        listed = ", ".join(f"seed {seed.seed} is at {seed.value:g}" for seed in alone)
        return replace(check, status="fail", reason=f"inside the limit only together with the other seeds: {listed}")
    warnings = list(_warnings(question, found, first))
    return replace(check, status="warn" if warnings else "pass", reason="; ".join(warnings) or None)


def cannot_ask(metric: Metric, parameters: Mapping[str, str], limit: Limit, measures: str, reason: str) -> Check:
    """Return the check that the plan asks in a way that no run can answer: `inconclusive`, never left out."""
    check = unmeasured(metric, parameters, arm=None, limit=limit, measures=measures)
    return replace(check, reason=reason, mend=_SEAL_ANOTHER)


def _absent_columns(question: Question) -> list[str]:
    """Return the optional columns that the metric needs and of which the arm has no value."""
    optional = [need for need in question.metric.needs if not _is_required(need)]
    if not optional:
        return []
    with connect(question.run) as connection:
        counts = ", ".join(f'count("{need.split(".")[1]}")' for need in optional)
        query = f"SELECT {counts} FROM {question.metric.table} WHERE arm = ?"
        held = connection.execute(query, [question.arm]).fetchall()[0]
    return [need for need, count in zip(optional, held, strict=True) if not count]


def _is_required(need: str) -> bool:
    table, name = need.split(".")
    return next(column.required for column in tables()[table].columns if column.name == name)


def _provided_by(table: str) -> str:
    return f"table {table} is written by {tables()[table].written_by}; an importer does it where its source holds it"


def _inside(question: Question, found: Measurement) -> bool:
    if question.metric.over == "every_step":
        return all(question.limit.admits(step.value) for step in found.steps)
    return found.value is not None and question.limit.admits(found.value)


def _furthest(question: Question, found: Measurement) -> float | str | None:
    """Return the figure of the step furthest outside, where each step has to keep the limit; else the figure."""
    outside = [step.value for step in found.steps if not question.limit.admits(step.value)]
    if question.metric.over != "every_step" or isinstance(found.value, str):
        return found.value
    return max((float(value) for value in outside), key=question.limit.distance)


def _nothing_to_measure(question: Question) -> tuple[Status, str]:
    arm, update, table = question.arm, question.update, question.metric.table
    count = updates_a_batch(question.run, table, arm, question.seeds)
    if count is None or update is None or count > update:
        return "inconclusive", f"no row of arm {arm} with a planned seed and step was logged in table {table}"
    executed = f"{count} update{'' if count == 1 else 's'}"
    return "fail", (
        f"the rule cannot fire: the check is on the {_ordinal(update)} update of a batch, and arm {arm} executed "
        f"{executed} a batch. On the first update the policy is still the sampler's, so that neither mask "
        f"nor clip can act; set updates_per_batch to {update + 1} or more"
    )


def _steps_without_the_update(question: Question, found: Measurement) -> str | None:
    """Return what is wrong where some steps never came to the update: a mean over the others would hide them."""
    if question.update is None:
        return None
    where = scope(question.arm, None, question.seeds, question.n_steps)
    query = f"SELECT count(DISTINCT (seed, step)) FROM {question.metric.table} WHERE {where}"
    with connect(question.run) as connection:
        (logged,) = connection.execute(query).fetchall()[0]
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
        reach = measure(question.run, replace(question.requests[0], with_reach=True)).reach
        if reach is None:
            return "the rule did not fire: no token's advantage pushed it further from the sampler"
        caption = metric.fill(metric.captions["reach"], question.parameters)
        return f"the rule did not fire: the largest {caption} was {reach:.3g}"
    if metric.over == "every_step":
        outside = [step for step in found.steps if not limit.admits(step.value)]
        first = outside[0].value
        shown = first if isinstance(first, str) else f"{first:g}"
        return f"{len(outside)} of {len(found.steps)} batches are outside; the first is step {outside[0].step}: {shown}"
    if limit.one_of is not None:
        return "none of the values that the plan allows"
    if limit.min is not None and isinstance(found.value, float) and found.value < limit.min:
        return f"below the smallest value the plan allows, {limit.min:g}"
    return f"above the largest value the plan allows, {limit.max:g}"


def _notes(question: Question, found: Measurement, first: Measurement | None) -> Iterator[str]:
    if found.beside is not None:
        yield f"{question.metric.captions['beside']}: {found.beside:.5f}"
    if question.metric.is_share and found.steps:
        idle = sum(step.value == 0 for step in found.steps)
        yield f"{idle} of {len(found.steps)} steps at zero"
    before_drift = _mean_of_steps(first)
    if before_drift is not None:
        yield (f"at the first update (no drift yet: only their mismatch), mean of the steps: {before_drift:.3g}")
    yield from rounding_notes(question.run, question.requests[0], found)


def _warnings(question: Question, found: Measurement, first: Measurement | None) -> Iterator[str]:
    if question.metric.is_share and found.steps:
        idle = sum(step.value == 0 for step in found.steps)
        if 2 * idle > len(found.steps) and not question.limit.admits(0.0):
            yield f"the mean rests on few steps: {idle} of {len(found.steps)} are at zero"
    factor, before_drift, drifted = question.first_update_factor, _mean_of_steps(first), _mean_of_steps(found)
    if factor is not None and before_drift and drifted is not None and drifted < factor * before_drift:
        yield (
            f"the mean of the steps is only {drifted / before_drift:.2f} times the first update's {before_drift:.3g}, "
            f"which is noise between sampler and trainer: below {factor:g} times, noise alone may pass the limit"
        )


def _mean_of_steps(found: Measurement | None) -> float | None:
    """Return the mean over steps, the same on both updates whatever the metric does to pool its steps."""
    return mean_of(float(step.value) for step in found.steps if not isinstance(step.value, str)) if found else None

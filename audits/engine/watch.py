"""Watched metrics: figures without a limit of the plan, of which an unexpected movement over steps is a warning."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from analysis.onset import REFERENCE_POINTS, SUSTAINED_POINTS, Onset, find_onset
from audits.engine.check import Check, StepValue
from audits.engine.figure import invalid_reason, unmeasured, with_figures
from audits.engine.measure import Measurement
from audits.engine.metric import Metric, Watch, load_metric, metric_ids
from audits.engine.request import Request
from audits.engine.rounding import rounding_notes
from audits.engine.updates import updates_a_batch
from audits.store.reader import Run
from audits.store.schema import tables


def watched_metrics(*, in_gate: bool = False) -> tuple[Metric, ...]:
    """Return the metrics whose header has a `watch` line, sorted by id; those of the gate only where asked."""
    loaded = (load_metric(metric_id) for metric_id in metric_ids() if not metric_id.endswith("_qNN"))
    return tuple(metric for metric in loaded if metric.watch is not None and (metric.watch.in_gate or not in_gate))


@dataclass(frozen=True, eq=False)
class Watched:
    """One watched metric of one arm: is there an onset of an unexpected movement in any seed?

    A movement is `warn`: no limit was registered. Too few steps to see one is `not_applicable`; rows that are no
    numbers are `fail`.

    Attributes:
        seeds: training seeds, None for all that were logged.
        n_steps: steps 0 to n_steps - 1, None for all.
    """

    run: Run
    metric: Metric
    watch: Watch
    arm: str
    parameters: Mapping[str, str]
    seeds: tuple[int, ...] | None = None
    n_steps: int | None = None

    @cached_property
    def requests(self) -> tuple[Request, ...]:
        """The metric on its own update, every seed and step."""
        metric = self.metric
        return (Request(metric, self.parameters, self.arm, metric.default_update, self.seeds, self.n_steps),)

    def answer(self, found: Sequence[Measurement]) -> Check:
        """Return the check with the onset of each seed that moved."""
        return _check(self, found[0])


def watch_asks(
    run: Run,
    metrics: Sequence[Metric],
    seeds: Mapping[str, tuple[int, ...] | None],
    parameters: Mapping[str, str],
    n_steps: int | None = None,
) -> list[Watched]:
    """Return what to ask of each arm for each watched metric whose table was logged and whose parameters are known.

    Args:
        run: the run.
        metrics: each with a `watch` line in its header; others are passed over.
        seeds: training seeds by arm, None for all that were logged.
        parameters: text of the loss parameters by name.
        n_steps: steps 0 to n_steps - 1, None for all.
    """
    return [
        Watched(run, metric, metric.watch, arm, parameters, own, n_steps)
        for metric in metrics
        for arm, own in seeds.items()
        if metric.watch is not None and run.has(metric.table) and metric.parameters <= set(parameters)
    ]


def _check(asked: Watched, found: Measurement) -> Check:
    metric, watch, arm = asked.metric, asked.watch, asked.arm
    warns = f"a warning where it {watch.direction} by {watch.by:g} or more"
    measures = f"{metric.header['name']}: watched, {warns}"
    check = with_figures(unmeasured(metric, asked.parameters, arm=arm, limit=None, measures=measures), metric, found)
    notes = rounding_notes(asked.run, asked.requests[0], found)
    check = replace(check, notes=(f"watched: {warns}", *notes))
    if not found.rows:
        executed = updates_a_batch(asked.run, metric.table, arm, asked.seeds)
        if executed is not None and metric.default_update is not None and executed <= metric.default_update:
            reason = (
                f"the figure is of update {metric.default_update} of a batch (0-based), and {executed} was executed"
            )
            return replace(check, value=None, status="not_applicable", reason=reason)
        written_by = tables()[metric.table].written_by
        update = "" if metric.default_update is None else f" on update {metric.default_update}"
        reason = f"no row of arm {arm}{update} in table {metric.table}; it is written by {written_by}"
        return replace(check, value=None, reason=reason)
    if found.invalid:
        return replace(check, value=None, status="fail", reason=invalid_reason(found))
    series = _by_seed(found.steps)
    moved = [
        _sentence(steps, onset)
        for steps in series
        if (onset := find_onset([float(step.value) for step in steps], by=watch.by, direction=watch.direction))
    ]
    if watch.above is not None and isinstance(found.value, float) and found.value > watch.above:
        moved.insert(0, f"{found.value:.3g} is above {watch.above:g}: {metric.header['above means']}")
    lost = len(found.steps) - sum(len(steps) for steps in series)
    if lost:
        moved.append(
            f"{lost} of {len(found.steps)} steps have no figure: their logged numbers are finite, and what is computed "
            "of them overflows"
        )
    if moved:
        return replace(check, status="warn", reason="; ".join(moved), mend=metric.header.get("if it moves"))
    needed, most = REFERENCE_POINTS + SUSTAINED_POINTS, max((len(steps) for steps in series), default=0)
    if most < needed:
        reason = f"a movement needs {needed} steps of a seed to be seen, {most} were logged"
        return replace(check, status="not_applicable", reason=reason)
    return replace(check, status="pass")


def _by_seed(steps: Sequence[StepValue]) -> list[list[StepValue]]:
    """Return each seed's steps with a finite figure, in their order."""
    finite = [step for step in steps if not isinstance(step.value, str) and math.isfinite(step.value)]
    seeds = sorted({step.seed for step in finite})
    return [sorted((step for step in finite if step.seed == seed), key=lambda step: step.step) for seed in seeds]


def _sentence(steps: Sequence[StepValue], onset: Onset) -> str:
    step = steps[onset.index]
    earlier = f"the median of its first {REFERENCE_POINTS} steps was {onset.center:.3g}"
    reach = f"[{onset.lower:.3g}, {onset.upper:.3g}]"
    return (
        f"seed {step.seed}: {'rose' if onset.rises else 'fell'} out of its earlier range from step {step.step} on: "
        f"{earlier}, range {reach}; {onset.first:.3g} at the onset, {onset.last:.3g} at the end"
    )

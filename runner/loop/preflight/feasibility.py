"""Does the full run fit into the plan's budget? A timing pilot predicts its wall time and GPU-hours.

The pilot's own log is read where it has run; else 3 steps of every arm are run here, logged nowhere but in the
result. Step times are taken as log-normal, with Cox's interval and Student's t (`analysis.step_time`). Training,
evaluation and start-up are counted apart: evaluations are scaled by their items, and a step's share of the wall time
is what it was under the same concurrency. The whole interval above the budget fails, an interval on both sides warns.
"""

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from analysis.plan.model import Plan
from analysis.step_time import Forecast, forecast_total
from audits.engine.timing import PhaseTime, phase_times
from audits.store.manifest import MANIFEST_NAME
from audits.store.preflights import Comparison
from audits.store.reader import Run, open_run
from audits.store.seal import SealedPlan
from audits.store.status import Status
from runner.loop.launch import Launch, execute_on
from runner.loop.phases import OUTSIDE
from runner.loop.probes.findings import finite, open_question
from runner.loop.probes.service import Preparation

TIMED_STEPS = 3
TIMED_ITEMS = 32
LEVEL = 0.95
METHOD = f"{LEVEL:.0%} interval of the mean of log-normal step times (Cox, Student's t)"


@dataclass(frozen=True)
class Timing:
    """What was measured.

    Attributes:
        source: which run.
        steps: seconds of each step of each arm, all its phases.
        overlap: wall time of the training over the sum of its steps: below 1 where arms ran side by side.
        evaluations: seconds of each evaluation, per item.
        rest: seconds of everything else: start-up, checkpoints outside steps.
    """

    source: str
    steps: Sequence[float]
    overlap: float
    evaluations: Sequence[float]
    rest: float


def run(preparation: Preparation) -> Iterator[Comparison]:
    """Yield the predicted wall time and GPU-hours against the plan's budget.

    Raises:
        AuditError: the service refused a request, or a file of the pilot is damaged.
    """
    plan = preparation.sealed.plan
    timing = _timing(preparation)
    if not timing.steps:
        yield open_question("budget", "wall_minutes", f"{timing.source} logged no step's times")
        return
    parts = _parts(plan, timing)
    total = parts["training"].plus(parts["evaluation"]).plus(parts["rest"])
    notes = [f"{name} {_span(part.times(1 / 60))} minutes" for name, part in parts.items()]
    gpus = float(preparation.settings.get("gpus", 1))
    hours = total.times(gpus / 3600) if gpus else Forecast(0.0, 0.0, 0.0, total.n)
    if plan.budget is None:
        status: Status = "inconclusive" if plan.preflights.feasibility.required else "not_applicable"
        said = f"the plan has no budget; the full run is predicted to take {_span(total.times(1 / 60))} minutes"
        yield open_question("budget", "wall_minutes", said, reference=METHOD, status=status)
        return
    yield _against("wall_minutes", total.times(1 / 60), plan.budget.max_wall_minutes, timing, notes)
    stated = [f"the wall time times {gpus:g} GPU(s), the plan's setting `gpus`"]
    yield _against("gpu_hours", hours, plan.budget.gpu_hours, timing, stated)


def _timing(preparation: Preparation) -> Timing:
    """Return the times of the pilot, or of a few steps that are run for it."""
    run = preparation.run
    if (run / MANIFEST_NAME).exists():
        pilot = open_run(run)
        if pilot.manifest.status == "complete":
            return _measured(pilot, preparation.sealed.plan, f"the pilot {run}")
    preparation.note(f"feasibility: {TIMED_STEPS} timed steps of each arm")
    plan = _timing_plan(preparation.sealed.plan)
    with tempfile.TemporaryDirectory(prefix="audit-timing-") as folder:
        sealed = SealedPlan(plan, plan.model_dump_json().encode(), preparation.sealed.sha256)
        launch = Launch("pilot", sealed, Path(folder) / "timing")
        made = execute_on(launch, nullcontext(preparation.backend), preparation.progress)
        return _measured(open_run(made), plan, f"{TIMED_STEPS} timed steps of each arm")


def _timing_plan(plan: Plan) -> Plan:
    """Return the plan with as many pilot steps and validation items as a timing needs, and no budget to stop it."""
    gate = plan.activation_gate.model_copy(update={"pilot_steps": TIMED_STEPS})
    task = plan.task.model_copy(update={"validation_items": min(plan.task.validation_items, TIMED_ITEMS)})
    return plan.model_copy(update={"activation_gate": gate, "task": task, "budget": None})


def _measured(run: Run, plan: Plan, source: str) -> Timing:
    phases = phase_times(run)
    inside = [phase for phase in phases if phase.step != OUTSIDE]
    seconds: dict[tuple[str, int, int], float] = {}
    for phase in inside:
        key = (phase.arm, phase.seed, phase.step)
        seconds[key] = seconds.get(key, 0.0) + phase.seconds
    steps = [value for value in seconds.values() if value > 0.0]
    items = plan.task.validation_items * plan.evaluation.samples_per_item
    outside = [phase for phase in phases if phase.step == OUTSIDE]
    return Timing(
        source=source,
        steps=steps,
        overlap=_covered(inside) / sum(steps) if steps else 1.0,
        evaluations=[phase.seconds / items for phase in outside if phase.phase == "eval" and phase.seconds > 0.0],
        rest=_start_up(run, phases) + sum(phase.seconds for phase in outside if phase.phase != "eval"),
    )


def _start_up(run: Run, phases: Sequence[PhaseTime]) -> float:
    """Return the seconds between the run's start and its first phase: models are loaded, prompts rendered."""
    first = min((phase.started_at for phase in phases), default=None)
    begun = datetime.fromisoformat(run.manifest.started_at)
    return 0.0 if first is None else max(0.0, (first - begun).total_seconds())


def _covered(phases: Sequence[PhaseTime]) -> float:
    """Return the wall time that steps cover together, the pauses between one arm's phases included."""
    spans = []
    for key in {(phase.arm, phase.seed) for phase in phases}:
        own = [phase for phase in phases if (phase.arm, phase.seed) == key]
        begins = [phase.started_at.timestamp() for phase in own]
        spans.append((min(begins), max(b + phase.seconds for b, phase in zip(begins, own, strict=True))))
    covered, end = 0.0, float("-inf")
    for begin, until in sorted(spans):
        covered += max(0.0, until - max(begin, end))
        end = max(end, until)
    return covered


def _parts(plan: Plan, timing: Timing) -> dict[str, Forecast]:
    steps = plan.rollout.rollout_batches * len(plan.arms)
    evaluated = (1 + len(plan.arms)) * plan.task.test_items * plan.evaluation.samples_per_item
    curve = plan.evaluation.curve
    if curve is not None:
        points = 1 + len(plan.arms) * -(-plan.rollout.rollout_batches // curve.every_steps)
        evaluated += points * (curve.items or plan.task.validation_items) * plan.evaluation.samples_per_item
    nothing = Forecast(0.0, 0.0, 0.0, 0)
    evaluations = 1 + len(plan.arms)
    return {
        "training": forecast_total(timing.steps, steps, LEVEL).times(timing.overlap),
        "evaluation": forecast_total(timing.evaluations, evaluations, LEVEL).times(evaluated / evaluations)
        if timing.evaluations
        else nothing,
        "rest": Forecast(timing.rest, timing.rest, timing.rest, 1),
    }


def _against(name: str, forecast: Forecast, budget: float, timing: Timing, notes: list[str]) -> Comparison:
    status: Status = "pass"
    reason = None
    if forecast.lower > budget:
        status, reason = "fail", f"the whole interval {_span(forecast)} is above the budget of {budget:g}"
    elif forecast.upper > budget:
        status, reason = "warn", f"the interval {_span(forecast)} holds the budget of {budget:g}"
    return Comparison(
        path="budget",
        metric=name,
        status=status,
        value=finite(forecast.expected),
        unit={"wall_minutes": "minutes", "gpu_hours": "GPU-hours"}[name],
        limit={"max": budget},
        reference=METHOD,
        n=len(timing.steps),
        reason=reason,
        notes=[f"interval {_span(forecast)}", f"from {timing.source}", *notes],
        measures="predicted for the full run, without the pilot",
        mend="plan fewer batches, items or tokens, or a larger budget" if status in {"fail", "warn"} else None,
    )


def _span(forecast: Forecast) -> str:
    return f"{forecast.expected:.3g} [{forecast.lower:.3g}, {forecast.upper:.3g}]"

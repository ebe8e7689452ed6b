"""Which steps of a run are whole, and which are missing."""

from analysis.plan.model import Plan
from audits.engine.check import Check, Limit
from audits.store.layout import partition_of, step_of
from audits.store.reader import Run

_STEP_TABLES = frozenset({"tokens", "rollouts", "updates", "phases"})


def whole_steps(run: Run) -> dict[tuple[str, int], list[int]]:
    """Return the steps of each (arm, seed) for which every step table has its finished file."""
    tables_by_step: dict[tuple[str, int, int], set[str]] = {}
    for file in run.files:
        keys, step = partition_of(file.path), step_of(file.path)
        if keys is not None and step is not None:
            tables_by_step.setdefault((*keys, step), set()).add(file.table)
    steps: dict[tuple[str, int], list[int]] = {}
    for (arm, seed, step), found in sorted(tables_by_step.items()):
        if found >= _STEP_TABLES:
            steps.setdefault((arm, seed), []).append(step)
    return steps


def check_steps(run: Run, plan: Plan, wanted: int) -> Check:
    """Check that every arm of the plan logged the planned number of whole steps.

    Args:
        run: the run.
        plan: names the arms.
        wanted: steps that each arm must have.
    """
    found = whole_steps(run)
    missing = []
    for arm in plan.arms:
        steps = found.get((arm.condition, arm.seed), [])
        absent = sorted(set(range(wanted)) - set(steps))
        if absent:
            listed = ", ".join(str(step) for step in absent[:10]) + (", …" if len(absent) > 10 else "")
            missing.append(f"{arm.name}: {len(steps)} of {wanted} steps are whole, missing {listed}")
    counts = [len(found.get((arm.condition, arm.seed), [])) for arm in plan.arms]
    reason = None
    if missing:
        reason = "; ".join(missing)
        if run.manifest.status != "complete":
            reason += f" (run.json says the run is {run.manifest.status})"
    return Check(
        id="executed_steps",
        status="inconclusive" if missing else "pass",
        value=float(min(counts)),
        limit=Limit(min=float(wanted)),
        unit="rollout steps",
        definition="whole_steps@log/arms",
        arm=None,
        rows_examined=sum(counts),
        denominator=len(counts),
        reason=reason,
        measures="rollout steps of which every table was written whole, smallest over the arms",
        mend=_mend(run) if missing else None,
    )


def _mend(run: Run) -> str:
    if run.manifest.kind == "imported":
        return "import a source that holds rollouts, tokens, updates and phases of every planned step"
    return "the same `audit run` with --resume goes on from the last whole step"

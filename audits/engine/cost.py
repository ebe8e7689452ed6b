"""What a run cost: time and tokens by phase, wall time against the plan's budget and against what was predicted."""

from dataclasses import dataclass

from analysis.plan.model import Budget
from audits.engine.pilot_evidence import pilot_of
from audits.store.manifest import Manifest
from audits.store.preflights import Comparison, read_result
from audits.store.reader import Run, connect

FEASIBILITY = "feasibility"
TABLES = ("phases", "rollouts", "updates", "evals")
"""What the view `phase_costs` reads."""


@dataclass(frozen=True)
class PhaseCost:
    """One phase of one arm and seed, all its steps together.

    Attributes:
        times: how often it was logged.
        seconds: wall time of them together; None where no time was logged.
        tokens: sampled completion tokens (sample, eval) or loss tokens over all updates (train); None for others.
    """

    arm: str
    seed: int
    phase: str
    times: int
    seconds: float | None
    tokens: int | None


@dataclass(frozen=True)
class Cost:
    """What a run cost.

    Attributes:
        phases: by arm, seed and phase; arms may have run side by side, so that their times overlap.
        wall_seconds: time at work, interruptions left out; None where it was not recorded.
        pilot_wall_seconds: of the pilot that a full run rests on; None where there is none or it was not recorded.
        gpus: how many GPUs the service is taken to hold; None where it was not recorded.
        budget: the plan's; None where it has none.
        predicted: the feasibility preflight's figures for the full run, `wall_minutes` and `gpu_hours`.
        logged: which of the tables behind the phases hold a row.
    """

    phases: tuple[PhaseCost, ...]
    wall_seconds: float | None
    pilot_wall_seconds: float | None
    gpus: float | None
    budget: Budget | None
    predicted: tuple[Comparison, ...]
    logged: tuple[str, ...]


def cost_of(run: Run) -> Cost:
    """Return what a run cost, as far as it was logged.

    Raises:
        AuditError: a file of the run or of its pilot is damaged.
    """
    columns = "arm, seed, phase, times, seconds, tokens"
    with connect(run) as connection:
        rows = connection.execute(
            f"SELECT {columns} FROM phase_costs WHERE seconds IS NOT NULL OR tokens IS NOT NULL ORDER BY ALL"
        ).fetchall()
    pilot = pilot_of(run)
    feasibility = None if pilot is None else read_result(pilot.path, FEASIBILITY)
    return Cost(
        phases=tuple(PhaseCost(*row) for row in rows),
        wall_seconds=run.manifest.wall_seconds,
        pilot_wall_seconds=None if pilot is None or pilot.path == run.path else pilot.manifest.wall_seconds,
        gpus=_gpus(run.manifest),
        budget=run.sealed.plan.budget if run.sealed is not None else None,
        predicted=() if feasibility is None else tuple(feasibility.comparisons),
        logged=tuple(table for table in TABLES if run.has(table)),
    )


def _gpus(manifest: Manifest) -> float | None:
    options = manifest.executed.get("options")
    stated = options.get("gpus") if isinstance(options, dict) else None
    return float(stated) if isinstance(stated, int | float) and not isinstance(stated, bool) else None

"""The learning-rate grid: a short pilot a rate, all arms alike, scored on validation items only.

A rate's pilot runs a plan of its own: the plan that is swept with this one rate, fewer steps and no grid, which names
the swept plan as the one that it replaces. The swept plan does not change. Adopting a rate means a new plan.
"""

import json
import math
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from analysis.errors import AuditError
from analysis.learning_rate import RULE, ArmScore, Choice, RateTrial, choose, mean_score
from analysis.plan.lint import blocking
from analysis.plan.model import Plan
from audits.engine.curve import CheckpointScore, checkpoint_scores
from audits.engine.gate import evaluate_gate
from audits.store.durable import write_whole
from audits.store.reader import open_run
from audits.store.seal import SealedPlan, seal_text
from audits.store.sweeps import SWEEP_NAME
from runner.loop.backend import Backend
from runner.loop.evaluation import BASE_ARM, FINAL_CHECKPOINT
from runner.loop.launch import execute_on, prepare
from runner.loop.progress import Progress

SCHEMA_VERSION = 1
GRID_LINT = "arms_differ_in_one_switch"


@dataclass(frozen=True)
class Sweep:
    """What a sweep found.

    Attributes:
        plan_sha256: of the plan that was swept.
        conditions: baseline and treatment.
        base: the base model's score on the same items.
        trials: one a rate, from the smallest.
        runs: the run directory of each rate, relative to the sweep's folder.
        choice: by the rule.
    """

    plan_sha256: str
    conditions: tuple[str, ...]
    base: CheckpointScore | None
    trials: tuple[RateTrial, ...]
    runs: Mapping[float, str]
    choice: Choice

    def as_json(self) -> dict[str, Any]:
        """Return the table for `sweep.json` and `--format json`; a score that is not a number is null."""
        return {
            "schema_version": SCHEMA_VERSION,
            "plan_sha256": self.plan_sha256,
            "split": "validation",
            "rule": RULE,
            "conditions": list(self.conditions),
            "base": None if self.base is None else _score(self.base.score, self.base.lower, self.base.upper),
            "rates": [self._rate(trial) for trial in self.trials],
            "chosen": {"learning_rate": self.choice.learning_rate, "reason": self.choice.reason},
        }

    def _rate(self, trial: RateTrial) -> dict[str, Any]:
        mean = mean_score(trial, self.conditions)
        arms = [
            {
                "condition": arm.condition,
                "seed": arm.seed,
                "items": arm.items,
                **_score(arm.score, arm.lower, arm.upper),
            }
            for arm in trial.arms
        ]
        return {
            "learning_rate": trial.learning_rate,
            "run": self.runs[trial.learning_rate],
            "gate": trial.gate,
            "mean_score": mean if math.isfinite(mean) else None,
            "arms": arms,
        }


def rate_plans(sealed: SealedPlan) -> dict[float, SealedPlan]:
    """Return the plan of each rate of the grid, from the smallest rate.

    Raises:
        AuditError: the plan has no grid, or baseline and treatment would choose from different grids.
    """
    plan = sealed.plan
    if plan.sweep is None or not any(plan.sweep.learning_rates.values()):
        raise AuditError(
            "this plan has no learning-rate grid. Give each condition its rates, baseline and treatment the same: "
            '"sweep": {"learning_rates": {"grpo": [1e-5, 2e-5], "dppo": [1e-5, 2e-5]}}'
        )
    for finding in blocking(plan):
        if finding.lint == GRID_LINT:
            raise AuditError(f"{finding.path}: {finding.message}. {finding.mend}")
    rates = sorted({rate for grid in plan.sweep.learning_rates.values() for rate in grid})
    return {rate: _plan_of_rate(sealed, plan, rate) for rate in rates}


def require_free_folder(out: Path) -> None:
    """Check that a sweep may write to a folder.

    Raises:
        AuditError: it exists and is not empty, or is a file.
    """
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise AuditError(f"{out}: exists and is not empty. Choose another --out, or remove it first")


def run_sweep(sealed: SealedPlan, out: Path, backend: Backend, progress: Progress) -> Sweep:
    """Train and score every rate of a plan's grid, and write `sweep.json`.

    Args:
        sealed: the plan; it is not changed.
        out: folder for one run directory a rate and the table; see `require_free_folder`.
        backend: the service.
        progress: shows how far the runs are.

    Raises:
        AuditError: the plan has no grid, a run directory is not empty, or the service fails.
    """
    plans = rate_plans(sealed)
    runs: dict[float, str] = {}
    trials, base = [], None
    for rate, rate_plan in plans.items():
        runs[rate] = f"lr={rate:g}"
        progress.note(f"learning rate {rate:g}")
        launch = prepare(rate_plan, "pilot", out / runs[rate], None, progress)
        run = open_run(execute_on(launch, nullcontext(backend), progress))
        scores = [score for score in checkpoint_scores(run) if score.arm != BASE_ARM]
        base = base or next(score for score in checkpoint_scores(run) if score.arm == BASE_ARM)
        trials.append(RateTrial(rate, evaluate_gate(run, rate_plan.plan).status, _arm_scores(scores)))
    conditions = tuple(sealed.plan.conditions("baseline") + sealed.plan.conditions("treatment"))
    sweep = Sweep(sealed.sha256, conditions, base, tuple(trials), runs, choose(trials, conditions))
    text = json.dumps(sweep.as_json(), indent=2, sort_keys=True, allow_nan=False) + "\n"
    write_whole(out / SWEEP_NAME, text.encode("utf-8"))
    return sweep


def _plan_of_rate(sealed: SealedPlan, plan: Plan, rate: float) -> SealedPlan:
    document = json.loads(sealed.canonical)
    grids = document.pop("sweep")
    document["supersedes"] = sealed.sha256
    document["title"] = f"{plan.title} [learning rate {rate:g}]"
    document["optimizer"]["learning_rate"] = rate
    if grids.get("steps") is not None:
        document["activation_gate"]["pilot_steps"] = grids["steps"]
    trained = {condition for condition, grid in grids["learning_rates"].items() if rate in grid}
    document["arms"] = [arm for arm in document["arms"] if arm["condition"] in trained]
    return seal_text(json.dumps(document), source=f"the plan of learning rate {rate:g}")


def _arm_scores(scores: Sequence[CheckpointScore]) -> tuple[ArmScore, ...]:
    return tuple(
        ArmScore(score.arm, score.seed, score.items, score.score, score.lower, score.upper)
        for score in scores
        if score.checkpoint == FINAL_CHECKPOINT
    )


def _score(score: float, lower: float, upper: float) -> dict[str, float | None]:
    if not math.isfinite(score):
        return {"score": None, "lower": None, "upper": None}
    return {"score": score, "lower": lower, "upper": upper}

"""Accuracy against advantage error by critic: what may be drawn of it, decided once for the terminal and the page."""

import math
from dataclasses import dataclass

from analysis.advantages.normalized import Normalization
from analysis.seeds.mean import SeedMean, seed_mean
from analysis.seeds.sample import MINIMUM_SEEDS
from audits.engine.critic import CriticArm, CriticReport, SeedResult

ALPHA = 0.05
_ACCURACY = (0.0, 1.0)
_NAMED = 12

LEFT: dict[Normalization, str] = {
    "none": "the whole MSE",
    "mean": "scale + residual of the MSE",
    "z_score": "the residual of the MSE",
}
"""What each normalisation leaves of the mean squared error: the axis of the chart is the root of it."""


@dataclass(frozen=True)
class CrossoverPoint:
    """One critic.

    Attributes:
        arm: its condition.
        parameters: as they were built.
        error: root of what its normalisation leaves of the mean squared error, over all seeds; in units of reward.
        shown: which parts of the mean squared error that is.
        accuracy: mean over training seeds with its t interval.
    """

    arm: str
    parameters: int
    error: float
    shown: str
    accuracy: SeedMean


@dataclass(frozen=True)
class Crossover:
    """The chart or why it is not drawn.

    Attributes:
        points: one a critic, those with fewer parameters first; empty where it is not drawn.
        finished: how many cells (critic and seed of the plan) were trained, measured and evaluated to the end.
        cells: how many there are.
        refusals: why nothing is drawn, a sentence each; empty where it is.
    """

    points: tuple[CrossoverPoint, ...]
    finished: int
    cells: int
    refusals: tuple[str, ...]


def crossover(report: CriticReport) -> Crossover:
    """Return accuracy against advantage error, or why it may not be drawn.

    It is drawn where at least 2 critics have at least 3 seeds each and every cell finished: fewer seeds have no spread
    to speak of, and a chart of the cells that happened to finish is a chart of another experiment.
    """
    critics = report.critics
    cells = [(arm, own) for arm in critics for own in arm.seeds]
    missing = [f"{arm.arm} seed {own.seed}" for arm, own in cells if _is_missing(own)]
    refusals = list(_refusals(critics, missing, len(cells)))
    points = () if refusals else tuple(_point(arm) for arm in critics)
    return Crossover(points, len(cells) - len(missing), len(cells), tuple(refusals))


def _refusals(critics: tuple[CriticArm, ...], missing: list[str], cells: int) -> list[str]:
    found = []
    if len(critics) < 2:
        found.append(f"critics in the plan: {len(critics)}, and a crossover compares at least 2")
    if missing:
        named = ", ".join(missing[:_NAMED]) + (f" and {len(missing) - _NAMED} more" if len(missing) > _NAMED else "")
        found.append(f"finished {cells - len(missing)} of {cells}: missing {named}")
    few = [f"{arm.arm} {len(arm.seeds)}" for arm in critics if len(arm.seeds) < MINIMUM_SEEDS]
    if few:
        found.append(f"seeds a critic: {', '.join(few)}, and an interval over seeds needs at least {MINIMUM_SEEDS}")
    if not missing:
        found += [f"{arm.arm}: {why}" for arm in critics if (why := _without_place(arm)) is not None]
    return found


def _is_missing(own: SeedResult) -> bool:
    """Whether a cell has no final accuracy, or no measured state."""
    return own.accuracy is None or own.measured.advantages is None


def _without_place(arm: CriticArm) -> str | None:
    """Return why a critic has no place on the axes, None where it has."""
    if arm.parameters is None:
        return "the run does not say how many parameters its critic has, the same in every seed"
    if arm.left is None:
        return (
            "the Monte Carlo advantages do not vary beyond their noise, so the residual is not known; "
            "measure more states, or more rollouts of each"
        )
    if any(own.accuracy is not None and not 0.0 <= own.accuracy <= 1.0 for own in arm.seeds):
        return "an accuracy lies outside 0 to 1"
    return None


def _point(arm: CriticArm) -> CrossoverPoint:
    assert arm.left is not None
    assert arm.parameters is not None
    accuracies = [own.accuracy for own in arm.seeds if own.accuracy is not None]
    return CrossoverPoint(
        arm=arm.arm,
        parameters=arm.parameters,
        # Below 0 the Monte Carlo noise explains more than is there.
        error=math.sqrt(max(arm.left, 0.0)),
        shown=LEFT[arm.normalization],
        accuracy=seed_mean(accuracies, _ACCURACY, ALPHA),
    )

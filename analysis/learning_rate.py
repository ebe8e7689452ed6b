"""Which learning rate both arms would get, by a rule that is stated before the scores are seen."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

RULE = (
    "of the rates whose pilot passed the activation gate, the one with the highest mean validation score of baseline "
    "and treatment, each condition weighing the same whatever its number of seeds; of equal scores the smaller rate"
)


ELIGIBLE_GATES = frozenset({"pass", "warn", "waived", "not_applicable"})
"""Statuses of the activation gate on a rate's pilot with which the rule lets the rate be chosen."""


@dataclass(frozen=True)
class ArmScore:
    """One arm's score on validation items after training at one rate; the limits are of a 95 % interval."""

    condition: str
    seed: int
    items: int
    score: float
    lower: float
    upper: float


@dataclass(frozen=True)
class RateTrial:
    """What one learning rate gave.

    Attributes:
        learning_rate: both arms'.
        gate: status of the activation gate on this rate's pilot.
        arms: scores of all arms that were trained at this rate.
    """

    learning_rate: float
    gate: str
    arms: tuple[ArmScore, ...]


@dataclass(frozen=True)
class Choice:
    """The rate that the rule chooses, None where it chooses none, and why."""

    learning_rate: float | None
    reason: str


def mean_score(trial: RateTrial, conditions: Sequence[str]) -> float:
    """Return the mean over conditions of the mean over seeds; NaN where a condition was not trained or not scored.

    Args:
        trial: one rate.
        conditions: baseline and treatment.
    """
    means = []
    for condition in conditions:
        scores = [arm.score for arm in trial.arms if arm.condition == condition]
        means.append(sum(scores) / len(scores) if scores else math.nan)
    return sum(means) / len(means)


def choose(trials: Sequence[RateTrial], conditions: Sequence[str]) -> Choice:
    """Choose by `RULE`, and say how sure the order is.

    Args:
        trials: at least one rate.
        conditions: baseline and treatment; other conditions are trained and not weighed.
    """
    allowed = [trial for trial in trials if trial.gate in ELIGIBLE_GATES]
    if not allowed:
        gates = ", ".join(f"{trial.learning_rate:g}: {trial.gate}" for trial in trials)
        return Choice(None, f"no rate's pilot passed the activation gate ({gates})")
    scored = [trial for trial in allowed if math.isfinite(mean_score(trial, conditions))]
    if not scored:
        return Choice(None, "no rate has a score for every item of both conditions")
    ranked = sorted(scored, key=lambda trial: (-mean_score(trial, conditions), trial.learning_rate))
    best = ranked[0]
    return Choice(best.learning_rate, _certainty(best, ranked[1:], conditions))


def _certainty(best: RateTrial, others: Sequence[RateTrial], conditions: Sequence[str]) -> str:
    score = mean_score(best, conditions)
    said = f"mean validation score {score:.3f}"
    if not others:
        return f"{said}; no other rate was left to compare it with"
    second = others[0]
    gap = score - mean_score(second, conditions)
    widest = max((arm.upper - arm.lower) / 2.0 for trial in (best, second) for arm in trial.arms)
    compared = f"{said}, {gap:.3f} above {second.learning_rate:g}"
    if gap <= widest:
        return f"{compared}; one score's 95% interval reaches {widest:.3f} to each side, so the order may be chance"
    return f"{compared}, more than the {widest:.3f} that one score's 95% interval reaches to each side"

"""What is said of a critic's error, on the page and in the terminal."""

import math
from typing import TYPE_CHECKING

from audits.engine.crossover import LEFT
from reports.display import MINUS, brief, text

if TYPE_CHECKING:
    from analysis.advantage_errors import AdvantageError
    from audits.engine.critic import CriticArm
    from audits.engine.crossover import Crossover

NAME_LIMIT = 30
GAP = "–"
OWN_REWARD = (
    "An advantage holds the reward of its own rollout: what that reward differs from its mean by is part of the "
    "residual, alike for every critic with the same lambda; values are free of it."
)
_ROUNDING = 1e-12
_TAKEN = {
    "none": "its normalisation (none) removes nothing: offset, scale and residual reach the update",
    "mean": "its normalisation (mean) removes the offset: scale and residual reach the update",
    "z_score": "its normalisation (z_score) removes offset and scale: the residual reaches the update",
}


def shown(value: float | None) -> str:
    """Return a figure with three digits, or a dash where there is none."""
    return GAP if value is None or not math.isfinite(value) else brief(value)


def parts_of(error: "AdvantageError") -> tuple[str, str, str, str]:
    """Return the mean squared error and its parts; a part that is the rounding of the whole is 0."""
    whole = abs(error.mean_squared)
    parts = (error.offset_squared, error.scale, error.residual)
    clean = [None if part is None else part if abs(part) > _ROUNDING * max(whole, 1.0) else 0.0 for part in parts]
    offset, scale, residual = map(shown, clean)
    return shown(error.mean_squared), offset, scale, residual


def reaches(arm: "CriticArm") -> str:
    """Return what the arm's normalisation removes of the error, and what reaches the update, as the plan has it."""
    name = text(arm.arm, NAME_LIMIT)
    if not arm.planned:
        return f"{name}: no plan says how its advantages are normalised, so all of the error is counted."
    if arm.measured.reason is not None and arm.settings is None:
        return f"{name}: not measured, {text(arm.measured.reason)}."
    if arm.settings is None:
        return (
            f"{name}: rewards minus their group's mean, without a critic and without a further normalisation: offset, "
            "scale and residual reach the update."
        )
    return " ".join([f"{name}: {_TAKEN[arm.normalization]}.", *_of_a_constant(arm)])


def _of_a_constant(arm: "CriticArm") -> list[str]:
    """Say what a constant error of the critic's values does to the advantages."""
    assert arm.settings is not None
    discount, decay = arm.settings.discount, arm.settings.decay
    if decay == 1.0:
        return []
    if discount == 1.0:
        return [
            f"Lambda is {decay:g}: a constant value error c leaves {MINUS}c·{decay:g}^(T{MINUS}1{MINUS}t) in the "
            "advantage of token t of T, which differs from token to token, so no normalisation removes it."
        ]
    return [
        f"Gamma is {discount:g} and lambda {decay:g}: a constant value error leaves an error that differs from token "
        "to token, which no normalisation removes."
    ]


def left_text(arm: "CriticArm") -> str:
    """Return the root of what the normalisation leaves, with the parts that it is of."""
    if arm.left is None:
        return "not known"
    return f"{brief(math.sqrt(max(arm.left, 0.0)))} ({LEFT[arm.normalization]})"


def axis_text(arms: "tuple[CriticArm, ...]") -> str:
    """Return what the horizontal axis of the crossover chart shows of the mean squared error."""
    shown = list(dict.fromkeys(LEFT[arm.normalization] for arm in arms))
    if len(shown) == 1:
        return f"root of {shown[0]}"
    by_arm = ", ".join(f"{text(arm.arm, NAME_LIMIT)}: {LEFT[arm.normalization]}" for arm in arms)
    return f"root of what each arm's normalisation leaves of the MSE ({by_arm})"


def refusal_text(found: "Crossover") -> str:
    """Return why no crossover is drawn."""
    return f"No crossover is drawn: {'; '.join(text(reason) for reason in found.refusals)}."

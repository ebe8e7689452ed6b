"""Made-up inputs of the report's sections on training, thresholds and calibration."""

import math
from typing import Any

import numpy as np

from analysis.advantage_errors import advantage_error
from analysis.advantage_errors import calibration as binned
from analysis.plan.advantages import Advantage, Critic
from audits.engine.calibration import Calibration, CalibrationBin
from audits.engine.counterfactual import CURVE_THRESHOLDS, Rule, RuleShare
from audits.engine.critic import CriticArm, CriticReport, Measured, SeedResult
from audits.engine.mask_curve import MaskCurve
from audits.engine.training import TrainingStep

ARMS = ("dppo_binary_tv", "grpo_clip")


def training(steps: int = 24, seeds: int = 1) -> list[TrainingStep]:
    return [
        TrainingStep(
            arm, seed, step, 0.3 + 0.01 * step + 0.01 * seed, 120.0 + step, 0.002 * (step == 3), 0.2, 0.6 - step / 99,
            256, 30_720,
        )
        for arm in ARMS for seed in range(seeds) for step in range(steps)
    ]  # fmt: skip


def share(arm: str, update: int, threshold: float, kind: Any = "binary_tv", scale: float = 0.01) -> RuleShare:
    found = update * scale / (1 + 20 * threshold)
    return RuleShare(arm, Rule(kind, threshold), update, found, round(found * 1e5), 100_000, 0, 24)


def mask_curve(kind: Any = "binary_tv", planned: tuple[float, ...] = (0.15,), **changes: Any) -> MaskCurve:
    thresholds = sorted({*CURVE_THRESHOLDS, *planned})
    shares = [share(arm, update, at, kind) for arm in ARMS for update in (0, 1) for at in thresholds]
    values: dict[str, Any] = {"kind": kind, "planned": planned, "shares": tuple(shares), "sql": "SELECT\n    1"}
    return MaskCurve(**{**values, **changes})


def bins(gap: float, places: tuple[int, ...] = tuple(range(20))) -> tuple[CalibrationBin, ...]:
    return tuple(
        CalibrationBin(place / 20, (place + 1) / 20, 100 + place, (place + 0.5) / 20, (place + 0.5) / 20 + gap * place)
        for place in places
    )


def calibration() -> list[Calibration]:
    return [Calibration(arm, update, bins(0.001 * update), 0) for arm in ARMS for update in (0, 1)]


def critic_arm(name: str, parameters: int | None, fault: float, seeds: int = 3, **changes: Any) -> CriticArm:
    """Return an arm whose critic is off by a constant and by noise of this size; without parameters, no critic."""
    rng = np.random.default_rng(len(name))
    truth = rng.normal(size=60)
    estimate = truth + fault + fault * rng.normal(size=60)
    error = advantage_error(estimate, truth, np.full(60, 0.1), np.repeat([0, 1, 2], 20))
    settings = Advantage(critic=Critic(capacity="small", learning_rate=1e-3, epochs=1), normalization="z_score")
    own = Measured(error, error if parameters is not None else None, 0.5, 2)
    bins_of = binned(estimate, truth, np.full(60, 0.1))
    values: dict[str, Any] = {
        "arm": name, "settings": settings if parameters is not None else None, "planned": True, "hidden_size": 64,
        "measured": own, "advantage_bins": bins_of, "value_bins": bins_of if parameters is not None else (),
        "seeds": tuple(SeedResult(seed, own, parameters, 0.5 + 0.01 * seed, 9_000, 20) for seed in range(seeds)),
    }  # fmt: skip
    return CriticArm(**{**values, **changes})


def critic(seeds: int = 3, arms: int = 3, **changes: Any) -> CriticReport:
    made = [critic_arm("grpo_clip", None, 0.1, seeds)]
    made += [critic_arm(f"ppo_{place}", 10**place, 0.1 * (place + 1), seeds) for place in range(arms - 1)]
    values: dict[str, Any] = {"run": "runs/full", "arms": tuple(made), "missing": None}
    return CriticReport(**{**values, **changes})


def sections() -> dict[str, Any]:
    return {
        "training": training(),
        "mask_curves": [mask_curve(), mask_curve("ratio", (0.2,))],
        "calibration": calibration(),
        "critic": critic(),
    }


def nothing() -> dict[str, Any]:
    return {"training": (), "mask_curves": (), "calibration": (), "critic": None}


def without_numbers() -> dict[str, Any]:
    nan = math.nan
    shares = tuple(RuleShare("a", Rule("binary_tv", at), 1, nan, 0, 9, 0, 3) for at in CURVE_THRESHOLDS)
    return {
        "training": [TrainingStep("a", 0, step, nan, nan, None, nan, math.inf, 9, 9) for step in range(3)],
        "mask_curves": [mask_curve(shares=shares)],
        "calibration": [Calibration("a", 0, (), 9)],
        "critic": critic(arms=1, missing="nothing is a number"),
    }


def hostile(text: str) -> dict[str, Any]:
    shares = tuple(share(text, update, at) for update in (0, 1) for at in CURVE_THRESHOLDS)
    return {
        "training": [TrainingStep(text, 0, step, 0.5, 3.0, 0.1, 0.2, 0.6, 9, 27) for step in range(3)],
        "mask_curves": [mask_curve(shares=shares, sql=text)],
        "calibration": [Calibration(text, 0, bins(0.001), 0), Calibration(text, 1, (), 3)],
        "critic": CriticReport(text, tuple(critic_arm(text, place, 0.1) for place in range(3)), None),
    }

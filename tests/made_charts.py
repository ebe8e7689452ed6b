"""Made-up inputs of the report's sections on training, thresholds and calibration."""

import math
from typing import Any

from audits.engine.calibration import Calibration, CalibrationBin
from audits.engine.counterfactual import CURVE_THRESHOLDS, Rule, RuleShare
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


def sections() -> dict[str, Any]:
    return {
        "training": training(),
        "mask_curves": [mask_curve(), mask_curve("ratio", (0.2,))],
        "calibration": calibration(),
    }


def nothing() -> dict[str, Any]:
    return {"training": (), "mask_curves": (), "calibration": ()}


def without_numbers() -> dict[str, Any]:
    nan = math.nan
    shares = tuple(RuleShare("a", Rule("binary_tv", at), 1, nan, 0, 9, 0, 3) for at in CURVE_THRESHOLDS)
    return {
        "training": [TrainingStep("a", 0, step, nan, nan, None, nan, math.inf, 9, 9) for step in range(3)],
        "mask_curves": [mask_curve(shares=shares)],
        "calibration": [Calibration("a", 0, (), 9)],
    }


def hostile(text: str) -> dict[str, Any]:
    shares = tuple(share(text, update, at) for update in (0, 1) for at in CURVE_THRESHOLDS)
    return {
        "training": [TrainingStep(text, 0, step, 0.5, 3.0, 0.1, 0.2, 0.6, 9, 27) for step in range(3)],
        "mask_curves": [mask_curve(shares=shares, sql=text)],
        "calibration": [Calibration(text, 0, bins(0.001), 0), Calibration(text, 1, (), 3)],
    }

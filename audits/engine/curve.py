"""The mid-run curve: how each checkpoint did on validation items, every point with its interval."""

import math
from dataclasses import dataclass

from analysis.paired.exact_limit import clopper_pearson
from audits.store.reader import Run, connect

ERROR = 0.05
BASE_ARM = "base"


@dataclass(frozen=True)
class CurvePoint:
    """One checkpoint of one arm on validation items.

    Attributes:
        step: rollout steps so far; the base model is step 0 of arm `base`.
        items: validation items of this point.
        unscored: samples without a finite score; where there are any, the point has no number.
        score: mean score over items, 0..1, NaN where a sample is unscored.
        lower: lower limit of the 95 % interval of the mean.
        upper: its upper limit.
        interval: how it was made: `clopper_pearson` for right or wrong, else `hoeffding` for scores in 0..1.
    """

    arm: str
    seed: int
    step: int
    items: int
    unscored: int
    score: float
    lower: float
    upper: float
    interval: str


def validation_curve(run: Run) -> tuple[CurvePoint, ...]:
    """Return the points of the curve sorted by arm, seed and step; empty where none was logged.

    Raises:
        AuditError: a file of the run is damaged.
    """
    if not run.has("evals"):
        return ()
    columns = "arm, seed, step, items, unscored, right_or_wrong, score"
    with connect(run) as connection:
        rows = connection.execute(f"SELECT {columns} FROM validation_curve ORDER BY ALL").fetchall()
    return tuple(_point(*row) for row in rows)


def _point(
    arm: str, seed: int, step: int, items: int, unscored: int, right_or_wrong: bool | None, score: float | None
) -> CurvePoint:
    if score is None:
        return CurvePoint(arm, seed, step, items, unscored, math.nan, math.nan, math.nan, "none")
    if right_or_wrong:
        low, high = clopper_pearson(round(score * items), items, ERROR)
        return CurvePoint(arm, seed, step, items, unscored, score, low, high, "clopper_pearson")
    # Hoeffding (1963): items are independent, and each item's mean score lies in 0..1.
    half_width = math.sqrt(math.log(2.0 / ERROR) / (2.0 * items))
    low, high = max(0.0, score - half_width), min(1.0, score + half_width)
    return CurvePoint(arm, seed, step, items, unscored, score, low, high, "hoeffding")

"""How each evaluated checkpoint did, with an interval; on validation items they are the mid-run curve."""

import math
import re
from dataclasses import dataclass

from analysis.mean_interval import interval_of_mean
from audits.store.reader import Run, connect

ERROR = 0.05
_STEP = re.compile(r"step([0-9]{6})")


@dataclass(frozen=True)
class CheckpointScore:
    """One checkpoint of one arm.

    Attributes:
        checkpoint: `base`, `stepNNNNNN` or `final`.
        items: evaluated items.
        unscored: samples without a finite score; where there are any, the checkpoint has no number.
        score: mean score over items, 0..1, NaN where a sample is unscored.
        lower: lower limit of the 95 % interval of the mean.
        upper: its upper limit.
        interval: how it was made: `clopper_pearson` for right or wrong, `hoeffding` for other scores, or `none`.
    """

    arm: str
    seed: int
    checkpoint: str
    items: int
    unscored: int
    score: float
    lower: float
    upper: float
    interval: str

    @property
    def step(self) -> int:
        """Rollout steps so far of a `stepNNNNNN`; the base model is step 0 of arm `base`.

        Raises:
            ValueError: the checkpoint is no point of a curve.
        """
        found = _STEP.fullmatch(self.checkpoint)
        if found is None:
            raise ValueError(f"checkpoint {self.checkpoint!r} has no step")
        return int(found[1])


def checkpoint_scores(run: Run) -> tuple[CheckpointScore, ...]:
    """Return the score of every evaluated checkpoint, sorted by arm, seed and checkpoint.

    Raises:
        AuditError: a file of the run is damaged.
    """
    if not run.has("evals"):
        return ()
    columns = "arm, seed, checkpoint, items, unscored, right_or_wrong, score"
    with connect(run) as connection:
        rows = connection.execute(f"SELECT {columns} FROM checkpoint_scores ORDER BY ALL").fetchall()
    return tuple(_scored(*row) for row in rows)


def validation_curve(run: Run) -> tuple[CheckpointScore, ...]:
    """Return the points of the mid-run curve, sorted by arm, seed and step; empty where none was logged.

    Raises:
        AuditError: a file of the run is damaged.
    """
    return tuple(score for score in checkpoint_scores(run) if _STEP.fullmatch(score.checkpoint))


def _scored(
    arm: str, seed: int, checkpoint: str, items: int, unscored: int, right_or_wrong: bool, score: float | None
) -> CheckpointScore:
    if score is None:
        return CheckpointScore(arm, seed, checkpoint, items, unscored, math.nan, math.nan, math.nan, "none")
    limits = interval_of_mean(score, items, right_or_wrong=right_or_wrong, error=ERROR)
    return CheckpointScore(arm, seed, checkpoint, items, unscored, score, limits.lower, limits.upper, limits.kind)

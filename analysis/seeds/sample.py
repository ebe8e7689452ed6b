"""Scores by training seed: what a claim about the training, and not only about its checkpoints, rests on."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from analysis.errors import AuditError

MINIMUM_SEEDS = 3
"""Fewest training seeds an arm: two have a spread with one degree of freedom, whose t quantile at 5 % is 12.7."""


@dataclass(frozen=True)
class SeedScores:
    """Scores of the same items in each training seed of both sides of a contrast.

    Attributes:
        treatment: shape (S_t, n), one row a seed, each the weighted item scores on the positive side.
        baseline: shape (S_b, n), the same items in the same order on the negative side.
        paired: both sides have the same seeds, row by row, so that a seed's difference is one observation.
    """

    treatment: NDArray[np.float64]
    baseline: NDArray[np.float64]
    paired: bool

    def __post_init__(self) -> None:
        for arm, scores in (("treatment", self.treatment), ("baseline", self.baseline)):
            if scores.ndim != 2 or scores.shape[1] == 0:
                raise ValueError(f"the {arm}'s scores need a row a seed and a column an item")
            if len(scores) < MINIMUM_SEEDS:
                raise AuditError(
                    f"the {arm} has {len(scores)} training seed{'' if len(scores) == 1 else 's'}, and a claim about "
                    f"the training needs at least {MINIMUM_SEEDS} an arm: train more seeds, or claim only these "
                    "checkpoints (unit fixed_checkpoint_items)"
                )
            if not np.isfinite(scores).all():
                raise AuditError(f"the {arm} has a score that is not a finite number")
        if self.treatment.shape[1] != self.baseline.shape[1]:
            raise ValueError("both sides need the same items")
        if self.paired and len(self.treatment) != len(self.baseline):
            raise ValueError("paired sides need the same seeds")

    @property
    def n_seeds(self) -> int:
        """Training seeds of the side that has fewer."""
        return min(len(self.treatment), len(self.baseline))

    @property
    def item_differences(self) -> NDArray[np.float64]:
        """Shape (n,): the difference of each item between the sides' means over seeds."""
        return np.asarray(self.treatment.mean(axis=0) - self.baseline.mean(axis=0), dtype=np.float64)

    @property
    def seed_groups(self) -> tuple[NDArray[np.float64], ...]:
        """Independent groups of seed means: one of differences where paired, else the treatment's and the baseline's.

        The differences are treatment minus baseline; the variance of the contrast's mean is the sum of the groups'.
        """
        treatment, baseline = self.treatment.mean(axis=1), self.baseline.mean(axis=1)
        return (treatment - baseline,) if self.paired else (treatment, baseline)

"""The paired sample: one difference an item, with the range it could have taken."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from analysis.errors import AuditError
from analysis.seeds.sample import SeedScores


@dataclass(frozen=True)
class PairedCounts:
    """The 2 x 2 table of right/wrong scores on the same items."""

    both: int
    only_treatment: int
    only_baseline: int
    neither: int

    @property
    def n_items(self) -> int:
        """All items."""
        return self.both + self.only_treatment + self.only_baseline + self.neither

    @property
    def discordant(self) -> int:
        """Items that exactly one arm has right."""
        return self.only_treatment + self.only_baseline


@dataclass(frozen=True)
class PairedSample:
    """Differences of a contrast on the same items.

    Attributes:
        differences: shape (n,), finite, one number an item (treatment minus baseline for the usual weights).
        bounds: smallest and largest value that a difference can take.
        counts: the 2 x 2 table where both scores are 0 or 1 and the weights are -1 and 1, else None.
        by_seed: the same scores before their mean over training seeds, where the claim is about the training; None
            where it is about fixed checkpoints.
    """

    differences: NDArray[np.float64]
    bounds: tuple[float, float]
    counts: PairedCounts | None = None
    by_seed: SeedScores | None = None

    def __post_init__(self) -> None:
        if self.differences.ndim != 1 or self.differences.size == 0:
            raise AuditError("there are no paired items to compare: nothing to decide on")
        if not np.isfinite(self.differences).all():
            where = int(np.flatnonzero(~np.isfinite(self.differences))[0])
            raise AuditError(f"the difference of item number {where} is not a finite number")
        low, high = self.bounds
        if not low < high or self.differences.min() < low - 1e-12 or self.differences.max() > high + 1e-12:
            raise AuditError(
                f"a difference lies outside [{low:g}, {high:g}], the range that the rule's bounds allow; "
                "correct `bounds` in the decision rule or the scores"
            )
        if self.counts is not None and self.counts.n_items != self.differences.size:
            raise ValueError("the counts do not add up to the number of differences")
        if self.by_seed is not None and self.by_seed.treatment.shape[1] != self.differences.size:
            raise ValueError("the scores by seed are not those of the differences")

    @property
    def n_items(self) -> int:
        """Number of paired items."""
        return int(self.differences.size)

    @property
    def estimate(self) -> float:
        """Observed mean difference; from the counts where there are any, so that it is exact."""
        if self.counts is not None:
            return (self.counts.only_treatment - self.counts.only_baseline) / self.counts.n_items
        return float(self.differences.mean())


def sample_from_scores(
    treatment: NDArray[np.float64], baseline: NDArray[np.float64], score_bounds: tuple[float, float]
) -> PairedSample:
    """Return the sample of treatment minus baseline.

    Args:
        treatment: shape (n,), the treatment's score of each item.
        baseline: shape (n,), the baseline's score of the same items in the same order.
        score_bounds: smallest and largest possible score of one item.

    Raises:
        AuditError: no items, a score that is not finite, or one outside the bounds.
    """
    if treatment.shape != baseline.shape:
        raise ValueError("both arms need one score for each item")
    low, high = score_bounds
    # Checked here too: scores of 7 in both arms have a difference of 0, which looks innocent.
    for arm, scores in (("treatment", treatment), ("baseline", baseline)):
        outside = ~((scores >= low) & (scores <= high))
        if outside.any():
            where = int(np.flatnonzero(outside)[0])
            raise AuditError(
                f"the {arm}'s score of item number {where} is {scores[where]:g}, which is not in [{low:g}, {high:g}]; "
                "correct `bounds` in the decision rule or the score"
            )
    counts = None
    if (low, high) == (0.0, 1.0) and np.isin(treatment, (0.0, 1.0)).all() and np.isin(baseline, (0.0, 1.0)).all():
        right, base = treatment == 1.0, baseline == 1.0
        counts = PairedCounts(
            both=int((right & base).sum()),
            only_treatment=int((right & ~base).sum()),
            only_baseline=int((~right & base).sum()),
            neither=int((~right & ~base).sum()),
        )
    return PairedSample(treatment - baseline, (low - high, high - low), counts)


def sample_from_counts(counts: PairedCounts) -> PairedSample:
    """Return the sample of right/wrong scores with this 2 x 2 table.

    Args:
        counts: the table; its cells are not negative.

    Returns:
        Differences in {-1, 0, 1}, shape (n,): first the items that only the treatment has right, then those
        that only the baseline has right, then those on which the arms agree.

    Raises:
        AuditError: the table has no items.
    """
    differences = np.zeros(counts.n_items)
    differences[: counts.only_treatment] = 1.0
    differences[counts.only_treatment : counts.discordant] = -1.0
    return PairedSample(differences, (-1.0, 1.0), counts)


def sample_from_seeds(scores: SeedScores, bounds: tuple[float, float]) -> PairedSample:
    """Return the sample of the items' differences between the sides' means over training seeds.

    Args:
        scores: scores of the same items by seed.
        bounds: smallest and largest value that a difference can take.

    Raises:
        AuditError: a difference lies outside the bounds.
    """
    return PairedSample(scores.item_differences, bounds, by_seed=scores)

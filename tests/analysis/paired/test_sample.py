import numpy as np
import pytest

from analysis.errors import AuditError
from analysis.paired.sample import PairedCounts, PairedSample, sample_from_counts, sample_from_scores

UNIT = (0.0, 1.0)


def test_right_wrong_scores_are_counted():
    treatment, baseline = np.array([1.0, 1.0, 0.0, 0.0, 1.0]), np.array([1.0, 0.0, 1.0, 0.0, 0.0])
    sample = sample_from_scores(treatment, baseline, UNIT)
    assert sample.counts == PairedCounts(both=1, only_treatment=2, only_baseline=1, neither=1)
    assert (sample.counts.n_items, sample.counts.discordant) == (5, 3)
    assert sample.differences.tolist() == [0.0, 1.0, -1.0, 0.0, 1.0]
    assert sample.bounds == (-1.0, 1.0)
    assert sample.estimate == 1 / 5


def test_fractions_and_other_bounds_have_no_table():
    half = np.array([0.5, 1.0])
    assert sample_from_scores(half, half, UNIT).counts is None
    whole = np.array([0.0, 1.0])
    assert sample_from_scores(whole, whole, (0.0, 2.0)).counts is None
    assert sample_from_scores(whole, whole, (0.0, 2.0)).bounds == (-2.0, 2.0)


@pytest.mark.parametrize(
    ("treatment", "baseline", "message"),
    [
        ([0.0, np.nan], [0.0, 1.0], "treatment's score of item number 1 is nan"),
        ([0.0, 1.0], [np.inf, 1.0], "baseline's score of item number 0 is inf"),
        # The difference is 0, but the scores are not scores.
        ([7.0, 1.0], [7.0, 1.0], "treatment's score of item number 0 is 7"),
        ([], [], "no paired items"),
    ],
)
def test_what_is_no_score_is_refused(treatment, baseline, message):
    with pytest.raises(AuditError, match=message):
        sample_from_scores(np.array(treatment), np.array(baseline), UNIT)


def test_arms_of_different_length_are_our_bug():
    with pytest.raises(ValueError, match="one score for each item"):
        sample_from_scores(np.zeros(3), np.zeros(2), UNIT)


def test_counts_make_the_sample_they_describe():
    counts = PairedCounts(4, 3, 2, 1)
    sample = sample_from_counts(counts)
    assert sample.counts == counts
    assert [(sample.differences == value).sum() for value in (1.0, -1.0, 0.0)] == [3, 2, 5]
    with pytest.raises(AuditError, match="no paired items"):
        sample_from_counts(PairedCounts(0, 0, 0, 0))


def test_differences_outside_the_bounds_and_wrong_counts_are_refused():
    with pytest.raises(AuditError, match="lies outside"):
        PairedSample(np.array([0.0, 1.5]), (-1.0, 1.0))
    with pytest.raises(AuditError, match="item number 1 is not a finite number"):
        PairedSample(np.array([0.0, np.nan]), (-1.0, 1.0))
    with pytest.raises(ValueError, match="do not add up"):
        PairedSample(np.zeros(3), (-1.0, 1.0), PairedCounts(1, 1, 1, 1))

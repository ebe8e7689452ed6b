import numpy as np
import pytest

from analysis.decisions.paired_betting import interval
from analysis.errors import AuditError
from analysis.paired.sample import PairedCounts, PairedSample, sample_from_counts

MEASURED_HALF_WIDTHS = {(132, 174, 1319): 0.0361, (0, 0, 1319): 0.0057, (2, 1, 1319): 0.0063, (66, 66, 1319): 0.0241}


@pytest.mark.parametrize("cells", MEASURED_HALF_WIDTHS)
def test_measured_half_widths(table, cells):
    found = interval(table(*cells), alpha=0.05, seed=1)
    assert (found.upper - found.lower) / 2.0 == pytest.approx(MEASURED_HALF_WIDTHS[cells], abs=3e-4)


def test_the_seed_moves_the_limits_little(table):
    half_widths, lowers = [], []
    for seed in range(12):
        found = interval(table(132, 174, 1319), alpha=0.05, seed=seed)
        half_widths.append((found.upper - found.lower) / 2.0)
        lowers.append(found.lower)
    assert len(set(lowers)) == 12
    assert np.std(half_widths) < 1e-4


def test_items_sorted_by_outcome_do_not_cross_the_limits(table):
    # One order of one data set, ascending, once gave a lower limit of -0.257 and an upper one of -0.950.
    sample = table(132, 174, 1319)
    ascending = interval(PairedSample(np.sort(sample.differences), sample.bounds), alpha=0.05, seed=1)
    descending = interval(PairedSample(np.sort(sample.differences)[::-1], sample.bounds), alpha=0.05, seed=1)
    assert ascending == descending
    assert ascending.lower < ascending.upper


def test_needs_a_registered_seed(table):
    with pytest.raises(AuditError, match="resampling_seed"):
        interval(table(5, 3, 20), alpha=0.05)


def test_wide_bounds_scale_the_interval():
    differences = np.random.default_rng(2).uniform(-1.0, 1.0, 60)
    narrow = interval(PairedSample(differences, (-1.0, 1.0)), alpha=0.05, seed=3)
    wide = interval(PairedSample(4.0 * differences, (-4.0, 4.0)), alpha=0.05, seed=3)
    assert (wide.lower, wide.upper) == pytest.approx((4.0 * narrow.lower, 4.0 * narrow.upper), abs=1e-7)


def test_a_hopeless_margin_on_many_items_has_p_1():
    counts = PairedCounts(both=0, only_treatment=0, only_baseline=200_000, neither=0)
    assert interval(sample_from_counts(counts), alpha=0.05, margin=0.9, seed=1).p_value == 1.0

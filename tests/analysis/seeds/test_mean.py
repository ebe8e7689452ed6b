"""The t interval of a mean over training seeds."""

import numpy as np
import pytest

from analysis.seeds.mean import seed_mean


def test_it_is_students_interval():
    from scipy import stats

    values = [0.4, 0.5, 0.45, 0.6]
    found = seed_mean(values, (0.0, 1.0), 0.05)
    low, high = stats.t.interval(0.95, 3, np.mean(values), stats.sem(values))
    assert (found.lower, found.upper) == pytest.approx((low, high))
    assert (found.seeds, found.reason) == (4, None)


def test_equal_seeds_give_the_whole_range_and_say_why():
    found = seed_mean([0.5, 0.5, 0.5], (0.0, 1.0), 0.05)
    assert (found.lower, found.upper) == (0.0, 1.0)
    assert "equal" in found.reason


def test_limits_stay_within_the_score():
    found = seed_mean([0.0, 0.1, 0.9], (0.0, 1.0), 0.05)
    assert (found.lower, found.upper) == (0.0, 1.0)


@pytest.mark.parametrize("values", [[0.1, 0.2], [0.1, 0.2, np.nan], [0.1, 0.2, 1.2], [[0.1, 0.2, 0.3]]])
def test_what_has_no_interval_is_refused(values):
    with pytest.raises(ValueError, match=r"seeds|value"):
        seed_mean(values, (0.0, 1.0), 0.05)

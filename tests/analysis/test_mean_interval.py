"""Intervals of one mean score."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.mean_interval import interval_of_mean


def test_right_or_wrong_is_clopper_and_pearson():
    found = interval_of_mean(0.5, 20, right_or_wrong=True, error=0.05)
    # R: binom.test(10, 20)$conf.int
    assert (found.lower, found.upper) == (pytest.approx(0.2719578, abs=1e-7), pytest.approx(0.7280422, abs=1e-7))
    assert found.kind == "clopper_pearson"


@given(st.integers(1, 60), st.integers(0, 1000).map(lambda part: part / 1000), st.sampled_from([0.01, 0.05, 0.2]))
def test_the_exact_interval_covers_every_chance(items, chance, error):
    covered = sum(
        math.comb(items, right) * chance**right * (1 - chance) ** (items - right)
        for right in range(items + 1)
        if (found := interval_of_mean(right / items, items, right_or_wrong=True, error=error)).lower - 1e-12
        <= chance
        <= found.upper + 1e-12
    )
    assert covered >= 1 - error - 1e-9


def test_other_scores_are_hoeffding_inside_0_and_1():
    found = interval_of_mean(0.5, 200, right_or_wrong=False, error=0.05)
    assert found.upper - found.lower == pytest.approx(2 * math.sqrt(math.log(40) / 400))
    assert found.kind == "hoeffding"
    assert interval_of_mean(0.99, 20, right_or_wrong=False, error=0.05).upper == 1.0
    assert interval_of_mean(0.01, 20, right_or_wrong=False, error=0.05).lower == 0.0

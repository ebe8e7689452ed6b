import math

import numpy as np
import pytest

from analysis.decisions.paired_empirical_bernstein import interval
from analysis.paired.sample import PairedSample


def test_agrees_with_frozen_rows(table, frozen_rows):
    checked = 0
    for row in frozen_rows:
        if "emp_bernstein_mp" not in row["ci"] or row["n"] == 1:
            continue
        found = interval(table(row["n10"], row["n01"], row["n"]), alpha=0.05)
        lower, upper = row["ci"]["emp_bernstein_mp"]
        assert (found.lower, found.upper) == pytest.approx((max(-1.0, lower), min(1.0, upper)), abs=1e-12)
        checked += 1
    assert checked >= 15


def test_formula_at_the_size_of_a_benchmark(table):
    sample = table(132, 174, 1319)
    found = interval(sample, alpha=0.05)
    variance = sample.differences.var(ddof=1)
    half_width = math.sqrt(2.0 * variance * math.log(80.0) / 1319) + 14.0 * math.log(80.0) / (3.0 * 1318)
    assert found.upper - found.estimate == pytest.approx(half_width, abs=1e-15)
    assert half_width == pytest.approx(0.05471, abs=5e-6)


@pytest.mark.parametrize("differences", [[0.4], [0.4, 0.4], [1.0, -1.0]])
def test_one_or_two_items_say_nothing(differences):
    found = interval(PairedSample(np.array(differences), (-1.0, 1.0)), alpha=0.05)
    assert (found.lower, found.upper) == (-1.0, 1.0)


def test_p_value_solves_for_the_level(table):
    sample = table(300, 100, 1319)
    for margin in (0.0, 0.05, 0.1):
        p_value = interval(sample, alpha=0.05, margin=margin).p_value
        assert interval(sample, alpha=p_value).lower == pytest.approx(margin, abs=1e-12)

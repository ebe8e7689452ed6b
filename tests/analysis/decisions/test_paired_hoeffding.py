import math

import numpy as np
import pytest

from analysis.decisions.paired_hoeffding import interval
from analysis.paired.sample import PairedSample


def test_agrees_with_frozen_rows(table, frozen_rows):
    for row in frozen_rows:
        found = interval(table(row["n10"], row["n01"], row["n"]), alpha=0.05)
        lower, upper = row["ci"]["hoeffding"]
        # The frozen rows are not cut to the range of the difference.
        assert found.lower == pytest.approx(max(-1.0, lower), abs=1e-12)
        assert found.upper == pytest.approx(min(1.0, upper), abs=1e-12)


def test_half_width_is_the_closed_form(table):
    found = interval(table(132, 174, 1319), alpha=0.05)
    assert found.upper - found.estimate == pytest.approx(0.0747894, abs=5e-8)
    assert found.upper - found.estimate == pytest.approx(math.sqrt(2.0 * math.log(40.0) / 1319), abs=1e-15)


@pytest.mark.parametrize(
    ("only_treatment", "only_baseline", "estimate", "lower", "upper"),
    [(209, 152, 0.0432, -0.0316, 0.1180), (293, 64, 0.1736, 0.0988, 0.2484)],
)
def test_gsm8k_model_outcomes(table, only_treatment, only_baseline, estimate, lower, upper):
    found = interval(table(only_treatment, only_baseline, 1319), alpha=0.05)
    assert [round(x, 4) for x in (found.estimate, found.lower, found.upper)] == [estimate, lower, upper]


def test_scales_with_the_range_of_the_difference():
    differences = np.array([0.5, -0.25, 1.0, 0.0])
    narrow = interval(PairedSample(differences, (-1.0, 1.0)), alpha=0.5)
    wide = interval(PairedSample(10.0 * differences, (-10.0, 10.0)), alpha=0.5)
    assert wide.lower == pytest.approx(10.0 * narrow.lower)
    assert wide.upper == pytest.approx(10.0 * narrow.upper)

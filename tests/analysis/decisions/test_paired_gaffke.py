import numpy as np
import pytest
import scipy

from analysis.decisions.paired_gaffke import interval
from analysis.paired.sample import PairedSample


def test_agrees_with_frozen_rows(table, frozen_rows):
    checked = 0
    for row in frozen_rows:
        if "gaffke_lmt" in row["ci"]:
            found = interval(table(row["n10"], row["n01"], row["n"]), alpha=0.05)
            # The frozen rows integrate on a grid: good to 1e-5.
            assert (found.lower, found.upper) == pytest.approx(row["ci"]["gaffke_lmt"], abs=1.1e-5)
            checked += 1
    assert checked >= 15


@pytest.mark.parametrize(("successes", "trials"), [(0, 10), (3, 17), (17, 17), (132, 1319)])
def test_one_sided_scores_give_clopper_and_pearson(successes, trials):
    differences = np.zeros(trials)
    differences[:successes] = 1.0
    found = interval(PairedSample(differences, (0.0, 1.0)), alpha=0.05)
    expected = scipy.stats.binomtest(successes, trials).proportion_ci(0.95, "exact")
    assert (found.lower, found.upper) == pytest.approx((expected.low, expected.high), abs=1e-9)


def test_no_discordant_item_has_a_closed_form(table):
    assert interval(table(0, 0, 1319), alpha=0.05).upper == pytest.approx(1.0 - 0.025 ** (1.0 / 1319), abs=1e-9)


def test_bounded_scores_agree_with_simulation():
    generator = np.random.default_rng(9)
    differences = generator.choice([-1.0, -0.25, 0.0, 0.5, 1.0], 80)
    found = interval(PairedSample(differences, (-1.0, 1.0)), alpha=0.05)
    weights = generator.dirichlet(np.ones(81), 200_000)
    lower = np.quantile(weights @ np.append(differences, -1.0), 0.025)
    upper = np.quantile(weights @ np.append(differences, 1.0), 0.975)
    # Monte Carlo error of such a quantile: about 0.6 % of the standard error of the mean.
    assert (found.lower, found.upper) == pytest.approx((lower, upper), abs=0.03 * differences.std() / np.sqrt(80))

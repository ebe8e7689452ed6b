import numpy as np
import pytest
from scipy.special import betaincinv

from analysis.decisions.paired_fay_lumbard import _theta_at_most, interval
from analysis.paired.mcnemar import mcnemar_exact


def test_agrees_with_frozen_rows(table, frozen_rows):
    checked = 0
    for row in frozen_rows:
        if "fay_lumbard" in row["ci"]:
            found = interval(table(row["n10"], row["n01"], row["n"]), alpha=0.05)
            # The frozen rows integrate on a grid: good to 1e-5.
            assert (found.lower, found.upper) == pytest.approx(row["ci"]["fay_lumbard"], abs=1.1e-5)
            checked += 1
    assert checked >= 15


def test_no_discordant_item_has_a_closed_form(table):
    found = interval(table(0, 0, 1319), alpha=0.05)
    assert found.upper == pytest.approx(1.0 - 0.025 ** (1.0 / 1319), abs=1e-9)
    assert found.lower == -found.upper


@pytest.mark.parametrize("cells", [(20, 0, 20), (264, 0, 1319), (1, 7, 21), (7, 1, 21), (1, 0, 50), (132, 174, 1319)])
def test_limit_is_the_quantile_of_the_melded_difference(table, cells):
    gains, losses, n_items = cells
    lower = interval(table(*cells), alpha=0.05).lower
    share = (np.arange(200_000) + 0.5) / 200_000
    first, second = gains + losses, n_items - gains - losses + 1
    if lower < 0.0:
        first, second = first + 1, second - 1
    psi = betaincinv(first, second, share) if second else np.ones_like(share)
    probability = _theta_at_most((1.0 + lower / psi) / 2.0, gains, losses)
    if lower < 0.0:
        probability = np.where(psi < -lower, 0.0, probability)
    assert probability.mean() == pytest.approx(0.025, abs=2e-7)


def test_excludes_zero_exactly_where_the_exact_mcnemar_test_rejects(table):
    for discordant in range(1, 26):
        for gains in range(discordant + 1):
            found = interval(table(gains, discordant - gains, 60), alpha=0.05)
            excluded = found.lower > 0.0 or found.upper < 0.0
            assert excluded == (mcnemar_exact(gains, discordant - gains) <= 0.05)


def test_p_value_at_zero_is_the_one_sided_mcnemar_test_doubled(table):
    assert interval(table(30, 12, 100), alpha=0.05).p_value == pytest.approx(mcnemar_exact(30, 12), rel=1e-9)

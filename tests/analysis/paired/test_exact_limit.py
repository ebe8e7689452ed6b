import numpy as np
import pytest
import scipy
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.paired.exact_limit import NUISANCE_ERROR, _Search, clopper_pearson, exact_lower_limit


@pytest.mark.parametrize(("successes", "trials"), [(0, 10), (10, 10), (3, 17), (132, 1319)])
def test_clopper_pearson_agrees_with_scipy(successes, trials):
    expected = scipy.stats.binomtest(successes, trials).proportion_ci(0.95, "exact")
    assert clopper_pearson(successes, trials, 0.05) == pytest.approx((expected.low, expected.high), abs=1e-12)


def test_only_losses_say_nothing_against_minus_one():
    found = exact_lower_limit(0, 9, 9, 0.025, -1.0)
    assert (found.lower, found.p_value) == (-1.0, 1.0)


def test_no_discordant_item_has_a_closed_form():
    # The worst case has losses only; the price of the nuisance interval is 1e-5 of 0.025.
    found = exact_lower_limit(0, 0, 1319, 0.025, 0.0)
    assert found.lower == pytest.approx(-(1.0 - 0.025 ** (1.0 / 1319)), rel=5e-4)
    assert found.lower < -(1.0 - 0.025 ** (1.0 / 1319))


@pytest.mark.parametrize(
    "cells", [(132, 174, 1319), (66, 66, 1319), (2, 1, 1319), (0, 0, 1319), (13, 7, 100), (9, 0, 40)]
)
def test_the_price_of_the_nuisance_interval_is_paid(cells):
    search = _Search(*cells, 0.025)
    found = search._supremum(search.limit(), 0.0, 1e-8)
    assert found.upper <= 0.025 - NUISANCE_ERROR + 2e-8
    # And nothing is given away beyond the tolerance.
    assert found.lower >= 0.025 - NUISANCE_ERROR - 3e-5


@settings(max_examples=60, deadline=None)
@given(st.integers(2, 120), st.data())
def test_limit_does_not_fall_with_gains_nor_rise_with_losses(n_items, data):
    gains = data.draw(st.integers(0, n_items - 1))
    losses = data.draw(st.integers(0, n_items - 1 - gains))
    limit = exact_lower_limit(gains, losses, n_items, 0.025, 1.0).lower
    # Each limit is certified to within about 3e-4 of its error probability, so that ties can differ by that much.
    slack = 2e-3 / np.sqrt(n_items)
    assert exact_lower_limit(gains + 1, losses, n_items, 0.025, 1.0).lower >= limit - slack
    assert exact_lower_limit(gains, losses + 1, n_items, 0.025, 1.0).lower <= limit + slack


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 200), st.sampled_from([0.005, 0.025, 0.05]), st.data())
def test_p_value_and_limit_agree_at_any_margin(n_items, error, data):
    gains = data.draw(st.integers(0, n_items))
    losses = data.draw(st.integers(0, n_items - gains))
    limit = exact_lower_limit(gains, losses, n_items, error, 1.0).lower
    for margin in (limit - 1e-3, limit - 1e-9, limit, limit + 1e-9, limit + 1e-3, 0.0, -1.0, 1.0):
        if not -1.0 <= margin <= 1.0:
            continue
        found = exact_lower_limit(gains, losses, n_items, error, margin)
        assert found.lower == limit
        assert (found.p_value <= error) if limit > margin else (found.p_value >= error)


def test_p_value_falls_as_the_margin_moves_away():
    p_values = [exact_lower_limit(120, 80, 1319, 0.025, margin).p_value for margin in (0.02, 0.01, 0.0, -0.01, -0.1)]
    assert p_values == sorted(p_values, reverse=True)
    assert p_values[-1] == pytest.approx(1e-5, abs=2e-6)


def test_excludes_zero_wherever_the_exact_mcnemar_test_rejects_and_more_often():
    exact, mcnemar = set(), set()
    for discordant in range(41):
        for gains in range(discordant // 2 + 1, discordant + 1):
            if scipy.stats.binom.sf(gains - 1, discordant, 0.5) <= 0.025:
                mcnemar.add((gains, discordant - gains))
            if exact_lower_limit(gains, discordant - gains, 100, 0.025, 0.0).p_value <= 0.025:
                exact.add((gains, discordant - gains))
    assert mcnemar < exact
    # Found by an independent implementation.
    assert (len(exact), len(mcnemar)) == (260, 244)


@pytest.mark.slow
def test_a_million_items():
    found = exact_lower_limit(100_000, 101_000, 1_000_000, 0.025, 0.0)
    deviation = np.sqrt(0.201 - 0.001**2) / 1000.0
    assert found.lower == pytest.approx(-0.001 - 1.96 * deviation, abs=0.01 * deviation)

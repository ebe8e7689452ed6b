import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.power import (
    bonett_price_interval,
    hoeffding_half_width,
    hoeffding_interval,
    hoeffding_items,
    largest_certifiable_discordance,
    minimal_detectable_gap,
    power,
    tie_power,
)

HOEFFDING = hoeffding_interval(0.05)
BONETT_PRICE = bonett_price_interval(0.05)


def test_the_half_width_at_1319_items():
    assert hoeffding_half_width(1319, 0.05) == pytest.approx(0.07478936258, abs=1e-10)
    assert hoeffding_half_width(1319, 0.05, spread=20.0) == pytest.approx(0.7478936258, abs=1e-9)


@pytest.mark.parametrize(("half", "items"), [(0.05, 2952), (0.03, 8198), (0.02, 18445), (0.01, 73778)])
def test_the_items_that_a_half_width_needs(half, items):
    assert hoeffding_items(half, 0.05) == items
    assert hoeffding_half_width(items, 0.05) <= half < hoeffding_half_width(items - 1, 0.05)


@pytest.mark.parametrize(("discordance", "gap"), [(0.05, None), (0.1, 0.0818), (0.2, 0.0849), (0.3, 0.0872)])
def test_the_gap_that_hoeffding_detects_at_1319_items(discordance, gap):
    found = minimal_detectable_gap(HOEFFDING, 1319, discordance)
    assert found == (None if gap is None else pytest.approx(gap, abs=5e-5))


@pytest.mark.parametrize(("discordance", "gap"), [(0.05, 0.0172), (0.1, 0.0243), (0.2, 0.0345), (0.3, 0.0422)])
def test_the_gap_that_a_narrow_method_detects_at_1319_items(discordance, gap):
    assert minimal_detectable_gap(BONETT_PRICE, 1319, discordance) == pytest.approx(gap, abs=1e-4)


def test_the_detectable_gap_has_the_target_power_and_a_smaller_one_has_not():
    gap = minimal_detectable_gap(HOEFFDING, 300, 0.4, target=0.9, margin=0.02)
    assert power(HOEFFDING, 300, gap, 0.4, 0.02) == pytest.approx(0.9, abs=1e-6)
    assert power(HOEFFDING, 300, gap - 0.01, 0.4, 0.02) < 0.9
    assert gap > minimal_detectable_gap(HOEFFDING, 300, 0.4, target=0.9)


@pytest.mark.parametrize(("discordance", "band"), [(0.05, 0.083), (0.1, 0.086), (0.2, 0.091)])
def test_the_band_that_hoeffding_certifies_with_probability_80_percent(discordance, band):
    assert tie_power(HOEFFDING, 1319, discordance, band + 0.0005) >= 0.8
    assert tie_power(HOEFFDING, 1319, discordance, band - 0.0015) < 0.8


def test_a_band_below_the_half_width_is_never_certified():
    assert tie_power(HOEFFDING, 1319, 0.01, 0.0747) == 0.0
    assert largest_certifiable_discordance(HOEFFDING, 1319, 0.0747) is None


def test_a_two_point_band_needs_less_than_about_five_percent_discordance():
    limit = largest_certifiable_discordance(BONETT_PRICE, 1319, 0.02)
    assert limit == pytest.approx(0.0495, abs=5e-4)
    assert tie_power(BONETT_PRICE, 1319, limit, 0.02) >= 0.8
    assert tie_power(BONETT_PRICE, 1319, limit + 0.005, 0.02) < 0.8


def test_a_band_as_wide_as_the_range_is_always_certified():
    assert largest_certifiable_discordance(HOEFFDING, 50, 1.0) == 1.0


def _brute_force(interval, n, gap, discordance, accept):
    """Sum the trinomial law cell by cell."""
    p10, p01 = (discordance + gap) / 2, (discordance - gap) / 2
    total = 0.0
    for n10 in range(n + 1):
        for n01 in range(n + 1 - n10):
            rest = n - n10 - n01
            ways = math.factorial(n) // (math.factorial(n10) * math.factorial(n01) * math.factorial(rest))
            lower, upper = interval(n, np.array(float(n10)), np.array(float(n01)))
            if accept(float(lower), float(upper)):
                total += ways * p10**n10 * p01**n01 * (1 - discordance) ** rest
    return total


@given(
    n=st.integers(1, 14),
    discordance=st.floats(0.05, 1.0),
    share=st.floats(-1.0, 1.0),
    margin=st.sampled_from([0.0, 0.11, 0.3]),
    alpha=st.sampled_from([0.05, 0.5, 0.9]),
    make=st.sampled_from([hoeffding_interval, bonett_price_interval]),
)
@settings(max_examples=60, deadline=None)
def test_enumeration_agrees_with_the_sum_over_all_cells(n, discordance, share, margin, alpha, make):
    interval, gap = make(alpha), share * discordance
    wanted = _brute_force(interval, n, gap, discordance, lambda lower, upper: lower > margin)
    assert power(interval, n, gap, discordance, margin) == pytest.approx(wanted, abs=1e-10)
    band = 0.2 + margin
    tied = _brute_force(interval, n, gap, discordance, lambda lower, upper: lower >= -band and upper <= band)
    assert tie_power(interval, n, discordance, band, gap) == pytest.approx(tied, abs=1e-10)


def _half_a_point(n, n10, n01):
    return (n10 - n01) / n - 0.5, (n10 - n01) / n + 0.5


def test_a_limit_on_the_margin_is_not_beyond_it_and_one_on_the_band_is_inside():
    # n10 = 2 has probability 0.6^2, and its lower limit is exactly 0.5.
    assert power(_half_a_point, 2, 0.4, 0.8, margin=0.5) == 0.0
    assert power(_half_a_point, 2, 0.4, 0.8, margin=0.499) == pytest.approx(0.36)
    # n10 = n01: the interval is exactly [-0.5, 0.5].
    assert tie_power(_half_a_point, 2, 0.8, 0.5, gap=0.4) == pytest.approx(0.2**2 + 2 * 0.6 * 0.2)


def test_the_bonett_price_interval_is_the_published_one():
    # Bonett and Price (2012) on Bentur's data: 21 pairs, 1 and 7 discordant.
    lower, upper = BONETT_PRICE(21, np.array(1.0), np.array(7.0))
    assert (float(lower), float(upper)) == pytest.approx((-0.508, -0.013), abs=1e-3)


@pytest.mark.parametrize(("gap", "discordance"), [(0.2, 0.1), (-0.2, 0.1), (0.0, 0.0), (0.0, 1.1)])
def test_impossible_systems_are_refused(gap, discordance):
    with pytest.raises(ValueError, match="no two systems"):
        power(HOEFFDING, 10, gap, discordance)


def test_impossible_questions_are_refused():
    with pytest.raises(ValueError, match="at least 1"):
        hoeffding_half_width(0, 0.05)
    with pytest.raises(ValueError, match="positive"):
        hoeffding_items(0.0, 0.05)

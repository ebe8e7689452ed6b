import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.count_regions import CountIntervals
from analysis.paired.methods import load_method, method_ids
from analysis.power import hoeffding_interval, tie_power
from analysis.power_study import BAND_STEP, MOST_ITEMS, Setting, fewest_items, study


@pytest.mark.parametrize("method_id", method_ids())
def test_the_detectable_gap_is_validated_as_often_as_asked_among_drawn_tables(method_id):
    setting = Setting(load_method(method_id), 150, seed=1)
    (row,) = study(setting, [0.4])
    gap = row.detectable_gap
    draws = np.random.default_rng(5).multinomial(150, [0.2 + gap / 2, 0.2 - gap / 2, 0.6], size=150)
    intervals = CountIntervals(setting.method, 150, 0.05, 1)
    found = [intervals(int(gains), int(losses)) for gains, losses, _ in draws]
    share = np.mean([interval.trusted and interval.lower > 0.0 for interval in found])
    # Four standard errors.
    assert share == pytest.approx(0.8, abs=0.13)


def test_the_detectable_gap_has_the_target_power_and_the_curve_passes_through_it():
    setting = Setting(load_method("paired_tango"), 500, margin=0.01, target=0.7)
    (row,) = study(setting, [0.15], points=41)
    (again,) = study(setting, [0.15], [row.detectable_gap])
    assert again.gaps[0].power == pytest.approx(0.7, abs=1e-9)
    gaps, powers = zip(*row.curve, strict=True)
    assert len(gaps) == 41
    assert gaps[0] == 0.0
    assert list(powers) == sorted(powers)
    assert np.interp(row.detectable_gap, gaps, powers) == pytest.approx(0.7, abs=0.01)


def test_the_smallest_band_is_certified_and_a_smaller_one_is_not():
    interval = hoeffding_interval(0.05)
    (row,) = study(Setting(load_method("paired_hoeffding"), 400, band=0.2), [0.1])
    band = row.tie.smallest_band
    assert tie_power(interval, 400, 0.1, band) >= 0.8 > tie_power(interval, 400, 0.1, band - BAND_STEP)
    assert row.tie.power == pytest.approx(tie_power(interval, 400, 0.1, 0.2), abs=1e-6)


def test_no_band_is_certified_where_the_interval_fills_the_range():
    (row,) = study(Setting(load_method("paired_tango"), 9, band=0.5), [0.5])
    assert row.tie.smallest_band is None
    assert row.tie.power == 0.0


def test_the_items_for_a_half_width_are_the_fewest():
    method = load_method("paired_exact_unconditional")
    (row,) = study(Setting(method, 100, half_width=0.08), [0.3])
    items = row.items_for_half_width
    assert CountIntervals(method, items, 0.05).half_width(0.3) <= 0.08
    assert CountIntervals(method, items - 1, 0.05).half_width(0.3) > 0.08


def test_the_same_method_needs_more_items_for_a_smaller_gap():
    setting = Setting(load_method("paired_fay_lumbard"), 200)
    (row,) = study(setting, [0.1], [0.07, 0.05])
    wide, narrow = row.gaps
    assert wide.items < narrow.items
    # Exact McNemar at 80 % needs a little more than the normal formula, discordance (z + z')^2 / gap^2.
    assert 1.0 < narrow.items / (0.1 * 7.849 / 0.05**2) < 1.25


@given(fewest=st.integers(1, 3000), guess=st.integers(-5, 5000))
def test_the_fewest_items_are_found_from_any_guess(fewest, guess):
    assert fewest_items(lambda n_items: n_items >= fewest, guess, 0.0) == fewest
    found = fewest_items(lambda n_items: n_items >= fewest, guess, 0.01)
    assert fewest <= found <= fewest * 1.011 + 1


def test_a_hopeless_search_ends():
    asked = []
    assert fewest_items(lambda n_items: asked.append(n_items) or False, 1000, 0.01) is None
    assert max(asked) == MOST_ITEMS
    assert len(asked) < 30

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.count_regions import CountIntervals, first_true, tie_region, validated_region
from analysis.paired.methods import load_method, method_ids

DRAWN = "paired_betting"
METHODS = [load_method(method_id) for method_id in method_ids()]


N_ITEMS, ALPHA = 20, 0.1


@pytest.fixture(scope="module", params=METHODS, ids=lambda method: method.id)
def intervals(request):
    """The method's interval of every table: the border must be found on the way."""
    found = CountIntervals(request.param, N_ITEMS, ALPHA, seed=3)
    for gains in range(N_ITEMS + 1):
        for losses in range(N_ITEMS + 1 - gains):
            found(gains, losses)
    return found


def _brute_force(intervals, accepts):
    n = intervals.n_items
    return {(b, c) for b in range(n + 1) for c in range(n + 1 - b) if accepts(intervals(b, c))}


def _members(region):
    return {(b, m - b) for m in range(region.n_items + 1) for b in range(int(region.first[m]), int(region.beyond[m]))}


@pytest.mark.parametrize("margin", [0.0, 0.02, 0.08])
def test_the_border_walk_finds_every_validated_table(intervals, margin):
    wanted = _brute_force(intervals, lambda found: found.trusted and found.lower > margin)
    found = _members(validated_region(intervals, margin, (0, N_ITEMS)))
    # Where no item agrees a bootstrap mean moves in steps of 2 / n, and equal differences have no width.
    different = {(b, c) for b, c in wanted ^ found if b + c < N_ITEMS}
    assert len(different) <= (1 if intervals.method.id == DRAWN else 0), different
    assert found


@pytest.mark.parametrize("band", [0.3, 0.55])
def test_the_border_walk_finds_every_tie(intervals, band):
    wanted = _brute_force(intervals, lambda found: found.trusted and found.lower >= -band and found.upper <= band)
    found = _members(tie_region(intervals, band, (0, N_ITEMS)))
    assert len(wanted ^ found) <= (2 if intervals.method.id == DRAWN else 0), wanted ^ found


def test_the_ties_of_these_tests_are_not_all_empty():
    region = tie_region(CountIntervals(load_method("paired_exact_unconditional"), 31, 0.2), 0.31, (0, 31))
    assert 20 < len(_members(region)) < 31 * 16


def test_a_window_of_losses_leaves_the_tables_inside_it_as_they_are():
    method = load_method("paired_tango")
    whole = validated_region(CountIntervals(method, 200, 0.05), 0.01, (0, 200))
    part = validated_region(CountIntervals(method, 200, 0.05), 0.01, (20, 40))
    inside = {table for table in _members(whole) if 20 <= table[1] <= 40}
    assert inside
    assert {table for table in _members(part) if 20 <= table[1] <= 40} == inside
    assert _members(part) <= _members(whole)


def test_the_border_takes_few_evaluations():
    method = load_method("paired_tango")
    count = 0

    def counted(*arguments, **options):
        nonlocal count
        count += 1
        return method.interval(*arguments, **options)

    intervals = CountIntervals(type(method)(method.id, method.info, counted), 1319, 0.05)
    validated_region(intervals, 0.0, (0, 280))
    assert count < 300


@given(first=st.integers(0, 60), low=st.integers(0, 20), extra=st.integers(0, 40), guess=st.integers(-5, 70))
def test_the_first_true_point_is_found_from_any_guess(first, low, extra, guess):
    asked = []

    def holds(point):
        assert low <= point < low + extra
        asked.append(point)
        return point >= first

    assert first_true(holds, low, low + extra, guess) == min(max(first, low), low + extra)
    assert len(asked) == len(set(asked)) <= 14


def test_two_evaluations_confirm_a_right_guess():
    asked = []
    assert first_true(lambda point: asked.append(point) or point >= 500, 0, 1000, 500) == 500
    assert sorted(asked) == [499, 500]


def test_an_interval_is_computed_once_and_its_width_is_halved():
    intervals = CountIntervals(load_method("paired_hoeffding"), 1319, 0.05)
    assert intervals.half_width(0.2) == pytest.approx(0.07478936258, abs=1e-10)
    assert intervals(132, 132) is intervals(132, 132)
    assert intervals.half_width(1.0) == pytest.approx(0.07478936258, abs=1e-10)


def test_asymptotic_methods_need_ten_discordant_items_and_proven_ones_none():
    assert CountIntervals(load_method("paired_tango"), 100, 0.05).fewest_trusted() == 10
    assert CountIntervals(load_method("paired_hoeffding"), 100, 0.05).fewest_trusted() == 0
    region = validated_region(CountIntervals(load_method("paired_tango"), 100, 0.05), 0.0, (0, 100))
    assert np.all(region.first[:10] == np.arange(1.0, 11.0))
    assert region.first[10] <= 10

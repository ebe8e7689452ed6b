import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.onset import REFERENCE_POINTS, SPREADS, find_onset

values = st.lists(st.floats(-1e6, 1e6), min_size=11, max_size=40)
amounts = st.floats(0, 10)


def test_an_onset_states_the_numbers_that_it_rests_on():
    series = [1.0, 3.0, 2.0, 2.0, 1.0, 3.0, 2.0, 2.0, 2.5, 30.0, 40.0, 50.0]
    # The median of the first eight is 2 and their median distance from it 0.5.
    half = SPREADS * 1.4826 * 0.5
    found = find_onset(series, by=1)
    assert (found.index, found.center, found.first, found.last, found.rises) == (9, 2.0, 30.0, 40.0, True)
    assert (found.lower, found.upper) == pytest.approx((2 - half, 2 + half))


def test_a_steady_reference_is_widened_to_the_movement_that_matters():
    steady = [0.5] * 8
    assert find_onset([*steady, 0.6, 0.6, 0.6], by=0.1 + 1e-9) is None
    found = find_onset([*steady, 0.6, 0.6, 0.6], by=0.1 - 1e-9)
    assert (found.index, found.upper) == (8, pytest.approx(0.6))


@pytest.mark.parametrize("n", range(11))
def test_too_few_points_give_no_answer(n):
    assert find_onset(([0.0] * 8 + [9.0] * 3)[:n], by=0) is None


def test_eleven_points_are_enough():
    assert find_onset([0.0] * 8 + [9.0] * 3, by=1).index == 8


def test_two_points_outside_are_no_onset_and_neither_is_a_movement_that_went_back():
    assert find_onset([0.0] * 9 + [9.0] * 2, by=1) is None
    assert find_onset([0.0] * 8 + [9.0, 9.0, 0.0, 9.0, 9.0, 0.0, 9.0, 9.0], by=1) is None
    assert find_onset([0.0] * 8 + [9.0] * 5 + [0.0] * 5, by=1) is None


def test_points_outside_on_both_sides_are_no_movement():
    assert find_onset([0.0] * 8 + [9.0, -9.0] * 6, by=1) is None


def test_a_movement_of_a_negative_size_is_our_bug():
    with pytest.raises(ValueError, match="at least 0"):
        find_onset([0.0] * 20, by=-1e-9)


@pytest.mark.parametrize("broken", [float("nan"), float("inf"), -float("inf")])
def test_a_value_that_is_not_finite_is_our_bug(broken):
    with pytest.raises(ValueError, match="finite"):
        find_onset([0.0] * 12 + [broken], by=1)


@given(values, amounts)
@settings(derandomize=True, deadline=None)
def test_each_direction_sees_its_own_side_and_moves_sees_both(series, by):
    up, down, both = (find_onset(series, by=by, direction=name) for name in ("rises", "falls", "moves"))
    assert up is None or up.rises
    assert down is None or not down.rises
    assert both == (up or down)
    assert up is None or down is None


@given(values, amounts)
@settings(derandomize=True, deadline=None)
def test_the_mirrored_series_moves_the_other_way_at_the_same_point(series, by):
    found, mirrored = find_onset(series, by=by), find_onset([-value for value in series], by=by)
    assert (found is None) == (mirrored is None)
    if found is not None:
        assert (mirrored.index, mirrored.rises) == (found.index, not found.rises)
        assert (mirrored.lower, mirrored.upper) == (-found.upper, -found.lower)


@given(values, amounts, st.integers(0, 5))
@settings(derandomize=True, deadline=None)
def test_an_onset_lies_outside_the_range_for_three_points_and_at_the_end(series, by, more):
    series = [*series, *([max(series) + 50.0 + by] * more)]
    found = find_onset(series, by=by)
    if found is not None:
        assert found.index >= REFERENCE_POINTS
        assert (found.upper - found.lower) / 2 >= by - 1e-9
        window = series[found.index : found.index + 3]
        for value in (*window, found.last):
            assert value > found.upper if found.rises else value < found.lower
        assert found.first == window[0]


@given(values, amounts, st.integers(0, 1000))
@settings(derandomize=True, deadline=None)
def test_what_is_appended_does_not_bring_an_onset_forward(series, by, seed):
    longer = [*series, *np.random.default_rng(seed).normal(0, 1e6, 5)]
    found, later = find_onset(series, by=by), find_onset(longer, by=by)
    if found is not None and later is not None and found.rises == later.rises:
        assert later.index == found.index


def test_noise_alone_gives_an_onset_in_fewer_than_one_series_of_a_hundred():
    series = np.random.default_rng(20260101).normal(size=(8_000, 200))
    alarms = sum(find_onset(row, by=0) is not None for row in series)
    assert alarms < 80


@pytest.mark.parametrize("direction", ["rises", "falls", "moves"])
@pytest.mark.parametrize("sign", [1, -1])
def test_a_jump_is_found_within_five_points(direction, sign):
    rng, seen = np.random.default_rng(4), 0
    for _ in range(300):
        at = int(rng.integers(REFERENCE_POINTS, 190))
        series = rng.normal(size=200)
        series[at:] += sign * 25
        found = find_onset(series, by=1, direction=direction)
        seen += found is not None and abs(found.index - at) <= 5
    if (direction, sign) in (("rises", -1), ("falls", 1)):
        assert seen == 0
    else:
        assert seen >= 297  # eight points may be far apart by chance, and their range wide


def test_a_reference_that_already_rises_gives_a_later_onset_never_an_earlier_one():
    flat, rising = (np.r_[start, np.linspace(0, 100, 101)] for start in (np.zeros(8), np.arange(-8.0, 0)))
    assert find_onset(rising, by=1).index > find_onset(flat, by=1).index >= 8

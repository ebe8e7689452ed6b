"""Forecasts of a total time: their width, and how often they hold what comes."""

import math

import numpy as np
import pytest

from analysis.step_time import Forecast, forecast_total


def test_equal_times_are_forecast_without_width():
    found = forecast_total([2.0, 2.0, 2.0], 50)
    assert (found.expected, found.lower, found.upper) == pytest.approx((100.0, 100.0, 100.0))


def test_one_time_alone_says_nothing_about_the_upper_end():
    found = forecast_total([2.0], 50)
    assert (found.expected, found.lower, found.upper) == (100.0, 0.0, math.inf)


def test_more_times_make_it_narrower():
    few, many = forecast_total([1.0, 2.0, 3.0], 50), forecast_total([1.0, 2.0, 3.0] * 5, 50)
    assert many.upper - many.lower < few.upper - few.lower


@pytest.mark.parametrize("spread", [0.05, 0.3])
def test_about_95_of_100_totals_lie_inside(spread):
    rng = np.random.default_rng(5)
    inside = 0
    for _ in range(2000):
        measured, later = np.exp(rng.normal(0.0, spread, 6)), np.exp(rng.normal(0.0, spread, 100))
        found = forecast_total(measured, 100)
        inside += found.lower <= later.sum() <= found.upper
    assert 0.93 <= inside / 2000 <= 0.985


def test_hopeless_scatter_has_no_upper_end():
    assert forecast_total([1e-300, 1e300], 10).upper == math.inf


def test_nothing_to_come_takes_no_time():
    assert forecast_total([1.0], 0) == Forecast(0.0, 0.0, 0.0, 1)


@pytest.mark.parametrize("times", [[], [0.0, 1.0], [-1.0], [math.nan], [math.inf]])
def test_times_that_are_none_are_refused(times):
    with pytest.raises(ValueError, match="time"):
        forecast_total(times, 3)


def test_parts_add_up_and_scale():
    total = Forecast(60.0, 30.0, 120.0, 3).plus(Forecast(60.0, 60.0, 60.0, 1)).times(1 / 60)
    assert (total.expected, total.lower, total.upper, total.n) == pytest.approx((2.0, 1.5, 3.0, 4))

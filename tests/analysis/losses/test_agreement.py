"""When two arrays agree, and which number is named when they do not."""

import math

import pytest

from analysis.losses.agreement import Tolerance, compare

TOLERANCE = Tolerance(atol=1e-5, rtol=1e-3)


def test_the_number_that_uses_up_most_of_its_allowance_is_named():
    found = compare([1000.9, 0.0, 0.001], [1000.0, 0.0, 0.0], TOLERANCE)
    assert (found.agrees, found.index, found.deviation, found.reference) == (False, 2, 0.001, 0.0)


def test_a_small_difference_of_a_large_number_agrees():
    found = compare([1000.9], [1000.0], TOLERANCE)
    assert found.agrees
    assert found.allowance == pytest.approx(1.00001)


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_what_is_no_number_agrees_with_nothing(value):
    assert not compare([value, 1.0], [1.0, 1.0], TOLERANCE).agrees
    assert not compare([1.0], [value], TOLERANCE).agrees


def test_noise_widens_the_allowance():
    assert not compare([0.01], [0.0], TOLERANCE).agrees
    assert compare([0.01], [0.0], TOLERANCE, noise=0.01).agrees


def test_nothing_compared_is_no_agreement():
    assert not compare([], [], TOLERANCE).agrees


def test_the_cosine_sees_the_direction_and_not_the_length():
    assert compare([2.0, 0.0], [1.0, 0.0], TOLERANCE).cosine == 1.0
    assert compare([-1.0, 0.0], [1.0, 0.0], TOLERANCE).cosine == -1.0
    assert math.isnan(compare([0.0, 0.0], [1.0, 0.0], TOLERANCE).cosine)


def test_arrays_of_other_shapes_are_our_mistake():
    with pytest.raises(ValueError, match="cannot be compared"):
        compare([1.0], [1.0, 2.0], TOLERANCE)

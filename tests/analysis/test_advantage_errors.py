"""The split of a critic's error: exact on made errors, and unmoved by the Monte Carlo estimates' own noise."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.advantage_errors import advantage_error, calibration

TRUTH = np.random.default_rng(1).normal(size=400)
BATCHES = np.repeat(np.arange(8), 50)
EXACT = np.zeros(400)


def error_of(estimated, truth=TRUTH, errors=EXACT, batches=BATCHES):
    return advantage_error(estimated, truth, errors, batches)


def test_a_constant_error_is_all_offset():
    found = error_of(TRUTH + 0.25)
    assert (found.bias, found.root_mean_squared) == pytest.approx((0.25, 0.25))
    assert found.offset_squared == pytest.approx(0.0625)
    assert (found.scale, found.residual) == pytest.approx((0.0, 0.0), abs=1e-12)
    assert found.centered_root_mean_squared == pytest.approx(0.0, abs=1e-6)
    assert found.correlation == pytest.approx(1.0)


def test_a_constant_of_each_batch_is_all_offset_too_though_the_bias_is_none():
    offsets = np.tile([0.5, -0.5], 4)[BATCHES]
    found = error_of(TRUTH + offsets)
    assert found.bias == pytest.approx(0.0, abs=1e-12)
    assert (found.mean_squared, found.offset_squared) == pytest.approx((0.25, 0.25))
    assert found.residual == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("slope", [0.0, 0.5, 1.0, 1.8, -0.4])
def test_a_critic_that_stretches_is_all_scale(slope):
    centered = TRUTH - TRUTH.reshape(8, 50).mean(1)[BATCHES]
    found = error_of(slope * centered, centered)
    assert found.slope == pytest.approx(slope, abs=1e-12)
    assert found.scale == pytest.approx((slope - 1) ** 2 * np.mean(centered**2))
    assert (found.offset_squared, found.residual) == pytest.approx((0.0, 0.0), abs=1e-12)


@given(st.integers(0, 10**6))
def test_the_parts_add_up(seed):
    rng = np.random.default_rng(seed)
    truth, estimate, errors = rng.normal(size=60), rng.normal(size=60), rng.uniform(0, 0.2, 60)
    found = advantage_error(estimate, truth, errors, rng.integers(0, 4, 60))
    assert found.offset_squared + found.scale + found.residual == pytest.approx(found.mean_squared)


def test_the_noise_of_the_monte_carlo_estimates_is_not_the_critics_error():
    rng = np.random.default_rng(7)
    n, noise = 200_000, 0.8
    truth, batches = rng.normal(size=n), np.repeat(np.arange(n // 40), 40)
    estimate = 0.3 + 0.6 * truth + 0.2 * rng.normal(size=n)
    measured = truth + noise * rng.normal(size=n)
    clean = error_of(estimate, truth, np.zeros(n), batches)
    noisy = error_of(estimate, measured, np.full(n, noise), batches)
    for part in ("mean_squared", "offset_squared", "scale", "residual", "slope", "bias"):
        assert getattr(noisy, part) == pytest.approx(getattr(clean, part), abs=0.012), part
    blind = error_of(estimate, measured, np.zeros(n), batches)
    assert blind.mean_squared > clean.mean_squared + 0.5
    assert blind.slope < 0.45


def test_where_the_noise_explains_everything_there_is_no_slope_and_no_negative_root():
    found = error_of(np.zeros(400), TRUTH, np.full(400, 3.0))
    assert found.mean_squared < 0
    assert found.root_mean_squared == 0.0
    assert (found.slope, found.scale, found.residual) == (None, None, None)


def test_one_that_never_changes_its_mind_has_no_correlation():
    assert error_of(np.full(400, 0.1)).correlation is None
    assert error_of(TRUTH, np.full(400, 0.1)).slope is None


def test_the_order_of_the_states_does_not_matter():
    order = np.random.default_rng(3).permutation(400)
    estimate = TRUTH**2
    shuffled = advantage_error(estimate[order], TRUTH[order], EXACT, BATCHES[order])
    assert shuffled.residual == pytest.approx(error_of(estimate).residual)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (([1, 2], [1], [0, 0], [0, 0]), "equally long"),
        (([1], [1], [0], [0]), "1 states"),
        (([1, np.nan], [1, 2], [0, 0], [0, 0]), "not finite"),
        (([1, 2], [1, 2], [0, -1], [0, 0]), "below 0"),
    ],
)
def test_what_cannot_be_compared_is_refused(arguments, said):
    with pytest.raises(ValueError, match=said):
        advantage_error(*arguments)


def test_calibration_puts_equally_many_states_side_by_side():
    estimate = np.arange(10.0)
    bins = calibration(estimate, estimate + 1, np.full(10, 0.5), bins=5)
    assert [(found.states, found.estimated, found.monte_carlo) for found in bins] == [
        (2, low + 0.5, low + 1.5) for low in (0.0, 2.0, 4.0, 6.0, 8.0)
    ]
    assert bins[0].standard_error == pytest.approx(0.5 / np.sqrt(2))
    assert len(calibration([1, 2, 3], [1, 2, 3], [0, 0, 0], bins=10)) == 3


def test_equal_estimates_stand_in_one_bin():
    found = calibration([0.0] * 15 + [1.0, 2.0, 3.0, 4.0, 5.0], np.arange(20.0), np.zeros(20), bins=4)
    assert [own.states for own in found] == [15, 5]
    assert found[0].monte_carlo == 7.0
    assert [own.states for own in calibration(np.arange(8.0), np.arange(8.0), np.zeros(8), bins=4)] == [2, 2, 2, 2]
    assert [own.states for own in calibration([1.0, 1.0], [0.0, 1.0], [0.0, 0.0])] == [2]


def test_each_normalisation_leaves_its_own_parts():
    error = advantage_error([0.0, 2.0, 1.0, 6.0], [0.0, 1.0, 2.0, 3.0], np.zeros(4), np.zeros(4, int))
    assert error.left_by("none") == error.mean_squared
    assert error.left_by("mean") == pytest.approx(error.scale + error.residual)
    assert error.left_by("z_score") == error.residual
    flat = advantage_error([0.0, 2.0], [1.0, 1.0], np.zeros(2), np.zeros(2, int))
    assert flat.left_by("z_score") is None
    assert flat.left_by("mean") == pytest.approx(1.0)

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from analysis.paired.tango_score import tango_lower_limit, tango_score

CRITICAL = 1.959963984540054


def test_score_uses_the_constrained_maximum_likelihood():
    generator = np.random.default_rng(1)
    for _ in range(40):
        gains, losses, rest = generator.integers(1, 30, 3)
        delta = generator.uniform(-0.9, 0.9)
        n_items = gains + losses + rest

        def negative_log_likelihood(loss, cells=(gains, losses, rest), delta=delta):
            chances = np.array([loss + delta, loss, 1.0 - 2.0 * loss - delta])
            return -float(np.dot(cells, np.log(chances)))

        low, high = max(0.0, -delta) + 1e-12, (1.0 - delta) / 2.0 - 1e-12
        loss = minimize_scalar(
            negative_log_likelihood, bounds=(low, high), method="bounded", options={"xatol": 1e-12}
        ).x
        expected = (gains - losses - n_items * delta) / np.sqrt(n_items * (2.0 * loss + delta - delta**2))
        assert float(tango_score(gains, losses, n_items, delta)) == pytest.approx(expected, rel=2e-4)


def test_score_at_the_corners():
    assert float(tango_score(0, 0, 5, 0.0)) == 0.0
    assert float(tango_score(5, 0, 5, 1.0)) == 0.0
    assert float(tango_score(4, 0, 5, 1.0)) == -np.inf
    assert float(tango_score(0, 4, 5, -1.0)) == np.inf


def test_score_is_antisymmetric_and_monotone():
    n_items = 24
    gains, losses = (cells.ravel() for cells in np.mgrid[0 : n_items + 1, 0 : n_items + 1])
    inside = gains + losses <= n_items
    gains, losses = gains[inside], losses[inside]
    for delta in np.linspace(-0.97, 0.97, 41):
        score = tango_score(gains, losses, n_items, delta)
        assert np.array_equal(score, -tango_score(losses, gains, n_items, -delta))
        table = np.full((n_items + 1, n_items + 1), np.nan)
        table[gains, losses] = score
        gain_steps, loss_steps = np.diff(table, axis=0), np.diff(table, axis=1)
        assert (gain_steps[~np.isnan(gain_steps)] >= -1e-9).all()
        assert (loss_steps[~np.isnan(loss_steps)] <= 1e-9).all()


def test_score_falls_as_the_difference_rises():
    generator = np.random.default_rng(4)
    delta = np.linspace(-0.995, 0.995, 801)
    for _ in range(300):
        n_items = int(generator.integers(1, 3000))
        gains = int(generator.integers(0, n_items + 1))
        losses = int(generator.integers(0, n_items - gains + 1))
        assert (np.diff(tango_score(gains, losses, n_items, delta)) < 1e-9).all()


def test_squared_score_is_distance_times_slope_of_the_profile_likelihood():
    # The identity behind the monotony in delta: n T^2 = n (estimate - delta) times the slope.
    gains, losses, rest = 14, 9, 30
    n_items = gains + losses + rest

    def profile(delta):
        loss = np.linspace(max(0.0, -delta) + 1e-9, (1.0 - delta) / 2.0 - 1e-9, 2_000_001)
        chances = (loss + delta, loss, 1.0 - 2.0 * loss - delta)
        cells = (gains, losses, rest)
        return float(sum(k * np.log(p) for k, p in zip(cells, chances, strict=True)).max())

    for delta in (-0.3, -0.05, 0.02, 0.25, 0.6):
        slope = (profile(delta + 1e-4) - profile(delta - 1e-4)) / 2e-4
        expected = ((gains - losses) / n_items - delta) * slope
        assert float(tango_score(gains, losses, n_items, delta)) ** 2 == pytest.approx(expected, rel=1e-4)


def test_limit_solves_the_score_equation():
    generator = np.random.default_rng(2)
    for _ in range(200):
        n_items = int(generator.integers(2, 20000))
        gains = int(generator.integers(0, n_items + 1))
        losses = int(generator.integers(0, n_items - gains + 1))
        if losses == n_items:
            continue
        limit = tango_lower_limit(gains, losses, n_items, CRITICAL)
        assert -1.0 <= limit <= (gains - losses) / n_items
        step = 1e-9
        assert float(tango_score(gains, losses, n_items, max(-1.0, limit - step))) >= CRITICAL - 1e-6
        assert float(tango_score(gains, losses, n_items, min(1.0, limit + step))) <= CRITICAL + 1e-6


def test_limit_where_every_item_is_a_loss():
    assert tango_lower_limit(0, 7, 7, CRITICAL) == -1.0
    assert tango_lower_limit(7, 0, 7, CRITICAL) > 0.0

import numpy as np
import pytest
from scipy.special import betainc

from analysis.paired.gamma_mixture import dirichlet_mean_cdf


@pytest.mark.parametrize(
    ("ones", "zeros", "at"),
    [
        (1, 1, 0.3),
        (1, 1, 0.7),
        (2, 5, 0.01),
        (300, 700, 0.27),
        (1, 1319, 1e-5),
        (1, 1319, 0.0028),
        (1319, 1, 0.98),
        (20, 1300, 0.008),
        (1, 2, 1e-9),
        (10000, 10000, 0.49),
    ],
)
def test_two_values_give_the_beta_distribution(ones, zeros, at):
    found = dirichlet_mean_cdf(np.array([0.0, 1.0]), np.array([zeros, ones], dtype=float), at)
    assert found == pytest.approx(float(betainc(ones, zeros, at)), rel=1e-10)


def test_many_values_agree_with_simulation():
    generator = np.random.default_rng(6)
    values = np.concatenate([[0.0], np.sort(generator.uniform(size=20))])
    shapes = np.concatenate([[3.0], np.ones(20)])
    means = generator.dirichlet(shapes, 200_000) @ values
    for at in (0.3, 0.4, 0.5):
        expected = (means <= at).mean()
        assert dirichlet_mean_cdf(values, shapes, at) == pytest.approx(expected, abs=5.0 * np.sqrt(0.25 / 200_000))


def test_tails_outside_the_range():
    values, shapes = np.array([0.0, 0.5]), np.array([1.0, 1.0])
    assert dirichlet_mean_cdf(values, shapes, 0.0) == 0.0
    assert dirichlet_mean_cdf(values, shapes, -0.1) == 0.0
    assert dirichlet_mean_cdf(values, shapes, 0.5) == 1.0

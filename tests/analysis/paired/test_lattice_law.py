import itertools

import numpy as np
import pytest

from analysis.paired.lattice_law import MAX_POINTS, MeanLaw, bootstrap_law


def test_equals_enumeration_of_all_resamples():
    differences = np.array([-1.0, 0.0, 0.0, 1.0, 0.5])
    means = np.array([np.mean(draw) for draw in itertools.product(differences, repeat=5)])
    law = bootstrap_law(differences)
    for value in law.support:
        assert law.at_most(value) == pytest.approx((means <= value + 1e-12).mean(), abs=1e-13)
        assert law.below(value) == pytest.approx((means < value - 1e-12).mean(), abs=1e-13)


def test_finds_the_step_of_rounded_fractions():
    differences = np.array([1 / 3 - 1.0, 0.0, 1 / 7, 2 / 3 - 1 / 7, 0.3 - 0.1, 0.2])
    law = bootstrap_law(differences)
    assert np.diff(law.support) == pytest.approx(1.0 / 105.0 / 6.0)
    mean = differences.mean()
    assert law.at_most(mean) > law.below(mean)


def test_values_on_no_lattice_have_no_exact_law():
    assert bootstrap_law(np.random.default_rng(1).uniform(-1.0, 1.0, 50)) is None


def test_a_support_past_the_limit_is_not_transformed():
    differences = np.zeros(MAX_POINTS // 1024)
    differences[:2] = (1 / 1024, 1.0)
    assert bootstrap_law(differences) is None
    assert bootstrap_law(differences[:-1]) is not None


def test_quantile_is_the_smallest_value_with_enough_probability():
    law = bootstrap_law(np.array([0.0, 1.0]))
    assert law.cumulative == pytest.approx([0.25, 0.75, 1.0])
    assert [law.quantile(level) for level in (0.1, 0.3, 0.7, 0.8)] == [0.0, 0.5, 0.5, 1.0]
    exact = MeanLaw(np.array([0.0, 0.5, 1.0]), np.array([0.25, 0.75, 1.0]))
    assert [exact.quantile(level) for level in (0.25, 0.75)] == [0.0, 0.5]


def test_a_million_items():
    differences = np.zeros(1_000_000)
    differences[:100_000], differences[100_000:180_000] = 1.0, -1.0
    law = bootstrap_law(differences)
    standard_error = differences.std() / 1000.0
    assert law.quantile(0.025) == pytest.approx(0.02 - 1.959964 * standard_error, abs=2e-6)

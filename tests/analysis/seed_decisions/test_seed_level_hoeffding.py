import numpy as np
import pytest

from analysis.paired.methods import load_method
from analysis.paired.sample import sample_from_seeds
from analysis.seeds.sample import SeedScores

METHOD = load_method("seed_level_hoeffding")


def sample(n_treatment, n_baseline, paired):
    treatment, baseline = np.full((n_treatment, 5), 0.6), np.full((n_baseline, 5), 0.4)
    return sample_from_seeds(SeedScores(treatment, baseline, paired), (-1.0, 1.0))


def test_the_width_is_hoeffding_s_in_the_number_of_seeds():
    found = METHOD.interval(sample(50, 50, True), alpha=0.05)
    assert found.upper - found.estimate == pytest.approx(2.0 * np.sqrt(np.log(40.0) / 100.0))
    apart = METHOD.interval(sample(40, 60, False), alpha=0.05)
    assert apart.upper - apart.estimate == pytest.approx(np.sqrt((1 / 40 + 1 / 60) * np.log(40.0) / 2.0))


def test_three_seeds_prove_nothing():
    found = METHOD.interval(sample(3, 3, True), alpha=0.05)
    assert (found.lower, found.upper, found.p_value, found.trusted) == (-1.0, 1.0, 1.0, True)

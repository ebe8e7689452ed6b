import numpy as np
import pytest
import scipy

from analysis.paired.methods import load_method
from analysis.paired.sample import sample_from_seeds
from analysis.seeds.sample import SeedScores

METHOD = load_method("seed_level_t")


@pytest.mark.parametrize("alpha", [1e-6, 0.01, 0.05, 0.4])
@pytest.mark.parametrize("paired", [True, False])
def test_limits_and_p_value_are_scipy_s(alpha, paired):
    generator = np.random.default_rng(11)
    for n_seeds in (3, 4, 9):
        treatment = generator.uniform(0.3, 0.9, (n_seeds, 30))
        baseline = generator.uniform(0.1, 0.7, (n_seeds if paired else n_seeds + 2, 30))
        sample = sample_from_seeds(SeedScores(treatment, baseline, paired), (-1000.0, 1000.0))
        found = METHOD.interval(sample, alpha=alpha)
        means = treatment.mean(axis=1), baseline.mean(axis=1)
        test = scipy.stats.ttest_rel(*means) if paired else scipy.stats.ttest_ind(*means, equal_var=False)
        expected = test.confidence_interval(1.0 - alpha)
        assert (found.lower, found.upper) == pytest.approx((expected.low, expected.high), rel=1e-9)
        assert test.statistic > 0
        assert found.p_value == pytest.approx(test.pvalue, rel=1e-9)


def test_one_arm_without_spread_leaves_welch_s_interval_of_the_other():
    treatment = np.array([[0.7], [0.8], [0.9]])
    sample = sample_from_seeds(SeedScores(treatment, np.full((4, 1), 0.25), paired=False), (-1.0, 1.0))
    found = METHOD.interval(sample, alpha=0.1)
    expected = scipy.stats.ttest_1samp(treatment[:, 0] - 0.25, 0.0).confidence_interval(0.9)
    assert found.trusted
    assert (found.lower, found.upper) == pytest.approx((expected.low, expected.high))

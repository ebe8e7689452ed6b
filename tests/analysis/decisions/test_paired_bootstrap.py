import numpy as np
import pytest
import scipy

from analysis.decisions.paired_bootstrap import interval
from analysis.errors import AuditError
from analysis.paired.sample import PairedSample


def _scipy_percentile(differences, n_resamples, seed):
    found = scipy.stats.bootstrap(
        (differences,), np.mean, n_resamples=n_resamples, method="percentile", batch=1000, rng=seed
    )
    return found.confidence_interval


@pytest.mark.parametrize("cells", [(132, 174, 1319), (146, 114, 1319), (16, 8, 86)])
def test_agrees_with_scipy_to_two_lattice_steps(table, cells):
    sample = table(*cells)
    found = interval(sample, alpha=0.05)
    expected = _scipy_percentile(sample.differences, 20_000, seed=1)
    assert found.lower == pytest.approx(expected.low, abs=2.0 / sample.n_items)
    assert found.upper == pytest.approx(expected.high, abs=2.0 / sample.n_items)


def test_measured_endpoints(table):
    found = interval(table(132, 174, 1319), alpha=0.05)
    assert (found.lower, found.upper) == (
        pytest.approx(-0.05762, abs=5e-6),
        pytest.approx(-0.00607, abs=5e-6),
    )


def test_a_tied_verdict_does_not_depend_on_a_seed(table):
    sample = table(146, 114, 1319)
    assert {interval(sample, alpha=0.05, seed=seed).lower for seed in (None, 1, 2, 3)} == {0.0}


def test_fractions_of_repeated_answers_are_exact_too():
    generator = np.random.default_rng(3)
    differences = generator.integers(-8, 9, 200) / 8.0
    sample = PairedSample(differences, (-1.0, 1.0))
    found = interval(sample, alpha=0.05)
    expected = _scipy_percentile(differences, 50_000, seed=2)
    assert found.lower == pytest.approx(expected.low, abs=2.0 / 200)
    assert found.upper == pytest.approx(expected.high, abs=2.0 / 200)


def test_continuous_scores_need_a_registered_seed():
    differences = np.random.default_rng(4).uniform(-1.0, 1.0, 150)
    sample = PairedSample(differences, (-1.0, 1.0))
    with pytest.raises(AuditError, match="register `resampling_seed`"):
        interval(sample, alpha=0.05)
    found = interval(sample, alpha=0.05, seed=11)
    assert found == interval(sample, alpha=0.05, seed=11)
    assert found != interval(sample, alpha=0.05, seed=12)
    expected = _scipy_percentile(differences, 50_000, seed=2)
    # Monte Carlo error of a 2.5 % quantile of 20,000 resamples: about 2 % of the standard error of the mean.
    assert found.lower == pytest.approx(expected.low, abs=0.1 * differences.std() / np.sqrt(150))
    assert found.upper == pytest.approx(expected.high, abs=0.1 * differences.std() / np.sqrt(150))


def test_p_value_is_dual_to_the_lower_limit(table):
    sample = table(146, 114, 1319)
    for margin in np.arange(-5, 40) / 1319:
        found = interval(sample, alpha=0.05, margin=margin)
        assert (found.p_value < 0.05) == (found.lower > margin + 1e-12)


@pytest.mark.parametrize("cells", [(0, 0, 50), (20, 0, 20), (1, 0, 1)])
def test_zero_width_becomes_the_whole_range_and_is_not_trusted(table, cells):
    found = interval(table(*cells), alpha=0.05)
    assert (found.lower, found.upper, found.trusted) == (-1.0, 1.0, False)
    assert "zero width" in found.reason


def test_nine_discordant_items_are_too_few_and_ten_are_enough(table):
    nine, ten = interval(table(6, 3, 1319), alpha=0.05), interval(table(6, 4, 1319), alpha=0.05)
    assert not nine.trusted
    assert "9 of 1319" in nine.reason
    assert ten.trusted
    assert ten.reason is None

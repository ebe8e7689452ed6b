import numpy as np
import pytest
import scipy

from analysis.decisions import paired_bootstrap
from analysis.decisions.paired_bootstrap_bca import interval
from analysis.errors import AuditError
from analysis.paired.sample import PairedSample


@pytest.mark.parametrize("cells", [(132, 174, 1319), (16, 8, 86), (40, 80, 1319)])
def test_agrees_with_scipy_to_two_lattice_steps(table, cells):
    sample = table(*cells)
    found = interval(sample, alpha=0.05)
    expected = scipy.stats.bootstrap(
        (sample.differences,), np.mean, n_resamples=20_000, method="BCa", batch=1000, rng=1
    ).confidence_interval
    assert found.lower == pytest.approx(expected.low, abs=2.01 / sample.n_items)
    assert found.upper == pytest.approx(expected.high, abs=2.01 / sample.n_items)


def test_measured_endpoints(table):
    found = interval(table(132, 174, 1319), alpha=0.05)
    assert found.lower == pytest.approx(-0.05762, abs=5e-6)
    assert found.upper == pytest.approx(-0.00607, abs=5e-6)


def test_skewed_scores_shift_the_limits():
    # Mostly small losses and a few large gains: the percentile interval sits too far left. A fine lattice.
    differences = np.concatenate([np.full(45, -1.0), np.full(45, -9.0), np.full(10, 64.0)]) / 64.0
    sample = PairedSample(differences, (-1.0, 1.0))
    corrected, plain = interval(sample, alpha=0.05), paired_bootstrap.interval(sample, alpha=0.05)
    expected = scipy.stats.bootstrap(
        (differences,), np.mean, n_resamples=50_000, method="BCa", batch=1000, rng=2
    ).confidence_interval
    standard_error = differences.std() / 10.0
    assert corrected.lower > plain.lower + 0.1 * standard_error
    assert corrected.upper > plain.upper + 0.1 * standard_error
    assert (corrected.lower, corrected.upper) == pytest.approx((expected.low, expected.high), abs=0.05 * standard_error)


def test_continuous_scores_need_a_registered_seed():
    sample = PairedSample(np.random.default_rng(4).uniform(-1.0, 1.0, 50), (-1.0, 1.0))
    with pytest.raises(AuditError, match="register `resampling_seed`"):
        interval(sample, alpha=0.05)


@pytest.mark.parametrize("cells", [(0, 0, 50), (20, 0, 20), (1, 0, 1)])
def test_constant_differences_are_not_trusted(table, cells):
    # A library in use returns nan here, another one [0, 0].
    found = interval(table(*cells), alpha=0.05)
    assert (found.lower, found.upper, found.trusted) == (-1.0, 1.0, False)


def test_p_value_undoes_the_correction(table):
    sample = table(80, 55, 500)
    for margin in (0.0, 0.01, 0.02, 0.03):
        p_value = interval(sample, alpha=0.05, margin=margin).p_value
        if 1e-6 < p_value < 1.0:
            assert interval(sample, alpha=0.999 * p_value).lower <= margin + 1e-12
            assert interval(sample, alpha=min(0.999, 1.001 * p_value)).lower >= margin - 1e-12

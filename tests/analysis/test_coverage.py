import os
from pathlib import Path

import numpy as np
import pytest

from analysis.coverage import PAIRS, Limits, coverage, method_limits, plain_percentile_limits
from analysis.coverage_page import ALPHAS, PLAIN, SIZES, coverage_of, coverage_page
from analysis.paired.methods import load_method, method_ids
from analysis.paired.sample import PairedCounts, sample_from_counts

PAGE = Path(__file__).parents[2] / "docs" / "coverage.md"
METHODS = [load_method(method_id) for method_id in method_ids()]
GUARANTEED = [method.id for method in METHODS if method.info.guarantee != "asymptotic"]
FEW = ((0.002, 0.005), (0.03, 0.03), (0.1, 0.02), (0.3, 0.15), (0.0, 0.3), (0.3, 0.0))


def test_the_grid_is_the_one_of_the_page():
    assert len(PAIRS) == len(set(PAIRS)) == 143
    assert (0.0, 0.0) not in PAIRS


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.id)
@pytest.mark.parametrize("n_items", [10, 20])
def test_few_points_are_covered_as_promised(method, n_items):
    """An untrusted interval decides nothing; of the others a guaranteed method misses at most alpha, here and there."""
    found = coverage(method_limits(method, n_items, 0.1), 0.1, FEW)
    promised = 0.9 if method.info.guarantee != "asymptotic" else 0.85
    assert found.guarded_least >= promised - 1e-9
    if method.info.guarantee != "asymptotic":
        assert found.least == pytest.approx(found.guarded_least)
        assert found.short == 0.0


@pytest.mark.parametrize("method_id", ["paired_tango", "paired_newcombe"])
def test_coverage_and_width_are_the_sums_over_every_table(method_id):
    from scipy.stats import multinomial

    n_items, alpha, gain, loss = 13, 0.2, 0.21, 0.08
    method, covered, width = load_method(method_id), 0.0, 0.0
    for gains in range(n_items + 1):
        for losses in range(n_items + 1 - gains):
            agreed = n_items - gains - losses
            counts = PairedCounts(agreed // 2, gains, losses, agreed - agreed // 2)
            found = method.interval(sample_from_counts(counts), alpha=alpha)
            weight = multinomial.pmf([gains, losses, agreed], n_items, [gain, loss, 1 - gain - loss])
            covered += weight * (found.lower <= gain - loss <= found.upper)
            width += weight * (found.upper - found.lower) / 2
    limits = method_limits(method, n_items, alpha)
    assert limits.coverage(gain, loss, guarded=False) == pytest.approx(covered, abs=1e-12)
    assert limits.half_width(gain, loss) == pytest.approx(width, abs=1e-12)
    assert 0.5 < covered < 1.0


def test_a_limit_on_the_truth_covers_and_an_untrusted_miss_is_guarded():
    one = np.array([1.0, 0.0, 0.0])
    trusted = np.array([True, True, False])
    limits = Limits(1, one, one[[1, 0, 2]], np.array([0.3, -1.0, 0.5]), np.array([1.0, 0.3, 0.9]), trusted)
    # Gain .4 covers with its lower limit, loss .1 with its upper one; no change, .5, misses and is not trusted.
    assert limits.coverage(0.4, 0.1, guarded=False) == pytest.approx(0.5)
    assert limits.coverage(0.4, 0.1, guarded=True) == pytest.approx(1.0)


def test_a_method_that_is_too_short_is_found_out():
    narrow = load_method("paired_exact_unconditional")
    found = coverage(method_limits(narrow, 10, 0.3), 0.05)
    assert found.least < 0.95
    assert found.short > 0.0


def test_a_plain_bootstrap_collapses_where_few_items_differ():
    limits = plain_percentile_limits(50, 0.05)
    assert limits.coverage(0.010, 0.005, guarded=False) == pytest.approx(0.394, abs=5e-4)
    assert limits.coverage(0.002, 0.0, guarded=False) == pytest.approx(1 - 0.998**50, abs=1e-3)
    found = coverage(limits, 0.05)
    assert (found.least, found.mean) == (pytest.approx(0.095, abs=5e-4), pytest.approx(0.857, abs=1e-3))


@pytest.mark.slow
@pytest.mark.parametrize("method_id", GUARANTEED)
@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize("n_items", SIZES)
def test_a_proven_or_conjectured_method_is_never_below_nominal(n_items, alpha, method_id):
    assert coverage_of(method_id, n_items, alpha).least >= 1.0 - alpha - 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("n_items", SIZES)
def test_no_method_is_worse_than_the_plain_bootstrap_it_warns_of(n_items):
    worst = coverage_of(PLAIN, n_items, 0.05).least
    assert worst < 0.2
    assert all(coverage_of(method_id, n_items, 0.05).guarded_least > 0.9 for method_id in method_ids())


@pytest.mark.slow
def test_the_page_is_the_enumeration_s():
    if os.environ.get("RUNAUDIT_WRITE"):
        PAGE.write_text(coverage_page(), encoding="utf-8")
    assert PAGE.read_text(encoding="utf-8") == coverage_page(), "run again with RUNAUDIT_WRITE=1"

"""What every decision method owes. Found by walking the folder: a new method needs no edit here."""

import dataclasses
import importlib
import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.errors import AuditError
from analysis.paired.methods import load_method, method_ids, proven_method_for
from analysis.paired.sample import PairedCounts, PairedSample, sample_from_counts

METHODS = [load_method(method_id) for method_id in method_ids()]
BOUNDED = [method for method in METHODS if method.info.scores == "bounded"]
BINARY = [method for method in METHODS if method.info.scores == "binary"]
GUARANTEED = [method for method in METHODS if method.info.guarantee != "asymptotic"]
# Methods whose variance is estimated are not monotone: an unexpected gain raises the estimate and the variance.
MONOTONE = {
    "paired_hoeffding",
    "paired_bootstrap",
    "paired_exact_unconditional",
    "paired_tango",
    "paired_fay_lumbard",
    "paired_gaffke",
}
ALPHAS = st.sampled_from([1e-4, 0.01, 0.05, 0.1, 0.5])
SEED = 20260101


def _named(methods):
    return pytest.mark.parametrize("method", methods, ids=lambda method: method.id)


@st.composite
def tables(draw, largest=60):
    n_items = draw(st.integers(1, largest))
    only_treatment = draw(st.integers(0, n_items))
    only_baseline = draw(st.integers(0, n_items - only_treatment))
    both = draw(st.integers(0, n_items - only_treatment - only_baseline))
    return PairedCounts(both, only_treatment, only_baseline, n_items - only_treatment - only_baseline - both)


def _swapped(counts):
    return PairedCounts(counts.both, counts.only_baseline, counts.only_treatment, counts.neither)


FRACTIONS = st.lists(st.integers(-8, 8), min_size=1, max_size=40).map(lambda numerators: np.array(numerators) / 8.0)
REALS = st.lists(st.floats(-1.0, 1.0), min_size=1, max_size=40).map(np.array)


def _interval(method, sample, alpha=0.05, margin=0.0):
    return method.interval(sample, alpha=alpha, margin=margin, seed=SEED)


def _check_sound(sample, found, alpha):
    low, high = sample.bounds
    assert low <= found.lower <= sample.estimate <= found.upper <= high
    assert found.estimate == sample.estimate
    assert found.p_value is None or 0.0 <= found.p_value <= 1.0
    assert found.upper > found.lower
    assert found.trusted == (found.reason is None)


@_named(METHODS)
def test_documentation_is_complete(method):
    module = importlib.import_module(f"analysis.decisions.{method.id}")
    assert module.__doc__
    assert len(module.__doc__.splitlines()) >= 4
    for field in dataclasses.fields(method.info):
        assert getattr(method.info, field.name).strip()
    assert any(character.isdigit() for character in method.info.source), "the source needs a year"
    for section in ("Args:", "Returns:"):
        assert section in (module.interval.__doc__ or "")


@_named(METHODS)
@settings(max_examples=40, deadline=None)
@given(counts=tables(), alpha=ALPHAS)
def test_limits_are_sound_on_right_wrong_scores(method, counts, alpha):
    sample = sample_from_counts(counts)
    found = _interval(method, sample, alpha)
    _check_sound(sample, found, alpha)
    if counts.discordant == 0 and found.trusted:
        # All differences are 0 with probability at least (1 - |delta|)^n: no valid interval can be shorter.
        assert found.upper >= 1.0 - alpha ** (1.0 / counts.n_items) - 1e-9


@_named(BOUNDED)
@settings(max_examples=40, deadline=None)
@given(differences=st.one_of(FRACTIONS, REALS), alpha=ALPHAS)
def test_limits_are_sound_on_bounded_scores(method, differences, alpha):
    sample = PairedSample(differences, (-1.0, 1.0))
    _check_sound(sample, _interval(method, sample, alpha), alpha)


@_named(BOUNDED)
@pytest.mark.parametrize(
    "differences",
    [
        [0.3] * 9 + [0.3 + 1e-15],
        [1e-300, 0.0, 0.0],
        [0.0] * 500 + [1e-9],
        [1.0],
        [-1.0, -1.0],
        [0.1 * k for k in range(-3, 4)],
    ],
    ids=["equal up to rounding", "denormal", "one tiny", "one item", "all at the bound", "rounded tenths"],
)
def test_awkward_scores_are_sound(method, differences):
    sample = PairedSample(np.array(differences), (-1.0, 1.0))
    for alpha in (1e-4, 0.05, 0.5):
        _check_sound(sample, _interval(method, sample, alpha), alpha)


@_named(METHODS)
@settings(max_examples=30, deadline=None)
@given(counts=tables(), alpha=ALPHAS)
def test_swapping_the_arms_mirrors_the_interval(method, counts, alpha):
    found = _interval(method, sample_from_counts(counts), alpha)
    mirror = _interval(method, sample_from_counts(_swapped(counts)), alpha)
    assert (found.lower, found.upper) == (
        pytest.approx(-mirror.upper, abs=1e-12),
        pytest.approx(-mirror.lower, abs=1e-12),
    )
    assert found.trusted == mirror.trusted


@_named(BOUNDED)
@settings(max_examples=30, deadline=None)
@given(differences=st.one_of(FRACTIONS, REALS), shuffle=st.randoms(use_true_random=False))
def test_neither_order_nor_swap_of_bounded_scores_matters(method, differences, shuffle):
    found = _interval(method, PairedSample(differences, (-1.0, 1.0)))
    order = list(range(differences.size))
    shuffle.shuffle(order)
    again = _interval(method, PairedSample(differences[order], (-1.0, 1.0)))
    assert (again.lower, again.upper) == (pytest.approx(found.lower, abs=1e-9), pytest.approx(found.upper, abs=1e-9))
    mirror = _interval(method, PairedSample(-differences, (-1.0, 1.0)))
    assert (-mirror.upper, -mirror.lower) == (
        pytest.approx(found.lower, abs=1e-9),
        pytest.approx(found.upper, abs=1e-9),
    )


@_named(METHODS)
@pytest.mark.parametrize("order", [1, -1])
def test_sorted_items_give_the_same_interval(method, order):
    shuffled = sample_from_counts(PairedCounts(60, 20, 12, 28))
    expected = _interval(method, shuffled)
    found = _interval(method, dataclasses.replace(shuffled, differences=np.sort(shuffled.differences)[::order]))
    assert (found.lower, found.upper) == (
        pytest.approx(expected.lower, abs=1e-12),
        pytest.approx(expected.upper, abs=1e-12),
    )


@_named(METHODS)
@settings(max_examples=20, deadline=None)
@given(counts=tables())
def test_a_smaller_alpha_gives_a_wider_interval(method, counts):
    sample = sample_from_counts(counts)
    inner, outer = _interval(method, sample, 0.1), _interval(method, sample, 0.05)
    assert outer.lower <= inner.lower + 1e-9
    assert outer.upper >= inner.upper - 1e-9


@_named(METHODS)
@pytest.mark.parametrize("cells", [(30, 12, 6, 22), (100, 20, 45, 35), (0, 15, 15, 0)])
def test_four_times_the_items_give_a_shorter_interval(method, cells):
    few = _interval(method, sample_from_counts(PairedCounts(*cells)))
    many = _interval(method, sample_from_counts(PairedCounts(*(4 * cell for cell in cells))))
    # Between a quarter, where range terms dominate, and one, from the square root law; nothing free.
    assert 0.2 * (few.upper - few.lower) < many.upper - many.lower < 0.75 * (few.upper - few.lower)


@_named([method for method in METHODS if method.id in MONOTONE])
@settings(max_examples=25, deadline=None)
@given(counts=tables(), alpha=ALPHAS, data=st.data())
def test_one_more_gain_or_one_loss_less_never_lowers_a_limit(method, counts, alpha, data):
    moves = [(-1, 1, 0, 0), (0, 1, 0, -1), (1, 0, -1, 0), (0, 0, -1, 1), (0, 1, -1, 0)]
    cells = np.array(dataclasses.astuple(counts))
    better = cells + np.array(data.draw(st.sampled_from(moves)))
    if (better < 0).any():
        return
    found, moved = (_interval(method, sample_from_counts(PairedCounts(*map(int, c))), alpha) for c in (cells, better))
    if not (found.trusted and moved.trusted):
        return
    # The exact method certifies its limits to 3e-4 of the error probability.
    slack = 2e-3 / math.sqrt(counts.n_items) if method.id == "paired_exact_unconditional" else 1e-9
    assert moved.lower >= found.lower - slack
    assert moved.upper >= found.upper - slack


@_named(METHODS)
@settings(max_examples=30, deadline=None)
@given(counts=tables(), margin=st.sampled_from([0.0, 0.02, 0.1, 0.3]), alpha=ALPHAS)
def test_p_value_is_dual_to_the_lower_limit(method, counts, margin, alpha):
    found = _interval(method, sample_from_counts(counts), alpha, margin)
    if found.p_value is None or not found.trusted:
        return
    if found.lower > margin + 1e-7:
        assert found.p_value <= alpha + 1e-9
    elif found.lower < margin - 1e-7:
        assert found.p_value >= alpha - 1e-9


@_named(METHODS)
def test_p_value_can_reject_and_can_fail_to(method):
    found = [_interval(method, sample_from_counts(PairedCounts(50, 120, only, 100))).p_value for only in (5, 110)]
    assert found[0] < 0.05 < found[1]


@_named(METHODS)
def test_seed_is_needed_where_the_method_says_so_and_ignored_elsewhere(method):
    binary = sample_from_counts(PairedCounts(30, 20, 12, 38))
    continuous = PairedSample(np.random.default_rng(1).uniform(-1.0, 1.0, 40), (-1.0, 1.0))
    needed = {"never": (False, False), "continuous scores": (False, True), "always": (True, True)}[method.info.seed]
    for sample, draws in zip((binary, continuous), needed, strict=True):
        if sample is continuous and method.info.scores == "binary":
            continue
        found = [method.interval(sample, alpha=0.05, seed=seed) for seed in (1, 2)]
        assert (found[0] != found[1]) == draws
        if draws:
            with pytest.raises(AuditError, match="resampling_seed"):
                method.interval(sample, alpha=0.05)
        else:
            assert method.interval(sample, alpha=0.05) == found[0]


@_named(BINARY)
def test_other_scores_are_refused_with_what_fits(method):
    sample = PairedSample(np.array([0.5, -0.25, 0.0, 1.0]), (-1.0, 1.0))
    with pytest.raises(AuditError, match="paired_hoeffding"):
        _interval(method, sample)


def _trinomial_law(n_items, tables_, gain, loss):
    """Probability of each table (b, c) under chances `gain` and `loss`."""
    rest = 1.0 - gain - loss
    return np.array(
        [
            math.comb(n_items, b) * math.comb(n_items - b, c) * gain**b * loss**c * rest ** (n_items - b - c)
            for b, c in tables_
        ]
    )


@_named(METHODS)
def test_enumerated_coverage(method):
    """At 12 items and 21 x 21 chances, summed over every table. An untrusted interval decides nothing: it covers."""
    n_items, alpha = 12, 0.1
    cells = [(b, c) for b in range(n_items + 1) for c in range(n_items + 1 - b)]
    found = [_interval(method, sample_from_counts(PairedCounts(0, b, c, n_items - b - c)), alpha) for b, c in cells]
    lower = np.array([item.lower if item.trusted else -1.0 for item in found])
    upper = np.array([item.upper if item.trusted else 1.0 for item in found])
    grid = (
        0.0,
        1e-4,
        0.003,
        0.011,
        0.023,
        0.041,
        0.083,
        0.127,
        0.171,
        0.23,
        0.31,
        0.37,
        0.43,
        0.51,
        0.57,
        0.69,
        0.83,
        0.97,
    )
    least = 1.0
    for gain, loss in itertools.product(grid, grid):
        if gain + loss > 1.0:
            continue
        inside = (lower <= gain - loss + 1e-12) & (gain - loss - 1e-12 <= upper)
        least = min(least, float(_trinomial_law(n_items, cells, gain, loss) @ inside))
    promised = 1.0 - alpha if method in GUARANTEED else 0.80
    assert least >= promised - 1e-9


@_named(BOUNDED)
def test_enumerated_coverage_of_bounded_scores(method):
    """At 7 items with 4 possible differences: every multiset of outcomes, at chances off any mesh."""
    n_items, alpha, values = 7, 0.1, np.array([-1.0, -0.25, 0.5, 1.0])
    outcomes = [np.array(cells) for cells in itertools.product(range(n_items + 1), repeat=4) if sum(cells) == n_items]
    found = [_interval(method, PairedSample(np.repeat(values, cells), (-1.0, 1.0)), alpha) for cells in outcomes]
    lower = np.array([item.lower if item.trusted else -1.0 for item in found])
    upper = np.array([item.upper if item.trusted else 1.0 for item in found])
    orders = np.array([math.factorial(n_items) / math.prod(map(math.factorial, cells)) for cells in outcomes])
    generator = np.random.default_rng(12)
    for concentration in (0.2, 1.0, 5.0):
        for chances in generator.dirichlet(np.full(4, concentration), 60):
            mean = float(chances @ values)
            law = orders * np.prod(chances ** np.array(outcomes), axis=1)
            inside = (lower <= mean + 1e-12) & (mean - 1e-12 <= upper)
            assert law @ inside >= (1.0 - alpha if method in GUARANTEED else 0.5) - 1e-9


def test_a_proven_method_stands_beside_any_sample():
    for sample in (sample_from_counts(PairedCounts(3, 2, 1, 4)), PairedSample(np.array([0.3, -0.2]), (-1.0, 1.0))):
        method = proven_method_for(sample)
        assert method.info.guarantee == "proven"
        assert method.interval(sample, alpha=0.05).trusted


def test_an_unknown_method_is_refused_with_the_nearest_name():
    with pytest.raises(AuditError, match='did you mean "paired_hoeffding"'):
        load_method("paired_hofding")

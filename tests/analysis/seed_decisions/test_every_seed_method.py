"""What every seed-level method owes. Found by walking the folder: a new method needs no edit here."""

import dataclasses
import importlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.errors import AuditError
from analysis.paired.methods import load_method, method_ids, proven_method_for
from analysis.paired.sample import PairedCounts, sample_from_counts, sample_from_seeds
from analysis.seeds.sample import SeedScores

METHODS = [load_method(method_id) for method_id in method_ids("training_seeds")]
ALPHAS = st.sampled_from([1e-4, 0.01, 0.05, 0.1, 0.5])


@pytest.fixture(params=METHODS, ids=lambda method: method.id)
def method(request):
    return request.param


@st.composite
def samples(draw):
    """Right/wrong scores of a few seeds on a few items, often with no spread at all."""
    paired, n_items = draw(st.booleans()), draw(st.integers(1, 20))
    seeds = draw(st.integers(3, 6))
    sides = [seeds, seeds if paired else draw(st.integers(3, 6))]
    generator = np.random.default_rng(draw(st.integers(0, 2**32)))
    chance = draw(st.sampled_from([0.0, 0.1, 0.5, 1.0]))
    treatment, baseline = ((generator.random((side, n_items)) < chance) * 1.0 for side in sides)
    return sample_from_seeds(SeedScores(treatment, baseline, paired), (-1.0, 1.0))


def rebuilt(sample, change_treatment, change_baseline, swap=False):
    sides = [change_treatment(sample.by_seed.treatment), change_baseline(sample.by_seed.baseline)]
    treatment, baseline = reversed(sides) if swap else sides
    return sample_from_seeds(SeedScores(treatment, baseline, sample.by_seed.paired), sample.bounds)


def same(scores):
    return scores


def test_documentation_is_complete(method):
    module = importlib.import_module(f"analysis.seed_decisions.{method.id}")
    assert len((module.__doc__ or "").splitlines()) >= 4
    for field in dataclasses.fields(method.info):
        assert getattr(method.info, field.name).strip()
    assert any(character.isdigit() for character in method.info.source), "the source needs a year"
    for section in ("Args:", "Returns:", "Raises:"):
        assert section in (module.interval.__doc__ or "")
    assert method.unit == "training_seeds"
    assert method.id not in method_ids()


def test_a_sample_of_fixed_checkpoints_is_refused(method):
    with pytest.raises(AuditError, match=f'"{method.id}" generalises over training seeds'):
        method.interval(sample_from_counts(PairedCounts(1, 20, 3, 4)), alpha=0.05)


@settings(max_examples=60, deadline=None)
@given(sample=samples(), alpha=ALPHAS, margin=st.sampled_from([0.0, 0.02, 0.3]))
@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.id)
def test_limits_are_sound(method, sample, alpha, margin):
    found = method.interval(sample, alpha=alpha, margin=margin)
    low, high = sample.bounds
    assert low <= found.lower <= sample.estimate <= found.upper <= high
    assert found.estimate == sample.estimate
    assert found.upper > found.lower
    assert 0.0 <= found.p_value <= 1.0
    assert found.trusted == (found.reason is None)
    if found.trusted and found.lower > margin + 1e-9:
        assert found.p_value <= alpha + 1e-9
    elif found.trusted and low < found.lower < margin - 1e-9:
        assert found.p_value >= alpha - 1e-9
    wider = method.interval(sample, alpha=alpha / 3.0, margin=margin)
    assert wider.lower <= found.lower + 1e-12
    assert wider.upper >= found.upper - 1e-12


@settings(max_examples=30, deadline=None)
@given(sample=samples(), order=st.randoms(use_true_random=False))
@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.id)
def test_neither_the_order_of_seeds_and_items_nor_a_swap_of_the_arms_matters(method, sample, order):
    found = method.interval(sample, alpha=0.1)
    seeds, items = (list(range(size)) for size in (len(sample.by_seed.treatment), sample.n_items))
    order.shuffle(seeds)
    order.shuffle(items)

    def shuffled(scores):
        return scores[seeds if len(scores) == len(seeds) else slice(None)][:, items]

    again = method.interval(rebuilt(sample, shuffled, shuffled), alpha=0.1)
    mirror = method.interval(rebuilt(sample, same, same, swap=True), alpha=0.1)
    expected = pytest.approx((found.lower, found.upper), abs=1e-9)
    assert (again.lower, again.upper) == expected
    assert (-mirror.upper, -mirror.lower) == expected
    assert found.trusted == again.trusted == mirror.trusted


def test_equal_seeds_never_give_a_narrow_interval(method):
    """Three copies of one training run: their spread is 0, and it is not known."""
    generator = np.random.default_rng(4)
    one, base = ((generator.random((1, 400)) < chance) * 1.0 for chance in (0.9, 0.4))
    scores = SeedScores(np.repeat(one, 3, axis=0), np.repeat(base, 3, axis=0), paired=True)
    found = method.interval(sample_from_seeds(scores, (-1.0, 1.0)), alpha=0.05)
    assert (found.lower, found.upper) == (-1.0, 1.0)
    assert found.trusted == (method.info.guarantee == "proven")


def test_the_seed_of_random_numbers_is_not_used(method, drawn):
    sample = drawn(np.random.default_rng(1), 4, seed_sd=0.1)
    assert method.info.seed == "never"
    assert method.interval(sample, alpha=0.05, seed=1) == method.interval(sample, alpha=0.05)


def test_four_times_the_seeds_give_a_shorter_interval_and_more_items_alone_do_not_suffice(method, drawn):
    def width(n_seeds, n_items):
        generator = np.random.default_rng(2)
        drawings = [drawn(generator, n_seeds, seed_sd=0.2, n_items=n_items) for _ in range(20)]
        intervals = [method.interval(sample, alpha=0.5) for sample in drawings]
        return np.mean([found.upper - found.lower for found in intervals])

    assert 0.3 * width(4, 50) < width(16, 50) < 0.6 * width(4, 50)
    assert width(4, 800) > 0.8 * width(4, 50)


def coverage(method, drawn, repetitions, alpha=0.1, **model):
    generator = np.random.default_rng(20260101)
    covered = 0
    for _ in range(repetitions):
        found = method.interval(drawn(generator, **model), alpha=alpha)
        covered += found.lower <= 0.0 <= found.upper
    return covered / repetitions


@pytest.mark.parametrize("repetitions", [1000, pytest.param(20_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("n_seeds", [3, 5, 10])
@pytest.mark.parametrize("seed_sd", [0.0, 0.2])
def test_coverage_over_training_seeds(method, drawn, n_seeds, seed_sd, repetitions):
    """Items fixed: no item effect enters the true difference."""
    error = np.sqrt(0.1 * 0.9 / repetitions)
    found = coverage(method, drawn, repetitions, n_seeds=n_seeds, seed_sd=seed_sd)
    assert found >= 0.9 - 4.0 * error
    if method.id == "seed_level_t":
        assert found <= 0.9 + 4.0 * error


def test_a_proven_method_stands_beside_seeds(drawn):
    sample = drawn(np.random.default_rng(3), 3)
    found = proven_method_for(sample)
    assert (found.unit, found.info.guarantee) == ("training_seeds", "proven")
    assert found.interval(sample, alpha=0.05).trusted

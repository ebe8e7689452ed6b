import numpy as np
import pytest
import scipy

from analysis.paired.methods import load_method
from analysis.paired.sample import sample_from_seeds
from analysis.seeds.sample import SeedScores

METHOD = load_method("hierarchical_crossed")


def half_of(interval):
    return (interval.high - interval.low) / 2.0


@pytest.mark.parametrize("alpha", [1e-5, 0.05, 0.3])
@pytest.mark.parametrize("paired", [True, False])
def test_squared_half_widths_of_the_t_intervals_add_up(drawn, alpha, paired):
    sample = drawn(np.random.default_rng(8), 5, seed_sd=0.03, item_sd=0.05, paired=paired)
    scores = sample.by_seed
    treatment, baseline = scores.treatment.mean(axis=1), scores.baseline.mean(axis=1)
    parts = [treatment - baseline] if paired else [treatment, baseline]
    halves = [half_of(scipy.stats.ttest_1samp(part, 0.0).confidence_interval(1.0 - alpha)) for part in parts]
    halves.append(half_of(scipy.stats.ttest_1samp(scores.item_differences, 0.0).confidence_interval(1.0 - alpha)))
    found = METHOD.interval(sample, alpha=alpha)
    expected = np.sqrt(np.square(halves).sum())
    assert found.upper - found.estimate == pytest.approx(expected, rel=1e-9)
    assert found.estimate - found.lower == pytest.approx(expected, rel=1e-9)


def test_the_p_value_is_the_level_whose_limit_is_the_margin(drawn):
    sample = drawn(np.random.default_rng(9), 4, seed_sd=0.05, shift=1.5)
    for margin in (0.0, 0.2, 0.5):
        p_value = METHOD.interval(sample, alpha=0.05, margin=margin).p_value
        assert 1e-8 < p_value < 0.2
        assert METHOD.interval(sample, alpha=p_value).lower == pytest.approx(margin, abs=1e-9)
    assert METHOD.interval(sample, alpha=0.05, margin=1.5).p_value == 1.0


def test_a_difference_beyond_any_level_has_a_p_value_above_zero():
    generator = np.random.default_rng(3)
    treatment = 0.9 + 1e-9 * generator.standard_normal((200, 50))
    found = METHOD.interval(sample_from_seeds(SeedScores(treatment, treatment - 0.8, True), (-1.0, 1.0)), alpha=0.05)
    assert not found.trusted  # both arms move together: the seeds' differences have no spread
    baseline = 0.1 + 1e-9 * generator.standard_normal((200, 50))
    found = METHOD.interval(sample_from_seeds(SeedScores(treatment, baseline, True), (-1.0, 1.0)), alpha=0.05)
    assert found.trusted
    assert 0.0 < found.p_value < 1e-90


def test_items_that_all_differ_alike_are_not_trusted():
    treatment = np.repeat([[0.5], [0.6], [0.7]], 20, axis=1)
    found = METHOD.interval(sample_from_seeds(SeedScores(treatment, np.zeros((3, 20)), True), (-1.0, 1.0)), alpha=0.05)
    assert (found.trusted, found.lower, found.upper) == (False, -1.0, 1.0)
    assert "items are equal" in found.reason


def test_fewer_than_ten_items_that_differ_are_not_trusted():
    generator = np.random.default_rng(5)
    treatment = np.zeros((4, 300))
    treatment[:, :9] = generator.uniform(0.2, 1.0, (4, 9))
    found = METHOD.interval(sample_from_seeds(SeedScores(treatment, np.zeros((4, 300)), True), (-1.0, 1.0)), alpha=0.05)
    assert not found.trusted
    assert "differ on 9 of 300 items" in found.reason


def covered(method, drawn, repetitions, **model):
    generator = np.random.default_rng(6)
    found = [method.interval(drawn(generator, **model), alpha=0.1) for _ in range(repetitions)]
    return np.mean([interval.lower <= 0.0 <= interval.upper for interval in found])


@pytest.mark.parametrize("repetitions", [1000, pytest.param(20_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("n_seeds", [3, 5, 10])
@pytest.mark.parametrize(("seed_sd", "item_sd"), [(0.0, 0.4), (0.05, 0.4), (0.2, 0.1)])
def test_coverage_over_seeds_and_items(drawn, n_seeds, seed_sd, item_sd, repetitions):
    found = covered(METHOD, drawn, repetitions, n_seeds=n_seeds, seed_sd=seed_sd, item_sd=item_sd)
    assert found >= 0.9 - 4.0 * np.sqrt(0.09 / repetitions)


def test_either_level_alone_does_not_cover_both(drawn):
    """What the two levels are for: each alone misses where the other one varies."""
    seeds_only = load_method("seed_level_t")
    assert covered(seeds_only, drawn, 300, n_seeds=10, seed_sd=0.02, item_sd=0.4) < 0.75

    class ItemsOnly:
        @staticmethod
        def interval(sample, alpha):
            limits = scipy.stats.ttest_1samp(sample.differences, 0.0).confidence_interval(1.0 - alpha)
            return type("Limits", (), {"lower": limits.low, "upper": limits.high})

    assert covered(ItemsOnly, drawn, 300, n_seeds=3, seed_sd=0.2, item_sd=0.1) < 0.75

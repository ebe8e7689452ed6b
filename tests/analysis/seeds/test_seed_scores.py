import numpy as np
import pytest

from analysis.errors import AuditError
from analysis.paired.sample import PairedSample, sample_from_seeds
from analysis.plan.lints.claim_about_algorithm_with_one_seed import MINIMUM_SEEDS as LINTED_SEEDS
from analysis.seeds.sample import MINIMUM_SEEDS, SeedScores


def scores(seeds, items=4, value=0.5):
    return np.full((seeds, items), value)


@pytest.mark.parametrize(
    ("treatment", "baseline", "said"),
    [(1, 3, "treatment has 1 training seed,"), (3, 2, "baseline has 2 training seeds,")],
)
def test_too_few_seeds_are_refused_with_how_many_there_are(treatment, baseline, said):
    with pytest.raises(AuditError, match=said) as error:
        SeedScores(scores(treatment), scores(baseline), paired=False)
    assert "fixed_checkpoint_items" in error.value.message
    assert f"at least {MINIMUM_SEEDS}" in error.value.message


def test_the_lint_asks_for_as_many_seeds_as_the_decision():
    assert LINTED_SEEDS == MINIMUM_SEEDS


def test_a_score_that_is_no_number_is_refused():
    bad = scores(3)
    bad[1, 2] = np.nan
    with pytest.raises(AuditError, match="baseline has a score that is not a finite number"):
        SeedScores(scores(3), bad, paired=True)


@pytest.mark.parametrize(
    ("treatment", "baseline", "paired"),
    [
        (scores(3, 4), scores(3, 5), True),
        (scores(3), scores(4), True),
        (np.zeros(3), scores(3), True),
        (scores(3, 0), scores(3, 0), True),
    ],
)
def test_shapes_that_do_not_fit_are_our_bug(treatment, baseline, paired):
    with pytest.raises(ValueError):  # noqa: PT011
        SeedScores(treatment, baseline, paired)


def test_means_go_over_the_right_axis():
    treatment = np.array([[1.0, 0.0], [1.0, 1.0], [1.0, 0.5]])
    found = SeedScores(treatment, np.zeros((3, 2)), paired=True)
    assert found.item_differences.tolist() == [1.0, 0.5]
    assert [group.tolist() for group in found.seed_groups] == [[0.5, 1.0, 0.75]]
    apart = SeedScores(treatment, np.zeros((4, 2)), paired=False)
    assert [group.tolist() for group in apart.seed_groups] == [[0.5, 1.0, 0.75], [0.0] * 4]
    assert (found.n_seeds, apart.n_seeds) == (3, 3)


def test_the_sample_has_one_difference_an_item_and_keeps_the_seeds():
    found = SeedScores(scores(3, 7, 0.75), scores(3, 7, 0.25), paired=True)
    sample = sample_from_seeds(found, (-1.0, 1.0))
    assert (sample.n_items, sample.estimate, sample.by_seed) == (7, 0.5, found)
    with pytest.raises(AuditError, match="bounds"):
        sample_from_seeds(found, (-0.1, 0.1))
    with pytest.raises(ValueError, match="by seed"):
        PairedSample(np.zeros(6), (-1.0, 1.0), by_seed=found)

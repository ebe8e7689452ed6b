"""The rule that chooses one learning rate for both arms."""

import math

import pytest

from analysis.learning_rate import ArmScore, RateTrial, choose, mean_score

BOTH = ("grpo", "dppo")


def _trial(rate, *, gate="pass", half_width=0.02, **scores):
    """Return a trial; a list of scores is a condition's seeds."""
    arms = [
        ArmScore(condition, seed, 200, score, score - half_width, score + half_width)
        for condition, found in scores.items()
        for seed, score in enumerate(found if isinstance(found, list) else [found])
    ]
    return RateTrial(rate, gate, tuple(arms))


def test_the_best_mean_of_both_conditions_is_chosen_not_the_treatments_best():
    trials = [_trial(1e-4, grpo=0.50, dppo=0.50), _trial(3e-4, grpo=0.30, dppo=0.60)]
    choice = choose(trials, BOTH)
    assert choice.learning_rate == 1e-4
    assert choice.reason.startswith("mean validation score 0.500, 0.050 above 0.0003, more than the 0.020")


def test_a_rate_whose_gate_failed_is_not_chosen_however_well_it_scores():
    trials = [_trial(1e-4, gate="fail", grpo=0.9, dppo=0.9), _trial(3e-4, grpo=0.5, dppo=0.5)]
    choice = choose(trials, BOTH)
    assert choice.learning_rate == 3e-4
    assert "no other rate was left" in choice.reason


@pytest.mark.parametrize("gate", ["fail", "inconclusive"])
def test_without_a_passed_gate_none_is_chosen(gate):
    choice = choose([_trial(1e-4, gate=gate, grpo=0.5, dppo=0.5)], BOTH)
    assert choice.learning_rate is None
    assert f"(0.0001: {gate})" in choice.reason


def test_a_warning_does_not_exclude_a_rate():
    assert choose([_trial(1e-4, gate="warn", grpo=0.5, dppo=0.5)], BOTH).learning_rate == 1e-4


def test_of_equal_scores_the_smaller_rate_is_chosen_whatever_the_order():
    trials = [_trial(rate, grpo=0.5, dppo=0.5) for rate in (3e-4, 1e-4, 2e-4)]
    assert choose(trials, BOTH).learning_rate == 1e-4


def test_a_gap_inside_one_intervals_reach_is_called_chance():
    trials = [_trial(1e-4, grpo=0.50, dppo=0.50, half_width=0.07), _trial(3e-4, grpo=0.52, dppo=0.52, half_width=0.07)]
    choice = choose(trials, BOTH)
    assert choice.learning_rate == 3e-4
    assert "0.070 to each side, so the order may be chance" in choice.reason


def test_each_condition_weighs_the_same_whatever_its_seeds():
    trial = _trial(1e-4, grpo=[0.2, 0.4, 0.6], dppo=0.8, extra=0.0)
    assert mean_score(trial, BOTH) == pytest.approx(0.6)


def test_a_rate_without_a_score_is_not_chosen():
    trials = [_trial(1e-4, grpo=math.nan, dppo=0.9), _trial(2e-4, grpo=0.9), _trial(3e-4, grpo=0.1, dppo=0.1)]
    assert choose(trials, BOTH).learning_rate == 3e-4
    choice = choose(trials[:2], BOTH)
    assert (choice.learning_rate, choice.reason) == (None, "no rate has a score for every item of both conditions")

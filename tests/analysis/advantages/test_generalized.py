"""Generalised advantages against the plain recursion, the closed forms, and what a constant error becomes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.advantages.generalized import generalized_advantages
from analysis.advantages.normalized import normalized

batches = st.lists(
    st.tuples(st.floats(-2, 2), st.lists(st.floats(-2, 2), min_size=0, max_size=7)), min_size=1, max_size=6
)
shares = st.floats(0, 1)


def laid_out(batch):
    rewards = [reward for reward, _ in batch]
    values = [value for _, values in batch for value in values]
    return rewards, values, [len(values) for _, values in batch]


def by_recursion(batch, discount, decay):
    found = []
    for reward, values in batch:
        following, advantage, own = 0.0, 0.0, []
        for t in reversed(range(len(values))):
            delta = (reward if t == len(values) - 1 else 0.0) + discount * following - values[t]
            advantage = delta + discount * decay * advantage
            following = values[t]
            own.append(advantage)
        found += own[::-1]
    return found


@given(batches, shares, shares)
def test_it_equals_the_plain_recursion(batch, discount, decay):
    found = generalized_advantages(*laid_out(batch), discount=discount, decay=decay)
    np.testing.assert_allclose(found.advantages, by_recursion(batch, discount, decay), atol=1e-12)
    np.testing.assert_allclose(found.returns, found.advantages + laid_out(batch)[1], atol=1e-12)


@given(batches, shares)
def test_without_decay_it_is_the_discounted_reward_minus_the_value(batch, discount):
    found = generalized_advantages(*laid_out(batch), discount=discount, decay=1.0)
    expected = [
        discount ** (len(values) - 1 - t) * reward - value for reward, values in batch for t, value in enumerate(values)
    ]
    np.testing.assert_allclose(found.advantages, expected, atol=1e-12)


@given(batches, shares)
def test_with_full_decay_it_is_the_one_step_error(batch, discount):
    found = generalized_advantages(*laid_out(batch), discount=discount, decay=0.0)
    expected = [
        (reward if t == len(values) - 1 else discount * values[t + 1]) - values[t]
        for reward, values in batch
        for t in range(len(values))
    ]
    np.testing.assert_allclose(found.advantages, expected, atol=1e-12)


LENGTHS = [5, 1, 3, 4]
REWARDS = [1.0, 0.0, 0.0, 1.0]
VALUES = np.random.default_rng(4).uniform(0, 1, sum(LENGTHS))


def advantages(values, decay=1.0):
    return generalized_advantages(REWARDS, values, LENGTHS, discount=1.0, decay=decay).advantages


def test_at_lambda_one_a_critic_off_by_a_constant_leaves_the_update_as_it_is():
    wrong = advantages(VALUES + 0.3)
    np.testing.assert_allclose(wrong - advantages(VALUES), -0.3, atol=1e-12)
    np.testing.assert_allclose(normalized(wrong, "z_score"), normalized(advantages(VALUES), "z_score"), atol=1e-6)
    np.testing.assert_allclose(normalized(wrong, "mean"), normalized(advantages(VALUES), "mean"), atol=1e-6)


def test_at_lambda_one_a_critic_off_by_as_much_with_mean_zero_changes_the_update():
    signs = np.tile([1.0, -1.0], 7)[: len(VALUES)]
    signs -= signs.mean()
    error = 0.3 * signs / np.sqrt(np.mean(signs**2))
    moved = normalized(advantages(VALUES + error), "z_score") - normalized(advantages(VALUES), "z_score")
    assert np.sqrt(np.mean(error**2)) == pytest.approx(0.3)
    assert np.abs(moved).max() > 0.1


@pytest.mark.parametrize("decay", [0.0, 0.5, 0.95])
def test_below_lambda_one_a_constant_error_grows_towards_the_end_and_reaches_the_update(decay):
    error = advantages(VALUES + 0.3, decay) - advantages(VALUES, decay)
    left = np.concatenate([np.arange(length)[::-1] for length in LENGTHS])
    np.testing.assert_allclose(error, -0.3 * decay**left, atol=1e-12)
    for how in ("mean", "z_score"):
        moved = normalized(advantages(VALUES + 0.3, decay), how) - normalized(advantages(VALUES, decay), how)
        assert np.abs(moved).max() > 1e-3


def test_an_empty_completion_has_no_token_and_moves_no_other():
    with_empty = generalized_advantages([1.0, 0.0, 1.0], [0.1, 0.2, 0.3], [2, 0, 1], discount=0.9, decay=0.8)
    without = generalized_advantages([1.0, 1.0], [0.1, 0.2, 0.3], [2, 1], discount=0.9, decay=0.8)
    np.testing.assert_array_equal(with_empty.advantages, without.advantages)
    assert generalized_advantages([1.0], [], [0], discount=1.0, decay=1.0).advantages.shape == (0,)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"lengths": [2]}, "must be rows"),
        ({"lengths": [2, 2]}, "lengths sum to 4, and there are 3"),
        ({"lengths": [4, -1]}, "lengths sum to 3"),
        ({"values": [0, np.nan, 0]}, "not finite"),
        ({"rewards": [np.inf, 0]}, "not finite"),
        ({"discount": 1.1}, "discount 1.1"),
        ({"decay": -0.1}, "decay -0.1"),
    ],
)
def test_what_has_no_advantage_is_refused(changes, said):
    given_values = {"rewards": [1, 0], "values": [0, 0, 0], "lengths": [2, 1], "discount": 1.0, "decay": 1.0}
    with pytest.raises(ValueError, match=said):
        generalized_advantages(**(given_values | changes))

"""Group-centred advantages."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.advantages.group_centered import group_centered


def test_each_reward_loses_its_groups_mean():
    advantages = group_centered([1, 0, 0, 1, 1, 1], [7, 7, 7, 7, 2, 2])
    np.testing.assert_array_equal(advantages, [0.5, -0.5, -0.5, 0.5, 0, 0])


def test_groups_need_not_be_adjacent():
    np.testing.assert_array_equal(group_centered([1, 4, 3, 8], [0, 1, 0, 1]), [-1, -2, 1, 2])


@given(st.floats(-1e3, 1e3), st.integers(1, 12))
def test_equal_rewards_give_exactly_zero(reward, size):
    assert (group_centered([reward] * size, [3] * size) == 0.0).all()


@given(st.lists(st.tuples(st.floats(-10, 10), st.integers(0, 4)), min_size=1, max_size=40))
def test_advantages_of_a_group_sum_to_zero(rows):
    rewards, groups = np.array([row[0] for row in rows]), np.array([row[1] for row in rows])
    advantages = group_centered(rewards, groups)
    for group in set(groups.tolist()):
        assert advantages[groups == group].sum() == pytest.approx(0.0, abs=1e-9)


def test_what_cannot_be_centred_is_refused():
    with pytest.raises(ValueError, match="one length"):
        group_centered([1, 2], [1])
    with pytest.raises(ValueError, match="reward 1 is not finite"):
        group_centered([1, float("nan")], [1, 1])

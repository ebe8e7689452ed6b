import numpy as np
import pytest

from analysis.advantages.batch_centered import batch_centered


def test_each_reward_loses_the_batchs_mean():
    np.testing.assert_array_equal(batch_centered([1, 0, 0, 1, 1, 0]), [0.5, -0.5, -0.5, 0.5, 0.5, -0.5])


def test_equal_rewards_leave_no_gradient():
    assert (batch_centered([0.1] * 7) == 0.0).all()


def test_no_completion_gives_no_advantage():
    assert batch_centered([]).shape == (0,)


def test_a_reward_that_is_no_number_is_refused():
    with pytest.raises(ValueError, match="reward 1 is not finite"):
        batch_centered([1, np.inf])
